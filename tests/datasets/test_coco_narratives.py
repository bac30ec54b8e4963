"""Localized Narratives: joined with COCO by image id, open without annotators' labels, a benchmark on the Hub."""

from huggingface_hub import DatasetCard

from captionbias.datasets.build import build_dataset
from captionbias.datasets.coco_narratives import CocoNarratives
from tests.datasets.conftest import narratives, records_of, write
from tests.refusals import refuses


def test_narratives_stand_beside_what_coco_knows_of_the_image(folder):
    source = CocoNarratives(write(folder, narratives()))
    *_, nine = source.rows("captioned_gender")
    assert nine["references"] == ["In this image I see a man. He holds an umbrella.", "A person, it rains."]
    assert nine["coco_captions"] == ["A man holds an umbrella.", "A guy in the rain"]
    assert (nine["tasks"], nine["nic"]) == (["umbrella"], "a man")
    assert not {"gender", "skin", "people"} & set(source.schema("captioned_gender").names)
    found = {name: [(row["image_id"], row["attribute"]) for row in source.rows(name)] for name in source.CONFIGURATIONS}
    assert found == {
        "captioned_gender": [(5, "female"), (9, "male")],  # of 11 one caption says girl
        "age": [(5, "old"), (9, "old"), (11, "young"), (13, "young")],
        "gender": [(5, "female"), (9, "male"), (11, "female")],
        "race": [(5, "dark"), (9, "light"), (11, "light")],
    }
    assert source.left_out["gender"]["narratives of images outside val2014"] == 1
    assert source.left_out["gender"]["empty narratives"] == 1


def test_rows_may_be_passed_on_unless_annotators_labels_are_in_them(folder, tmp_path):
    build_dataset("coco_narratives", write(folder, narratives()), tmp_path / "gated", ["captioned_gender", "race"])
    (folder / "images_val2014.csv").unlink()
    built = build_dataset("coco_narratives", folder, tmp_path / "open", ["captioned_gender", "age"])
    assert built.rows == {"captioned_gender": 2, "age": 4}
    cards = {name: DatasetCard.load(tmp_path / name / "README.md").data.to_dict() for name in ("open", "gated")}
    assert cards["open"]["license"] == "cc-by-4.0"
    assert "extra_gated_prompt" not in cards["open"]
    assert cards["gated"]["license"] == "other"
    assert "on request" in cards["gated"]["extra_gated_prompt"]
    missing = r"no images_val2014\.csv.*'gender'.*do without: captioned_gender, age"
    refuses(missing, build_dataset, "coco_narratives", folder, tmp_path / "other")


def test_captions_alone_are_read_and_a_line_that_is_none_is_named(folder):
    files = {name: content for name, content in narratives().items() if "localized" not in name}
    file, first = "coco_val_captions.jsonl", '{"image_id": 9, "caption": "A man. He walks."}\n'
    [nine] = records_of(CocoNarratives, write(folder, files | {file: first}), "gender")
    assert nine["references"] == ["A man. He walks."]
    for line, message in [
        ('{"image_id": "9", "caption": "A ma', r"coco_val_captions\.jsonl is not whole JSON .*, after 1 records"),
        ('{"image_id": "9", "caption": null}', r'\[1\]: "caption" is None'),
    ]:
        refuses(message, records_of, CocoNarratives, write(folder, {file: first + line}), "age")
    (folder / file).unlink()
    refuses(r"has none of coco_val_localized.*google\.github\.io", CocoNarratives, folder)
