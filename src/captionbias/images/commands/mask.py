"""`captionbias mask`: copies of images in which people or objects are masked."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from inspect import Parameter
from pathlib import Path
from typing import Any

from captionbias.arrays import Flags
from captionbias.cli.options import INPUT, Options, metric_options, option
from captionbias.cli.terminal import console, note, say, steps
from captionbias.errors import few
from captionbias.images.commands.caption import IMAGES, result, take_images

masking_option = partial(option, panel="Masking")
OPTIONS: Options = {
    **IMAGES,
    "annotations": option(Path | None, "COCO's annotations, such as instances_val2014.json.", panel=INPUT),
    "detector": option(
        str | None,
        "Instead of annotations: a model of object detection or segmentation, owner/name on the Hub or a folder.",
        panel=INPUT,
    ),
    "label": masking_option(
        list[str],
        "What to mask, as the annotations or the model call it; repeat it for several: person, dog, ...",
        default=["person"],
    ),
    **metric_options("form", "fill"),
    "threshold": masking_option(float, "The detector's lowest score, 0 to 1.", default=0.5, min=0, max=1),
    "output": result(
        Path,
        "The folder for the copies. Copies that are already there are not made again.",
        default=Parameter.empty,
        file_okay=False,
    ),
}


def mask(
    annotations: Path | None,
    detector: str | None,
    label: list[str],
    form: str,
    threshold: float,
    output: Path,
    **values: Any,
) -> None:
    """Write copies of images in which people or objects are masked: by COCO's annotations, or by a detector.

    Copies are named by the images' ids, and can be given to caption and to judges as they are. An interrupted run
    continues where it stopped.

    Example: captionbias mask --images val2014 --annotations instances_val2014.json --output val2014-masked
    """
    if (annotations is None) == (detector is None):
        raise ValueError("give either --annotations or --detector")
    from captionbias.images.detectors import detect_regions
    from captionbias.images.masked_copies import SETTINGS, write_masked
    from captionbias.images.masks import read_regions

    images = take_images(values)
    settings: dict[str, Any] = {"labels": label, "form": form}
    regions: Sequence[Flags]
    if annotations is not None:
        regions = read_regions(annotations, images, label, form)
        settings["annotations"] = annotations.name
    else:
        assert detector is not None
        regions = detect_regions(detector, images, label, form=form, threshold=threshold)
        settings |= {"detector": detector, "threshold": threshold}
    with steps() as watch:
        copies = write_masked(images, regions, output, settings=settings, watch=watch, **values)
    if copies.left_out and not console.quiet:
        note(f"left out: {few(copies.left_out.values())}; all are listed in {output / SETTINGS}")
    earlier = f", {copies.there:,} were there" if copies.there else ""
    say(f"{copies.written:,} masked copies are new in {output}{earlier}; left out: {len(copies.left_out):,}")
