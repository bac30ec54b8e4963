"""The masking experiment: does a captioner guess the person from what is around, when it sees less of the person?"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from captionbias.analysis.compare import Comparison, measure_together
from captionbias.captions import CaptionBiasWarning, on_the_same_images, read_captioners
from captionbias.images.attributions import ImageAttributions, attribute_images
from captionbias.images.captioning import caption, open_captioner
from captionbias.images.masks import Regions, check_fill, mask_image, read_categories, read_regions
from captionbias.images.reading import Images, read_images
from captionbias.metrics import catalogue, find_metric
from captionbias.progress import Watch

ORIGINAL, PERSON = "original", "person"
# Of each version what is masked, and how much of it; the first five are the paper's and one that masks the objects.
VERSIONS = {
    ORIGINAL: (),
    "half the person": (("people", "top:0.5"),),
    "person": (("people", "segment"),),
    "person's box": (("people", "box"),),
    "objects": (("objects", "segment"),),
    "person and objects": (("people", "segment"), ("objects", "segment")),
}
ASKED = ("prompt", "template_arguments", "revision")  # options of `caption` that change what is attributed


@dataclass(frozen=True, eq=False)
class MaskingStudy:
    """A captioner on several versions of the same images.

    Attributes:
        captions: of each version the caption of each image, by its id.
        comparisons: of each metric the versions, measured on the same images and human captions, and how each differs
            from the original.
        attributions: of each version how much of what makes the captioner name the attribute is outside the person;
            empty unless it was asked for.
    """

    captions: dict[str, dict[str, str]]
    comparisons: dict[str, Comparison]
    attributions: dict[str, ImageAttributions]

    def as_dict(self) -> dict[str, Any]:
        """For a file: everything that was measured."""
        return {
            "captions": self.captions,
            "comparisons": {metric: found.as_dict() for metric, found in self.comparisons.items()},
            "attributions": {version: found.as_dict() for version, found in self.attributions.items()},
        }


def masking_experiment(
    model: str | Path,
    images: Any,
    annotations: str | Path,
    people: Mapping[str, Any],
    *,
    versions: Sequence[str] = tuple(VERSIONS),
    objects: Sequence[str] | None = None,
    metrics: Sequence[str] = catalogue.REPORTED,
    fill: str = "mean",
    attributions: bool = False,
    generation: Mapping[str, Any] | None = None,
    watch: Watch | None = None,
    **options: Any,
) -> MaskingStudy:
    """Caption images whole and with people or objects masked, and compare the bias of these captions.

    Human captions stay those of the whole images. A captioner that sees less of the person can only guess the gender
    from the rest: T to A should grow from version to version. Images without a person in the annotations are left out
    of all versions; where there is no object to mask, the image stays as it is.

    Args:
        model: see `captionbias.images.captioning.caption`.
        images: see `captionbias.images.reading.read_images`.
        annotations: COCO's, see `captionbias.images.masks.read_regions`.
        people: `references`, `attributes`, `tasks` and columns, as `captionbias.captions.read_captioners` takes them.
        versions: some of `VERSIONS`; the original is always one.
        objects: the categories to mask as objects; all but "person" when None.
        metrics: any of `captionbias.metrics`.
        fill: see `captionbias.images.masks.mask_image`.
        attributions: also how much of what makes the captioner name the attribute lies outside the person.
        generation: options of `caption`, such as `num_beams`.
        watch: called with what is being done and the share of the captions that are made, in [0, 1].
        options: of the metrics, each of which takes those that it knows, such as `preset`, `trials`, `seed`.

    Raises:
        ValueError: an unknown version, no image with a person, or what the functions above refuse.

    Source: Nair et al. 2026, section 5.2 and Table 4; Hirota et al. 2022, A.3.
    """
    unknown = [version for version in versions if version not in VERSIONS]
    if unknown:
        raise ValueError(f"versions: {unknown[0]!r} is unknown; choose from {', '.join(VERSIONS)}")
    check_fill(fill)
    found = read_images(images)
    names = [name for name in dict.fromkeys(read_categories(annotations).values()) if name != PERSON]
    labels = {"people": [PERSON], "objects": list(names if objects is None else objects)}
    with_people = np.flatnonzero(read_regions(annotations, found).found)
    if not len(with_people):
        raise ValueError(f"{annotations} has a person in none of the {len(found):,} images; give their annotations")
    found = found.select(with_people)

    chosen = [ORIGINAL, *(version for version in VERSIONS if version in versions and version != ORIGINAL)]
    pictures: dict[str, Images] = {}
    captions: dict[str, dict[str, str]] = {}
    for number, version in enumerate(chosen):
        regions = [read_regions(annotations, found, labels[kind], form) for kind, form in VERSIONS[version]]
        pictures[version] = Images(found.ids, _Masked(found, regions, fill)) if regions else found
        captions[version] = caption(
            model,
            pictures[version],
            watch=partial(_overall, watch, version, number, len(chosen)) if watch else None,
            **(generation or {}),
        )
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
            warnings.warn(f"sway is left out: {error}", CaptionBiasWarning, stacklevel=2)
    shares: dict[str, ImageAttributions] = {}
    if attributions:
        captioner, processor, tokenizer = open_captioner(
            model, **{name: value for name, value in (generation or {}).items() if name in ASKED}
        )
        whole = read_regions(annotations, found)
        for version in chosen:
            try:
                shares[version] = attribute_images(
                    captioner, processor, pictures[version], whole, captions[version], tokenizer=tokenizer, fill=fill
                )
            except ValueError as error:  # with the person masked no caption may name the attribute
                warnings.warn(f"{version}: no attribution ({error})", CaptionBiasWarning, stacklevel=2)
    return MaskingStudy(captions, comparisons, shares)


@dataclass(frozen=True, eq=False)
class _Masked(Sequence[Any]):
    """Images with some regions filled, each when it is asked for; one that shows nothing of them stays as it is."""

    images: Images
    regions: Sequence[Regions]
    fill: str

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: Any) -> Any:
        image = self.images[index]
        region = np.any([of_kind[index] for of_kind in self.regions], axis=0)
        return mask_image(image, region, self.fill, f"image {self.images.ids[index]}") if region.any() else image


def _overall(watch: Watch, version: str, number: int, total: int, step: str, done: float) -> None:
    watch(f"{step}: {version}", (number + done) / total)
