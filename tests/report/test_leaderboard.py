"""The rows: every number is the metric's, every sentence follows from numbers shown, and nothing lacks a verdict."""

import itertools
import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from captionbias.analysis.audit import audit
from captionbias.bench.catalogue import main_scores
from captionbias.bench.sentence import GROUPS, words_of
from captionbias.bench.verdicts import BEYOND, CANNOT_TELL, LIKE, MORE, NOTHING_FOUND
from captionbias.captions import CaptionBiasWarning, check_captions
from captionbias.metrics import Result, sway
from captionbias.metrics.sway.claims import gap_claim
from captionbias.report import views
from captionbias.report.html import html_report
from captionbias.report.leaderboard import (
    about,
    answers,
    audit_leaderboard,
    beside_tasks,
    captioner_rows,
    gap_title,
    gaps,
    leaderboard,
    most_swayed,
    quality_leaderboard,
    title,
)
from captionbias.report.markdown import markdown_report
from captionbias.report.quotes import behind, examples
from captionbias.report.rows import rows_markdown, rows_of
from captionbias.report.svg import CHARACTER, WIDE, picture
from captionbias.report.terminal import comparison_tables
from captionbias.report.views import bars_table
from captionbias.report.wording import interval, shortened, verdict_text
from captionbias.statistics.samples import Estimate
from captionbias.synthetic import plant
from tests.metrics.test_sway_questions import of_women, woman_is, world
from tests.report.conftest import QUICK, changed, rendered

SVG = "{http://www.w3.org/2000/svg}"


def rows(**captions):
    """The rows of a captioner called nic."""
    measured = sway.measure(**captions, bootstrap=200, details=True)
    return captioner_rows({"sway": measured.flat()}, "nic")


def with_verdicts(audit, verdicts):
    """The audit as if it had found this."""
    told = replace(audit)
    told.__dict__["verdicts"] = verdicts
    return told


def titled(audit):
    return title(audit_leaderboard(audit))


@pytest.fixture(scope="module")
def defaults():
    """Captioners that call some of the women men."""
    people = world(600)
    shares = {"some": 0.2, "most": 0.5, "none": 0.0}
    captioners = {name: of_women(dict(people), woman_is("a man"), shares[name])["predictions"] for name in shares}
    people.pop("predictions")
    return audit(captioners, **people, metrics=["sway"], **QUICK | {"bootstrap": 1000})


def test_bars_are_the_levels_people_are_the_first_row_and_the_worst_the_next(defaults):
    board = audit_leaderboard(defaults)
    assert [row.name for row in board.every_row] == ["people", "most", "some", "none"]
    assert [column.title for column in board.columns][:2] == ["Women called men", "Men called women"]
    for row in board.rows:
        level = {one["attribute"]: one for one in defaults.details("sway", row.name)["level"]}
        for bar, people, value in zip(row.bars, board.people.bars, ("female", "male"), strict=False):
            assert bar.estimate[:3] == (
                level[value]["wrong"],
                level[value]["wrong_ci_low"],
                level[value]["wrong_ci_high"],
            )
            assert bar.text == f"{level[value]['wrong']:.0f}"
            assert people.estimate.value == level[value]["wrong_person"]
            assert bar.verdict == defaults.verdicts[row.name, "sway_wrong_gap"]
    assert [(row.mark, row.verdict) for row in board.rows[:2]] == [("▲", MORE)] * 2
    assert next(answers(board, defaults, "most")).verdict == "more than people, worse for women"
    assert board.rows[2].verdict in (LIKE, CANNOT_TELL)
    first, second, *_ = board.columns
    assert (first.low, first.high) == (second.low, second.high), "on one scale"


def test_the_title_has_the_largest_number_and_peoples_and_the_lines_below_what_it_is_of(defaults, swayed):
    board = audit_leaderboard(defaults)
    most, people = (row.bars[0].text for row in (board.rows[0], board.people))
    assert titled(defaults) == f"most calls {most} of 100 women men. People: {people}."
    assert f"Three captioners, {board.rows[2].bars[0].text} to {most} of 100 women called men" in about(board, defaults)
    told = about(board, swayed, "planted.csv")
    assert "600 images (300 of women and 300 of men), gender as labelled in planted.csv · 1,800 human captions" in told
    board = audit_leaderboard(swayed)
    ((name, value),) = most_swayed(board)
    wrong, person = (board.wrong[one][value] for one in (name, ""))
    numbers = [f"{one.value:.0f}" for one in (wrong.own, wrong.other, person.own, person.other)]
    told = re.findall(r"\d+", beside_tasks(board, name, value).replace("of 100", ""))
    assert (name, told) == ("biased", numbers)
    cells = {
        (one["attribute"], one["suggested"]): one["captioner_wrong"] for one in swayed.details("sway", name)["cells"]
    }
    other = {"female": "male", "male": "female"}[value]
    assert (wrong.own.value, wrong.other.value) == (cells[value, value], cells[value, other])


def test_what_was_left_out_is_told_with_what_was_measured(defaults):
    note = "400 of 1,000 images have no label in gender and are left out (first: 7, 8)"
    board, noted = audit_leaderboard(defaults), changed(defaults, "sway", "some", notes=[note])
    assert about(board, noted).endswith("400 of 1,000 images have no label in gender and are left out.")
    people = vars(plant(200))
    nic = check_captions(**people, image_ids=range(200))
    with pytest.warns(CaptionBiasWarning, match="not every captioner"):
        told = audit({"nic": nic, "sat": nic.select(range(150))}, metrics=["lic"], **QUICK)
    assert "50 of 200 images of nic are left out: not every captioner has" in about(audit_leaderboard(told), told)


SIGNS = (-6, 0, 6)


@pytest.mark.parametrize("kind", ["wrong", "unnamed"])
def test_a_gap_is_claimed_in_words_that_the_numbers_shown_bear_out(kind):
    """Whatever the signs of the captioner's gap, of people's, and of what is beyond people."""
    told = set()
    for raw, person, beyond in itertools.product(SIGNS, SIGNS, (-4, 4)):
        level = [
            {"attribute": value, kind: 20 + side * raw / 2, f"{kind}_person": 20 + side * person / 2}
            for value, side in (("female", 1), ("male", -1))
        ]
        over = [
            {"attribute": row["attribute"], f"{kind}_gap": side * beyond}
            for row, side in zip(level, (1, -1), strict=True)
        ]
        claim = gap_claim({"level": level, "gaps": over}, kind, "gender")
        worse = 1 if beyond > 0 else -1  # whom the claim is about
        own, people = worse * raw, worse * person
        assert re.search("women" if worse > 0 else r"\bmen", claim).start() < 30
        if "less seldom than people do" in claim:
            assert people < own <= 0
        elif "than people would on images as hard to see" in claim:
            assert own <= 0 or own <= people
        else:
            assert own > max(people, 0), claim
        told.add(claim)
    assert len(told) == 6


def test_a_title_is_of_a_number_above_peoples_or_of_another_claim(defaults):
    more = with_verdicts(defaults, {("none", "sway_unnamed_gap"): MORE})
    assert titled(more).startswith("none leaves ")
    nothing = with_verdicts(defaults, dict.fromkeys(defaults.verdicts, CANNOT_TELL))
    assert titled(nothing).startswith("Nothing was found that is more than people's")
    board = audit_leaderboard(nothing)
    assert [*most_swayed(board), *examples(nothing, board)] == []


def test_the_sentence_of_a_result_is_the_same_read_from_a_file(swayed, defaults):
    for audited, name in ((swayed, "biased"), (swayed, "faithful"), (defaults, "most")):
        result = audited.measurement("sway", name).flat()
        flat = {key: value for key, value in result.items() if key != "details"}
        assert Result(json.loads(json.dumps(flat))).sentence == result.sentence


def test_two_captioners_are_told_apart_by_their_paired_difference(swayed, defaults):
    board = audit_leaderboard(swayed)
    between = gaps(board, swayed.comparisons)
    for number, value in enumerate(board.wrong["biased"]):
        one, other = (board.wrong[name][value].every.value for name in ("biased", "faithful"))
        assert between[number].estimate.value == pytest.approx(one - other)
    assert re.fullmatch(
        r"faithful calls \d+ fewer of 100 (women men|men women) than biased \[\d+, \d+\]\.", gap_title(board, between)
    )
    assert between[0].sure == (between[0].estimate.low > 0 or between[0].estimate.high < 0)
    assert between[0].estimate.low < between[0].estimate.value < between[0].estimate.high
    terminal, *_ = comparison_tables(swayed.comparisons["sway"])
    assert (terminal.title, len(terminal.rows)) == (gap_title(board, between), 3)
    unclear = [gap and gap._replace(sure=False) for gap in between]
    assert gap_title(board, unclear) == "No difference between biased and faithful is more than chance."
    assert gaps(audit_leaderboard(defaults), defaults.comparisons) == []


def test_questions_are_counted_over_those_that_are_asked_and_answered_in_the_terminals_words(defaults, swayed):
    for audited in (defaults, swayed):
        board = audit_leaderboard(audited)
        for row in board.rows:
            told = list(answers(board, audited, row.name))
            keys = [part.key for one in board.asked for part in one.parts if (row.name, part.key) in audited.verdicts]
            estimates = audited.measurement("sway", row.name).estimates
            for answer, key in zip(told, keys, strict=True):
                estimate = estimates[key]._replace(verdict=audited.verdicts[row.name, key])
                assert answer.verdict == verdict_text(key, estimate, audited.details("sway", row.name))
                assert answer.size.startswith(interval(estimate, 1))
            if row.said:
                more = [
                    one
                    for one in board.asked
                    if any(audited.verdicts.get((row.name, part.key)) in BEYOND for part in one.parts)
                ]
                assert row.said == f"in {len(more)} of {len(board.asked)} questions"


def test_for_whom_tasks_matter_and_of_whom_there_are_too_few_images_is_told_with_the_verdict():
    details = {
        "t_to_a": [{"attribute": "female", "extra_ci_low": -1.0}, {"attribute": "male", "extra_ci_low": 2.0}],
        "cells": [
            {"attribute": of, "suggested": "male", "images": {"female": 15, "male": 90}[of]}
            for of in ("female", "male")
        ],
    }
    estimate = Estimate(3.0, 1.0, 5.0, detectable=11.6, verdict=CANNOT_TELL)
    told = verdict_text("sway_t_to_a", estimate, details)
    assert told == "cannot tell (would see 11.6): clear for men, too few images of women (15)"
    details["cells"][0]["images"] = 30
    assert verdict_text("sway_t_to_a", estimate, details).endswith("clear for men, not for women")


def test_of_a_person_nothing_is_more_and_who_names_one_value_alone_is_never_like_people():
    board = rows(**world())
    assert board.rows[0].verdict in (LIKE, CANNOT_TELL)
    assert board.rows[0].bars[2][1:3] == ("none found", NOTHING_FOUND)
    board = rows(**of_women(world(), woman_is("a man")))
    assert board.rows[0].verdict == MORE
    assert title(board).startswith("nic calls ")


def test_objects_have_a_column_where_all_are_listed_words_name_one_and_left_out_where_one_is_more(swayed, defaults):
    keys = [audit_leaderboard(one).keys for one in (swayed, defaults)]
    assert ["sway_a_to_t" in of for of in keys] == [True, True]
    first = defaults.captioners[0]
    named = changed(defaults, "sway", first, settings=defaults.measurement("sway", first).settings | {"tasks": "named"})
    board = audit_leaderboard(with_verdicts(named, named.verdicts | {("most", "sway_unnamed_gap"): MORE}))
    assert board.keys == ["female", "male", "sway_words", "sway_unnamed_gap"]
    assert re.fullmatch("(Women|Men) left out more|One gender left out", board.columns[-1].title)
    board = rows(**of_women(world(), lambda text: f"{text} happy", 0.2))
    assert (board.keys[2], board.columns[2].example) == ("sway_words", "“happy”, of women")


def test_captions_behind_a_row_mark_only_what_put_them_there(swayed):
    board = audit_leaderboard(swayed)
    leans = {row["task"]: row["goes_with"] for row in swayed.details("sway", "biased")["leans"]}
    groups = list(behind(swayed, board, "biased"))
    assert groups[0].title == "Women called men beside objects that go with men"
    evidence = swayed.evidence["captioners"]["biased"]["cells"]["t_to_a"]
    for one in groups:
        assert one.captions == evidence[one.place]["images"] >= len(one.quotes) > 0
        suggested = evidence[one.place]["suggested"]
        for quote in one.quotes:
            named = {piece for piece, kind in quote.person if kind == "attribute"}
            assert named & ({"woman", "girl", "lady"} if one.value == "female" else {"man", "boy", "guy"})
            marked = [{piece for piece, kind in text if kind == "task"} for text in (quote.captioner, quote.person)]
            assert {leans.get(piece, suggested) for pieces in marked for piece in pieces} <= {suggested}
            assert quote.about.startswith(f"goes with {'women' if suggested == 'female' else 'men'}")
            assert ("alone" in quote.about) == (not marked[0] and bool(marked[1]))
    assert {quote.name for quote in examples(swayed, board)} == {"biased"}


def test_the_images_themselves_stand_beside_their_captions_where_they_are_given(swayed):
    images = {row: {**image, "id": str(row)} for row, image in swayed.evidence["images"].items()}
    given = replace(swayed, evidence={**swayed.evidence, "images": images})
    page = html_report(given, picture_of="data:,{}".format)
    assert re.search(r'<img src="data:,(\d+)" alt="image \1">', page)
    assert "<img" not in html_report(swayed)


@pytest.mark.parametrize("number", [4, 5])
def test_of_many_values_four_have_a_column(number):
    ages = ["child", "teenager", "adult", "senior", "elder"][:number]
    values = ages * 60
    text = {age: f"a {age} with a dog" for age in ages}
    board = rows(
        predictions=[text[age] if number % 3 else text["child"] for number, age in enumerate(values)],
        references=[[text[age]] * 3 for age in values],
        attributes=values,
        attribute_lexicon={age: [age] for age in ages},
        trust_rows=True,
    )
    assert board.keys[:4] == [age for age in ages if age != "child" or number == 4]
    assert {board.misnaming(value) for value in ages} == {"named wrong"}


def test_without_sway_or_people_the_main_scores_are_columns_and_scores_claim(alone, two):
    assert titled(alone).startswith("Nothing was found that differs; what is the same")
    assert audit_leaderboard(alone).people is None
    board = audit_leaderboard(replace(two, comparisons={"lic": two.comparisons["lic"]}))
    assert board.keys == ["lic"]
    lic = {row.name: row.bars[0].estimate for row in board.rows}
    assert lic == {name: two.measurement("lic", name).estimates["lic"] for name in lic}


# The picture, and rows of files


@pytest.mark.parametrize("which", ["happy", "two", "alone", "hostile"])
def test_every_number_is_in_the_picture_nothing_is_cut_and_no_name_is_a_part_of_it(request, which):
    audited = request.getfixturevalue(which)
    board = audit_leaderboard(audited)
    root = ElementTree.fromstring(picture(audited))
    height = float(root.get("viewBox").split()[-1])
    shown = list(root.iter(f"{SVG}text"))
    assert {shortened(row.name, 18) for row in board.rows} <= {one.text for one in shown}
    assert [
        bar.text for row in board.every_row for bar in row.bars if bar.text not in [one.text for one in shown]
    ] == []
    told = root.find(f"{SVG}desc").text
    assert all(
        interval(bar.estimate, column.digits) in told
        for row in board.rows
        for column, bar in zip(board.columns, row.bars, strict=True)
        if bar.estimate
    )
    for one in shown[1:]:
        assert float(one.get("x")) + float(one.get("font-size")) * CHARACTER * 0.9 * len(one.text) <= WIDE + 20, (
            one.text
        )
        assert 0 < float(one.get("y")) < height


def test_a_bar_and_its_interval_are_where_their_numbers_are_and_below_0_on_the_other_side():
    sizes = {"a": (6.0, 4.0, 8.0), "b": (-2.0, -4.0, 0.5)}
    results = {name: [Result(lic=lic, lic_ci_low=low, lic_ci_high=high)] for name, (lic, low, high) in sizes.items()}
    board = leaderboard(results, {("a", "lic"): MORE}, words_of(["gender"], None, 2))
    (column,) = board.columns
    assert [column.at(number) for number in (-4, 0, 2, 8)] == [0, pytest.approx(33.33), 50, 100]
    assert [row.name for row in board.rows] == ["a", "b"]


def test_in_60_columns_rows_are_told_apart(defaults):
    board = audit_leaderboard(defaults)
    text = rendered(bars_table(board), 60)
    assert text.splitlines()[0] == titled(defaults)
    first = [next(line for line in text.splitlines() if line[2:].startswith(name)) for name in ("most", "some", "none")]
    assert [line[0] for line in first] == [row.mark for row in board.rows]
    assert [line.split()[2] for line in first] == [row.bars[0].text for row in board.rows]
    lengths = [line.count("█") for line in first]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] > lengths[1]


def test_what_was_found_at_least_has_no_upper_end():
    flat = {"sway_words": 5.7, "sway_words_ci_low": 4.2, "sway_words_detectable": 2.0, "signature": "s"}
    (found,) = rows_of({"metric": "sway", "scores": flat}, "nic")
    assert (found.low, found.high, found.verdict) == (4.2, None, "more than people")
    assert "| 5.7, at least 4.2 | more than people |" in rows_markdown([found])
    assert "5.7, at least 4.2" in picture(flat)
    flat = {"sway_unnamed_gap": 5.0, "sway_unnamed_gap_ci_low": 3.0, "sway_unnamed_gap_ci_high": 7.0}
    assert "5.0 [3.0, 7.0]" in picture(flat | {"sway_unnamed_gap_verdict": MORE, "signature": "s"})


@pytest.mark.parametrize(
    ("keys", "shown"),
    [
        ("dbac_a_to_t_net dbac_a_to_t dbac_a_to_t_matched omega_m_a_to_t", "dbac_a_to_t_net"),
        ("dbac_a_to_t dbac_a_to_t_matched", "dbac_a_to_t_matched dbac_a_to_t"),
        ("lic_m", "lic_m"),
        ("ratio error error_excess unnamed", "error_excess ratio"),
        ("dpa_a_to_t dpa_a_to_t_excess dpa_a_to_t_human", "dpa_a_to_t_excess"),
    ],
)
def test_scores_with_a_verdict_are_shown_and_else_what_there_is(keys, shown):
    assert [score.key for score in main_scores(keys.split())] == shown.split()


def test_what_was_measured_what_was_returned_and_what_a_file_holds_are_shown_alike(tmp_path):
    measured = sway.measure(**vars(plant(200, captions=3)), details=True, bootstrap=20)
    flat = measured.flat()
    shown = picture(measured)
    assert shown == picture(flat) == picture(json.loads(json.dumps(flat)))
    without = {key: value for key, value in flat.items() if key != "details"}
    assert shown != picture(without), "with what is behind it"
    shown.save(tmp_path / "nic.svg")
    assert (tmp_path / "nic.svg").read_text() == shown._repr_svg_()
    assert "background:#ffffff" in shown._repr_svg_()
    with pytest.raises(ValueError, match=r"does not end in \.svg"):
        shown.save(tmp_path / "nic.png")


def test_what_is_tolerated_is_said_with_the_verdict(defaults):
    told = replace(defaults, settings=defaults.settings | {"margins": {"sway_wrong_gap": 5.0}})
    said = {row.name: row.said for row in audit_leaderboard(told).rows}
    assert said["most"].endswith("; gap in wrong names beyond 5")
    assert said["none"].endswith("gap in wrong names within 5")


@pytest.mark.parametrize(("value", "sign", "said"), [("female", 1, "worse for women"), ("male", -1, "worse for men")])
def test_whose_captions_are_worse_has_rows_of_its_own_to_the_right_of_0_for_the_first_value(value, sign, said):
    people = vars(plant(600, captions=3))
    faithful = people.pop("predictions")
    empty = {row for row, label in enumerate(people["attributes"]) if label == value and row % 3 < 2}
    short = ["A person." if row in empty else text for row, text in enumerate(faithful)]
    found = audit(
        {"faithful": faithful, "short": short}, **people, metrics=["sway", "quality_gaps"], **QUICK | {"bootstrap": 400}
    )
    board = quality_leaderboard(found)
    assert [column.title for column in board.columns] == ["Objects left out", "Objects invented", "CIDEr lost"]
    assert [bar.text for bar in board.people.bars] == ["0"] * 3
    worst = board.rows[0]
    assert (worst.name, worst.verdict in BEYOND, worst.said) == ("short", True, said)
    left_out, _, cider = worst.bars
    measured = found.measurement("quality_gaps", "short")
    beyond, person = (measured.estimates[f"recall_gap_{of}"].value for of in ("excess", "human"))
    assert min(sign * end for end in (*left_out.estimate.ends, cider.estimate.value)) > 0
    assert left_out.estimate.value == -beyond
    levels = ", ".join(f"{people} {measured.facts[f'recall_{of}']:.1f}" for of, people in GROUPS.items())
    told = f"{abs(person):.1f} {'more' if person > 0 else 'less'}"
    assert left_out.made_of == f"Named of 100 shown: {levels}; of a person women {told} than men"
    assert board.columns[0][2:5] == board.columns[1][2:5] != board.columns[2][2:5], "of 100 on one scale"
    for text in (html_report(found), markdown_report(found)):
        assert "Are captions of one gender worse?" in text
        assert "Above 0 captions of women are worse, below 0 those of men." in text
    assert not views.papers(found).rows
    assert quality_leaderboard(replace(found, comparisons={})) is None
