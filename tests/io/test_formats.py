"""Formats of results: tables as CSV that no spreadsheet runs, JSON without what JSON cannot say."""

import csv
import io
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from captionbias.io.formats import csv_text, json_text, read_json, write_json

FORMULAS = ["=1+1", "+1", "-1", "@sum(a1)", "\t=1", "\r=1", "\n=1", "  =1", "\u00a0=1", "\x0b=1", "-", "\tx"]
FORMULAS += ["\uff1d1", "\uff0b1", "\uff0d1", " \uff20x"]
HARMLESS = ["", "x\r=1", "x\n=1", "knife", "a=b", "1-2", "'=1", "a, b", 'a "b"', "two\nlines", "é→", "1.5"]
# A NUL is refused by the csv module of Python 3.10; half of a surrogate pair is not text.
WORDS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)
TEXT = WORDS | st.sampled_from(FORMULAS + HARMLESS) | st.tuples(st.sampled_from(FORMULAS), WORDS).map("".join)
NUMBERS = st.integers() | st.floats(allow_nan=False)


def read(text):
    return list(csv.reader(io.StringIO(text, newline="")))


@pytest.mark.parametrize("text", FORMULAS + HARMLESS)
def test_what_a_spreadsheet_could_run_gets_a_quote_before_it_and_other_text_stays(text):
    written = f"'{text}" if text in FORMULAS else text
    assert read(csv_text([text, "value"], [[text, 0.5]])) == [[written, "value"], [written, "0.5"]]


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(TEXT, NUMBERS | st.none(), st.integers() | st.none())))
def test_the_csv_module_reads_back_every_cell(rows):
    header, *found = read(csv_text(["name", "value", "times"], rows))
    assert header == ["name", "value", "times"]
    for (text, *numbers), (read_text, *read_numbers) in zip(rows, found, strict=True):
        assert read_text in (text, f"'{text}")
        assert read_text.lstrip()[:1] not in tuple("=+-@\uff1d\uff0b\uff0d\uff20")
        assert not read_text.startswith(("\t", "\r", "\n"))
        assert read_numbers == ["" if number is None else str(number) for number in numbers]


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, np.float64("nan")])
def test_what_is_undefined_is_null_however_deep_it_is(number, tmp_path):
    content = {"lic": number, "trials": [{"lic": (1.5, number)}], "name": "é<"}
    assert json.loads(json_text(content)) == {"lic": None, "trials": [{"lic": [1.5, None]}], "name": "é<"}
    write_json({"lic": number, "name": "é"}, tmp_path / "all.json")
    assert (tmp_path / "all.json").read_text(encoding="utf-8") == '{\n  "lic": null,\n  "name": "é"\n}\n'


@pytest.mark.parametrize(
    ("text", "message"), [("[" * 100_000, "nested too deeply"), ('{"a": 1, "a": 2}', "is twice"), ("[1", "Expecting")]
)
def test_json_that_cannot_be_read_is_a_plain_error(text, message, tmp_path):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_json(tmp_path / "a.json")
