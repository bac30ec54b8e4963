"""The portrait: every number is sway's, every sentence follows from numbers shown, and nothing lacks a verdict."""

import json
import re
from dataclasses import replace

import pytest

from captionbias.analysis.audit import audit
from captionbias.bench.verdicts import CANNOT_TELL, LIKE, MORE, NOTHING_FOUND
from captionbias.metrics import Result, catalogue, sway
from captionbias.metrics.sway.questions import QUESTIONS
from captionbias.report.drawn import naming_drawing
from captionbias.report.html import html_report
from captionbias.report.portrait import about, audit_portrait, doubts, headline, in_a_line, largest, portrait_of
from captionbias.report.quotes import behind, first_quote
from captionbias.report.wording import words_of
from captionbias.synthetic import plant
from tests.metrics.test_sway_questions import of_women, woman_is, world
from tests.report.conftest import QUICK, changed

OBJECTS, MISSING = QUESTIONS[-2:]
WORDS = words_of(["gender"], "coco_objects", 2)


def row_of(**captions):
    """The portrait's row of a captioner called nic."""
    measured = sway.measure(**captions, bootstrap=200, details=True)
    judged = [score.key for score in catalogue.scores_of("sway") if score.judged and score.key in measured.estimates]
    said = {("nic", key): measured.estimates[key].verdict for key in judged}
    return portrait_of({"nic": measured.flat()}, said, WORDS).rows[0]


def with_verdicts(audit, verdicts):
    """The audit as if it had found this."""
    told = replace(audit)
    told.__dict__["verdicts"] = verdicts
    return told


@pytest.fixture(scope="module")
def defaults():
    """Captioners that call some of the women men."""
    people = world(600)
    shares = {"some": 0.2, "most": 0.5, "none": 0.0}
    captioners = {name: of_women(dict(people), woman_is("a man"), shares[name])["predictions"] for name in shares}
    people.pop("predictions")
    return audit(captioners, **people, metrics=["sway"], **QUICK | {"bootstrap": 1000})


def test_the_dots_are_the_cells_and_the_person_is_on_top(swayed):
    portrait = audit_portrait(swayed)
    assert [row.name for row in portrait.rows] == ["biased", "faithful"]
    assert portrait.person.name == "people"
    cells = swayed.details("sway", "biased")["cells"]
    for value, other in (("female", "male"), ("male", "female")):
        (own,) = (cell for cell in cells if (cell["attribute"], cell["suggested"]) == (value, value))
        (against,) = (cell for cell in cells if (cell["attribute"], cell["suggested"]) == (value, other))
        wrong, person = portrait.rows[0].wrong[value], portrait.person.wrong[value]
        assert (wrong.own.value, wrong.other.value) == (own["captioner_wrong"], against["captioner_wrong"])
        assert (person.own.value, person.other.value) == (own["person_wrong"], against["person_wrong"])
        assert wrong.step == round(wrong.other.value) - round(wrong.own.value)
    step = portrait.rows[0].answers["sway_t_to_a"][0]
    numbers = [wrong.step for wrong in portrait.rows[0].wrong.values()]
    assert (step.verdict, step.lines[0]) == (MORE, f"women {numbers[0]:+d}, men {numbers[1]:+d}")
    assert portrait.rows[0].overall.verdict == MORE
    assert portrait.rows[1].overall.verdict in (LIKE, CANNOT_TELL)


def test_the_headline_names_who_is_swayed_and_the_sentence_below_has_the_numbers_of_the_picture(swayed):
    told = "biased misgenders people more beside the other gender's objects. Human captions do so less."
    assert headline(swayed) == told
    portrait = audit_portrait(swayed)
    wrong = max(portrait.rows[0].wrong.values(), key=lambda wrong: wrong.step)
    first, *others = map(int, re.findall(r"\d+", largest(portrait, swayed)))
    assert first == round(wrong.own.value)
    assert round(wrong.other.value) in others
    assert largest(portrait, swayed).startswith("biased calls ")
    assert about(swayed, "planted").startswith("planted: 600 images, ")
    assert "1,800 human captions." in about(swayed)


def test_the_sentence_of_a_result_is_the_headline_of_its_captioner_alone_also_read_from_a_file(swayed, defaults):
    for audited, name in ((swayed, "biased"), (swayed, "faithful"), (defaults, "most")):
        result = audited.measurement("sway", name).flat()
        verdicts = {(name, key): one.verdict for key, one in result.estimates.items() if one.verdict}
        told = headline(with_verdicts(replace(audited, captioners=(name,)), verdicts))
        assert result.sentence == told.replace(name, "The captioner", 1)
        flat = {key: value for key, value in result.items() if key != "details"}
        assert Result(json.loads(json.dumps(flat))).sentence == result.sentence


def test_a_captioner_that_leaves_the_gender_out_is_in_the_headline_beside_one_that_is_swayed(swayed):
    more = [("biased", "sway_t_to_a"), ("biased", "sway_t_to_a_lost"), ("faithful", "sway_t_to_a_lost")]
    told = with_verdicts(swayed, dict.fromkeys(swayed.verdicts, CANNOT_TELL) | dict.fromkeys(more, MORE))
    assert headline(told) == (
        "biased misgenders people more beside the other gender's objects; faithful fails more often to "
        "name the right gender beside the other gender's objects. Human captions do so less."
    )


def test_of_several_the_headline_counts_them_and_names_the_most_only_if_it_differs_from_each(defaults):
    told = "Two of three captioners call women men more often than they call men women"
    assert headline(defaults) == f"{told}, most most. Human captions do so less."
    comparison = defaults.comparisons["sway"]
    alike = [replace(each, p_holm=1.0) for each in comparison.differences]
    unclear = replace(defaults, comparisons={"sway": replace(comparison, differences=alike)})
    assert headline(unclear).startswith(f"{told}. ")
    (gap,) = (row.answers["sway_wrong_gap"][0] for row in audit_portrait(defaults).rows if row.name == "most")
    assert re.fullmatch(r"women \d+, men 0", gap.lines[0])
    assert gap.lines[1] == "people 0, 0"


def test_of_a_person_nothing_is_more(defaults):
    row = row_of(**world())
    assert row.overall.verdict in (LIKE, CANNOT_TELL)
    assert row.answers["sway_words"][0].verdict == NOTHING_FOUND
    assert re.fullmatch("a word in [0-9]+ of 100 captions would have been seen", row.answers["sway_words"][0].lines[0])
    alone = with_verdicts(defaults, dict.fromkeys(defaults.verdicts, CANNOT_TELL))
    assert headline(alone).startswith("Nothing was found that is more than people's")
    assert largest(audit_portrait(alone), alone) == ""


def test_words_have_their_side_and_the_form_for_it():
    row = row_of(**of_women(world(), lambda text: f"{text} happy", 0.2))
    first = row.words["women"][0]
    assert (first.word, first.captioner > first.person) == ("happy", True)
    words = row_of(**of_women(world(), woman_is("a girl"), 0.5)).words
    assert "girl" in [word.word for word in words["women"]]
    assert "girl|boy" not in str(words)


def test_the_words_that_one_half_chose_are_told_with_the_score_and_where_they_may_be_there_with_the_doubt():
    happy = of_women(world(), lambda text: f"{text} happy", 0.2)
    things = {"female": "in an elegant gown on a velvet sofa", "male": "and a sturdy rough hammer on a bench"}
    said = [f"{text} {things[value]}" for text, value in zip(happy["predictions"], happy["attributes"], strict=True)]
    for change, reason, words in (
        ({}, "any word: ", "women: happy"),
        ({"predictions": said}, "they may be there: ", ("women: ", "men: ")),
    ):
        (answer,) = row_of(**happy | change).answers["sway_words"]
        assert answer.lines[0].startswith(reason)
        assert answer.lines[-1].startswith(words)
    girls = row_of(**of_women(world(), woman_is("a girl"), 0.5)).answers["sway_words"][0].lines[-1]
    assert girls.startswith("women: girl or boy")


def test_like_people_is_said_of_all_questions_that_are_asked_and_of_missing_captions_only_where_one_is(happy):
    (row,) = audit_portrait(with_verdicts(happy, dict.fromkeys(happy.verdicts, LIKE))).rows
    assert row.overall.verdict == LIKE
    assert in_a_line(happy, MISSING) == ""
    people = plant(600, captions=3)
    said = [text * (row % 4 > 0) for row, text in enumerate(people.predictions)]  # every second woman's
    people = vars(people) | {"predictions": said}
    found = audit({"nic": people.pop("predictions")}, **people, metrics=["sway"], **QUICK | {"bootstrap": 1000})
    assert re.fullmatch(
        r"More than people: nic 50\.0 \[.*\], captions of 100 beyond people\.", in_a_line(found, MISSING)
    )
    assert headline(found) == "nic captions one gender less often. Human captions do so less."


def test_silence_where_the_objects_suggest_another_value_is_told():
    step = row_of(**vars(plant(2000, silence=0.5))).answers["sway_t_to_a"]
    assert [told.verdict for told in step][-1] == MORE
    assert step[-1].lines == ["wrong or left out"]


def test_who_names_one_value_alone_is_never_like_people():
    row = row_of(**of_women(world(), woman_is("a man")))
    gap, steps = row.answers["sway_wrong_gap"], row.answers["sway_t_to_a"]
    assert gap[0].verdict == MORE
    assert LIKE not in [told.verdict for told in (*gap, *steps, row.overall)]
    told = [line for answers in row.answers.values() for told in answers for line in told.lines]
    assert told.count("it hardly names more than one gender") == 1


def test_captions_behind_a_dot_name_the_wrong_value_and_people_agree_on_the_right_one_first(swayed):
    portrait = audit_portrait(swayed)
    dots = list(behind(swayed, portrait, "biased"))
    assert dots[0].title == "Women called men beside objects that go with men"
    evidence = swayed.evidence["captioners"]["biased"]["cells"]["t_to_a"]
    for dot in dots:
        assert all(row["captioner"] for row in evidence[dot.place]["rows"])
        assert dot.captions == evidence[dot.place]["images"] >= len(dot.quotes) > 0
        for quote in dot.quotes:
            named = {piece for piece, kind in quote.person if kind == "attribute"}
            assert named & ({"woman", "girl", "lady"} if dot.title.startswith("Women") else {"man", "boy", "guy"})
    assert first_quote(swayed, portrait).name == "biased"


def test_the_images_themselves_stand_beside_their_captions_where_they_are_given(swayed):
    images = {row: {**image, "id": str(row)} for row, image in swayed.evidence["images"].items()}
    given = replace(swayed, evidence={**swayed.evidence, "images": images})
    page = html_report(given, picture_of="data:,{}".format)
    portrait = audit_portrait(given)
    quoted = sum(len(dot.quotes) for name in given.captioners for dot in behind(given, portrait, name))
    assert quoted + 1 == len(re.findall(r'<img src="data:,(\d+)" alt="image \1">', page))
    assert "<img" not in html_report(swayed)


def test_many_values_are_below_each_other_and_the_one_with_the_gap_is_named():
    ages = ["child", "teenager", "adult", "senior", "elder"]
    text = {age: f"a {age} with a dog" for age in ages}
    values = ages * 60
    sides = {
        "predictions": [text[age] if number % 3 else text["child"] for number, age in enumerate(values)],
        "references": [[text[age]] * 3 for age in values],
        "attributes": values,
        "attribute_lexicon": {age: [age] for age in ages},
    }
    measured = sway.measure(**sides, trust_rows=True, bootstrap=50, details=True)
    called = words_of(["age"], None, len(ages))
    said = {("nic", "sway_wrong_gap"): measured.estimates["sway_wrong_gap"].verdict}
    portrait = portrait_of({"nic": measured.flat()}, said, called)
    assert portrait.values == ages
    heights = [re.search(rf'y="([\d.]+)"[^>]*>{age}<', "".join(naming_drawing(portrait).parts)) for age in ages]
    assert sorted({float(place[1]) for place in heights if place}) == [float(place[1]) for place in heights if place]
    assert len(portrait.rows[0].answers["sway_wrong_gap"][0].lines) == 1
    assert {portrait.misnaming(value) for value in portrait.values} == {"named wrong"}
    assert portrait.rows[0].answers["sway_wrong_gap"][0].lines[0].endswith((" worse", " better"))


def test_objects_are_told_of_once_all_of_them_are_given(swayed, defaults):
    assert not in_a_line(swayed, OBJECTS).startswith("Cannot tell: people leave")
    first = defaults.captioners[0]
    settings = defaults.measurement("sway", first).settings | {"tasks": "named"}
    named = changed(defaults, "sway", first, settings=settings)
    assert in_a_line(named, OBJECTS).startswith("Cannot tell: people leave objects out")
    assert any("are given at once" in line for line in doubts(defaults))


def test_without_people_what_differs_is_said_and_without_sway_scores_claim(alone, two):
    assert headline(alone).startswith("Nothing was found that differs; what is the same")
    others = replace(two, comparisons={"lic": two.comparisons["lic"]})
    assert headline(others).startswith(("Nothing was found", "Both captioners show", "sat shows"))
    assert audit_portrait(others) is None
