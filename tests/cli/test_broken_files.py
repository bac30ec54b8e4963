"""Files as nobody should write them: measured, or refused with a line that says why; broken ones are refused."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import math
import os
import re
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from typer.main import get_command

from captionbias.cli import app

EXAMPLES = int(os.environ.get("CAPTIONBIAS_BROKEN_FILES", "500"))
IMAGES = 24
SUFFIXES = ("csv", "tsv", "json", "jsonl", "parquet")
OPTIONS = ("predictions", "references", "attributes", "tasks")
NUMBER = re.compile(r"-?\d+\.\d+")
COMMAND = get_command(app)  # once: to make it takes longer than to run it
DEEP = b"[" * 100_000
# What is no caption, label or id, in formats that have types; and in those that have text alone.
NO_TEXT = (None, "", " \t", math.nan, 5, 10**400, True, [], ["a man"], {"a": "man"}, "a" * 10_001)
NO_LABEL = (None, "", math.nan, ["male"], {"a": 1}, "unsure", 1e300)
NO_ID = (None, "", "  ", math.nan, True, [1], {"a": 1})
ODD = (
    "\x00",
    "a man\x00",
    "\ud800",
    "\u202e nam",
    "NaN",
    "[",
    '["a man',
    "{}",
    "'",
    '"',
    "\r",
    "a;b,c\td",
    "\ufeff",
    -0.0,
)
EMPTY = ("", "  ")


def good_rows():
    """A table with everything, of which any command can be given a part."""
    return [
        {
            "image_id": image,
            "caption": f"a {who} with dog {image}",
            "references": [f"a {who} and a dog", f"the {who}"],
            "gender": "female" if who == "woman" else "male",
            "tasks": ["dog"],
        }
        for image in range(IMAGES)
        for who in [("woman", "man")[image % 2]]
    ]


NONE, BOTH = frozenset[str](), frozenset({"predictions", "attributes"})
READ_FOR = {"caption": frozenset({"predictions"}), "gender": frozenset({"attributes"}), "image_id": BOTH}
WRONG = {"caption": NO_TEXT, "gender": NO_LABEL, "image_id": NO_ID}
cells = st.sampled_from([(name, value) for name, values in WRONG.items() for value in values])
odd_cells = st.tuples(st.sampled_from(["caption", "gender", "image_id", "references", "tasks"]), st.sampled_from(ODD))
places = st.integers(0, IMAGES - 1)
faults = st.sampled_from(
    [
        *(
            "none",
            "wrong cell",
            "odd cell",
            "same id",
            "one label",
            "no caption column",
            "twice a column",
            "blank lines",
        ),
        *("cut", "byte", "random", "encoding", "gzip", "empty", "other JSON", "other name", "columns of other types"),
    ]
)
OTHER_JSON = [
    b"null",
    b"1",
    b'"text"',
    b"[1, 2]",
    b"{}",
    b"[]",
    b'{"annotations": 3}',
    b'{"annotations": []}',
    b"[[]]",
    b"[{}]",
    b"NaN",
    DEEP,
    b'{"a":' * 100_000,
    b"1" * 5000,
    b'[{"image_id": ' + b"9" * 5000 + b"}]",
    b'[{"image_id": 1e999, "caption": "a man", "gender": "male"}]',
]
TYPES = (
    pa.array([1.5] * IMAGES),
    pa.array([b"\xff\x00"] * IMAGES),
    pa.nulls(IMAGES),
    pa.array([{"a": "man"}] * IMAGES),
    pa.array([[["a man"]]] * IMAGES),
    pa.array([[None]] * IMAGES, pa.list_(pa.string())),
    pa.array([[]] * IMAGES, pa.list_(pa.string())),
    pa.array([0] * IMAGES, pa.timestamp("ns")),
    pa.array([True] * IMAGES),
    pa.array([[("a", "man")]] * IMAGES, pa.map_(pa.string(), pa.string())),
    pa.array([2**63] * IMAGES, pa.uint64()),
    pa.array([math.nan] * IMAGES),
)


def written(rows, suffix):
    """The rows as a file of this kind."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    if suffix in ("csv", "tsv"):
        text = io.StringIO(newline="")
        lists = [
            [json.dumps(cell) if isinstance(cell, (list, dict)) else cell for cell in map(row.get, names)]
            for row in rows
        ]
        options = {"delimiter": "\t" if suffix == "tsv" else ",", "escapechar": "\\"}  # which Python 3.10 wants for NUL
        csv.writer(text, **options).writerows([names, *lists])
        return text.getvalue().encode("utf-8", "surrogatepass")
    if suffix == "json":
        return json.dumps(rows).encode()
    if suffix == "jsonl":
        return "\n".join(map(json.dumps, rows)).encode()
    return parquet({name: [row.get(name) for row in rows] for name in names})


def parquet(columns):
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file)
    return file.getvalue()


class File(NamedTuple):
    """`broken`: the options for which there is no caption, label or id in it where one must be."""

    suffix: str
    content: bytes
    broken: frozenset[str]

    def __repr__(self) -> str:
        return f"File({self.suffix!r}, {self.content[:400]!r}, {self.broken})"


@st.composite
def files(draw):
    suffix, fault, rows = draw(st.sampled_from(SUFFIXES)), draw(faults), good_rows()
    typed, at = suffix in ("json", "jsonl"), draw(places)
    broken: frozenset[str] = NONE
    if fault == "wrong cell":
        name, value = draw(cells)
        if typed:
            rows[at][name], broken = value, READ_FOR[name]
        elif suffix != "parquet" or isinstance(value, (str, type(None))):
            value = value if isinstance(value, (str, type(None))) else ""
            if suffix == "parquet" and name == "image_id":
                for row in rows:
                    row[name] = str(row[name])
            rows[at][name], broken = value, READ_FOR[name]
    elif fault == "odd cell":
        name, value = draw(odd_cells)
        if suffix != "parquet":
            rows[at][name] = value
    elif fault == "same id":
        rows[at]["image_id"], broken = rows[at - 1]["image_id"], BOTH
    elif fault == "one label":
        rows = [{**row, "gender": "male"} for row in rows]
        broken = READ_FOR["gender"]
    elif fault == "no caption column":
        rows = [{name: cell for name, cell in row.items() if name not in ("caption", "references")} for row in rows]
        broken = READ_FOR["caption"]
    content = written(rows, suffix)
    if fault == "twice a column" and not typed:
        broken = READ_FOR["caption"]
        if suffix == "parquet":
            table = pa.table({name: [row[name] for row in rows] for name in rows[0]})
            table, file = table.append_column("caption", table["caption"]), io.BytesIO()
            pq.write_table(table, file)
            content = file.getvalue()
        else:
            content = content.replace(b"tasks", b"caption", 1)
    elif fault == "columns of other types" and suffix == "parquet":
        name = draw(st.sampled_from(["caption", "gender"]))
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        content, broken = parquet({**columns, name: draw(st.sampled_from(TYPES))}), READ_FOR[name]
    elif fault == "blank lines" and suffix in ("csv", "tsv", "jsonl"):
        content = content.replace(b"\n", b"\n\n")
    elif fault == "cut":
        content = content[: draw(st.integers(1, len(content) - 1))]
        broken = BOTH if suffix in ("json", "parquet") else NONE
    elif fault == "byte":
        place, byte = draw(st.integers(0, len(content))), draw(st.sampled_from([b"\x00", b"\xff", b'"', b"\n", b"{"]))
        content = content[:place] + byte + content[place:]
    elif fault == "random":
        content = draw(st.binary(min_size=1, max_size=200))
        broken = BOTH if suffix == "parquet" else NONE
    elif fault == "encoding" and suffix != "parquet":
        text = content.decode("utf-8", "surrogatepass")
        mark, encoding = draw(st.sampled_from([(codecs.BOM_UTF8, "utf-8"), (b"", "utf-16"), (b"", "utf-32")]))
        content = mark + text.encode(encoding, "surrogatepass")
    elif fault == "gzip":
        content, broken = gzip.compress(content), BOTH
    elif fault == "empty":
        content, broken = draw(st.sampled_from([b"", b"\n", b" \r\n", codecs.BOM_UTF8])), BOTH
    elif fault == "other JSON" and typed:
        content, broken = draw(st.sampled_from(OTHER_JSON)), BOTH
    elif fault == "other name":
        suffix = draw(st.sampled_from([*SUFFIXES, "txt", "parquet.gz", ""]))
    return File(suffix, content, broken)


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(files(), st.sampled_from(OPTIONS))
@example(File("json", DEEP, BOTH), "predictions")
@pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")
def test_a_file_is_measured_or_refused_in_a_line_and_a_broken_one_is_refused(tmp_path_factory, file, option):
    suffix, content, broken = file
    folder = tmp_path_factory.getbasetemp()
    good, given = folder / "good.json", folder / f"given.{suffix}".rstrip(".")
    if not good.exists():
        good.write_bytes(written(good_rows(), "json"))
    given.write_bytes(content)
    arguments = dict.fromkeys(OPTIONS, good) | {option: given}
    named = [f"--{name}={path}" for name, path in arguments.items()]
    found = CliRunner().invoke(COMMAND, ["measure", "gender_error", *named, "--bootstrap=0"], env={"COLUMNS": "200"})
    said = found.stderr.splitlines()
    assert found.exit_code in (0, 2), found.output
    assert isinstance(found.exception, (SystemExit, type(None)))
    assert "Traceback" not in found.output
    if found.exit_code:
        assert found.stdout == ""
        assert [line.partition(":")[0] for line in said] == ["note"] * (len(said) - 1) + ["error"]
    else:
        assert "nan" not in found.stdout
        assert NUMBER.search(found.stdout)
        assert option not in broken
