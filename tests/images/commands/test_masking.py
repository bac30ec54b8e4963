"""`captionbias masking`: a model's folder, pictures, annotations and people in, tables and a file out."""

import json

from PIL import Image

from tests.cli.conftest import invoke
from tests.images.coco_pictures import annotation, write_annotations
from tests.images.conftest import write_people

IMAGES = 40


def test_every_version_is_captioned_measured_and_written(tiny_blip, tmp_path):
    folder, output = tmp_path / "pictures", tmp_path / "all.json"
    folder.mkdir()
    for number in range(IMAGES):
        picture = Image.new("RGB", (30, 20), (200, 100, 30) if number % 2 else (30, 100, 200))
        picture.paste((255, 255, 255), (2, 3, 8, 11))  # the box of an annotation
        picture.save(folder / f"COCO_val2014_{number:012d}.png")
    things = [annotation(number, category=category) for number in range(IMAGES) for category in (1, 18)]
    annotations = write_annotations(tmp_path, things, ids=range(IMAGES))
    people = write_people(tmp_path / "people.jsonl", range(IMAGES), dogs=" with a dog")
    given = [tiny_blip, "--images", folder, "--annotations", annotations, "--references", people]
    options = ["--metric", "gender_error", "--version", "person", "--version", "objects", "--bootstrap", "50"]
    drawn = tmp_path / "masking.svg"
    shown = invoke("masking", *given, *options, "--max-new-tokens", "6", "--output", output, "--picture", drawn)
    assert drawn.read_text().count("<circle") >= 2, "two versions"
    found = json.loads(output.read_text())
    assert list(found["captions"]) == ["original", "person", "objects"]
    assert all(len(texts) == IMAGES for texts in found["captions"].values())
    assert found["captions"]["original"] != found["captions"]["person"]
    differences = found["comparisons"]["gender_error"]["differences"]
    assert {(one["first"], one["second"]) for one in differences} == {("person", "original"), ("objects", "original")}
    assert "person" in shown
    assert "original" in shown
