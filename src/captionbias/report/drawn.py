"""The portrait as SVG, side by side where there is room, below each other where not: for pages, notebooks and files."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import NamedTuple

from captionbias.bench.verdicts import (
    CANNOT_TELL,
    DIFFERS,
    LESS,
    LIKE,
    MORE,
    NO_YARDSTICK,
    NOTHING,
    NOTHING_FOUND,
    SAME,
)
from captionbias.report.portrait import FEW_VALUES, Portrait, Row, Told, Word, Wrong
from captionbias.report.svg import CHARACTER, Drawing, Place, box, dot, line, scale, shortened, text, ticks, tone
from captionbias.report.wording import MOST_WORDS, fixed, group, listed

WIDE, NARROW = 1040.0, 360.0  # how wide pictures are for screens, and for telephones
NAME, SAID, GAP, SMALL, LINE = 150.0, 205.0, 22.0, 12.0, 15.0
SIGNS = {MORE: "▲", LESS: "▼", LIKE: "=", NOTHING_FOUND: "=", CANNOT_TELL: "?"}
SIGNS |= {DIFFERS: "▲", SAME: "=", NO_YARDSTICK: "△"}
LABEL, EACH = 110.0, 26.0  # of many values below each other
OWN, OTHER, ALL = "own", "other", "all"


class _Area(NamedTuple):
    """Where a column begins, and how wide it is."""

    left: float
    width: float


def naming(portrait: Portrait, width: float = WIDE) -> Drawing:
    """Whom captioners name wrong, of 100 captions of each value: a panel for each value, a person on top."""
    values = portrait.values
    many = len(values) > FEW_VALUES
    wide = width > 2 * NARROW
    panels = [_Area(0.0, width)] * len(values)
    said = [_Area(0.0, width)] * 2
    if wide:
        each = (width - NAME - 2 * (SAID + GAP) - GAP * (len(values) - 1)) / len(values)
        panels = [_Area(NAME + number * (each + GAP), each) for number in range(len(values))]
        if many:
            panels = [_Area(NAME + LABEL, width - NAME - LABEL - 2 * (SAID + GAP))] * len(values)
        said = [_Area(width - (2 - number) * (SAID + GAP) + GAP, SAID) for number in range(2)]
    rows = [*filter(None, [portrait.person]), *portrait.rows]
    shares = [share for row in rows for wrong in row.wrong.values() for share in wrong if share]
    most = _round_up(max([10.0, *(share.value if share.high is None else share.high for share in shares)]))
    places = [scale(0.0, most, area.left + 8, area.left + area.width - 34) for area in panels]
    parts, top = _legend(portrait, width)
    if wide:
        titles = [_panel_head(portrait, value) for value in values]
        if many:
            titles = [f"Named wrong, of 100 captions of each {portrait.called['value']}"]
        heads = [*zip(panels, titles, strict=not many), *zip(said, _heads(portrait), strict=True)]
        height = max(len(_lines(head, area.width, SMALL)) for area, head in heads)
        for area, head in heads:
            lines = _lines(head, area.width, SMALL)
            parts += [
                text(area.left, top + 12 + number * LINE, one, "strong", size=SMALL) for number, one in enumerate(lines)
            ]
        top += height * LINE + 4
        for place in places[: len(titles)]:
            parts += _axis(place, most, top + 10)
        top += 16
    for row in rows:
        drawn, bottom = _wide_row(portrait, row, places, said, top) if wide else _narrow_row(portrait, row, places, top)
        ground = (
            [box(0, top, width, bottom - top, "raised")]
            if row is portrait.person
            else [line(0, top, width, top, "grid")]
        )
        parts += ground + drawn
        top = bottom
    told = "; ".join(_in_words(portrait, row) for row in rows)
    return Drawing(parts, top + 8, told)


def words(portrait: Portrait, width: float = WIDE) -> Drawing:
    """The words that follow a value more than in people's captions, the largest of each, and what is said of all."""
    rows = [row for row in portrait.rows if row.words or row.all_words.lines]
    if not rows:
        return Drawing([], 0.0, "")
    wide = width > 2 * NARROW
    left, columns, said = (NAME, 2, SAID + GAP) if wide else (0.0, 1, 0.0)
    each = (width - left - said) / columns
    sizes = [
        size
        for row in rows
        for words in row.words.values()
        for word in words[:MOST_WORDS]
        for size in word[1:]
        if size is not None
    ]
    label, numbers = 116.0, 104.0
    most = _round_up(max(sizes, default=1.0))
    parts: list[str] = []
    if sizes:
        parts += _boxed("more", 0, 8, "the captioner")
        parts += _boxed("soft", 120, 8, "people, on the same images") if portrait.person else []
    axes = [
        scale(0.0, most, left + number * each + label, left + (number + 1) * each - numbers - GAP)
        for number in range(columns)
    ]
    top = 40.0 if sizes else 4.0
    for axis in axes if sizes else ():
        parts += _axis(axis, most, top - 6)
    for row in rows:
        parts.append(line(0, top, width, top, "grid"))
        parts.append(text(0, top + 18, shortened(row.name, NAME - 8 if wide else width, 14), "strong", size=14))
        bottom = first = top if wide else top + 22
        shown = sum(min(len(words), MOST_WORDS) for words in row.words.values())
        for place, (people, words) in enumerate(row.words.items()):
            x, y = left + (place % columns) * each, first if place % columns else bottom
            first = y
            parts.append(text(x, y + 16, f"more about {people}", "soft", size=SMALL))
            for word in words[:MOST_WORDS]:
                y += 19
                parts += _bars(word, axes[place % columns], x, y, label)
            bottom = max(bottom, y + 26)
        more = sum(map(len, row.words.values())) - shown
        told = [row.all_words, *[Told(NOTHING, [f"{more} word{'s' * (more > 1)} not shown here"])] * (more > 0)]
        drawn, end = _answers(
            told, _Area(width - SAID, SAID) if wide else _Area(0.0, width), top + 4 if wide else bottom
        )
        parts += drawn
        top = max(bottom, end + 4)
    told_of = [
        f"{row.name}: {word.word} ({people})" for row in rows for people, words in row.words.items() for word in words
    ]
    return Drawing(parts, top + 8, "; ".join(told_of))


def _bars(word: Word, axis: Place, x: float, y: float, label: float) -> list[str]:
    """A word's bar above people's."""
    own, people = max(word.captioner, 0.0), max(word.person or 0.0, 0.0)
    numbers = fixed(word.captioner, 1) + (f"; people {fixed(word.person, 1)}" if word.person is not None else "")
    beside = [] if word.person is None else [box(axis(0.0), y + 10, max(axis(people) - axis(0.0), 1.0), 4, "soft")]
    return [
        text(x, y + 12, shortened(word.word, label - 6, SMALL), "strong", size=SMALL),
        box(axis(0.0), y + 3, axis(own) - axis(0.0), 7, "more"),
        *beside,
        text(axis(max(own, people)) + 6, y + 12, numbers, size=SMALL),
    ]


def _boxed(kind: str, x: float, y: float, what: str) -> list[str]:
    return [box(x, y - 5, 14, 9, kind), text(x + 20, y + 4, what, "soft", size=SMALL)]


def _legend(portrait: Portrait, width: float) -> tuple[list[str], float]:
    called = portrait.called
    told = {
        OWN: f"beside {called['tasks']} that go with their own {called['value']}",
        OTHER: f"beside {called['tasks']} of {called['other']} {called['value']}",
        ALL: "all their captions",
    }
    if not portrait.beside_tasks:
        told = {ALL: told[ALL]}
    parts, x, y = [], 8.0, 8.0
    for kind, what in told.items():
        size = len(what) * SMALL * CHARACTER + 30
        if x + size > width and x > 8:
            x, y = 8.0, y + 18
        parts += [*_mark(kind, x, y, "soft"), text(x + 12, y + 4, what, "soft", size=SMALL)]
        x += size
    if portrait.yardstick.short:
        y += 18
        parts.append(text(0, y + 4, portrait.yardstick.short, "strong", size=SMALL))
    return parts, y + 14


def _panel_head(portrait: Portrait, value: str) -> str:
    return f"{group(value).capitalize()} {portrait.wrongly(value)}, of 100 {group(value)}"


def _heads(portrait: Portrait) -> list[str]:
    called = portrait.called
    beside = f"2. Worse beside {called['other']} {called['value']}'s {called['tasks']}?"
    return [f"1. Is one {called['value']} worse off?", beside if portrait.beside_tasks else ""]


def _wide_row(
    portrait: Portrait, row: Row, places: Sequence[Place], said: Sequence[_Area], top: float
) -> tuple[list[str], float]:
    answers = [_answers(told, area, top + 5) for told, area in zip((row.gap, row.step), said, strict=True)]
    name, end = _name(row, _Area(0.0, NAME), top + 5)
    many = len(places) > FEW_VALUES
    least = EACH * len(places) + 16 if many else 40
    bottom = max(top + least, end + 5, *(end + 5 for _, end in answers))
    parts = [*name, *(part for drawn, _ in answers for part in drawn)]
    for number, (value, place) in enumerate(zip(portrait.values, places, strict=True)):
        y = top + 20 + number * EACH if many else (top + bottom) / 2
        parts += [text(NAME, y + 4, shortened(group(value), LABEL, SMALL), size=SMALL)] * many
        parts += _dumbbell(row.wrong.get(value), place, y, _tone(row.step))
    return parts, bottom


def _narrow_row(portrait: Portrait, row: Row, places: Sequence[Place], top: float) -> tuple[list[str], float]:
    area = _Area(8.0, NARROW - 16)
    parts, y = _name(row, area, top + 5)
    for value, place in zip(portrait.values, places, strict=True):
        parts.append(text(8, y + 13, _panel_head(portrait, value), "soft", size=SMALL))
        parts += _dumbbell(row.wrong.get(value), place, y + 28, _tone(row.step))
        y += 42
    for told, head in zip((row.gap, row.step), _heads(portrait), strict=True):
        if told:
            parts.append(text(8, y + 13, head, "soft", size=SMALL))
            drawn, y = _answers(told, area, y + 16)
            parts += drawn
    return parts, y + 8


def _name(row: Row, area: _Area, top: float) -> tuple[list[str], float]:
    parts = [text(area.left, top + 14, shortened(row.name, area.width - 8, 14), "strong", size=14)]
    drawn, bottom = _answers([row.overall], area, top + 17)
    return parts + drawn, bottom


def _answers(told: Sequence[Told], area: _Area, top: float) -> tuple[list[str], float]:
    """Verdicts below each other, each with what it is of; and where they end."""
    parts = []
    for verdict, of, little in told:
        if verdict in SIGNS:
            of = [f"{SIGNS[verdict]} {verdict}{', a little' * little}", *of]
        for number, whole in enumerate(of):
            kind = f"{tone(verdict)} strong" if verdict in SIGNS and number == 0 else "soft"
            for one in _lines(whole, area.width, SMALL):
                parts.append(text(area.left, top + 12, one, kind, size=SMALL))
                top += LINE
    return parts, top


def _dumbbell(wrong: Wrong | None, place: Place, y: float, kind: str) -> list[str]:
    """The marks of a value with their intervals; the numbers are beside the outer two."""
    if wrong is None:
        return []
    ends = [(kind_of, share) for kind_of, share in ((OWN, wrong.own), (OTHER, wrong.other)) if share]
    parts = [line(place(0), y - 16, place(0), y + 16, "grid")]
    if len(ends) == 2:
        parts.append(line(place(ends[0][1].value), y, place(ends[1][1].value), y, kind, 3))
    for number, (_, share) in enumerate(ends):
        if share.low is not None and share.high is not None:
            parts.append(line(place(share.low), y + 9 + 2 * number, place(share.high), y + 9 + 2 * number, kind, 1))
    parts += _mark(ALL, place(wrong.every.value), y, kind)
    for kind_of, share in ends:
        parts += _mark(kind_of, place(share.value), y, kind)
    numbers = sorted(ends or [(ALL, wrong.every)], key=lambda end: end[1].value)
    right = numbers[-1][1]
    apart = place(right.value) - place(numbers[0][1].value) > 26
    shown = [fixed(share.value, 0) for _, share in (numbers if apart else ends or numbers)]
    if len(shown) == 2 and apart and place(numbers[0][1].value) - place(0) > 26:
        parts.append(text(place(numbers[0][1].value) - 9, y + 4, shown[0], "", "end", SMALL))
        parts.append(text(place(right.value) + 9, y + 4, shown[1], "strong", size=SMALL))
    else:
        parts.append(text(place(right.value) + 9, y + 4, listed(shown), "strong", size=SMALL))
    return parts


def _mark(kind: str, x: float, y: float, colour: str) -> list[str]:
    if kind == ALL:
        return [line(x, y - 9, x, y + 5, colour, 2)]
    return [dot(x, y, colour, hollow=kind == OWN, size=5.5)]


def _axis(place: Place, most: float, y: float) -> list[str]:
    return [text(place(at), y, f"{at:g}", "soft", "middle", 11) for at in ticks(0.0, most, 5)]


def _round_up(most: float) -> float:
    """An end of an axis that is one of its ticks."""
    step = ticks(0.0, most, 5)[1]
    return step * math.ceil(most / step - 1e-9)


def _tone(told: Sequence[Told]) -> str:
    return tone(told[0].verdict) if told else "soft"


def _lines(content: str, width: float, size: float) -> list[str]:
    return textwrap.wrap(content, max(8, int(width / (size * CHARACTER))))


def _in_words(portrait: Portrait, row: Row) -> str:
    """A row, for those who cannot see it."""
    shares = [
        f"{fixed(wrong.every.value, 0)} of 100 {group(value)} {portrait.wrongly(value)}"
        + (
            f" ({fixed(wrong.own.value, 0)} beside {portrait.called['tasks']} of their own {portrait.called['value']}, "
            f"{fixed(wrong.other.value, 0)} beside others)"
            if wrong.own and wrong.other
            else ""
        )
        for value, wrong in row.wrong.items()
    ]
    said = [f"{told.verdict}: {', '.join(told.lines)}" for told in (*row.gap, *row.step)]
    return ", ".join([f"{row.name}: {listed(shares)}", *said])
