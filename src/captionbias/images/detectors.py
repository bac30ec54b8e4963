"""People and objects that a detector or a segmentation model of transformers finds in images."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from captionbias.attackers.device import device
from captionbias.attackers.pretrained.models import first_line
from captionbias.images import needs_images
from captionbias.images.masks import Regions, Thing, check_labels, read_form
from captionbias.images.reading import Images

if TYPE_CHECKING:
    from PIL.Image import Image

Detector: TypeAlias = Callable[[Sequence["Image"]], list[list[Thing]]]
TASKS = {"ForObjectDetection": "object-detection", "Segmentation": "image-segmentation"}


def load_detector(
    model: str, labels: Sequence[str] = ("person",), *, form: str = "segment", threshold: float = 0.5, batch: int = 16
) -> Detector:
    """A function that finds the things with these labels in upright RGB images.

    `model`: a folder, or owner/name on the Hub, of object detection (boxes alone) or of segmentation, in safetensors.
    `form`: see `read_form`. `threshold`: the least score of what counts, in [0, 1]; semantic models give none.
    """
    with needs_images():
        import pycocotools  # noqa: F401
        import transformers
    from captionbias.attackers.pretrained.encoding import refuse_missing, silenced

    chosen, untyped = read_form(form), cast(Any, transformers)  # its types know tasks by literal names only
    if not 0 <= threshold <= 1:
        raise ValueError(f"threshold is {threshold}: give a score in [0, 1]")
    try:
        with silenced():
            configuration = transformers.AutoConfig.from_pretrained(model)
            kind = (configuration.architectures or [""])[0]
            task = next((task for ending, task in TASKS.items() if kind.endswith(ending)), "")
            if task:
                network, loaded = getattr(transformers, kind).from_pretrained(
                    model, use_safetensors=True, output_loading_info=True
                )
                refuse_missing(loaded["missing_keys"])
                processor = untyped.AutoImageProcessor.from_pretrained(model)
                pipe = untyped.pipeline(task, network, image_processor=processor, device=device())
    except Exception as error:  # damaged and foreign files make their readers raise almost anything
        raise ValueError(
            f"detector {model!r} cannot be loaded ({first_line(error)}): give a folder with config.json, "
            "preprocessor_config.json and .safetensors weights, or owner/name on the Hub"
        ) from error
    if not task:
        raise ValueError(
            f"detector {model!r} is a {kind or 'model of no known kind'}: give one of object detection, or of instance "
            "or semantic segmentation"
        )
    check_labels(labels, configuration.id2label.values(), f"detector {model!r}")
    if task == "object-detection" and chosen.shape == "segment":
        raise ValueError(f"detector {model!r} finds boxes, not segments: mask boxes (form box), or give another model")
    one_size = {"height", "width"} <= dict(getattr(processor, "size", None) or {}).keys()

    def detect(pictures: Sequence[Image]) -> list[list[Thing]]:
        """Pictures of one size together, so that none is padded and no answer depends on the others."""
        by_size: dict[Any, list[int]] = defaultdict(list)
        for row, picture in enumerate(pictures):
            by_size[None if one_size else picture.size].append(row)
        things: dict[int, list[Thing]] = {}
        for rows in by_size.values():
            with silenced():
                answers = pipe([pictures[row] for row in rows], batch_size=batch, threshold=threshold)
            for row, answer in zip(rows, answers, strict=True):
                things[row] = [_thing(one) for one in answer if one["label"] in labels]
        return [things[row] for row in range(len(pictures))]

    return detect


def _thing(answer: dict[str, Any]) -> Thing:
    from pycocotools import mask

    if box := answer.get("box"):
        return Thing((box["xmin"], box["ymin"], box["xmax"] - box["xmin"], box["ymax"] - box["ymin"]))
    encoded = mask.encode(np.asfortranarray(np.asarray(answer["mask"]) > 0, np.uint8))
    return Thing(tuple(mask.toBbox(encoded).tolist()), encoded["counts"])


def regions_of(pictures: Sequence[Image], detect: Detector, form: str = "segment") -> Regions:
    """The regions that a detector of `load_detector` finds in upright RGB images."""
    sizes = [(picture.height, picture.width) for picture in pictures]
    images = Images(tuple(f"row {row}" for row in range(len(pictures))), pictures)
    return Regions(images, detect(pictures), sizes, read_form(form), "the detector", upright=True)
