"""Tables: what comes out is what went in, it lies in the file and not in memory, and the file is whole."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from captionbias.attackers.base import Examples
from captionbias.attackers.convex import bow
from captionbias.attackers.shared_examples import open_table, write_table
from captionbias.attackers.workers import in_workers
from captionbias.text import tokenize
from captionbias.text.tokens import Tokens

pytest.importorskip("datasets")
needs_maps = pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="the system does not list what is mapped")


def examples(captions: list[str], targets: list[object], outputs: int = 2) -> Examples:
    return Examples(tokenize(captions), np.array(targets), outputs)


def same(one: Examples, other: Examples) -> bool:
    """Bit for bit, shapes and types included."""
    pairs = [
        (one.tokens.ids, other.tokens.ids),
        (one.tokens.offsets, other.tokens.offsets),
        (one.targets, other.targets),
    ]
    return (
        all(left.dtype == right.dtype and np.array_equal(left, right) for left, right in pairs)
        and one.tokens.words == other.tokens.words
        and one.outputs == other.outputs
    )


TWO = examples(["a man .", "a dog"], [0, 1])
CASES = {
    "classes": TWO,
    "tasks": examples(["a cat", "a cup", "a cat and a cup"], [[True, False], [False, True], [True, True]]),
    "one task": examples(["a cat", "a cup"], [[True], [False]], outputs=1),
    "captions without words": examples(["", "a", ""], [0, 1, 1]),
    "no words at all": examples(["", ""], [0, 1]),
    "no captions": Examples(tokenize([]), np.zeros(0, np.int64), 2),
    "no captions of tasks": Examples(tokenize([]), np.zeros((0, 3), bool), 3),
    "more classes than seen": examples(["a", "b"], [0, 1], outputs=5),
    "words of any script": examples(["кошка 猫 Ñandú", "🐈"], [0, 1]),
    "half of an emoji": examples(["a \ud83d cat", "a"], [0, 1]),
}


@pytest.mark.parametrize("name", CASES)
def test_what_comes_out_is_what_went_in(name, tmp_path):
    assert same(open_table(write_table(CASES[name], tmp_path)), CASES[name])


@settings(deadline=None, max_examples=25)
@given(lengths=st.lists(st.integers(0, 5), max_size=30), data=st.data())
def test_any_examples_come_out_as_they_went_in(lengths, data, tmp_path_factory):
    n, total = len(lengths), sum(lengths)
    ids = data.draw(arrays.arrays(np.int32, total, elements=st.integers(0, 9)))
    shape = data.draw(st.sampled_from([(n,), (n, 1), (n, 11)]))
    dtype = np.int64 if len(shape) == 1 else np.bool_
    targets = data.draw(arrays.arrays(dtype, shape, elements=st.integers(0, 2) if len(shape) == 1 else st.booleans()))
    tokens = Tokens(ids, np.concatenate(([0], np.cumsum(lengths, dtype=np.int64))), tuple("abcdefghij"))
    # Slices and transposed arrays reach attackers too.
    targets = np.asfortranarray(targets) if len(shape) == 2 else targets
    one = Examples(tokens, targets, shape[1] if len(shape) == 2 else 3)
    assert same(open_table(write_table(one, tmp_path_factory.mktemp("table"))), one)


@pytest.mark.parametrize("kind", ["class_trial", "task_trial"])
def test_attackers_read_a_table_like_any_examples(kind, request, tmp_path):
    trial = request.getfixturevalue(kind)(n=120, test=40)
    here, there = bow(trial), bow(replace(trial, examples=open_table(write_table(trial.examples, tmp_path))))
    assert here.log_probability.tobytes() == there.log_probability.tobytes()
    assert here.correct.tobytes() == there.correct.tobytes()


def lies_in(path: Path, array: np.ndarray) -> bool:
    """Whether the array's memory is this file, mapped."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        addresses, _, _, _, inode, *name = line.split(maxsplit=5)
        start, end = (int(address, 16) for address in addresses.split("-"))
        if start <= array.ctypes.data and array.ctypes.data + array.nbytes <= end:
            return int(inode) == path.stat().st_ino and name == [str(path)]
    return False


@needs_maps
@pytest.mark.parametrize("name", ["classes", "tasks"])
def test_arrays_are_the_file(name, tmp_path):
    path = write_table(CASES[name], tmp_path)
    opened = open_table(path)
    for array in (opened.tokens.ids, opened.tokens.offsets, opened.targets):
        assert lies_in(path, array)
        assert array.flags.aligned
        assert not array.flags.writeable
    assert not lies_in(path, CASES[name].tokens.ids)


@needs_maps
def test_workers_share_the_file(tmp_path):
    path = write_table(CASES["tasks"], tmp_path)

    def is_the_file(item: int) -> tuple[int, bool, bool]:
        opened = open_table(path)
        found = any(f" {path.stat().st_ino} " in line for line in Path("/proc/self/maps").read_text().splitlines())
        return os.getpid(), found, same(opened, CASES["tasks"])

    found = [result for _, result in in_workers(is_the_file, range(4), 2)]
    assert all(mapped and whole for _, mapped, whole in found)
    assert os.getpid() not in {pid for pid, _, _ in found}


def test_a_process_opens_a_table_once(tmp_path):
    path = write_table(TWO, tmp_path)
    assert open_table(path) is open_table(path)


CHANGED = {
    "a word": replace(TWO, tokens=replace(TWO.tokens, words=("a", "men", ".", "dog"))),
    "where words end": replace(TWO, tokens=replace(TWO.tokens, words=("a", "ma", "n.", "dog"))),
    "a token": replace(TWO, tokens=replace(TWO.tokens, ids=np.array([0, 1, 2, 0, 1], np.int32))),
    "where captions end": replace(TWO, tokens=replace(TWO.tokens, offsets=np.array([0, 2, 5]))),
    "a target": replace(TWO, targets=np.array([1, 1])),
    "flags for classes": replace(TWO, targets=np.array([[False, True], [False, False]])),
    "outputs": replace(TWO, outputs=3),
}


@pytest.mark.parametrize("what", CHANGED)
def test_other_examples_are_another_file(what, tmp_path):
    assert write_table(CHANGED[what], tmp_path) != write_table(TWO, tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


def test_equal_examples_are_written_once(tmp_path):
    folder = tmp_path / "not" / "there" / "yet"
    path = write_table(TWO, folder)
    written = path.stat()
    assert write_table(examples(["a man .", "a dog"], [0, 1], outputs=np.int64(2)), folder) == path
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (written.st_ino, written.st_mtime_ns)
    assert list(folder.iterdir()) == [path]


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """A disk that is full, as far as this process can tell."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_table_is_written_whole_or_not_at_all(tmp_path):
    many = Examples(Tokens(np.zeros(100_000, np.int32), np.arange(100_001), ("a",)), np.zeros(100_000, np.int64), 2)
    with largest_file(200_000), pytest.raises(OSError, match="too large"):
        write_table(many, tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert same(open_table(write_table(many, tmp_path)), many)


LARGE = """
import sys
from pathlib import Path
import datasets, numpy as np, pyarrow
from captionbias.attackers.shared_examples import open_table, write_table
from captionbias.attackers.base import Examples
from captionbias.text.tokens import Tokens

def megabytes(name):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(name)) / 1024

captions, length, tasks = 1_000_000, 20, 80
tokens = Tokens(np.ones(captions * length, np.int32), np.arange(captions + 1) * length, ("a", "b"))
large = Examples(tokens, np.ones((captions, tasks), bool), tasks)
Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
before = megabytes("VmHWM")
path = write_table(large, Path("tables"))
print(megabytes("VmHWM") - before)
del tokens, large
before = megabytes("RssAnon")
opened = open_table(path)
assert opened.targets.sum() == captions * tasks and opened.tokens.ids.sum() == captions * length
print(megabytes("RssAnon") - before)
"""


@needs_maps
def test_a_million_captions_are_held_once_and_nothing_else_is_touched(tmp_path):
    for folder in ("home", "work", "temporary"):
        (tmp_path / folder).mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "XDG_"))}
    done = subprocess.run(
        [sys.executable, "-c", LARGE],
        capture_output=True,
        text=True,
        cwd=tmp_path / "work",
        env={**kept, "HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path / "temporary")},
    )
    assert done.stderr == ""
    while_writing, when_read = map(float, done.stdout.splitlines())
    size = 160  # megabytes, of which 80 are flags
    assert while_writing < size / 4
    assert when_read < size / 4
    (table,) = (file for file in tmp_path.rglob("*") if file.is_file())
    assert table.parent == tmp_path / "work" / "tables"
    assert table.stat().st_size > size * 1_000_000
