"""The rows in `datasets_scripts`, which are no research data: `python docs/planted_rows.py` writes them again, so that
the code of these cards runs from a clone. The captions are planted, or made of a few words."""

from __future__ import annotations

import json
import random
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq

from captionbias.datasets.build import build_dataset
from captionbias.datasets.controlled_verbs import SUBSETS
from captionbias.synthetic import plant

FOLDER = Path(__file__).parents[1] / "datasets_scripts"
IMAGES = 600
TOLD = {
    "bed": ("lies on the bed", "sits on the bed"),
    "frisbee": ("throws a frisbee", "plays with a frisbee"),
    "umbrella": ("holds an umbrella", "walks with an umbrella"),
}
PLACES = ("in a park", "at home", "in the rain", "near a tree", "with a dog", "in the street")


def coco_caption_bias() -> dict[str, pa.Table]:
    """Planted captions of a captioner, `nic`, whose names of gender follow the tasks, and of people."""
    planted = plant(IMAGES, captions=2, t_to_a=0.5)
    columns = {"references": planted.references, "attribute": planted.attributes, "tasks": planted.tasks}
    return {"gender/validation": pa.table({"image_id": range(IMAGES), **columns, "nic": planted.predictions})}


def controlled_verbs() -> dict[str, pa.Table]:
    """What the dataset's own code draws from captions that are put together at random."""
    generator = random.Random(0)
    said = [
        f"A {person} {verb} {generator.choice(PLACES)}."
        for task in SUBSETS
        for verb in TOLD[task]
        for person in ("man", "woman")
        for _ in range(50)
    ]
    images = [{"id": number, "file_name": f"{number}.jpg"} for number in range(len(said))]
    captions = [{"id": number, "image_id": number, "caption": text} for number, text in enumerate(said)]
    with TemporaryDirectory() as work:
        Path(work, "captions_train2014.json").write_text(json.dumps({"images": images, "annotations": captions}))
        built = build_dataset("controlled_verbs", work, Path(work, "to"))
        files = {f"{name}/train": built.folder / name / "train-00000-of-00001.parquet" for name in built.rows}
        return {place: pq.read_table(file) for place, file in files.items()}


DATASETS = {"coco_caption_bias": coco_caption_bias, "controlled_verbs": controlled_verbs}

if __name__ == "__main__":
    for name, tables in DATASETS.items():
        for place, table in tables().items():
            file = FOLDER / name / f"{place}-00000-of-00001.parquet"
            file.parent.mkdir(exist_ok=True)
            pq.write_table(table.replace_schema_metadata(None), file, compression="zstd")
