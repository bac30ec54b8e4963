"""Embeddings in the store: each text is encoded once, whatever is damaged, removed or running at the same time."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import captionbias
from captionbias.attackers.pretrained import embeddings as module
from captionbias.attackers.pretrained.embeddings import embed
from captionbias.captions import CaptionBiasWarning
from captionbias.cli import app
from captionbias.io.store import GIGABYTE, Store
from tests.patience import PATIENCE

WIDTH = 5
TEXTS = [f"caption {number}" for number in range(20)]


def right(texts: list[str]) -> np.ndarray:
    """Embeddings that anyone can compute: `(n, 5)`."""
    rows = [list(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:WIDTH]) for text in texts]
    return np.array(rows, np.float16).reshape(-1, WIDTH)


def encoded(store: Store | None, texts: list[str], identity: str = "an encoder") -> list[str]:
    """What had to be encoded on the way to the right embeddings."""
    fresh: list[str] = []

    def encode(some: list[str]) -> np.ndarray:
        fresh.extend(some)
        return right(some)

    found = embed(texts, encode, store, identity)
    assert found.dtype == np.float16
    assert found.tolist() == right(texts).tolist()
    return fresh


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(tmp_path / "store", GIGABYTE)


@pytest.fixture(autouse=True)
def a_warning_must_be_expected():
    with warnings.catch_warnings():
        warnings.simplefilter("error", CaptionBiasWarning)
        yield


def test_what_was_encoded_once_is_not_encoded_again(store):
    assert encoded(store, TEXTS[:10]) == TEXTS[:10]
    assert encoded(store, TEXTS[9::-1]) == []
    assert encoded(store, TEXTS[5:15]) == TEXTS[10:15]
    assert encoded(store, TEXTS) == TEXTS[15:]
    assert encoded(store, TEXTS) == []
    assert encoded(store, TEXTS, "another") == TEXTS
    assert encoded(None, TEXTS) == encoded(None, TEXTS) == TEXTS


@settings(deadline=None, max_examples=50)
@given(calls=st.lists(st.lists(st.text(max_size=2), min_size=1, unique=True), max_size=6))
def test_any_calls_after_one_another_encode_each_text_once(tmp_path_factory, calls):
    store = Store(tmp_path_factory.mktemp("store"), GIGABYTE)
    fresh = [text for texts in calls for text in encoded(store, texts)]
    assert sorted(fresh) == sorted({text for texts in calls for text in texts})


def test_broken_text_is_kept_like_any_other(store):
    texts = ["half a \ud83d character", "half a \ude00 character", "half a ? character", ""]
    assert encoded(store, texts) == texts
    assert encoded(store, texts) == []


def test_a_killed_run_keeps_the_pieces_that_were_finished(store, monkeypatch):
    monkeypatch.setattr(module, "PIECE", 6)

    def killed(texts):
        if "caption 12" in texts:
            raise KeyboardInterrupt
        return right(texts)

    with pytest.raises(KeyboardInterrupt):
        embed(TEXTS, killed, store, "an encoder")
    assert encoded(store, TEXTS) == TEXTS[12:]


DAMAGE = {
    "no digests": {"digests": np.zeros((20, 16), np.uint8)},
    "digests of another size": {"digests": np.zeros(20, "V15")},
    "a row short": {"embeddings": right(TEXTS)[1:]},
    "of another type": {"embeddings": right(TEXTS).astype(np.float32)},
    "flat": {"embeddings": np.zeros(20, np.float16)},
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_what_cannot_be_embeddings_is_warned_of_once_and_its_texts_are_encoded_anew(store, damage):
    encoded(store, TEXTS)
    [key] = store.keys("embeddings")
    encoded(store, ["another text"])
    store.save("embeddings", key, store.load("embeddings", key, dict) | DAMAGE[damage])
    with pytest.warns(CaptionBiasWarning, match="cannot be used .*damaged.* computed anew") as caught:
        assert encoded(store, [*TEXTS[:10], "another text"]) == TEXTS[:10]
    assert len(caught) == 1
    assert encoded(store, TEXTS[:10]) == []


def test_only_what_serves_counts_as_used(store):
    encoded(store, TEXTS[:10])
    encoded(store, TEXTS[10:])
    for entry in store.contents():
        os.utime(entry.path, (1, 1))
    encoded(store, TEXTS[:3])
    assert [entry.used == 1 for entry in store.contents()] == [True, False]


RACE = """
import sys, time, warnings
from pathlib import Path
import numpy as np
from captionbias.attackers.pretrained.embeddings import embed
from captionbias.io.store import Store

warnings.simplefilter("error")
random = np.random.default_rng(int(sys.argv[2]))
store, end, calls = Store(Path(sys.argv[1]), 3000), time.time() + 1.5, 0
while time.time() < end:
    texts = ["x" * int(length) for length in random.choice(300, size=40, replace=False)]
    found = embed(texts, lambda some: np.array([[len(text)] for text in some], np.float16), store, "lengths")
    assert found[:, 0].tolist() == list(map(len, texts))
    calls += 1
    if calls % 5 == 0:
        store.trim()
print(calls)
"""


def test_processes_that_add_and_remove_at_once_all_get_the_right_embeddings(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(Path(captionbias.__file__).parents[1])}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    running = [
        subprocess.Popen([sys.executable, "-c", RACE, str(tmp_path), str(seed)], env=environment, **pipes)
        for seed in range(2)
    ]
    for process in running:
        out, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, errors
        assert int(out) > 10
    assert [path for path in tmp_path.iterdir() if path.suffix != ".npz"] == []


def test_the_command_counts_their_size_and_not_as_trials(own_cache):
    encoded(Store(own_cache, 0), TEXTS)
    size = sum(path.stat().st_size for path in own_cache.iterdir())
    shown = CliRunner().invoke(app, ["cache"]).output
    assert "trials  0\n" in shown
    assert f"size    {size / 1000:.1f} kB of at most 1.0 GB" in shown
    removed = CliRunner().invoke(app, ["cache", "--clear"]).output
    assert f"removed 0 trials, {size / 1000:.1f} kB, from" in removed
    assert list(own_cache.iterdir()) == []
