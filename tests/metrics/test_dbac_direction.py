"""A direction of DBAC before and after its attackers: what they are asked, on which captions, and what is summed."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from captionbias import scores
from captionbias.attackers.base import TrialScores
from captionbias.attackers.splits import stratified_split
from captionbias.captions import check_captions
from captionbias.metrics.dbac_direction import Answers, DirectionAnswers, a_to_t, plan_direction, t_to_a
from captionbias.metrics.inputs import number_classes
from captionbias.metrics.label_inputs import named_in
from captionbias.metrics.measurement import Measurement, bootstrap_samples, trial_rows
from captionbias.metrics.pairing import PAIRINGS, pairings
from captionbias.synthetic import plant
from captionbias.text import load_lexicon

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # 50 images are few

IMAGES = 50
VALUES, OBJECTS = ("female", "male"), load_lexicon("coco_objects").labels
SEEDS, TEST_SHARE = range(5, 8), 0.2


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


@pytest.fixture(scope="module", params=PAIRINGS)
def paired(request, sides):
    return pairings(sides, IMAGES, request.param, SEEDS)


@pytest.fixture(scope="module")
def direction(sides, classes, paired):
    return a_to_t(sides, classes, VALUES, flags(sides, "coco_objects"), OBJECTS, paired)


@pytest.fixture(scope="module")
def plan(direction, sides, classes):
    return planned(direction, sides, classes)


def planned(direction, sides, classes):
    return plan_direction(direction, {"m": sides.model, "h": sides.human}, ("<mask>",), classes, TEST_SHARE)


def design_of(direction, trial):
    """The design of a trial, and which of its trials it is."""
    places = [(design, number) for design in direction.designs for number in range(len(design.pairing.seeds))]
    return places[trial]


def captions_of(direction, trial, side):
    return design_of(direction, trial)[0].captions[side]


def test_all_captions_of_an_image_fall_on_the_same_part_of_a_split_on_both_sides(plan, direction, classes, paired):
    for number, seed in enumerate(SEEDS):
        expected = stratified_split(classes, TEST_SHARE, seed)
        for side in ("m", "h"):
            trial, image = plan.trials[side][0][number], captions_of(direction, number, side).image
            assert trial.seed == seed
            assert np.array_equal(np.unique(image[trial.train]), expected[0])
            assert np.array_equal(np.unique(image[trial.test]), expected[1])
            assert len(trial.train) + len(trial.test) == len(image) == len(trial.examples.tokens)
    assert len(plan.trials["h"][0][0].examples.tokens) == (IMAGES if paired[0].held_out else 2 * IMAGES + 4)
    assert len({tuple(trial.test) for trial in plan.trials["m"][0]}) == 3


def asked_for_tasks(sides, by_pairing, paired):
    """From T to A: which tasks an image shows in each pairing, and whether that is known."""
    shown = np.any([found for found, _ in by_pairing], axis=0)
    return t_to_a(sides, shown, by_pairing, OBJECTS, flags(sides, "gender"), VALUES, paired)


def test_each_trial_has_tasks_and_images_of_its_own(sides, classes):
    """Tasks as its human captions that were not drawn say; an image of which nothing is known takes no part."""
    paired, random = pairings(sides, IMAGES, "held-out", SEEDS), np.random.default_rng(0)
    by_pairing = [(random.random((IMAGES, 80)) < 0.02, random.random(IMAGES) < 0.6) for _ in paired]
    direction = asked_for_tasks(sides, by_pairing, paired)
    plan = planned(direction, sides, classes)
    occurring = [OBJECTS.index(task) for task in direction.classes]
    for number, (found, known) in enumerate(by_pairing):
        part = np.flatnonzero(known)
        train, test = (part[images] for images in stratified_split(classes[part], TEST_SHARE, SEEDS[number]))
        for side in ("m", "h"):
            trial, captions = plan.trials[side][0][number], captions_of(direction, number, side)
            assert np.array_equal(captions.image, part)
            assert np.array_equal(trial.examples.targets, found[part][:, occurring])
            assert np.array_equal(captions.image[trial.train], train)
            assert np.array_equal(captions.image[trial.test], test)


def answered(direction, plan, quality, blind=None):
    """What attackers would have said who give the truth this probability in every caption, and blind ones this."""
    control = replace(plan, trials={side: [[replace(t) for t in of] for of in c] for side, c in plan.trials.items()})
    said = {
        trial: TrialScores(np.full(len(trial.test), math.log(of_side[side])), np.ones(len(trial.test), bool))
        for asked, of_side in ((plan, quality), (control, blind))
        if of_side
        for side, (trials,) in asked.trials.items()
        for trial in trials
    }
    return DirectionAnswers.of(direction, plan, control if blind else None, said, "confidence", True)


def measured(answers, seed, bootstrap):
    samples = samples_of(answers, seed, bootstrap)
    return Measurement("dbac", samples, answers.facts(), "").flat()


def samples_of(answers, seed, bootstrap):
    return bootstrap_samples(lambda drawn, _: answers.quantities(drawn), IMAGES, answers.trials, bootstrap, seed)


def test_a_trial_without_anything_to_match_is_left_out_of_the_matched_scores_only(sides, classes, plan, paired):
    """Both sides name a task, in captions of one image; it is in the test captions of one of the three trials."""
    tests = [set(trial.test.tolist()) for trial in plan.trials["m"][0]]
    image = min(tests[1] - tests[0] - tests[2])
    named = np.zeros((len(sides.tokens), 3), bool)
    named[: sides.model_rows, 0] = named[sides.model_rows :, 1] = True
    shared = np.concatenate(([image], sides.model_rows + np.flatnonzero(sides.human_image == image)))
    named[shared] = [False, False, True]
    direction = a_to_t(sides, classes, VALUES, named, ("one", "two", "three"), paired)
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
    """The means over unseen captions by the definition, one caption after the other.

    What is named is counted among the unseen captions of all trials that compare the same captions.
    """
    found = {f"omega_{side}{kind}": [] for side in ("m", "h") for kind in ("", "_matched")}
    start = 0
    for design in direction.designs:
        numbers = range(start, start := start + len(design.pairing.seeds))
        shown = np.bincount(design.shown) / len(design.shown)
        kept = {
            side: [
                list(zip(trials[n].test[~seen[side][n]], quality[side][n][~seen[side][n]], strict=True))
                for n in numbers
            ]
            for side, (trials,) in plan.trials.items()
        }
        share = {}
        for side, of_trials in kept.items():
            named = [design.captions[side].named[row] for rows in of_trials for row, _ in rows]
            share[side] = {number: named.count(number) / len(named) for number in set(named)}
        both = set(share["m"]) & set(share["h"])
        pi = {k: (share["m"][k] + share["h"][k]) / 2 if design.pairing.held_out else share["h"][k] for k in both}
        for side, of_trials in kept.items():
            captions = design.captions[side]
            for rows in of_trials:
                total, matched, norm = 0.0, 0.0, 0.0
                for row, answer in rows:
                    number, per_shown = captions.named[row], 1 / shown[design.shown[captions.image[row]]]
                    total += answer * share[side][number] * per_shown
                    if number in both:
                        weight = pi[number] / share[side][number] * per_shown
                        matched, norm = matched + answer * weight, norm + weight
                found[f"omega_{side}"].append(total / len(rows))
                found[f"omega_{side}_matched"].append(matched / norm)
    values = {name: np.array(of_trials) for name, of_trials in found.items()}
    for kind in ("", "_matched"):
        model, human = values[f"omega_m{kind}"], values[f"omega_h{kind}"]
        values[f"dbac{kind}"] = (model - human) / (model + human)
    return {name: of_trials.mean() for name, of_trials in values.items()}


@pytest.mark.parametrize("controls", [False, True])
def test_unseen_captions_are_weighed_as_though_they_were_all(direction, plan, controls):
    """Of net both parts are over the captions that neither the attacker nor the blind one has seen."""
    random = np.random.default_rng(0)
    quality, blind, seen, by_either = (
        {side: [draw(len(trial.test)) for trial in trials] for side, (trials,) in plan.trials.items()}
        for draw in (
            *[lambda count: random.uniform(0.1, 1, count)] * 2,
            *[lambda count: random.random(count) < 0.4] * 2,
        )
    )
    by_either = {
        side: [one | other for one, other in zip(seen[side], of, strict=True)] for side, of in by_either.items()
    }
    designs, start = [], 0
    for design in direction.designs:
        chosen = slice(start, start := start + len(design.pairing.seeds))
        tested = {
            side: [
                scores.Tested(trial.test, *answers[: 1 + controls])
                for trial, *answers in zip(trials[chosen], quality[side][chosen], blind[side][chosen], strict=True)
            ]
            for side, (trials,) in plan.trials.items()
        }
        designs.append(Answers(direction, design, tested, "confidence", True))
    expected = unseen_as_given(direction, plan, quality, seen)
    counted = {"": seen, "_net": by_either} if controls else {"": seen}
    for form, of in counted.items():
        for side, of_side in of.items():
            expected[f"test_captions_{side}{form}"] = np.mean([(~flags).sum() for flags in of_side])
    if controls:
        sighted, blinded = (
            unseen_as_given(direction, plan, answers, by_either)["dbac_matched"] for answers in (quality, blind)
        )
        expected |= {"dbac_blind": blinded, "dbac_net": sighted - blinded}
    assert DirectionAnswers(direction, designs).unseen(*counted.values()) == pytest.approx(expected)


def test_without_unseen_captions_there_are_no_means_of_them(direction, plan):
    answers = answered(direction, plan, {"m": 0.5, "h": 0.25})
    none = {side: [np.ones(len(trial.test), bool) for trial in trials] for side, (trials,) in plan.trials.items()}
    every = {side: [~flags for flags in of_side] for side, of_side in none.items()}
    assert answers.unseen(none) == {"test_captions_m": 0, "test_captions_h": 0}
    human = answers.unseen({"m": none["m"], "h": every["h"]})
    assert set(human) == {"omega_h", "test_captions_m", "test_captions_h"}
    found = answers.unseen({"m": [none["m"][0], *every["m"][1:]], "h": every["h"]})
    assert found["test_captions_m"] == pytest.approx(2 / 3 * len(plan.trials["m"][0][0].test))
    assert found["dbac_matched"] == pytest.approx((0.5 - 0.25) / (0.5 + 0.25)), "a trial with none does not count"
    assert all(math.isfinite(value) for value in found.values())
