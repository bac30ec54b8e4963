"""The store: right arrays or none, whatever is killed, damaged, full or foreign."""

import os
import pickle
import time
import warnings
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays, scalar_dtypes

from captionbias.io.store import GIGABYTE, Store, open_store
from captionbias.warnings import CaptionBiasWarning
from tests.launch import python
from tests.refusals import refuses


def key_of(name):
    return sha256(str(name).encode()).hexdigest()


KEY, OTHER = key_of("one"), key_of("other")
ARRAYS = {"score": np.log([0.25, 0.75, 1.0]), "correct": np.array([False, True, True])}


def same(found, wanted):
    """Bit for bit."""
    return found.keys() == wanted.keys() and all(
        (found[name].dtype, found[name].shape, found[name].tobytes()) == (array.dtype, array.shape, array.tobytes())
        for name, array in wanted.items()
    )


def has(store, key):
    """Whether an entry is there and whole."""
    found = store.load("trial", key, dict)
    assert found is None or same(found, ARRAYS)
    return found is not None


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def files(*keys):
    return sorted(f"trial-{key}.npz" for key in keys)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store", GIGABYTE)


@pytest.fixture
def written(store):
    """The file of a whole entry."""
    store.save("trial", KEY, ARRAYS)
    return store.folder / f"trial-{KEY}.npz"


@pytest.fixture(autouse=True)
def a_warning_must_be_expected():
    with warnings.catch_warnings():
        warnings.simplefilter("error", CaptionBiasWarning)
        yield


ENTRIES = st.dictionaries(st.text("abc 1.", min_size=1), arrays(scalar_dtypes(), array_shapes(min_side=0)), max_size=3)


@settings(deadline=None, max_examples=40)
@given(entry=ENTRIES)
def test_arrays_come_back_bit_for_bit(tmp_path_factory, entry):
    store = Store(tmp_path_factory.mktemp("store"), GIGABYTE)
    store.save("trial", KEY, entry)
    assert same(store.load("trial", KEY, dict), entry)
    assert same(pickle.loads(pickle.dumps(store)).load("trial", KEY, dict), entry)


def test_the_last_save_counts_and_keys_and_kinds_are_told_apart(store):
    assert store.load("trial", KEY, dict) is None
    for kind, key in (("trial", KEY), ("trial", OTHER), ("embeddings", KEY), ("trial", KEY)):
        store.save(kind, key, {"now": np.array(time.time_ns())})
    saved = ("trial", OTHER), ("embeddings", KEY), ("trial", KEY)
    times = [int(store.load(kind, key, lambda found: found["now"])) for kind, key in saved]
    assert times[0] < times[1] < times[2]
    assert names(store.folder) == sorted([*files(KEY, OTHER), f"embeddings-{KEY}.npz"]), "nothing is left beside them"
    assert store.keys("trial") == sorted([KEY, OTHER])
    assert store.keys("trial", KEY[:9]) == store.keys("embeddings") == [KEY]


def test_nothing_damaged_is_ever_read(store, written):
    whole = written.read_bytes()
    start, length = whole.index(ARRAYS["score"].tobytes()), ARRAYS["score"].nbytes
    flipped = [whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :] for at in range(start, start + length)]
    for damaged in [*(whole[:length] for length in range(0, len(whole), 9)), *flipped]:
        written.write_bytes(damaged)
        with pytest.warns(CaptionBiasWarning, match="is damaged"):
            assert not has(store, KEY)


class Bomb:
    """Unpickling this writes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


FOREIGN = {
    "a pickle in an array": lambda bomb: {"key": np.array(KEY), **ARRAYS, "score": np.array([bomb] * 3)},
    "another key's": lambda _: {"key": np.array(OTHER), **ARRAYS},
    "without an array": lambda _: {"key": np.array(KEY)},
    "a pickle": None,
}


@pytest.mark.parametrize("what", FOREIGN)
def test_what_is_not_an_entry_is_named_once_and_replaced(store, written, what):
    bomb = Bomb(written.with_name("bomb"))
    with written.open("wb") as file:
        np.savez(file, **FOREIGN[what](bomb)) if FOREIGN[what] else pickle.dump(bomb, file)
    with pytest.warns(CaptionBiasWarning, match=r"cannot be used .* are computed again") as caught:
        assert store.load("trial", KEY, lambda found: {name: found[name] for name in ARRAYS}) is None
    assert str(written) in str(caught[0].message)
    assert names(store.folder) == [], "a pickle was read, or the next one is warned as well"
    store.save("trial", KEY, ARRAYS)
    assert has(store, KEY)


def test_a_file_in_the_folder_s_place_is_warned_of_once_with_the_way_out(tmp_path):
    (tmp_path / "file").write_text("mine")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        store = Store(folder, GIGABYTE)
        told = rf"kept in {folder} \(.*(exists|Not a directory).*\).* right.*Free space.*CAPTIONBIAS_CACHE"
        with pytest.warns(CaptionBiasWarning, match=told):
            store.save("trial", KEY, ARRAYS)
        store.save("trial", OTHER, ARRAYS)
        assert not has(store, KEY)
        pickle.loads(pickle.dumps(store)).save("captions", KEY, ARRAYS)
        store.trim()
        assert store.contents() == []
    assert (tmp_path / "file").read_text() == "mine"


SAVE = """
import os, signal, sys, time, warnings
import numpy as np
from pathlib import Path
from captionbias.io.store import Store
warnings.simplefilter("error")  # of a broken entry it would warn
folder, keys = Path(sys.argv[1]), sys.argv[2:]
store = Store(folder, 10**9)
large = {"score": np.full(200_000, -1.0), "correct": np.ones(200_000, bool)}
for key in keys:
    store.save("trial", key, large)
killed, seconds = 0, np.random.default_rng(0)
while killed < 100 and len(list(folder.glob(".*.part"))) < 5:
    child = os.fork()
    if not child:
        while True:
            for key in keys:
                store.save("trial", key, large)
    time.sleep(seconds.uniform(0.002, 0.02))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    killed += 1
    assert all(store.load("trial", key, dict) for key in keys)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="only where processes fork")
def test_a_process_killed_while_it_saves_leaves_whole_entries_only(store, tmp_path):
    python("-c", SAVE, store.folder, *map(key_of, range(3)), folder=tmp_path)
    assert len(store.contents()) == 3
    parts = [path for path in store.folder.iterdir() if path.suffix == ".part"]
    assert len(parts) >= 5, "no kill came in the middle of a write"
    store.trim()
    assert set(parts) < set(store.folder.iterdir()), "these may still be growing"
    for part in parts[1:]:
        os.utime(part, (time.time() - 3700,) * 2)
    store.trim()
    assert len(names(store.folder)) == 4


def aged(store, count, kind="trial"):
    """Keys of entries of one size, the first used longest ago."""
    keys = [key_of(number) for number in range(count)]
    for age, key in enumerate(keys):
        store.save(kind, key, ARRAYS)
        os.utime(store.folder / f"{kind}-{key}.npz", (1000 + age, 1000 + age))
    return keys


def kept(store, keys):
    return [number for number, key in enumerate(keys) if key in store.keys("trial")]


def test_the_longest_unused_go_first_and_no_more_than_needed(store):
    store.trim()
    assert not store.folder.exists()
    keys = aged(store, 6)
    entries = store.contents()
    assert [entry[3:] for entry in entries] == [("trial", key) for key in keys], "in the order of their use"
    assert [entry.used for entry in entries] == list(range(1000, 1006))
    size = entries[0].size
    assert {entry.path.stat().st_size for entry in entries} == {size}
    Store(store.folder, 6 * size).trim()
    assert kept(store, keys) == [0, 1, 2, 3, 4, 5]
    assert has(store, keys[1])  # now the last used
    assert has(store, keys[3])
    Store(store.folder, 4 * size - 1).trim()
    assert kept(store, keys) == [1, 3, 5]
    store.save("embeddings", KEY, ARRAYS)  # which make room before trials
    Store(store.folder, 3 * size).trim()
    assert (kept(store, keys), store.keys("embeddings")) == ([1, 3, 5], [])


def test_what_a_user_keeps_there_is_never_removed(store, tmp_path):
    outside, part = tmp_path / "outside", f".captionbias-{'0' * 32}.part"
    ours = [f"trial-{OTHER}.npz", part.replace("0", "1")]
    for folder in (outside, store.folder / "mine"):
        folder.mkdir(parents=True)
        for name in ours:
            (folder / name).write_text("mine")
    for name in ours:
        (store.folder / name).symlink_to(outside / name)
    (store.folder / f"captions-{key_of('folder')}.npz").mkdir()
    unlike = [f"{KEY}.npz", f"trial-{KEY}.npz.bak", f"my-trial-{KEY}.npz", f"trial-{KEY.upper()}.npz", "notes.txt"]
    for name in unlike:
        (store.folder / name).write_text("mine")
    before = set(names(store.folder))
    store.save("trial", KEY, ARRAYS)
    (store.folder / part).touch()
    os.utime(store.folder / part, (1, 1))
    Store(store.folder, 0).trim()
    assert set(names(store.folder)) == before
    for folder in (outside, store.folder / "mine"):
        assert {path.name: path.read_text() for path in folder.iterdir()} == dict.fromkeys(ours, "mine")


def test_the_usual_folder_and_what_moves_it(monkeypatch, tmp_path):
    for name in ("CAPTIONBIAS_CACHE", "CAPTIONBIAS_CACHE_GB", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    assert open_store(True) == Store(tmp_path / ".cache" / "captionbias", GIGABYTE)
    for name, value, folder in (
        ("XDG_CACHE_HOME", str(tmp_path / "xdg"), tmp_path / "xdg" / "captionbias"),
        ("CAPTIONBIAS_CACHE", "~/mine", tmp_path / "mine"),
        ("CAPTIONBIAS_CACHE", "", tmp_path / "xdg" / "captionbias"),
    ):
        monkeypatch.setenv(name, value)
        assert open_store(True).folder == folder
    monkeypatch.chdir(tmp_path)
    assert {open_store(folder).folder for folder in (tmp_path / "mine", "~/mine", "mine")} == {tmp_path / "mine"}
    assert names(tmp_path) == [], "nothing is made before an entry is saved"


def test_the_limit_is_in_gigabytes(monkeypatch):
    for value, limit in (("0.5", GIGABYTE // 2), ("0", 0), ("", GIGABYTE)):
        monkeypatch.setenv("CAPTIONBIAS_CACHE_GB", value)
        assert open_store(True).limit == open_store("mine").limit == limit
    monkeypatch.setenv("CAPTIONBIAS_CACHE_GB", "much")
    refuses(r"CAPTIONBIAS_CACHE_GB: .* 'much'; set it to a number of gigabytes", open_store, True)
    assert open_store(False) is None
    for cache in (3, 1, None, ["mine"]):
        refuses("cache must be True, False or a folder, not", open_store, cache)
