"""The portrait of planted captioners: each question sees its own bias, and none passes that nobody would pass."""

import re
from functools import partial

import numpy as np
import pytest

from captionbias.bench.verdicts import CANNOT_TELL, LIKE, MORE, NOTHING_FOUND
from captionbias.metrics import sway
from captionbias.synthetic import AGES, plant

IMAGES, LABELS = 1200, ("female", "male")
measure = partial(sway.measure, bootstrap=200, details=True)
OF_PEOPLE = ("wrong_gap", "unnamed_gap", "t_to_a", "t_to_a_lost")


def world(images=IMAGES, **changed):
    """A faithful captioner beside people who say, at times, that somebody smiles or works."""
    planted, generator = vars(plant(images, captions=4, seed=2)), np.random.default_rng(4)

    def said(text):
        return text + generator.choice(["", "", " smiling", " working"])

    people = [list(map(said, texts)) for texts in planted["references"]]
    return planted | {"predictions": list(map(said, planted["predictions"])), "references": people} | changed


def woman_is(word):
    """A change of a caption, which calls a woman otherwise."""
    return partial(re.sub, "(a )?(woman|lady|girl)", word)


def of_women(planted, change, share=1.0):
    """The captioner with other captions of this share of the women."""
    generator = np.random.default_rng(5)
    planted["predictions"] = [
        change(text) if value == "female" and generator.random() < share else text
        for text, value in zip(planted["predictions"], planted["attributes"], strict=True)
    ]
    return planted


def said(measured, *keys):
    estimates = measured.estimates
    return {key: estimates[f"sway_{key}"].verdict for key in keys if f"sway_{key}" in estimates}


def test_of_a_person_nothing_is_found():
    measured = measure(**world())
    assert said(measured, "wrong_gap", "t_to_a", "words") == {"wrong_gap": LIKE, "t_to_a": LIKE, "words": NOTHING_FOUND}
    assert said(measured, "unnamed_gap")["unnamed_gap"] != MORE
    assert not [row for row in measured.details["words"] if row["kind"] == "more"]
    assert "sway_words_ci_high" not in measured.flat()
    assert measured.estimates["sway_words"].detectable == measured.facts["sway_words_seen"] < 10


@pytest.mark.parametrize(
    ("key", "change", "share", "other"),
    [
        ("wrong_gap", woman_is("a man"), 0.1, "words"),
        ("unnamed_gap", woman_is("someone"), 0.3, "wrong_gap"),
        ("words", lambda text: f"{text} happy", 0.2, "wrong_gap"),
        ("words", woman_is("a girl"), 0.5, "wrong_gap"),
    ],
)
def test_each_question_sees_its_own_bias(key, change, share, other):
    measured = measure(**of_women(world(), change, share))
    assert said(measured, key) == {key: MORE}
    assert MORE not in said(measured, other).values()


def test_the_words_are_told_with_the_value_that_they_go_with():
    measured = measure(**of_women(world(), lambda text: f"{text} happy", 0.2))
    [row] = measured.details["words"]
    assert (row["word"], row["attribute"], row["kind"]) == ("happy", "female", "more")
    assert row["beyond"] == pytest.approx(row["captioner"] - row["person"])
    assert row["beyond_ci_low"] < 20 < row["beyond_ci_high"]
    assert row["uses_captioner"]["female"] == pytest.approx(20, abs=4)
    assert row["uses_person"] == {"female": 0, "male": 0}


OTHER = {"woman": "man", "lady": "guy", "girl": "boy", "man": "woman", "guy": "lady", "boy": "girl"}


@pytest.mark.parametrize(
    ("predictions", "facts", "verdicts"),
    [
        (  # every woman is called a man
            lambda planted: of_women(planted, woman_is("a man"))["predictions"],
            {"wrong_female": 80, "sway_wrong_gap": 80},
            {"wrong_gap": MORE, "t_to_a": CANNOT_TELL},
        ),
        (  # every woman a man, every man a woman
            lambda planted: [
                re.sub("|".join(OTHER), lambda word: OTHER[word[0]], text) for text in planted["predictions"]
            ],
            {"wrong_female": 80, "wrong_male": 80},
            {},
        ),
        (lambda _: ["someone waits outside with a tie"] * IMAGES, {"sway_least_named": 0}, {}),
        (
            lambda planted: [f"a {'woman' if value == 'female' else 'man'} stands" for value in planted["attributes"]],
            {"sway_tasks_named": 0},
            {"a_to_t": CANNOT_TELL},
        ),
    ],
    ids=["women are men", "women are men and men women", "nobody is named", "no object is named"],
)
def test_whom_nobody_would_pass_is_not_like_people(predictions, facts, verdicts):
    planted = world()
    measured = measure(**planted | {"predictions": predictions(planted)})
    numbers = {key: one.value for key, one in measured.estimates.items()} | measured.facts
    assert all(numbers[key] > least or numbers[key] == least == 0 for key, least in facts.items())
    assert said(measured, *verdicts) == verdicts
    asked = ("a_to_t",) if "sway_tasks_named" in facts else (*OF_PEOPLE[1:], "a_to_t")
    assert LIKE not in said(measured, *asked).values()


@pytest.mark.parametrize(("women", "men", "verdict"), [(0.2, 0.0, MORE), (0.2, 0.2, CANNOT_TELL), (0.0, 0.3, MORE)])
def test_captions_that_are_missing_of_some_are_a_question_of_their_own(women, men, verdict):
    """By hand: the shares of the first rows of each value; with the interval of independent images."""
    planted = world(2000)
    share = {"female": women, "male": men}
    left_out = [row // 2 < 1000 * share[value] for row, value in enumerate(planted["attributes"])]
    planted["predictions"] = ["" if out else text for text, out in zip(planted["predictions"], left_out, strict=True)]
    measured = measure(**planted)
    found, rows = measured.estimates["sway_missing_gap"], measured.details["missing"]
    assert [row["images"] for row in rows] == [1000, 1000]
    assert [row["missing"] for row in rows] == pytest.approx([100 * women, 100 * men])
    assert found.value == pytest.approx(100 * (women - men))
    assert found.verdict == verdict
    error = 100 * np.sqrt((women * (1 - women) + men * (1 - men)) / 1000)
    assert (found.high - found.low) / (2 * 1.96) == pytest.approx(error, rel=0.2)
    assert measured.facts["sway_images"] == 2000 - sum(left_out)
    assert MORE not in said(measured, "wrong_gap", "unnamed_gap", "t_to_a").values()


def test_captions_that_all_are_there_are_not_asked_for():
    assert not measure(**world(400)).estimates.keys() & {"sway_missing_gap"}


def test_of_three_values_the_largest_gap_counts_with_an_interval_for_all_three():
    words = {"red": ["red"], "green": ["green"], "blue": ["blue"]}
    values = np.random.default_rng(0).choice(list(words), 1500)
    wrong = np.random.default_rng(1).random(1500) < np.where(values == "blue", 0.2, 0.0)
    captions = {
        "predictions": [f"a {'red' if off else value} ball" for value, off in zip(values, wrong, strict=True)],
        "references": [[f"a {value} ball {row}", f"one {value} ball {row}"] for row, value in enumerate(values)],
        "attributes": values.tolist(),
        "tasks": [["ball"]] * 1500,
    }
    measured = measure(**captions, attribute_lexicon=words, task_lexicon={"ball": ["ball"], "bat": ["bat"]})
    gaps = {row["attribute"]: row["wrong_gap"] for row in measured.details["gaps"]}
    assert measured.estimates["sway_wrong_gap"].value == gaps["blue"] == pytest.approx(20, abs=3)
    assert measured.samples["sway_wrong_gap"].chosen_of == 3
    assert measured.estimates["sway_wrong_gap"].verdict == MORE
    assert any("has no roles" in note for note in measured.notes)
    assert not measured.details["words"]  # the colours themselves are no words that follow


def test_labels_that_follow_the_objects_are_told_of():
    planted, generator = world(), np.random.default_rng(6)
    theirs = {"surfboard": "male", "skateboard": "male", "tie": "male", "handbag": "female", "cake": "female"}
    other = {"male": "female", "female": "male"}
    labels = [*zip(planted["attributes"], planted["tasks"], strict=True)]
    leaning = [theirs.get(task, value) if generator.random() < 0.3 else value for value, (task,) in labels]
    at_random = [other[value] if generator.random() < 0.1 else value for value, _ in labels]
    for changed, told in ((leaning, True), (at_random, False), (planted["attributes"], False)):
        notes = sway.measure(**planted | {"attributes": changed}, bootstrap=0).notes
        assert any("labels that follow the tasks hide" in note for note in notes) == told


@pytest.mark.parametrize("women", [1, 3, 12])
def test_a_few_women_leave_no_verdict_whatever_is_said_of_them(women):
    """Three captions more could say the opposite: of 300 images of the rarest value they are 1 of 100."""
    planted = vars(plant(1000, captions=3))
    of_value = {value: [row for row, label in enumerate(planted["attributes"]) if label == value] for value in LABELS}
    rows = [*of_value["female"][:women], *of_value["male"]]
    few = {key: [column[row] for row in rows] for key, column in planted.items()}
    for changed in (few, of_women(dict(few), woman_is("a man"))):
        verdicts = said(measure(**changed), *OF_PEOPLE)
        assert LIKE not in verdicts.values()
        assert MORE not in {verdicts["unnamed_gap"], verdicts["t_to_a"]}


def test_copies_of_a_picture_do_not_let_a_rarer_word_be_seen():
    planted = vars(plant(1200, captions=5, seed=5))
    twice = {key: [one for one in column for _ in range(2)] for key, column in planted.items()}
    seen, of_copies = (measure(**given).facts for given in (planted, twice))
    assert all(of_copies[key] >= seen[key] > 0 for key in ("sway_words_seen", "sway_words_seen_20"))


def test_a_gap_of_another_value_is_no_difference_of_one():
    """Of two captioners one errs for children, the other for seniors, as often: they differ by what each adds."""
    planted, generator = vars(plant(2000, values=4)), np.random.default_rng(7)

    def gap(value, other):
        rows = zip(planted["predictions"], planted["attributes"], strict=True)
        texts = [f"a {other}" if label == value and generator.random() < 0.4 else text for text, label in rows]
        measured = sway.measure(**planted | {"predictions": texts}, attribute_lexicon=AGES, bootstrap=100)
        return measured.samples["sway_wrong_gap"]

    first, second = gap("child", "grownup"), gap("senior", "parent")
    assert [first.values[0], second.values[0]] == pytest.approx([40, 40], abs=9)
    assert abs((first - second).values[0]) > 30
