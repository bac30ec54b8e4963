"""The masking experiment: does a captioner guess the person from what is around, when it sees less of the person?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from captionbias.analysis.compare import Comparison, measure_together
from captionbias.captions import on_the_same_images, read_captioners
from captionbias.datasets.coco_files import PERSON, read_categories
from captionbias.errors import Message, message_of, unknown
from captionbias.images.captioning import caption
from captionbias.images.masks import check_fill, masked, read_regions
from captionbias.images.reading import read_images
from captionbias.metrics import catalogue, find_metric
from captionbias.progress import Watch
from captionbias.report import svg
from captionbias.warnings import warn

ORIGINAL, PEOPLE, OBJECTS = "original", "people", "objects"
# What is masked in each version, how much of each, and of how many: those of Nair et al. 2026, one that masks the
# objects, and one of Hirota et al. 2025, which should not matter.
VERSIONS: dict[str, tuple[tuple[str, ...], str, float]] = {
    ORIGINAL: ((), "", 1.0),
    "half the person": ((PEOPLE,), "top:0.5", 1.0),
    "person": ((PEOPLE,), "segment", 1.0),
    "person's box": ((PEOPLE,), "box", 1.0),
    "objects": ((OBJECTS,), "segment", 1.0),
    "a tenth of the objects": ((OBJECTS,), "segment", 0.1),
    "person and objects": ((PEOPLE, OBJECTS), "segment", 1.0),
}
SIZE, EDGE, LINE = 460.0, 40.0, 18.0
KINDS, LETTERS = ("more", "less", "unclear"), "abcdefgh"  # colours, and names of versions in the picture


@dataclass(frozen=True, eq=False)
class MaskingStudy:
    """A captioner on several versions of the same images.

    Attributes:
        captions: the caption of each image by its id, for each version.
        comparisons: the versions by each metric, and how each differs from the original.
    """

    captions: dict[str, dict[str, str]]
    comparisons: dict[str, Comparison]

    def as_dict(self) -> dict[str, Any]:
        return {
            "captions": self.captions,
            "comparisons": {metric: comparison.as_dict() for metric, comparison in self.comparisons.items()},
        }


def masking_experiment(
    model: str | Path,
    images: Any,
    annotations: str | Path,
    people: Mapping[str, Any],
    *,
    versions: Sequence[str] = tuple(VERSIONS),
    metrics: Sequence[str] = catalogue.REPORTED,
    fill: str = "mean",
    generation: Mapping[str, Any] | None = None,
    watch: Watch | None = None,
    **options: Any,
) -> MaskingStudy:
    """Caption images whole and with people or objects masked, and compare the bias of these captions.

    Human captions stay those of the whole images. Images without a person in the annotations are left out; where there
    is no object to mask, the image stays as it is.

    Args:
        model: see `captionbias.images.captioning.caption`.
        images: see `captionbias.images.reading.read_images`.
        annotations: COCO's, see `captionbias.images.masks.read_regions`.
        people: `references`, `attributes`, `tasks` and columns, as `captionbias.captions.read_captioners` takes them.
        versions: some of `VERSIONS`; the original is always one.
        fill: see `captionbias.images.masks.mask_image`.
        generation: options of `caption`, such as `num_beams`.
        watch: called with what is being done and the share of the captions that are made, in [0, 1].
        options: of the metrics, each of which takes those that it knows, such as `preset`, `trials`, `seed`.

    Source: Nair et al. 2026, section 5.2 and Table 4; Hirota et al. 2022, A.3; Hirota et al. 2025.
    """
    for version in versions:
        if version not in VERSIONS:
            raise unknown("versions", version, VERSIONS)
    check_fill(fill)
    all_images = read_images(images)
    rows = np.flatnonzero(read_regions(annotations, all_images).found)
    if not len(rows):
        raise ValueError(
            f"{annotations} has a person in none of the {len(all_images):,} images; give their annotations"
        )
    original = all_images.select(rows)
    people_and_objects = sorted(set(read_categories(Path(annotations).expanduser()).values()))
    pictures = {ORIGINAL: original}
    for version, (kinds, form, share) in VERSIONS.items():
        if version in versions and version != ORIGINAL:
            labels = [name for name in people_and_objects if (PEOPLE if name == PERSON else OBJECTS) in kinds]
            regions = read_regions(annotations, original, labels, form, share)
            pictures[version] = masked(original, regions, fill, strict=False)
    captions: dict[str, dict[str, str]] = {}

    def overall(step: str, done: float) -> None:
        if watch:
            watch(f"{step}: {version}", (len(captions) + done) / len(pictures))

    for version, version_pictures in pictures.items():
        captions[version] = caption(model, version_pictures, watch=overall if watch else None, **(generation or {}))
    tables = {
        version: {"image_id": list(texts), "caption": list(texts.values())} for version, texts in captions.items()
    }
    captioners = on_the_same_images(read_captioners(tables, **people))
    comparisons = {}
    for metric in metrics:
        accepted = find_metric(metric).accepted(options)
        try:
            comparisons[metric] = measure_together(captioners, metric, against=ORIGINAL, **accepted)
        except ValueError as error:
            if metric != "sway" or len(metrics) == 1:
                raise
            warn(Message("sway is left out: ", message_of(error)))
    return MaskingStudy(captions, comparisons)


def stability(comparison: Comparison) -> svg.Picture:
    """Does the score stand when what should not matter changes? Each main score of whole images, across, and of each
    version of them, up, with the 95% interval of the difference: what stands is on the diagonal."""
    original, (_, *versions) = comparison.measurements[ORIGINAL].estimates, comparison.measurements
    keys = [key for key in comparison.scores if key in original]
    moved = [(one, original[one.score].value) for one in comparison.differences if one.score in keys]
    ends = [place + end for one, place in moved for end in (0, *one.estimate.ends)]
    low, high = math.floor(min(0, *ends)), math.ceil(max(1, *ends))

    def across(value: float) -> float:
        return EDGE + (SIZE - EDGE) * (value - low) / (high - low)

    def up(value: float) -> float:
        return SIZE - across(value) + 2 * LINE

    parts = [svg.text(0, LINE, "masked"), svg.text(SIZE, SIZE + 2 * LINE, "whole images", anchor="end")]
    parts.append(svg.line(across(low), up(low), across(high), up(high)))
    for at in (low, 0, high):
        parts += [svg.line(across(at), up(low), across(at), up(high), "grid")]
        parts += [svg.line(EDGE, up(at), SIZE, up(at), "grid")]
        parts += [svg.text(EDGE - 4, up(at) + 4, f"{at}", "soft", anchor="end")]
        parts += [svg.text(across(at), up(low) + LINE, f"{at}", "soft", anchor="middle")]
    for one, place in moved:
        x, (least, most) = across(place), one.estimate.ends
        version, score = versions.index(one.first), keys.index(one.score) + 1
        parts.append(svg.line(x, up(place + least), x, up(place + most)))
        parts.append(svg.dot(x, up(place + one.difference), KINDS[version % len(KINDS)]))
        parts.append(svg.text(x + 8, up(place + one.difference) + 4, f"{LETTERS[version]}{score}"))
    legend = [f"{LETTERS[number]} {version}" for number, version in enumerate(versions)]
    legend += [f"{number} {catalogue.label(key)}" for number, key in enumerate(keys, 1)]
    bottom = SIZE + 3 * LINE
    parts += [svg.text(0, bottom + LINE * number, words) for number, words in enumerate(legend, 1)]
    said = (
        f"{one.first}, {catalogue.label(one.score)}: {place:.1f} whole, {place + one.difference:.1f} masked"
        for one, place in moved
    )
    title = "Does the score stand when what should not matter changes?"
    return svg.document(parts, SIZE + LINE, bottom + LINE * (len(legend) + 1), title, "; ".join(said))
