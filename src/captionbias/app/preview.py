"""Captions with the words marked that a metric will mask, character for character as they were uploaded."""

from __future__ import annotations

from collections import Counter
from heapq import nsmallest
from itertools import chain
from typing import TypeAlias

from captionbias.captions import Captions
from captionbias.text import Lexicon, find_mentions, tokenize
from captionbias.text.lexicon import SEPARATOR
from captionbias.text.marks import token_places
from captionbias.text.masking import NO_LABEL

IMAGES = 4

Spans: TypeAlias = list[tuple[str, str | None]]


def preview(captions: Captions, lexicon: Lexicon) -> Spans:
    """Some images of each label with a caption of each side, mentions marked that a metric with this lexicon masks.

    LIC and A to T mask the words of the attribute lexicon, T to A those of the task lexicon.

    Example:
        >>> from captionbias.captions import check_captions
        >>> from captionbias.text import load_lexicon
        >>> captions = check_captions(predictions=["A Man.", "a dog"], attributes=["male", "female"])
        >>> preview(captions, load_lexicon("gender"))[:5]
        [('row 0 (male)\\n', None), ('captioner: ', None), ('A ', None), ('Man', 'male'), ('.', None)]
    """
    spans: Spans = []
    seen: Counter[str] = Counter()
    turns: list[tuple[int, int, str]] = []  # the first image of every label, then the second
    for row, label in enumerate(captions.attributes):
        turns.append((seen[label], row, label))
        seen[label] += 1
    for _, row, attribute in nsmallest(IMAGES, turns):
        image = captions.image_ids[row] if captions.image_ids is not None else f"row {row}"
        spans.append((f"{image} ({attribute})\n", None))
        if captions.predictions is not None:
            spans += [("captioner: ", None), *mark_masked(captions.predictions[row], lexicon), ("\n", None)]
        if captions.references is not None:
            spans += [("human: ", None), *mark_masked(captions.references[row][0], lexicon), ("\n", None)]
        spans.append(("\n", None))
    return spans


def mark_masked(caption: str, lexicon: Lexicon) -> Spans:
    """The caption as spans `(text, label)`, whose texts join to it; the label of what is not masked is None.

    A mention of several words is one span, blanks between its words included. A word that is masked but names no
    value has the lexicon's mask as its label, and one of a crossing what it names of its parts.

    >>> from captionbias.text import load_lexicon
    >>> mark_masked("Hot  DOGS, a dog", load_lexicon("coco_objects"))
    [('Hot  DOGS', 'hot dog'), (', a ', None), ('dog', 'dog')]
    """
    tokens = tokenize([caption])
    names: dict[int, list[str]] = {}  # by the place of a word, what it names
    for part in lexicon.parts or (lexicon,):
        of_part = find_mentions(tokens, part)
        for first, label in zip(of_part.starts, of_part.labels, strict=True):
            if label != NO_LABEL:
                names.setdefault(first, []).append(part.labels[label])
    mentions = find_mentions(tokens, lexicon)
    places = token_places(caption)
    spans: Spans = []
    done = 0
    for first, length in zip(mentions.starts, mentions.lengths, strict=True):
        start, end = places[first][0], places[first + length - 1][1]
        named = SEPARATOR.join(chain.from_iterable(names.get(place, []) for place in range(first, first + length)))
        spans += [(caption[done:start], None), (caption[max(start, done) : end], named or lexicon.mask)]
        done = end
    return [span for span in (*spans, (caption[done:], None)) if span[0]]
