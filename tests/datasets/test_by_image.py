"""Rows collected by image, against a dict of lists."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from captionbias.datasets import by_image
from captionbias.datasets.by_image import ByImage, as_lists

SCHEMA = pa.schema({"words": pa.string(), "number": pa.int64()})
IMAGES = st.sampled_from([0, 3, 4, 7, 2**62])
BLOCKS = st.lists(st.lists(st.tuples(IMAGES, st.none() | st.text(max_size=3)), max_size=6), max_size=5)


@settings(max_examples=80, deadline=None)
@given(blocks=BLOCKS, asked=st.lists(st.sampled_from([0, 1, 3, 4, 7, 2**62, 2**63 - 1])))
def test_rows_come_out_as_from_a_dict_of_lists(blocks: list[list[tuple[int, str | None]]], asked: list[int]) -> None:
    expected: dict[int, list[tuple[str | None, int]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        rows, number = ByImage(Path(folder, "rows.arrow"), SCHEMA), 0
        for block in blocks:
            images, words = [image for image, _ in block], [said for _, said in block]
            rows.add(np.array(images, np.int64), {"words": words, "number": range(number, number + len(block))})
            for image, said in block:
                expected[image].append((said, number))
                number += 1
        rows.finish()
        assert rows.images.tolist() == [image for block in blocks for image, _ in block]
        assert rows.column("number").tolist() == list(range(number))
        assert rows.column("number").dtype == np.int64
        offsets, found = rows.of(np.array(asked, np.int64))
        lists = [as_lists(offsets, found[name]).to_pylist() for name in ("words", "number")]
        assert found.schema == SCHEMA
        pairs = [list(zip(*image, strict=True)) for image in zip(*lists, strict=True)]
        assert pairs == [expected[image] for image in asked]


def test_many_blocks_are_read_in_linear_time(tmp_path: Path) -> None:
    """600 blocks, asked for one image at a time: were all blocks joined for each, it would take minutes."""
    rows = ByImage(tmp_path / "rows.arrow", SCHEMA)
    for block in range(600):
        rows.add(np.arange(100) * 7 % 50, {"words": ["word"] * 100, "number": [block] * 100})
    rows.finish()
    for image in range(50):
        offsets, found = rows.of(np.array([image]))
        assert offsets.to_pylist() == [0, 1200]
        assert found["number"].to_pylist() == np.repeat(np.arange(600), 2).tolist()


PEAK = """
import sys
from pathlib import Path
import numpy as np
import pyarrow as pa
from captionbias.datasets.by_image import ByImage

rows = ByImage(Path(sys.argv[1], "rows.arrow"), pa.schema({"words": pa.string()}))
for block in range(20):
    rows.add(np.arange(1000), {"words": ["w" * 1000] * 1000})
rows.finish()
assert len(rows.of(np.array([500]))[1]) == 20
print(pa.default_memory_pool().max_memory())
"""


def test_rows_of_few_images_take_no_memory_for_all(tmp_path: Path) -> None:
    """20 blocks of 1 MB, of which 20 rows are asked for, in a process whose peak is its own."""
    source = str(Path(by_image.__file__).parents[2])
    command = [sys.executable, "-c", PEAK, str(tmp_path)]
    told = subprocess.run(command, env={**os.environ, "PYTHONPATH": source}, capture_output=True, check=True).stdout
    assert 1e6 < int(told) < 8e6
