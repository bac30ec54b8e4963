"""Which pairs of an attribute value and a task carry a score: the parts are its parts, and planted pairs come first."""

from __future__ import annotations

import csv
import json
import os
from collections import Counter, defaultdict
from itertools import product

import numpy as np
import pytest

from captionbias.analysis.resampling import added
from captionbias.captions import CaptionBiasWarning
from captionbias.explain import in_words, predicted_effect, resampling_weights, write_weights
from captionbias.metrics import dbac
from captionbias.metrics import dbac_sources as module
from captionbias.metrics.dbac_direction import Answers, Direction, replicates, summary
from captionbias.metrics.dbac_sources import ranked_pairs, sources
from captionbias.report.views import pair_name
from captionbias.scores import Side, number_sets
from captionbias.scores import Tested as Answered
from captionbias.synthetic import LEAN, TASKS, plant

FAST = {"preset": "fast", "trials": 3, "alignment": "constant", "cache": False, "details": True}
SUMS = ("omega_m", "omega_h", "omega_m_matched", "omega_h_matched", "amplification", "amplification_matched")
few_images = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")


def whole(result, quantity, direction):
    """The entry of a result that the parts of a quantity sum to."""
    name, matched = quantity.removesuffix("_matched"), "_matched" if quantity.endswith("_matched") else ""
    return result[f"{name.replace('amplification', 'dbac')}_{direction}{matched}"]


def answered(shown, named, tested, shown_is_a_set=False, kind="confidence", bayes=True):
    """Answers as a run leaves them. `shown`: a set of labels for each image. `named`: for each side a list of (image,
    set of labels). `tested`: for each side and trial a list of (caption, quality)."""
    shown_labels, named_labels = (
        1 + max((max(s, default=0) for s in sets), default=0) for sets in (shown, _all(named))
    )
    shown_flags, named_flags = _flags(shown, shown_labels), _flags(_all(named), named_labels)
    (shown_numbers,), (named_numbers,) = number_sets([shown_flags]), number_sets([named_flags])
    ends = np.cumsum([len(captions) for captions in named.values()])[:-1]
    captions = {
        side: Side(np.array([image for image, _ in named[side]]), numbers)
        for side, numbers in zip(named, np.split(named_numbers, ends), strict=True)
    }
    sets = [
        f[np.unique(n, return_index=True)[1]] for f, n in ((shown_flags, shown_numbers), (named_flags, named_numbers))
    ]
    direction = Direction(shown_numbers, 2, shown_numbers, captions, *sets)
    trials = {
        side: [Answered(np.array([row for row, _ in t]), np.array([q for _, q in t])) for t in of_side]
        for side, of_side in tested.items()
    }
    return Answers(direction, trials, kind, bayes)


def _all(named):
    return [labels for captions in named.values() for _, labels in captions]


def _flags(sets, labels):
    return np.array([[label in one for label in range(labels)] for one in sets], bool)


def rows_of(name, answers, shown_labels, named_labels, seed, bootstrap):
    pairs = ranked_pairs(name, answers, [])
    return sources(name, pairs, shown_labels, named_labels, replicates(answers, seed, bootstrap, pairs.parts_of))


def table(rows):
    return {(row["attribute"], row["task"]): row for row in rows}


# One task, four images and one caption of each side; every caption is tested and every answer right.


@pytest.fixture
def four_images():
    shown = [{0}, {0}, {1}, {1}]
    named = {"m": [(0, {0}), (1, {0}), (2, set()), (3, set())], "h": [(0, {0}), (1, set()), (2, {0}), (3, set())]}
    tested = {side: [[(row, 1.0) for row in range(4)]] for side in named}
    return answered(shown, named, tested)


def test_four_images_by_hand(four_images):
    """All weights are (1/2) / (1/2). The captioner names a knife for both women, people for one of each."""
    rows = table(rows_of("a_to_t", four_images, ["female", "male"], ["knife"], 0, 0))
    expected = {
        ("female", "knife"): (2 / 4, 1 / 4, 1 / 8, 1 / 3, 1.0, 0.5, 2, 1),
        ("female", None): (0, 1 / 4, -1 / 8, -1, 0.0, 0.5, 0, 1),
        ("male", "knife"): (0, 1 / 4, -1 / 8, -1, 0.0, 0.5, 0, 1),
        ("male", None): (2 / 4, 1 / 4, 1 / 8, 1 / 3, 1.0, 0.5, 2, 1),
    }
    parts = ("omega_m", "omega_h", "amplification", "difference")
    names = (*parts, "named_m", "named_h", "test_captions_m", "test_captions_h")
    assert set(rows) == set(expected)
    for pair, row in rows.items():
        assert [row[name] for name in names] == pytest.approx(expected[pair])
    for row in rows.values():
        assert [row[f"{name}_matched"] for name in parts] == pytest.approx([row[name] for name in parts])


def test_a_caption_with_several_labels_is_shared_equally():
    """T to A: the image shows two tasks, its caption names two attribute values, and one of both has a quarter."""
    named = {"m": [(0, {0, 1}), (1, {0})], "h": [(0, set()), (1, {0})]}
    answers = answered([{0, 1}, set()], named, {side: [[(0, 1.0)]] for side in named})
    rows = table(rows_of("t_to_a", answers, ["cake", "dog"], ["female", "male"], 0, 0))
    # The weight of every caption is (1/2) / (1/2): each set is named once a side and shown once.
    assert {pair: row["omega_m"] for pair, row in rows.items() if row["omega_m"]} == pytest.approx(
        dict.fromkeys(product(["female", "male"], ["cake", "dog"]), 0.25)
    )
    assert {pair: row["omega_h"] for pair, row in rows.items() if row["omega_h"]} == {
        (None, "cake"): 0.5,
        (None, "dog"): 0.5,
    }


@pytest.mark.parametrize("bayes", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_equals_the_definition_caption_by_caption(seed, bayes):
    """Sets of four labels over sets of three, two human captions and one model caption an image, two trials."""
    random = np.random.default_rng(seed)

    def draw(labels):
        return set(np.flatnonzero(random.random(labels) < 0.4).tolist())

    shown = [draw(3) for _ in range(60)] + [{2}]
    named = {"m": [(i, draw(4)) for i in range(60)], "h": [(i // 2, draw(4)) for i in range(120)] + [(60, {3})]}
    tested = {
        side: [[(row, random.random()) for row in range(len(named[side])) if random.random() < 0.5] for _ in range(2)]
        for side in named
    }
    rows = rows_of("t_to_a", answered(shown, named, tested, bayes=bayes), list("xyz"), list("abcd"), 0, 0)

    of_image = Counter(map(frozenset, shown))
    of_side = {side: Counter(frozenset(labels) for _, labels in captions) for side, captions in named.items()}
    both = set(of_side["m"]) & set(of_side["h"])
    omega = {key: defaultdict(lambda: np.zeros(2)) for key in product("mh", ("", "_matched"))}
    for side, trial in product("mh", range(2)):
        parts = {"": [], "_matched": []}
        for caption, quality in tested[side][trial]:
            image, k = named[side][caption][0], frozenset(named[side][caption][1])
            per_shown = len(shown) / of_image[frozenset(shown[image])]
            weight = of_side[side][k] / len(named[side]) * per_shown if bayes else 1.0
            v = of_side["h"][k] / len(named["h"]) * len(named[side]) / of_side[side][k] * per_shown if k in both else 0
            pairs = list(product(sorted(k) or [None], sorted(shown[image]) or [None]))
            parts[""].append((pairs, quality * weight, 1.0))
            parts["_matched"].append((pairs, quality * v, v))
        for form, captions in parts.items():
            for pairs, value, _ in captions:
                for pair in pairs:
                    omega[side, form][pair][trial] += value / len(pairs) / sum(count for *_, count in captions)
    for form in ("", "_matched"):
        totals = sum(sum(omega[side, form].values()) for side in "mh")
        for pair in set(omega["m", form]) | set(omega["h", form]):
            names = (None if pair[0] is None else "abcd"[pair[0]], None if pair[1] is None else "xyz"[pair[1]])
            row, m, h = table(rows)[names], omega["m", form][pair], omega["h", form][pair]
            assert row[f"omega_m{form}"] == pytest.approx(m.mean(), abs=1e-12)
            assert row[f"omega_h{form}"] == pytest.approx(h.mean(), abs=1e-12)
            assert row[f"amplification{form}"] == pytest.approx(((m - h) / totals).mean(), abs=1e-12)


def test_without_one_side_the_parts_are_of_the_other_side_alone(four_images):
    one = Answers(
        Direction(
            four_images.direction.targets,
            2,
            four_images.direction.shown,
            {"h": four_images.direction.captions["h"]},
            four_images.direction.shown_sets,
            four_images.direction.named_sets,
        ),
        {"h": four_images.tested["h"]},
        "confidence",
        True,
    )
    rows = rows_of("a_to_t", one, ["female", "male"], ["knife"], 0, 50)
    assert [row["omega_h"] for row in rows] == [0.25] * 4
    assert set(rows[0]) == {
        *(
            "direction",
            "attribute",
            "task",
            "omega_h",
            "omega_h_ci_low",
            "omega_h_ci_high",
            "named_h",
            "test_captions_h",
        )
    }


def test_an_inverse_cross_entropy_has_no_table_but_a_note(four_images):
    answers = Answers(four_images.direction, four_images.tested, "inverse_cross_entropy", True)
    notes = []
    assert ranked_pairs("a_to_t", answers, notes) is None
    assert "inverse_cross_entropy is no sum over captions" in notes[0]
    with pytest.raises(ValueError, match="has no parts"):
        answers.shares(np.arange(4))


def test_the_interval_of_the_only_pair_is_that_of_the_score():
    """The replicates are the same, so where one pair is all there is, so are the intervals."""
    random = np.random.default_rng(0)
    named = {"m": [(image, {0}) for image in range(40)], "h": [(image // 2, {0}) for image in range(80)]}
    tested = {s: [[(row, random.random()) for row in range(0, len(c), 3)] for _ in range(4)] for s, c in named.items()}
    answers = answered([{0}] * 40, named, tested)
    (row,) = rows_of("a_to_t", answers, ["female"], ["knife"], 7, 300)
    score = summary("a_to_t", answers, replicates(answers, 7, 300))
    for form in ("", "_matched"):
        assert row[f"amplification{form}"] == pytest.approx(score[f"dbac_a_to_t{form}"], abs=1e-12)
        for end in ("ci_low", "ci_high"):
            assert row[f"amplification{form}_{end}"] == pytest.approx(score[f"dbac_a_to_t{form}_{end}"], abs=1e-12)


def test_reading_parts_leaves_the_replicates_of_the_score_as_they_are(four_images):
    pairs = ranked_pairs("a_to_t", four_images, [])
    alone, drawn = replicates(four_images, 3, 20), replicates(four_images, 3, 20, pairs.parts_of)
    assert not alone.parts
    for quantity, values in alone.means.items():
        assert np.array_equal(drawn.means[quantity], values, equal_nan=True)
        assert np.array_equal(drawn.per_trial[quantity], alone.per_trial[quantity], equal_nan=True)
    assert np.allclose(drawn.parts["amplification"].sum(axis=0), alone.means["dbac_{}"])


def test_without_a_name_on_both_sides_the_published_parts_make_the_order():
    """The captioner names knives alone and people forks alone, so no matched score is defined."""
    named = {"m": [(image, {0}) for image in range(4)], "h": [(image, {1}) for image in range(4)]}
    qualities = {"m": [0.2, 0.3, 0.8, 0.9], "h": [0.5, 0.4, 0.3, 0.3]}
    tested = {side: [list(enumerate(of_side))] for side, of_side in qualities.items()}
    rows = rows_of("a_to_t", answered([{0}, {0}, {1}, {1}], named, tested), ["f", "m"], ["knife", "fork"], 0, 20)
    assert not any("amplification_matched" in row for row in rows)
    assert [(row["attribute"], row["task"]) for row in rows] == [
        *(("m", "knife"), ("f", "fork")),
        *(("m", "fork"), ("f", "knife")),
    ]
    assert all("amplification_ci_low" in row for row in rows)


def test_the_pairs_with_the_largest_matched_parts_have_the_intervals(monkeypatch):
    """Where tasks are seldom named, the largest published parts are others."""
    monkeypatch.setattr(module, "MOST_INTERVALS", 5)
    rows = measured(0, 1500, bootstrap=20, naming=0.5, a_to_t=0.5)["details"]["sources"]["a_to_t"]
    matched, published = (
        sorted(rows, key=lambda row: -abs(row[key]))[:5] for key in ("amplification_matched", "amplification")
    )
    ends = [f"amplification{form}_ci_{end}" for form in ("", "_matched") for end in ("low", "high")]
    assert [row for row in rows if any(end in row for end in ends)] == matched != published
    assert all(end in row for row in matched for end in ends)


def test_pairs_beyond_the_largest_have_no_interval(four_images, monkeypatch):
    monkeypatch.setattr(module, "MOST_INTERVALS", 1)
    rows = rows_of("a_to_t", four_images, ["female", "male"], ["knife"], 0, 20)
    assert ["amplification_ci_low" in row for row in rows] == [True, False, False, False]


# Measured from captions.


def lean(row):
    """1 for a pair that the planted bias adds to, -1 for one that it takes from, 0 for one that it leaves alone."""
    if row["attribute"] is None or row["task"] is None:
        return 0
    women = np.sign(LEAN[TASKS.index(row["task"])] - 0.5)
    return women if row["attribute"] == "female" else -women


def measured(seed, images=3000, bootstrap=0, **dials):
    return dbac(**vars(plant(images, captions=2, seed=seed, **dials)), **FAST, bootstrap=bootstrap)


@pytest.fixture(scope="module")
def strong():
    return measured(0, bootstrap=200, a_to_t=0.6, t_to_a=0.6)


@few_images
@pytest.mark.parametrize("options", [{}, {"quality": "accuracy"}, {"bayes": False}, {"seed": 3}])
@pytest.mark.parametrize("direction", ["a_to_t", "t_to_a"])
def test_parts_sum_to_the_whole(direction, options):
    """Captions that name several people and tasks or none, about images that show several tasks or none."""
    planted = vars(plant(images=300, captions=2, a_to_t=0.4, t_to_a=0.4))
    planted["predictions"] = [
        f"{text} and a man" if i % 7 == 0 else text for i, text in enumerate(planted["predictions"])
    ]
    planted["references"] = [[f"{texts[0]} and a dog", *texts[1:]] for texts in planted["references"]]
    planted["tasks"] = [[*tasks, "dog"] if i % 3 else [] for i, tasks in enumerate(planted["tasks"])]
    result = dbac(**planted, **FAST | {"bootstrap": 0} | options, directions=[direction])
    rows = result["details"]["sources"][direction]
    assert {row["attribute"] for row in rows} >= {"female", "male"}
    assert None in {row["task"] for row in rows}
    for quantity in SUMS:
        assert abs(sum(row[quantity] for row in rows) - whole(result, quantity, direction)) < 1e-12


@few_images
def test_details_go_into_a_file_and_say_why_a_table_is_empty():
    planted = vars(plant(images=200, captions=1))
    result = dbac(**planted, **FAST | {"bootstrap": 0}, quality="inverse_cross_entropy")
    assert result["details"]["sources"] == {"a_to_t": [], "t_to_a": []}
    assert sum("no table of sources" in note for note in result["details"]["warnings"]) == 2
    assert json.loads(json.dumps(result["details"]))["sources"]["a_to_t"] == []


@pytest.mark.parametrize("dial", [0.3, 0.6])
@pytest.mark.parametrize("direction", ["a_to_t", "t_to_a"])
def test_planted_pairs_come_first(direction, dial):
    """Of the five largest, 0.9 are planted and have the sign they were planted with; by chance 0.25 to 0.33 would."""
    for key in ("amplification", "amplification_matched"):
        right = []
        for seed in range(3):
            rows = measured(seed, **{direction: dial})["details"]["sources"][direction]
            first = sorted(rows, key=lambda row: -abs(row[key]))[:5]
            right += [lean(row) * row[key] > 0 for row in first]
        assert np.mean(right) >= 0.9


def test_the_largest_matched_parts_come_first(strong):
    for rows in strong["details"]["sources"].values():
        sizes = [abs(row["amplification_matched"]) for row in rows]
        assert sizes == sorted(sizes, reverse=True)


def test_intervals_of_planted_pairs_do_not_hold_0(strong):
    for rows in strong["details"]["sources"].values():
        for row in rows:
            for part in ("amplification", "amplification_matched"):
                assert row[f"{part}_ci_low"] <= row[part] <= row[f"{part}_ci_high"]
        first = rows[:4]
        assert all(row["amplification_matched_ci_low"] > 0 for row in first)
        assert all(lean(row) == 1 for row in first)


def test_intervals_of_a_faithful_captioner_hold_0():
    rows = [row for d in measured(1, bootstrap=200)["details"]["sources"].values() for row in d]
    for form in ("", "_matched"):
        low, high = (np.array([row[f"amplification{form}_ci_{end}"] for row in rows]) for end in ("low", "high"))
        assert np.mean((low <= 0) & (high >= 0)) >= 0.8
        assert (low < high).all()


# In words.

ROW = {"direction": "a_to_t", "attribute": "woman", "task": "knife", "named_m": 0.2, "named_h": 0.1}


def test_words_say_what_is_named_for_what():
    assert in_words(ROW) == "woman -> knife (A to T): in 20.0% of captions, in 10.0% of human ones (2.0 times as often)"
    assert in_words(ROW | {"direction": "t_to_a"}).startswith("knife -> woman (T to A): ")
    assert in_words(ROW | {"task": None}).startswith("woman -> no task (A to T): ")
    assert in_words(ROW | {"direction": "t_to_a", "attribute": None}).startswith("knife -> nobody named (T to A): ")


def test_words_of_what_people_never_name_and_of_one_side_alone():
    assert in_words(ROW | {"named_h": 0.0}).endswith("in 0.0% of human ones")
    human = {name: value for name, value in ROW.items() if name != "named_m"}
    assert in_words(human) == "woman -> knife (A to T): in 10.0% of human captions"


def test_words_say_which_score_a_part_is_of():
    parts = {"amplification": -0.016, "amplification_matched": 0.026}
    with_intervals = parts | {"amplification_matched_ci_low": 0.02, "amplification_matched_ci_high": 0.03}
    assert in_words(ROW | with_intervals).endswith("; adds +0.026 [+0.020, +0.030] matched, -0.016 as published")
    assert in_words(ROW | {"amplification": -0.016}).endswith("; adds -0.016 as published")
    assert in_words(ROW | parts | {"amplification_matched": None}).endswith("; adds -0.016 as published")


def test_words_of_a_row_that_does_not_say_how_often_it_is_named():
    bare = {name: ROW[name] for name in ("direction", "attribute", "task")}
    assert in_words(bare) == in_words(bare | {"named_m": None, "named_h": None}) == "woman -> knife (A to T)"
    assert in_words(bare | {"amplification": 0.1}) == "woman -> knife (A to T): adds +0.100 as published"


def test_words_name_pairs_as_the_tables_do():
    for direction, attribute, task in product(("a_to_t", "t_to_a"), ("woman", None), ("knife", None)):
        row = {"direction": direction, "attribute": attribute, "task": task}
        assert in_words(row).startswith(pair_name(row).replace("→", "->"))


def test_every_measured_row_can_be_said(strong):
    for rows in strong["details"]["sources"].values():
        assert all("matched" in in_words(row) for row in rows)


# Weights.


def test_a_planted_association_vanishes_from_a_weighted_resample(strong):
    """Drawn by the weights, women are half of every task's images; as they are, a quarter to three quarters."""
    planted = plant(3000, captions=2, seed=0)
    rows = [row for rows in strong["details"]["sources"].values() for row in rows]
    weights = resampling_weights(planted.attributes, planted.tasks, rows, top=100)
    drawn = np.random.default_rng(0).choice(3000, 60_000, p=weights / weights.sum())
    women, task = np.array(planted.attributes) == "female", np.array([tasks[0] for tasks in planted.tasks])
    assert weights.mean() == pytest.approx(1)
    for name, share in zip(TASKS, LEAN, strict=True):
        assert women[task == name].mean() == pytest.approx(share, abs=0.08)
        if share != 0.5:
            assert women[drawn][task[drawn] == name].mean() == pytest.approx(0.5, abs=0.02)
    changed = {row["task"] for row in rows if row["amplification_matched"] > 0 and row["attribute"] and row["task"]}
    for row in predicted_effect(planted.attributes, planted.tasks, weights):
        assert row["task"] not in changed or row["after"] == pytest.approx(1, abs=1e-5)


def changed_tasks(planted, weights):
    """Those that the weights make independent of the attribute."""
    after = defaultdict(list)
    for row in predicted_effect(planted.attributes, planted.tasks, weights):
        after[row["task"]].append(row["after"])
    return {task for task, ratios in after.items() if ratios == pytest.approx([1, 1], abs=1e-5)}


@pytest.mark.parametrize("seed", range(3))
def test_the_planted_tasks_are_chosen_where_the_captioner_seldom_names_tasks(seed):
    """No pair that names a task adds to the published score then, but the planted ones add to the matched one."""
    planted = plant(1500, naming=0.5, a_to_t=0.5, seed=seed)
    rows = dbac(**vars(planted), **FAST, bootstrap=0, directions=["a_to_t"])["details"]["sources"]["a_to_t"]
    assert max(row["amplification"] for row in rows if row["task"]) < 0.001
    chosen = changed_tasks(planted, resampling_weights(planted.attributes, planted.tasks, rows, top=5))
    assert len(chosen) == 5
    assert chosen < {task for task, share in zip(TASKS, LEAN, strict=True) if share != 0.5}


def test_tasks_that_occur_together_become_independent_and_stay_as_frequent():
    random = np.random.default_rng(0)
    women = random.random(2000) < 0.4
    knife = random.random(2000) < np.where(women, 0.5, 0.2)
    fork = random.random(2000) < np.where(knife, 0.7, 0.2)
    dog = random.random(2000) < np.where(women, 0.2, 0.3)
    attributes = np.where(women, "woman", "man").tolist()
    tasks = [
        [n for n, f in (("knife", k), ("fork", f), ("dog", d)) if f] for k, f, d in zip(knife, fork, dog, strict=True)
    ]
    rows = [{"attribute": "woman", "task": t, "amplification": 0.1} for t in ("knife", "fork")]
    weights = resampling_weights(attributes, tasks, rows)
    assert np.average(women, weights=weights) == pytest.approx(women.mean())
    for flags in (knife, fork):
        assert np.average(flags, weights=weights) == pytest.approx(flags.mean(), abs=1e-6)
        assert np.average(flags[women], weights=weights[women]) == pytest.approx(flags.mean(), abs=1e-5)
    effect = {(row["attribute"], row["task"]): row for row in predicted_effect(attributes, tasks, weights)}
    assert effect["woman", "knife"]["before"] == pytest.approx(women[knife].mean() / women.mean())
    assert effect["woman", "knife"]["images"] == (women & knife).sum()
    assert abs(effect["woman", "dog"]["after"] - 1) > 0.05, "no row asked for it"


def test_only_the_first_rows_that_add_and_name_both_are_taken():
    attributes, tasks = ["f"] * 4 + ["m"] * 4, [["a", "b"], ["a", "b"], ["a"], [], ["a", "b"], [], [], []]
    rows = [
        {"attribute": "f", "task": "b", "amplification": -0.5},
        {"attribute": None, "task": "b", "amplification": 0.4},
        {"attribute": "f", "task": None, "amplification": 0.4},
        {"attribute": "f", "task": "a", "amplification": 0.3},
        {"attribute": "f", "task": "b", "amplification": 0.2},
    ]
    one = resampling_weights(attributes, tasks, rows, top=1)
    assert np.array_equal(one, resampling_weights(attributes, tasks, rows[3:4]))
    assert np.array_equal(one, resampling_weights(attributes, tasks, [rows[3] | {"attribute": "the lexicon's name"}]))
    assert not np.allclose(one, 1)


def test_a_row_adds_its_matched_part_and_the_published_one_where_there_is_none():
    attributes, tasks = ["f"] * 4 + ["m"] * 4, [["a", "b"], ["a"], ["a"], [], ["a"], ["b"], ["b"], []]
    rows = [
        {"attribute": "f", "task": "b", "amplification": 0.3, "amplification_matched": -0.1},
        {"attribute": "f", "task": "a", "amplification": -0.3, "amplification_matched": 0.1},
        {"attribute": "f", "task": "b", "amplification": 0.3, "amplification_matched": None},
    ]
    assert [added(row) for row in rows] == [-0.1, 0.1, 0.3]
    a, b = ([{"attribute": "f", "task": task, "amplification_matched": 0.1}] for task in "ab")
    one, two = (resampling_weights(attributes, tasks, rows, top=top) for top in (1, 2))
    assert np.array_equal(one, resampling_weights(attributes, tasks, a))
    assert np.array_equal(two, resampling_weights(attributes, tasks, a + b))
    assert not np.allclose(one, two)


def test_torch_and_datasets_take_the_weights():
    torch, datasets = pytest.importorskip("torch"), pytest.importorskip("datasets")
    attributes, tasks = ["f"] * 4 + ["m"] * 4, [["a"], ["a"], ["a"], [], ["a"], [], [], []]
    weights = resampling_weights(attributes, tasks, [{"attribute": "f", "task": "a", "amplification": 1.0}])
    drawn = list(torch.utils.data.WeightedRandomSampler(weights, 4000, generator=torch.Generator().manual_seed(0)))
    assert np.bincount(drawn, minlength=8) / 500 == pytest.approx(weights, abs=0.2)
    data = datasets.Dataset.from_dict({"attribute": attributes})
    rows = np.random.default_rng(0).choice(8, 8, p=weights / weights.sum())
    assert data.select(rows)["attribute"][:] == [attributes[row] for row in rows]


ADDS = {"attribute": "f", "task": "a", "amplification": 0.1}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rows": []}, "rows: none with an attribute value and a task"),
        ({"rows": [ADDS | {"amplification": -0.1}]}, "rows: none with an attribute value and a task"),
        ({"rows": [ADDS | {"amplification_matched": -0.1}]}, "rows: none with an attribute value and a task"),
        ({"rows": [ADDS | {"task": "z"}]}, r"rows\[0\] is about task 'z', which no image has"),
        ({"tasks": [["a"], ["a"], ["b"], []]}, "no image of attribute 'f' is without task 'a'"),
        ({"tasks": [["a"], [], ["b"], []]}, "no image of attribute 'm' is with task 'a'"),
        ({"tasks": [["a"], []]}, "attributes has length 4 and tasks has length 2"),
        ({"attributes": ["f"] * 4}, "attributes has one value, 'f'"),
        ({"attributes": [["f"], ["f", "m"], ["m"], ["m"]]}, r"attributes\[1\] must be one label"),
        ({"top": 0}, "top must be a whole number of 1 or more, not 0"),
    ],
)
def test_what_cannot_be_weighted_is_said(arguments, message):
    given = {"attributes": ["f", "f", "m", "m"], "tasks": [["a"], [], ["a"], []], "rows": [ADDS]} | arguments
    with pytest.raises(ValueError, match=message):
        resampling_weights(**given)


def test_tasks_that_no_weights_separate_are_said():
    """Women with a have b and men with a lack it: both cannot be as frequent with either, whatever the weights."""
    attributes = ["f"] * 10 + ["m"] * 10
    tasks = [["a", "b"]] * 9 + [[]] + [["a"]] * 4 + [["b"]] + [["a"]] * 5
    rows = [ADDS, ADDS | {"task": "b"}]
    with pytest.raises(ValueError, match=r"no weights make a, b all independent of the attribute.*top"):
        resampling_weights(attributes, tasks, rows)


def test_weights_that_rest_on_a_few_images_warn():
    attributes = ["f"] * 500 + ["m"] * 500
    tasks = [["a"]] * 499 + [[]] + [["a"]] + [[]] * 499
    with pytest.warns(CaptionBiasWarning, match="the 1,000 images count as 8"):
        resampling_weights(attributes, tasks, [ADDS])


# The file.


def test_csv_and_parquet_hold_the_same(tmp_path):
    import pyarrow.parquet as pq

    ids, weights = ["a,b", "ü", "3"], np.array([0.1 + 0.2, 1.0, 0.0])
    write_weights(tmp_path / "w.csv", ids, weights)
    write_weights(str(tmp_path / "w.parquet"), ids, weights)
    with (tmp_path / "w.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["image_id"] for row in rows] == ids
    assert [float(row["weight"]) for row in rows] == weights.tolist()
    assert pq.read_table(tmp_path / "w.parquet").to_pydict() == {"image_id": ids, "weight": weights.tolist()}
    assert sorted(os.listdir(tmp_path)) == ["w.csv", "w.parquet"]


@pytest.mark.parametrize(
    ("name", "ids", "weights", "message"),
    [
        ("w.txt", ["a"], [1.0], "ends in neither .csv nor .parquet"),
        ("w.csv", ["a", "b", "a"], [1.0, 1.0, 1.0], r"image_ids\[2\] repeats a, the image of row 0"),
        ("w.csv", ["a", "b"], [1.0], r"weights has shape \(1,\), and there are 2 images"),
        ("w.csv", ["a", "b"], [1.0, -1.0], r"weights\[1\] is -1.0"),
        ("w.csv", ["a", "b"], [float("nan"), 1.0], r"weights\[0\] is nan"),
        ("w.csv", ["a", "b"], [0.0, 0.0], "weights are all 0"),
        ("none/w.csv", ["a"], [1.0], "cannot be written"),
    ],
)
def test_bad_files_are_refused(tmp_path, name, ids, weights, message):
    with pytest.raises(ValueError, match=message):
        write_weights(tmp_path / name, ids, weights)
    assert not os.listdir(tmp_path)


def test_a_file_that_fails_half_way_leaves_the_old_one(tmp_path):
    path = tmp_path / "w.csv"
    write_weights(path, ["a"], [1.0])
    before = path.read_bytes()
    with pytest.raises(UnicodeEncodeError):
        write_weights(path, ["a", "\ud800"], [1.0, 2.0])  # half a character: the second row cannot be written
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["w.csv"]
