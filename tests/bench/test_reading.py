"""Labels and captions that name them: the same scores of both, and what is refused with its row and the way out.

`tests/captions/test_labels.py` has every way to write labels and all that is refused of them.
"""

import contextlib
import random
import re
import sys
from collections import Counter

import pytest

from captionbias.analysis.audit import audit
from captionbias.bench.reading import Reading, Side
from captionbias.captions import CaptionBiasWarning, Captions, Words, check_captions
from captionbias.metrics import DEFINED, directional_ba, dpa, find_metric, label_leakage, multi_directional_ba
from captionbias.synthetic import plant
from captionbias.text import Mentions, Tokens, find_mentions
from captionbias.text.marks import find_marks
from tests.metrics.by_definition import scores

IMAGES = 80
LEXICON = {"cake": ["cake", "cakes"], "dog": ["dog"], "hot dog": ["hot dog"], "knife": ["knife", "knives"]}
TASKS, VALUES = list(LEXICON), ["female", "male"]
PERSON = {"female": "a woman", "male": "a man"}
ATTACKS = [dpa, label_leakage]


def parametrized(*metrics):
    return pytest.mark.parametrize("metric", metrics, ids=lambda metric: metric.name)


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


# --- classes ---


@pytest.mark.parametrize(("rare", "named"), [(["f", "m"], "f and m"), (["m"], "m"), ([], "no value")])
@parametrized(*ATTACKS)
def test_a_set_of_values_too_small_to_split_is_refused_by_its_name(metric, rare, named):
    def labels(images):
        return {"attributes": [["f"]] * 30 + [rare] * images} | {
            name: [["a"], ["b"]] * 15 + [["a"]] * images for name in ("tasks", "predicted_tasks")
        }

    with pytest.raises(ValueError, match=rf"^attributes: 9 images have {named}, .* at least 10; add images, or leave"):
        measured(metric, labels(9))
    assert measured(metric, labels(10))


# How often captions are handed on and searched

HOLDERS = Captions, Words, Tokens, Mentions, Reading, Side


@contextlib.contextmanager
def watched(every):
    """The calls of functions of ours that `every` is true of: the function, who calls it, and its arguments."""
    calls = []

    def watch(frame, event, _):
        code = frame.f_code
        if event == "call" and "captionbias" in code.co_filename and not code.co_name.startswith("<"):
            names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            call = code, frame.f_back.f_code, {name: frame.f_locals.get(name) for name in names}
            if every(call):
                calls.append(call)

    sys.setprofile(watch)
    try:
        yield calls
    finally:
        sys.setprofile(None)


def is_handed_captions(call):
    """Captions, their words, mentions or what these name; the methods of these do not count."""
    *_, arguments = call
    own = next(iter(arguments), None) in ("self", "cls")
    return not own and any(isinstance(value, HOLDERS) for value in arguments.values())


@pytest.mark.parametrize("name", sorted(DEFINED.keys() - {"imagecaptioner2"}))  # which is of pictures
def test_captions_stay_in_few_functions_on_their_way_to_a_score(name):
    metric, given = find_metric(name), vars(plant(120, captions=3))
    options = {"preset": "fast", "trials": 1, "bootstrap": 20, "cache": False, "alignment": "constant"}
    options = metric.accepted(options)
    metric(check_captions(**given), **options)  # what is loaded once is loaded
    captions = check_captions(**given)
    with watched(is_handed_captions) as calls:
        metric(captions, **options)
    assert 5 < len({code for code, *_ in calls}) < 12


def test_each_text_is_searched_once_for_the_words_of_a_lexicon():
    """Of two captioners, people's once for both. What a page marks is found again, in the texts that it lists."""
    captions = check_captions(**vars(plant(150, captions=3)))
    other = captions.with_predictions(vars(plant(150, captions=3, seed=1))["predictions"])
    with watched(lambda call: call[0] is find_mentions.__code__) as calls:
        audit({"one": captions, "other": other}, trials=1, cache=False)
    searched = Counter()
    for _, caller, arguments in calls:
        if caller is not find_marks.__code__:
            searched[arguments["lexicon"].name] += len(arguments["tokens"])
    assert searched == dict.fromkeys(("gender", "coco_objects", "terms"), 150 * (2 + 3))
