"""People and objects that a detector or a segmentation model of transformers finds in images."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Any, cast

import numpy as np

from captionbias.arrays import Flags
from captionbias.attackers.pretrained.models import PROCESSORS, find_model
from captionbias.attackers.ranks import device
from captionbias.errors import InputError
from captionbias.images import need_images
from captionbias.images.masks import Thing, check_labels, read_form, region_of
from captionbias.images.reading import Images, Made

TASKS = {"ForObjectDetection": "object-detection", "Segmentation": "image-segmentation"}


def detect_regions(
    model: str, images: Images, labels: Sequence[str] = ("person",), *, form: str = "segment", threshold: float = 0.5
) -> Made[Flags]:
    """The regions `(H, W)` of the things with these labels, looked for in each image when its region is asked for."""
    need_images("pycocotools", "transformers")
    import transformers

    from captionbias.attackers.pretrained.encoding import read_model, reading, silenced

    chosen, untyped = read_form(form), cast(Any, transformers)  # its types know tasks by literal names only
    files = find_model(model, "detector", companions=PROCESSORS)
    with reading(files, "detector"):
        configuration = transformers.AutoConfig.from_pretrained(files.folder, trust_remote_code=False)
    kind = (configuration.architectures or [""])[0]
    task = next((task for ending, task in TASKS.items() if kind.endswith(ending)), "")
    if not task:
        raise InputError("detector", f"{model!r} is a {kind}: give one of object detection, or of segmentation")
    network, _ = read_model(getattr(transformers, kind), files, "detector")
    with reading(files, "detector"):
        processor = untyped.AutoImageProcessor.from_pretrained(files.folder, trust_remote_code=False)
        pipe = untyped.pipeline(task, network, image_processor=processor, device=device())
    check_labels(labels, configuration.id2label.values(), f"detector {model!r}")
    if task == "object-detection" and chosen.shape == "segment":
        raise InputError(
            "detector", f"{model!r} finds boxes, not segments: mask boxes (form box), or give another model"
        )
    one_at_a_time = Lock()

    def find(position: int) -> Flags:
        picture = images[position]
        with one_at_a_time, silenced():
            answer = pipe(picture, threshold=threshold)
        things = [_thing(thing) for thing in answer if thing["label"] in labels]
        return region_of(things, chosen, (picture.height, picture.width))

    return Made(find, len(images))


def _thing(answer: dict[str, Any]) -> Thing:
    from pycocotools import mask

    if box := answer.get("box"):
        return Thing((box["xmin"], box["ymin"], box["xmax"] - box["xmin"], box["ymax"] - box["ymin"]))
    encoded = mask.encode(np.asfortranarray(np.asarray(answer["mask"]) > 0, np.uint8))
    return Thing(tuple(mask.toBbox(encoded).tolist()), encoded["counts"])
