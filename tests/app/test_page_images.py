"""What the page makes of images: scores, and plain refusals."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from gradio_client import Client, handle_file
from gradio_client.exceptions import AppError

import captionbias
from captionbias.app.uploads import image_wing
from captionbias.synthetic import draw, plant
from tests.app.conftest import annotated, packed, picture, write_csv
from tests.patience import PATIENCE

IMAGES = 60
HOSTILE = "<img src=x onerror=alert(1)>.png"
MEASURE = ("gender", "", 2)  # words, and two judges
PAGE = """
import captionbias
from captionbias.app.page import page
from captionbias.app.runs import Runs
blocks = page(Runs())
print(captionbias.__file__, [getattr(block, "value", None) for block in blocks.blocks.values()])
print([event.api_name for event in blocks.fns.values()])
"""

pytestmark = pytest.mark.skipif(image_wing() is None, reason="judges need captionbias[images]")


@pytest.fixture
def client(served: Any, tmp_path: Path) -> Client:
    return Client(served.url, verbose=False, download_files=tmp_path, httpx_kwargs={"timeout": PATIENCE})


@pytest.fixture(scope="module")
def uploads(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Captions with the names of images, an archive of these, and annotations; one image shows nobody."""
    folder, planted = tmp_path_factory.mktemp("images"), plant(IMAGES, captions=2, a_to_t=0.9)
    drawn, persons = draw(planted)
    names = [f"COCO_val2014_{number:012}.png" for number in range(IMAGES)]
    references = map(json.dumps, planted.references)
    columns = {"file_name": names, "caption": planted.predictions, "references": references}
    files = {f"val/{name}": picture(image) for name, image in zip(names, drawn, strict=True)}
    return {
        "captions": write_csv(folder / "nic.csv", {**columns, "gender": planted.attributes}),
        "images": packed(folder / "photos.zip", {**files, f"val/{HOSTILE}": b"x"}),
        "annotations": annotated(folder / "instances.json", names, persons, without=[7]),
    }


def read(client: Client, uploads: dict[str, Path]) -> None:
    client.predict([handle_file(uploads["captions"])], api_name="/read")
    chosen = ("file_name", ["caption"], "references", "gender", None, None, ["female", "male"])
    client.predict(*chosen, api_name="/columns")


def show(client: Client, images: Path, annotations: Path | None, masked: bool = False) -> Any:
    file = handle_file(annotations) if annotations else None
    return client.predict([handle_file(images)], file, masked, api_name="/images")


def test_images_become_scores(client, uploads):
    read(client, uploads)
    told, previews = show(client, uploads["images"], uploads["annotations"])
    assert told.startswith("59 images, of which the judge sees 32 x 32 pixels.")
    assert "image 7 has nothing to mask" in told
    assert HOSTILE in told  # as it is
    assert [preview["caption"] for preview in previews[:3]] == ["0, before", "0, masked", "1, before"]
    assert client.predict(*MEASURE, 1, "", 0, api_name="/measure_images") == "Done."
    found = client.predict(api_name="/results")
    assert any("1 of 60 captions have no image and are left out" in note for note in found["notes"])
    scores = found["scores"]["nic"]
    value = scores["imagecaptioner2"]
    assert scores["imagecaptioner2_ci_low"] < value < scores["imagecaptioner2_ci_high"]
    paths = {Path(path).name: Path(path) for path in client.predict(api_name="/files")}
    assert {"report.html", "everything.json", "scores.csv"} < set(paths)


def test_what_is_missing_is_told_plainly(client, uploads, tmp_path):
    with pytest.raises(AppError, match="there are no images yet: upload some"):
        client.predict(*MEASURE, 1, "", 0, api_name="/measure_images")
    assert show(client, uploads["images"], None) == (
        "Not ready yet: give annotations of the persons, or say that they are masked.",
        [],
    )
    show(client, uploads["images"], None, masked=True)
    with pytest.raises(AppError, match="there are no captions yet"):
        client.predict(*MEASURE, 1, "", 0, api_name="/measure_images")
    read(client, uploads)
    other = packed(tmp_path / "other.zip", {"a.png": picture(draw(plant(2, captions=1))[0][0])})
    show(client, other, None, masked=True)
    with pytest.raises(
        AppError, match="no caption has an image: captions are of 0, 1, 2, 3, 4 and 55 more, the images are a"
    ):
        client.predict(*MEASURE, 1, "", 0, api_name="/measure_images")


def test_without_the_images_wing_the_page_is_whole_and_says_what_to_install(tmp_path: Path) -> None:
    without = shutil.ignore_patterns("__pycache__", "images")
    shutil.copytree(Path(captionbias.__file__).parent, tmp_path / "captionbias", ignore=without)
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    run = subprocess.run([sys.executable, "-c", PAGE], capture_output=True, text=True, env=environment)
    assert run.returncode == 0, run.stderr
    assert f"{tmp_path}" in run.stdout
    assert "pip install 'captionbias[images]'" in run.stdout
    assert "'measure'" in run.stdout
    assert "measure_images" not in run.stdout
