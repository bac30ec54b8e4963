"""JSON files in blocks: what is read, and every way in which a file can be wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from captionbias.datasets import records
from captionbias.datasets.records import (
    box,
    check_known,
    check_unique,
    file_name,
    flag,
    image,
    number,
    read_records,
    short,
    text,
    whole,
)

CHECKS = {"id": whole, "name": text}
ROWS = [{"id": row, "name": f'"{row}" \\ [{{ \u00e9', "more": [[row]]} for row in range(7)]


def read(path: Path, key: str = "rows", optional: tuple[str, ...] = ()) -> list[tuple[Any, Any]]:
    blocks = read_records(path, key, CHECKS, optional)
    return [pair for block in blocks for pair in zip(block["id"], block["name"], strict=True)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "file.json"


@pytest.mark.parametrize("block", [1, 3, 7, 8192])
@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_records_come_whole_whatever_the_block(
    block: int, indent: int | None, ascii_only: bool, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "BLOCK", block)
    content = {"info": {"rows": [1], "a": [{"rows": 2}]}, "rows": ROWS, "other": None}
    file.write_text(json.dumps(content, indent=indent, ensure_ascii=ascii_only), encoding="utf-8")
    assert read(file) == [(row["id"], row["name"]) for row in ROWS]
    blocks = list(read_records(file, "rows", CHECKS))
    assert [len(columns["id"]) for columns in blocks] == [block] * (7 // block) + [7 % block] * (7 % block > 0)


def test_an_array_of_records_has_no_key(file: Path) -> None:
    file.write_text(json.dumps(ROWS))
    assert len(read(file, "")) == 7


@pytest.mark.parametrize(("key", "content"), [("rows", '{"rows": []}'), ("", "[]"), ("rows", '{"a": 1, "rows":[]}')])
def test_an_empty_list_is_a_list(key: str, content: str, file: Path) -> None:
    file.write_text(content)
    assert read(file, key) == []


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_file_cut_off_anywhere_is_refused(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("cut") / "file.json"
    whole_file = json.dumps({"rows": ROWS, "other": [{"a": "b"}]}, ensure_ascii=False).encode()
    file.write_bytes(whole_file[: data.draw(st.integers(0, len(whole_file) - 1))])
    with pytest.raises(ValueError, match=r"file\.json is not whole JSON .*fetch the file again"):
        read(file)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"  ",
        b"PK\x03\x04",
        b"<html>",
        b'{"rows": [{"id": 1, "name": "a"}]} x',
        b'{"rows": [{"id": 1, "name": "a"},]}',
        b'{"rows": [{"id": NaN, "name": "a"}]}',
        b'{"rows": [{"id": 1e999, "name": "a"}]}',
        b'{"rows": [{"id": 123456789012345678901234567890, "name": "a"}]}',
        b'{"rows": [{"id": 1, "name": "\xff"}]}',
        '{"rows": []}'.encode("utf-16"),
    ],
)
def test_what_is_no_json_is_refused(content: bytes, file: Path) -> None:
    file.write_bytes(content)
    with pytest.raises(ValueError, match=r"file\.json is not whole JSON \(.*\), after 0 records: fetch the file again"):
        read(file)


@pytest.mark.parametrize(
    ("key", "content"),
    [
        ("rows", "{}"),
        ("rows", "[]"),
        ("rows", "3"),
        ("rows", '{"rows": 3}'),
        ("rows", '{"rows": null}'),
        ("rows", '{"rows": {}}'),
        ("rows", '{"Rows": [], "a": {"rows": []}}'),
        ("", "{}"),
        ("", '{"rows": []}'),
        ("", '"a"'),
    ],
)
def test_a_file_without_the_list_is_refused(key: str, content: str, file: Path) -> None:
    file.write_text(content)
    wanted = r'an object with "rows": \[\.\.\.\]' if key else "an array of records"
    with pytest.raises(ValueError, match=rf"file\.json has no list of records there: it must be {wanted}"):
        read(file, key)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (3, r"rows\[4\] is no object: every record is one, with id, name"),
        (None, r"rows\[4\] is no object"),
        ([], r"rows\[4\] is no object"),
        ({"id": 4}, r'rows\[4\] has no "name": every record needs one'),
        ({"name": "a"}, r'rows\[4\] has no "id"'),
        ({"id": None, "name": "a"}, r'rows\[4\]: "id" is None: it must be a whole number'),
        ({"id": 4.0, "name": "a"}, r'rows\[4\]: "id" is 4\.0: it must be a whole number'),
        ({"id": True, "name": "a"}, r'rows\[4\]: "id" is True'),
        ({"id": "4", "name": "a"}, r"""rows\[4\]: "id" is '4'"""),
        ({"id": -4, "name": "a"}, r'rows\[4\]: "id" is -4'),
        ({"id": [4], "name": "a"}, r'rows\[4\]: "id" is \[4\]'),
        ({"id": {"a": 4}, "name": "a"}, r'rows\[4\]: "id" is \{'),
        ({"id": 4, "name": None}, r'rows\[4\]: "name" is None: it must be a string'),
        ({"id": 4, "name": 5}, r'rows\[4\]: "name" is 5: it must be a string'),
    ],
)
@pytest.mark.parametrize("block", [2, 8192])
def test_the_first_bad_record_is_named(
    bad: Any, message: str, block: int, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "BLOCK", block)
    file.write_text(json.dumps({"rows": [*ROWS[:4], bad, *ROWS[5:], bad]}))
    with pytest.raises(ValueError, match=r"^file\.json: " + message):
        read(file)


def test_an_optional_field_may_be_missing_or_null_and_is_checked_where_it_is_there(file: Path) -> None:
    file.write_text('[{"id": 1}, {"id": 2, "name": null}]')
    assert read(file, "", optional=("name",)) == [(1, None), (2, None)]
    file.write_text('[{"id": 1}, {"id": 2, "name": 3}]')
    with pytest.raises(ValueError, match=r'^file\.json\[1\]: "name" is 3'):
        read(file, "", optional=("name",))


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a\\"":['])
def test_deep_nesting_is_refused_at_once(opening: str, file: Path) -> None:
    """ijson keeps the path of every open bracket: 100,000 of them would take many gigabytes."""
    file.write_text('{"rows": [{"id": 1, "name": "a", "more": ' + opening * 100_000)
    with pytest.raises(ValueError, match=r"file\.json has more than 100 brackets open at once"):
        read(file)


@settings(max_examples=60, deadline=None)
@given(names=st.lists(st.text(st.sampled_from('[{]}"\\a\n\u00e9')), min_size=1), size=st.integers(1, 40))
def test_brackets_in_strings_open_nothing(names: list[str], size: int) -> None:
    import io

    content = json.dumps([{"id": 1, "name": name} for name in names] * 200).encode()
    file = records._Shallow(io.BytesIO(content), "file.json")
    parts = list(iter(lambda: file.read(size * 7), b""))
    assert b"".join(parts) == content
    assert (file._depth, file._in_string) == (0, False)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.json"):
        with pytest.raises(ValueError, match=rf"{path} cannot be read \(.*\): put the file there"):
            read(path)


@given(values=st.lists(st.integers(0, 9)))
def test_the_first_value_that_stands_twice_is_named(values: list[int]) -> None:
    again = next((row for row, value in enumerate(values) if value in values[:row]), None)
    if again is None:
        check_unique("a.json", "id", np.array(values))
    else:
        earlier = values.index(values[again])
        with pytest.raises(ValueError, match=rf'a\.json\[{again}\]: "id" {values[again]} stands at \[{earlier}\]'):
            check_unique("a.json", "id", np.array(values))


@given(values=st.lists(st.integers(0, 9)), known=st.sets(st.integers(0, 9), min_size=1))
def test_the_first_unknown_value_is_named(values: list[int], known: set[int]) -> None:
    strange = next((row for row, value in enumerate(values) if value not in known), None)
    if strange is None:
        check_known("a.json", "id", np.array(values, np.int64), np.array(sorted(known)))
    else:
        with pytest.raises(ValueError, match=rf'a\.json\[{100 + strange}\]: "id" {values[strange]} is unknown'):
            check_known("a.json", "id", np.array(values), np.array(sorted(known)), 100)


NAN, HUGE = float("nan"), 10**400


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (whole, [0, 2**63 - 1], [True, -1, 2**63, HUGE, 10**5000, 1.0, "1", None, [], {}]),
        (image, [0, "0", "42", 2**62], [True, "a", "", "-1", "1.0", " 1", "\u0663", "9" * 19, "1" * 5000, None, 1.0]),
        (flag, [0, 1], [True, False, 2, 1.0, "1", None, []]),
        (number, [0, -1.5, 10**30], [True, NAN, float("inf"), 1e39, -1e300, HUGE, 10**5000, "1", None, []]),
        (box, [[0, 1.5, 2, 3]], [[0, 1, 2], [0, 1, 2, 3, 4], [0, 1, 2, NAN], [0, 1, 2, "3"], (0, 1, 2, 3), None, 1]),
        (text, ["", "a", "\u00e9", "\U0001f600"], ["\ud83d", "a\udc00", None, 1, b"a", ["a"]]),
        (
            file_name,
            ["a.jpg", "a b", "joaqu\u00e3\u00adn", "\u00e3\u0089toile", "a..b"],
            ["", " ", ".", "..", "../a", "a/b", "/a", "a\\b", "a\nb", "a\0", "a\x1b[1m", "\ud83d", None, 1],
        ),
    ],
)
def test_checks(check: Any, good: list[Any], bad: list[Any]) -> None:
    assert [check(value) for value in good] == [None] * len(good)
    for value in bad:
        fault = check(value)
        assert fault.startswith("is ")
        assert len(fault) < 300


def test_what_is_huge_deep_or_tangled_is_shown_short() -> None:
    deep: list[Any] = []
    for _ in range(10_000):
        deep = [deep]
    tangled: list[Any] = []
    for _ in range(100):
        tangled = [tangled, tangled]  # written out, 2 to the 100 brackets
    circle: list[Any] = []
    circle.append(circle)
    for value in (deep, tangled, circle, "a" * 10**6, list(range(10**6)), 10**5000, [10**5000], {"a": 10**5000}):
        assert len(short(value)) < 300
