"""T to A: the true value being the same, is a wrong one named more often where the tasks around suggest it?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic

import numpy as np

from captionbias.arrays import Flags, Floats
from captionbias.bench.catalogue import CAPTIONS, PERCENT, Score
from captionbias.bench.verdicts import CANNOT_TELL, MORE
from captionbias.metrics.sway.images import FEW
from captionbias.metrics.sway.misnaming import NAMES_BOTH
from captionbias.metrics.sway.question import (
    Counted,
    Draw,
    NameCounts,
    Numbers,
    QuestionResult,
    SwaySums,
    entry,
    numbers,
)
from captionbias.scores.misnaming import ALL, NAMED, RIGHT, share_of
from captionbias.scores.sway import error_difference, error_ratio
from captionbias.statistics.groups import totals
from captionbias.statistics.samples import RULE_OF_THREE, ExcessOver, ExtremeOf, Sample
from captionbias.warnings import note

ONE = "sway_t_to_a_one"
LEANING_Z = 4.0  # standard errors by which labels must follow the tasks to be told of
FORMS = {"sway_t_to_a": NAMED, "sway_t_to_a_lost": ALL}  # of which captions an error is a share
SHARES = "right", "wrong", "none"  # of the captions of a cell
STEPS = "step", "bound", "step_beyond"
CONTRADICTED = "contradicted labels"
BESIDE = "(strata,2,r),(strata,2,r)->(r)"  # captions and errors of `r` replicates, and what a formula makes of them


score = partial(entry, "sway T to A", CAPTIONS, sense="amplification", direction="t_to_a")


def _entries(key: str, part: str, swayed: str, meaning: str, claim: str) -> Iterable[Score]:
    least, most = f"{key}_least", f"{key}_most"
    ways: dict[str, Any] = {"above": (least,), "or_above": () if part else (ONE,), "below": (most,)}
    yield score(key, part, meaning, claim=claim, judged=True, headline=True, like_if=NAMES_BOTH, **ways)
    for end, which in ((least, "least"), (most, "most")):
        alike = f"The same if every value were {swayed} as often as the {which} {swayed} one."
        yield score(end, f"{which} {swayed}", alike, in_tables=False, task=None)


ENTRIES = (
    *_entries(
        "sway_t_to_a",
        "",
        "swayed",
        "Per 100 captions that name the attribute, how many more than a person's name a wrong value beside tasks "
        "that suggest another value than beside tasks that suggest the true one. 0 is a person; errors that do not "
        "follow the tasks score 0.",
        "the {value} named follows the {tasks} around",
    ),
    *_entries(
        "sway_t_to_a_lost",
        "silence counted as wrong",
        "lost",
        "The same over all captions: one that names no value, or several, counts as wrong.",
        "{value} omitted or wrong follows the {tasks} around",
    ),
    score(
        ONE,
        "one value by itself",
        "Among images for which all other people name the value, for the value with the largest number: how many "
        "more of 100 captions name another value beside that value's tasks than beside its own tasks, minus those in "
        "which one more person does not name it, which a captioner with a default for people who are hard to see "
        "would name wrong.",
        in_tables=False,
        task=None,
    ),
)


@dataclass(frozen=True, eq=False)
class Swayed(Generic[Numbers]):
    """How often a wrong value is named, in captions of 100, by `FORMS`: of captions that name a value, of all."""

    score: Numbers  # `(FORMS,)`
    alike: Numbers  # the score if every value were as often swayed as this one, `(values, FORMS)`
    beyond: Numbers  # in captions of this value alone, `(values, FORMS)`
    ratio: Numbers  # how many times as often beside tasks that suggest another, the mean over values, `(SIDES,)`
    steps: Numbers  # of images where all others name the value, `(values, STEPS)`
    cells: Numbers  # by true value and suggested one, the last: none, `(values, values + 1, SIDES, SHARES)`


def counted(inputs: SwaySums) -> Counted:
    """How often captions of each draw name a wrong value beside which tasks."""
    return [partial(_swayed, names, inputs.within_scenes) for names in inputs.names]


def answer(inputs: SwaySums, samples: dict[str, Sample]) -> QuestionResult:
    """The scores from task to attribute."""
    images, values = [names.images for names in inputs.names], inputs.values
    _note_suggested(values, images[0], inputs.notes)
    _note_leaning_labels(inputs)
    swayed = Swayed[Sample](**samples)
    floors, of_steps = _floors(inputs)
    against = 1 - np.trace(images[0]) / max(images[0][:, :-1].sum(), 1)  # of the images whose tasks suggest a value
    scores: dict[str, Sample] = {}
    for form, key in enumerate(FORMS):
        alike = [
            replace(swayed.alike[value, form], floor=float(against * floors[value])) for value in range(len(values))
        ]
        scores[key] = replace(swayed.score[form], floor=float(against * floors.min()))
        scores |= {f"{key}_least": ExtremeOf.of(min, alike), f"{key}_most": ExtremeOf.of(max, alike)}
    steps = [
        [replace(swayed.steps[value, place], floor=floor) for place in range(2)]
        for value, floor in enumerate(of_steps.tolist())
    ]
    beyond = [ExcessOver.of(*of_value) for of_value in steps]
    if known := [sample for sample in beyond if not np.isnan(sample.values).any()]:
        scores[ONE] = ExtremeOf.of(max, known)
    return QuestionResult(scores, partial(_details, swayed, np.mean(images, axis=0), inputs))


def _floors(inputs: SwaySums) -> tuple[Floats, Floats]:
    """What three captions of the smaller of a value's two cells can hide, of 100 of them, `(values,)`: of all images,
    and of those where all others name the value."""
    names = inputs.names[0]
    captions = names.table(np.ones((len(inputs.groups), 1)))[:, :, :, 0, ALL, 0]
    pictures = captions[:, :-1] * inputs.picture_count / captions.sum()
    plain = pictures[:, :, names.seen[:, 0] == names.seen[:, 1]]
    own = np.eye(len(pictures)) > 0
    cells = (np.stack(((~own * of).sum(axis=1), (own * of).sum(axis=1))) for of in (pictures.sum(2), plain.sum(2)))
    all_of_them, of_plain = (100 * RULE_OF_THREE / np.maximum(of.min(axis=0), 1) for of in cells)
    return all_of_them, of_plain


def _note_suggested(values: Sequence[str], images: Floats, notes: list[str]) -> None:
    """Values whose images seldom show tasks that go with them, or with another."""
    for number, value in enumerate(values):
        along = images[number, number]
        against = images[number, :-1].sum() - along
        if min(along, against) < FEW:
            note(
                notes,
                f"of the images of {value}, {along:,.0f} show tasks that go with {value} and "
                f"{against:,.0f} tasks that go with another value: too few to tell how {value} is named",
                about="t_to_a",
            )


def contradicted_labels(draw: Draw) -> Flags:
    """Of images whose value people name, and whose tasks suggest a value: those whose tasks suggest another than their
    label, and of them those whose label people contradict; and the same where tasks suggest it: `(images, 4)`."""
    named = draw.named
    names, sees = (np.bincount(named.image, of, len(named.value)) for of in named.people.values.T)
    testable, along, contradicted = (names > 0) & (draw.suggested >= 0), draw.suggested == named.value, 2 * sees < names
    sides = testable & ~along, testable & along
    return np.column_stack([of & also for of in sides for also in (testable, contradicted)])


def _note_leaning_labels(inputs: SwaySums) -> None:
    """Labels that follow the tasks: people contradict them more often where tasks suggest them than where not."""
    images, contradicted = totals(inputs.units)[CONTRADICTED].reshape(2, 2).T
    shares, mean = share_of(contradicted, images), contradicted.sum() / max(images.sum(), 1)
    if shares[1] - shares[0] > LEANING_Z * np.sqrt(mean * (1 - mean) * (1 / np.maximum(images, 1)).sum()):
        note(
            inputs.notes,
            f"human captions contradict {shares[1]:.1%} of the labels that tasks suggest and {shares[0]:.1%} of the "
            "others: labels that follow the tasks hide a captioner that does",
            "check how images were labelled",
            about="attributes",
        )


def _swayed(names: NameCounts, within: bool, multiplicity: Floats) -> Swayed[Floats]:
    """`within`: of scenes, in which the images of values that the tasks do not suggest are compared with those of the
    one that they do: `alike` and `beyond` are then by the value suggested."""
    table = names.table(multiplicity)
    cells = table[:, :-1]
    beside = _beside(cells.swapaxes(0, 1) if within else cells)
    difference, ratio = (np.vectorize(of, signature=BESIDE)(*beside) for of in (error_difference, error_ratio))
    beyond = difference[:, 0] - difference[:, 1]
    captioner = beside[0][:, 0].sum(axis=2)
    share = share_of(captioner[:, :, 0], captioner.sum(axis=(0, 2)))
    score = np.where(np.isnan(beyond).all(axis=0), np.nan, np.nansum(beyond * share, axis=0))
    every, named, right = np.moveaxis(table.sum(axis=2), 3, 0)
    parts = np.stack((right, named - right, every - named), axis=3)
    shares, ratio = share_of(parts, every[:, :, :, None]), np.log(ratio[:, :, 0]).mean(axis=0)
    steps = _steps(table[:, :, names.seen[:, 0] == names.seen[:, 1]].sum(axis=2))
    alike = 100 * beyond * share.sum(axis=0)
    return Swayed(100 * score, alike, 100 * beyond, np.exp(ratio), 100 * steps, 100 * shares)


def _steps(table: Floats) -> Floats:
    """What a default for the hard to see could explain of one value, `(values, STEPS, replicates)`, where all others
    name it: how much oftener the captioner names another beside tasks of another than beside its own, how often there
    the drawn person does not name the value, and the first less the second."""
    own = np.eye(len(table)) > 0
    against, along = ((table[:, :-1] * at[:, :, None, None, None]).sum(axis=1) for at in (~own, own))
    wrong = [share_of(cell[:, 0, NAMED] - cell[:, 0, RIGHT], cell[:, 0, ALL]) for cell in (against, along)]
    step, bound = wrong[0] - wrong[1], 1 - share_of(against[:, 1, RIGHT], against[:, 1, ALL])
    return np.stack((step, bound, step - bound), axis=1)


def _beside(cells: Floats) -> tuple[Floats, Floats]:
    """Captions and errors beside tasks that suggest another value than the true one, and beside tasks that suggest it,
    each `(values, SIDES, FORMS, strata, 2, replicates)`."""
    own = np.eye(len(cells)) > 0
    sides = [(cells * flags[:, :, None, None, None, None]).sum(axis=1) for flags in (~own, own)]
    kinds = np.stack(sides).transpose(1, 3, 4, 2, 0, 5)
    captions = kinds[:, :, list(FORMS.values())]
    return captions, captions - kinds[:, :, [RIGHT]]


def _details(swayed: Swayed[Sample], images: Floats, inputs: SwaySums) -> dict[str, Any]:
    values, sides = inputs.values, inputs.sides
    places = [(f"{who}_{what}", side, share) for side, who in enumerate(sides) for share, what in enumerate(SHARES)]
    cells: list[dict[str, Any]] = [
        {"attribute": value, "suggested": beside, "images": float(images[row, column])}
        | numbers({name: swayed.cells[row, column, side, share] for name, side, share in places}, PERCENT)
        for row, value in enumerate(values)
        for column, beside in enumerate((*values, None))
    ]
    beyond: list[dict[str, Any]] = []
    for row, value in enumerate(values):
        entries = numbers({name: swayed.beyond[row, form] for form, name in enumerate(("extra", "lost"))})
        entries |= numbers({name: swayed.steps[row, step] for step, name in enumerate(STEPS)})
        surely = entries.get("step_beyond_ci_low", 0.0) > 0
        of_value = {"suggested" if inputs.within_scenes else "attribute": value}
        beyond.append({**of_value, **entries, "verdict": MORE if surely else CANNOT_TELL})
    ratio = dict(zip(sides, swayed.ratio.values[:, 0].tolist(), strict=False))
    return {"cells": cells, "t_to_a": beyond, "error_ratio": ratio}
