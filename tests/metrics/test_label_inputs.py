"""Labels of captions and labels as given: the same scores, however they are written, cut into blocks or misspelt."""

from __future__ import annotations

import random
import re

import numpy as np
import pandas as pd
import pytest

from captionbias.captions import CaptionBiasWarning
from captionbias.metrics.ba_mals import ba_mals
from captionbias.metrics.directional_ba import directional_ba
from captionbias.metrics.dpa import dpa
from captionbias.metrics.label_inputs import read_labels
from captionbias.metrics.label_leakage import label_leakage
from captionbias.metrics.multi_directional_ba import multi_directional_ba
from captionbias.scores import number_sets

IMAGES = 80
LEXICON = {"cake": ["cake", "cakes"], "dog": ["dog"], "hot dog": ["hot dog"], "knife": ["knife", "knives"]}
TASKS, VALUES = list(LEXICON), ["female", "male"]
PERSON, PHRASE = {"female": "a woman", "male": "a man"}, {name: f"a {name}" for name in TASKS}
COUNTS = [directional_ba, multi_directional_ba, ba_mals]
ATTACKS = [dpa, label_leakage]
OPTIONS = {metric: {"bootstrap": 20, "seed": 3} for metric in COUNTS} | {
    metric: {"bootstrap": 20, "seed": 3, "trials": 2, "cache": False} for metric in ATTACKS
}
each = pytest.mark.parametrize("metric", [*COUNTS, *ATTACKS], ids=lambda metric: metric.__name__)


def told(values, tasks):
    """A caption that names them and nothing else."""
    return " and ".join([*(PERSON[value] for value in values), *(PHRASE[task] for task in tasks)] or ["a room"]) + "."


def some(names, share, draw):
    return [name for name in names if draw.random() < share]


def made(seed=0, images=IMAGES):
    """Labels of images, and captions that name those; every label occurs."""
    draw = random.Random(seed)
    attributes = [VALUES[number % 2] for number in range(images)]
    tasks = [some(TASKS, 0.5 if value == "female" else 0.3, draw) for value in attributes]
    predicted_attributes = [[value] if draw.random() < 0.8 else some(VALUES, 0.5, draw) for value in attributes]
    predicted_tasks = [some(own, 0.8, draw) + some(["knife"], 0.2, draw) for own in tasks]
    given_labels = {
        "attributes": attributes,
        "tasks": tasks,
        "predicted_attributes": predicted_attributes,
        "predicted_tasks": predicted_tasks,
    }
    # The tasks of an image are those that any of its captions names.
    captions = {
        "predictions": [told(*row) for row in zip(predicted_attributes, predicted_tasks, strict=True)],
        "references": [
            [told([value], own[::2]), told([], own[1::2])] for value, own in zip(attributes, tasks, strict=True)
        ],
        "attributes": attributes,
    }
    return given_labels, captions


LABELS, CAPTIONS = made()


def measured(metric, given_input, **options):
    given_input = dict(given_input)
    if metric is label_leakage:
        given_input.pop("predicted_attributes", None)
    return metric(**given_input, **OPTIONS[metric] | options)


def scores(result):
    return {key: value for key, value in result.items() if key not in ("signature", "details")}


def of_captions(metric, captions, **options):
    return measured(metric, captions, task_lexicon=LEXICON, **options)


# --- ways to write labels ---


def as_flags(rows, names):
    return np.array([[name in ([row] if isinstance(row, str) else row) for name in names] for row in rows])


def as_arrays(convert):
    names = {"attributes": VALUES, "tasks": TASKS}
    return {
        name: convert(as_flags(rows, names[name.removeprefix("predicted_")]), names[name.removeprefix("predicted_")])
        for name, rows in LABELS.items()
    }


def tensor(flags, names):
    return pytest.importorskip("torch").tensor(flags)


WAYS = {
    "tuples of lists": lambda: {name: tuple(rows) for name, rows in LABELS.items()},
    "Series": lambda: {name: pd.Series(rows) for name, rows in LABELS.items()},
    "bool": lambda: as_arrays(lambda flags, names: flags),
    "int": lambda: as_arrays(lambda flags, names: flags.astype(int)),
    "float32": lambda: as_arrays(lambda flags, names: flags.astype(np.float32)),
    "lists of numbers": lambda: as_arrays(lambda flags, names: flags.astype(int).tolist()),
    "tensors": lambda: as_arrays(tensor),
    "tables": lambda: as_arrays(lambda flags, names: pd.DataFrame(flags, columns=names)),
    "nullable tables": lambda: as_arrays(lambda flags, names: pd.DataFrame(flags, columns=names).convert_dtypes()),
}


@pytest.mark.parametrize("way", WAYS)
@each
def test_labels_are_the_same_in_every_way_to_write_them(metric, way):
    assert scores(measured(metric, WAYS[way]())) == scores(measured(metric, LABELS))


@each
def test_other_names_in_the_same_order_change_nothing(metric):
    other = {
        name: [f"x{row}" if isinstance(row, str) else [f"x{one}" for one in row] for row in rows]
        for name, rows in LABELS.items()
    }
    assert measured(metric, other) == measured(metric, LABELS)


# --- captions ---


WITHOUT_REFERENCES = {name: rows for name, rows in CAPTIONS.items() if name != "references"}
ROWS = [(image, text) for image, row in enumerate(CAPTIONS["references"]) for text in row]
NAMED_TASKS = [[name for name in TASKS if PHRASE[name] in text] for _, text in ROWS]
NAMED_VALUES = [["male"] * ("a man" in text) + ["female"] * ("woman" in text) for _, text in ROWS]


def repeated(name):
    """A label of the image for each of its human captions; all images have as many."""
    return [LABELS[name][image] for image, _ in ROWS]


@pytest.mark.parametrize("metric", [directional_ba, multi_directional_ba, *ATTACKS], ids=lambda metric: metric.__name__)
def test_captions_give_what_the_labels_give_that_they_name(metric):
    """Attackers learn from images; counts compare with images when there are no human captions to compare with."""
    captions = CAPTIONS if metric in ATTACKS else WITHOUT_REFERENCES | {"tasks": LABELS["tasks"]}
    assert scores(of_captions(metric, captions)) == pytest.approx(scores(measured(metric, LABELS)), abs=1e-12)


def test_ba_mals_learns_from_each_human_caption():
    wanted = ba_mals(**LABELS, training_attributes=NAMED_VALUES, training_tasks=NAMED_TASKS, bootstrap=0)
    assert of_captions(ba_mals, CAPTIONS)["ba_mals"] == pytest.approx(wanted["ba_mals"], abs=1e-12)


@pytest.mark.parametrize("metric", [directional_ba, multi_directional_ba], ids=lambda metric: metric.__name__)
def test_directions_compare_with_each_human_caption(metric):
    """A to T with the tasks that human captions name, T to A with the values that they name, each a row of labels."""
    found = scores(of_captions(metric, CAPTIONS, bootstrap=0))
    named = {"attributes": repeated("attributes"), "tasks": NAMED_TASKS}
    wanted = scores(metric(**named, predicted_tasks=repeated("predicted_tasks"), bootstrap=0))
    if metric is directional_ba:  # combinations are those that people name: no labels of images say which
        shown = {"attributes": NAMED_VALUES, "tasks": repeated("tasks")}
        wanted |= scores(metric(**shown, predicted_attributes=repeated("predicted_attributes"), bootstrap=0))
        assert set(found) == set(wanted)
    assert {name: found[name] for name in wanted} == pytest.approx(wanted, abs=1e-12)
    assert scores(measured(metric, LABELS, bootstrap=0)) != pytest.approx(found, abs=1e-3), "images are not captions"


@each
def test_the_case_of_labels_and_of_captions_plays_no_part(metric):
    shouted = {
        "predictions": [text.upper() for text in CAPTIONS["predictions"]],
        "references": [[text.title() for text in row] for row in CAPTIONS["references"]],
        "attributes": [label.title() for label in CAPTIONS["attributes"]],
    }
    assert of_captions(metric, shouted) == of_captions(metric, CAPTIONS)


@pytest.mark.parametrize("metric", [directional_ba, multi_directional_ba, *ATTACKS], ids=lambda metric: metric.__name__)
def test_tasks_that_are_given_take_the_place_of_those_that_human_captions_name(metric):
    given_tasks = CAPTIONS | {"tasks": LABELS["tasks"]}
    found = of_captions(metric, given_tasks)
    assert scores(found) == scores(of_captions(metric, CAPTIONS))
    assert "tasks:given" in found["signature"]
    assert "tasks:named" in of_captions(metric, CAPTIONS)["signature"]
    without = of_captions(metric, WITHOUT_REFERENCES | {"tasks": LABELS["tasks"]})
    if metric in ATTACKS:
        assert without == found
    else:  # of human captions they compare with more than the tasks
        assert scores(without) != pytest.approx(scores(found), abs=1e-3)
    other = given_tasks | {"tasks": [["dog"], ["knife", "cake"]] * (IMAGES // 2)}
    assert scores(of_captions(metric, other)) != scores(found)


def read(**given_input):
    everything = dict.fromkeys(
        ("predictions", "references", "attributes", "tasks", "predicted_attributes", "predicted_tasks")
    )
    return read_labels(
        None,
        **everything | {"attribute_lexicon": "gender", "task_lexicon": LEXICON, "tokenizer": "words"} | given_input,
    )


def test_the_longest_name_counts_and_the_tokenizer_is_the_one_asked_for():
    captions = {"predictions": ["a hot dog.", "a dog."], "attributes": VALUES, "tasks": [["dog"], ["dog"]]}

    def predicted(tokenizer):
        labels = read(**captions, tokenizer=tokenizer)
        return [[TASKS[task] for task in np.flatnonzero(row)] for row in labels.predicted_tasks]

    assert predicted("words") == [["hot dog"], ["dog"]]
    assert predicted("whitespace") == [[], []]


# --- tasks and labels that a lexicon has no words for ---


@pytest.mark.parametrize("metric", [directional_ba, multi_directional_ba, *ATTACKS], ids=lambda metric: metric.__name__)
def test_tasks_that_captions_cannot_name_are_left_out_with_a_warning(metric):
    without = of_captions(metric, CAPTIONS | {"tasks": LABELS["tasks"]}, details=True)
    further = [[*row, "surfing", "unicorn"][: len(row) + 1 + number % 2] for number, row in enumerate(LABELS["tasks"])]
    message = "tasks: surfing, unicorn not in task_lexicon 'custom': captions cannot name them; left out"
    with pytest.warns(CaptionBiasWarning, match=re.escape(message)):
        found = of_captions(metric, CAPTIONS | {"tasks": further}, details=True)
    assert found["details"]["warnings"] == [message]
    assert scores(found) == scores(without)


@pytest.mark.parametrize("metric", [directional_ba, multi_directional_ba, *ATTACKS], ids=lambda metric: metric.__name__)
def test_tasks_of_which_none_can_be_named_are_refused(metric):
    strange = CAPTIONS | {"tasks": [["unicorn"], ["griffin"]] * (IMAGES // 2)}
    message = fault(metric, strange, task_lexicon=LEXICON)
    assert message.startswith("tasks: none of its names (griffin, unicorn, ...) is a label of task_lexicon 'custom'")
    assert message.endswith("give a task_lexicon with these labels")


@each
def test_an_attribute_that_is_no_label_of_the_lexicon_is_refused_with_its_row(metric):
    labels = [*CAPTIONS["attributes"][:17], "woman", *CAPTIONS["attributes"][18:]]
    message = fault(metric, CAPTIONS | {"attributes": labels}, task_lexicon=LEXICON)
    assert message.startswith(
        "attributes[17] is 'woman', which is not a label of attribute_lexicon 'gender' (female, male)"
    )
    assert "leave such images out, or give a lexicon with the words that name it" in message


# --- bad input ---


def fault(metric, given_input, **options):
    with pytest.raises(ValueError, match=r".") as raised:
        measured(metric, given_input, **options)
    assert len(str(raised.value)) < 500
    return str(raised.value)


def replaced(rows, value, row=17):
    return [*rows[:row], value, *rows[row + 1 :]]


FLAGGED = as_arrays(lambda flags, names: flags.astype(float))


def spoilt(array, value, row=17):
    array = array.copy()
    array[row, 1] = value
    return array


LISTS = [
    ("attributes", replaced(LABELS["attributes"], None), "attributes[17] is missing", "give a label"),
    ("attributes", replaced(LABELS["attributes"], 1), "attributes[17] is of type int", "give a label"),
    ("attributes", replaced(LABELS["attributes"], " "), "attributes[17] holds an empty label", "or take it out"),
    ("attributes", LABELS["attributes"][:-1], "attributes has length 79", "give as many of one as of the other"),
    ("attributes", [[]] * IMAGES, "attributes has no label in any image", "name what the images show"),
    ("attributes", [], "attributes has no rows", "at least one image"),
    ("attributes", None, "attributes is missing", "attributes and tasks (labels)"),
    ("attributes", "female", "attributes is a string", "give a list with one entry for each image"),
    ("tasks", replaced(LABELS["tasks"], [3]), "tasks[17] holds 3, of type int", "a label is a string"),
    ("tasks", replaced(LABELS["tasks"], float("nan")), "tasks[17] is missing", "an empty list"),
    ("tasks", [[]] * IMAGES, "tasks has no label in any image", "name what the images show"),
    ("tasks", None, "tasks is missing", "attributes and tasks (labels)"),
    ("tasks", LABELS["tasks"] * 2, "attributes has length 80 and tasks has length 160", "give as many of one"),
    ("predicted_tasks", replaced(LABELS["tasks"], ["gnu"]), "[17] names 'gnu', which is not a label of tasks", "leave"),
    ("predicted_tasks", LABELS["tasks"][1:], "and predicted_tasks has length 79", "give as many of one"),
    ("predicted_tasks", FLAGGED["tasks"], "is an array without names and tasks has names", "both as arrays, or both"),
    ("predicted_attributes", FLAGGED["attributes"], "predicted_attributes is an array without names", "both as names"),
    ("predicted_attributes", replaced(LABELS["attributes"], "x"), "predicted_attributes[17] names 'x'", "leave it out"),
]  # fmt: skip
ARRAYS = [
    ("attributes", spoilt(FLAGGED["attributes"], 2), "attributes[17] holds 2", "0 and 1 alone; give those, or lists"),
    ("tasks", spoilt(FLAGGED["tasks"], np.nan), "tasks[17] holds nan", "0 and 1 alone"),
    ("tasks", FLAGGED["tasks"].astype(int).astype(str), "tasks[0] holds '", "0 and 1 alone"),
    ("tasks", FLAGGED["tasks"][:, 0], "tasks[0] is of type float", "give a label, or a list of labels"),
    ("tasks", FLAGGED["tasks"][None], "tasks has shape (1, 80, 4)", "one row an image, one column a label"),
    ("tasks", LABELS["tasks"], "is an array without names and tasks has names", "both as arrays, or both as names"),
    ("tasks", np.zeros((IMAGES, 4)), "tasks has no label in any image", "name what the images show"),
    ("predicted_tasks", spoilt(FLAGGED["tasks"], 0.5), "predicted_tasks[17] holds 0.5", "0 and 1 alone"),
    ("predicted_tasks", FLAGGED["tasks"][:, 1:], "has 3 columns and tasks has 4 labels", "give the same ones"),
    ("predicted_tasks", FLAGGED["tasks"][1:], "and predicted_tasks has length 79", "give as many of one"),
    ("predicted_tasks", LABELS["tasks"], "predicted_tasks has names and tasks is an array without names", "give both"),
    ("predicted_attributes", spoilt(FLAGGED["attributes"], -1), "predicted_attributes[17] holds -1", "0 and 1 alone"),
]  # fmt: skip
NOT_OF_LEAKAGE = "predicted_attributes"


@pytest.mark.parametrize(
    ("good", "argument", "value", "what", "way_out"),
    [(LABELS, *row) for row in LISTS] + [(FLAGGED, *row) for row in ARRAYS],
)
@each
def test_bad_labels_are_refused_with_the_row_and_the_way_out(metric, good, argument, value, what, way_out):
    if metric is label_leakage and argument == NOT_OF_LEAKAGE:
        pytest.skip("it has no predicted attributes")
    message = fault(metric, good | {argument: value})
    assert what in message
    assert way_out in message[message.index(what) :]


@each
def test_captions_and_predicted_labels_together_are_refused(metric):
    both = CAPTIONS | {"predicted_tasks": LABELS["predicted_tasks"]}
    wanted = "predicted_tasks: labels are found in captions; give captions or predicted labels, not both"
    assert fault(metric, both) == wanted


@each
def test_labels_without_predictions_are_refused(metric):
    message = fault(metric, {name: LABELS[name] for name in ("attributes", "tasks")})
    assert message.startswith("predicted_tasks")
    assert "missing: give" in message


@each
def test_nothing_at_all_is_refused(metric):
    assert fault(metric, {}).startswith("attributes is missing: give predictions and references (captions), or")


@each
def test_captions_of_one_side_are_refused(metric):
    needed = (
        "tasks is missing: without" if metric is directional_ba else "predictions is missing: without a captioner's"
    )
    assert fault(metric, CAPTIONS | {"predictions": None}).startswith(needed)
    assert re.match("(tasks|references) is missing: ", fault(metric, CAPTIONS | {"references": None}))
    assert fault(metric, CAPTIONS | {"attributes": None}).startswith("attributes is missing: give one label")


@pytest.mark.parametrize("metric", COUNTS, ids=lambda metric: metric.__name__)
def test_training_labels_belong_together_and_to_the_others(metric):
    one = {"training_attributes": LABELS["attributes"]}
    assert "belong together: give both or neither" in fault(metric, LABELS | one)
    longer = one | {"training_tasks": LABELS["tasks"][1:]}
    assert fault(metric, LABELS | longer).startswith(
        "training_attributes has length 80 and training_tasks has length 79: entry i"
    )
    arrays = {f"training_{name}": FLAGGED[name] for name in ("attributes", "tasks")}
    assert "give both as names, or as arrays of the same columns" in fault(metric, LABELS | arrays)
    assert fault(metric, CAPTIONS | one).startswith(
        "training_attributes: labels are found in captions; give captions or"
    )


@each
@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("seed", -1, "seed must be a whole number of 0 or more, not -1"),
        ("bootstrap", 2.5, "bootstrap must be a whole number of 0 or more, not 2.5"),
        ("tokenizer", "bpe", "tokenizer 'bpe' is unknown; choose one of words, whitespace"),
        ("attribute_lexicon", "shoes", "lexicon 'shoes' is neither a built-in one"),
        ("task_lexicon", {"shoe": []}, "lexicon 'custom' has no words"),
    ],
)
def test_bad_options_are_refused(metric, option, value, message):
    assert fault(metric, CAPTIONS, **{"task_lexicon": LEXICON, option: value}).startswith(message)


@each
def test_human_captions_that_name_no_task_are_refused(metric):
    silent = CAPTIONS | {"references": [["a woman"], ["a man"]] * (IMAGES // 2)}
    message = fault(metric, silent, task_lexicon=LEXICON)
    if metric is ba_mals:
        assert message.startswith("tasks: none occurs with an attribute value in the data and in the predictions")
        assert message.endswith("give more images, or the words that these captions use as lexicons")
    else:
        assert message.startswith("references: no human caption names a task of task_lexicon, so the images show none")
        assert message.endswith("give tasks, or the words that these captions use as task_lexicon")


# --- labels that occur ---


def occurring(attributes, tasks, **further):
    everything = dict.fromkeys(("predictions", "references", "predicted_attributes", "predicted_tasks"))
    options = {"attribute_lexicon": "gender", "task_lexicon": "coco_objects", "tokenizer": "words"}
    given = everything | options | {"attributes": attributes, "tasks": tasks} | further
    return read_labels(None, **given).occurring()


def test_only_those_labels_of_a_lexicon_count_that_images_show():
    shown = [["dog"], ["cake", "dog"]] * 2
    told = ["a woman, a cake", "a man, a knife", "someone", "a guy"]
    sets = occurring(["female", "male"] * 2, shown, predictions=told)
    assert sets.attributes == ("female", "male")
    assert sets.shown.tasks.shape == (4, 2)
    assert sets.shown.tasks.sum() == 6
    assert sets.predicted_tasks.sum() == 1, "a knife is nowhere"
    assert sets.predicted_attributes.tolist() == [[True, False], [False, True], [False, False], [False, True]]
    assert sets.attribute_counts() == {"female": 2, "male": 2}


def test_of_labels_that_are_given_all_count():
    sets = occurring(np.eye(3)[[0, 1] * 3], np.eye(2)[[0] * 6], predicted_tasks=np.eye(2)[[1] * 6])
    assert sets.shown.attributes.shape == (6, 3)
    assert sets.predicted_tasks.tolist() == [[False, True]] * 6
    assert sets.predicted_attributes is None


def test_each_set_of_values_is_a_class():
    attributes = [["f"], ["m"], ["f", "m"], []] * 10
    classes = occurring(attributes, [["a"]] * 40, predicted_tasks=[["a"]] * 40).classes()
    assert np.array_equal(classes, number_sets([np.array([["f" in row, "m" in row] for row in attributes])])[0])
    assert np.bincount(classes).tolist() == [10] * 4


@pytest.mark.parametrize(("rare", "named"), [(["f", "m"], "f and m"), (["m"], "m"), ([], "no value")])
def test_a_class_too_small_to_split_is_refused_by_its_name(rare, named):
    attributes = [["f"]] * 30 + [rare] * 9
    sets = occurring(attributes, [["a"]] * 39, predicted_tasks=[["a"]] * 39)
    with pytest.raises(ValueError, match=rf"^attributes: 9 images have {named}; .* at least 10. Add images, or leave"):
        sets.classes()
    enough = occurring([*attributes, rare], [["a"]] * 40, predicted_tasks=[["a"]] * 40)
    assert enough.classes().max() == 1
