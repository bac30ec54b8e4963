"""Captions that name somebody wrong, each beside a person's of the same image."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from captionbias.analysis.audit import Audit
from captionbias.report.pairs import pieces
from captionbias.report.portrait import Portrait, most_wrong
from captionbias.report.wording import group

QUOTES = 2  # of each dot
Pieces = list[tuple[str, str]]  # of a text: each with what it names, "attribute", "task" or nothing


class Quote(NamedTuple):
    """A captioner's caption that names the wrong value, and a person's of the same image."""

    name: str
    captioner: Pieces
    person: Pieces
    image: str | None


class Behind(NamedTuple):
    """The captions behind a dot of the portrait; `place`: its number in the evidence, which lists `listed` of them."""

    title: str
    quotes: list[Quote]
    captions: int
    listed: int
    place: int


def behind(audit: Audit, portrait: Portrait, captioner: str) -> Iterator[Behind]:
    """The captions behind each dot of a captioner, beside tasks of another value first."""
    called, (row,) = portrait.called, (row for row in portrait.rows if row.name == captioner)
    cells = audit.evidence["captioners"][captioner]["cells"]["t_to_a"]
    for value in portrait.values:
        for own in (False, True):
            share = row.wrong[value].own if own else row.wrong[value].other
            for place, cell in enumerate(cells):
                if share and cell["rows"] and cell["attribute"] == value and (cell["suggested"] == value) == own:
                    beside = f"beside {called['tasks']} that go with {group(cell['suggested'])}"
                    title = f"{group(value).capitalize()} {portrait.misnaming(value)} {beside}"
                    pairs = quotes(audit, captioner, value, cell["suggested"], QUOTES)
                    yield Behind(title, pairs, cell["images"], len(cell["rows"]), place)


def quotes(audit: Audit, captioner: str, value: str, suggested: str, most: int) -> list[Quote]:
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
            agreed, tasks = (
                all(labels_in(text) & values <= {value} for text in image["people"]),
                labels_in(number) & suggesting,
            )
            person = max(true, key=lambda text: (bool(labels_in(text) & tasks), bool(labels_in(text) & suggesting)))
            quote = Quote(captioner, _pieces(evidence, number, values), _pieces(evidence, person, values), image["id"])
            quotes_by_text[number] = (agreed, bool(labels_in(person) & tasks)), quote
    return [quote for _, quote in sorted(quotes_by_text.values(), key=lambda item: item[0], reverse=True)][:most]


def first_quote(audit: Audit, portrait: Portrait) -> Quote | None:
    """A caption of the largest effect that is more than people's; None where nothing is."""
    if not (most := most_wrong(portrait, audit)):
        return None
    row, value = most
    others = sorted(row.wrong, key=lambda value: -row.wrong[value].every.value)
    pairs = ((one, suggested) for one in ([value] if value else others) for suggested in portrait.tasks)
    candidates = (quotes(audit, row.name, one, suggested, 1) for one, suggested in pairs if one != suggested)
    return next((quote for pair in candidates for quote in pair), None)


def _pieces(evidence: Mapping[str, Any], number: int, values: set[str]) -> Pieces:
    flat, labels = evidence["marks"][number], evidence["labels"]
    marks = sorted(zip(flat[::3], flat[1::3], flat[2::3], strict=True))
    named = [(start, end, labels[label]) for start, end, label in marks if labels[label] != "person"]
    kinds = [(start, end, "attribute" if name in values else "task") for start, end, name in named]
    return list(pieces(evidence["texts"][number], kinds))
