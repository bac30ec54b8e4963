"""Captions with the words marked that a metric will mask, character for character as they were uploaded."""

from __future__ import annotations

from collections import Counter
from heapq import nsmallest
from typing import TypeAlias

from captionbias.captions import Captions
from captionbias.text import Lexicon
from captionbias.text.marks import find_marks

IMAGES = 4

Spans: TypeAlias = list[tuple[str, str | None]]


def preview(captions: Captions, lexicon: Lexicon) -> Spans:
    """Some images of each label with a caption of each side, mentions marked that a metric with this lexicon masks."""
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
    """The caption as spans `(text, label)`, whose texts join to it; the label of what is not masked is None,
    of what is masked and names no value the mask."""
    spans: Spans = []
    done = 0
    for start, end, label in find_marks([caption], lexicon)[0]:
        spans += [(caption[done:start], None), (caption[max(start, done) : end], label or lexicon.mask)]
        done = max(done, end)
    return [span for span in (*spans, (caption[done:], None)) if span[0]]
