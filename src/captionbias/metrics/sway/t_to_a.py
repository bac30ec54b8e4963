"""T to A: the true value being the same, is a wrong one named more often where the tasks around suggest it?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic

import numpy as np

from captionbias.arrays import Floats, Integers, sparse
from captionbias.bench.catalogue import CAPTIONS, Score
from captionbias.metrics.sway.images import FEW
from captionbias.metrics.sway.question import Answer, Draw, Numbers, Resample, entry, numbers, share_of
from captionbias.scores.sway import error_difference, error_ratio
from captionbias.statistics.samples import Extreme, Sample
from captionbias.warnings import note

SIDES = "captioner", "person"
ALL, NAMED, RIGHT = range(3)  # captions, those that name a single value, those that name the true one
FORMS = {"sway_t_to_a": NAMED, "sway_t_to_a_lost": ALL}  # of which captions an error is a share
SHARES = "right", "wrong", "none", "wrong_of_named"  # of the captions of a cell
BESIDE = "(strata,2,r),(strata,2,r)->(r)"  # captions and errors of `r` replicates, and what a formula makes of them


def _entries(key: str, part: str, swayed: str, meaning: str, claim: str) -> Iterable[Score]:
    score, least, most = partial(entry, "t_to_a", CAPTIONS), f"{key}_least", f"{key}_most"
    yield score(key, part, meaning, judged=True, headline=True, claim=claim, above=(least,), below=(most,))
    for end, which in ((least, "least"), (most, "most")):
        alike = f"The same if every value were as often {swayed} as the {which} {swayed} one."
        yield score(end, f"{which} {swayed}", alike, in_tables=False, task=None)


ENTRIES = (
    *_entries(
        "sway_t_to_a",
        "",
        "swayed",
        "Of 100 captions that name the attribute, how many more than a person's name a wrong value beside tasks that "
        "suggest another than the true one, compared with beside tasks that suggest it. 0 is a person; errors that do "
        "not follow the tasks read 0.",
        "the {value} named follows the {tasks} around",
    ),
    *_entries(
        "sway_t_to_a_lost",
        "silence counted as wrong",
        "lost",
        "The same of all captions: one that names no value, or several, counts as wrong.",
        "{value} omitted or wrong follows the {tasks} around",
    ),
)


@dataclass(frozen=True, eq=False)
class Swayed(Generic[Numbers]):
    """How often a wrong value is named, in captions of 100, by `FORMS`: of captions that name a value, of all."""

    score: Numbers  # `(FORMS,)`
    alike: Numbers  # the score if every value were as often swayed as this one, `(values, FORMS)`
    beyond: Numbers  # in captions of this value alone, `(values, FORMS)`
    ratio: Numbers  # how many times as often beside tasks that suggest another, the mean over values, `(SIDES,)`
    cells: Numbers  # by true value and suggested one, the last: none, `(values, values + 1, SIDES, SHARES)`


def answer(draws: Sequence[Draw], resample: Resample, notes: list[str]) -> Answer:
    """The scores from task to attribute."""
    images, values = [_images(draw) for draw in draws], draws[0].named.values
    _note_suggested(values, images[0], notes)
    swayed = Swayed[Sample](**resample([partial(_swayed, *_sums(draw)) for draw in draws]))
    scores: dict[str, Sample] = {}
    for form, key in enumerate(FORMS):
        alike = [swayed.alike[value, form] for value in range(len(values))]
        scores[key] = swayed.score[form]
        scores |= {f"{key}_least": Extreme.of(min, alike), f"{key}_most": Extreme.of(max, alike)}
    return Answer(scores, partial(_details, swayed, np.mean(images, axis=0), values))


def _images(draw: Draw) -> Integers:
    """How many images have each true value and each suggested one, the last: none, `(values, values + 1)`."""
    counts = np.zeros((len(draw.named.values), len(draw.named.values) + 1), np.int64)
    np.add.at(counts, (draw.named.value, draw.suggested), 1)  # -1 is the last
    return counts


def _note_suggested(values: Sequence[str], images: Integers, notes: list[str]) -> None:
    """Values whose images seldom show tasks that go with them, or with another."""
    for number, value in enumerate(values):
        along = images[number, number]
        against = images[number, :-1].sum() - along
        if min(along, against) < FEW:
            note(
                notes,
                f"of the images of {value}, {along:,} show tasks that go with {value} and "
                f"{against:,} tasks that go with another value: too few to tell how {value} is named",
                about="t_to_a",
            )


def _sums(draw: Draw) -> tuple[Any, tuple[int, ...]]:
    """The sums over each group of images of what their captions count, `(cells, groups)`, and the shape of the cells:
    true value, suggested one, stratum, side and kind (all, named, right)."""
    named, images, values = draw.named, len(draw.named.value), len(draw.named.values)
    # How plainly the person can be seen: how many of how many others name the true value.
    image = named.image[draw.other]
    others = np.bincount(image, minlength=images)
    seen = np.bincount(image[named.people_see[draw.other]], minlength=images)
    _, stratum = np.unique(others * (others.max() + 1) + seen, return_inverse=True)
    every = np.ones(images)
    counts = np.column_stack((every, named.captioner.values, every, draw.person.values))
    shape = values, values + 1, int(stratum.max()) + 1, len(SIDES), counts.shape[1] // len(SIDES)
    cell = np.ravel_multi_index((named.value, draw.suggested, stratum), shape[:3], mode="wrap")  # -1 is the last
    row, column = np.nonzero(counts)
    places = row, cell[row] * counts.shape[1] + column
    return named.sums(sparse(counts[row, column], places, (images, int(np.prod(shape))))).tocsr(), shape


def _swayed(sums: Any, shape: tuple[int, ...], multiplicity: Floats) -> Swayed[Floats]:
    table = (sums @ multiplicity).reshape(*shape, -1)
    beside = _beside(table)
    difference, ratio = (np.vectorize(of, signature=BESIDE)(*beside) for of in (error_difference, error_ratio))
    beyond = difference[:, 0] - difference[:, 1]
    captioner = beside[0][:, 0].sum(axis=2)
    share = share_of(captioner[:, :, 0], captioner.sum(axis=(0, 2)))
    score = np.where(np.isnan(beyond).all(axis=0), np.nan, np.nansum(beyond * share, axis=0))
    every, named, right = np.moveaxis(table.sum(axis=2), 3, 0)
    parts, wholes = (right, named - right, every - named, named - right), (every, every, every, named)
    shares, ratio = share_of(np.stack(parts, axis=3), np.stack(wholes, axis=3)), np.log(ratio[:, :, 0]).mean(axis=0)
    return Swayed(100 * score, 100 * beyond * share.sum(axis=0), 100 * beyond, np.exp(ratio), 100 * shares)


def _beside(table: Floats) -> tuple[Floats, Floats]:
    """Captions and errors beside tasks that suggest another value than the true one, and beside tasks that suggest it,
    each `(values, SIDES, FORMS, strata, 2, replicates)`."""
    own = np.eye(len(table)) > 0
    sides = [(table[:, :-1] * flags[:, :, None, None, None, None]).sum(axis=1) for flags in (~own, own)]
    kinds = np.stack(sides).transpose(1, 3, 4, 2, 0, 5)
    captions = kinds[:, :, list(FORMS.values())]
    return captions, captions - kinds[:, :, [RIGHT]]


def _details(swayed: Swayed[Sample], images: Floats, values: Sequence[str]) -> dict[str, Any]:
    places = [(f"{who}_{what}", side, share) for side, who in enumerate(SIDES) for share, what in enumerate(SHARES)]
    cells: list[dict[str, Any]] = [
        {"attribute": value, "suggested": beside, "images": float(images[row, column])}
        | numbers({name: swayed.cells[row, column, side, share] for name, side, share in places})
        for row, value in enumerate(values)
        for column, beside in enumerate((*values, None))
    ]
    beyond: list[dict[str, Any]] = [
        {"attribute": value} | numbers({name: swayed.beyond[row, form] for form, name in enumerate(("extra", "lost"))})
        for row, value in enumerate(values)
    ]
    ratio = dict(zip(SIDES, swayed.ratio.values[:, 0].tolist(), strict=True))
    return {"cells": cells, "t_to_a": beyond, "error_ratio": ratio}
