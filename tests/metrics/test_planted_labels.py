"""The metrics on labels find a planted bias of tasks and attributes, tell its direction, and see none in the verbs.

Directional BA of captions is read against a faithful captioner's: naming fewer tasks than people do still lowers it.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from captionbias.metrics import ba_mals, dbac, directional_ba, dpa, label_leakage, lic, multi_directional_ba
from captionbias.synthetic import plant, plant_verbs

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # so few words repeat

ATTACK = {"trials": 8, "bootstrap": 200}
COUNT = {"bootstrap": 200}
DIALS = (-0.6, 0.0, 0.6)


@cache
def measured(metric, **dials):
    planted = vars(plant(images=3000, captions=2, seed=1, **dials))
    return metric(**planted, **(ATTACK if metric in (dpa, label_leakage) else COUNT))


def along(metric, dial, score):
    return [measured(metric, **{dial: setting} if setting else {})[score] for setting in DIALS]


@pytest.mark.parametrize(
    ("metric", "dial", "score"),
    [
        (directional_ba, "a_to_t", "directional_ba_a_to_t"),
        (directional_ba, "t_to_a", "directional_ba_t_to_a"),
        (ba_mals, "a_to_t", "ba_mals"),
        (ba_mals, "t_to_a", "ba_mals"),
    ],
)
def test_counts_rise_with_the_dial(metric, dial, score):
    mitigating, faithful, amplifying = along(metric, dial, score)
    assert mitigating < faithful < amplifying
    assert measured(metric, **{dial: 0.6})[f"{score}_ci_low"] > measured(metric)[f"{score}_ci_high"]


@pytest.mark.parametrize(("dial", "other"), [("a_to_t", "t_to_a"), ("t_to_a", "a_to_t")])
def test_the_other_direction_stays(dial, other):
    for metric, name in ((directional_ba, "directional_ba"), (dpa, "dpa")):
        faithful, biased = measured(metric), measured(metric, **{dial: 0.6})
        low, high = faithful[f"{name}_{other}_ci_low"], faithful[f"{name}_{other}_ci_high"]
        assert low < biased[f"{name}_{other}"] < high


@pytest.mark.parametrize("dial", ["a_to_t", "t_to_a"])
def test_dpa_is_above_zero_for_the_planted_direction_and_on_it_for_faithful_captions(dial):
    assert measured(dpa, **{dial: 0.6})[f"dpa_{dial}_ci_low"] > 0
    assert measured(dpa)[f"dpa_{dial}_ci_low"] < 0 < measured(dpa)[f"dpa_{dial}_ci_high"]


def test_naming_fewer_tasks_leaves_dpa_on_zero_where_directional_ba_falls():
    fewer = measured(dpa, naming=0.5)
    assert fewer["dpa_a_to_t_ci_low"] < 0 < fewer["dpa_a_to_t_ci_high"]
    assert measured(directional_ba, naming=0.5)["directional_ba_a_to_t_ci_high"] < 0


def test_label_leakage_sees_what_the_captioner_names_for_an_attribute():
    assert measured(label_leakage, a_to_t=0.6)["label_leakage_ci_low"] > 5
    assert abs(measured(label_leakage)["label_leakage"]) < 3


def test_a_bias_of_verbs_is_seen_by_attackers_of_captions_alone():
    planted = vars(plant_verbs(model=0.9, seed=1))
    assert directional_ba(**planted, bootstrap=0)["directional_ba_a_to_t"] == 0
    assert dpa(**planted, **ATTACK)["dpa_a_to_t"] == 0
    assert label_leakage(**planted, **ATTACK)["label_leakage"] == 0
    fast = {"preset": "fast", "trials": 3, "bootstrap": 200}
    assert lic(**planted, **fast)["lic_ci_low"] > 10
    result = dbac(**planted, **fast)
    assert result["dbac_a_to_t_matched_ci_low"] > 0.1
    assert abs(result["dbac_t_to_a_matched"]) < 0.02


def test_more_verbs_that_lean_more_lic_and_omega():
    shares = (0.5, 0.7, 0.9)
    fast = {"preset": "fast", "trials": 3, "bootstrap": 0}
    scores, omegas = [], []
    for share in shares:
        planted = vars(plant_verbs(human=share, seed=1))
        human = {name: planted[name] for name in ("references", "attributes", "tasks")}
        scores.append(lic(**human, **fast)["lic_d"])
        omegas.append(dbac(**human, **fast, quality="accuracy", bayes=False, directions=["a_to_t"])["omega_h_a_to_t"])
    assert scores == sorted(scores)
    assert omegas == sorted(omegas)
    assert omegas[-1] > 0.8


# Multi-attribute BA by hand: two women, two men; a knife alone, or with a cake.

WOMEN_AND_MEN = [[1, 0], [1, 0], [0, 1], [0, 1]]
NOTHING, KNIFE, KNIFE_AND_CAKE = [0, 0], [1, 0], [1, 1]


def by_labels(tasks, attributes=WOMEN_AND_MEN, **labels):
    arrays = {name: np.array(rows) for name, rows in {"attributes": attributes, "tasks": tasks, **labels}.items()}
    return multi_directional_ba(**arrays, bootstrap=0)


def test_changes_in_either_sense_count_by_their_size_and_vary_by_their_sign():
    """Combinations: a knife, which an image with both has too, and both.

    Knife and cake: 1/2 of women to 2/2, 1/2 of men to 0. Knife: 2/2 of women stay, 2/2 of men become 1/2.
    """
    shown = [KNIFE_AND_CAKE, KNIFE, KNIFE_AND_CAKE, KNIFE]
    result = by_labels(shown, predicted_tasks=[KNIFE_AND_CAKE, KNIFE_AND_CAKE, KNIFE, NOTHING])
    changes = np.array([1 / 2, -1 / 2, 0, -1 / 2])
    assert result["combinations"] == 2
    assert result["multi_directional_ba_a_to_t"] == pytest.approx(3 / 8)
    assert result["multi_directional_ba_a_to_t_variance"] == pytest.approx(np.var(changes))
    assert result["multi_mals"] == 0, "no combination leans to anyone in the data"
    assert "multi_directional_ba_t_to_a" not in result


def test_a_pair_that_is_independent_in_the_data_counts_as_any_other():
    """A knife with half of the women and of the men, then with all women and no man; directional BA says 0."""
    labels = {"tasks": [KNIFE, NOTHING, KNIFE, NOTHING], "predicted_tasks": [KNIFE, KNIFE, NOTHING, NOTHING]}
    result = by_labels(**labels)
    assert result["multi_directional_ba_a_to_t"] == pytest.approx(1 / 2)
    assert result["multi_directional_ba_a_to_t_variance"] == pytest.approx(1 / 4)
    arrays = {name: np.array(rows)[:, :1] for name, rows in labels.items()}
    of_pairs = directional_ba(attributes=np.array(WOMEN_AND_MEN), **arrays, bootstrap=0)
    assert of_pairs["directional_ba_a_to_t"] == 0


def test_combinations_are_those_of_training_images_that_some_image_shows_and_they_say_who_leans():
    """Of training's cake, knife, and both only the knife is shown whole: 2/3 of its images are of women.

    T to A: 1/3 of its images are said to be of women, not 2/3. Undirected: among training images with a knife 3 of 4
    are of women, among those told 1 of 3.
    """
    result = by_labels(
        [KNIFE, KNIFE, KNIFE, NOTHING],
        predicted_attributes=[[1, 0], [0, 1], [0, 1], [0, 1]],
        training_attributes=[[1, 0], [1, 0], [1, 0], [0, 1], [0, 1]],
        training_tasks=[KNIFE, KNIFE, KNIFE_AND_CAKE, KNIFE, [0, 1]],
    )
    assert result["combinations"] == 1
    assert result["multi_directional_ba_t_to_a"] == pytest.approx(1 / 3)
    assert result["multi_directional_ba_t_to_a_variance"] == pytest.approx(1 / 9)
    assert result["multi_mals"] == pytest.approx(3 / 4 - 1 / 3)
