"""The same scene with two persons, side by side: what a captioner says of the one and of the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from captionbias.analysis.audit import Audit
from captionbias.report.wording import following_words, listed, named_things

FIRST = 6  # pairs, before one asks for more


class Side(NamedTuple):
    """A person in a scene, by the attribute's value and the image's id, and the caption: its pieces, each with what it
    is, "wrong", "following", "other" or nothing."""

    value: str
    image: str | None
    caption: list[tuple[str, str]]


def pairs(audit: Audit, captioner: str) -> list[list[Side]]:
    """The pairs of a captioner that tell most, the first person's value first; none of captions without scenes."""
    evidence = audit.evidence
    own, scenes = (evidence["captioners"][captioner][name] for name in ("captions", "scenes"))

    def side(row: Mapping[str, Any]) -> Side:
        image = evidence["images"][row["row"]]
        return Side(image["label"], image["id"], list(pieces(evidence["texts"][own[row["row"]]], row["marks"])))

    return [[side(row) for row in pair["rows"]] for pair in scenes.get("pairs", ())]


def summary(audit: Audit, captioner: str) -> str:
    """Of how many scenes the pairs are, and how these were chosen."""
    scenes, value = audit.evidence["captioners"][captioner]["scenes"], named_things(audit)["value"]
    compared, telling, count = f"{scenes['compared']:,}", f"{scenes['telling']:,}", min(FIRST, len(scenes["pairs"]))
    if not scenes["wrong"] + scenes["words"]:
        none = f"In none of {compared} scenes is one person named wrong and the other right"
        none += f", and no word is known to follow the {value}."
        return f"{none} Shown: {count} of {telling} whose captions differ in other words." if count else none
    words = f"in {scenes['words']:,} the captions differ in words that follow the {value}"
    if following := following_words(audit.details("sway", captioner)):
        such = listed([first for (first, _), *_ in following.values()])
        words += f", such as {such}, in {scenes['along']:,} of these as the words do"
    return (
        f"In {scenes['wrong']:,} of {compared} scenes one person is named wrong and the other right; {words}. "
        f"Shown: {count} of these {telling}, no two captions twice: wrong names first, and each way to differ once "
        "before any twice."
    )


def pieces(text: str, marks: Sequence[tuple[int, int, str]]) -> Iterator[tuple[str, str]]:
    """A text by what is marked in it, from start to end, each piece with the kind of its mark or none."""
    done = 0
    for start, end, kind in marks:
        if start >= done:
            yield from ((text[done:start], ""), (text[start:end], kind))
            done = end
    yield text[done:], ""
