"""A table in a terminal of any width: each word and each interval in one piece, and no head is cut."""

import re

import pytest

from captionbias.report.grid import RULE, Grid, GridColumn, Scored, Strong
from captionbias.statistics.samples import Estimate
from tests.report.conftest import rendered

HEADS = ["word", "goes with", "beyond people", "of female: captioner", "of female: people", "of male: captioner"]
ROW = ["lady or gentleman", "female", Scored(Estimate(-13.8, -14.3, -13.2), 1), 14.6, 11.0, 16.3]
WORDS = Grid(
    "Words that follow a value [95% interval]",
    tuple(GridColumn(name, "" if number < 2 else ".1f") for number, name in enumerate([*HEADS, "not only said more"])),
    [Strong([*ROW, "yes\nof course"]), RULE, ["  [b]size[/b] counted as wrong", *ROW[1:], "no"]],
    "Of 100 captions.",
)


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_no_word_of_a_head_and_no_interval_is_cut(width):
    text = rendered(WORDS, width)
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    words = set(re.findall(r"\S+", text))
    assert words >= {word for column in WORDS.columns for word in column.name.split()}
    assert words >= {"gentleman", "[b]size[/b]", "14.6", "yes"}
    assert not re.search("yes +of", text), "a line of a cell stays one"
    assert text.count("[-14.3, -13.2]") == 2
    assert (text.count(WORDS.title), text.count(WORDS.meaning)) == (1, 1)


def test_columns_for_which_there_is_no_room_go_below_beside_the_first():
    assert rendered(WORDS, 200).count("gentleman") == 1
    assert rendered(WORDS, 60).count("gentleman") == 2
    lines = rendered(WORDS, 60).splitlines()
    assert [line.split()[0] for line in lines if "goes" in line or "only" in line] == ["goes", "not"]


def test_the_rest_of_an_indented_row_is_indented():
    text = rendered(WORDS, 40)
    assert text.count("\n  counted as") == text.count("\n  wrong") == 3
    assert not re.search("^(counted|as|wrong)", text, re.MULTILINE)


@pytest.mark.parametrize("width", [4, 20, 60])
def test_a_name_that_is_longer_than_the_terminal_is_folded(width):
    name = "captioner" * 10
    grid = Grid("", (GridColumn(name), GridColumn("score", ".1f")), [[name, 1.5]])
    text = rendered(grid, width)
    assert name in re.sub(r"\s|1\.5|score|─", "", text)
    assert max(map(len, text.splitlines())) <= width
