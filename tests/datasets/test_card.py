"""The card of a build: configurations, sizes, what was left out, captioners."""

from __future__ import annotations

import pytest
import yaml
from huggingface_hub import DatasetCard

from captionbias.datasets.build import CONTENTS, build_dataset
from tests.datasets.conftest import ALL, CARDS, coco, write


@pytest.mark.parametrize("name", ALL)
def test_every_template_has_one_place_for_the_contents(name):
    template = (CARDS / name / "README.md").read_text(encoding="utf-8")
    assert template.count(CONTENTS) == 1
    assert not {"configs", "dataset_info"} & set(DatasetCard(template).data.to_dict())


def test_the_card_has_configurations_sizes_and_what_was_left_out(folder, tmp_path):
    built = build_dataset("coco_caption_bias", write(folder, coco()), tmp_path / "to")
    card = (built.folder / "README.md").read_text(encoding="utf-8")
    front = yaml.safe_load(card.split("---\n")[1])
    configs = {config["config_name"]: config for config in front["configs"]}
    assert list(configs) == ["age", "gender", "race"]
    assert [name for name in configs if configs[name].get("default")] == ["gender"]
    assert configs["race"]["data_files"] == [{"split": "validation", "path": "race/validation-*"}]
    assert [info["config_name"] for info in front["dataset_info"]] == ["age", "gender", "race"]
    for info in front["dataset_info"]:
        assert info["splits"][0]["num_examples"] == built.rows[info["config_name"]]
        assert info["splits"][0]["num_bytes"] > 0
    names = [feature["name"] for feature in front["dataset_info"][0]["features"]]
    assert names[:6] == ["image_id", "file_name", "height", "width", "references", "attribute"]
    assert names[-2:] == ["nic", "sat"]
    assert CONTENTS not in card
    assert "| `race` | 3 | 2 without a label of race, 1 labelled unsure, 1 empty human captions |" in card
    benchmark = yaml.safe_load((tmp_path / "to" / "eval.yaml").read_text(encoding="utf-8"))
    assert benchmark["name"] == "COCO captions with labels of gender, skin tone and age"
    assert benchmark["description"].startswith("Human captions, objects and people of COCO val2014")
    assert {"dbac_a_to_t_matched", "dbac_t_to_a", "lic"} <= {task["id"] for task in benchmark["tasks"]}
