"""Labels and captions that name them: the same scores of both, and how often captions are searched."""

import random
import re
import sys
from collections import Counter

import pytest

from captionbias.analysis.audit import audit
from captionbias.captions import CaptionBiasWarning, check_captions
from captionbias.metrics import directional_ba, dpa, label_leakage, multi_directional_ba
from captionbias.synthetic import plant
from captionbias.text import find_mentions
from captionbias.text.marks import find_marks
from tests.metrics.by_definition import scores
from tests.refusals import refuses

IMAGES = 80
LEXICON = {"cake": ["cake", "cakes"], "dog": ["dog"], "hot dog": ["hot dog"], "knife": ["knife", "knives"]}
TASKS, VALUES = list(LEXICON), ["female", "male"]
PERSON = {"female": "a woman", "male": "a man"}
ATTACKS = [dpa, label_leakage]


def text_of(values, tasks):
    """A caption that names them and nothing else."""
    return " and ".join([*(PERSON[value] for value in values), *(f"a {task}" for task in tasks)] or ["a room"]) + "."


def some(names, share, draw):
    return [name for name in names if draw.random() < share]


def labels_and_captions():
    """Labels of images, and captions that name those: tasks of an image are those that any of its captions names."""
    draw, people = random.Random(0), VALUES * (IMAGES // 2)
    tasks = [some(TASKS, 0.5 if value == "female" else 0.3, draw) for value in people]
    named = [[value] if draw.random() < 0.8 else some(VALUES, 0.5, draw) for value in people]
    said = [some(shown, 0.8, draw) + some(["knife"], 0.2, draw) for shown in tasks]
    references = [[text_of([value], of[::2]), text_of([], of[1::2])] for value, of in zip(people, tasks, strict=True)]
    labels = {"attributes": people, "tasks": tasks, "predicted_attributes": named, "predicted_tasks": said}
    captions = {"predictions": list(map(text_of, named, said)), "references": references, "attributes": people}
    return labels, captions


LABELS, CAPTIONS = labels_and_captions()
WITHOUT_REFERENCES = {name: rows for name, rows in CAPTIONS.items() if name != "references"}


def measured(metric, columns, **options):
    columns = {name: column for name, column in columns.items() if name in metric.options()}
    fixed = {"bootstrap": 20} | ({"trials": 2, "cache": False} if metric in ATTACKS else {})
    return metric(**columns, **fixed | options)


def of_captions(metric, captions, **options):
    return measured(metric, captions, task_lexicon=LEXICON, **options)


@pytest.mark.parametrize("metric", [directional_ba, multi_directional_ba, *ATTACKS], ids=lambda metric: metric.name)
def test_captions_give_what_the_labels_give_that_they_name(metric):
    """Attackers learn from images; counts compare with images when there are no human captions to compare with."""
    captions = CAPTIONS if metric in ATTACKS else WITHOUT_REFERENCES | {"tasks": LABELS["tasks"]}
    found = scores(of_captions(metric, captions, controls=False))
    apart = ("_null", *["_ci_", "_verdict"] * (metric in ATTACKS))  # human captions say what is resampled together
    given, found = (
        {key: value for key, value in one.items() if not any(part in key for part in apart)}
        for one in (scores(measured(metric, LABELS)), found)
    )
    assert found == pytest.approx(given, abs=1e-12)


@pytest.mark.parametrize("metric", [directional_ba, dpa], ids=lambda metric: metric.name)
def test_tasks_that_are_given_take_the_place_of_those_that_human_captions_name(metric):
    given = CAPTIONS | {"tasks": LABELS["tasks"]}
    found, named = (of_captions(metric, captions, controls=False) for captions in (given, CAPTIONS))
    assert scores(found) == scores(named)
    assert "tasks:given" in found["signature"]
    assert "tasks:named" in named["signature"]
    other = CAPTIONS | {"tasks": [["dog"], ["knife", "cake"]] * (IMAGES // 2)}
    assert scores(of_captions(metric, other)) != scores(found)


def test_tasks_that_captions_cannot_name_are_left_out_with_a_warning():
    without = of_captions(directional_ba, CAPTIONS | {"tasks": LABELS["tasks"]})
    further = [[*row, "surfing", "unicorn"][: len(row) + 1 + number % 2] for number, row in enumerate(LABELS["tasks"])]
    message = "tasks: surfing, unicorn not in task_lexicon 'custom': captions cannot name them; left out"
    with pytest.warns(CaptionBiasWarning, match=re.escape(message)):
        found = of_captions(directional_ba, CAPTIONS | {"tasks": further}, details=True)
    assert found["details"]["warnings"] == [message]
    assert scores(found) == scores(without)


@pytest.mark.parametrize(("rare", "named"), [(["f", "m"], "f and m"), (["m"], "m"), ([], "no value")])
def test_a_set_of_values_too_small_to_split_is_refused_by_its_name(rare, named):
    def labels(images):
        tasks = [["a"], ["b"]] * 15 + [["a"]] * images
        return {"attributes": [["f"]] * 30 + [rare] * images, "tasks": tasks, "predicted_tasks": tasks}

    refuses(rf"^attributes: 9 images have {named}, .* at least 10; add images, or leave", measured, dpa, labels(9))
    assert measured(dpa, labels(10))


def test_each_text_is_searched_once_for_the_words_of_a_lexicon():
    """Of two captioners, people's once for both. What a page marks is found again, in the texts that it lists."""
    searched, captions = Counter(), check_captions(**vars(plant(150, captions=3)))
    other = captions.with_predictions(vars(plant(150, captions=3, seed=1))["predictions"])

    def watch(frame, event, _):
        searches = event == "call" and frame.f_code is find_mentions.__code__
        if searches and frame.f_back.f_code is not find_marks.__code__:
            searched[frame.f_locals["lexicon"].name] += len(frame.f_locals["tokens"])

    sys.setprofile(watch)
    try:
        audit({"one": captions, "other": other}, trials=1, cache=False)
    finally:
        sys.setprofile(None)
    assert searched == dict.fromkeys(("gender", "coco_objects", "terms"), 150 * (2 + 3))
