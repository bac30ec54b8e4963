"""JSON files record by record: what is read, and every way in which a file can be wrong."""

import json

import pytest

from captionbias.datasets.json_records import read_records
from tests.refusals import refuses

ROWS = [{"id": row, "name": f'"{row}" \\ [{{ \u00e9', "more": [[row]]} for row in range(7)]


@pytest.fixture
def read(tmp_path):
    """The records in a file with this content."""

    def read(content, key="rows"):
        (tmp_path / "file.json").write_bytes(content if isinstance(content, bytes) else content.encode())
        return list(read_records(tmp_path / "file.json", key, {"id": int, "name": str}))

    return read


def test_records_come_whole(read):
    content = {"info": {"rows": [1], "a": [{"rows": 2}]}, "rows": ROWS, "other": None}
    for ascii_only in (True, False):
        assert read(json.dumps(content, indent=1, ensure_ascii=ascii_only)) == ROWS
        assert read(json.dumps(ROWS, ensure_ascii=ascii_only), "") == ROWS


def test_what_is_not_json_or_has_no_such_records_is_refused(read):
    for content in (
        *(b"<html>", b'{"rows": [{"id": 1, "name": "a"}]} x', b'{"rows": [{"id": 1, "name": "\xff"}]}'),
        *(b"[]", b'{"Rows": [], "a": {"rows": [1]}}'),
    ):
        refuses(r"file\.json", read, content)
    refuses(r"file\.json", read, b'{"rows": [1]}', "")


def test_the_first_bad_record_is_named(read):
    for bad, field in [(3, "id"), ({"id": 4}, "name"), ({"id": 4.5, "name": "a"}, "id")]:
        refuses(rf'rows\[4\]: "{field}', read, json.dumps({"rows": [*ROWS[:4], bad, *ROWS[5:], bad]}))
