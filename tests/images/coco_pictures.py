"""Pictures with COCO annotations of planted people and dogs, as files."""

import json

import numpy as np
from PIL import Image

HEIGHT, WIDTH = 20, 30
CATEGORIES = [{"id": 1, "name": "person"}, {"id": 18, "name": "dog"}]


def annotation(image, *, category=1, box=(2, 3, 6, 8), crowd=0, **segment):
    """Without a segment, a polygon around the box."""
    left, top, width, height = box
    corners = [left, top, left + width, top, left + width, top + height, left, top + height]
    outline = segment.get("segmentation", [corners])
    return {"image_id": image, "category_id": category, "bbox": list(box), "iscrowd": crowd, "segmentation": outline}


def write_annotations(folder, annotations, ids=(42,), size=(HEIGHT, WIDTH), categories=CATEGORIES):
    sizes = size if isinstance(size, list) else [size] * len(ids)
    listed = [
        {"id": key, "file_name": f"COCO_val2014_{key:012d}.jpg", "height": height, "width": width}
        for key, (height, width) in zip(ids, sizes, strict=True)
    ]
    numbered = [{"id": number, "area": 1.0, **entry} for number, entry in enumerate(annotations)]
    path = folder / "instances_val2014.json"
    path.write_text(json.dumps({"images": listed, "annotations": numbered, "categories": categories}))
    return path


def pixels(seed=0, height=HEIGHT, width=WIDTH):
    return np.random.default_rng(seed).integers(256, size=(height, width, 3)).astype(np.uint8)


def write_pictures(folder, ids, suffix="png"):
    folder.mkdir(exist_ok=True)
    for key in ids:
        Image.fromarray(pixels(key)).save(folder / f"COCO_val2014_{key:012d}.{suffix}")
    return folder
