"""What images show and captions name, and which value the tasks suggest."""

from __future__ import annotations

import itertools
import json
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from captionbias.arrays import Array, Flags, Floats, Integers, sparse
from captionbias.bench.protocol import lexicon_name
from captionbias.bench.reading import Reading, Side, share_naming
from captionbias.captions import Captions
from captionbias.errors import InputError, few, phrase, unknown
from captionbias.hashes import Hashes
from captionbias.io.files import user_path
from captionbias.scores.sway import Leans, leans_of
from captionbias.statistics.groups import random_groups
from captionbias.text import Lexicon, LexiconSource, load_lexicon
from captionbias.text.languages import english_name
from captionbias.text.lexicon import check_lexicon
from captionbias.warnings import note

BEARER = "person"  # whoever has the attribute is not a task
SHIPPED, OWN, NO_LEAN = "gender_coco_objects", "own", "none"
FEW, LEAST_AGREEMENT = 20, 0.5
MANY = 1000  # images, of leans that were not counted


class CaptionFlags(NamedTuple):
    """What each of `n` captions says, as flags; of an image that has several, the share of these that say it."""

    values: Array  # a single value, the image's value alone, `(n, 2)`
    tasks: Any  # sparse, `(n, tasks)`


class NamedImages(NamedTuple):
    """What is read from captions, of the `n` images that can be compared."""

    values: tuple[str, ...]
    tasks: tuple[str, ...]
    row: Integers  # each image's row
    value: Integers  # the number of its attribute value
    weight: Floats  # how many images it counts as
    picture: Integers  # the number of the picture that it is of, see `Captions.copies`, in an order of their keys
    group: Integers  # the group in which it is resampled, see `random_groups`
    given_tasks: Any  # sparse, the tasks that images show, `(n, tasks)`; None if they are not given
    captioner: CaptionFlags  # of each image
    people: CaptionFlags  # of each human caption
    image: Integers  # of each human caption
    key: Hashes  # by which one of an image's human captions is drawn
    single: bool  # whether images have one human caption, so that nobody else says what they show
    scene: Integers | None  # of each image without human captions the number of its scene, of all one without scenes

    def pictures(self, rows: Any = slice(None)) -> Integers:
        """How many pictures of each value there are, or these rows are of."""
        pictures = np.unique((self.picture * len(self.values) + self.value)[rows])
        return np.bincount(pictures % len(self.values), minlength=len(self.values))

    def flags_of(self, rows: Integers) -> CaptionFlags:
        """What the human captions in these rows say, one of each image."""
        return CaptionFlags(self.people.values[rows], self.people.tasks[rows])

    def sees(self, human: Flags) -> Integers:
        """The images of these human captions that name the image's value, one each."""
        return self.image[human & (self.people.values[:, 1] > 0)]

    def shares(self, human: Flags) -> Any:
        """The share of these human captions of each image that name each task, sparse, `(n, tasks)`."""
        return share_naming(self.image[human], len(self.value), self.people.tasks[human])

    def tasks_shown(self, shares: Any) -> Any:
        """The tasks that are given, or that some of each image's human captions name, see `shares`: `(n, tasks)`."""
        return shares.sign() if self.given_tasks is None else self.given_tasks

    def sums(self, counts: Any) -> Any:
        """The sums over each group that there is of what each image counts, `(n, columns)`: `(columns, groups)`."""
        groups, place = np.unique(self.group, return_inverse=True)
        return (sparse(self.weight, (place, np.arange(len(place))), (len(groups), len(place))) @ counts).T


def compared_images(reading: Reading, seed: int) -> NamedImages:
    """What was read, of the images that can be compared."""
    from scipy.sparse import csr_array

    captions, predictions, images = cast(Captions, reading.captions), reading.predictions, len(reading)
    people = reading.human or predictions.select(np.zeros(0, np.int64), np.arange(images))
    single = reading.human is not None and bool(np.median(np.bincount(people.image, minlength=images)) < 2)
    compared = _comparable(reading, single) if reading.human else _in_scenes(reading)
    is_task = np.array([task != BEARER for task in reading.tasks])
    occurring, value = np.unique(reading.value, return_inverse=True)
    if captions.part:  # in another part others may occur
        occurring, value = np.arange(len(reading.values)), reading.value

    def says(side: Side) -> CaptionFlags:
        values = side.values if side.main is None else side.main
        one = values.sum(axis=1) == 1
        right = one & values[np.arange(len(one)), reading.value[side.image]]
        return CaptionFlags(np.column_stack((one, right)), csr_array(side.tasks[:, is_task], dtype=np.float64))

    names, tasks = (share_naming(predictions.image, images, flags)[compared] for flags in says(predictions))
    human = people.select(np.flatnonzero(compared[people.image]), np.cumsum(compared) - 1)
    copies = np.arange(images) if reading.copies is None else reading.copies
    picture = _numbered_by_key(copies[compared], reading.truth.key[compared])
    return NamedImages(
        tuple(reading.values[number] for number in occurring),
        tuple(itertools.compress(reading.tasks, is_task)),
        np.flatnonzero(compared),
        value[compared],
        reading.truth.weight[compared],
        picture,
        random_groups(reading.truth.key[compared], seed),
        says(reading.truth).tasks[compared] if reading.given else None,
        CaptionFlags(names.toarray(), tasks),
        CaptionFlags(*(flags[compared[people.image]] for flags in says(people))),
        human.image,
        human.key,
        single,
        None if reading.human else picture if captions.scene else np.zeros(len(picture), np.int64),
    )


def _numbered_by_key(copies: Integers, keys: Hashes) -> Integers:
    """The numbers of pictures, wherever these stand."""
    _, first, number = np.unique(copies, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(keys[first], kind="stable"))[number]


def _comparable(reading: Reading, single: bool) -> Flags:
    """Images with another human caption than the one drawn, or with tasks that are given; all where most have one."""
    counts = np.bincount(cast(Side, reading.human).image, minlength=len(reading))
    comparable = (counts > 1) | reading.given | single
    if not comparable.all():
        note(
            reading.notes,
            f"sway: {int((~comparable).sum()):,} of {len(reading):,} images have a single human caption and no tasks: "
            "left out",
            phrase("give {tasks}"),
        )
    return comparable


def _in_scenes(reading: Reading) -> Flags:
    """Images that another of their scene, of another value, can be compared with; all images without scenes."""
    if reading.copies is None:
        return np.ones(len(reading), bool)
    values = np.zeros((int(reading.copies.max()) + 1, len(reading.values)), bool)
    values[reading.copies, reading.value] = True
    usable: Flags = (values.sum(axis=1) > 1)[reading.copies]
    if not usable.any():
        raise InputError(
            "scene", ": no scene has images of two values: give images of one scene the same name in this column"
        )
    if not usable.all():
        text = (
            f"{int((~usable).sum()):,} of {len(usable):,} images are of a scene with only one value, and are left out"
        )
        note(reading.notes, text, about="scene")
    return usable


# Leans


class LeanCounts(NamedTuple):
    """The images that leans are counted on."""

    source: str  # for the signature
    both: Floats  # those that show each task and have each value, `(tasks, values)`
    shares: Floats  # of those with each value
    own: Floats  # how much each image that is compared is among them, for each value, `(n, values)`


def no_leans(named: NamedImages) -> LeanCounts:
    """Where nothing is asked of tasks."""
    images, tasks, values = len(named.value), len(named.tasks), len(named.values)
    return LeanCounts(NO_LEAN, np.zeros((tasks, values)), np.full(values, 1 / values), np.zeros((images, values)))


def count_leans(
    named: NamedImages, lean: LexiconSource | None, lexicons: tuple[Lexicon, Lexicon], notes: list[str]
) -> LeanCounts:
    """The counts that ship for these lexicons, or those they extend, and these labels; else those of these images; or
    what is given of each value's tasks."""
    if lean is not None and not (isinstance(lean, str) and lean in ("shipped", OWN)):
        return _leans_from(named, lean)
    table = json.loads((resources.files("captionbias.metrics.sway") / f"{SHIPPED}.json").read_text("utf-8"))
    names, bases = zip(*((lexicon.name, english_name(lexicon.base)) for lexicon in lexicons), strict=True)
    fits = [*bases] == table["lexicons"]
    fits = fits and list(named.values) == table["values"] and table["given"]["tasks"].keys() >= {*named.tasks}
    own = _own_counts(named)
    if lean == OWN or (lean is None and not fits):
        leans = leans_of(own.both, own.shares).goes_with.any()
        if leans or named.scene is None:
            text = "which task goes with which value was counted on these images: scores on others are not comparable"
            note(notes, text, about="lean")
        if not leans and named.scene is None:
            text = "no task goes with any value more than by chance, so nothing can sway"
            note(notes, text, "give more images", about="lean")
        return own
    if not fits:
        raise InputError(
            "lean",
            f"'shipped': there is a table for {' and '.join(table['lexicons'])}, with images of "
            f"{' and '.join(table['values'])}; here are {' and '.join(names)}, with {' and '.join(named.values)}; "
            "choose own",
        )
    kind = "named" if named.given_tasks is None else "given"
    both = np.array([table[kind]["tasks"][task] for task in named.tasks], np.float64)
    images = np.array(table[kind]["images"], np.float64)
    shipped = LeanCounts(f"{SHIPPED},{kind}", both, images / images.sum(), np.zeros_like(own.own))
    _note_other_leans(own, shipped, notes)
    return shipped


def _leans_from(named: NamedImages, lean: Any) -> LeanCounts:
    """As if so many images of a value, and of no other, showed each of the tasks that are given as the value's."""
    if isinstance(lean, (str, Path)) and not user_path(lean, "lean").is_file():
        raise unknown("lean", str(lean), ("shipped", OWN, "a file of each value's tasks"))
    lexicon = load_lexicon(check_lexicon("lean", lean))
    number = {task.casefold(): place for place, task in enumerate(named.tasks)}
    known = {"a label of these images": [*named.values], "in the task lexicon": [*number]}
    for what, names in zip(known, (lexicon.labels, itertools.chain(*lexicon.groups.values())), strict=True):
        if strange := [name for name in names if name not in known[what]]:
            raise InputError("lean", f"names {strange[0]!r}, which is not {what}: name {few(known[what], 20)}")
    values = len(named.values)
    both = np.zeros((len(named.tasks), values))
    for value, tasks in lexicon.groups.items():
        both[[number[task] for task in tasks], named.values.index(value)] = MANY
    return LeanCounts(
        lexicon_name(lexicon, lean), both, np.full(values, 1 / values), np.zeros((len(named.value), values))
    )


def _own_counts(named: NamedImages) -> LeanCounts:
    """Those of these images; an image is with its picture's copies among them."""
    has_value = np.where(named.value[:, None] == np.arange(len(named.values)), named.weight[:, None], 0.0)
    both = named.tasks_shown(named.shares(np.ones(len(named.image), bool))).T @ has_value
    of_picture = sparse(np.ones(len(has_value)), (named.picture, np.arange(len(has_value))), (len(has_value),) * 2)
    return LeanCounts(OWN, both, has_value.sum(axis=0) / named.weight.sum(), (of_picture @ has_value)[named.picture])


def _note_other_leans(own: LeanCounts, shipped: LeanCounts, notes: list[str]) -> None:
    """Note it where tasks lean otherwise on these images."""
    often = own.both.sum(axis=1)
    leans, others = (leans_of(counts.both, counts.shares) for counts in (own, shipped))
    known = (often >= FEW) & others.goes_with.any(axis=1)
    if known.sum() > 2:
        (own_spread, together), (_, spread) = np.cov(leans.lean[known, 0], others.lean[known, 0], aweights=often[known])
        if together < LEAST_AGREEMENT * np.sqrt(own_spread * spread):
            text = "tasks go with other values here than in the shipped table"
            note(notes, text, phrase("take {lean}", lean=OWN), about="lean")


def lean_rows(named: NamedImages, leans: Leans) -> list[dict[str, Any]]:
    """A row of the details for each task that goes with a value."""
    return [
        {"task": named.tasks[task], "goes_with": named.values[int(leans.goes_with[task].argmax())]}
        | {f"lean_{value}": float(leans.lean[task, number]) for number, value in enumerate(named.values)}
        for task in np.flatnonzero(leans.goes_with.any(axis=1))
    ]
