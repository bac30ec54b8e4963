"""JSON files record by record: what is read, and every way in which a file can be wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from captionbias.datasets.json_records import (
    box,
    caption,
    check_unique,
    file_name,
    flag,
    image_id,
    number,
    pixels,
    read_records,
    text,
    whole,
)

CHECKS = {"id": whole, "name": text}
ROWS = [{"id": row, "name": f'"{row}" \\ [{{ \u00e9', "more": [[row]]} for row in range(7)]


def read(path: Path, key: str = "rows", optional: tuple[str, ...] = ()) -> list[Any]:
    return list(read_records(path, key, CHECKS, optional))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "file.json"


@pytest.mark.parametrize("ascii_only", [True, False])
def test_records_come_whole(ascii_only: bool, file: Path) -> None:
    content = {"info": {"rows": [1], "a": [{"rows": 2}]}, "rows": ROWS, "other": None}
    file.write_text(json.dumps(content, indent=1, ensure_ascii=ascii_only), encoding="utf-8")
    assert read(file) == ROWS
    file.write_text(json.dumps(ROWS, ensure_ascii=ascii_only), encoding="utf-8")
    assert read(file, "") == ROWS


@pytest.mark.parametrize(("key", "content"), [("rows", '{"rows": []}'), ("", "[]"), ("rows", '{"a": 1, "rows":[]}')])
def test_an_empty_list_is_a_list(key: str, content: str, file: Path) -> None:
    file.write_text(content)
    assert read(file, key) == []


@settings(max_examples=40, deadline=None)
@given(share=st.floats(0, 0.999))
def test_a_file_cut_off_anywhere_is_refused(share: float, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("cut") / "file.json"
    content = json.dumps({"rows": ROWS, "other": [{"a": "b"}]}, ensure_ascii=False).encode()
    file.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(ValueError, match=r"file\.json is not whole JSON .*fetch the file again"):
        read(file)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<html>",
        b'{"rows": [{"id": 1, "name": "a"}]} x',
        b'{"rows": [{"id": 1e999, "name": "a"}]}',
        b'{"rows": [{"id": 123456789012345678901234567890, "name": "a"}]}',
        b'{"rows": [{"id": 1, "name": "\xff"}]}',
        '{"rows": []}'.encode("utf-16"),
    ],
)
def test_what_is_not_json_is_refused(content: bytes, file: Path) -> None:
    file.write_bytes(content)
    with pytest.raises(
        ValueError, match=r"file\.json is not whole JSON \(.*\), after \d records: fetch the file again"
    ):
        read(file)


@pytest.mark.parametrize(
    ("key", "content"),
    [
        ("rows", "[]"),
        ("rows", '{"rows": {}}'),
        ("rows", '{"Rows": [], "a": {"rows": []}}'),
        ("", '{"rows": []}'),
    ],
)
def test_a_file_without_the_list_is_refused(key: str, content: str, file: Path) -> None:
    file.write_text(content)
    wanted = r'an object with "rows": \[\.\.\.\]' if key else "an array of records"
    with pytest.raises(ValueError, match=rf"file\.json must be {wanted}: check that it is the right file"):
        read(file, key)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (3, r"rows\[4\] must be an object with id, name, not 3"),
        ({"id": 4}, r'rows\[4\] has no "name": add it or remove the record'),
        ({"id": None, "name": "a"}, r'rows\[4\]: "id" must be a whole number, 0 or above, not None'),
        ({"id": 4, "name": 5}, r'rows\[4\]: "name" must be a string, not 5'),
    ],
)
def test_the_first_bad_record_is_named(bad: Any, message: str, file: Path) -> None:
    file.write_text(json.dumps({"rows": [*ROWS[:4], bad, *ROWS[5:], bad]}))
    with pytest.raises(ValueError, match=r"^file\.json: " + message):
        read(file)


def test_an_optional_field_may_be_missing_or_null_and_is_checked_where_it_is_there(file: Path) -> None:
    file.write_text('[{"id": 1}, {"id": 2, "name": null}]')
    assert len(read(file, "", optional=("name",))) == 2
    file.write_text('[{"id": 1}, {"id": 2, "name": 3}]')
    with pytest.raises(ValueError, match=r'^file\.json\[1\]: "name" must be a string, not 3'):
        read(file, "", optional=("name",))


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.json"):
        with pytest.raises(ValueError, match=rf"{path} cannot be read \(.*\): put the file there"):
            read(path)


@given(values=st.lists(st.integers(0, 9)))
def test_the_first_value_that_occurs_again_is_named(values: list[int]) -> None:
    again = next((row for row, value in enumerate(values) if value in values[:row]), None)
    if again is None:
        check_unique("a.json", "id", np.array(values))
    else:
        earlier = values.index(values[again])
        with pytest.raises(ValueError, match=rf'a\.json\[{again}\]: "id" {values[again]} is also at \[{earlier}\]'):
            check_unique("a.json", "id", values)


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (whole, [0, 2**63 - 1], [True, -1, 2**63, 1.0, "1", None, [], {}]),
        (image_id, [0, "0", "42", 2**62], [True, "a", "", "-1", "1.0", " 1", "\u0663", "9" * 19, None, 1.0]),
        (pixels, [0, 65_535], [-1, 65_536, 1.5, "1", None]),
        (flag, [0, 1], [2, "1", None, []]),
        (number, [0, -1.5, 10**30], [True, float("nan"), float("inf"), 1e39, -1e300, "1", None, []]),
        (box, [[0, 1.5, 2, 3]], [[0, 1, 2], [0, 1, 2, 3, 4], [0, 1, 2, 1e39], [0, 1, 2, "3"], (0, 1, 2, 3), None, 1]),
        (text, ["", "a", "\u00e9", "\U0001f600"], ["\ud83d", "a\udc00", None, 1, b"a", ["a"]]),
        (caption, ["", "a" * 10_000], ["a" * 10_001, None]),
        (
            file_name,
            ["a.jpg", "a b", "joaqu\u00e3\u00adn", "\u00e3\u0089toile", "a..b"],
            ["", " ", ".", "..", "../a", "a/b", "/a", "a\\b", "a\0", "\ud83d", None, 1],
        ),
    ],
)
def test_checks(check: Any, good: list[Any], bad: list[Any]) -> None:
    assert [check(value) for value in good] == [None] * len(good)
    for value in bad:
        fault = check(value)
        assert fault.startswith("must ")
        assert len(fault) < 200
