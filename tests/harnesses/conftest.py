"""Planted images, asked about as a harness asks, and a model that says what was planted for the picture it is shown."""

import pandas as pd
import pytest
from PIL import Image

from captionbias.images.drawings import draw
from captionbias.metrics import sway
from captionbias.synthetic import plant
from tests.cli.conftest import ran

IMAGES = 520  # words are asked from 500 on


class Asked:
    """`folder`: of pictures and people; `says`: the caption of a picture, by its bytes; `scores`: the library's own."""

    def __init__(self, folder):
        planted = plant(IMAGES, captions=2, t_to_a=0.5)
        self.folder, self.says = folder, {}
        (folder / "val2014").mkdir()
        for number, pixels in enumerate(draw(planted, size=32)[0]):
            pixels[0, 0, :2] = divmod(number, 256)  # no two are the same
            self.says[pixels.tobytes()] = planted.predictions[number]
            Image.fromarray(pixels).save(folder / "val2014" / f"COCO_val2014_{number:012d}.png")
        people = {"references": planted.references, "gender": planted.attributes, "tasks": planted.tasks}
        pd.DataFrame({"image_id": range(IMAGES), **people}).to_parquet(folder / "people.parquet")
        scores = sway(**vars(planted))
        questions = scores["signature"].partition("|worst:")[2].partition("|")[0].split(",")
        assert {"wrong", "words", "a_to_t"} < {*questions}
        self.scores = {key: value for key, value in scores.items() if isinstance(value, (int, float))}
        self.scores |= {f"sway_worst_of_{question}": 1.0 for question in questions}

    def caption(self, picture):
        return self.says[picture.convert("RGB").tobytes()]

    def task_for(self, harness, folder):
        files = ("--images", self.folder / "val2014", "--references", self.folder / "people.parquet")
        ran("harness", harness, *files, "--output", folder)
        return folder


@pytest.fixture(scope="session")
def asked(tmp_path_factory):
    return Asked(tmp_path_factory.mktemp("asked"))
