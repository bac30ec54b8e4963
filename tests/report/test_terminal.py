"""Results as people read them, and as files: what is undefined, what an interval says, nothing half written."""

from __future__ import annotations

import io
import json
import math
import re

import pytest
from rich.console import Console

from captionbias.metrics import dbac, lic
from captionbias.report import dbac_table, interval, lic_table, verdict, write_json
from captionbias.synthetic import plant

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # 80 images are few

CHOSEN = {"preset": "fast", "trials": 2, "bootstrap": 30}
INTERVAL = re.compile(r"-?\d+\.\d+ \[-?\d+\.\d+, -?\d+\.\d+\]")


@pytest.fixture(scope="module")
def planted():
    return vars(plant(images=80, captions=1, a_to_t=0.5))


@pytest.fixture(scope="module")
def amplifying(planted):
    return dbac(**planted, **CHOSEN)


def rendered(table, width=80):
    console = Console(file=io.StringIO(), width=width)
    console.print(table)
    return console.file.getvalue()


def row(text, label):
    """The cells of the row with this label."""
    (line,) = (line for line in text.splitlines() if line.strip().startswith(label))
    return re.split(r"\s{2,}", line.strip())[1:]


def bounds(low, high):
    return {"lic": (low + high) / 2, "lic_ci_low": low, "lic_ci_high": high}


# One score


def test_an_interval_stands_behind_its_score():
    assert interval(bounds(-1.25, 3.75), "lic", 2) == "1.25 [-1.25, 3.75]"


def test_without_a_bootstrap_a_score_stands_alone():
    assert interval({"lic": 1.26}, "lic", 1) == "1.3"


def test_an_undefined_score_is_no_number():
    assert interval({"lic_m": 1.0}, "lic", 1) == verdict({"lic_m": 1.0}, "lic") == "-"


def test_nothing_reads_minus_zero():
    assert interval({"lic": -0.0004, "lic_ci_low": -0.0001, "lic_ci_high": 0.0}, "lic", 3) == "0.000 [0.000, 0.000]"


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.1, 2.0, "amplifies"),
        (-2.0, -0.1, "mitigates"),
        (-0.1, 2.0, "no clear change"),
        (0.0, 2.0, "no clear change"),
        (-2.0, 0.0, "no clear change"),
    ],
)
def test_a_verdict_is_given_only_when_the_interval_leaves_out_0(low, high, words):
    assert verdict(bounds(low, high), "lic") == words


def test_a_matched_dbac_near_0_has_no_verdict_however_narrow_its_interval():
    """Faithful captioners read up to 0.01, by the attackers' unequal number of captions."""
    for score, words in ((0.009, "no clear change"), (-0.009, "no clear change"), (0.011, "amplifies")):
        key = "dbac_a_to_t_matched"
        assert verdict({key: score, f"{key}_ci_low": score - 1e-3, f"{key}_ci_high": score + 1e-3}, key) == words


def test_a_score_without_an_interval_has_no_verdict():
    assert verdict({"lic": 5.0}, "lic") == "-"


# Tables


def test_lic_of_two_sides_has_both_their_difference_and_a_verdict(planted):
    result = lic(**planted, **CHOSEN)
    text = rendered(lic_table(result, labels=2))
    for label, suffix in (("captioner", "_m"), ("human captions", "_d"), ("difference", "")):
        assert row(text, label) == [
            interval(result, f"{score}{suffix}", 1) for score in ("lic", "leakage", "confidence")
        ]
    assert row(text, "verdict") == [verdict(result, score) for score in ("lic", "leakage", "confidence")]


@pytest.mark.parametrize(
    ("given", "shown", "absent"),
    [("predictions", "captioner", "human captions"), ("references", "human captions", "captioner")],
)
def test_lic_of_one_side_compares_it_with_chance_alone(planted, given, shown, absent):
    result = lic(**{given: planted[given]}, attributes=planted["attributes"], **CHOSEN)
    text = rendered(lic_table(result, labels=2))
    assert len(row(text, shown)) == 3
    assert not any(line.strip().startswith((absent, "difference", "verdict")) for line in text.splitlines())
    assert "amplifies" not in text


@pytest.mark.parametrize(
    ("labels", "chance"), [(2, ["25.0 or more", "50.0", "50.0"]), (4, ["6.2 or more", "25.0", "25.0"])]
)
def test_chance_depends_on_the_number_of_labels(labels, chance):
    assert (
        row(rendered(lic_table({"lic_m": 30.0, "leakage_m": 50.0, "confidence_m": 50.0}, labels)), "chance") == chance
    )


def test_dbac_of_two_sides_has_matched_and_published_in_both_directions(amplifying):
    text = rendered(dbac_table(amplifying))
    for label, ending in (("DBAC, matched", "_matched"), ("DBAC, as published", ""), ("its weights alone", "_prior")):
        assert row(text, label) == [interval(amplifying, f"dbac_{d}{ending}", 3) for d in ("a_to_t", "t_to_a")]
    assert row(text, "verdict") == [verdict(amplifying, f"dbac_{d}_matched") for d in ("a_to_t", "t_to_a")]
    for label, side in (("omega, captioner", "m"), ("omega, human captions", "h")):
        assert row(text, label) == [interval(amplifying, f"omega_{side}_{d}", 3) for d in ("a_to_t", "t_to_a")]


def test_dbac_of_one_direction_has_one_column(planted):
    text = rendered(dbac_table(dbac(**planted, **CHOSEN, directions=["t_to_a"])))
    assert len(row(text, "DBAC, matched")) == 1
    assert "T to A" in text
    assert "A to T" not in text


@pytest.mark.parametrize(
    ("given", "shown", "absent"),
    [("predictions", "captioner", "human captions"), ("references", "human captions", "captioner")],
)
def test_dbac_of_one_side_has_its_omega_alone(planted, given, shown, absent):
    alone = {name: planted[name] for name in (given, "attributes", "tasks")}
    text = rendered(dbac_table(dbac(**alone, **CHOSEN)))
    assert len(row(text, f"omega, {shown}")) == 2
    assert f"omega, {absent}" not in text
    assert "DBAC," not in text.split("\n", 1)[1]
    assert "amplifies" not in text


def test_dbac_that_cannot_be_matched_says_so_with_a_dash():
    labels = ["female", "male"] * 30
    result = dbac(
        predictions=["a person with a dog"] * 60,
        references=[["a person with a cake"]] * 60,
        attributes=labels,
        directions=["a_to_t"],
        **CHOSEN,
    )
    text = rendered(dbac_table(result))
    assert row(text, "DBAC, matched") == row(text, "verdict") == ["-"]
    assert row(text, "DBAC, as published") != ["-"]


def test_tables_keep_every_interval_in_one_piece_on_80_columns():
    extreme = {"low": -99.9, "high": -88.8}
    result = {}
    for score in ("lic", "leakage", "confidence"):
        for key in (score, f"{score}_m", f"{score}_d"):
            result |= {key: -94.4, f"{key}_ci_low": extreme["low"], f"{key}_ci_high": extreme["high"]}
    text = rendered(lic_table(result, labels=2))
    assert len(INTERVAL.findall(text)) == 9
    assert max(map(len, text.splitlines())) <= 80


def test_the_dbac_table_fits_80_columns_and_does_not_spread_on_wide_ones(amplifying):
    narrow, wide = rendered(dbac_table(amplifying)), rendered(dbac_table(amplifying), width=200)
    assert len(INTERVAL.findall(narrow)) == 10
    assert narrow == wide


# Files


def strict(text):
    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

    return json.loads(text, parse_constant=refuse)


def test_what_is_undefined_becomes_null_however_deep(tmp_path):
    path = tmp_path / "result.json"
    write_json({"a": math.nan, "b": [{"c": math.inf}, (1.5, -math.inf)], "d": "é", "e": 3, "f": None}, path)
    expected = {"a": None, "b": [{"c": None}, [1.5, None]], "d": "é", "e": 3, "f": None}
    assert strict(path.read_text(encoding="utf-8")) == expected
    assert [file.name for file in tmp_path.iterdir()] == ["result.json"]


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "result.json"
    write_json({"old": 1}, path)
    with pytest.raises(TypeError):
        write_json({"new": object()}, path)
    assert strict(path.read_text()) == {"old": 1}
    write_json({"new": 2}, path)
    assert strict(path.read_text()) == {"new": 2}
    assert [file.name for file in tmp_path.iterdir()] == ["result.json"]


def test_a_link_stays_a_link(tmp_path):
    link = tmp_path / "latest.json"
    link.symlink_to(tmp_path / "result.json")
    write_json({"a": 1}, link)
    assert link.is_symlink()
    assert strict((tmp_path / "result.json").read_text()) == {"a": 1}
