"""Labels and captions that name them: the same scores of both, and what is refused with its row and the way out.

`tests/captions/test_labels.py` has every way to write labels and all that is refused of them.
"""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

from captionbias.captions import CaptionBiasWarning
from captionbias.metrics import ba_mals, directional_ba, dpa, label_leakage, multi_directional_ba
from tests.metrics.by_definition import scores

IMAGES = 80
LEXICON = {"cake": ["cake", "cakes"], "dog": ["dog"], "hot dog": ["hot dog"], "knife": ["knife", "knives"]}
TASKS, VALUES = list(LEXICON), ["female", "male"]
PERSON = {"female": "a woman", "male": "a man"}
ATTACKS = [dpa, label_leakage]


def parametrized(*metrics):
    return pytest.mark.parametrize("metric", metrics, ids=lambda metric: metric.name)


each = parametrized(ba_mals, directional_ba, multi_directional_ba, *ATTACKS)


def text_of(values, tasks):
    """A caption that names them and nothing else."""
    return " and ".join([*(PERSON[value] for value in values), *(f"a {task}" for task in tasks)] or ["a room"]) + "."


def some(names, share, draw):
    return [name for name in names if draw.random() < share]


def labels_and_captions():
    """Labels of images, and captions that name those; every label occurs."""
    draw = random.Random(0)
    attributes = [VALUES[number % 2] for number in range(IMAGES)]
    tasks = [some(TASKS, 0.5 if value == "female" else 0.3, draw) for value in attributes]
    predicted_attributes = [[value] if draw.random() < 0.8 else some(VALUES, 0.5, draw) for value in attributes]
    predicted_tasks = [some(shown, 0.8, draw) + some(["knife"], 0.2, draw) for shown in tasks]
    labels = {
        "attributes": attributes,
        "tasks": tasks,
        "predicted_attributes": predicted_attributes,
        "predicted_tasks": predicted_tasks,
    }
    # The tasks of an image are those that any of its captions names.
    captions = {
        "predictions": list(map(text_of, predicted_attributes, predicted_tasks)),
        "references": [
            [text_of([value], shown[::2]), text_of([], shown[1::2])]
            for value, shown in zip(attributes, tasks, strict=True)
        ],
        "attributes": attributes,
    }
    return labels, captions


LABELS, CAPTIONS = labels_and_captions()
WITHOUT_REFERENCES = {name: rows for name, rows in CAPTIONS.items() if name != "references"}


def measured(metric, columns, **options):
    columns = {name: column for name, column in columns.items() if name in metric.options()}
    fixed = {"bootstrap": 20} | ({"trials": 2, "cache": False} if metric in ATTACKS else {})
    return metric(**columns, **fixed | options)


def of_captions(metric, captions, **options):
    return measured(metric, captions, **{"task_lexicon": LEXICON} | options)


# --- captions ---


@parametrized(directional_ba, multi_directional_ba, *ATTACKS)
def test_captions_give_what_the_labels_give_that_they_name(metric):
    """Attackers learn from images; counts compare with images when there are no human captions to compare with."""
    captions = CAPTIONS if metric in ATTACKS else WITHOUT_REFERENCES | {"tasks": LABELS["tasks"]}
    found = scores(of_captions(metric, captions, controls=False))
    given = {key: value for key, value in scores(measured(metric, LABELS)).items() if "_null" not in key}
    assert found == pytest.approx(given, abs=1e-12)


@parametrized(directional_ba, dpa)
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


# --- bad input ---


def fault(metric, columns, **options):
    with pytest.raises(ValueError, match=r".") as raised:
        measured(metric, columns, **options)
    assert len(str(raised.value)) < 500
    return str(raised.value)


FLAGS = np.eye(4)[[0, 1] * (IMAGES // 2)]


@each
def test_every_metric_refuses_bad_labels(metric):
    assert fault(metric, {}).startswith("attributes is missing: give predictions and references (captions), or")
    unknown = LABELS | {"predicted_tasks": [*LABELS["tasks"][:17], ["gnu"], *LABELS["tasks"][18:]]}
    assert fault(metric, unknown).startswith("predicted_tasks[17] names 'gnu', which is not a label of tasks")
    silent = {name: LABELS[name] for name in ("attributes", "tasks")}
    assert re.match("predicted_tasks.* missing: give", fault(metric, silent))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tasks": None}, "tasks is missing: give predictions and references (captions), or attributes and tasks"),
        ({"tasks": LABELS["tasks"] * 2}, "attributes has length 80 and tasks has length 160: entry i of each belongs"),
        ({"predicted_tasks": LABELS["tasks"][1:]}, "attributes has length 80 and predicted_tasks has length 79: entry"),
        ({"predicted_tasks": FLAGS}, "predicted_tasks is an array without names and tasks has names: give both as arr"),
        ({"training_attributes": LABELS["attributes"]}, "training_attributes and training_tasks belong"),
        (
            {"training_attributes": LABELS["attributes"], "training_tasks": LABELS["tasks"][1:]},
            "training_attributes has length 80 and",
        ),
        (
            {"training_attributes": LABELS["attributes"], "training_tasks": FLAGS},
            "training_tasks has 4 labels (0, 1, 2, 3), tasks",
        ),
    ],
)
def test_labels_that_do_not_fit_together_are_refused(change, message):
    assert fault(directional_ba, LABELS | change).startswith(message)


CONFUSED = "labels are found in captions; give captions or predicted labels, not both"
UNNAMED = "give tasks, or the words that these captions use as task_lexicon"


@pytest.mark.parametrize(
    ("metric", "change", "message"),
    [
        (dpa, {"predicted_tasks": LABELS["predicted_tasks"]}, f"predicted_tasks: {CONFUSED}"),
        (directional_ba, {"training_attributes": LABELS["attributes"]}, f"training_attributes: {CONFUSED}"),
        (dpa, {"predictions": None}, "predictions is missing: without a captioner's captions there is nothing to"),
        (dpa, {"references": None}, "tasks is missing: what images show is given, or found in human captions; give"),
        (directional_ba, {"predictions": None}, "tasks is missing: without predictions human captions are compared"),
        (dpa, {"attributes": None}, "attributes is missing: give one label for each image"),
        (
            dpa,
            {"attributes": [*CAPTIONS["attributes"][:17], "woman", *CAPTIONS["attributes"][18:]]},
            "attributes[17] is 'woman', which is not a label",
        ),
        (dpa, {"tasks": [["unicorn"], ["griffin"]] * (IMAGES // 2)}, "tasks: none of its names"),
        *(
            (
                metric,
                {"references": [["a woman"], ["a man"]] * (IMAGES // 2)},
                f"references: no human caption names a task of task_lexicon, so the images show none; {UNNAMED}",
            )
            for metric in (directional_ba, multi_directional_ba, dpa)
        ),
        (
            ba_mals,
            {"references": [["a woman"], ["a man"]] * (IMAGES // 2)},
            "tasks: none occurs with an attribute value in",
        ),
    ],
)
def test_captions_that_name_no_labels_are_refused(metric, change, message):
    assert fault(metric, CAPTIONS | change, task_lexicon=LEXICON).startswith(message)


# --- classes ---


@pytest.mark.parametrize(("rare", "named"), [(["f", "m"], "f and m"), (["m"], "m"), ([], "no value")])
@parametrized(*ATTACKS)
def test_a_set_of_values_too_small_to_split_is_refused_by_its_name(metric, rare, named):
    def labels(images):
        return {"attributes": [["f"]] * 30 + [rare] * images} | {
            name: [["a"], ["b"]] * 15 + [["a"]] * images for name in ("tasks", "predicted_tasks")
        }

    message = fault(metric, labels(9))
    assert re.match(rf"attributes: 9 images have {named}; .* at least 10\. Add images, or leave", message)
    assert measured(metric, labels(10))
