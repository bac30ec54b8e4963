"""Rows sorted by image, against a dict of lists."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from captionbias.datasets import rows_by_image
from captionbias.datasets.rows_by_image import RowsByImage

IMAGES = st.sampled_from([0, 3, 4, 7, 2**62])
ROWS = st.lists(
    st.tuples(IMAGES, st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=3), st.floats())
)


@settings(max_examples=60, deadline=None)
@given(rows=ROWS, wanted=st.sets(st.sampled_from([0, 1, 3, 4, 7, 2**62, 2**63 - 1])))
def test_rows_come_out_as_from_a_dict_of_lists(rows: list[tuple[int, str | None, float]], wanted: set[int]) -> None:
    rows = [(image, words, 0.5 if number != number else number) for image, words, number in rows]  # SQLite has no NaN
    expected = defaultdict(list)
    for row in rows:
        expected[row[0]].append(row)
    table = RowsByImage(["image", "words", "number"], rows)
    for _ in range(2):
        assert list(table) == [((image,), expected[image]) for image in sorted(expected)]
        assert list(table.of(sorted(wanted))) == [expected.get(image, []) for image in sorted(wanted)]


def test_several_columns_may_name_the_image() -> None:
    rows = [("b", "x", 1), ("a", "y", 2), ("a", "x", 3), ("a", "y", 4)]
    found = list(RowsByImage(["style", "painting", "number"], rows, keys=2))
    assert found == [(("a", "x"), [rows[2]]), (("a", "y"), [rows[1], rows[3]]), (("b", "x"), [rows[0]])]


PEAK = """
import resource, sys
from pathlib import Path
import ijson, datasets, numpy
from captionbias.datasets.json_records import read_records, whole
from captionbias.datasets.rows_by_image import RowsByImage

path = Path(sys.argv[1])
with path.open("w") as file:
    rows = ('{"id": %d, "words": "%s"}' % (row * 7919 % 20_000, "w" * 1000) for row in range(20_000))
    print("[", *(f"{row}," for row in rows), '{"id": 0, "words": ""}]', file=file)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
table = RowsByImage(["id", "words"], ((row["id"], row["words"]) for row in read_records(path, "", {"id": whole})))
assert [key for (key,), _ in table] == list(range(20_000))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    """20 MB of JSON, in a process whose peak is its own."""
    source = str(Path(rows_by_image.__file__).parents[2])
    command = [sys.executable, "-c", PEAK, str(tmp_path / "rows.json")]
    ran = subprocess.run(command, env={**os.environ, "PYTHONPATH": source}, capture_output=True, check=True)
    assert int(ran.stdout) < 8_000  # KB
