"""The store of embeddings: right ones or none, whatever is damaged, full, foreign or running at the same time."""

from __future__ import annotations

import errno
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
from captionbias.attackers import cache as caches
from captionbias.attackers.cache import Cache
from captionbias.attackers.pretrained import embeddings as module
from captionbias.attackers.pretrained.embeddings import EmbeddingStore
from captionbias.captions import CaptionBiasWarning
from captionbias.cli import app
from tests.patience import PATIENCE

WIDTH = 5
TEXTS = [f"caption {number}" for number in range(20)]


def right(texts: list[str]) -> np.ndarray:
    """Embeddings that anyone can compute: `(n, 5)`."""
    rows = [list(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:WIDTH]) for text in texts]
    return np.array(rows, np.float16).reshape(-1, WIDTH)


class Encoder:
    """Remembers what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def __call__(self, texts: list[str]) -> np.ndarray:
        self.asked.append(texts)
        return right(texts)


def embedded(store: EmbeddingStore, texts: list[str]) -> list[str]:
    """What had to be encoded on the way to the right embeddings."""
    encoder = Encoder()
    found = store.embed(texts, encoder)
    assert found.dtype == np.float16
    assert found.tolist() == right(texts).tolist()
    return [text for piece in encoder.asked for text in piece]


@pytest.fixture
def store(tmp_path) -> EmbeddingStore:
    return EmbeddingStore(tmp_path / "kept", "an encoder")


@pytest.fixture(autouse=True)
def a_warning_must_be_expected(monkeypatch):
    monkeypatch.setattr(caches, "_complained", set())
    with warnings.catch_warnings():
        warnings.simplefilter("error", CaptionBiasWarning)
        yield


def files(store: EmbeddingStore) -> list[Path]:
    return sorted(store.folder.iterdir())


# --- what is kept ---


def test_what_was_encoded_once_is_not_encoded_again(store):
    assert embedded(store, TEXTS[:10]) == TEXTS[:10]
    assert embedded(store, TEXTS[9::-1]) == []
    assert embedded(store, TEXTS[5:15]) == TEXTS[10:15]
    assert embedded(store, TEXTS) == TEXTS[15:]
    assert embedded(EmbeddingStore(store.folder, store.identity), TEXTS) == []


@settings(deadline=None, max_examples=50)
@given(calls=st.lists(st.lists(st.text(max_size=2), min_size=1, unique=True), max_size=6))
def test_any_calls_after_one_another_ask_for_each_text_once(tmp_path_factory, calls):
    store = EmbeddingStore(tmp_path_factory.mktemp("kept"), "an encoder")
    asked = [text for texts in calls for text in embedded(store, texts)]
    assert sorted(asked) == sorted({text for texts in calls for text in texts})


def test_broken_text_is_kept_like_any_other(store):
    texts = ["half a \ud83d character", "half a \ude00 character", "half a ? character", ""]
    assert embedded(store, texts) == texts
    assert embedded(store, texts) == []


def test_another_encoder_has_embeddings_of_its_own(store):
    embedded(store, TEXTS)
    assert embedded(EmbeddingStore(store.folder, "another"), TEXTS) == TEXTS


def test_without_a_folder_nothing_is_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store = EmbeddingStore(None, "an encoder")
    assert embedded(store, TEXTS) == embedded(store, TEXTS) == TEXTS
    assert list(tmp_path.iterdir()) == []


def test_a_killed_run_keeps_the_pieces_that_were_finished(store, monkeypatch):
    monkeypatch.setattr(module, "PIECE", 6)

    def killed(texts):
        if "caption 12" in texts:
            raise KeyboardInterrupt
        return right(texts)

    with pytest.raises(KeyboardInterrupt):
        store.embed(TEXTS, killed)
    assert embedded(store, TEXTS) == TEXTS[12:]


# --- damage ---


def write(path: Path, **changed) -> None:
    """A file as the store writes it, but for what is changed."""
    with np.load(path) as kept:
        arrays = {name: kept[name] for name in kept.files} | changed
    with path.open("wb") as file:
        np.savez(file, **arrays)


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[content.index(right(TEXTS[:1]).tobytes())] ^= 1
    path.write_bytes(content)


DAMAGE = {
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:-100]),
    "empty": lambda path: path.write_bytes(b""),
    "text": lambda path: path.write_text("embeddings"),
    "flipped": flip,
    "another encoder's": lambda path: write(path, encoder=np.array("0" * 32)),
    "without texts": lambda path: write(
        path, keys=np.zeros((0, 16), np.uint8), embeddings=np.zeros((0, 5), np.float16)
    ),
    "a row short": lambda path: write(path, embeddings=right(TEXTS)[1:]),
    "of another type": lambda path: write(path, embeddings=right(TEXTS).astype(np.float32)),
    "flat": lambda path: write(path, embeddings=np.zeros(20, np.float16)),
    "objects": lambda path: write(path, embeddings=np.array([{}] * 20, object)),
    "keys of another size": lambda path: write(path, keys=np.zeros((20, 15), np.uint8)),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_warned_of_once_and_its_texts_are_encoded_anew(store, damage):
    embedded(store, TEXTS)
    [path] = files(store)
    DAMAGE[damage](path)
    with pytest.warns(CaptionBiasWarning, match="cannot be used .*damaged.* encoded anew") as told:
        assert embedded(store, TEXTS[:10]) == TEXTS[:10]
    assert len(told) == 1
    assert not path.exists()
    assert embedded(store, TEXTS[:10]) == []


def test_the_others_serve_when_one_is_damaged(store):
    embedded(store, TEXTS[:10])
    [damaged] = files(store)
    embedded(store, TEXTS)
    damaged.write_bytes(b"")
    with pytest.warns(CaptionBiasWarning, match="cannot be used"):
        assert embedded(store, TEXTS) == TEXTS[:10]


def test_what_cannot_be_read_is_warned_of_and_left_alone(store):
    embedded(store, TEXTS)
    [path] = files(store)
    path.unlink()
    path.mkdir()
    with pytest.warns(CaptionBiasWarning, match=r"cannot be used \(Is a directory\)"):
        assert embedded(store, TEXTS) == TEXTS
    assert path.is_dir()


def test_a_file_that_another_process_removes_meanwhile_is_no_damage(store, monkeypatch):
    embedded(store, TEXTS)
    read = module._read

    def too_late(path, *rest):
        path.unlink()
        return read(path, *rest)

    monkeypatch.setattr(module, "_read", too_late)
    assert embedded(store, TEXTS) == TEXTS


# --- the disk ---


FULL = """
import resource, signal, sys, warnings
from pathlib import Path
import numpy as np
from captionbias.attackers.cache import Cache
from captionbias.attackers.pretrained.embeddings import EmbeddingStore
from captionbias.attackers.base import TrialScores

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
warnings.simplefilter("always")
folder = Path(sys.argv[1])
for text in "one", "two":
    store = EmbeddingStore(folder, "an encoder")
    print(store.embed([text], lambda texts: np.full((len(texts), 99), 7, np.float16)).sum())
Cache(folder, 10**9).save("0" * 64, TrialScores(np.zeros(99), np.ones(99, bool)))
"""


@pytest.mark.skipif(os.name != "posix", reason="how this system refuses is not known here")
def test_a_full_disk_is_warned_of_once_for_embeddings_and_trials_together(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path / "full")],
        env={**os.environ, "PYTHONPATH": str(Path(captionbias.__file__).parents[1])},
        text=True,
        capture_output=True,
    )
    assert done.stdout.split() == ["693.0", "693.0"], done.stderr
    assert done.stderr.count("Warning") == 1
    assert (
        f"embeddings of captions and finished trials cannot be kept in {tmp_path}/full (File too large)" in done.stderr
    )
    assert list((tmp_path / "full").iterdir()) == []


def test_a_folder_that_cannot_be_written_is_warned_of_once(tmp_path):
    (tmp_path / "file").touch()
    store = EmbeddingStore(tmp_path / "file", "an encoder")
    with pytest.warns(CaptionBiasWarning, match="cannot be kept.*the scores are right.*CAPTIONBIAS_CACHE"):
        assert embedded(store, TEXTS) == TEXTS
    assert embedded(store, TEXTS) == TEXTS


def test_what_can_only_be_read_serves(store, monkeypatch):
    embedded(store, TEXTS)

    def read_only(*_, **__):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(os, "utime", read_only)
    assert embedded(store, TEXTS) == []


# --- several processes ---

RACE = """
import sys, warnings
from pathlib import Path
import numpy as np
from captionbias.attackers.cache import Cache
from captionbias.attackers.pretrained.embeddings import EmbeddingStore

warnings.simplefilter("error")
random = np.random.default_rng(int(sys.argv[2]))
store, calls = EmbeddingStore(Path(sys.argv[1]), "lengths"), 0
done = [Path(sys.argv[1] + f"-{number}") for number in range(2)]
while calls < 5000 and not all(path.exists() for path in done):  # until both have made many
    texts = ["x" * int(length) for length in random.choice(300, size=40, replace=False)]
    found = store.embed(texts, lambda some: np.array([[len(text)] for text in some], np.float16))
    assert found[:, 0].tolist() == list(map(len, texts))
    calls += 1
    if calls % 5 == 0:
        Cache(store.folder, 3000).trim()
    if calls == 50:
        done[int(sys.argv[2])].touch()
"""


def test_processes_that_add_and_remove_at_once_all_get_the_right_embeddings(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(Path(captionbias.__file__).parents[1])}
    running = [
        subprocess.Popen(
            [sys.executable, "-c", RACE, str(tmp_path / "cache"), str(seed)],
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for seed in range(2)
    ]
    for process in running:
        _, complaints = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, complaints
    assert [path for path in (tmp_path / "cache").iterdir() if path.suffix != ".npz"] == []


# --- as part of the cache ---


def test_only_what_serves_counts_as_used(store):
    embedded(store, TEXTS[:10])
    [first] = files(store)
    embedded(store, TEXTS[10:])
    [second] = set(files(store)) - {first}
    for path in first, second:
        os.utime(path, (1, 1))
    embedded(store, TEXTS[:3])
    assert first.stat().st_mtime > 1
    assert second.stat().st_mtime == 1


def test_embeddings_are_removed_before_trials_and_the_longest_unused_first(store, tmp_path):
    from captionbias.attackers.base import TrialScores

    cache = Cache(store.folder, 0)
    cache.save("0" * 64, TrialScores(np.log([0.5]), np.array([True])))
    [trial] = files(store)
    os.utime(trial, (1, 1))
    embedded(store, TEXTS[:10])
    [old] = set(files(store)) - {trial}
    os.utime(old, (2, 2))
    embedded(store, TEXTS[10:])
    size = sum(path.stat().st_size for path in files(store))
    Cache(store.folder, size - 1).trim()
    assert not old.exists()
    assert len(files(store)) == 2
    Cache(store.folder, trial.stat().st_size).trim()
    assert files(store) == [trial]
    Cache(store.folder, 0).trim()
    assert files(store) == []


def test_parts_of_killed_runs_are_removed(store):
    embedded(store, TEXTS)
    [path] = files(store)
    old, young = (path.with_name(f"{path.name[:43]}-{letter * 16}.part") for letter in "ab")
    for part in old, young:
        part.touch()
    os.utime(old, (1, 1))
    cache = Cache(store.folder, 10**9)
    cache.trim()
    assert files(store) == sorted([path, young])
    cache.clear()
    assert files(store) == []


def test_the_command_counts_their_size_and_no_trials(own_cache):
    embedded(EmbeddingStore(own_cache, "an encoder"), TEXTS)
    size = sum(path.stat().st_size for path in own_cache.iterdir())
    assert Cache(own_cache, 0).contents().trials == 0
    assert Cache(own_cache, 0).contents().size == size
    shown = CliRunner().invoke(app, ["cache"]).output
    assert "trials  0\n" in shown
    assert f"size    {size / 1000:.1f} kB of at most 1.0 GB" in shown
    removed = CliRunner().invoke(app, ["cache", "--clear"]).output
    assert f"removed 0 trials, {size / 1000:.1f} kB, from" in removed
    assert list(own_cache.iterdir()) == []
