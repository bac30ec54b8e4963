"""Who is named wrong beside what, by a captioner and by people, with captions of each kind: what is behind sway."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from captionbias.bench.verdicts import CANNOT_TELL, NOTHING
from captionbias.report.grid import Column, Grid
from captionbias.report.matrix import Matrix
from captionbias.report.svg import line, mark, scale
from captionbias.report.wording import fixed, group, listed, named_things

if TYPE_CHECKING:
    from captionbias.analysis.audit import Audit

Pieces = list[tuple[str, str]]  # of a text: each with what it names, "attribute", "task" or nothing
QUOTES, EXAMPLES, UNEQUAL = 2, 4, 6
REPEATED = 30  # percent of a captioner's captions
ENOUGH = 20  # images of a cell, or captions that name a task, for its shares to be shown


class Quote(NamedTuple):
    """A captioner's caption that names the wrong value, and a person's of the same image."""

    captioner: Pieces
    person: Pieces
    image: str | None


class Named(NamedTuple):
    """A cell of sway: images of a value beside what goes with a value; of 100 captions that name one, how many name
    the wrong one. `place`: its number in the evidence, which lists `listed` of its `images`."""

    title: str
    examples: str
    wrong_name: str
    captioner: float
    person: float
    images: int
    listed: int
    place: int
    quotes: list[Quote]


def cells(audit: Audit, captioner: str) -> list[Named]:
    """The cells of each value: beside what goes with another, then beside what goes with itself."""
    details, evidence = audit.details("sway", captioner), audit.evidence
    tasks = named_things(audit)["tasks"]
    values = list(details["attribute_counts"])
    drawn = [cell for cell in details["cells"] if cell["suggested"]]
    own_last = sorted(enumerate(drawn), key=lambda item: item[1]["attribute"] == item[1]["suggested"])
    named = []
    for index, cell in sorted(own_last, key=lambda item: values.index(item[1]["attribute"])):
        value, suggested = cell["attribute"], cell["suggested"]
        if cell["images"] < ENOUGH or not {"captioner_wrong_of_named", "person_wrong_of_named"} <= cell.keys():
            continue
        others = [group(other) for other in values if other != value]
        behind = evidence["captioners"][captioner]["cells"]["t_to_a"][index]
        named.append(
            Named(
                f"{group(value).capitalize()} beside {tasks} that go with {group(suggested)}",
                ", ".join(_examples(details, suggested)),
                f"named {others[0]}" if len(others) == 1 else "named wrong",
                cell["captioner_wrong_of_named"],
                cell["person_wrong_of_named"],
                behind["images"],
                len(behind["rows"]),
                index,
                list(_quotes(evidence, captioner, behind)),
            )
        )
    return named


def cells_of_all(audit: Audit, matrix: Matrix) -> Grid:
    """The cells of all captioners, and of people, in one table."""
    by_captioner = {name: cells(audit, name) for name in matrix.rows}
    first = next(iter(by_captioner.values()))
    rows: list[list[Any]] = [["people", *(cell.person for cell in first)]] if first else []
    whole = {name: named for name, named in by_captioner.items() if len(named) == len(first)}
    rows += [[name, *(cell.captioner for cell in named)] for name, named in whole.items()]
    value = named_things(audit)["value"]
    return Grid(
        f"Of 100 captions that name a {value}, how many name the wrong one",
        (Column("captioner"), *(Column(cell.title, ".0f") for cell in first)),
        rows,
    )


def dumbbells(audit: Audit, captioner: str) -> list[tuple[str, str]]:
    """The tasks whose naming differs most between two values, of those that enough captions name: how often each is
    named, in words and as SVG, the captioner above people, the first value hollow."""
    details = audit.details("sway", captioner)
    counts = details["attribute_counts"]
    often = [row for row in details["tasks"] if _captions(row, counts) >= ENOUGH]
    rows = often[:UNEQUAL] if len(counts) == 2 else []
    sides = [[list(map(row[f"named_{who}"].get, counts)) for who in ("captioner", "person")] for row in rows]
    most = max((share for sides_of_row in sides for side in sides_of_row for share in side), default=0.0)
    place = scale(0.0, most, 6.0, 214.0)
    first, second = map(group, counts) if rows else ("", "")
    drawn = []
    for row, shares in zip(rows, sides, strict=True):
        (own, other), people = [[fixed(share, 1) for share in side] for side in shares]
        text = (
            f"{row['task']}: people {people[0]} of 100 {first}, {people[1]} of 100 {second}; {captioner} {own} and "
            f"{other} (named of about {_captions(row, counts):,} images)"
        )
        parts: list[str] = []
        for (a, b), y, kind in zip(shares, (8.0, 24.0), ("zero", "person"), strict=True):
            parts += [
                line(place(a), y, place(b), y, kind, 3),
                mark(place(a), y, CANNOT_TELL),
                mark(place(b), y, NOTHING),
            ]
        drawn.append((text, f'<svg class="captionbias" viewBox="0 0 220 32" aria-hidden="true">{"".join(parts)}</svg>'))
    return drawn


def doubts(audit: Audit) -> list[str]:
    """What most could make the answers wrong, in three sentences at most."""
    lines = []
    lic = {name: audit.measurement("lic", name) for name in audit.captioners} if "lic" in audit.comparisons else {}
    repeats = {name: measured.facts.get("seen_m", 0.0) for name, measured in lic.items()}
    often = sorted((name for name in repeats if repeats[name] > REPEATED), key=lambda name: -repeats[name])
    if often:
        most, *others = often
        unseen = lic[most].estimates.get("lic_unseen")
        lines.append(
            f"{fixed(repeats[most], 0)}% of {most}'s captions repeat ones that the attacker learned from"
            + (f"; without them LIC is {fixed(unseen.value, 1)}" if unseen else "")
            + (f"; many do of {listed(others)} too." if others else ".")
        )
    words = named_things(audit)
    if "sway" in audit.comparisons and "tasks:named" in audit.signatures["sway"]:
        lines.append(
            f"People do not mention all that images show, so the answer about {words['tasks']} named is a range; with "
            f"all {words['tasks']} given that the images show, it is narrower."
        )
    if audit.settings["preset"] == "fast":
        lines.append(
            "This is a quick measurement: the papers' protocol can give another verdict; run it before you publish."
        )
    return lines


def _examples(details: Mapping[str, Any], value: str) -> list[str]:
    """The tasks that go most with a value, of those that enough captions name."""
    often = {row["task"] for row in details["tasks"] if _captions(row, details["attribute_counts"]) >= ENOUGH}
    rows = [row for row in details["leans"] if row["goes_with"] == value and row["task"] in often]
    return [row["task"] for row in sorted(rows, key=lambda row: -row[f"lean_{value}"])[:EXAMPLES]]


def _captions(row: Mapping[str, Any], counts: Mapping[str, int]) -> int:
    """The images whose caption names the task, by the captioner or by one person, whichever are more."""
    sides = (row["named_captioner"], row["named_person"])
    return int(max(sum(side[value] / 100 * counts[value] for value in counts) for side in sides))


def _quotes(evidence: Mapping[str, Any], captioner: str, behind: Mapping[str, Any]) -> Iterator[Quote]:
    """Different captions of a cell that name the wrong value, those that name a task first."""
    own, labels = evidence["captioners"][captioner]["captions"], evidence["labels"]
    value = behind["attribute"]

    def naming(number: int) -> set[str]:
        return {labels[label] for label in evidence["marks"][number][2::3]}

    values = {cell["attribute"] for cell in evidence["captioners"][captioner]["cells"]["t_to_a"]}
    rows = [row for row in behind["rows"] if row["captioner"]]
    rows.sort(key=lambda row: (not naming(own[row["row"]]) - values - {"person"}, -row["difference"]))
    seen: set[int] = set()
    for row in rows:
        number = own[row["row"]]
        image = evidence["images"][row["row"]]
        people = list(filter(lambda text: value in naming(text), image["people"]))
        if number not in seen and people and len(seen) < QUOTES:
            seen.add(number)
            yield Quote(_pieces(evidence, number, values), _pieces(evidence, people[0], values), image["id"])


def _pieces(evidence: Mapping[str, Any], number: int, values: set[str]) -> Pieces:
    """A text cut into pieces, each with what it names."""
    text, flat = evidence["texts"][number], evidence["marks"][number]
    pieces, done = [], 0
    for start, end, label in sorted(zip(flat[::3], flat[1::3], flat[2::3], strict=True)):
        name = evidence["labels"][label]
        if start >= done and name != "person":
            pieces += [(text[done:start], ""), (text[start:end], "attribute" if name in values else "task")]
            done = end
    return [*pieces, (text[done:], "")]
