"""Folders that `build_dataset` writes: the same bytes again, whole or not at all, read by load_dataset."""

import os
import re
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import datasets
import pyarrow.parquet as pq
import pytest
import yaml

from captionbias.bench.catalogue import TASKS
from captionbias.captions import check_captions
from captionbias.datasets.build import CONTENTS, DATASETS, build_dataset
from tests.datasets.conftest import ALL, CARDS, LIC_NIC, LIC_PEOPLE, coco, lic, state, write
from tests.launch import ROOT, python
from tests.refusals import refuses

ROWS = {
    "artemis_emotions": {"paintings": 3, "utterances": 7},
    "coco_caption_bias": {"gender": 3, "race": 3, "age": 4},
    "coco_narratives": {"captioned_gender": 2, "age": 4, "gender": 3, "race": 3},
    "controlled_verbs": dict.fromkeys(("C1", "C2", "C3", "C4"), 300),
    "label_benchmarks": {
        **{"visogender": 2, "visogender_one": 1, "visogender_alike": 1, "visogender_different": 1},
        **{"phase": 3, "social_counterfactuals": 3, "fairface": 1, "pata": 2},
    },
    "lic_captions": {"gender": 3, "race": 2},
}
SPLITS = {"artemis_emotions": "train", "controlled_verbs": "train", "label_benchmarks": "test"}  # others: validation


@pytest.fixture(autouse=True)
def own_datasets_cache(tmp_path_factory, monkeypatch):
    cache = tmp_path_factory.mktemp("datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", cache)
    return cache


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    folder = tmp_path_factory.mktemp("originals")
    return {name: write(folder / name, files()) for name, files in ALL.items()}


@pytest.fixture(scope="module")
def built(originals, tmp_path_factory):
    folder = tmp_path_factory.mktemp("built")
    return {name: build_dataset(name, source, folder / name).folder for name, source in originals.items()}


@pytest.mark.parametrize("name", ALL)
def test_load_dataset_reads_every_configuration_as_the_card_says(name, built):
    folder, split = built[name], SPLITS.get(name, "validation")
    assert list(DATASETS) == sorted(ALL)
    assert sorted(datasets.get_dataset_config_names(str(folder))) == sorted(ROWS[name])
    for configuration, rows in list(ROWS[name].items())[:2]:
        table = datasets.load_dataset(str(folder), configuration, split=split)
        streamed = datasets.load_dataset(str(folder), configuration, split=split, streaming=True)
        assert len(table) == rows
        assert list(streamed) == list(table)
        [file] = (folder / configuration).iterdir()
        assert file.name == f"{split}-00000-of-00001.parquet"
        info = datasets.load_dataset_builder(str(folder), configuration).info
        assert info.features == streamed.features == datasets.Features.from_arrow_schema(pq.read_schema(file))
        assert info.splits[split].num_examples == pq.read_metadata(file).num_rows == rows
        assert info.download_size == file.stat().st_size
        assert info.dataset_size == info.splits[split].num_bytes > 0
    assert datasets.load_dataset(str(folder))[split].info.config_name == next(iter(ROWS[name]))


def test_other_builds_have_the_same_bytes_whatever_the_hash_seed(originals, built, tmp_path):
    code = (
        "import sys; from captionbias.datasets.build import build_dataset\n"
        "for name in sys.argv[3:]: build_dataset(name, f'{sys.argv[1]}/{name}', f'{sys.argv[2]}/{name}')"
    )
    python("-c", code, originals["coco_caption_bias"].parent, tmp_path, *ALL, folder=tmp_path, PYTHONHASHSEED="1")
    for name in ALL:
        assert state(tmp_path / name) == state(built[name])


def test_chosen_configurations_are_written_the_first_is_the_default(folder, tmp_path):
    built = build_dataset("coco_caption_bias", write(folder, coco()), tmp_path / "to", ["race", "gender", "race"])
    assert built.rows == {"race": 3, "gender": 3}
    assert list(built.left_out) == ["race", "gender"]
    assert sorted(os.listdir(built.folder)) == ["README.md", "eval.yaml", "gender", "race"]
    assert datasets.load_dataset(str(built.folder))["validation"].info.config_name == "race"


def test_the_card_has_configurations_sizes_and_what_was_left_out(built):
    card = (built["coco_caption_bias"] / "README.md").read_text(encoding="utf-8")
    configs = {config["config_name"]: config for config in yaml.safe_load(card.split("---\n")[1])["configs"]}
    assert list(configs) == ["age", "gender", "race"]
    assert [name for name in configs if configs[name].get("default")] == ["gender"]
    assert configs["race"]["data_files"] == [{"split": "validation", "path": "race/validation-*"}]
    assert CONTENTS not in card
    assert "| `race` | 3 | 2 without a label of race, 1 labelled unsure, 1 empty human captions |" in card
    benchmark = yaml.safe_load((built["coco_caption_bias"] / "eval.yaml").read_text(encoding="utf-8"))
    assert benchmark["name"] == "COCO captions with labels of gender, skin tone and age"
    assert benchmark["description"].startswith("Human captions, objects and people of COCO val2014")
    assert benchmark["evaluation_framework"] == "inspect-ai"  # of the Hub's own list, without which it refuses the file
    assert benchmark["tasks"][0]["id"] == "sway_worst"  # what a leaderboard sorts by
    assert {task["id"] for task in benchmark["tasks"]} == set(TASKS)
    assert {(task["config"], task["split"]) for task in benchmark["tasks"]} == {("gender", "validation")}


def checked(**columns):
    """A metric that only reads its input."""
    names = ("predictions", "references", "attributes", "tasks")
    return MagicMock(of=check_captions(**{name: columns[name] for name in names if name in columns}))


SAT = "bias_data/Show-Attend-Tell/gender_val_sat_cap_mw_entries.pkl"
CAPTIONERS = {
    "lic_captions": {SAT: [{"img_id": image, "pred": "a man"} for image in (5, 7, 9)]},
    "coco_caption_bias": {"results/nic.json": [{"image_id": image, "caption": "a man"} for image in (5, 9, 11)]},
}


@pytest.mark.parametrize("name", [*ALL, "guide"])
def test_the_example_of_a_card_and_of_the_guide_fits_what_is_built(name, folder, tmp_path, monkeypatch):
    page = ROOT / "docs" / "datasets.md" if name == "guide" else CARDS / name / "README.md"
    name = "coco_caption_bias" if name == "guide" else name
    [lines] = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    [(place, configuration)] = re.findall(r'load_dataset\("([\w/-]+)", "(\w+)"', lines)
    build_dataset(name, write(folder, ALL[name]() | CAPTIONERS.get(name, {})), tmp_path / place, [configuration])
    monkeypatch.setattr("evaluate.load", lambda _: SimpleNamespace(compute=checked))
    for metric in ("captionbias.metrics.lic", "captionbias.metrics.dbac", "captionbias.metrics.sway"):
        monkeypatch.setattr(metric, checked)
    monkeypatch.setattr("captionbias.sway", MagicMock(), raising=False)
    monkeypatch.chdir(tmp_path)
    exec(lines, {})


COCO, ARTEMIS = "coco_caption_bias", "art_style,painting,emotion,utterance\n"
UNLISTED = coco()["instances_val2014.json"]
UNLISTED["images"] = [image for image in UNLISTED["images"] if image["id"] != 11]


def people(**change):
    """The people of the LIC study, where the second entry is changed."""
    entries = lic()[LIC_PEOPLE]
    entries[1] |= change
    return entries


MALFORMED = [
    (COCO, "instances_val2014.json", '{"images": [{"id": 9', "instances_val2014"),
    (COCO, "instances_val2014.json", "[]", "instances_val2014"),
    (COCO, "instances_val2014.json", UNLISTED, "image 11"),  # which is no image without objects
    (COCO, "instances_val2014.csv", "id,area\n101,5\n", "instances_val2014.csv"),
    (COCO, "instances_val2014.csv", "id,gender\n107,Male\n", "instances_val2014.csv"),  # no person
    (COCO, "results/nic.json", [{"image_id": 10, "caption": "a"}], "nic.json"),
    (COCO, "images_val2014.csv", "id,bb_gender,bb_skin\n9,Both,Light\n5,Both,\n", "'gender'.*2 labelled both"),
    *(
        ("lic_captions", LIC_PEOPLE, people(**{field: bad}), rf"gender_obj_cap_mw_entries\.pkl(?=.*\[1\]).*{field}")
        for field, bad in [("img_id", "9"), ("caption_list", "a man"), ("bb_gender", ["Male"]), ("bb_skin", "Male")]
    ),
    ("lic_captions", LIC_PEOPLE, [{"img_id": one, "caption_list": [3]} for one in (5, 7, 9)], "not as published"),
    *(
        ("lic_captions", LIC_NIC, bad, Path(LIC_NIC).name)
        for bad in ({"img_id": 1}, [{"img_id": 9}], [{"img_id": 9, "pred": "a"}, {"img_id": 1, "pred": "b"}])
    ),
    ("artemis_emotions", "b.csv", ARTEMIS + "a,b,awe,x\na,b,joy,x\na,b,Awe,y\n", r"emotion\[1\]"),
    ("artemis_emotions", "b.csv", "art_style,painting,utterance\na,b,x\n", "emotion"),
    ("label_benchmarks", "pata_fairness.files.lst", "forest_male|https://a/5\n", "not as published"),
]


@pytest.mark.parametrize(("name", "place", "content", "message"), MALFORMED)
def test_a_malformed_file_is_named_and_leaves_nothing(name, place, content, message, folder, tmp_path):
    refuses(message, build_dataset, name, write(folder, {**ALL[name](), place: content}), tmp_path / "to")
    assert os.listdir(tmp_path) == ["original"]


def test_a_wrong_argument_is_named_and_what_is_there_is_never_written_over(folder, tmp_path):
    before = state(write(folder, coco()))
    for to in (folder, folder.parent):
        refuses("is not empty", build_dataset, COCO, folder, to)
    refuses("imagenet", build_dataset, "imagenet", folder, tmp_path / "to")
    refuses("C1", build_dataset, COCO, folder, tmp_path / "to", ["race", "C1"])
    missing = r"no fairface_label_val\.csv.*joojs/fairface.*--config"
    refuses(missing, build_dataset, "label_benchmarks", folder, tmp_path / "to", ["fairface"])
    assert state(folder) == before
    assert os.listdir(tmp_path) == ["original"]
