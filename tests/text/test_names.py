"""Names in a list become words that captions say: each under one name, and a shipped list measures like COCO's."""

import pytest

from captionbias import lexicon_of, load_lexicon
from captionbias.bench.protocol import lexicon_name
from captionbias.synthetic import TASKS, plant
from tests.refusals import refuses
from tests.text.conftest import named
from tests.whole import sway


def test_names_are_written_as_datasets_write_them():
    words = lexicon_of(["Handbag/Satchel", "tench, Tinca tinca", "bow_(weapon)", "Hot-air balloon", "Boots", " "])
    assert words["Handbag/Satchel"] == ["handbag", "satchel", "handbags", "satchels"]
    assert words["tench, Tinca tinca"][:2] == ["tench", "tinca tinca"]
    assert words["bow_(weapon)"] == ["bow", "bows"]
    assert {"hot-air balloon", "hot air balloon", "hot air balloons"} < set(words["Hot-air balloon"])
    assert words["Boots"] == ["boots"]
    assert len(words) == 5


def test_a_word_of_several_names_is_of_the_one_that_it_is_or_of_none():
    words = lexicon_of(["tea pot", "teapot", "axe", "ax"])
    assert "teapot" not in words["tea pot"]
    assert words["teapot"] == ["teapot"]  # "teapots" is also of "tea pot"
    assert (words["axe"], words["ax"]) == (["axe"], ["ax"])  # "axes" is both's


def test_captions_name_them_in_any_form(tmp_path):
    path = tmp_path / "sports.txt"
    path.write_text("surfboard\nhot dog\ndog\n\n", encoding="utf-8-sig")
    lexicon = load_lexicon(path)
    found = named(["two surfboards", "a hot-dog", "hotdogs for dogs", "a doghouse"], lexicon)
    assert found == [{"surfboard"}, {"hot dog"}, {"hot dog", "dog"}, set()]
    signed = lexicon_name(lexicon, path)
    path.write_text("surfboard\nhot dog\ncat\n", encoding="utf-8")
    assert signed.startswith("sports-")
    assert lexicon_name(load_lexicon(path), path) != signed


def test_a_path_is_no_list_of_names():
    refuses("give a list of names", lexicon_of, "mine.txt")


@pytest.mark.parametrize("name", ["objects365", "open_images", "visogender_occupations"])
def test_a_shipped_list_measures_as_coco_does(name):
    groups, planted = load_lexicon(name).groups, plant(1000, t_to_a=0.3)
    by_coco = sway(**vars(planted), lean="own", bootstrap=100)
    labels = [label for label in list(groups) if "waiter" not in label][:: len(groups) // len(TASKS)]
    words = {task: groups[label][0] for task, label in zip(TASKS, labels, strict=False)}

    def said(caption):
        return next((caption.replace(task, word) for task, word in words.items() if task in caption), caption)

    captions = vars(planted) | {
        "predictions": list(map(said, planted.predictions)),
        "references": [list(map(said, captions)) for captions in planted.references],
        "tasks": [[labels[TASKS.index(task)] for task in tasks] for tasks in planted.tasks],
    }
    result = sway(**captions, task_lexicon=name, bootstrap=100)
    assert result["sway_t_to_a_least_ci_low"] > 0
    assert result["sway_t_to_a"] == pytest.approx(by_coco["sway_t_to_a"], abs=0.5)  # people are drawn by their captions
    for fact in ("sway_tasks_named", "sway_suggested"):
        assert result[fact] == by_coco[fact]
    assert f"task:{name}|" in result["signature"]
