"""Attributions from T to A: the trials are those of `dbac`, tasks are kept apart, captions may have several or none."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from captionbias.attackers import engine
from captionbias.attackers.base import score_tasks
from captionbias.explain import contributions as parts
from captionbias.explain.attack_plan import question
from captionbias.explain.attributions import Attributions, attribute_captions
from captionbias.metrics import dbac
from captionbias.metrics import dbac as measuring
from captionbias.synthetic import plant
from captionbias.text import tokenize

SIGNS = {"dog": "leash", "cake": "plate", "tie": "office"}


def planted(n: int = 400) -> tuple[list[str], list[str], list[list[str]]]:
    """A task's sign stands in most captions of its images; a task's own word always does; some images show none."""
    random = np.random.default_rng(7)
    captions, labels, tasks = [], [], []
    for row in range(n):
        shown = [task for task in SIGNS if random.random() < 0.35]
        words = [*shown, *(SIGNS[task] for task in shown if random.random() < 0.8)]
        words += random.choice(["by", "the", "road", "red"], size=random.integers(1, 5)).tolist()
        captions.append(" ".join(["a person", *random.permutation(words)]))
        labels.append(("female", "male")[row % 2])
        tasks.append(shown)
    return captions, labels, tasks


def explained(n: int = 400, **given) -> Attributions:
    captions, labels, tasks = planted(n)
    return attribute_captions(captions, labels, direction="t_to_a", **{"tasks": tasks, "preset": "fast"} | given)


# --- the trials are those of dbac ---


@pytest.mark.parametrize("of_humans", [False, True])
@pytest.mark.parametrize("encoder", ["bow", pytest.param("lstm", marks=pytest.mark.slow)])
def test_the_attacker_is_trained_as_dbac_trains_the_captioner_s(monkeypatch, encoder, of_humans):
    """The same rows, targets, words and seed, and after the training the same answers."""
    found = vars(plant(images=240, a_to_t=0.5, captions=2))
    if of_humans:
        found.pop("tasks", None)
    seen = {}

    def kept(trials, attacker, **settings):
        scores = engine.run_trials(trials, attacker, **settings)
        seen.update(zip((trial.name for trial in trials), zip(trials, scores, strict=True), strict=True))
        return scores

    monkeypatch.setitem(measuring.__globals__, "run_trials", kept)
    settings = {"encoder": encoder, "seed": 3, "precision": None if encoder == "bow" else "fp32"}
    dbac(**found, **settings, directions=["t_to_a"], trials=1, bootstrap=0, alignment="constant")
    trial, scores = seen["t_to_a m seed 3"]
    given = {"tasks": found.get("tasks"), "references": found["references"]}
    here = attribute_captions(found["predictions"], found["attributes"], direction="t_to_a", **given, **settings)
    assert here.rows.tolist() == trial.test.tolist()
    np.testing.assert_array_equal(here.truth, trial.examples.targets[trial.test])
    assert here.tokens.texts() == trial.examples.tokens.select(trial.test).texts()
    logits = np.log(here.scores) - np.log1p(-here.scores)
    again = score_tasks(logits, here.truth)
    np.testing.assert_allclose(again.log_probability, scores.log_probability, atol=1e-4)
    np.testing.assert_array_equal(again.correct, scores.correct)


def test_more_trials_have_the_seeds_that_follow():
    captions, labels, tasks = planted()
    given = dict.fromkeys(("references", "classes", "encoder", "tokenizer", "attribute_lexicon", "task_lexicon"))
    asked = question("t_to_a", captions, labels, "fast", 5, trials=3, tasks=tasks, **given)
    assert [trial.seed for trial in asked.trials] == [5, 6, 7]
    assert len({trial.test.tobytes() for trial in asked.trials}) == 3
    assert all(len(trial.test) == 80 for trial in asked.trials)


def test_tasks_named_in_references_come_without_dbac_s_warning_of_its_score():
    captions = planted()[0]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = explained(tasks=None, references=[[caption, "a photo"] for caption in captions])
    assert set(found.classes) == {"person", *SIGNS}
    assert "|tasks:named|" in found.signature
    assert not [str(one.message) for one in told]


# --- what is found ---


@pytest.mark.parametrize("encoder", ["bow", "linear", "lstm"])
def test_the_word_that_gives_a_task_away_is_on_top_and_its_own_word_is_masked(encoder):
    found = explained(1200 if encoder == "lstm" else 400, encoder=encoder)
    assert found.classes == ("cake", "dog", "tie")
    for task, rows in found.by_word(least=3).items():
        assert rows[0]["word"] == SIGNS[task]
    assert not set(SIGNS) & {found.tokens.words[word] for word in found.tokens.ids}
    assert found.values.shape == (len(found.tokens.ids), 3)
    assert found.scores.min() > 0
    assert found.scores.max() < 1
    assert found.largest_delta < (1e-3 if encoder in ("bow", "linear") else 0.1)


@pytest.mark.parametrize("encoder", ["bow", pytest.param("lstm", marks=pytest.mark.slow)])
def test_chosen_tasks_have_the_values_that_they_have_among_all(monkeypatch, encoder):
    everything = explained(encoder=encoder)
    asked = []
    along = parts._along_paths

    def counted(attacker, rows, outputs):
        asked.append(outputs.tolist())
        return along(attacker, rows, outputs)

    monkeypatch.setattr(parts, "_along_paths", counted)
    some = explained(encoder=encoder, classes=["tie", "cake"])
    assert some.classes == ("tie", "cake")
    assert all(outputs == [2, 0] for outputs in asked)
    within = 0 if encoder == "bow" else 0.03  # other captions get more steps
    np.testing.assert_allclose(some.values, everything.values[:, [2, 0]], rtol=within, atol=within)
    np.testing.assert_allclose(some.scores, everything.scores[:, [2, 0]])
    np.testing.assert_array_equal(some.truth, everything.truth[:, [2, 0]])
    assert some.signature == everything.signature


def test_one_task_alone_has_one_column():
    captions, labels, tasks = planted()
    only = [[task for task in shown if task == "dog"] for shown in tasks]
    found = attribute_captions(captions, labels, direction="t_to_a", tasks=only, preset="fast")
    assert found.values.shape[1] == found.scores.shape[1] == found.truth.shape[1] == 1
    assert found.by_word(least=3)["dog"][0]["word"] == "leash"


def hand_made() -> Attributions:
    """Captions of two tasks, of one and of none; the second trial scores the first caption again."""
    return Attributions(
        tokens=tokenize(["x y", "x", "y z", "x y"]),
        values=np.array([[3, 1], [4, 1], [-2, 5], [9, 9], [9, 9], [1, 0], [2, -3]], float),
        scores=np.array([[0.9, 0.6], [0.2, 0.8], [0.7, 0.7], [0.4, 0.2]]),
        rows=np.array([10, 11, 12, 10]),
        truth=np.array([[1, 1], [0, 1], [0, 0], [1, 1]], bool),
        trials=np.array([0, 0, 0, 1]),
        classes=("dog", "cake"),
        largest_delta=0.0,
        signature="",
    )


def test_a_caption_counts_for_each_task_of_its_image_and_for_no_other():
    table = hand_made().by_class()
    assert table["dog"]["captions"] == 1
    assert table["dog"]["sum"] == pytest.approx((7 + 3) / 2)
    assert table["dog"]["score"] == pytest.approx((0.9 + 0.4) / 2)
    assert table["dog"]["normalized"] == pytest.approx(7 / 5)  # below a half, the second trial is not right
    assert table["cake"]["captions"] == 1.5
    assert table["cake"]["sum"] == pytest.approx(((2 + 5) / 2 - 3) / 2)
    assert table["cake"]["normalized"] == pytest.approx((2 / np.sqrt(2) + 1) / 2)


def test_one_caption_names_the_tasks_of_its_image():
    assert hand_made().of(10)["tasks"] == ["dog", "cake"]
    assert hand_made().of(12)["tasks"] == []
    assert hand_made().of(11)["values"] == {"dog": [-2.0], "cake": [5.0]}
    assert "attribute" not in hand_made().of(10)


def test_the_signature_names_direction_lexicon_and_where_tasks_come_from():
    found = explained(seed=4)
    assert found.signature.startswith("metric:attributions|preset:fast|attacker:bow|method:coefficients|")
    assert "|direction:t_to_a|trials:1|split:0.2|seed:4|tok:words|task:coco_objects|tasks:given|" in found.signature


# --- what cannot be explained ---


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"direction": "both"}, r"direction 'both' is unknown; choose one of a_to_t, t_to_a"),
        ({"direction": "a_to_t"}, r"tasks has no meaning in direction 'a_to_t'; .* give direction='t_to_a'"),
        ({"attribute_lexicon": "gender"}, r"attribute_lexicon has no meaning in direction 't_to_a'"),
        ({"tasks": None}, r"tasks is missing: direction 't_to_a' needs .* give tasks, or references"),
        ({"classes": ["dog", "wine"]}, r"classes\[1\] 'wine' is no task that an image shows; those are cake, dog, tie"),
        ({"classes": "dog"}, r"classes must list one or more tasks, each once, not 'dog'"),
        ({"classes": 3}, r"classes must list one or more tasks, each once, not 3"),
        ({"classes": ["dog", "dog"]}, r"classes must list one or more tasks, each once"),
        ({"classes": []}, r"classes must list one or more tasks"),
        ({"preset": "lic-2022"}, r"preset 'lic-2022' is unknown; choose one of dbac-2026"),
        ({"seed": -1}, r"seed must be a whole number of 0 or more"),
    ],
)
def test_bad_arguments_are_named(given, message):
    captions, labels, tasks = planted()
    with pytest.raises(ValueError, match=message):
        attribute_captions(captions, labels, **{"direction": "t_to_a", "tasks": tasks, "preset": "fast"} | given)
