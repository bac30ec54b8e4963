"""Who is named wrong beside what, by a captioner and by people, with captions of each kind: what is behind sway."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from captionbias.report.grid import Column, Grid
from captionbias.report.matrix import Matrix, named_things
from captionbias.report.svg import line, scale
from captionbias.report.wording import fixed, group, in_words, listed

if TYPE_CHECKING:
    from captionbias.analysis.audit import Audit

Pieces = list[tuple[str, str]]  # of a text: each with what it names, "attribute", "task" or nothing
QUOTES, EXAMPLES, MOST_TASKS = 2, 4, 6
REPEATED = 30  # percent of a captioner's captions
ENOUGH = 20  # images of a cell, or captions that name a task, for its shares to be shown
WIDTH = 220.0


class Quote(NamedTuple):
    """A captioner's caption that names the wrong value, and a person's of the same image."""

    captioner: Pieces
    person: Pieces


class Named(NamedTuple):
    """A cell of sway: images of a value beside what goes with a value; of 100 captions that name one, how many name
    the wrong one. `place`: its number in the evidence, which has `shown` of its `images`."""

    title: str
    examples: str
    wrong_name: str
    captioner: float
    person: float
    images: int
    shown: int
    place: int
    quotes: list[Quote]


class Task(NamedTuple):
    """How often a task is named of 100 captions of each value's images, `(captioner, person)`, in words and drawn."""

    name: str
    captions: int
    shares: dict[str, tuple[float, float]]
    svg: str


def cells(audit: Audit, captioner: str) -> list[Named]:
    """Each value beside what goes with another, then beside what goes with it."""
    details, evidence = audit.details("sway", captioner), audit.evidence
    tasks = named_things(audit)["tasks"]
    values = list(details["attribute_counts"])
    drawn = [cell for cell in details["cells"] if cell["suggested"]]
    shown = []
    for index, cell in enumerate(drawn):
        value, suggested = cell["attribute"], cell["suggested"]
        if cell["images"] < ENOUGH or not {"captioner_wrong_of_named", "person_wrong_of_named"} <= cell.keys():
            continue
        others = [group(other) for other in values if other != value]
        behind = evidence["captioners"][captioner]["cells"]["t_to_a"][index]
        shown.append(
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
    pairs = {one.place: (drawn[one.place]["attribute"], drawn[one.place]["suggested"]) for one in shown}
    return sorted(shown, key=lambda one: (values.index(pairs[one.place][0]), len(set(pairs[one.place])) == 1))


def heading(audit: Audit, captioner: str) -> str:
    """What the cells say of a captioner."""
    _, worse, _ = _worse(audit, captioner)
    if worse:
        tasks = named_things(audit)["tasks"]
        return f"{captioner}: {worse[0]} are named wrong more often than {worse[1]}, beside {tasks} of either kind"
    return f"{captioner}: who is named wrong, and beside what"


def told(audit: Audit, matrix: Matrix, captioner: str) -> str:
    """The numbers of the heading, where the captioner stands, and who says what goes with whom."""
    words = named_things(audit)
    numbers, worse, suggested = _worse(audit, captioner)
    parts = []
    if worse:
        beside = [
            f"beside {words['tasks']} that go with {group(value)}, "
            f"{fixed(a, 0)} of 100 {worse[0]} and {fixed(b, 0)} of 100 {worse[1]}"
            for value, (a, b) in zip(suggested, numbers, strict=True)
        ]
        parts.append(f"Named wrong: {'; '.join(beside)}.")
        if score := audit.measurement("sway", captioner).estimates.get("sway_t_to_a"):
            parts.append(
                f"What differs between the two kinds of {words['tasks']}, less what differs with people, is the "
                f"{fixed(score.value, 1)} of 100 captions of the first question."
            )
    count = len(matrix.rows)
    if count > 2 and matrix.questions[0].score.key == "sway_t_to_a":
        place = list(matrix.rows).index(captioner) + 1
        parts.append(
            f"{captioner} is the most extreme of these {in_words(count)} captioners."
            if place == 1
            else f"On the first question {captioner} is {in_words(place, ordinal=True)} of {in_words(count)}."
        )
    counted = "these images" if "|lean:own" in audit.signatures["sway"] else "COCO's labelled photos"
    parts.append(f"Which {words['tasks']} go with whom was counted on {counted}: it is association, not cause.")
    return " ".join(parts)


def tasks(audit: Audit, captioner: str) -> list[Task]:
    """The tasks whose naming differs most, of two attribute values, where enough captions name them."""
    details = audit.details("sway", captioner)
    counts = details["attribute_counts"]
    known = [row for row in details["tasks"] if _captions(row, counts) >= ENOUGH]
    rows = known[:MOST_TASKS] if len(counts) == 2 else []
    shares = [{value: (row["named_captioner"][value], row["named_person"][value]) for value in counts} for row in rows]
    most = max((share for of_row in shares for pair in of_row.values() for share in pair), default=1.0)
    place = scale(0, most, 6, WIDTH - 6)
    return [
        Task(
            row["task"],
            _captions(row, counts),
            {group(value): pair for value, pair in of_row.items()},
            "".join(
                piece
                for side, (y, kind) in enumerate(((9, "more"), (23, "unclear")))
                for piece in _dumbbell([place(pair[side]) for pair in of_row.values()], y, kind)
            ),
        )
        for row, of_row in zip(rows, shares, strict=True)
    ]


def cells_of_all(audit: Audit, matrix: Matrix) -> Grid:
    """The cells of all captioners, and of people, in one table."""
    by_captioner = {name: cells(audit, name) for name in matrix.rows}
    first = next(iter(by_captioner.values()))
    rows: list[list[Any]] = [["people", *(one.person for one in first)]] if first else []
    whole = {name: of_name for name, of_name in by_captioner.items() if len(of_name) == len(first)}
    rows += [[name, *(one.captioner for one in of_name)] for name, of_name in whole.items()]
    value = named_things(audit)["value"]
    return Grid(
        f"Of 100 captions that name a {value}, how many name the wrong one",
        (Column("captioner"), *(Column(one.title, ".0f") for one in first)),
        rows,
    )


def doubts(audit: Audit) -> list[str]:
    """What most could make the answers wrong, in three sentences at most."""
    lines = []
    lic = {name: audit.measurement("lic", name) for name in audit.captioners} if "lic" in audit.comparisons else {}
    repeats = {name: one.facts.get("seen_m", 0.0) for name, one in lic.items()}
    most, *others = sorted((name for name in repeats if repeats[name] > REPEATED), key=lambda name: -repeats[name]) or [
        ""
    ]
    if most:
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


def _worse(audit: Audit, captioner: str) -> tuple[list[tuple[float, float]], tuple[str, ...], list[str]]:
    """Of two values that which is named wrong more often whatever is beside, and the other; beside each suggested value
    how often; nothing where neither is."""
    details = audit.details("sway", captioner)
    values = list(details["attribute_counts"])
    wrong = {
        (cell["attribute"], cell["suggested"]): cell["captioner_wrong_of_named"]
        for cell in details["cells"]
        if cell["suggested"] and "captioner_wrong_of_named" in cell
    }
    if len(values) == 2 and len(wrong) == 4:
        for one, other in (values, values[::-1]):
            beside = [other, one]
            pairs = [(wrong[one, value], wrong[other, value]) for value in beside]
            if all(a > b for a, b in pairs):
                return pairs, (group(one), group(other)), beside
    return [], (), []


def _examples(details: Mapping[str, Any], value: str) -> list[str]:
    """Tasks that go most with a value, of those that enough captions name."""
    often = {row["task"] for row in details["tasks"] if _captions(row, details["attribute_counts"]) >= ENOUGH}
    rows = [row for row in details["leans"] if row["goes_with"] == value and row["task"] in often]
    return [row["task"] for row in sorted(rows, key=lambda row: -row[f"lean_{value}"])[:EXAMPLES]]


def _captions(row: Mapping[str, Any], counts: Mapping[str, int]) -> int:
    """Of how many images a caption names the task: of the captioner's or of one person's, the more."""
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
        people = [one for one in evidence["images"][row["row"]]["people"] if value in naming(one)]
        if number not in seen and people and len(seen) < QUOTES:
            seen.add(number)
            yield Quote(*(_pieces(evidence, one, values) for one in (number, people[0])))


def _pieces(evidence: Mapping[str, Any], number: int, values: set[str]) -> Pieces:
    """A text in pieces, with what each names."""
    text, flat = evidence["texts"][number], evidence["marks"][number]
    pieces, done = [], 0
    for start, end, label in sorted(zip(flat[::3], flat[1::3], flat[2::3], strict=True)):
        name = evidence["labels"][label]
        if start >= done and name != "person":
            pieces += [(text[done:start], ""), (text[start:end], "attribute" if name in values else "task")]
            done = end
    return [*pieces, (text[done:], "")]


def _dumbbell(places: list[float], y: float, kind: str) -> list[str]:
    """Two values on a line: the first hollow, the second filled."""
    first, second = places
    return [
        line(first, y, second, y, kind, 3),
        f'<circle cx="{first:.1f}" cy="{y:g}" r="5" class="hollow"/>',
        f'<circle cx="{second:.1f}" cy="{y:g}" r="5" class="{kind}"/>',
    ]
