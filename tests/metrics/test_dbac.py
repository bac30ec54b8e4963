"""DBAC from captions to numbers: its formulas worked out by hand, its options, and that it repeats itself exactly."""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from captionbias.attackers.recipes import RECIPES, Recurrent
from captionbias.attackers.splits import stratified_split
from captionbias.captions import CaptionBiasWarning
from captionbias.metrics import dbac
from captionbias.metrics.pairing import PAIRINGS
from captionbias.synthetic import plant

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # small sets are weak

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
    }


@pytest.fixture
def small_lstm(monkeypatch):
    """DBAC's own attacker with little to compute; the recipe itself is not the point."""
    recipe = RECIPES["lstm-dbac"]
    small = replace(recipe, encoder=Recurrent("lstm", 8), embedding=8, schedule=replace(recipe.schedule, epochs=1))
    monkeypatch.setitem(RECIPES, "lstm-dbac", small)


# Captions whose attacker we know: a clue gives the attribute away, wrongly in one caption of five; other clues give the
# tasks away, always. So each caption's quality, weight and score can be worked out by hand.

PEOPLE = {"female": "woman", "male": "man", None: "someone"}
CLUES = {"female": "indoors", "male": "outdoors"}
OTHER = {"female": "male", "male": "female"}
TASKS = ("ball", "bench")
TASK_CLUES = {"ball": "round", "bench": "long"}
KNOWN = {"preset": "fast", "trials": 3, "bootstrap": 0, "alignment": "constant", "quality": "accuracy"}


class Told:
    """One caption: its image, whom and what it names, and what its clue says the attribute is."""

    def __init__(self, image, person, tasks, clue, shown):
        self.image, self.person, self.tasks, self.clue = image, person, frozenset(tasks), clue
        clues = [TASK_CLUES[task] for task in TASKS if task in shown]
        named = [f"a {task}" for task in TASKS if task in tasks]
        self.text = " ".join(["a", PEOPLE[person], *clues, CLUES[clue], *named])


class Known:
    """400 images, one model caption and three human captions each; the captioner names more tasks for women."""

    def __init__(self):
        random = np.random.default_rng(0)
        self.attributes = ["female" if image % 2 else "male" for image in range(400)]
        self.tasks = [frozenset(task for task in TASKS if random.random() < 0.5) for _ in self.attributes]
        self.told = {"m": [], "h": []}
        for image, (attribute, shown) in enumerate(zip(self.attributes, self.tasks, strict=True)):
            for side, number in (("m", 0), ("h", 0), ("h", 1), ("h", 2)):
                likely = 0.8 if attribute == "female" and side == "m" else 0.6
                # Two human captions name every task: tasks that are not given are found, whichever caption is scored.
                every = side == "h" and number < 2
                tasks = shown if every else {task for task in shown if random.random() < likely}
                person = attribute if random.random() < 0.8 else None
                clue = OTHER[attribute] if random.random() < 0.2 else attribute
                self.told[side].append(Told(image, person, tasks, clue, shown))
        classes = np.array([attribute == "male" for attribute in self.attributes], np.int64)
        self.tested = [set(stratified_split(classes, 0.2, seed)[1].tolist()) for seed in range(KNOWN["trials"])]

    def arguments(self):
        human = [told.text for told in self.told["h"]]
        return {
            "predictions": [told.text for told in self.told["m"]],
            "references": [human[start : start + 3] for start in range(0, len(human), 3)],
            "attributes": self.attributes,
            "task_lexicon": {task: [task] for task in TASKS},
        }

    def quality(self, direction, told):
        return 1.0 if direction == "t_to_a" or told.clue == self.attributes[told.image] else 0.0

    def compared(self, drawn):
        """The captions of each trial: of the human ones those drawn, or all of them."""
        if drawn is None:
            return [self.told] * KNOWN["trials"]
        human = [self.told["h"][start : start + 3] for start in range(0, len(self.told["h"]), 3)]
        return [
            {"m": self.told["m"], "h": [row[number] for row, number in zip(human, numbers, strict=True)]}
            for numbers in drawn
        ]

    def by_hand(self, direction, drawn):
        """All forms by their definition, trial by trial and one caption after the other."""
        shows = self.attributes if direction == "a_to_t" else self.tasks
        of_image = Counter(shows)
        found = {f"{part}_{side}": [] for part in ("prior", "omega", "matched", "quality") for side in ("m", "h")}

        def what(one):
            return one.tasks if direction == "a_to_t" else one.person

        for tested, told in zip(self.tested, self.compared(drawn), strict=True):
            named = {side: Counter(map(what, captions)) for side, captions in told.items()}
            assert set(named["m"]) == set(named["h"]), "what is named is named on both sides"
            share = {side: {k: count / len(told[side]) for k, count in of.items()} for side, of in named.items()}
            pi = share["h"] if drawn is None else {k: (share["m"][k] + share["h"][k]) / 2 for k in share["h"]}
            for side, captions in told.items():
                weights = {
                    one: (share[side][what(one)] * per_shown, pi[what(one)] / share[side][what(one)] * per_shown)
                    for one in captions
                    for per_shown in [len(shows) / of_image[shows[one.image]]]
                }
                rows = [(self.quality(direction, one), *weights[one]) for one in captions if one.image in tested]
                q, w, v = map(np.array, zip(*rows, strict=True))
                found[f"prior_{side}"].append(np.mean([weight for weight, _ in weights.values()]))
                found[f"omega_{side}"].append((q * w).mean())
                found[f"matched_{side}"].append((q * v).sum() / v.sum())
                found[f"quality_{side}"].append(q.mean())
        return {key: np.array(values) for key, values in found.items()}


@pytest.fixture(scope="module")
def known():
    return Known()


@pytest.fixture(scope="module", autouse=True)
def attacker_that_goes_by_the_clue():
    """A strong penalty leaves the clue in these few captions and takes out what their other words say by chance."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("captionbias.attackers.convex.L2", 20.0)
        yield


@pytest.fixture(scope="module")
def known_results(known):
    """With either pairing."""
    tasks = [sorted(tasks) for tasks in known.tasks]
    return {
        pairing: dbac(**known.arguments(), tasks=tasks, **KNOWN, pairing=pairing, controls=True, details=True)
        for pairing in PAIRINGS
    }


@pytest.fixture
def known_result(known_results):
    return known_results["held-out"]


def difference(model, human):
    return (model - human) / (model + human)


@pytest.mark.parametrize("pairing", PAIRINGS)
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_every_part_follows_from_the_captions_by_hand(direction, pairing, known, known_results):
    """The clues are neither attribute nor task words, so that blind attackers say the same."""
    result = known_results[pairing]
    drawn = result["details"]["drawn"]
    assert (drawn is None) == (pairing == "every-caption")
    hand = known.by_hand(direction, drawn)
    matched = difference(hand["matched_m"], hand["matched_h"])
    expected = {
        f"dbac_{direction}": difference(hand["omega_m"], hand["omega_h"]),
        f"dbac_{direction}_matched": matched,
        f"dbac_{direction}_blind": matched,
        f"dbac_{direction}_net": 0.0,
        f"dbac_{direction}_prior": difference(hand["prior_m"], hand["prior_h"]),
    }
    for side in ("m", "h"):
        expected[f"omega_{side}_{direction}"] = hand[f"omega_{side}"]
        expected[f"omega_{side}_{direction}_matched"] = hand[f"matched_{side}"]
        expected[f"mean_quality_{side}_{direction}"] = hand[f"quality_{side}"]
        expected[f"coverage_{side}_{direction}"] = 1.0
    assert {key: result[key] for key in expected} == pytest.approx({k: np.mean(v) for k, v in expected.items()})
    assert [row["dbac"] for row in trials(result, direction)] == pytest.approx(expected[f"dbac_{direction}"])
    assert [row["dbac_matched"] for row in trials(result, direction)] == pytest.approx(matched)


def test_a_perfect_attacker_leaves_the_weights_alone(known_result):
    assert known_result["mean_quality_m_t_to_a"] == known_result["mean_quality_h_t_to_a"] == 1
    for side in ("m", "h"):
        assert known_result[f"omega_{side}_t_to_a"] == pytest.approx(known_result[f"mean_weight_{side}_t_to_a"])
        assert known_result[f"omega_{side}_t_to_a_matched"] == pytest.approx(1)
    assert known_result["dbac_t_to_a_matched"] == pytest.approx(0)


def test_without_weights_omega_of_accuracy_is_the_accuracy(known, known_result):
    result = dbac(**known.arguments(), **KNOWN, bayes=False, details=True)
    for direction in DIRECTIONS:
        hand = known.by_hand(direction, result["details"]["drawn"])
        accuracy = {side: hand[f"quality_{side}"] for side in ("m", "h")}
        for side in ("m", "h"):
            assert result[f"omega_{side}_{direction}"] == pytest.approx(accuracy[side].mean())
            assert result[f"mean_weight_{side}_{direction}"] == 1
        assert result[f"dbac_{direction}"] == pytest.approx(difference(accuracy["m"], accuracy["h"]).mean())
        for unchanged in (f"dbac_{direction}_matched", f"dbac_{direction}_prior"):
            assert result[unchanged] == known_result[unchanged]


def test_tasks_that_the_human_captions_name_are_as_good_as_given_ones(known, known_result):
    named = dbac(**known.arguments(), **KNOWN, details=True)
    assert without(named) == without(known_result)
    assert named["details"]["task_counts"] == known_result["details"]["task_counts"]
    assert named["details"]["task_counts"] == dict(Counter(task for tasks in known.tasks for task in tasks))
    assert "tasks:named" in named["signature"]
    assert "tasks:given" in known_result["signature"]


def test_given_tasks_are_what_the_images_show(known, known_result):
    """Not what the captions name: only T to A asks what an image shows."""
    other = [["bench"] if image % 2 else [] for image in range(400)]
    result = dbac(**known.arguments(), tasks=other, **KNOWN, details=True)
    assert result["details"]["task_counts"] == {"bench": 200}
    for key, value in without(result).items():
        if "a_to_t" in key:
            assert value == known_result[key]
    assert result["dbac_t_to_a_prior"] != known_result["dbac_t_to_a_prior"]


# What the options do.


def test_the_same_captions_on_both_sides_give_exactly_0(planted):
    captions = {**planted, "predictions": [row[0] for row in planted["references"]]}
    captions["references"] = [row[:1] for row in planted["references"]]
    for quality in ("confidence", "accuracy", "inverse_cross_entropy"):
        result = dbac(**captions, **FAST, quality=quality)
        for direction in DIRECTIONS:
            for score in (f"dbac_{direction}{form}" for form in (*SCORES, "_prior")):
                assert (result[score], result[f"{score}_ci_low"], result[f"{score}_ci_high"]) == (0, 0, 0)


def test_predictions_that_are_one_of_the_references_are_not_biased():
    captions = vars(plant(images=1000, captions=3, seed=1))
    captions["predictions"] = [row[image % 3] for image, row in enumerate(captions["references"])]
    result = dbac(**captions, **FAST | {"trials": 3, "bootstrap": 200})
    for direction in DIRECTIONS:
        for score in (f"dbac_{direction}{form}" for form in SCORES):
            assert result[f"{score}_ci_low"] <= 0 <= result[f"{score}_ci_high"]


def test_results_are_plain_floats_and_json(planted, result):
    assert {type(value) for value in without(result).values()} == {float}
    assert type(result["signature"]) is str
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert "details" not in dbac(**planted, **FAST)


def test_every_score_has_its_intervals_and_every_interval_its_score(result):
    for direction in DIRECTIONS:
        omegas = [f"omega_{side}_{direction}{weights}" for side in ("m", "h") for weights in WEIGHTS]
        for score in (*omegas, *(f"dbac_{direction}{form}" for form in (*SCORES, "_prior"))):
            assert result[f"{score}_trial_ci_low"] < result[score] < result[f"{score}_trial_ci_high"]
            assert result[f"{score}_ci_low"] < result[score] < result[f"{score}_ci_high"]
            assert result[f"{score}_std"] > 0


def test_where_every_caption_counts_no_trial_has_a_part_in_the_weights(planted):
    result = dbac(**planted, **FAST, pairing="every-caption")
    for direction in DIRECTIONS:
        assert f"dbac_{direction}_prior_ci_low" in result
        assert f"dbac_{direction}_prior_std" not in result


def test_the_mean_over_the_trials_is_the_result(result):
    for direction in DIRECTIONS:
        rows = trials(result, direction)
        assert [row["seed"] for row in rows] == [0, 1]
        keys = [("omega_m_matched", f"omega_m_{direction}_matched")]
        keys += [(f"dbac{form}", f"dbac_{direction}{form}") for form in SCORES]
        for key, full in keys:
            assert np.mean([row[key] for row in rows]) == pytest.approx(result[full])


def test_one_trial_and_no_bootstrap_leave_out_what_they_cannot_know(planted, result):
    one = dbac(**planted, **FAST | {"trials": 1, "bootstrap": 0})
    assert not [key for key in one if key.endswith(("_std", "_ci_low", "_ci_high"))]
    for form in SCORES:
        assert one[f"dbac_a_to_t{form}"] == pytest.approx(trials(result, "a_to_t")[0][f"dbac{form}"])


def test_the_model_side_alone(planted, result):
    alone = dbac(**{**planted, "references": None}, **FAST)
    for direction in DIRECTIONS:
        assert alone[f"omega_m_{direction}"] == pytest.approx(result[f"omega_m_{direction}"])
    assert not [key for key in without(alone) if key.startswith("dbac") or "_h_" in key or "matched" in key]
    assert not [key for key in alone if key.startswith("coverage")]


def test_the_human_side_alone(planted):
    alone = dbac(**{**planted, "predictions": None}, **FAST)
    assert {"omega_h_a_to_t", "omega_h_t_to_a", "mean_weight_h_a_to_t"} < set(alone)
    assert not [key for key in without(alone) if key.startswith("dbac") or "_m_" in key or "matched" in key]


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


def test_the_prior_knows_nothing_of_the_attacker(planted, result, small_lstm):
    other = dbac(**planted, **FAST, encoder="lstm-dbac", controls=False, quality="accuracy")
    for direction in DIRECTIONS:
        assert other[f"dbac_{direction}_prior"] == result[f"dbac_{direction}_prior"]
        assert other[f"dbac_{direction}"] != result[f"dbac_{direction}"]


def test_quality_changes_the_score_and_not_the_weights(planted, result):
    for quality in ("accuracy", "inverse_cross_entropy"):
        other = dbac(**planted, **FAST, quality=quality)
        for direction in DIRECTIONS:
            assert other[f"mean_weight_m_{direction}"] == result[f"mean_weight_m_{direction}"]
            assert other[f"dbac_{direction}"] != result[f"dbac_{direction}"]


def test_inverse_cross_entropy_is_the_mean_weight_by_the_mean_loss(planted):
    result = dbac(**planted, **FAST | {"trials": 1}, quality="inverse_cross_entropy")
    for part in ("m_a_to_t", "h_a_to_t", "m_t_to_a", "h_t_to_a"):
        assert result[f"omega_{part}"] == pytest.approx(result[f"mean_weight_{part}"] / result[f"mean_quality_{part}"])


def test_the_names_of_the_labels_do_not_matter(planted, result):
    renamed = {**planted, "attributes": [{"female": "A", "male": "B"}[label] for label in planted["attributes"]]}
    assert without(dbac(**renamed, **FAST)) == without(result)


def test_labels_in_another_order_only_draw_other_splits(planted, result):
    """The classes draw their test images one after the other. What needs no split stays the same."""
    swapped = {**planted, "attributes": [{"female": "Z", "male": "A"}[label] for label in planted["attributes"]]}
    other = dbac(**swapped, **FAST)
    for direction in DIRECTIONS:
        assert other[f"dbac_{direction}_prior"] == pytest.approx(result[f"dbac_{direction}_prior"])
        assert other[f"dbac_{direction}_matched"] == pytest.approx(result[f"dbac_{direction}_matched"], abs=0.05)


def test_arrays_are_as_good_as_lists(planted, result):
    arrays = {name: np.array(column, dtype=object) for name, column in planted.items()}
    assert without(dbac(**arrays, **FAST)) == without(result)


def test_three_values_of_an_attribute():
    random = np.random.default_rng(0)
    labels = [["child", "adult", "elder"][image % 3] for image in range(300)]
    lexicon = {"child": ["kid"], "adult": ["adult"], "elder": ["pensioner"]}
    names = {label: words[0] for label, words in lexicon.items()}
    captions = [f"a {names[label]} with a {random.choice(['dog', 'cat'])}" for label in labels]
    result = dbac(
        predictions=captions,
        references=[[caption] * 2 for caption in captions],
        attributes=labels,
        attribute_lexicon=lexicon,
        **FAST,
    )
    assert result["mean_quality_m_a_to_t"] == pytest.approx(1 / 3, abs=0.02), "the captions tell no age"
    assert result["omega_m_a_to_t"] == pytest.approx(1 / 3 * 3 / 2, abs=0.05), "q = 1/3, 1/P(a) = 3, P(T) = 1/2"
    assert result["dbac_a_to_t"] == result["dbac_t_to_a"] == 0


def test_a_task_out_of_the_lexicon_is_said(planted):
    tasks = [[*row, "unicorn"] if image == 5 else row for image, row in enumerate(planted["tasks"])]
    with pytest.warns(CaptionBiasWarning, match="tasks: unicorn not in task_lexicon 'coco_objects'; .* not masked"):
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


def test_the_details_hold_the_scores_of_unseen_captions(planted):
    """Numbers tell half of the model captions apart, and all human ones."""
    numbered = {
        "predictions": [
            text if image % 2 else f"{text} {image} {image + 1}" for image, text in enumerate(planted["predictions"])
        ],
        "references": [
            [f"{text} {image} {number}" for number, text in enumerate(row)]
            for image, row in enumerate(planted["references"])
        ],
    }
    result = dbac(**{**planted, **numbered}, **FAST, details=True)
    names = {f"{part}{kind}" for part in ("dbac", "omega_m", "omega_h") for kind in WEIGHTS}
    for direction in DIRECTIONS:
        details = result["details"][direction]
        unseen = details["unseen"]
        counts = {f"test_captions_{side}{form}" for side in ("m", "h") for form in ("", "_net")}
        assert set(unseen) == names | counts | {"dbac_blind", "dbac_net"}
        for side in ("m", "h"):
            for form in ("", "_net"):
                share = 1 - details["seen"][f"{side}{form}"] / 100
                tested = result[f"test_captions_{side}_{direction}"]
                assert unseen[f"test_captions_{side}{form}"] == pytest.approx(share * tested)
        assert unseen["test_captions_m_net"] <= unseen["test_captions_m"]
        assert details["seen"]["h"] == 0 < details["seen"]["m"]
        assert unseen["omega_h_matched"] != unseen["omega_m_matched"]
        assert -1 < unseen["dbac_matched"] < 1


def test_the_same_captions_on_both_sides_are_unseen_alike(planted):
    captions = {**planted, "predictions": [row[0] for row in planted["references"]]}
    captions["references"] = [row[:1] for row in planted["references"]]
    for direction, details in dbac(**captions, **FAST, details=True)["details"].items():
        if direction in DIRECTIONS:
            assert {details["unseen"][f"dbac{form}"] for form in ("", "_matched", "_blind", "_net")} == {0}
            assert details["unseen"]["test_captions_m"] == details["unseen"]["test_captions_h"] > 0


def test_a_side_without_unseen_captions_has_no_scores_of_them():
    captions = of_50_women_and_50_men(["P with a dog"], ["P with a dog"])
    captions["predictions"] = [f"{text} {image}" for image, text in enumerate(captions["predictions"])]
    message = r"^in 2 of 2 trials all a_to_t human test captions .* have no value$"
    with pytest.warns(CaptionBiasWarning, match=message):
        result = dbac(**captions, **FAST, directions=["a_to_t"], details=True)
    unseen = result["details"]["a_to_t"]["unseen"]
    assert set(unseen) == {"omega_m", *(f"test_captions_{side}" for side in ("m", "h", "m_net", "h_net"))}
    assert (unseen["test_captions_m"], unseen["test_captions_h"]) == (20, 0)
    json.dumps(result, allow_nan=False)


def test_captions_that_only_a_blind_attacker_has_seen_are_left_out_of_net_alone():
    """No two captions name the same dog, and nothing else tells them apart."""
    dogs = [f"dog{number}" for number in range(100)]
    given = of_50_women_and_50_men([f"P with a {dog}" for dog in dogs], [f"P with a {dog}" for dog in dogs])
    options = {**FAST, "task_lexicon": {dog: [dog] for dog in dogs}, "directions": ["a_to_t"]}
    with pytest.warns(CaptionBiasWarning, match="an attacker or of its blind control are also .* blind and net scores"):
        result = dbac(**given, **options, details=True)
    details = result["details"]["a_to_t"]
    assert details["seen"] == {"m": 0, "h": 0, "m_net": 100, "h_net": 100}
    assert {"dbac", "test_captions_m"} < set(details["unseen"])
    assert not {"dbac_blind", "dbac_net"} & set(details["unseen"])


def test_what_is_undefined_is_left_out():
    """No caption names what is named on both sides: there is nothing to match."""
    result = dbac(**of_50_women_and_50_men(["P with a dog"], ["P with a cat"]), **FAST, details=True)
    assert result["coverage_m_a_to_t"] == 0
    undefined = [f"a_to_t{form}" for form in ("_matched", "_blind", "_net")]
    assert not [key for key in result if any(part in key for part in undefined) and not key.startswith("effective")]
    assert "dbac_t_to_a_matched" in result
    json.dumps(result, allow_nan=False)


# Text, lexicons and word vectors.


def test_a_full_stop_hides_a_word_from_the_whitespace_tokenizer_only():
    captions = of_50_women_and_50_men(["P with a dog"], ["P holding a phone .", "P holding a phone."])
    counts = {
        tokenizer: dbac(**captions, **FAST, tokenizer=tokenizer, details=True)["details"]["task_counts"]
        for tokenizer in ("words", "whitespace")
    }
    assert counts == {"words": {"cell phone": 100}, "whitespace": {"cell phone": 50}}


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


def test_the_published_preset_says_what_to_do_without_its_vectors(monkeypatch, tmp_path):
    from gensim import downloader

    monkeypatch.setattr(downloader, "BASE_DIR", str(tmp_path))
    monkeypatch.setattr(downloader, "DATA_LIST_URL", "http://127.0.0.1:9/list.json")
    with pytest.raises(ValueError, match=r"glove-wiki-gigaword-50.*pass the path of a GloVe.*vectors='captions'"):
        dbac(**of_50_women_and_50_men(["P on a bed"], ["P in a bed"]), preset="dbac-2026-published", encoder="bow")


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
        assert "align:contextual,glove.tiny.2d.txt,0.4" in result["signature"]
        json.dumps(result, allow_nan=False)
    strict = dbac(**captions, **FAST | {"alignment": "contextual"}, vectors=tiny_glove, delta=0.1, details=True)
    assert strict["details"]["a_to_t"]["alignment"]["words_contextual"] == 1


def test_a_word_that_only_masking_takes_from_the_captioner_is_aligned_too(tmp_path):
    """An "orange slice" is a task and masked, "orange" is not: unmasked, both sides have the word."""
    path = tmp_path / "vectors.txt"
    path.write_text("orange 1.0 0.1\nred 1.0 0.0\na 0.0 1.0\n")
    captions = of_50_women_and_50_men(["P with a red orange slice"], ["P with a orange orange slice"])
    result = dbac(**captions, **FAST | {"alignment": "contextual"}, vectors=path, details=True)
    [pair] = result["details"]["t_to_a"]["alignment"]["pairs"]
    assert (pair["word"], pair["replacement"]) == ("orange", "red")


# It repeats itself exactly.


def test_repeats_itself_with_vectors_trained_on_the_captions(planted):
    captions = {**planted, "predictions": [text.replace("poses", "waits") for text in planted["predictions"]]}
    options = {"preset": "fast", "trials": 2, "bootstrap": 20, "details": True, "delta": 1.5}
    first = dbac(**captions, **options)
    assert first["details"]["a_to_t"]["alignment"]["words_contextual"] == 1
    assert dbac(**captions, **options) == first


def scramble_the_global_generators(number):
    import torch

    np.random.seed(number)
    torch.manual_seed(number)
    return np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()


def state_of_the_global_generators():
    import torch

    return np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()


@pytest.mark.parametrize("encoder", ["bow", "lstm-dbac"])
def test_repeats_itself_whatever_the_global_generators_and_leaves_them_alone(encoder, planted, small_lstm):
    options = {**FAST, "encoder": encoder, "details": True}
    results = []
    for number in (1, 2):
        state = scramble_the_global_generators(number)
        results.append(dbac(**planted, **options))
        assert state_of_the_global_generators() == state
    assert results[0] == results[1]


@pytest.mark.parametrize("encoder", ["bow", "lstm-dbac"])
def test_a_trial_does_not_depend_on_the_others(encoder, planted, small_lstm):
    options = {**FAST, "encoder": encoder, "bootstrap": 0, "details": True}
    five = dbac(**planted, **options | {"trials": 5})
    alone = dbac(**planted, **options | {"trials": 1, "seed": 3})
    two = dbac(**planted, **options | {"trials": 2})
    for direction in DIRECTIONS:
        rows = trials(five, direction)
        assert trials(alone, direction) == [rows[3]]
        assert trials(two, direction) == rows[:2]
        assert len({row["dbac"] for row in rows}) == 5
        assert alone[f"dbac_{direction}"] == pytest.approx(rows[3]["dbac"])
    drawn = five["details"]["drawn"]
    assert alone["details"]["drawn"] == [drawn[3]]
    assert two["details"]["drawn"] == drawn[:2]


def test_details_report_which_test_captions_of_each_side_are_also_in_training(tmp_path):
    images, trials = 100, 3
    labels = ["female", "male"] * (images // 2)
    twice = [f"a dog near w{image // 2}" for image in range(images)]
    same = [["a dog near us"] for _ in range(images)]
    found = dbac(
        predictions=twice,
        references=same,
        attributes=labels,
        preset="fast",
        directions=["a_to_t"],
        trials=trials,
        bootstrap=0,
        cache=tmp_path,
        details=True,
    )
    classes = np.arange(images) % 2
    shares = []
    for seed in range(trials):
        train, test = (set(part.tolist()) for part in stratified_split(classes, 0.2, seed))
        shares.append(np.mean([image ^ 1 in train for image in test]))
    assert 0 < np.mean(shares) < 1
    expected = {"m": pytest.approx(100 * np.mean(shares)), "h": 100.0}
    of_net = {f"{side}_net": share for side, share in expected.items()}  # other words than tasks tell them apart
    assert found["details"]["a_to_t"]["seen"] == expected | of_net
