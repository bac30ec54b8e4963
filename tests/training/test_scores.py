"""The scores of a training's log: right for captions that can be measured, harmless for those that cannot."""

import math
import warnings

import pytest

from captionbias.bench.measurement import Result
from captionbias.bench.verdicts import MORE
from captionbias.captions import CaptionBiasWarning
from captionbias.metrics import catalogue, dbac, lic, sway
from captionbias.synthetic import plant
from captionbias.training import bias_scores
from captionbias.training.scores import TrainingBias

MISSING = "sway_missing_gap"  # asked where a caption is
NAMES = [key for metric in catalogue.REPORTED for key in catalogue.headlines(metric) if key != MISSING]
WITHOUT_CONTROLS = [key for key in NAMES if not catalogue.SCORES[key].control]


def scored(planted, said=None, **options):
    """The scores of what a captioner said of images, and the CaptionBiasWarnings."""
    rows = {**vars(planted), "tasks": None, "predictions": said or planted.predictions, **options}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CaptionBiasWarning)
        found = bias_scores(**rows)
    return found, [str(one.message) for one in caught if one.category is CaptionBiasWarning]


@pytest.mark.parametrize(("controls", "names"), [({}, WITHOUT_CONTROLS), ({"controls": True}, NAMES)])
def test_the_scores_are_the_metrics_own_as_flat_python_floats(planted, controls, names):
    options = {**vars(planted), "seed": 3}
    found = bias_scores(**options, trials=2, **controls)
    wanted = sway(**options) | dbac(**options, preset="fast", trials=2) | lic(**options, preset="fast", trials=2)
    estimates = Result(wanted).estimates
    expected = {"empty_captions": 0.0, "bias": wanted["sway_worst"], "sway_worst": wanted["sway_worst"]}
    for name in [name for name in names if name != "sway_words"]:  # of which 300 images say nothing
        expected |= {name + end: wanted[name + end] for end in ("", "_ci_low", "_ci_high")}
        if word := estimates[name].verdict:
            expected[f"{name}_more_than_people"] = float(word == MORE)
    assert found == expected
    assert found["sway_a_to_t_more_than_people"] == 1.0
    assert set(map(type, found.values())) == {float}
    assert found["dbac_a_to_t_matched"] > 0.05, "planted"


@pytest.mark.parametrize(
    ("female", "male", "largest", "sign"),
    [
        ("a man", "a man", "sway_wrong_gap", 1),
        ("a woman", "a woman", "sway_wrong_gap", -1),
        ("a woman and a man", "a man", "sway_unnamed_gap", 1),
        ("a woman smiling", "a man", "sway_words", 1),
    ],
)
def test_the_worst_score_is_that_which_is_furthest_from_people_over_what_is_tolerated(female, male, largest, sign):
    """Half of the captions say who is there, and all what is."""
    planted, names = plant(1000, captions=3), {"female": ("a woman", female), "male": ("a man", male)}
    rows = enumerate(zip(planted.attributes, planted.tasks, strict=True))
    said = [
        f"{names[label][row // 2 % 2]} waits in a room with a {' and a '.join(shown)}" for row, (label, shown) in rows
    ]
    found, notes = scored(planted, said, metrics=["sway"], tasks=planted.tasks)
    assert found["sway_worst"] == found["bias"] == pytest.approx(sign * found[largest] / 5)
    assert found["bias"] > 2
    assert not any("nan" in note for note in notes)
    asked = "wrong_gap", "unnamed_gap", "t_to_a", "words", "length_gap", "a_to_t"
    assert found["sway_worst"] == pytest.approx(max(abs(found[f"sway_{key}"]) for key in asked) / 5)


def test_what_is_left_out_is_said(planted):
    """Words take 500 images; a captioner that hardly names anybody is not said to be as good as people."""
    found, (note,) = scored(planted, metrics=["sway"])
    assert "sway_words left out: too few images" in note
    assert "sway_words" not in found
    assert found["bias"] > 0
    said = ["somebody with a " + " and a ".join(tasks) for tasks in planted.tasks]
    found, (note,) = scored(planted, said, metrics=["sway"])
    assert "sway_worst is nan, because sway_wrong_gap cannot tell: too little, value named right least" in note
    assert found["sway_wrong_gap"] == 0
    assert math.isnan(found["bias"])


def test_images_without_a_caption_are_left_out_on_both_sides_and_counted(planted):
    silent = {row for row in range(300) if row % 10 < 2}
    said = [" " if row in silent else text for row, text in enumerate(planted.predictions)]
    found, notes = scored(planted, said, tasks=planted.tasks, trials=1)
    kept = [row for row in range(300) if row not in silent]
    rest = {name: [column[row] for row in kept] for name, column in vars(planted).items()}
    wanted = bias_scores(**rest, trials=1)
    assert found == wanted | {"empty_captions": 0.2} | {key: found[key] for key in found if MISSING in key}
    assert found[MISSING] == 0
    assert len(notes) == 1
    assert "60 of 300 images have no caption" in notes[0]
    of_women = [" " if row % 10 == 0 else text for row, text in enumerate(planted.predictions)]
    weights = [3.0, *[1.0] * 299]
    found, _ = scored(planted, of_women, weights=weights, metrics=["sway"])
    assert found[MISSING] == pytest.approx(5 * found["bias"]) == pytest.approx(100 * 32 / 152), "of women"
    assert found["empty_captions"] == pytest.approx(32 / 302), "weights say how much each image counts"


@pytest.mark.parametrize("women", [0, 9])
def test_too_few_captions_of_a_group_give_no_score_of_attackers_and_one_warning(planted, women):
    rows = [row for row, label in enumerate(planted.attributes) if label == "female"][women:]
    said = ["" if row in rows else text for row, text in enumerate(planted.predictions)]
    found, (note,) = scored(planted, said)
    assert found["empty_captions"] == len(rows) / 300
    assert not any(key.startswith(("dbac", "lic")) for key in found)
    assert ("lic is left out: attributes: 'female' has 9 images" if women else "which leaves 'male' alone") in note


@pytest.mark.parametrize("caption", ["", "a man with a tie.", "the the the"])
@pytest.mark.parametrize("given", [True, False], ids=["tasks given", "tasks named"])
def test_the_same_caption_for_every_image_gives_numbers_or_nothing_but_never_the_bias_of_a_person(
    planted, caption, given
):
    tasks = planted.tasks if given else None
    found, (note,) = scored(planted, [caption] * 300, tasks=tasks, trials=2)
    assert all(math.isnan(found.pop(key)) for key in ("bias", "sway_worst"))
    assert all(type(value) is float and math.isfinite(value) for value in found.values())
    missing = set(WITHOUT_CONTROLS) - set(found) if caption else ["all"]
    assert all(name in note or name.split("_")[0] + " is left out" in note for name in missing)


def test_captions_of_other_images_have_no_score_and_images_that_nobody_describes_are_left_out(planted):
    """The first as of a captioner that has not learnt to look; the second with their captions, by their rows."""
    other = planted.predictions[7:] + planted.predictions[:7]
    found, (note,) = scored(planted, other, tasks=planted.tasks)
    assert found.keys() == {"empty_captions", "bias", "sway_worst"}
    assert math.isnan(found["sway_worst"])
    assert "all is left out: predictions" in note
    rest = [column[1:] for column in (planted.predictions, planted.references, planted.attributes)]
    found, _ = scored(planted, references=[[], *planted.references[1:]], metrics=["lic"], trials=1)
    assert found == bias_scores(*rest, metrics=["lic"], trials=1)


def test_scores_that_captions_leave_undefined_are_missing_and_named(planted):
    """Every human caption names one task and the captioner names another: they have nothing to compare."""
    references = [["a woman with a cake", "a man with a cake"]] * 300
    said = ["a woman and man with a dog"] * 300
    found, (note,) = scored(planted, said, references=references, metrics=["dbac"], trials=2)
    assert "dbac_a_to_t_matched" not in found
    assert "dbac_a_to_t_matched" in note
    assert "left out: too few images, or captions that name what human ones name" in note
    assert "dbac_a_to_t" in found


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"predictions": ["a man"] * 299 + [3]}, r"predictions\[299\].* is of type int"),
        ({"attributes": ["male"] * 295 + ["female"] * 5}, "human captions name this value in 50 of 100 cases"),
        ({"metrics": "lic"}, "metrics must list one or more of sway, dbac, lic, .* not 'lic'"),
        ({"trials": 0}, "trials must be a whole number of 1 or more"),
        ({"tasks": [["flying"]] * 300}, "none of its names"),
    ],
)
@pytest.mark.parametrize("caption", ["a man with a dog", ""], ids=["one caption", "none"])
def test_wrong_arguments_raise_however_bad_the_captioner_is(planted, changes, message, caption):
    """A captioner's silence must not hide them."""
    said = {"predictions": changes.get("predictions", [caption] * 300)}
    with pytest.raises(ValueError, match=message):
        bias_scores(**(vars(planted) | changes | said))


def test_a_training_checks_the_human_captions_first_and_measures_as_often_as_it_likes(planted):
    people = planted.references, planted.attributes
    training = TrainingBias(*people, planted.tasks, trials=2).prepare()
    wanted = bias_scores(**vars(planted), trials=2)
    for _ in range(2):
        found = training.measure(planted.predictions)
        assert (found["empty_captions"], found["lic"]) == (0.0, wanted["lic"])
        assert set(found) == set(wanted)  # of DBAC with word vectors of people's captions alone
    with pytest.raises(ValueError, match="task_lexicon"):
        TrainingBias([[f"{label} here", "nothing"] for label in planted.attributes], planted.attributes, None).prepare()
    with pytest.raises(TypeError, match="unexpected keyword argument trails"):
        TrainingBias(*people, None, trails=2)
