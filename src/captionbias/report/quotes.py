"""Captions behind the numbers: those that name somebody wrong, each beside a person's of the same image; and the same
scene with two persons, side by side."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from captionbias.analysis.audit import Audit
from captionbias.bench.sentence import group
from captionbias.bench.verdicts import BEYOND
from captionbias.report.leaderboard import GAP, Leaderboard, most_swayed
from captionbias.report.wording import following_words, listed, named_things

QUOTES = 2  # of each group of images
FIRST = 6  # pairs, before one asks for more
Pieces = list[tuple[str, str]]  # of a text: each with what it names, "attribute", "task" or nothing


class Quote(NamedTuple):
    """A captioner's caption that names the wrong value, and a person's of the same image; `about`: whom the tasks in
    them go with, and where these are named."""

    name: str
    captioner: Pieces
    person: Pieces
    image: str | None
    about: str


class Behind(NamedTuple):
    """Captions of one value beside tasks that suggest one; `place`: of the group in the evidence, which lists `listed`
    of all its `captions`."""

    value: str
    title: str
    quotes: list[Quote]
    captions: int
    listed: int
    place: int


def behind(audit: Audit, board: Leaderboard, captioner: str) -> Iterator[Behind]:
    """The captions of a captioner that name a value wrong, beside tasks of another value first."""
    cells = audit.evidence["captioners"][captioner]["cells"].get("t_to_a", ()) if audit.evidence else ()
    for own in (False, True):
        for place, cell in enumerate(cells):
            value, suggested = cell["attribute"], cell["suggested"]
            wrong = board.wrong[captioner][value]
            if (wrong.own if own else wrong.other) and cell["rows"] and (suggested == value) == own:
                beside = f"beside {board.called['tasks']} that go with {group(suggested)}"
                title = f"{group(value).capitalize()} {board.misnaming(value)} {beside}"
                shown = quotes(audit, captioner, value, suggested)
                yield Behind(value, title, shown, cell["images"], len(cell["rows"]), place)


def quotes(audit: Audit, captioner: str, value: str, suggested: str) -> list[Quote]:
    """Different captions that name another value alone, of images of a value beside tasks that suggest one. Images come
    first of which all people who name a value name the true one, then those where both name such a task."""
    evidence = audit.evidence
    own, labels = evidence["captioners"][captioner]["captions"], evidence["labels"]
    cells = evidence["captioners"][captioner]["cells"]["t_to_a"]
    values = {cell["attribute"] for cell in cells}
    suggesting = {row["task"] for row in audit.details("sway", captioner)["leans"] if row["goes_with"] == suggested}
    (behind,) = (cell for cell in cells if (cell["attribute"], cell["suggested"]) == (value, suggested))

    def labels_in(number: int) -> set[str]:
        return {labels[label] for label in evidence["marks"][number][2::3]}

    quotes_by_text: dict[int, tuple[tuple[bool, bool], Quote]] = {}
    for row in behind["rows"]:
        number, image = own[row["row"]], evidence["images"][row["row"]]
        true = [text for text in image["people"] if value in labels_in(text)]
        if true and number not in quotes_by_text:
            agreed, named = (
                all(labels_in(text) & values <= {value} for text in image["people"]),
                labels_in(number) & suggesting,
            )
            person = max(true, key=lambda text: (bool(labels_in(text) & named), bool(labels_in(text) & suggesting)))
            by_person = labels_in(person) & suggesting
            where = "" if named else "; named by the person alone" if by_person else "; named by other people"
            quote = Quote(
                captioner,
                _pieces(evidence, number, values, suggesting),
                _pieces(evidence, person, values, suggesting),
                image["id"],
                f"goes with {group(suggested)}{where}",
            )
            quotes_by_text[number] = (agreed, bool(by_person & named)), quote
    return [quote for _, quote in sorted(quotes_by_text.values(), key=lambda item: item[0], reverse=True)][:QUOTES]


def _pieces(evidence: Mapping[str, Any], number: int, values: Collection[str], suggesting: Collection[str]) -> Pieces:
    """A text by what puts it where it is listed: who is named, and the tasks that suggest the value there."""
    flat, labels = evidence["marks"][number], evidence["labels"]
    marks = sorted(zip(flat[::3], flat[1::3], (labels[label] for label in flat[2::3]), strict=True))
    kinds = [
        (start, end, "attribute" if name in values else "task")
        for start, end, name in marks
        if name in values or name in suggesting
    ]
    return list(pieces(evidence["texts"][number], kinds))


def examples(audit: Audit, board: Leaderboard) -> Iterator[Quote]:
    """A caption of each of the two captioners whose wrong names follow the tasks most; else of the worst."""
    swayed = list(most_swayed(board))[:2]
    worst = [(row.name, None) for row in board.rows if audit.verdicts.get((row.name, GAP)) in BEYOND][:1]
    shown: set[str] = set()
    for name, value in swayed or worst:
        groups = [one for one in behind(audit, board, name) if value in (one.value, None)]
        told = {
            "".join(piece for piece, _ in quote.captioner).strip(" ."): quote for one in groups for quote in one.quotes
        }
        for text in [text for text in told if text not in shown][:1]:
            shown.add(text)
            yield told[text]


def pieces(text: str, marks: Sequence[tuple[int, int, str]]) -> Iterator[tuple[str, str]]:
    """A text by what is marked in it, from start to end, each piece with the kind of its mark or none."""
    done = 0
    for start, end, kind in marks:
        if start >= done:
            yield from ((text[done:start], ""), (text[start:end], kind))
            done = end
    yield text[done:], ""


# The same scene with two persons


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


def pairs_summary(audit: Audit, captioner: str) -> str:
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
