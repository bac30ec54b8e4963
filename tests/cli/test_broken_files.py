"""Files as nobody should write them: measured, or refused with a line that says why.

`tests/captions` has which of them are refused, and what the line says.
"""

import codecs
import csv
import gzip
import io
import json
import math
import os
import re

import pyarrow as pa
import pyarrow.parquet as pq
from click.testing import CliRunner
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from typer.main import get_command

from captionbias.cli.main import app

EXAMPLES = int(os.environ.get("CAPTIONBIAS_BROKEN_FILES", "120"))
SUFFIXES = ("csv", "tsv", "json", "jsonl", "parquet")
OPTIONS = ("predictions", "references", "attributes", "tasks")
COMMAND = get_command(app)  # once: to make it takes longer than to run it
DEEP = b"[" * 100_000
# A table with everything, of which any command can be given a part.
ROWS = [
    {
        "image_id": image,
        "caption": f"a {who} with dog {image}",
        "references": [f"a {who} and a dog", f"the {who}"],
        "gender": "female" if who == "woman" else "male",
        "tasks": ["dog"],
    }
    for image in range(24)
    for who in [("woman", "man")[image % 2]]
]
ODD = [None, "", " \t", math.nan, -0.0, 5, 10**400, 1e300, True, [], ["a man"], [None], {"a": "man"}, "a" * 10_001]
ODD += ["\x00", "a man\x00", "\ud800", "\u202e nam", "NaN", "[", '["a man', "{}", "'", '"', "\r", "a;b,c\td", "\ufeff"]
WHOLE = [b"", b"\n", b" \r\n", codecs.BOM_UTF8, b"null", b"1", b'"text"', b"[1, 2]", b"{}", b"[]", b"[[]]", b"[{}]"]
WHOLE += [b'{"annotations": 3}', b'{"annotations": []}', b"NaN", DEEP, b'{"a":' * 100_000, b"1" * 5000]
WHOLE += [b'[{"image_id": ' + b"9" * 5000 + b"}]", b'[{"image_id": 1e999, "caption": "a man", "gender": "male"}]']
TYPES = [
    pa.array([1.5] * 24),
    pa.array([b"\xff\x00"] * 24),
    pa.nulls(24),
    pa.array([[("a", "b")]] * 24, pa.map_("string", "string")),
]
TYPES += [pa.array([0] * 24, pa.timestamp("ns")), pa.array([2**63] * 24, pa.uint64()), pa.array([[["a man"]]] * 24)]


def written(rows, suffix):
    """The rows as a file of this kind."""
    if suffix == "parquet":
        return parquet({name: [row.get(name) for row in rows] for name in rows[0]})
    if suffix in ("csv", "tsv"):
        text = io.StringIO(newline="")
        options = {"delimiter": "\t" if suffix == "tsv" else ",", "escapechar": "\\"}  # which Python 3.10 wants for NUL
        cells = [
            [json.dumps(cell) if isinstance(cell, (list, dict)) else cell for cell in row.values()] for row in rows
        ]
        csv.writer(text, **options).writerows([list(rows[0]), *cells])
        return text.getvalue().encode("utf-8", "surrogatepass")
    return (json.dumps(rows) if suffix == "json" else "\n".join(map(json.dumps, rows))).encode()


def parquet(columns):
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file)
    return file.getvalue()


@st.composite
def files(draw):
    """A suffix and a content: a good file with one thing wrong, or anything."""
    suffix, column = draw(st.sampled_from(SUFFIXES)), draw(st.sampled_from(list(ROWS[0])))
    good, place = written(ROWS, suffix), draw(st.integers(0, 23))
    if suffix == "parquet":
        typed = {name: [row[name] for row in ROWS] for name in ROWS[0]} | {column: draw(st.sampled_from(TYPES))}
        odd = parquet(typed)
    else:
        rows = [
            {**row, column: draw(st.sampled_from(ODD))} if number == place else row for number, row in enumerate(ROWS)
        ]
        odd = written(rows, suffix)
    at, byte = draw(st.integers(0, len(good))), draw(st.sampled_from([b"\x00", b"\xff", b'"', b"\n", b"{"]))
    same_id = written([{**row, "image_id": 7} for row in ROWS], suffix)
    one_label = written([{**row, "gender": "male"} for row in ROWS], suffix)
    broken = [odd, same_id, one_label, good[:at], good[:at] + byte + good[at:], gzip.compress(good)]
    broken += [good.replace(b"tasks", b"caption", 1), good.replace(b"\n", b"\n\n"), draw(st.binary(max_size=200))]
    if suffix != "parquet":
        broken += [good.decode().encode(encoding) for encoding in ("utf-8-sig", "utf-16", "utf-32")]
    other = st.sampled_from([*SUFFIXES, "txt", "parquet.gz", ""])
    return draw(other) if draw(st.integers(0, 19)) == 0 else suffix, draw(st.sampled_from(broken + WHOLE))


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(files(), st.sampled_from(OPTIONS))
@example(("json", DEEP), "predictions")
def test_a_file_is_measured_or_refused_in_a_line(tmp_path_factory, file, option):
    suffix, content = file
    folder = tmp_path_factory.getbasetemp()
    good, given = folder / "good.json", folder / f"given.{suffix}".rstrip(".")
    good.write_bytes(written(ROWS, "json"))
    given.write_bytes(content)
    named = [f"--{name}={path}" for name, path in (dict.fromkeys(OPTIONS, good) | {option: given}).items()]
    found = CliRunner().invoke(COMMAND, ["measure", "gender_error", *named, "--bootstrap=0"], env={"COLUMNS": "200"})
    assert found.exit_code in (0, 2), found.output
    assert isinstance(found.exception, (SystemExit, type(None)))
    assert "Traceback" not in found.output
    if found.exit_code:
        *notes, error = found.stderr.splitlines()
        assert found.stdout == ""
        assert error.startswith("error: ")
        assert all(note.startswith("note: ") for note in notes)
    else:
        assert "nan" not in found.stdout
        assert re.search(r"-?\d+\.\d+", found.stdout)
