"""The gate of continuous integration: scores within bounds, above them, and such that cannot be told."""

import re
from dataclasses import replace

import pandas as pd
import pytest

from captionbias.cli import gate
from captionbias.statistics.samples import Estimate
from captionbias.synthetic import PEOPLE, plant
from tests.cli.conftest import ran, refused, write_sides
from tests.whole import sway

IMAGES = 300
NUMBERS = r"^(\S+)", r"(\S+)\]", r"about (\d+) images would tell"


@pytest.fixture(scope="module")
def planted():
    return plant(IMAGES, captions=3, t_to_a=0.4)


@pytest.fixture(scope="module")
def sides(planted, tmp_path_factory):
    return write_sides(tmp_path_factory.mktemp("gate"), planted)


@pytest.fixture(scope="module")
def scores(planted):
    captions = {name: getattr(planted, name) for name in ("predictions", "references", "attributes")}
    return sway(**captions)


def gated(sides, *bounds, status, options=()):
    given = [part for bound in bounds for part in ("--at-most", bound)]
    return ran("gate", *given, *sides, *options, status=status)[0].splitlines()


def test_an_interval_within_the_bound_passes_above_it_fails_and_around_it_cannot_be_told(sides, scores):
    value, low, high = (scores[f"sway_t_to_a{ending}"] for ending in ("", "_ci_low", "_ci_high"))
    line = f"sway_t_to_a {value:.1f} [{low:.1f}, {high:.1f}], at most"
    bounds = {"pass": high, "fail": low - 0.5, "cannot tell": value}
    passed, failed, unknown = (f"sway_t_to_a={bound!r}" for bound in bounds.values())
    expected = [f"{line} {bound:g}: {answer}" for answer, bound in bounds.items()]
    assert gated(sides, passed, status=0) == expected[:1]
    assert gated(sides, passed, failed, unknown, status=3) == expected
    assert gated(sides, passed, unknown, status=4) == [expected[0], expected[2]]


def test_a_range_counts_whole(sides, scores):
    """From A to T the score may be anywhere between its ends."""
    low = min(scores[f"sway_a_to_t{end}_ci_low"] for end in ("", "_low"))
    assert scores["sway_a_to_t_ci_high"] < (high := scores["sway_a_to_t_high_ci_high"])
    (line,) = gated(sides, f"sway_a_to_t={scores['sway_a_to_t_ci_high']}", status=4)
    assert f"[{low:.1f}, {high:.1f}]" in line


@pytest.mark.parametrize(
    ("score", "estimate", "most", "status"),
    [
        *(("sway_wrong_gap", Estimate(-7, -9, -5), most, status) for most, status in ((1, 3), (9, 0))),
        ("sway_wrong_gap", Estimate(-0.5, -3, 2), 1, 4),
        *(("sway_words", Estimate(5.7, 4.2), most, status) for most, status in ((4, 3), (9, 4))),
    ],
)
def test_a_gap_counts_on_either_side_of_0_and_what_has_no_upper_end_is_never_within(score, estimate, most, status):
    answered, line = gate._within(score, most, {score: estimate})
    assert answered == status
    assert "at least 4.2" in line or score == "sway_wrong_gap"


def test_scores_of_several_metrics_and_captioners(sides):
    quick = ["--bootstrap", "20", "--trials", "2", "--predictions", f"sat={sides[1]}"]
    lines = gated(sides, "lic=90", "dbac_t_to_a_net=1.5", status=0, options=quick)
    shown = [re.sub(r" -?\d\.\d+ \[.*\]", "", line) for line in lines]
    assert shown == [
        f"{name}: {score}: pass"
        for name in ("nic", "sat")
        for score in ("lic, at most 90", "dbac_t_to_a_net, at most 1.5")
    ]


def portrait(*options, status):
    """What is said of each question, by its first words."""
    lines = ran("gate", "--portrait", *options, status=status)[0].splitlines()
    return dict(line.split("? ", 1) for line in lines)


def asked(planted, folder, *options, status, **columns):
    return portrait(*write_sides(folder, planted, **columns), *options, status=status)


def with_words(planted, *pairs):
    """The captioner with other words for those whom it names."""
    pattern = re.compile("|".join(f"^{word}" for word, _ in pairs))
    said = [pattern.sub(lambda found: dict(pairs)[found[0]], text) for text in planted.predictions]
    return replace(planted, predictions=said)


@pytest.fixture(scope="module")
def faithful():
    return plant(1500, captions=4)


WIDE = ["--tolerance", "15"]
TIED = "do other words follow the attribute"
MISSING = "are captions of one value missing more often"
THINGS = {"female": "a pretty elegant gown on the sofa", "male": "a sturdy rough hammer on the bench"}


def test_what_is_within_the_tolerance_passes_and_what_is_neither_within_nor_beyond_says_how_many_images_would_tell(
    faithful, tmp_path
):
    """An interval shrinks with the root of the number of images; that of words, of which one would be seen, too."""
    said = asked(faithful, tmp_path, status=4)
    (unknown,) = (line for line in said.values() if line.endswith(": cannot tell"))
    assert not any(line.endswith(": fail") for line in said.values())
    value, high, told = (float(re.search(one, unknown.replace(",", ""))[1]) for one in NUMBERS)
    assert told == pytest.approx(1500 * ((0.95 * high - value) / (5 - value)) ** 2, rel=0.5), "90% for 95%"
    said = asked(faithful, tmp_path, *WIDE, "--tolerance", "words=0.1", status=4)
    assert {question for question, line in said.items() if line.endswith(": cannot tell")} == {TIED}
    seen, told = (
        float(re.search(one, said[TIED].replace(",", ""))[1]) for one in (r"word in (\S+)", r"(\d+) would tell")
    )
    assert told == pytest.approx(1500 * (seen / 0.1) ** 2, rel=0.1)
    said = asked(faithful, tmp_path, *WIDE, status=0)
    assert said[TIED].endswith("; tolerated 15: pass")
    assert said[MISSING] == "Not asked: no caption is missing"


def test_whose_captions_are_missing_more_often_fails(faithful, tmp_path):
    """Of 750 women 250 have none."""
    silent = [row % 6 == 0 and label == "female" for row, label in enumerate(faithful.attributes)]
    assert sum(silent) == 250
    said = [text * (not none) for text, none in zip(faithful.predictions, silent, strict=True)]
    told = asked(replace(faithful, predictions=said), tmp_path, *WIDE, status=3)[MISSING]
    assert (told[:4], told[-4:]) == ("33.3", "fail")


def test_what_longer_captions_say_beyond_people_is_told_with_the_reason_why_it_does_not_fail(faithful, tmp_path):
    longer = [f"{text} {THINGS[label]}" for text, label in zip(faithful.predictions, faithful.attributes, strict=True)]
    told = asked(replace(faithful, predictions=longer), tmp_path, *WIDE, status=4)[TIED]
    assert told.startswith("100.0, at least 9")
    assert told.endswith("they may be there: people's captions are shorter, and never say such words: cannot tell")


@pytest.mark.parametrize("given", ["0", "words=x", "nothing=5"])
def test_a_tolerance_that_cannot_be_one_is_refused(given, sides):
    assert f"--tolerance {given}: " in refused("gate", "--portrait", "--tolerance", given, *sides)


@pytest.mark.parametrize(("word", "fault"), [("a man", "named wrong"), ("someone", "left unnamed")])
def test_who_names_every_woman_a_man_or_not_at_all_fails(word, fault, faithful, tmp_path):
    said = asked(with_words(faithful, *((woman, word) for woman in PEOPLE[0])), tmp_path, *WIDE, status=3)
    assert said[f"is one value {fault} more often"].endswith(": fail")
    assert not said["is one value named wrong more often"].endswith(": pass")


@pytest.fixture(scope="module")
def scenes():
    return plant(2000, scenes=True)


def in_scenes(planted, folder):
    """The options of images in scenes, in one file."""
    path = folder / "scenes.parquet"
    pd.DataFrame(vars(planted)).to_parquet(path)
    columns = "--prediction-column", "predictions", "--attribute-column", "attributes", "--scene-column", "scene"
    return ["--predictions", path, "--attributes", path, *columns]


def test_by_labels_alone_wrong_names_fail_and_in_the_rest_people_may_differ_as_much(scenes, tmp_path):
    path = tmp_path / "scenes.parquet"
    pd.DataFrame({"caption": scenes.predictions, "gender": scenes.attributes}).to_parquet(path)
    said = portrait("--predictions", path, *WIDE, status=0)
    assert sum("Not asked" in line for line in said.values()) == 5
    doubted = "people may differ as much: cannot tell"
    for word, question, answer, status in (
        ("a girl", TIED, doubted, 4),
        ("somebody", "is one value left unnamed more often", doubted, 4),
        ("a man", "is one value named wrong more often", "fail", 3),
    ):
        texts = [text.replace("a woman", word) for text in scenes.predictions]
        pd.DataFrame({"caption": texts, "gender": scenes.attributes}).to_parquet(path)
        assert portrait("--predictions", path, *WIDE, status=status)[question].endswith(answer)


def test_who_says_one_word_of_everybody_passes_neither_beside_people_nor_in_scenes(faithful, scenes, tmp_path):
    for word, status in (("a man", 3), ("someone", 4)):
        everybody = [(one, word) for of_value in PEOPLE for one in of_value]
        beside_people = asked(with_words(faithful, *everybody), tmp_path, *WIDE, status=status)
        files, tasks = in_scenes(with_words(scenes, *everybody), tmp_path), ["--tasks", tmp_path / "scenes.parquet"]
        within = portrait(*files, *(tasks if word == "someone" else []), *WIDE, status=status)
    for said in (beside_people, within):
        assert said["is one value named wrong more often"].endswith(": cannot tell")
    assert within["do wrong names follow the surroundings"] == "No reading: cannot tell"


def test_scenes_pass_where_the_captions_of_each_are_the_same_but_for_the_value(scenes, tmp_path):
    same = [said for text in scenes.predictions[::2] for said in (text, text.replace("a woman", "a man"))]
    said = portrait(*in_scenes(replace(scenes, predictions=same), tmp_path), status=0)
    assert "Nothing found" in said["do other words follow the attribute"]
    called = [text.replace("a woman", "a man") if number % 9 == 0 else text for number, text in enumerate(same)]
    said = portrait(*in_scenes(replace(scenes, predictions=called), tmp_path), status=3)
    assert said["is one value named wrong more often"].endswith("captions of 100, tolerated 5: fail")


def test_a_question_that_is_more_than_people_fails_and_on_300_images_words_have_no_reading(planted, scores, tmp_path):
    said = asked(planted, tmp_path, status=3)
    assert said["do other words follow the attribute"] == "Not asked: it takes 500 images, or scenes"
    objects = "do the objects named follow the attribute"
    assert said[objects] == "Not asked: without --tasks the score is a range that hardly ever tells"
    value, low, high = (scores[f"sway_t_to_a{ending}"] for ending in ("", "_ci_low", "_ci_high"))
    numbers = f"{value:.1f} [{low:.1f}, {high:.1f}] captions of 100 beyond people, tolerated 5"
    assert said["do wrong names follow the surroundings"] == f"{numbers}: fail"
    tasks = "--tasks", tmp_path / "people.parquet"
    said = asked(planted, tmp_path, *tasks, status=3, tasks=planted.tasks)
    assert "mentions in 100 captions beyond people" in said[objects]


def test_before_there_is_a_captioner_the_images_that_each_question_takes_are_told(planted, sides, scores):
    """What can be seen shrinks with the root of the number of images."""
    _, _, *people = sides
    said = portrait(*people, status=0)
    told = said["do wrong names follow the surroundings"]
    assert told.endswith(" images, within 5 captions of 100")
    assert said["do the objects named follow the attribute"].startswith("Not asked: without --tasks")
    narrow = portrait(*people, "--tolerance", "t_to_a=1", status=0)
    more = narrow.pop("do wrong names follow the surroundings")
    few, many = (int(line.split()[0].replace(",", "")) for line in (told, more))
    assert many == pytest.approx(25 * few, rel=0.1)
    assert narrow.items() <= said.items()
    wide = portrait(*people, "--tolerance", "1000", status=0)
    assert wide["is one value named wrong more often"].startswith("60 images"), "30 of each value"
