"""LIC from captions to numbers: leakage that is known beforehand, its columns, and captions seen in training."""

import numpy as np
import pytest

from captionbias.attackers.base import balanced_split
from captionbias.captions import CaptionBiasWarning
from captionbias.captions.texts import canonical_order
from captionbias.io.store import open_store
from captionbias.synthetic import plant
from tests.refusals import refuses
from tests.whole import lic

FAST = {"preset": "fast", "trials": 2, "bootstrap": 20, "cache": False}
SCORES = ("lic", "leakage", "confidence")
LABELS = ["female", "male"] * 200
CLASSES = np.array([0, 1] * 200)
PEOPLE = {"female": "woman", "male": "man"}


def things(number):
    """Things that have nothing to do with the person."""
    return np.random.default_rng(0).choice(["dog", "cat", "cake", "boat"], size=number)


CLUES = ["indoors" if label == "female" else "outdoors" for label in LABELS]
# Captions that name the person and a thing; and the same with a word that goes with the label.
FAIR = [f"a {PEOPLE[label]} with a {thing}" for label, thing in zip(LABELS, things(len(LABELS)), strict=True)]
GIVEN_AWAY = [f"{text} {clue}" for text, clue in zip(FAIR, CLUES, strict=True)]


@pytest.fixture(scope="module")
def planted():
    return vars(plant(images=200, captions=2, a_to_t=0.3))


@pytest.fixture(scope="module")
def result(planted):
    return lic(**planted, **FAST, details=True)


def captions_by_trial(result, side):
    return [row["captions"] for row in result["details"]["trials"][side]]


# Leakage that is known


def test_a_word_that_gives_the_attribute_away_leaks_all_of_it_and_sides_not_learned_alike_are_noted():
    given = {"predictions": GIVEN_AWAY, "attributes": LABELS, "trust_rows": True, "details": True}
    result, alike = (lic(**given, references=[[text] for text in people], **FAST) for people in (FAIR, GIVEN_AWAY))
    assert result["leakage_m"] == 100
    assert 80 < result["lic_m"] == pytest.approx(result["confidence_m"])
    assert result["leakage"] == 100 - result["leakage_d"]
    assert result["lic"] == pytest.approx(result["lic_m"] - result["lic_d"])
    assert {of_value["leakage"] for of_value in result["details"]["by_attribute"]["m"].values()} == {100}
    noted = [
        any("did not learn both sides alike" in one for one in of["details"]["warnings"]) for of in (result, alike)
    ]
    assert noted == [True, False]
    assert result["lic_gain_m"] > 40 > 5 > result["lic_gain_d"]


def test_captions_that_tell_nothing_of_it_score_as_chance_and_were_seen_in_training():
    """Chance is 50 for leakage and confidence and 25 for LIC, a half of a half. 400 test captions: 3 deviations."""
    with pytest.warns(CaptionBiasWarning, match="100% of the model test captions are also .* unseen_only=True"):
        result = lic(predictions=FAIR, attributes=LABELS, **FAST | {"trials": 10})
    assert result["leakage_m"] == pytest.approx(50, abs=100 * 3 * 0.5 / np.sqrt(400))
    assert result["lic_m"] == pytest.approx(25, abs=4)
    assert result["confidence_m"] == pytest.approx(50, abs=2)
    assert result["seen_m"] == 100, "four captions, once the person is masked, in 400 images"
    unique = [f"{text} {image}" for image, text in enumerate(FAIR)]
    assert lic(predictions=unique, attributes=LABELS, **FAST)["seen_m"] == 0


def test_classes_count_alike():
    """Three men to a woman: an attacker that always says man would be right in 75 of 100 captions. All are tested."""
    labels = ["male" if image % 4 else "female" for image in range(800)]
    captions = [f"someone with a {thing}" for thing in things(800)]
    options = FAST | {"trials": 5, "allow_unmasked": True}
    result = lic(predictions=captions, attributes=labels, **options, details=True)
    assert captions_by_trial(result, "m") == pytest.approx([80] * 5)
    assert result["leakage_m"] == pytest.approx(50, abs=8)
    of_values = result["details"]["by_attribute"]["m"].values()
    assert result["leakage_m"] == pytest.approx(np.mean([of_value["leakage"] for of_value in of_values]), abs=1e-3)


# Columns and sides


def test_each_column_of_human_captions_has_its_classifiers_and_lic_d_is_their_mean():
    rest = {"predictions": GIVEN_AWAY, "attributes": LABELS, "trust_rows": True, **FAST}
    references = canonical_order(zip(FAIR, GIVEN_AWAY, strict=True), once=False)
    together = lic(references=references, **rest, details=True)
    alone = [lic(references=[[text] for text in column], **rest) for column in zip(*references, strict=True)]
    assert captions_by_trial(together, "d") == [160, 160]
    for score in SCORES:
        assert together[f"{score}_d"] == pytest.approx(np.mean([one[f"{score}_d"] for one in alone]))
        assert together[f"{score}_m"] == pytest.approx(alone[0][f"{score}_m"])


def test_captions_beyond_the_columns_that_all_images_have_are_left_out(planted, result):
    ragged = [[*row, "one more"] if image % 3 == 0 else row for image, row in enumerate(planted["references"])]
    message = r"references: every image has 2 or more captions; those after column 2 are not used"
    with pytest.warns(CaptionBiasWarning, match=message):
        found = lic(**{**planted, "references": ragged}, **FAST, details=True)
    assert captions_by_trial(found, "d") == captions_by_trial(result, "d")


@pytest.mark.parametrize(("side", "absent"), [("m", "references"), ("d", "predictions")])
def test_one_side_alone(side, absent, planted, result):
    alone = lic(**{**planted, absent: None}, **FAST)
    alone = {key: value for key, value in alone.items() if key not in ("signature", "details")}
    endings = ("", "_std", "_trial_ci_low", "_trial_ci_high", "_ci_low", "_ci_high", "_detectable")
    expected = {f"{score}_{side}{end}" for score in (*SCORES, "lic_gain") for end in endings}
    assert alone.keys() == expected | {f"seen_{side}", f"test_captions_{side}"}
    # Both sides of `planted` have the same words, so no human word is replaced. The solver meets them in another order.
    assert alone == pytest.approx({key: result[key] for key in alone}, rel=1e-3)


def test_human_words_that_the_captioner_lacks_are_unknown():
    """The human captions give the label away in words that the captioner never uses: aligned, they tell nothing."""
    people = {"references": [[text] for text in GIVEN_AWAY], "attributes": LABELS}
    result = lic(predictions=FAIR, **people, **FAST, details=True)
    assert result["leakage_d"] < 75
    replaced = {pair["word"]: pair["replacement"] for pair in result["details"]["alignment"]["pairs"]}
    assert replaced == {"indoors": "<unk>", "outdoors": "<unk>"}
    assert lic(**people, **FAST)["leakage_d"] == 100


# Captions seen in training


def test_unseen_only_scores_the_others():
    """Half of the captions are copies that give the label away; the others occur once and tell nothing."""
    copied = np.random.default_rng(2).random(len(LABELS)) < 0.5
    rows = enumerate(zip(CLUES, copied, strict=True))
    captions = [f"a person {clue}" if copy else f"a person with number {image}" for image, (clue, copy) in rows]
    everything, unseen = (
        lic(predictions=captions, attributes=LABELS, **FAST, details=True, unseen_only=only, allow_unmasked=True)
        for only in (False, True)
    )
    tables = [result["details"]["trials"]["m"] for result in (everything, unseen)]
    seen = [copied[balanced_split(CLASSES, 0.2, 0, part=trial)[1]].sum() for trial in (0, 1)]
    assert everything["seen_m"] == unseen["seen_m"] == pytest.approx(100 * sum(seen) / 160)
    assert everything["test_captions_m"] == 80
    assert unseen["test_captions_m"] == 80 - np.mean(seen)
    for whole, part, count in zip(*tables, seen, strict=True):
        assert (whole["captions"], part["captions"]) == (80, 80 - count)
        assert whole["leakage"] == pytest.approx((100 * count + part["leakage"] * (80 - count)) / 80)
    assert not [warning for warning in unseen["details"]["warnings"] if "unseen_only" in warning]


def test_lic_of_unseen_captions_is_that_of_unseen_only(planted):
    whole, alone = (lic(**planted, **FAST | {"trials": 10}, unseen_only=only) for only in (False, True))
    assert whole["lic_unseen"] == alone["lic"] != whole["lic"]


def test_nothing_unseen_to_score_is_known_before_anything_is_trained():
    reports = []
    options = FAST | {"unseen_only": True, "progress": lambda *done: reports.append(done)}
    message = "unseen_only: every test caption of seed 0 is also in its training"
    refuses(message, lic, predictions=FAIR, attributes=LABELS, **options)
    assert not reports


def test_a_second_captioner_has_the_human_attackers_of_the_first(planted, tmp_path):
    """Its words come in another order, and all that people say it says too."""
    every = " ".join(sorted({word for texts in planted["references"] for text in texts for word in text.split()}))
    first = [f"{text} {every} {row}" for row, text in enumerate(planted["predictions"])]
    second = [f"{row} {every} {texts[0]}" for row, texts in enumerate(planted["references"])]
    options = FAST | {"cache": tmp_path}
    found = [lic(**planted | {"predictions": predictions}, **options)["lic_d"] for predictions in (first, second)]
    assert found[0] == found[1]
    human, trials = len(planted["references"][0]), FAST["trials"]
    assert len(set(open_store(tmp_path).keys("trial"))) == trials * (human + 2)
