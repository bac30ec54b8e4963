"""What the page makes of images: scores, and plain refusals."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import captionbias
from captionbias.app.data import CAPTIONER, Data, as_said
from captionbias.app.measuring import Judging, Words, measure_pictures, read_pictures
from captionbias.app.uploads import image_wing
from captionbias.captions.tables import table_from_memory
from captionbias.synthetic import draw, plant
from tests.app.conftest import annotated, packed, picture

IMAGES = 60
PLANTED = plant(IMAGES, captions=2, a_to_t=0.9)
NAMES = [f"COCO_val2014_{number:012}.png" for number in range(IMAGES)]
HOSTILE = "<img src=x onerror=alert(1)>.png"
PAGE = """
import captionbias
from captionbias.app.page import page
from captionbias.app.runs import Runs
blocks = page(Runs())
print(captionbias.__file__, [getattr(block, "value", None) for block in blocks.blocks.values()])
print([block.elem_id for block in blocks.blocks.values()])
"""

pytestmark = pytest.mark.skipif(image_wing() is None, reason="judges need captionbias[images]")


@pytest.fixture(scope="module")
def uploads(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """An archive of images, and annotations; one image shows nobody."""
    folder, (drawn, persons) = tmp_path_factory.mktemp("images"), draw(PLANTED)
    files = {f"val/{name}": picture(image) for name, image in zip(NAMES, drawn, strict=True)}
    return {
        "images": packed(folder / "photos.zip", {**files, f"val/{HOSTILE}": b"x"}),
        "annotations": annotated(folder / "instances.json", NAMES, persons, without=[7]),
    }


def given() -> Data:
    columns = {"file_name": NAMES, "caption": PLANTED.predictions, "references": PLANTED.references}
    table = table_from_memory({**columns, "gender": PLANTED.attributes}, "nic.csv")
    return as_said([table], {"nic.csv": CAPTIONER})


def measured(pictures: Any) -> Any:
    (run,) = measure_pictures(given(), Words(), Judging(epochs=1), lambda step, done: None, pictures)
    return run


def test_images_become_scores(uploads):
    read = read_pictures([str(uploads["images"])], str(uploads["annotations"]), False)
    told = read["pictures_told"]
    assert told.startswith("59 images, of which the judge sees 32 x 32 pixels.")
    assert "image 7 has nothing to mask" in told
    assert HOSTILE in told  # as it is
    run = measured(read["pictures"])
    assert any("1 of 60 captions have no image and are left out" in note for note in run.notes)
    scores = run.audit.measurement("imagecaptioner2", "nic").flat()
    assert scores["imagecaptioner2_ci_low"] < scores["imagecaptioner2"] < scores["imagecaptioner2_ci_high"]
    assert {"report.html", "everything.json", "scores.csv"} < set(run.files)


def test_what_is_missing_is_told_plainly(uploads, tmp_path):
    with pytest.raises(ValueError, match="there are no images yet: upload some"):
        measured(None)
    found = read_pictures([str(uploads["images"])], None, False)
    told = "Not ready yet: give annotations of the persons, or say that they are masked."
    assert found == {"pictures": None, "pictures_told": told}
    other = packed(tmp_path / "other.zip", {"a.png": picture(draw(plant(2, captions=1))[0][0])})
    message = "no caption has an image: captions are of 0, 1, 2, 3, 4 and 55 more, the images are a"
    with pytest.raises(ValueError, match=message):
        measured(read_pictures([str(other)], None, True)["pictures"])


def test_without_the_images_wing_the_page_is_whole_and_says_what_to_install(tmp_path: Path) -> None:
    without = shutil.ignore_patterns("__pycache__", "images")
    shutil.copytree(Path(captionbias.__file__).parent, tmp_path / "captionbias", ignore=without)
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    run = subprocess.run([sys.executable, "-c", PAGE], capture_output=True, text=True, env=environment)
    assert run.returncode == 0, run.stderr
    assert f"{tmp_path}" in run.stdout
    assert "pip install 'captionbias[images]'" in run.stdout
    assert "'measure'" in run.stdout
    assert "measure-images" not in run.stdout
