"""JSON files record by record: what is read, and every way in which a file can be wrong."""

import json

import pytest

from captionbias.datasets.json_records import read_records

ROWS = [{"id": row, "name": f'"{row}" \\ [{{ \u00e9', "more": [[row]]} for row in range(7)]


def read(path, key="rows"):
    return list(read_records(path, key, {"id": int, "name": str}))


@pytest.fixture
def file(tmp_path):
    return tmp_path / "file.json"


@pytest.mark.parametrize("ascii_only", [True, False])
def test_records_come_whole(ascii_only, file):
    content = {"info": {"rows": [1], "a": [{"rows": 2}]}, "rows": ROWS, "other": None}
    file.write_text(json.dumps(content, indent=1, ensure_ascii=ascii_only), encoding="utf-8")
    assert read(file) == ROWS
    file.write_text(json.dumps(ROWS, ensure_ascii=ascii_only), encoding="utf-8")
    assert read(file, "") == ROWS


@pytest.mark.parametrize(
    ("key", "content"),
    [
        ("rows", b"<html>"),
        ("rows", b'{"rows": [{"id": 1, "name": "a"}]} x'),
        ("rows", b'{"rows": [{"id": 1, "name": "\xff"}]}'),
        ("rows", b"[]"),
        ("rows", b'{"Rows": [], "a": {"rows": [1]}}'),
        ("", b'{"rows": [1]}'),
    ],
)
def test_what_is_not_json_or_has_no_such_records_is_refused(key, content, file):
    file.write_bytes(content)
    with pytest.raises(ValueError, match=r"file\.json"):
        read(file, key)


@pytest.mark.parametrize(("bad", "field"), [(3, "id"), ({"id": 4}, "name"), ({"id": 4.5, "name": "a"}, "id")])
def test_the_first_bad_record_is_named(bad, field, file):
    file.write_text(json.dumps({"rows": [*ROWS[:4], bad, *ROWS[5:], bad]}))
    with pytest.raises(ValueError, match=rf'rows\[4\]: "{field}'):
        read(file)
