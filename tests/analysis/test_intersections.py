"""Crossed attributes: a bias that is at their intersections alone, and what is shared with each alone."""

import json
from functools import cache

import numpy as np
import pytest

from captionbias.analysis.audit import audit
from captionbias.analysis.intersections import intersections
from captionbias.captions import CaptionBiasWarning, check_captions, count_cells
from captionbias.io.formats import json_text
from captionbias.metrics import dbac, lic
from captionbias.report import views
from captionbias.report.html import html_report
from captionbias.report.markdown import markdown_report
from captionbias.report.wording import with_doubt
from tests.refusals import refuses

IMAGES = 1200
LEXICONS = {"gender": "gender", "skin": "race"}
BOTH = ["gender", "race"]
FAST = {"preset": "fast", "trials": 2, "bootstrap": 100, "alignment": "constant", "cache": False}
PEOPLE = {"female": ("woman", "lady"), "male": ("man", "guy")}
SKINS = {"dark": ("black", "asian"), "light": ("white", "caucasian")}
TASKS = ("dog", "cake")
PLACES = (" outside", " in a room", " at night", " near a wall")


@cache
def planted(dial=0.6, *, to_task=0.0, names=0.5, seed=1):
    """Dogs go with dark women and light men, cakes with the others: with neither gender nor skin alone.

    `dial`: how often human captions, and images, follow that; `to_task`: how often the captioner names the task that
    follows it, whatever the image shows. `names`: the share of captions that name the gender, and that name the skin.
    """
    draw = np.random.default_rng([seed, 30])
    gender, skin = np.arange(IMAGES) % 2, np.arange(IMAGES) // 2 % 2
    leaning = gender ^ skin
    task = np.where(draw.random(IMAGES) < dial, leaning, 1 - leaning)

    def captions(shown):
        named = draw.random((2, IMAGES)) < names
        words = draw.integers(2, size=(2, IMAGES))
        places = draw.integers(len(PLACES), size=IMAGES)
        people, skins = list(PEOPLE.values()), list(SKINS.values())
        return [
            f"a{' ' + skins[skin[i]][words[0, i]] if named[0, i] else ''} "
            f"{people[gender[i]][words[1, i]] if named[1, i] else 'person'} with a {TASKS[shown[i]]}{PLACES[places[i]]}"
            for i in range(IMAGES)
        ]

    instead = np.where(draw.random(IMAGES) < to_task, leaning, task)
    return {
        "predictions": captions(instead),
        "references": [list(pair) for pair in zip(captions(task), captions(task), strict=True)],
        "attributes": [f"{list(PEOPLE)[g]}, {list(SKINS)[s]}" for g, s in zip(gender, skin, strict=True)],
        "tasks": [[TASKS[shown]] for shown in task],
    }


@cache
def audited(keep=("female, dark", "female, light", "male, dark", "male, light")):
    """An audit of the biased captioner and a faithful one, by LIC; `keep`: of these intersections."""
    given = planted(to_task=0.8)
    rows = [row for row, label in enumerate(given["attributes"]) if label in keep][:400]
    given = {name: [column[row] for row in rows] for name, column in given.items()}
    captioners = {"biased": given["predictions"], "person": [pair[0] for pair in given["references"]]}
    people = {name: given[name] for name in ("references", "attributes", "tasks")}
    trusted = {name: check_captions(predictions=said, **people, trust_rows=True) for name, said in captioners.items()}
    options = {"metrics": ["lic"], "trials": 2, "bootstrap": 40, "cache": False, "quality_images": 10}
    return given, audit(trusted, **options, attribute_lexicon=BOTH)


def interval(measured, score):
    found = measured.estimates[score]
    return found.low, found.high


def test_a_bias_of_the_intersections_alone_is_seen_there_alone():
    """Captions that name no skin: what they name of the person then does not tell the other attribute either."""
    given = planted(to_task=0.8, names=0.0)
    options = {**FAST, "directions": ["a_to_t"], "allow_unmasked": True}
    found = intersections(check_captions(**given), LEXICONS, "dbac", **options)
    assert interval(found.pop("gender x skin"), "dbac_a_to_t_net")[0] > 0.02
    for alone in found.values():
        low, high = interval(alone, "dbac_a_to_t_net")
        assert low <= 0 <= high


def test_one_more_person_has_no_bias_at_the_intersections():
    measured = dbac.measure(check_captions(**planted()), attribute_lexicon=BOTH, **FAST)
    for score in ("dbac_a_to_t_net", "dbac_t_to_a_net"):
        low, high = interval(measured, score)
        assert low <= 0 <= high


def test_task_to_attribute_speaks_of_what_is_named_of_both():
    """The captioner names the person that goes with the task: a black woman or a white man with a dog."""
    given = planted(names=1.0)
    wrong = planted(dial=1.0, names=1.0)  # its captions name a person who fits the task; its images have other people
    by_task = {task: [text for text in wrong["predictions"] if task in text] for task in ("dog", "cake")}
    predictions = [by_task[task][number % len(by_task[task])] for number, (task,) in enumerate(given["tasks"])]
    captions = check_captions(**{**given, "predictions": predictions})
    measured = dbac.measure(captions, attribute_lexicon=BOTH, **FAST, details=True)
    assert interval(measured, "dbac_t_to_a_net")[0] > 0.05


def test_both_lexicons_are_masked_and_one_is_not_enough():
    """Captions in which nothing but the words for gender and skin tells who is there."""
    given = planted(dial=0.5, names=1.0)
    captions = check_captions(predictions=given["predictions"], attributes=given["attributes"])
    options = {"preset": "fast", "trials": 2, "bootstrap": 0, "cache": False}
    assert lic(captions, attribute_lexicon=BOTH, **options)["leakage_m"] == pytest.approx(25, abs=8)
    with pytest.warns(CaptionBiasWarning, match="of 2 crossed attributes, and attribute_lexicon 'gender' has the wor"):
        alone = lic(captions, attribute_lexicon="gender", **options, allow_unmasked=True)
    assert alone["leakage_m"] == pytest.approx(50, abs=8)


def test_an_audit_has_each_attribute_alone_beside_their_crossing():
    given, found = audited()
    options = {"preset": "fast", "trials": 2, "bootstrap": 40, "cache": False, "details": True}
    both = dict(zip(BOTH, BOTH, strict=True))
    expected = intersections(check_captions(**given), both, "lic", **options, keep_attackers=1)
    assert expected["gender x race"].flat() == lic(**given, attribute_lexicon=BOTH, **options)
    race = given | {"attributes": [label.split(", ")[1] for label in given["attributes"]]}
    assert expected["race"].flat() == lic(**race, attribute_lexicon="race", **options)
    assert list(found.alone) == BOTH
    for name in BOTH:
        assert found.alone[name]["lic"].measurements["biased"].flat() == expected[name].flat()
        both_signed = found.signatures[f"lic, {name} alone"], expected[name].signature
        signed, own = (one.split("predictions:") for one in both_signed)
        assert signed[0].endswith(own[0])
        assert own[1].split("|")[0] in signed[1], "of each captioner"
    assert found.measurement("lic", "biased").flat() == expected["gender x race"].flat()
    notes = {f"LIC, race alone: {note}" for note in expected["race"].notes}
    assert notes <= set(found.notes("biased"))
    rows = [row for row in views.alone(found).rows if row[:2] == ["biased", "LIC x 100"]]
    assert [row[2] for row in rows] == ["gender", "race", "gender x race"] == list(expected)
    for row, measured in zip(rows, expected.values(), strict=True):
        estimate = measured.estimates["lic"]
        assert row[3:] == [(estimate, 1), with_doubt(estimate.verdict, estimate)]
    assert views.cells(found).rows == [[*cell, count] for cell, count in count_cells(given["attributes"], 2).items()]
    written = json.loads(json_text(found.as_dict()))
    assert list(written["alone"]) == BOTH
    assert written["alone"]["race"]["lic"]["results"]["biased"]["signature"] == expected["race"].signature
    for text in (markdown_report(found), html_report(found)):
        assert "gender x race" in text


def test_an_attribute_that_cannot_be_measured_alone_is_missing_with_its_reason():
    """All are women: skin alone is left, and the crossing."""
    _, found = audited(keep=("female, dark", "female, light"))
    assert found.alone["gender"] == {}
    assert list(found.alone["race"]) == ["lic"]
    (reason,) = found.missing
    assert reason.startswith("LIC, gender alone: attributes has only one value 'female'")
    assert [row[2] for row in views.alone(found).rows] == ["race", "gender x race"] * 2


@pytest.mark.parametrize(
    ("lexicons", "metric", "message"),
    [
        (LEXICONS, "gender_error", "metric 'gender_error' is not measured at"),
        ({"gender": "gender"}, "lic", "lexicons has 1 attributes: a crossing needs two or more"),
        ({**LEXICONS, "age": "age"}, "lic", "'female, dark', which is not a label of 3 crossed attributes"),
    ],
)
def test_what_is_no_crossing_is_refused(lexicons, metric, message):
    refuses(message, intersections, check_captions(**planted()), lexicons, metric)


def test_tasks_that_go_with_intersections_are_refused():
    """Question 2 is asked of each attribute alone."""
    lean = {"female, dark": ["dog"], "female, light": ["cake"]}
    message = "lean: tasks go with the values of one attribute"
    refuses(message, intersections, check_captions(**planted()), LEXICONS, lean=lean, bootstrap=0)
