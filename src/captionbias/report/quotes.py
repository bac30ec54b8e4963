"""Captions that name somebody wrong, each beside a person's of the same image."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from captionbias.analysis.audit import Audit
from captionbias.bench.sentence import group
from captionbias.bench.verdicts import BEYOND
from captionbias.report.leaderboard import GAP, Leaderboard, most_swayed
from captionbias.report.pairs import pieces

QUOTES = 2  # of each group of images
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
                pairs = quotes(audit, captioner, value, suggested)
                yield Behind(value, title, pairs, cell["images"], len(cell["rows"]), place)


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
