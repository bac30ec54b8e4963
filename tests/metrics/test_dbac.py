"""DBAC from captions to numbers: its options, its notes, and that it repeats itself exactly."""

import json
import re
import sys

import pytest

from captionbias.captions import CaptionBiasWarning
from captionbias.metrics.dbac_direction import PAIRINGS
from captionbias.synthetic import plant
from tests.whole import dbac

FAST = {"preset": "fast", "trials": 2, "bootstrap": 20, "alignment": "constant", "cache": False}
DIRECTIONS = ("a_to_t", "t_to_a")
WEIGHTS = ("", "_matched")
SCORES = (*WEIGHTS, "_blind", "_net")


@pytest.fixture(scope="module")
def planted():
    return vars(plant(images=200, captions=2, a_to_t=0.3, t_to_a=0.3))


@pytest.fixture(scope="module")
def result(planted):
    return dbac(**planted, **FAST, details=True)


def without(result, *names):
    return {key: value for key, value in result.items() if key not in ("signature", "details", *names)}


def trials(result, direction):
    return result["details"][direction]["trials"]


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


# What the options do.


@pytest.mark.parametrize(("names", "within"), [("123", 0), ("321", 1e-4)])
@pytest.mark.parametrize("pairing", PAIRINGS)
def test_what_labels_are_called_changes_nothing(names, within, pairing, planted):
    """Tasks in another order are other columns of the same attackers: up to their convergence."""
    options = FAST | {"pairing": pairing, "bootstrap": 0}
    tasks = dict(zip(("cake", "dog", "tie"), names, strict=True))
    shown = [[task for task in row if task in tasks] for row in planted["tasks"]]
    found, renamed = (
        dbac(**planted | {"attributes": labels, "tasks": rows}, **options, task_lexicon=lexicon, allow_unmasked=True)
        for labels, rows, lexicon in (
            (planted["attributes"], shown, {task: [task] for task in tasks}),
            (
                [{"female": "Alpha", "male": "omega"}[label] for label in planted["attributes"]],
                [[tasks[task] for task in row] for row in shown],
                {name: [task] for task, name in tasks.items()},
            ),
        )
    )
    assert without(renamed) == pytest.approx(without(found), abs=within, rel=0)


def test_the_same_captions_on_both_sides_give_exactly_0(planted):
    captions = {**planted, "predictions": [row[0] for row in planted["references"]]}
    captions |= {"references": [row[:1] for row in planted["references"]], "trust_rows": True}
    for quality in ("confidence", "accuracy", "inverse_cross_entropy"):
        result = dbac(**captions, **FAST, quality=quality)
        for direction in DIRECTIONS:
            for score in (f"dbac_{direction}{form}" for form in (*SCORES, "_prior")):
                assert result[score] == 0
                assert result[f"{score}_ci_high"] == -result[f"{score}_ci_low"] == 3 / len(captions["attributes"])


def test_by_cross_entropy_who_gives_more_away_is_above_people_too():
    result = dbac(**vars(plant(400, a_to_t=0.9)), **FAST, quality="inverse_cross_entropy", directions=["a_to_t"])
    assert result["dbac_a_to_t_matched"] > 0.05
    assert result["dbac_a_to_t_net"] > 0.05


def test_the_model_side_alone(planted, result):
    alone = dbac(**{**planted, "references": None}, **FAST)
    for direction in DIRECTIONS:
        assert alone[f"omega_m_{direction}"] == pytest.approx(result[f"omega_m_{direction}"], rel=1e-4)
    scores = [key for key in without(alone) if "_gain_m" not in key]
    assert not [key for key in scores if key.startswith("dbac") or "_h_" in key or "matched" in key]
    assert not [key for key in alone if key.startswith("coverage")]


def test_without_references_t_to_a_asks_for_tasks(planted):
    model = {"predictions": planted["predictions"], "attributes": planted["attributes"]}
    with pytest.raises(ValueError, match=r"^tasks is missing.*give tasks, or directions=\['a_to_t'\]"):
        dbac(**model, **FAST)
    assert "omega_m_a_to_t" in dbac(**model, **FAST, directions=["a_to_t"])


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_one_direction_alone_is_the_same_as_among_both(direction, planted, result):
    alone = dbac(**planted, **FAST, directions=(direction,), details=True)
    assert without(alone) == {key: value for key, value in without(result).items() if direction in key}
    assert alone["details"][direction] == result["details"][direction]
    assert set(DIRECTIONS) & set(alone["details"]) == {direction}


def test_a_task_out_of_the_lexicon_is_said(planted):
    tasks = [[*row, "unicorn"] if image == 5 else row for image, row in enumerate(planted["tasks"])]
    with pytest.warns(CaptionBiasWarning, match="tasks: unicorn not in task_lexicon 'coco_objects': .* not masked"):
        result = dbac(**{**planted, "tasks": tasks}, **FAST, details=True)
    assert any("unicorn" in warning for warning in result["details"]["warnings"])
    assert result["details"]["task_counts"]["unicorn"] == 1


def test_a_low_coverage_is_said():
    captions = of_50_women_and_50_men(["P with a dog", "P with a dog", "P with a pizza"], ["P with a dog", "P"])
    result = dbac(**captions, **FAST, details=True)
    share = result["coverage_m_a_to_t"]
    assert share < 0.9
    assert any(
        f"a_to_t: {share:.0%} of the model test captions name what is named on both sides" in warning
        for warning in result["details"]["warnings"]
    )


def test_a_heavy_tail_is_said():
    """One image in ten shows a set of tasks that no other shows: 1 / P(T) is 100 there and about 1 elsewhere."""
    captions = of_50_women_and_50_men(["P with a dog"], ["P with a dog"])
    others = ["cat", "cake", "boat", "bed", "pizza", "horse", "cow", "bird", "kite", "bench"]
    tasks = [[others[image // 10]] if image % 10 == image // 10 else ["dog"] for image in range(100)]
    result = dbac(**captions, tasks=tasks, **FAST, details=True)
    assert result["effective_sample_m_t_to_a"] < 0.2 * result["test_captions_m_t_to_a"]
    assert any("t_to_a" in warning and "a few rare" in warning for warning in result["details"]["warnings"])
    assert not any("a_to_t" in warning and "a few rare" in warning for warning in result["details"]["warnings"])


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
    json.dumps(result, allow_nan=False)


# Text, lexicons and word vectors.


def test_the_published_preset_reads_captions_as_the_paper_did():
    captions = of_50_women_and_50_men(
        ["P with a dog"], ["P with dogs and a hot pizza and a cell phone", "P and a cat."]
    )
    options = {"encoder": "bow", "trials": 1, "bootstrap": 0, "alignment": "constant", "details": True}
    published = dbac(**captions, preset="dbac-2026-published", **options)
    assert published["details"]["task_counts"] == {"dog": 50, "pizza": 50}
    assert "tok:whitespace" in published["signature"]
    assert "task:coco_objects_published" in published["signature"]
    found = dbac(**captions, preset="dbac-2026", **options)["details"]["task_counts"]
    assert found == {"cat": 50, "dog": 50, "pizza": 50, "cell phone": 50}


def test_without_gensim_it_measures_what_needs_no_word_vectors(monkeypatch):
    for module in ("gensim", "gensim.models"):
        monkeypatch.setitem(sys.modules, module, None)
    same_words = of_50_women_and_50_men(["P with a dog", "P"], ["P with a dog", "P"])
    other_words = of_50_women_and_50_men(["P sits with a dog", "P"], ["P poses with a dog", "P"])
    options = {"preset": "fast", "trials": 2, "bootstrap": 0, "cache": False}
    assert dbac(**same_words, **options)["signature"]
    with pytest.raises(ValueError, match=r"pip install 'captionbias\[vectors\]'.*alignment='constant'"):
        dbac(**other_words, **options)
    assert dbac(**other_words, alignment="constant", **options)["signature"]


@pytest.fixture
def tiny_glove(tmp_path):
    """Two dimensions: "stands" and "waits" are close, "sits" and "poses" the same, "walks" has no vector."""
    rows = ["stands 1.0 0.0", "waits 0.8 0.6", "sits -1.0 0.2", "poses -1.0 0.2", "a 0.0 1.0"]
    path = tmp_path / "glove.tiny.2d.txt"
    path.write_text("\n".join(rows) + "\n")
    return path


def test_a_glove_file_of_ones_own_aligns_the_captions(tiny_glove):
    captions = of_50_women_and_50_men(
        ["P sits with a dog", "P stands with a dog", "P stands"], ["P waits with a dog", "P poses with a dog"]
    )
    captions["references"][0] = ["a woman walks with a dog"] * 2
    for preset in ("fast", "dbac-2026-published"):
        result = dbac(**captions, preset=preset, encoder="bow", trials=1, bootstrap=0, vectors=tiny_glove, details=True)
        report = result["details"]["a_to_t"]["alignment"]
        assert [(pair["word"], pair["replacement"], pair["tokens"]) for pair in report["pairs"]] == [
            ("poses", "sits", 100),
            ("waits", "stands", 98),
            ("walks", "<unk>", 2),
        ]
        assert re.search(r"align:contextual(,names-kept)?,glove.tiny.2d.txt-[0-9a-f]{8},0.4", result["signature"])
        assert ("names-kept" in result["signature"]) == (preset == "fast")
        json.dumps(result, allow_nan=False)
    strict = dbac(**captions, **FAST | {"alignment": "contextual"}, vectors=tiny_glove, delta=0.1, details=True)
    alignment = strict["details"]["a_to_t"]["alignment"]
    assert len([pair for pair in alignment["pairs"] if pair["replacement"] != "<unk>"]) == 1


def test_a_word_that_only_masking_takes_from_the_captioner_is_aligned_too(tmp_path):
    """An "orange slice" is a task and masked, "orange" is not: unmasked, both sides have the word."""
    path = tmp_path / "vectors.txt"
    path.write_text("orange 1.0 0.1\nred 1.0 0.0\na 0.0 1.0\n")
    captions = of_50_women_and_50_men(["P with a red orange slice"], ["P with a orange orange slice"])
    result = dbac(**captions, **FAST | {"alignment": "contextual"}, vectors=path, details=True)
    [pair] = result["details"]["t_to_a"]["alignment"]["pairs"]
    assert (pair["word"], pair["replacement"]) == ("orange", "red")


# It repeats itself exactly.


def test_a_trial_does_not_depend_on_the_others(planted):
    options = {**FAST, "bootstrap": 0, "details": True}
    six = dbac(**planted, **options | {"trials": 6})
    alone = dbac(**planted, **options | {"trials": 1, "seed": 5})
    two = dbac(**planted, **options | {"trials": 2})
    for direction in DIRECTIONS:
        rows = trials(six, direction)
        assert trials(alone, direction) == [rows[5]]
        assert trials(two, direction) == rows[:2]
        assert len({row["dbac"] for row in rows}) == 6
        assert alone[f"dbac_{direction}"] == pytest.approx(rows[5]["dbac"])
    drawn = six["details"]["drawn"]
    assert drawn[:5] == [drawn[0]] * 5 != drawn[5:] * 5
    assert alone["details"]["drawn"] == drawn[5:]
    assert two["details"]["drawn"] == drawn[:2]
