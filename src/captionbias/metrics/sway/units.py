"""What questions take of images as sums in units, see `captionbias.statistics.groups`: those of parts add."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from captionbias.arrays import Flags, Floats, Integers, sparse
from captionbias.bench.reading import IMAGES, Reading
from captionbias.captions import Captions
from captionbias.metrics.sway.images import NamedImages
from captionbias.metrics.sway.length import LENGTHS, content_lengths
from captionbias.metrics.sway.missing import MISSING, missing_captions
from captionbias.metrics.sway.question import MOST_CAPTIONS, Draw
from captionbias.metrics.sway.t_to_a import CONTRADICTED, contradicted_labels
from captionbias.scores.misnaming import NAME_KINDS, SIDES, composition
from captionbias.statistics.groups import GROUPS, SCENE_NAMES, NamedUnits, units_of
from captionbias.text.content import ContentWords

SEVERAL, PICTURES = "several", "pictures"


def sway_units(
    reading: Reading, named: NamedImages, draws: Sequence[Draw], content: Sequence[ContentWords], tokenizer: str
) -> dict[Any, Any]:
    """The tables of `SwaySums`; `content`: the content words of each side."""
    captions = cast(Captions, reading.captions)
    words = captions.words(tokenizer)
    captions_of = zip((words.model_image, words.human_image), (side.lengths for side in content), strict=False)
    ones, has_value = np.ones(len(named.value)), named.value[:, None] == np.arange(len(named.values))
    own, people = np.split(cast(Flags, reading.several), [words.model_rows])
    weight = reading.predictions.weight * np.isin(words.model_image, named.row)
    several = np.array([[weight.sum(), weight @ own, len(people), people.sum()]])  # captions of either side, and these
    together = np.ones(1), np.zeros(1, np.int64)  # nothing of it is resampled
    names, scenes = {number: draw.name_units for number, draw in enumerate(draws)}, dict[str, Any]()
    if captions.scene and reading.part:  # other images are of other compositions
        strata, _ = composition(named.value, cast(Integers, named.scene), named.weight)
        names = {number: _with_named_strata(units, strata, len(named.values)) for number, units in names.items()}
        keys = np.unique(captions.keys)
        once = sparse(np.ones(len(keys)), (np.arange(len(keys)), np.zeros(len(keys), np.int64)), (len(keys), GROUPS))
        scenes = {SCENE_NAMES: NamedUnits([f"{key:016x}" for key in keys.tolist()], once)}
    pictures = np.array([[*named.pictures(), named.picture.max() + 1]])
    return {
        **names,
        **scenes,
        PICTURES: units_of(pictures, *together),
        IMAGES: units_of(np.column_stack((ones, has_value)), ones, named.group),
        LENGTHS: units_of(content_lengths(named, captions_of), named.weight, named.group),
        CONTRADICTED: units_of(contradicted_labels(draws[0]), ones, named.group),
        SEVERAL: units_of(several, *together),
        MISSING: units_of(missing_captions(named.values, captions.missing), *together),
    }


def _with_named_strata(units: Any, strata: Floats, values: int) -> NamedUnits:
    """The units of `Draw.name_units`, of which a column has the composition of scenes, `strata`, for a name."""
    table, width = units.tocoo(), _columns(values)
    row, group = table.coords
    used, column = np.unique(row, return_inverse=True)
    shares = [[*of, *[0.0] * (values - len(of))] for of in strata.tolist()]
    names = [f"{shares[of]} {rest}" for of, rest in zip(*np.divmod(used, width), strict=True)]
    return NamedUnits(names, sparse(table.data, (column, group), (len(used), GROUPS)))


def numbered_strata(named: NamedUnits, values: int) -> Any:
    """The units of `Draw.name_units`, of all scenes."""
    parts = [(tuple(json.loads(of)), int(rest)) for of, _, rest in (name.rpartition(" ") for name in named.names)]
    strata, width, table = sorted({of for of, _ in parts}), _columns(values), named.units.tocoo()
    rows = np.array([strata.index(of) * width + rest for of, rest in parts])
    column, group = table.coords
    return sparse(table.data, (rows[column], group), (len(strata) * width, GROUPS))


def _columns(values: int) -> int:
    """How many there are of a composition."""
    return MOST_CAPTIONS**2 * values * (values + 1) * len(SIDES) * len(NAME_KINDS)
