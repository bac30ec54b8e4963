"""A direction of DBAC before and after its attackers: what they are asked, on which captions, and what is summed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from captionbias import scores
from captionbias.attackers.base import TrialScores
from captionbias.attackers.splits import stratified_split
from captionbias.captions import check_captions
from captionbias.metrics.dbac_direction import Answers, a_to_t, plan_direction, t_to_a, unseen_means
from captionbias.metrics.inputs import number_classes
from captionbias.metrics.label_inputs import named_in
from captionbias.metrics.measurement import Measurement, bootstrap_samples, trial_rows
from captionbias.statistics import intervals as statistics
from captionbias.synthetic import TASKS, plant
from captionbias.text import load_lexicon

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # 50 images are few

IMAGES = 50
VALUES, OBJECTS = ("female", "male"), load_lexicon("coco_objects").labels
CHOSEN = {"trials": 3, "test_share": 0.2}


@pytest.fixture(scope="module")
def captions():
    """One image with four human captions more than the others; three of the 80 tasks occur."""
    planted = plant(images=IMAGES, captions=2)
    planted.references[7].extend(["a woman with a cake"] * 4)
    return check_captions(**vars(planted))


@pytest.fixture(scope="module")
def sides(captions):
    return captions.words()


@pytest.fixture(scope="module")
def classes(captions):
    return number_classes(captions, [])[1]


def flags(sides, lexicon):
    return named_in(sides.tokens, load_lexicon(lexicon), "words")


@pytest.fixture(scope="module")
def direction(sides, classes):
    return a_to_t(sides, classes, VALUES, flags(sides, "coco_objects"), OBJECTS)


@pytest.fixture(scope="module")
def plan(direction, sides, classes):
    return plan_direction(direction, {"m": sides.model, "h": sides.human}, "<mask>", classes, CHOSEN, 5)


def test_all_captions_of_an_image_fall_on_the_same_part_of_a_split_on_both_sides(plan, direction, classes):
    for number in range(3):
        expected = stratified_split(classes, 0.2, 5 + number)
        for side in ("m", "h"):
            trial, image = plan.trials[side][0][number], direction.captions[side].image
            assert trial.seed == 5 + number
            assert np.array_equal(np.unique(image[trial.train]), expected[0])
            assert np.array_equal(np.unique(image[trial.test]), expected[1])
            assert len(trial.train) + len(trial.test) == len(image)
    assert len(plan.trials["h"][0][0].examples.tokens) == 2 * IMAGES + 4
    assert len({tuple(trial.test) for trial in plan.trials["m"][0]}) == 3


def test_an_attacker_is_asked_for_what_the_image_of_a_caption_shows(plan, direction, classes):
    for side in ("m", "h"):
        examples = plan.trials[side][0][0].examples
        assert np.array_equal(examples.targets, classes[direction.captions[side].image])
        assert examples.outputs == 2
        assert not examples.multilabel


def test_what_captions_name_has_one_number_on_both_sides(direction, captions):
    """Each planted caption names one task or none."""

    def named(text):
        return next((task for task in TASKS if f"a {task}" in text), None)

    texts = {"m": captions.predictions, "h": [text for row in captions.references for text in row]}
    pairs = {
        (named(text), int(number))
        for side, listed in texts.items()
        for text, number in zip(listed, direction.captions[side].named, strict=True)
    }
    assert len(pairs) == len({name for name, _ in pairs}) == len({number for _, number in pairs}) > 5


def test_t_to_a_asks_for_the_tasks_that_occur_and_tells_their_sets_apart(sides):
    shown = np.zeros((IMAGES, 80), bool)
    shown[::2, 3] = shown[::5, 9] = True
    direction = t_to_a(sides, shown, OBJECTS, flags(sides, "gender"), VALUES)
    assert direction.classes == (OBJECTS[3], OBJECTS[9])
    assert np.array_equal(direction.targets, shown[:, [3, 9]])
    sets = [tuple(np.flatnonzero(row)) for row in shown]
    assert len(set(zip(sets, direction.shown.tolist(), strict=True))) == len(set(sets)) == 4


def test_a_side_that_is_absent_has_no_trials(captions, classes):
    human = check_captions(references=captions.references, attributes=captions.attributes)
    sides = human.words()
    direction = a_to_t(sides, classes, VALUES, flags(sides, "coco_objects"), OBJECTS)
    assert set(direction.captions) == {"h"}
    assert set(plan_direction(direction, {"h": sides.human}, "<mask>", classes, CHOSEN, 0).trials) == {"h"}


def answered(direction, plan, quality):
    """What attackers would have said who give the truth this probability in every caption."""
    said = {
        trial: TrialScores(np.full(len(trial.test), math.log(quality[side])), np.ones(len(trial.test), bool))
        for side, (trials,) in plan.trials.items()
        for trial in trials
    }
    return Answers.of(direction, plan, said, "confidence", True)


def measured(answers, seed, bootstrap):
    samples = samples_of(answers, seed, bootstrap)
    return Measurement("dbac", samples, answers.facts(), "").flat()


def samples_of(answers, seed, bootstrap):
    return bootstrap_samples(lambda drawn, _: answers.quantities(drawn), IMAGES, answers.trials, bootstrap, seed)


def test_quality_weighs_in_proportion(direction, plan):
    perfect = measured(answered(direction, plan, {"m": 1.0, "h": 1.0}), 0, 0)
    halved = measured(answered(direction, plan, {"m": 0.5, "h": 0.25}), 0, 0)
    for side, quality in (("m", 0.5), ("h", 0.25)):
        assert perfect[f"omega_{side}_a_to_t"] == pytest.approx(perfect[f"mean_weight_{side}_a_to_t"])
        assert halved[f"omega_{side}_a_to_t"] == pytest.approx(quality * perfect[f"omega_{side}_a_to_t"])
        assert perfect[f"omega_{side}_a_to_t_matched"] == pytest.approx(1)
        assert halved[f"omega_{side}_a_to_t_matched"] == pytest.approx(quality)
    assert perfect["dbac_a_to_t_matched"] == pytest.approx(0)
    assert halved["dbac_a_to_t_matched"] == pytest.approx((0.5 - 0.25) / (0.5 + 0.25))
    assert halved["dbac_a_to_t_prior"] == perfect["dbac_a_to_t_prior"]


def test_the_same_seed_draws_the_same_bootstrap_and_another_another(direction, plan):
    answers = answered(direction, plan, {"m": 0.6, "h": 0.5})
    first = measured(answers, 0, 50)
    assert measured(answers, 0, 50) == first
    other = measured(answers, 1, 50)
    assert other["dbac_a_to_t"] == first["dbac_a_to_t"]
    assert other["dbac_a_to_t_ci_low"] != first["dbac_a_to_t_ci_low"]


def test_the_blocks_of_the_bootstrap_do_not_matter(direction, plan, monkeypatch):
    answers = answered(direction, plan, {"m": 0.6, "h": 0.5})
    whole = samples_of(answers, 0, 50)
    monkeypatch.setattr(statistics, "_NUMBERS_AT_ONCE", 1)
    blocks = samples_of(answers, 0, 50)
    for quantity, sample in whole.items():
        assert sample.per_trial.shape == (1 if "prior" in quantity else 3, 50)
        assert blocks[quantity].per_trial == pytest.approx(sample.per_trial, nan_ok=True)
        assert blocks[quantity].replicates == pytest.approx(sample.replicates, nan_ok=True)


def test_a_trial_without_anything_to_match_is_left_out_of_the_matched_scores_only(sides, classes, plan):
    """Both sides name a task, in captions of one image; it is in the test captions of one of the three trials."""
    tests = [set(trial.test.tolist()) for trial in plan.trials["m"][0]]
    image = min(tests[1] - tests[0] - tests[2])
    named = np.zeros((len(sides.tokens), 3), bool)
    named[: sides.model_rows, 0] = named[sides.model_rows :, 1] = True
    shared = np.concatenate(([image], sides.model_rows + np.flatnonzero(sides.human_image == image)))
    named[shared] = [False, False, True]
    direction = a_to_t(sides, classes, VALUES, named, ("one", "two", "three"))
    answers = answered(direction, plan, {"m": 0.75, "h": 0.25})
    rows = trial_rows(range(5, 8), answers.estimates())
    assert [row["seed"] for row in rows] == [5, 6, 7]
    assert ["dbac_matched" in row for row in rows] == [False, True, False]
    result = measured(answers, 0, 50)
    assert result["dbac_a_to_t_matched"] == rows[1]["dbac_matched"] == pytest.approx(0.5)
    assert "dbac_a_to_t_matched_std" not in result
    assert "dbac_a_to_t_std" in result
    assert all(math.isfinite(value) for key, value in result.items() if key != "signature")


def unseen_as_given(direction, plan, quality, seen):
    """The means over unseen captions by the definition, one caption after the other."""
    shown = np.bincount(direction.shown) / len(direction.shown)
    kept = {
        side: [trial.test[~flags] for trial, flags in zip(trials, seen[side], strict=True)]
        for side, (trials,) in plan.trials.items()
    }
    share = {}
    for side, rows in kept.items():
        named = direction.captions[side].named[np.concatenate(rows)].tolist()
        share[side] = {number: named.count(number) / len(named) for number in set(named)}
    found = {f"omega_{side}{kind}": [] for side in kept for kind in ("", "_matched")}
    for side, trials in kept.items():
        captions = direction.captions[side]
        for rows in trials:
            total, matched, norm = 0.0, 0.0, 0.0
            for row in rows:
                number, per_shown = captions.named[row], 1 / shown[direction.shown[captions.image[row]]]
                total += quality[side][row] * share[side][number] * per_shown
                if number in share["m"] and number in share["h"]:
                    weight = share["h"][number] / share[side][number] * per_shown
                    matched, norm = matched + quality[side][row] * weight, norm + weight
            found[f"omega_{side}"].append(total / len(rows))
            found[f"omega_{side}_matched"].append(matched / norm)
    values = {name: np.array(of_trials) for name, of_trials in found.items()}
    for kind in ("", "_matched"):
        model, human = values[f"omega_m{kind}"], values[f"omega_h{kind}"]
        values[f"dbac{kind}"] = (model - human) / (model + human)
    return {name: of_trials.mean() for name, of_trials in values.items()}


def test_unseen_captions_are_weighed_as_though_they_were_all(direction, plan):
    random = np.random.default_rng(0)
    quality = {side: random.uniform(0.1, 1, len(captions.image)) for side, captions in direction.captions.items()}
    seen = {side: [random.random(len(trial.test)) < 0.4 for trial in trials] for side, (trials,) in plan.trials.items()}
    tested = {
        side: [scores.Tested(trial.test, quality[side][trial.test]) for trial in trials]
        for side, (trials,) in plan.trials.items()
    }
    answers = Answers(direction, tested, "confidence", True)
    expected = unseen_as_given(direction, plan, quality, seen)
    for side, of_side in seen.items():
        expected[f"test_captions_{side}"] = np.mean([(~flags).sum() for flags in of_side])
    assert unseen_means(answers, seen) == pytest.approx(expected)


def test_without_unseen_captions_there_are_no_means_of_them(direction, plan):
    answers = answered(direction, plan, {"m": 0.5, "h": 0.25})
    none = {side: [np.ones(len(trial.test), bool) for trial in trials] for side, (trials,) in plan.trials.items()}
    every = {side: [~flags for flags in of_side] for side, of_side in none.items()}
    assert unseen_means(answers, none) == {"test_captions_m": 0, "test_captions_h": 0}
    human = unseen_means(answers, {"m": none["m"], "h": every["h"]})
    assert set(human) == {"omega_h", "test_captions_m", "test_captions_h"}
    rest = {"m": [none["m"][0], *every["m"][1:]], "h": every["h"]}
    found = unseen_means(answers, rest)
    assert found["test_captions_m"] == pytest.approx(2 / 3 * len(plan.trials["m"][0][0].test))
    assert found["dbac_matched"] == pytest.approx((0.5 - 0.25) / (0.5 + 0.25)), "a trial with none does not count"
    assert all(math.isfinite(value) for value in found.values())
