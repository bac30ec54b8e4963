"""DBAC from captions to numbers: its options, its notes, which captions a trial draws, and that it repeats itself."""

import json
import math
import re
import sys
import warnings

import numpy as np
import pytest

from captionbias.attackers.base import stratified_split
from captionbias.bench.reading import draw_captions
from captionbias.captions import CaptionBiasWarning, check_captions
from captionbias.hashes import mix
from captionbias.metrics.dbac_direction import PAIRINGS
from captionbias.synthetic import TASKS, plant
from tests.refusals import refuses
from tests.whole import dbac, whole

FAST = {"preset": "fast", "trials": 2, "bootstrap": 20, "alignment": "constant", "cache": False}
DIRECTIONS = ("a_to_t", "t_to_a")


@pytest.fixture(scope="module")
def planted():
    return vars(plant(images=200, captions=2, a_to_t=0.3, t_to_a=0.3))


@pytest.fixture(scope="module")
def result(planted):
    return dbac(**planted, **FAST, details=True)


def without(result):
    return {key: value for key, value in result.items() if key not in ("signature", "details")}


def of_50_women_and_50_men(predictions, references):
    """Captions in which "P" is the person; each image's are those of its place in the two lists, which start again.

    Two people wrote the same of an image, so that it does not matter which of their captions a trial draws.
    """
    people = ["a woman", "a man"] * 50
    return {
        "predictions": [predictions[i % len(predictions)].replace("P", people[i]) for i in range(100)],
        "references": [[references[i % len(references)].replace("P", people[i])] * 2 for i in range(100)],
        "attributes": ["female", "male"] * 50,
        "trust_rows": True,
    }


# What the options do


@pytest.mark.parametrize(("pairing", "names", "within"), [(PAIRINGS[0], "321", 1e-4), (PAIRINGS[1], "123", 0)])
def test_what_labels_are_called_changes_nothing(pairing, names, within, planted):
    """Tasks in another order are other columns of the same attackers: up to their convergence."""
    options = FAST | {"pairing": pairing, "bootstrap": 0, "allow_unmasked": True}
    tasks = dict(zip(("cake", "dog", "tie"), names, strict=True))
    shown = [[task for task in row if task in tasks] for row in planted["tasks"]]
    renamed = {
        "attributes": [{"female": "Alpha", "male": "omega"}[label] for label in planted["attributes"]],
        "tasks": [[tasks[task] for task in row] for row in shown],
        "task_lexicon": {name: [task] for task, name in tasks.items()},
    }
    usual = {"tasks": shown, "task_lexicon": {task: [task] for task in tasks}}
    found, again = (dbac(**planted | called, **options) for called in (usual, renamed))
    assert without(again) == pytest.approx(without(found), abs=within, rel=0)


@pytest.mark.parametrize("quality", ["confidence", "accuracy", "inverse_cross_entropy"])
def test_the_same_captions_on_both_sides_give_exactly_0(quality, planted):
    captions = {**planted, "predictions": [row[0] for row in planted["references"]]}
    captions |= {"references": [row[:1] for row in planted["references"]], "trust_rows": True}
    result = dbac(**captions, **FAST, quality=quality)
    for score in (f"dbac_{name}{form}" for name in DIRECTIONS for form in ("", "_matched", "_blind", "_net", "_prior")):
        assert result[score] == 0
        assert result[f"{score}_ci_high"] == -result[f"{score}_ci_low"] == 3 / len(captions["attributes"])


def test_by_cross_entropy_who_gives_more_away_is_above_people_too():
    result = dbac(**vars(plant(400, a_to_t=0.9)), **FAST, quality="inverse_cross_entropy", directions=["a_to_t"])
    assert min(result["dbac_a_to_t_matched"], result["dbac_a_to_t_net"]) > 0.05


def test_the_model_side_alone_needs_tasks_for_t_to_a(planted, result):
    given = {**planted, "references": None}
    alone = dbac(**given, **FAST)
    for direction in DIRECTIONS:
        assert alone[f"omega_m_{direction}"] == pytest.approx(result[f"omega_m_{direction}"], rel=1e-4)
    scores = [key for key in without(alone) if "_gain_m" not in key]
    assert not [key for key in scores if key.startswith(("dbac", "coverage")) or "_h_" in key or "matched" in key]
    refuses(r"^tasks is missing.*give tasks, or directions=\['a_to_t'\]", dbac, **given | {"tasks": None}, **FAST)
    assert "omega_m_a_to_t" in dbac(**given | {"tasks": None}, **FAST, directions=["a_to_t"])


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_one_direction_alone_is_the_same_as_among_both(direction, planted, result):
    alone = dbac(**planted, **FAST, directions=(direction,), details=True)
    worst = alone.pop("dbac_worst")
    assert math.isnan(worst) or worst == pytest.approx(abs(alone[f"dbac_{direction}_net"]))
    assert without(alone) == {key: value for key, value in without(result).items() if direction in key}
    assert alone["details"][direction] == result["details"][direction]
    assert set(DIRECTIONS) & set(alone["details"]) == {direction}


# What is said


def test_what_is_known_but_not_masked_named_by_one_side_or_weighs_too_much_is_said(planted):
    tasks = [[*row, "unicorn"] if image == 5 else row for image, row in enumerate(planted["tasks"])]
    with pytest.warns(CaptionBiasWarning, match="tasks: unicorn not in task_lexicon 'coco_objects': .* not masked"):
        assert dbac(**{**planted, "tasks": tasks}, **FAST, details=True)["details"]["task_counts"]["unicorn"] == 1
    captions = of_50_women_and_50_men(["P with a dog", "P with a dog", "P with a pizza"], ["P with a dog", "P"])
    result = dbac(**captions, **FAST, details=True)
    assert result["coverage_m_a_to_t"] < 0.9
    said = f"a_to_t: {result['coverage_m_a_to_t']:.0%} of the model test captions name what is named on both sides"
    assert any(said in warning for warning in result["details"]["warnings"])
    # One image in ten shows a set of tasks that no other shows: 1 / P(T) is 100 there and about 1 elsewhere.
    others = ["cat", "cake", "boat", "bed", "pizza", "horse", "cow", "bird", "kite", "bench"]
    tasks = [[others[image // 10]] if image % 10 == image // 10 else ["dog"] for image in range(100)]
    captions = of_50_women_and_50_men(["P with a dog"], ["P with a dog"])
    result = dbac(**captions, tasks=tasks, **FAST, details=True)
    assert result["effective_sample_m_t_to_a"] < 0.2 * result["test_captions_m_t_to_a"]
    said = [warning for warning in result["details"]["warnings"] if "a few rare" in warning]
    assert said
    assert not any("a_to_t" in warning for warning in said)


def test_captions_that_only_a_blind_attacker_has_seen_count_for_net_alone():
    """No two captions name the same dog, and nothing else tells them apart."""
    dogs = [f"dog{number}" for number in range(100)]
    given = of_50_women_and_50_men([f"P with a {dog}" for dog in dogs], [f"P with a {dog}" for dog in dogs])
    options = {**FAST, "task_lexicon": {dog: [dog] for dog in dogs}, "directions": ["a_to_t"]}
    result = dbac(**given, **options, details=True)
    assert result["details"]["a_to_t"]["seen"] == {"m": 0, "h": 0, "m_net": 100, "h_net": 100}


def test_what_is_undefined_is_left_out():
    """No caption names what is named on both sides: there is nothing to match."""
    result = dbac(**of_50_women_and_50_men(["P with a dog"], ["P with a cat"]), **FAST, details=True)
    assert result["coverage_m_a_to_t"] == 0
    undefined = [f"a_to_t{form}" for form in ("_matched", "_blind", "_net")]
    assert not [key for key in result if any(part in key for part in undefined) and not key.startswith("effective")]
    assert "dbac_t_to_a_matched" in result
    assert math.isnan(result.pop("dbac_worst"))
    json.dumps(result, allow_nan=False)


# Text, lexicons and word vectors


def test_the_published_preset_reads_captions_as_the_paper_did():
    captions = of_50_women_and_50_men(
        ["P with a dog"], ["P with dogs and a hot pizza and a cell phone", "P and a cat."]
    )
    options = {"encoder": "bow", "trials": 1, "bootstrap": 0, "alignment": "constant", "details": True}
    published = dbac(**captions, preset="dbac-2026-published", **options)
    assert published["details"]["task_counts"] == {"dog": 50, "pizza": 50}
    found = dbac(**captions, preset="dbac-2026", **options)["details"]["task_counts"]
    assert found == {"cat": 50, "dog": 50, "pizza": 50, "cell phone": 50}


def test_without_gensim_it_measures_what_needs_no_word_vectors(monkeypatch):
    for module in ("gensim", "gensim.models"):
        monkeypatch.setitem(sys.modules, module, None)
    same_words = of_50_women_and_50_men(["P with a dog", "P"], ["P with a dog", "P"])
    other_words = of_50_women_and_50_men(["P sits with a dog", "P"], ["P poses with a dog", "P"])
    options = FAST | {"alignment": "contextual"}
    assert dbac(**same_words, **options)["signature"]
    refuses(r"pip install '\.\[vectors\]'.*alignment='constant'", dbac, **other_words, **options)
    assert dbac(**other_words, **FAST)["signature"]


def test_a_glove_file_of_ones_own_aligns_the_captions(tmp_path):
    """Two dimensions: "stands" and "waits" are close, "sits" and "poses" the same, "walks" has no vector."""
    glove = tmp_path / "glove.tiny.2d.txt"
    glove.write_text("stands 1.0 0.0\nwaits 0.8 0.6\nsits -1.0 0.2\nposes -1.0 0.2\na 0.0 1.0\n")
    captions = of_50_women_and_50_men(
        ["P sits with a dog", "P stands with a dog", "P stands"], ["P waits with a dog", "P poses with a dog"]
    )
    captions["references"][0] = ["a woman walks with a dog"] * 2
    for preset in ("fast", "dbac-2026-published"):
        result = dbac(**captions, preset=preset, encoder="bow", trials=1, bootstrap=0, vectors=glove, details=True)
        report = result["details"]["a_to_t"]["alignment"]
        pairs = [(pair["word"], pair["replacement"], pair["tokens"]) for pair in report["pairs"]]
        assert pairs == [("poses", "sits", 100), ("waits", "stands", 98), ("walks", "<unk>", 2)]
        assert re.search(r"align:contextual(,names-kept)?,glove.tiny.2d.txt-[0-9a-f]{8},0.4", result["signature"])
        assert ("names-kept" in result["signature"]) == (preset == "fast")


def test_a_word_that_only_masking_takes_from_the_captioner_is_aligned_too(tmp_path):
    """An "orange slice" is a task and masked, "orange" is not: unmasked, both sides have the word."""
    path = tmp_path / "vectors.txt"
    path.write_text("orange 1.0 0.1\nred 1.0 0.0\na 0.0 1.0\n")
    captions = of_50_women_and_50_men(["P with a red orange slice"], ["P with a orange orange slice"])
    result = dbac(**captions, **FAST | {"alignment": "contextual"}, vectors=path, details=True)
    [pair] = result["details"]["t_to_a"]["alignment"]["pairs"]
    assert (pair["word"], pair["replacement"]) == ("orange", "red")


# Trials, and the captions that they draw


def test_a_trial_does_not_depend_on_the_others(planted):
    changes = {"trials": 6}, {"trials": 1, "seed": 5}, {"trials": 2}
    six, alone, two = (dbac(**planted, **FAST | {"bootstrap": 0} | change, details=True) for change in changes)
    for direction in DIRECTIONS:
        rows = six["details"][direction]["trials"]
        assert alone["details"][direction]["trials"] == [rows[5]]
        assert two["details"][direction]["trials"] == rows[:2]
        assert len({row["dbac"] for row in rows}) == 6
        assert alone[f"dbac_{direction}"] == pytest.approx(rows[5]["dbac"])
    drawn = six["details"]["drawn"]
    assert drawn[:5] == [drawn[0]] * 5 != drawn[5:] * 5
    assert (alone["details"]["drawn"], two["details"]["drawn"]) == (drawn[5:], drawn[:2])


@pytest.mark.parametrize("captions", [2, 5])
def test_every_caption_of_an_image_is_as_likely_as_the_others(captions):
    """Over images, and for one image over seeds: within four standard errors."""
    image, keys = np.repeat(np.arange(5000), captions), mix(np.arange(5000 * captions, dtype=np.uint64))
    of_images = draw_captions(image, keys, seed=3) % captions
    few = slice(10 * captions)
    of_seeds = np.array([draw_captions(image[few], keys[few], seed)[7] % captions for seed in range(2000)])
    for places in (of_images, of_seeds):
        shares = np.bincount(places, minlength=captions) / len(places)
        assert abs(shares - 1 / captions).max() < 4 * np.sqrt(1 / captions * (1 - 1 / captions) / len(places))


def test_what_is_drawn_minds_neither_the_order_of_images_nor_of_captions_and_copies_draw_the_same():
    words = " ".join(f"w{place}" for place in range(9))  # enough for copies of a picture to be told
    texts = [[f"{words} {number} of {image}" for number in range(4)] for image in [*range(9), *range(9)]]
    drawn = set()
    for changed in (texts, [row[::-1] for row in texts[::-1]]):
        captions = check_captions(references=changed, attributes=["female", "male"] * 9)
        words, flat = captions.words(), [text for row in captions.references for text in row]
        drawn.add(tuple(sorted(flat[row] for row in draw_captions(words.human_image, words.keys_by_side[1], 7))))
    [texts_drawn] = drawn
    assert len(set(texts_drawn)) == 9


# Images with a single human caption, and no tasks

IMAGES = 120


def with_one_reference(images):
    """Of all images but so many, the first, two of three human captions are lost; no tasks are given."""
    planted = {**vars(plant(IMAGES, captions=3)), "tasks": None}
    return {**planted, "references": [row if i < images else row[:1] for i, row in enumerate(planted["references"])]}


def named_by_any(texts):
    return {task for task in TASKS for text in texts if f"a {task}" in text}


def test_images_with_a_single_caption_and_no_tasks_take_no_part_in_t_to_a():
    """The others are measured as though they were all."""
    captions = with_one_reference(images=80)
    with pytest.warns(CaptionBiasWarning, match="t_to_a: 40 of 120 images have a single human caption and no tasks"):
        found = dbac.measure(**captions, **FAST, details=True)
    for name, images in (("a_to_t", IMAGES), ("t_to_a", 80)):
        assert len(found.artefacts.plans[name].trials["m"][0][0].examples.tokens) == images
    result = whole(found)
    assert (result["test_captions_m_a_to_t"], result["test_captions_m_t_to_a"]) == (24, 16)
    with pytest.warns(CaptionBiasWarning, match="only 40 images"):
        alone = dbac(**{name: values and values[:80] for name, values in captions.items()}, **FAST)
    parts = [key for key in alone if key.endswith(("t_to_a", "t_to_a_matched", "t_to_a_net", "t_to_a_std"))]
    assert len(parts) > 15
    assert {part: result[part] for part in parts} == pytest.approx({part: alone[part] for part in parts}, rel=1e-9)


def test_no_trial_is_without_test_captions_where_few_images_take_part():
    """A split of all images would have none of these ten in its test part."""
    seed = next(s for s in range(1000) if not (stratified_split(np.arange(IMAGES) % 2, 0.2, s)[1] < 10).any())
    assert dbac(**with_one_reference(images=10), **FAST | {"seed": seed})["test_captions_m_t_to_a"] == 2


@pytest.mark.parametrize("images", [0, 9])
def test_where_no_image_says_its_tasks_t_to_a_says_what_to_give(images):
    captions = with_one_reference(images)
    refuses(rf"^tasks is missing: .* only {images} of .* give tasks, more ref", dbac, **captions, **FAST)
    assert "dbac_a_to_t_net" in dbac(**captions, **FAST, directions=["a_to_t"])


def test_as_published_every_caption_is_a_row_of_its_own_and_says_what_the_image_shows():
    captions = with_one_reference(images=IMAGES)
    message = "t_to_a: the tasks are those that the scored human captions name themselves"
    with pytest.warns(CaptionBiasWarning, match=message):
        found = dbac.measure(**captions, **FAST, pairing="every-caption", details=True)
    assert found.details["drawn"] is None
    plan = found.artefacts.plans["t_to_a"]
    targets, people = plan.trials["m"][0][0].examples.targets, plan.trials["h"][0][0].examples
    assert len(people.tokens) == 3 * IMAGES
    assert np.array_equal(people.targets, np.repeat(targets, 3, axis=0))
    for row, flags in zip(captions["references"], targets, strict=True):
        assert {plan.classes[task] for task in np.flatnonzero(flags)} == named_by_any(row)


def test_tasks_copied_from_the_references_are_noticed():
    planted = plant(400, captions=3)
    named = [sorted(named_by_any(texts)) for texts in planted.references]
    options = {"preset": "fast", "trials": 1, "bootstrap": 0, "directions": ["t_to_a"], "alignment": "constant"}
    with pytest.warns(CaptionBiasWarning, match="the tasks given are those that the human captions name"):
        dbac(**vars(planted) | {"tasks": named}, **options)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "t_to_a: the tasks given")
        dbac(**vars(planted), **options)
