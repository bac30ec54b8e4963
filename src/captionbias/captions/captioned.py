"""Labels that people's captions give: of images that nobody has labelled."""

from __future__ import annotations

from collections.abc import Collection
from itertools import chain, pairwise
from typing import Any

import numpy as np

from captionbias.captions.entries import as_lists, checked_lists
from captionbias.text import LexiconSource, find_mentions, load_lexicon, named_values, tokenize


def captioned_labels(captions: Collection[Any], lexicon: LexiconSource = "gender", least: int = 2) -> list[str | None]:
    """The attribute value that people's captions of each image name, where they agree.

    Take captions that are not among the references afterwards: of a label from the references, people are never wrong.

    Args:
        captions: `n` lists of human captions; a list may be empty.
        lexicon: the words that name attribute values, see `captionbias.text.load_lexicon`.
        least: as many captions, or more, must name the value.

    Returns:
        `n` values of the lexicon; None where fewer captions name one, or any caption names another.

    Source: Zhao et al. 2017, Men Also Like Shopping, who ask for one caption.

    >>> captioned_labels([["a man", "a guy", "a dog"], ["a girl", "a child"], ["a woman", "a lady and a boy"]])
    ['male', None, None]
    """
    if least < 1:
        raise ValueError(f"least must be 1 or more, not {least}")
    rows = checked_lists("captions", as_lists({"captions": captions})["captions"], None, "caption")
    words, tokens = load_lexicon(lexicon), tokenize(list(chain.from_iterable(rows)))
    named = named_values(tokens, find_mentions(tokens, words), words)
    ends = np.cumsum([0, *map(len, rows)])
    counts = np.array([named[start:end].sum(axis=0) for start, end in pairwise(ends)])
    clear = (counts.max(axis=1) >= least) & ((counts > 0).sum(axis=1) == 1)
    return [words.labels[value] if sure else None for value, sure in zip(counts.argmax(axis=1), clear, strict=True)]
