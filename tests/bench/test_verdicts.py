"""Four words for a score with its interval, and what each of them needs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from captionbias.analysis.compare import corrected
from captionbias.bench.measurement import Measurement
from captionbias.bench.verdicts import CANNOT_TELL, LEARNED_NOTHING, LESS, LIKE, MORE, judge, verdict_p_value
from captionbias.metrics import dbac, lic, sway
from captionbias.report.wording import verdict_text
from captionbias.statistics.samples import ARRAYS, Estimate, ExtremeOf, Sample
from captionbias.synthetic import plant
from tests.refusals import refuses

FAST = {"preset": "fast", "trials": 3, "cache": False, "bootstrap": 200}


def verdict(estimates, key):
    return judge(estimates)[key].verdict


@pytest.mark.parametrize(
    ("score", "estimate", "word"),
    [
        ("label_leakage", (2.0, 1.1, 2.9), MORE),
        ("label_leakage", (0.7, 0.2, 1.1), MORE),
        ("label_leakage", (-2.0, -2.9, -0.1), LESS),
        ("label_leakage", (0.2, -0.6, 1.0), LIKE),  # within its margin
        ("label_leakage", (0.2, -0.6, 1.1), CANNOT_TELL),
        ("label_leakage", (0.2, None, None), None),
        ("sway_t_to_a", (0.1, -0.3, 0.4), CANNOT_TELL),  # of a value nothing is known
    ],
)
def test_a_score_without_noise_is_told_from_0_and_is_like_people_within_its_margin(score, estimate, word):
    assert verdict({score: Estimate(*estimate)}, score) == word


@pytest.mark.parametrize(
    ("ends", "noise", "word"),
    # The last of few images: whatever is within the noise may be a bias that is not seen.
    [((2.1, 3), 2.0, MORE), ((1.1, 3), 2.0, CANNOT_TELL), ((-0.9, 1), 2.0, LIKE), ((-3.0, 6.0), 7.0, CANNOT_TELL)],
)
def test_what_attackers_read_needs_to_be_beyond_what_people_read_by_chance(ends, noise, word):
    assert verdict({"lic": Estimate(sum(ends) / 2, *ends, noise=noise)}, "lic") == word


def test_lic_has_no_verdict_where_captions_not_seen_in_training_have_the_other_sign():
    estimates = {"lic": Estimate(5.0, 4.0, 6.0, noise=1.0), "lic_unseen": Estimate(0.5, -3.0, 4.0)}
    assert verdict(estimates, "lic") == MORE
    assert verdict(estimates | {"lic_unseen": Estimate(-0.5, -4.0, 3.0)}, "lic") == CANNOT_TELL


@pytest.mark.parametrize(("low_m", "low_d", "word"), [(0.1, -1, MORE), (-1, 0.1, MORE), (-1, 0.0, CANNOT_TELL)])
def test_attackers_that_learned_nothing_of_either_side_give_no_verdict(low_m, low_d, word):
    gains = {"lic_gain_m": Estimate(2.0, low_m, 5.0), "lic_gain_d": Estimate(2.0, low_d, 5.0)}
    for score in ("lic", "leakage", "confidence"):
        assert verdict(gains | {score: Estimate(5.0, 4.0, 6.0, noise=1.0)}, score) == word
    gains = {key.replace("lic", "dbac_t_to_a"): gain for key, gain in gains.items()}
    net = {"dbac_t_to_a_net": Estimate(0.5, 0.4, 0.6), "dbac_a_to_t_net": Estimate(0.5, 0.4, 0.6)}
    assert [verdict(net | gains, key) for key in net] == [word, MORE]


def test_of_labels_that_have_nothing_to_do_with_captions_nothing_is_learned():
    """A to T and LIC of labels at random; T to A of tasks at random."""
    planted = plant(600, captions=2)
    random = np.random.default_rng(0)
    nothing = vars(planted) | {"attributes": random.permutation(planted.attributes).tolist()}
    nothing["tasks"] = [planted.tasks[row] for row in random.permutation(600)]
    for metric, scores in ((lic, ["lic"]), (dbac, ["dbac_a_to_t_net", "dbac_t_to_a_net"])):
        estimates = metric.measure(**nothing, **FAST, trust_rows=True).estimates
        assert {verdict_text(key, estimates[key]) for key in scores} == {"cannot tell: the attacker learned nothing"}
        estimates = metric.measure(**vars(plant(600, a_to_t=0.5, captions=2)), **FAST).estimates
        assert estimates[scores[0]].doubt != LEARNED_NOTHING


def test_more_than_people_is_a_little_while_the_interval_is_not_beyond_the_margin():
    assert Estimate(1.2, 0.7, 1.7, margin=1.0).may_be_little
    assert not Estimate(3.0, 2.2, 3.6, margin=1.0).may_be_little


def test_few_images_without_any_error_are_not_like_people():
    """None wrong of 60 images: three of 60 may be, so 5 of 100."""
    for images, word in ((60, CANNOT_TELL), (1200, LIKE)):
        estimates = sway.measure(**vars(plant(images)), bootstrap=40).estimates
        assert estimates["sway_t_to_a"].value == 0
        assert estimates["sway_t_to_a"].verdict == word


def test_the_noise_of_lic_is_how_far_people_differ_from_each_other():
    planted = vars(plant(400, captions=4))
    assert lic.measure(**planted, **FAST).estimates["lic"].noise > 1
    two = planted | {"references": [texts[:2] for texts in planted["references"]]}
    with pytest.warns(match="2 human captions of each image: too few to measure how much people differ"):
        assert lic.measure(**two, **FAST).estimates["lic"].noise == 1.0


def test_the_noise_of_dbac_is_what_people_drawn_from_the_references_read():
    """And shrinks with trials, of which folds share images."""

    def noise(**options):
        estimates = dbac.measure(**planted, **FAST | options).estimates
        return np.array([estimates[f"dbac_{direction}_net"].noise for direction in ("a_to_t", "t_to_a")])

    planted = vars(plant(400, captions=4))
    few, many = noise(), noise(trials=12)
    assert ((few > 0) & (few < 0.5)).all()
    assert many / few == pytest.approx(((1 / 12 + 1 / 4) / (1 / 3 + 1 / 4)) ** 0.5, abs=1e-4)
    planted["references"] = [texts[:1] for texts in planted["references"]]
    assert noise()[0] == 0.01


def test_margins_can_be_chosen():
    measured = sway.measure(**vars(plant(1200)), bootstrap=40)
    assert measured.with_margins({"sway_t_to_a": 0.1}).estimates["sway_t_to_a"].verdict == CANNOT_TELL
    refuses("names 'lic', which has no verdict", measured.with_margins, {"lic": 1.0})
    refuses("0 or more", measured.with_margins, {"sway_t_to_a": -1})


@given(
    st.lists(st.tuples(st.floats(-1, 1), st.floats(0.01, 1)), min_size=1, max_size=3), st.integers(1, 4), st.integers()
)
def test_a_verdict_is_more_or_less_where_its_p_value_is_below_5_of_100(cells, chosen_of, seed):
    """Of all cells, whatever they and their sum are, and among however many they were chosen."""
    random = np.random.default_rng(abs(seed))
    alike = []
    for value, spread in cells:
        replicates = value + spread * random.standard_normal(200)
        alike.append(Sample(np.array([value]), replicates, chosen_of=chosen_of))
    mean = Sample(*(np.mean([getattr(cell, name) for cell in alike], axis=0) for name in ARRAYS))
    samples = {"sway_t_to_a": mean, "sway_t_to_a_least": ExtremeOf.of(min, alike)}
    samples["sway_t_to_a_most"] = ExtremeOf.of(max, alike)
    estimates = Measurement(samples, {}, metric="sway", settings={"margins": {"sway_t_to_a": 0.0}}).estimates
    for word, side in ((MORE, 1), (LESS, -1)):
        assert (estimates["sway_t_to_a"].verdict == word) == (verdict_p_value(samples, "sway_t_to_a", side) < 0.05)


def drawn(value: float, spread: float) -> Measurement:
    sample = Sample(np.array([value]), value + spread * np.linspace(-1, 1, 999))
    return Measurement({"label_leakage": sample}, {}, metric="label_leakage", settings={})


def test_many_verdicts_are_corrected_for_their_number():
    """One that is hardly clear survives alone and among clear ones, not among many that are not."""
    hardly = ("hardly", drawn(2.0, 2.08))
    for others, word in (([], MORE), ([drawn(2.0, 1.0)] * 5, MORE), ([drawn(0.1, 2.0)] * 5, CANNOT_TELL)):
        words = corrected([hardly, *((str(number), one) for number, one in enumerate(others))])
        assert words["hardly", "label_leakage"] == word
        assert len(words) == 1 + len(others)
