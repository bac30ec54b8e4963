"""The words that human captions often use together with every attribute value: the tasks of LIC's variant of BA."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np

from captionbias.captions import Captions
from captionbias.metrics.label_inputs import IMAGES_AT_ONCE
from captionbias.text import Lexicon, find_mentions, named_labels, tokenize
from captionbias.text.function_words import FUNCTION_WORDS


def frequent_words(captions: Captions, lexicon: Lexicon, tokenizer: str, most: int, at_least: int) -> Lexicon:
    """A lexicon of one word a label.

    Nouns, verbs, adjectives and adverbs (all but English function words) among the `most` most frequent words of the
    human captions that stand in `at_least` captions with each of the lexicon's labels; none of the lexicon's own words.

    Source: Hirota et al. 2022, supplement: 1,000 and 100.
    """
    assert captions.references is not None
    frequency: Counter[str] = Counter()
    together = [Counter[str]() for _ in lexicon.labels]
    for start in range(0, len(captions), IMAGES_AT_ONCE):
        some = captions.references[start : start + IMAGES_AT_ONCE]
        tokens = tokenize(list(itertools.chain.from_iterable(some)), tokenizer)
        count = np.bincount(tokens.ids, minlength=len(tokens.words))
        frequency.update(dict(zip(tokens.words, count.tolist(), strict=True)))
        named = named_labels(tokens, find_mentions(tokens, lexicon, tokenizer), len(lexicon.labels))
        row, word = np.divmod(np.unique(tokens.rows * len(tokens.words) + tokens.ids), len(tokens.words))
        for label, counts in enumerate(together):
            with_label = np.bincount(word[named[row, label]], minlength=len(tokens.words))
            counts.update(dict(zip(tokens.words, with_label.tolist(), strict=True)))
    own = {part for words in (*lexicon.groups.values(), lexicon.masked_only) for word in words for part in word.split()}
    content = (word for word in frequency if word[0].isalpha() and word not in FUNCTION_WORDS and word not in own)
    # Equally frequent words in the order of the alphabet, so that the order of the images plays no part.
    most_frequent = sorted(content, key=lambda word: (-frequency[word], word))[:most]
    chosen = sorted(word for word in most_frequent if all(counts[word] >= at_least for counts in together))
    if not chosen:
        raise ValueError(
            f"references: no word stands in {at_least} captions with each of {', '.join(lexicon.labels)}; "
            "give more captions, or a smaller at_least"
        )
    return Lexicon("frequent", "<word>", {word: (word,) for word in chosen})
