"""What sway counts: the values and tasks that images show and captions name, which tasks go with which values, and the
captioner beside a drawn person."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from typing import Any, NamedTuple

import numpy as np

from captionbias.arrays import Flags, Floats, Integers, sparse
from captionbias.bench.inputs import (
    check_tasks_named,
    copies_of,
    given_tasks,
    named_in,
    note_labels_from_captions,
    with_values,
)
from captionbias.bench.label_inputs import value_numbers
from captionbias.bench.pairing import drawn_captions, named_by_any
from captionbias.captions import Captions, Words
from captionbias.errors import InputError, naming, unknown
from captionbias.scores.sway import (
    Leans,
    error_difference,
    error_ratio,
    leans_of,
    naming_rates,
    residuals,
    suggested_by_others,
    suggested_values,
)
from captionbias.text import Lexicon
from captionbias.text.languages import english_name
from captionbias.warnings import note

BEARER = "person"  # whoever has the attribute is no task
SHIPPED = "gender_coco_objects"
OWN = "own"
FEW, LEAST_AGREEMENT = 20, 0.5
ENDS = ("_all_there", "_made_up")  # of A to T: what is named beyond the tasks known; people may not mention it
NO_VALUE = -1


class SwayImages(NamedTuple):
    """What a draw compares, an entry an image: its row among the captions, and numbers of `values`: its own, the one
    that its tasks suggest, and those that the captioner and the drawn person name; -1 for none."""

    values: tuple[str, ...]
    row: Integers
    value: Integers
    suggested: Integers
    captioner: Integers
    person: Integers


# What images show and captions name


@dataclass(frozen=True, eq=False)
class NamedImages:
    """What is read from captions, of the `n` images that can be compared."""

    values: tuple[str, ...]
    tasks: tuple[str, ...]
    row: Integers  # each image's row
    value: Integers  # the number of its attribute value
    captioner: Integers  # the number of the value that each caption names alone, -1 if none or several
    people: Integers  # the same of human captions, `(captions,)`
    people_name: Flags  # whether a human caption names its image's value
    image: Integers  # of each human caption
    captioner_tasks: Flags
    people_tasks: Flags
    given: Flags | None  # the tasks that images show, if they are given
    pictures: Integers | None  # see `Captions.copies`


def read_named(captions: Captions, attribute: Lexicon, task: Lexicon, tokenizer: str, notes: list[str]) -> NamedImages:
    """What captions name, of the images that can be compared."""
    captions = with_values(captions, attribute, tokenizer, notes)
    words = captions.words(tokenizer)
    whole = np.ones(len(attribute.labels), bool)
    if attribute.parts:
        whole = np.all(attribute.named_parts(), axis=1)
    labels = tuple(itertools.compress(attribute.labels, whole))
    value = value_numbers(captions, labels)
    values_named = named_in(words.tokens, attribute, tokenizer)[:, whole]
    note_labels_from_captions(words, values_named, value, notes)
    every_task = named_in(words.tokens, task, tokenizer)
    check_tasks_named(every_task, task)
    is_task = np.array([label != BEARER for label in task.labels])
    given = None if captions.tasks is None else given_tasks(captions.tasks, task, notes)[:, is_task]
    kept, copies = _comparable(words, captions, notes), copies_of(captions, notes)
    occurring = np.unique(value)
    order = np.concatenate((occurring, np.setdiff1d(np.arange(len(labels)), occurring)))
    values_named, value = values_named[:, order], np.argsort(order)[value]
    single = np.where(values_named.sum(axis=1) == 1, values_named.argmax(axis=1), NO_VALUE)
    human = np.flatnonzero(kept[words.human_image])
    of_human = words.model_rows + human
    image = words.human_image[human]
    return NamedImages(
        tuple(labels[number] for number in occurring),
        tuple(itertools.compress(task.labels, is_task)),
        np.flatnonzero(kept),
        value[kept],
        single[: words.model_rows][kept],
        single[of_human],
        values_named[of_human, value[image]],
        (np.cumsum(kept) - 1)[image],
        every_task[: words.model_rows][kept][:, is_task],
        every_task[of_human][:, is_task],
        None if given is None else given[kept],
        None if copies is None else np.unique(copies[kept], return_inverse=True)[1],
    )


def _comparable(words: Words, captions: Captions, notes: list[str]) -> Flags:
    """Images with another human caption than the one drawn, or with tasks that are given."""
    counts = np.bincount(words.human_image, minlength=len(captions))
    kept = (counts > 1) | (captions.tasks is not None)
    if not kept.any():
        raise InputError("few", "references").says(
            ": no image has two human captions (one is compared with the captioner's, the others say what the "
            "image shows)",
            "give more human captions",
            naming("give {tasks}: all objects that each image shows"),
        )
    if not kept.all():
        note(
            notes,
            f"sway: {int((~kept).sum()):,} of {len(captions):,} images have a single human caption and no tasks: "
            "left out; give tasks",
        )
    return kept


# Leans


def find_leans(named: NamedImages, lean: str | None, names: tuple[str, str]) -> tuple[Leans, str]:
    """The leans that ship for these lexicons and values, else those of these images; and where they are from."""
    if lean not in (None, "shipped", OWN):
        raise unknown("lean", lean, ("shipped", OWN))
    table = json.loads((resources.files("captionbias.metrics") / "leans" / f"{SHIPPED}.json").read_text("utf-8"))
    fits = [*map(english_name, names)] == table["lexicons"] and list(named.values) == table["values"]
    if lean == OWN or (lean is None and not fits):
        return leans_of(*_counted(named)), OWN
    if not fits:
        raise InputError("unknown", "lean").says(
            f"'shipped': there is a table of {' and '.join(table['lexicons'])}, with images of "
            f"{' and '.join(table['values'])}; here are {' and '.join(names)}, with {' and '.join(named.values)}",
            "choose own",
        )
    kind = "named" if named.given is None else "given"
    images = np.array(table[kind]["images"], np.float64)
    both = np.array([table[kind]["tasks"][task] for task in named.tasks], np.float64)
    return leans_of(both, images / images.sum()), f"{SHIPPED},{kind}"


def _counted(named: NamedImages) -> tuple[Floats, Floats]:
    """These images' counts: those with each task and value, `(tasks, values)`, and the share with each value."""
    shown = named.given
    if shown is None:
        shown = named_by_any(named.image, len(named.value), named.people_tasks)
    both = np.stack([shown[named.value == number].sum(axis=0) for number in range(len(named.values))], axis=1)
    return both.astype(np.float64), np.bincount(named.value, minlength=len(named.values)) / len(named.value)


def note_leans(named: NamedImages, table: Leans, source: str, notes: list[str]) -> None:
    """Leans that are of these images alone, or of other images than these."""
    if source == OWN:
        note(notes, "what goes with what was counted on these images: scores on others do not compare", about="lean")
        if not table.goes_with.any():
            note(
                notes,
                "no task goes with any value more than by chance, so nothing can sway; give more images",
                about="lean",
            )
        return
    both, shares = _counted(named)
    often = both.sum(axis=1)
    known = (often >= FEW) & table.goes_with.any(axis=1)
    if known.sum() > 2:
        own = leans_of(both, shares).lean[known, 0]
        (own_spread, together), (_, spread) = np.cov(own, table.lean[known, 0], aweights=often[known])
        if together < LEAST_AGREEMENT * np.sqrt(own_spread * spread):
            note(
                notes,
                "here other tasks go with other values than in the shipped table",
                naming("take {lean}", lean="own"),
                about="lean",
            )


def note_suggested(images: SwayImages, notes: list[str]) -> None:
    """Values whose images seldom show tasks that go with them, or with another."""
    for number, value in enumerate(images.values):
        of_value = images.suggested[(images.value == number) & (images.suggested != NO_VALUE)]
        along = int((of_value == number).sum())
        if min(along, len(of_value) - along) < FEW:
            note(
                notes,
                f"of the images of {value}, {along:,} show tasks that go with {value} and "
                f"{len(of_value) - along:,} tasks that go with another value: too few to tell how {value} is named",
                about="t_to_a",
            )


# One draw


@dataclass(frozen=True, eq=False)
class Compared:
    """One draw: the captioner beside one drawn person, in counts and sums by group of images."""

    images: SwayImages
    # Captions by true value, suggested value (the last: none), stratum and kind (all; the captioner's that name a
    # value, the right one; the person's likewise), `(cells, groups)`.
    cells: Any
    shape: tuple[int, ...]  # of the cells
    pairs: Integers  # the task and the value of each pair that goes together, `(2, pairs)`
    sums: Floats  # see `_sums`
    complete: bool  # whether the tasks are all that images show
    level: Floats  # see `_naming_level`

    def table(self, multiplicity: Floats | None = None) -> Floats:
        """Captions by true value, suggested value, stratum and kind, `(values, values + 1, strata, 5, replicates)`."""
        flat = self.cells.sum(axis=1)[:, None] if multiplicity is None else self.cells @ multiplicity
        return np.asarray(flat, np.float64).reshape(*self.shape, -1)

    def quantities(self, multiplicity: Floats) -> dict[str, Floats]:
        table = self.table(multiplicity)
        return self._t_to_a(table) | self._cells(table) | self._a_to_t(self.sums @ multiplicity)

    def _cells(self, table: Floats) -> dict[str, Floats]:
        """The percentages of each cell's captions."""
        shares: dict[str, Floats] = {}
        values = self.images.values
        for (number, value), (other, beside) in itertools.product(enumerate(values), enumerate((*values, None))):
            everyone, *of_sides = table[number, other].sum(axis=0)
            for who, (named, right) in (("captioner", of_sides[:2]), ("person", of_sides[2:])):
                place = f"cell:{who}:{value}:{beside}"
                shares |= {
                    f"{place}:right": 100 * _share(right, everyone),
                    f"{place}:wrong": 100 * _share(named - right, everyone),
                    f"{place}:none": 100 * _share(everyone - named, everyone),
                    f"{place}:wrong_of_named": 100 * _share(named - right, named),
                }
        return shares

    def _t_to_a(self, table: Floats) -> dict[str, Floats]:
        """The scores of T to A, each value's part of them among them."""
        scores, values = {}, self.images.values
        forms = {"": (1, 1, 2, 3, 4), "_lost": (0, 0, 2, 0, 4)}  # how often, who is right: the captioner, the person
        for form, (weight, m_all, m_right, h_all, h_right) in forms.items():
            sides = [_beside(table, number) for number in range(len(values))]  # (strata, 2, kinds, replicates) each
            difference = np.array(
                [
                    _errors(error_difference, both, m_all, m_right) - _errors(error_difference, both, h_all, h_right)
                    for both in sides
                ]
            )
            captions = table[:, :-1, :, weight].sum(axis=(0, 1, 2))
            share = np.array([both[:, 0, weight].sum(axis=0) for both in sides]) / np.maximum(captions, 1)
            known = ~np.isnan(difference)
            whole = np.where(known, difference * share, 0.0).sum(axis=0)
            scores[f"sway_t_to_a{form}"] = 100 * np.where(known.any(axis=0), whole, np.nan)
            for number, value in enumerate(values):
                scores[f"value{form}:{value}"] = 100 * difference[number] * share.sum(axis=0)
                scores[f"difference{form}:{value}"] = 100 * difference[number]
        return scores

    def _a_to_t(self, sums: Floats) -> dict[str, Floats]:
        """The scores of A to T, with and without each task, and each pair's part of them beside a person's."""
        tasks, values = self.pairs
        spread = sums[7 * len(tasks) :][values]
        # In a replicate that has a value in no image there is nothing to divide.
        often = np.where(spread > 0, spread, np.nan)
        rows = sums[: 7 * len(tasks)].reshape(7, len(tasks), sums.shape[1])
        captioner, shown, other = (row / often for row in rows[:3])
        rate, elsewhere = naming_rates(rows[3], rows[5]), naming_rates(rows[4], rows[6])
        parts = {"": captioner - rate * (shown + other)}
        if self.complete:
            parts |= dict.fromkeys(ENDS, parts[""])
        else:
            made_up = captioner - rate * shown
            parts |= {"_made_up": made_up, "_all_there": made_up - elsewhere * other}
        scores, unit = {}, 100 / len(self.images.values)
        for form, part in parts.items():
            whole = part.sum(axis=0) if len(part) else np.full(part.shape[1], np.nan)
            scores[f"sway_a_to_t{form}"] = unit * whole
            for task in np.unique(tasks) if form else ():
                scores[f"without:{task}{form}"] = unit * (whole - part[tasks == task].sum(axis=0))
        of_pairs = {"": parts[""], "captioner": captioner, "person": shown + other}
        for number, (task, value) in enumerate(self.pairs.T):
            scores |= {f"pair:{task}:{value}:{who}": 100 * part[number] for who, part in of_pairs.items()}
        return scores

    def error_ratio(self, named: int, right: int) -> float:
        """How many times as often a value is named wrong beside tasks that suggest another, the geometric mean."""
        table = self.table()[..., 0]
        ratios = [_errors(error_ratio, _beside(table, number), named, right) for number in range(len(table))]
        return float(np.exp(np.mean(np.log(ratios))))


def compare(named: NamedImages, leans: Leans, own: bool, groups: Integers, seed: int) -> Compared:
    """The captioner beside the person whom this seed draws; `own`: leans leave each image itself out."""
    images, values = len(named.value), len(named.values)
    drawn = drawn_captions(named.image, images, seed)
    other = np.ones(len(named.image), bool)
    other[drawn] = False
    image = named.image[other]
    others = np.bincount(image, minlength=images)
    share = _count_by(image, named.people_tasks[other], images) / np.maximum(others, 1)[:, None]
    shown = share > 0 if named.given is None else named.given
    suggested = suggested_by_others(shown, named.value, *_counted(named)) if own else suggested_values(shown, leans)
    # How plainly the person can be seen: how many of how many others name the true value.
    seen = np.bincount(image[named.people_name[other]], minlength=images)
    _, stratum = np.unique(others * (others.max() + 1) + seen, return_inverse=True)
    captioner, person = named.captioner, named.people[drawn]
    kinds = np.column_stack(
        [np.ones(images, bool)]
        + [flags for side in (captioner, person) for flags in (side != NO_VALUE, side == named.value)]
    )
    shape = values, values + 1, int(stratum.max()) + 1, kinds.shape[1]
    place = (named.value * (values + 1) + np.where(suggested == NO_VALUE, values, suggested)) * shape[2] + stratum
    row, kind = np.nonzero(kinds)
    where = place[row] * shape[3] + kind, groups[row]
    cells = sparse(np.ones(len(row)), where, (int(np.prod(shape)), int(groups.max()) + 1))
    pairs = np.array(np.nonzero(leans.goes_with), np.int64)
    human = named.people_tasks[drawn]
    contents: Floats = np.concatenate((shown, share), axis=1)
    return Compared(
        SwayImages(named.values, named.row, named.value, suggested, captioner, person),
        cells,
        shape,
        pairs,
        _sums(named, contents[:, contents.any(axis=0)], shown, human, pairs, groups, seed),
        named.given is not None,
        _naming_level(named, shown, human, leans),
    )


def _count_by(image: Integers, flags: Flags, images: int) -> Floats:
    """How many rows of each image have each flag, `(images, flags)`."""
    row, column = np.nonzero(flags)
    width = flags.shape[1]
    return np.bincount(image[row] * width + column, minlength=images * width).reshape(images, width).astype(np.float64)


def _sums(
    named: NamedImages, contents: Floats, shown: Flags, human: Flags, pairs: Integers, groups: Integers, seed: int
) -> Floats:
    """The sums that A to T is made of: of each pair `captioner`, `person_shown`, `person_other`, `task_shown`,
    `task_other`, `human_shown`, `human_other`, and of each value `spread`: `(rows, groups)`."""
    images, values = len(named.value), len(named.values)
    task, value = pairs
    used, column = np.unique(task, return_inverse=True)
    captioner, human, there = (flags[:, used] for flags in (named.captioner_tasks, human, shown))
    outcomes = np.concatenate(
        (named.value[:, None] == np.arange(values), captioner, human & there, human & ~there), axis=1
    ).astype(np.float64)
    left = residuals(contents, outcomes, seed, named.pictures)
    units = int(groups.max()) + 1

    def by_group(weight: Floats, table: Any) -> Floats:
        where = sparse(weight, (groups, np.arange(images)), (units, images))
        return np.asarray(where @ np.asarray(table, np.float64)).T

    width = len(used)
    of_task = [left[:, values + kind * width : values + (kind + 1) * width] for kind in range(3)]
    together = np.zeros((3, len(task), units))
    for number in range(values):
        chosen = np.flatnonzero(value == number)
        for kind in range(3):
            together[kind, chosen] = by_group(left[:, number], of_task[kind][:, column[chosen]])
    once = np.ones(images)
    counts = [by_group(once, flags)[column] for flags in (captioner & there, captioner & ~there)]
    counts += [by_group(once, flags)[column] for flags in (human & there, human & ~there)]
    return np.concatenate((*together, *counts, by_group(once, left[:, :values] ** 2)))


def _naming_level(named: NamedImages, shown: Flags, human: Flags, leans: Leans) -> Floats:
    """How completely the captioner names tasks without a lean, for each value; a person who names as many is at 1."""
    plain = ~leans.goes_with.any(axis=1)
    captioner, person = (flags[:, plain] & shown[:, plain] for flags in (named.captioner_tasks, human))
    rate = naming_rates(*(flags.sum(axis=0).astype(np.float64) for flags in (captioner, person)))
    of_values = [named.value == number for number in range(len(named.values))]
    return np.array([_share(captioner[rows].sum(), (person[rows].sum(axis=0) * rate).sum()) for rows in of_values])


def _beside(table: Floats, value: int) -> Floats:
    """Of images with this value captions beside tasks that suggest another, and it: `(strata, 2, kinds, ...)`."""
    along = table[value, value]
    return np.stack((table[value, :-1].sum(axis=0) - along, along), axis=1)


def _errors(compare: Callable[[Floats, Floats], Floats], captions: Floats, named: int, right: int) -> Floats:
    """Errors on both sides compared: of the captions of one kind those that are not of the other."""
    return compare(captions[:, :, named], captions[:, :, named] - captions[:, :, right])


def _share(part: Any, whole: Any) -> Any:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.divide(part, whole)


def mean_of_known(values: Floats) -> Floats:
    """The mean over draws, the first axis, of those that are defined."""
    known = ~np.isnan(values)
    return np.asarray(_share(np.where(known, values, 0.0).sum(axis=0), known.sum(axis=0)))
