"""What strangers upload is read like any file of captions, or refused in bounded time and memory with a reason."""

import json
import re
import subprocess
import sys

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from captionbias.app import uploads
from captionbias.app.uploads import open_tables, shown_name
from tests.patience import PATIENCE

RECORDS = [
    {"image_id": 7, "caption": "a man", "references": ["a guy", "he"], "gender": "male", "score": 0.5},
    {"image_id": 9, "caption": 'a girl, "小"', "references": ["a child"], "gender": None, "score": 1.0},
]


@pytest.fixture
def refused(tmp_path):
    """The reason for which content is refused. It names the file without its folder."""

    def refuse(content, ending=".csv"):
        path = tmp_path / f"mine{ending}"
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(ValueError, match=r"^mine") as raised:
            open_tables([path])
        assert str(tmp_path) not in str(raised.value)
        return str(raised.value)

    return refuse


def opened(tmp_path, content, ending=".csv"):
    path = tmp_path / f"mine{ending}"
    path.write_bytes(content)
    [table] = open_tables([path])
    path.unlink()  # the table needs it no more
    return {column: table.column(column) for column in table.columns}


@pytest.mark.parametrize("ending", [".jsonl", ".parquet", ".JSON"])
def test_numbers_lists_and_missing_cells_arrive_as_they_were(tmp_path, ending):
    path, table = tmp_path / f"mine{ending}", pd.DataFrame(RECORDS)
    table.to_parquet(path) if ending == ".parquet" else table.to_json(path, orient="records", lines=ending == ".jsonl")
    expected = {column: [record[column] for record in RECORDS] for column in RECORDS[0]}
    assert opened(tmp_path, path.read_bytes(), ending) == expected


def test_pictures_boxes_and_columns_without_a_name_are_left_out(tmp_path):
    row = {"id": 1, "": "x", "y" * 81: 1, "z\x1b": 1, "box": [[1, 2], [3, 4]], "image": {"bytes": "x"}, "caption": "a"}
    row["base64"] = "x" * 10_001
    assert opened(tmp_path, json.dumps([row]).encode(), ".json") == {"id": [1], "caption": ["a"]}
    pq.write_table(pa.Table.from_pylist([{**row, "raw": b"\0\xff"}]), tmp_path / "a.parquet")
    assert open_tables([tmp_path / "a.parquet"])[0].columns == ("id", "caption")


HEAD = "id,caption\n"


@pytest.mark.parametrize(
    ("content", "ending", "reason"),
    [
        ("", ".csv", "is empty: write it again"),
        (HEAD, ".csv", "has no rows"),
        (b"PK\x03\x04", ".docx", "has the ending '.docx': give a file that ends with one of .csv, .tsv"),
        (b"PAR1" + bytes(99) + b"PAR1", ".parquet", "cannot be read ("),
        ('[{"caption": ["a\\ud800"]}]', ".json", "has a NUL character (code 0) or half a character"),
        ("<!DOCTYPE html><title>Sign in</title>", ".csv", "has no rows of text or numbers: give a table of image ids"),
        ("caption, caption\na,b\n", ".csv", "has 2 columns named 'caption': rename all but one"),
        (",".join(map(str, range(101))) + "\n", ".csv", "has 101 columns, and no table may have more than 100"),
        (HEAD + '1,"' + "x " * 5000 + 'x"', ".csv", "has a text of 10,001 characters in column 'caption' ('x x x"),
        ('[{"a": ' + "[" * 500 + "]" * 500 + "}]", ".json", "has no rows of text or numbers"),
    ],
    ids=lambda text: text[:20],  # an environment variable holds them
)
def test_a_file_that_is_not_a_table_of_captions_is_refused_by_name(refused, content, ending, reason):
    message = refused(content if isinstance(content, bytes) else content.encode(), ending)
    assert message.startswith(f"mine{ending}")
    assert reason in message


def test_of_several_files_the_one_that_cannot_be_read_is_named(tmp_path, monkeypatch):
    paths = [tmp_path / f"{name}.csv" for name in "abc"]
    for path, content in zip(paths, (HEAD + "1,a\n", HEAD + '"1', HEAD + "2,b\n"), strict=True):
        path.write_text(content)
    with pytest.raises(ValueError, match=r"^b.csv cannot be read \(unexpected end of data\)"):
        open_tables(paths)
    assert [table.column("caption") for table in open_tables([paths[2], paths[0]])] == [["b"], ["a"]]
    dies = tmp_path / "python"  # after it has read the first
    dies.write_text("#!/bin/sh\nread -r paths\nprintf '[\"id\"]\\n[1]\\n'\nkill -9 $$\n")
    dies.chmod(0o700)
    uploads.stop_reading()
    monkeypatch.setattr(uploads.sys, "executable", str(dies))
    with pytest.raises(ValueError, match=r"^b.csv cannot be read: it is damaged, or needs too much memory"):
        open_tables(paths)


def test_a_missing_file_a_folder_and_a_link_are_not_files(refused, tmp_path):
    (tmp_path / "mine.json").mkdir()
    (tmp_path / "secret.tsv").write_text("id\tcaption\n1\ta\n")
    (tmp_path / "mine.tsv").symlink_to(tmp_path / "secret.tsv")
    for ending in (".csv", ".json", ".tsv"):
        assert refused(None, ending) == f"mine{ending} is not a file: upload it again"


def test_a_name_is_shown_without_folders_and_what_cannot_be_seen():
    assert shown_name("../../etc/passwd") == "passwd"
    assert shown_name(r"C:\people\a b.csv") == "a b.csv"
    assert shown_name("a\n\x1b[31m\u202eb.csv") == "a[31mb.csv"
    assert shown_name("x/") == "the file"
    assert shown_name("x" * 300 + ".parquet") == "x" * 67 + "...xx.parquet"


def test_a_file_that_is_too_big_is_not_read(tmp_path, refused):
    with (tmp_path / "mine.json").open("wb") as file:
        file.truncate(uploads.MAX_BYTES + 1)
    assert refused(None, ".json").startswith("mine.json has 100 MB, and no file may have more than 100 MB")


def test_too_many_rows_or_values_are_refused(refused):
    rows = (HEAD + "1,a\n" * (uploads.MAX_ROWS + 1)).encode()
    assert refused(rows) == "mine.csv has more than 400,000 rows: give fewer images"
    values = b'[{"a":[' + b"1," * uploads.MAX_VALUES + b"1]}]"
    assert refused(values, ".json").startswith("mine.json has more than 4,000,000 values")


def test_one_process_reads_file_after_file_until_one_cannot_be_read(tmp_path, refused):
    for _ in range(2):
        opened(tmp_path, (HEAD + "1,a\n").encode())
    [first] = uploads._idle
    refused(HEAD.encode())
    assert (first.poll() is None, uploads._idle) == (False, [])
    uploads.warm_up()
    assert uploads.ready_child().poll() is None
    uploads.stop_reading()
    assert not uploads._children


def test_a_reader_that_takes_too_long_is_stopped(refused, monkeypatch):
    monkeypatch.setattr(uploads, "SECONDS", 0.01)
    assert refused(b"id\n1\n") == "mine.csv takes more than 0.01 seconds to read: give a smaller file"


def dictionary_bomb(path):
    """4 GB of text, each value within its limit, stored once; metadata count a few kilobytes."""
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 400_000, pa.int32()), ["a" * 10_000])
    # Without the schema of Arrow, a reader takes the column for plain strings and unpacks each.
    pq.write_table(pa.table({"caption": column}), path, compression="zstd", store_schema=False)


def small_records(path):
    """Eleven million records of one number each."""
    path.write_text("[" + '{"a":1},' * 11_000_000 + "{}]")


MEASURE = """
import resource, sys
from pathlib import Path
from captionbias.app import uploads
uploads.SECONDS = float(sys.argv[2])
try:
    uploads.open_tables([Path(sys.argv[1])])
except ValueError as error:
    print(error)
own = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
print(int(own.split()[1]) / 1024)  # getrusage would count the process that started this one
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps the limit of memory")
@pytest.mark.parametrize(
    ("bomb", "ending", "reason", "megabytes"),
    [
        (dictionary_bomb, ".parquet", "unpacks to 53,248 cells and 532 MB", 600),
        (small_records, ".json", "memory", 2100),
    ],
)
def test_a_bomb_is_refused_in_bounded_memory(tmp_path, bomb, ending, reason, megabytes):
    path = tmp_path / f"mine{ending}"
    bomb(path)
    assert path.stat().st_size < uploads.MAX_BYTES
    command = [sys.executable, "-c", MEASURE, path, str(PATIENCE)]
    measured = subprocess.run(command, capture_output=True, text=True, check=True)
    message, own, children = measured.stdout.splitlines()
    assert re.match(f"mine{ending}.*{reason}", message)
    assert float(own) < 200
    assert float(children) < megabytes
