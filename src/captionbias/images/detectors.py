"""People and objects that a detector or a segmentation model of transformers finds in images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from captionbias.attackers.device import device
from captionbias.attackers.pretrained.models import PROCESSORS, find_model
from captionbias.images import need_images
from captionbias.images.masks import Regions, Thing, check_labels, read_form
from captionbias.images.reading import Images

if TYPE_CHECKING:
    from PIL.Image import Image

TASKS = {"ForObjectDetection": "object-detection", "Segmentation": "image-segmentation"}


def load_detector(
    model: str, labels: Sequence[str] = ("person",), *, form: str = "segment", threshold: float = 0.5, batch: int = 16
) -> Callable[[Sequence[Image]], Regions]:
    """A function that gives the regions of the things with these labels in upright RGB images."""
    need_images("pycocotools", "transformers")
    import transformers

    from captionbias.attackers.pretrained.encoding import reading, refuse_missing, silenced

    chosen, untyped = read_form(form), cast(Any, transformers)  # its types know tasks by literal names only
    files = find_model(model, "detector", companions=PROCESSORS)
    with reading(files, "detector"):
        configuration = transformers.AutoConfig.from_pretrained(files.folder)
    kind = (configuration.architectures or [""])[0]
    task = next((task for ending, task in TASKS.items() if kind.endswith(ending)), "")
    if not task:
        raise ValueError(f"detector {model!r} is a {kind}: give one of object detection, or of segmentation")
    with reading(files, "detector"):
        network, loaded = getattr(transformers, kind).from_pretrained(files.folder, output_loading_info=True)
        refuse_missing(loaded["missing_keys"])
        processor = untyped.AutoImageProcessor.from_pretrained(files.folder)
        pipe = untyped.pipeline(task, network, image_processor=processor, device=device())
    check_labels(labels, configuration.id2label.values(), f"detector {model!r}")
    if task == "object-detection" and chosen.shape == "segment":
        raise ValueError(f"detector {model!r} finds boxes, not segments: mask boxes (form box), or give another model")
    one_size = {"height", "width"} <= dict(getattr(processor, "size", None) or {}).keys()

    def detect(pictures: Sequence[Image]) -> Regions:
        with silenced():  # one by one unless all get one size: so none is padded, and no answer depends on the others
            answers = pipe(list(pictures), batch_size=batch if one_size else 1, threshold=threshold)
        things = [[_thing(one) for one in answer if one["label"] in labels] for answer in answers]
        sizes = [(picture.height, picture.width) for picture in pictures]
        images = Images(tuple(f"row {row}" for row in range(len(pictures))), pictures)
        return Regions(images, things, sizes, chosen, "the detector", upright=True)

    return detect


def _thing(answer: dict[str, Any]) -> Thing:
    from pycocotools import mask

    if box := answer.get("box"):
        return Thing((box["xmin"], box["ymin"], box["xmax"] - box["xmin"], box["ymax"] - box["ymin"]))
    encoded = mask.encode(np.asfortranarray(np.asarray(answer["mask"]) > 0, np.uint8))
    return Thing(tuple(mask.toBbox(encoded).tolist()), encoded["counts"])
