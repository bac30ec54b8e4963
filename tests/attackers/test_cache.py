"""The store of finished trials: right scores or none, whatever is killed, full, foreign or running at the same time."""

from __future__ import annotations

import gc
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import warnings
import weakref
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import captionbias
from captionbias.attackers import cache as module
from captionbias.attackers.base import Examples, Trial, TrialScores
from captionbias.attackers.cache import GIGABYTE, Cache, open_cache, trial_key
from captionbias.captions import CaptionBiasWarning
from captionbias.text.tokens import Tokens
from tests.patience import PATIENCE

SOURCE = str(Path(captionbias.__file__).parents[1])
SEARCH = settings(deadline=None, max_examples=60)
posix = pytest.mark.skipif(os.name != "posix", reason="how this system refuses is not known here")


def key_of(name: object) -> str:
    return sha256(str(name).encode()).hexdigest()


def scores_of(*probabilities: float) -> TrialScores:
    return TrialScores(np.log(probabilities), np.array(probabilities) > 0.5)


def same(left: TrialScores | None, right: TrialScores) -> bool:
    """Bit for bit."""
    return left is not None and all(
        one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
        for one, other in ((left.log_probability, right.log_probability), (left.correct, right.correct))
    )


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


KEY, OTHER = key_of("one"), key_of("other")
SCORES = scores_of(0.25, 0.75, 1.0)


@pytest.fixture
def cache(tmp_path) -> Cache:
    return Cache(tmp_path / "cache", GIGABYTE)


@pytest.fixture(autouse=True)
def a_warning_must_be_expected(monkeypatch):
    monkeypatch.setattr(module, "_complained", set())
    with warnings.catch_warnings():
        warnings.simplefilter("error", CaptionBiasWarning)
        yield


# --- processes of their own ---

PROLOGUE = """
import os, signal, sys, tempfile, time, warnings
import numpy as np
from pathlib import Path
from captionbias.attackers.cache import Cache, open_cache
from captionbias.attackers.base import TrialScores
warnings.simplefilter("error")
folder, keys = Path(sys.argv[1]), sys.argv[2:]
cache = Cache(folder, 10**9)
scores = TrialScores(np.log([0.25, 0.75, 1.0]), np.array([False, True, True]))
print("ready", flush=True)
"""


class Started:
    """Python code in a process of its own, which has imported everything and may go on at a line of input."""

    def __init__(self, code, folder, *keys, prefix=(), **environment):
        self.process = subprocess.Popen(
            [*prefix, sys.executable, "-c", PROLOGUE + code, str(folder), *keys],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": SOURCE, **environment},
        )

    def line(self) -> str:
        return self.process.stdout.readline().strip()

    def go(self) -> None:
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def finish(self) -> str:
        out, complaints = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0, complaints
        return out

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=PATIENCE)


@pytest.fixture
def start():
    started = []

    def begin(*arguments, **named) -> Started:
        started.append(Started(*arguments, **named))
        return started[-1]

    yield begin
    for one in started:
        one.kill()


# --- keys ---


@st.composite
def contents(draw):
    """What determines a trial, of few enough values that two drawn ones may be equal but for one part."""
    captions = draw(st.lists(st.lists(st.integers(0, 2), max_size=2), min_size=2, max_size=3))
    n, outputs, multilabel = len(captions), draw(st.integers(1, 2)), draw(st.booleans())
    target = st.lists(st.booleans(), min_size=outputs, max_size=outputs) if multilabel else st.integers(0, 1)
    rows = st.lists(st.integers(0, n - 1), max_size=2)
    return {
        "captions": captions,
        "targets": draw(st.lists(target, min_size=n, max_size=n)),
        "outputs": outputs,
        "train": draw(rows),
        "test": draw(rows),
        "seed": draw(st.integers(0, 2)),
        "attacker": draw(st.sampled_from(["bow", "bow|v2"])),
    }


def trial_of(content, spelling="w", numbers=(0, 1, 2), words=3, dtype=np.int32) -> Trial:
    """`numbers`: those of the three words among `words` in all."""
    captions, targets = content["captions"], np.array(content["targets"])
    ids = np.array([numbers[word] for caption in captions for word in caption], dtype)
    offsets = np.concatenate(([0], np.cumsum(list(map(len, captions)))))
    tokens = Tokens(ids, offsets.astype(np.int64), tuple(f"{spelling}{word}" for word in range(words)))
    examples = Examples(tokens, targets if targets.dtype == bool else targets.astype(dtype), content["outputs"])
    rows = (np.array(content[part], dtype) for part in ("train", "test"))
    return Trial("a name", examples, *rows, content["seed"])


def key_for(content, **how) -> str:
    return trial_key(trial_of(content, **how), content["attacker"])


def meaning(content):
    """The same, words numbered by their rank among those that occur."""
    occurring = sorted({word for caption in content["captions"] for word in caption})
    return {**content, "captions": [[occurring.index(word) for word in caption] for caption in content["captions"]]}


@SEARCH
@given(
    one=contents(), other=contents(), part=st.sampled_from(["captions", "targets", "outputs", "train", "test", "seed"])
)
def test_keys_are_equal_when_and_only_when_everything_is(one, other, part):
    for changed in (other, {**one, part: other[part]}, {**one, "attacker": other["attacker"]}):
        assert (key_for(one) == key_for(changed)) == (meaning(one) == meaning(changed))


@SEARCH
@given(content=contents(), numbers=st.sets(st.integers(0, 30), min_size=3, max_size=3), spelling=st.text(max_size=3))
def test_neither_spelling_nor_words_that_do_not_occur_nor_types_nor_the_name_change_a_key(content, numbers, spelling):
    key = key_for(content)
    assert key_for(content, spelling=spelling) == key
    assert key_for(content, numbers=sorted(numbers), words=31) == key
    assert key_for(content, dtype=np.int64) == key
    assert trial_key(replace(trial_of(content), name="another"), content["attacker"]) == key


def a_content():
    return {
        "captions": [[0, 1], [2], [1, 1]],
        "targets": [0, 1, 0],
        "outputs": 2,
        "train": [0, 1],
        "test": [2],
        "seed": 0,
        "attacker": "bow",
    }


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("captions", [[0], [1, 2], [1, 1]]),  # the same words, the captions end elsewhere
        ("captions", [[1, 0], [2], [1, 1]]),
        ("captions", [[2, 1], [0], [1, 1]]),  # the same but for the order of the words' numbers
        ("captions", [[0, 1], [2], [1, 1], []]),
        ("targets", [0, 1, 1]),
        ("targets", [[False], [True], [False]]),  # classes and flags
        ("outputs", 3),
        ("train", [1, 0]),
        ("train", [0]),
        ("test", [2, 2]),
        ("test", []),
        ("seed", 1),
        ("seed", 2**70),
        ("attacker", "bow2"),
    ],
)
def test_each_part_changes_the_key(part, value):
    assert key_for({**a_content(), part: value}) != key_for(a_content())


def test_where_one_part_ends_and_the_next_begins_counts():
    one, other = {**a_content(), "train": [0, 1], "test": [2]}, {**a_content(), "train": [0], "test": [1, 2]}
    assert key_for(one) != key_for(other)
    tall = {**a_content(), "targets": [[True, False]] * 3, "outputs": 2}
    wide = {**a_content(), "targets": [[True, False, True]] * 2, "outputs": 2}
    assert key_for(tall) != key_for(wide)


def test_another_format_has_other_keys(monkeypatch):
    before = key_for(a_content())
    monkeypatch.setattr(module, "FORMAT", module.FORMAT + 1)
    assert key_for(a_content()) != before


def test_a_key_is_the_same_in_every_process_and_version():
    # If this fails, kept trials are lost to their users: raise FORMAT and write the new key here.
    assert key_for(a_content()) == "d45b099a14142fefdfda3e92219597fefcf5c2b4bb09e271a044658228ca2421"


def test_examples_are_digested_once_and_not_kept_alive():
    trial = trial_of(a_content())
    key = trial_key(trial, "bow")
    trial.examples.tokens.ids[:] = 0
    assert trial_key(trial, "bow") == key, "read again"
    examples = weakref.ref(trial.examples)
    del trial
    gc.collect()
    assert examples() is None


# --- entries ---


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("cache")


@SEARCH
@given(
    log_probability=arrays(np.float64, st.integers(0, 20), elements=st.floats(allow_nan=False)),
    data=st.data(),
)
def test_scores_come_back_bit_for_bit(folder, log_probability, data):
    captions = len(log_probability)
    saved = TrialScores(log_probability, data.draw(arrays(bool, captions)))
    cache, key = Cache(folder, GIGABYTE), key_of(captions)
    cache.save(key, saved)
    assert same(cache.load(key, captions), saved)
    assert same(pickle.loads(pickle.dumps(cache)).load(key, captions), saved)


def test_the_last_save_counts_and_keys_are_told_apart(cache):
    assert cache.load(KEY, 3) is None
    cache.save(KEY, scores_of(0.1, 0.2, 0.3))
    cache.save(OTHER, scores_of(0.5))
    cache.save(KEY, SCORES)
    assert same(cache.load(KEY, 3), SCORES)
    assert same(cache.load(OTHER, 1), scores_of(0.5))
    assert names(cache.folder) == sorted([f"trial-{KEY}.npz", f"trial-{OTHER}.npz"]), "and nothing is left beside them"


def test_a_cache_is_cheap_to_send_to_a_process(cache):
    cache.save(KEY, SCORES)
    assert len(pickle.dumps(cache)) < 1000


def entry(cache: Cache) -> Path:
    return cache.folder / f"trial-{KEY}.npz"


@pytest.fixture
def written(cache) -> tuple[Path, bytes]:
    """A whole entry: its file and what it holds."""
    cache.save(KEY, SCORES)
    return entry(cache), entry(cache).read_bytes()


def test_no_damaged_byte_is_ever_read_as_scores(cache, written):
    path, whole = written
    refused = set()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for place in range(len(whole)):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1 :])
            found = cache.load(KEY, 3)
            assert found is None or same(found, SCORES), f"byte {place}"
            if found is None:
                refused.add(place)
    assert {warning.category for warning in told} == {CaptionBiasWarning}
    assert len(told) == len(refused)
    start = whole.index(SCORES.log_probability.tobytes())
    assert refused >= set(range(start, start + SCORES.log_probability.nbytes))


def test_no_truncated_entry_is_ever_read(cache, written):
    path, whole = written
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for length in (lengths := range(0, len(whole), 3)):
            path.write_bytes(whole[:length])
            assert cache.load(KEY, 3) is None, f"{length} bytes of {len(whole)}"
    assert len(told) == len(lengths)


class Bomb:
    """Unpickling this writes a file."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def arrays_file(path: Path, **changed: object) -> None:
    whole = {"key": np.array(KEY), "log_probability": SCORES.log_probability, "correct": SCORES.correct}
    with path.open("wb") as file:
        np.savez(file, **{name: array for name, array in (whole | changed).items() if array is not None})


FOREIGN = {
    "nothing": lambda path: path.write_bytes(b""),
    "text": lambda path: path.write_text("not scores"),
    "a pickle": lambda path: path.write_bytes(pickle.dumps(Bomb(path.with_name("bomb")))),
    "an array": lambda path: np.save(path.open("wb"), SCORES.log_probability),
    "a pickle in an array": lambda path: arrays_file(path, correct=np.array([Bomb(path.with_name("bomb"))] * 3)),
    "another trial's": lambda path: arrays_file(path, key=np.array(OTHER)),
    "nobody's": lambda path: arrays_file(path, key=None),
    "one array": lambda path: arrays_file(path, correct=None),
    "single precision": lambda path: arrays_file(path, log_probability=SCORES.log_probability.astype(np.float32)),
    "numbers for flags": lambda path: arrays_file(path, correct=SCORES.correct.astype(np.int64)),
    "NaN": lambda path: arrays_file(path, log_probability=np.array([-1, np.nan, -1])),
    "arrays of two lengths": lambda path: arrays_file(path, correct=SCORES.correct[:2]),
    "another shape": lambda path: arrays_file(path, log_probability=SCORES.log_probability[:, None]),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_what_is_no_entry_is_named_and_replaced(cache, kind):
    cache.folder.mkdir()
    FOREIGN[kind](entry(cache))
    with pytest.warns(CaptionBiasWarning, match="is computed anew") as told:
        assert cache.load(KEY, 3) is None
    assert str(entry(cache)) in str(told[0].message)
    assert told[0].filename == __file__, "the warning points to the caller"
    assert not (cache.folder / "bomb").exists(), "a pickle was read"
    cache.save(KEY, SCORES)
    assert same(cache.load(KEY, 3), SCORES)


def test_the_bomb_would_go_off(tmp_path):
    pickle.loads(pickle.dumps(Bomb(tmp_path / "bomb")))
    assert (tmp_path / "bomb").exists()


def test_scores_of_another_number_of_captions_are_not_used(cache):
    cache.save(KEY, SCORES)
    with pytest.warns(CaptionBiasWarning, match="is computed anew"):
        assert cache.load(KEY, 4) is None


def test_a_folder_in_an_entry_s_place_is_no_error(cache):
    entry(cache).mkdir(parents=True)
    with pytest.warns(CaptionBiasWarning, match=f"trial-{KEY}.npz cannot be used"):
        assert cache.load(KEY, 3) is None
    with pytest.warns(CaptionBiasWarning, match="cannot be kept"):
        cache.save(KEY, SCORES)
    assert names(cache.folder) == [f"trial-{KEY}.npz"]


def test_scores_that_are_no_numbers_are_not_kept(cache):
    cache.save(KEY, TrialScores(np.array([-1.0, np.nan]), np.array([True, False])))
    assert cache.load(KEY, 2) is None, "without a warning of damage"


# --- folders that cannot be written to ---


def test_a_file_in_the_folder_s_place_is_warned_of_once_with_the_way_out(tmp_path):
    (tmp_path / "file").write_text("mine")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        cache = Cache(folder, GIGABYTE)
        with pytest.warns(CaptionBiasWarning, match=r"scores are right.*Free space.*CAPTIONBIAS_CACHE") as told:
            cache.save(KEY, SCORES)
        assert told[0].filename == __file__
        assert f"kept in {folder} (" in str(told[0].message)
        assert "exists" in str(told[0].message) or "Not a directory" in str(told[0].message)
        cache.save(OTHER, SCORES)
        with cache.claim(KEY):
            assert cache.load(KEY, 3) is None
        pickle.loads(pickle.dumps(cache)).save(KEY, SCORES)
        cache.trim()
        assert (cache.held([KEY]), cache.contents().trials, cache.clear().trials) == (0, 0, 0)
    assert (tmp_path / "file").read_text() == "mine"


def test_the_warning_comes_before_the_first_training(tmp_path):
    (tmp_path / "file").touch()
    with (
        pytest.warns(CaptionBiasWarning, match="cannot be kept"),
        Cache(tmp_path / "file", GIGABYTE).claim(KEY),
    ):
        pass


# Permissions do not hold root back. A library that is imported on first use might be hidden from the other user.
NO_ROOT = """
with tempfile.TemporaryDirectory() as elsewhere, Cache(Path(elsewhere), 0).claim(keys[0]):
    Cache(Path(elsewhere), 0).save(keys[0], scores)
    Cache(Path(elsewhere), 0).load(keys[0], 3)
if os.geteuid() == 0:
    os.seteuid(65534)
"""


@posix
def test_a_folder_that_may_only_be_read_serves_its_entries(start):
    # Not in tmp_path: nobody but its owner may enter that.
    folder = Path(tempfile.mkdtemp())
    try:
        Cache(folder, GIGABYTE).save(KEY, SCORES)
        os.utime(folder / f"trial-{KEY}.npz", (1000, 1000))
        folder.chmod(0o555)
        (folder / f"trial-{KEY}.npz").chmod(0o444)
        code = """
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    assert cache.load(keys[0], 3).correct.tolist() == [False, True, True]
    assert not told, told[0].message
    with cache.claim(keys[1]):
        cache.save(keys[1], scores)
    cache.trim()
    assert cache.clear().trials == 0
print(*(warning.message for warning in told), sep="\\n")
"""
        process = start(NO_ROOT + code, folder, KEY, OTHER)
        told = process.finish().splitlines()[1:]
        assert len(told) == 1
        assert "(Permission denied)" in told[0]
        assert names(folder) == [f"trial-{KEY}.npz"]
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


@posix
def test_an_entry_that_may_not_be_read_is_named(start):
    folder = Path(tempfile.mkdtemp())
    try:
        folder.chmod(0o755)
        Cache(folder, GIGABYTE).save(KEY, SCORES)
        entry(Cache(folder, 0)).chmod(0)
        code = """
warnings.simplefilter("always")
assert cache.load(keys[0], 3) is None
"""
        process = start(NO_ROOT + code, folder, KEY)
        _, complaints = process.process.communicate(timeout=PATIENCE)
        assert process.process.returncode == 0, complaints
        assert f"trial-{KEY}.npz cannot be used (Permission denied)" in complaints
    finally:
        shutil.rmtree(folder)


FULL = """
warnings.simplefilter("always")
large = TrialScores(np.full(3000, -1.0), np.ones(3000, bool))
with warnings.catch_warnings(record=True) as told:
    for key in keys:
        cache.save(key, large)
kept = [key for key in keys if cache.load(key, 3000) is not None]
print(len(kept), len(told), told[0].message)
print(*sorted(path.name for path in folder.iterdir()))
"""


def check_full(process: Started, reason: str) -> int:
    """How many entries of 28 kB were kept where there is no room for all."""
    _, counts, files = process.finish().splitlines()
    kept, told, message = counts.split(" ", 2)
    assert told == "1"
    assert f"({reason})" in message
    assert all(name.endswith(".npz") for name in files.split()), "half a file stayed"
    assert len(files.split()) == int(kept)
    return int(kept)


@posix
def test_a_write_that_fails_half_way_leaves_nothing(start, tmp_path):
    # The system itself stops the write after 20 kB, as a full disk would.
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\nfolder.mkdir()\n"
    assert check_full(start(limit + FULL, tmp_path / "cache", KEY, OTHER), "File too large") == 0


@posix
def test_a_full_disk_keeps_what_it_has(start, tmp_path):
    (tmp_path / "disk").mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=128k", "none", str(tmp_path / "disk")]
    inside = ["unshare", "--map-root-user", "--mount"]
    try:
        subprocess.run([*inside, *mount], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no small disk can be mounted here")
    prefix = [*inside, "sh", "-c", f'{" ".join(mount)} && exec "$@"', "sh"]
    keys = [key_of(number) for number in range(8)]
    assert 2 <= check_full(start(FULL, tmp_path / "disk", *keys, prefix=prefix), "No space left on device") <= 4


def test_a_folder_that_disappears_comes_back(cache):
    cache.save(KEY, SCORES)
    with cache.claim(OTHER):
        shutil.rmtree(cache.folder)
        assert cache.load(KEY, 3) is None
        cache.save(OTHER, SCORES)
    assert same(cache.load(OTHER, 3), SCORES)


def test_a_folder_that_disappears_while_somebody_waits_is_no_error(cache):
    found = []

    def wait() -> None:
        with cache.claim(KEY):  # a warning would be an error
            found.append(cache.load(KEY, 3))
            cache.save(KEY, SCORES)

    waiting = threading.Thread(target=wait)
    with cache.claim(KEY):
        waiting.start()
        time.sleep(0.1)
        assert found == []
        shutil.rmtree(cache.folder)
    waiting.join(timeout=PATIENCE)
    assert found == [None]
    assert same(cache.load(KEY, 3), SCORES)


# --- claims ---

CLAIM = """
for key in keys:
    with cache.claim(key):
        with open(folder.parent / "log", "a") as log:
            log.write(f"in {key}\\n")
        if cache.load(key, 3) is None:
            time.sleep(0.02)
            if key != keys[0]:
                cache.save(key, scores)
            with open(folder.parent / "log", "a") as log:
                log.write(f"trained {key}\\n")
        with open(folder.parent / "log", "a") as log:
            log.write(f"out {key}\\n")
"""


def test_processes_that_claim_the_same_trials_take_turns_and_train_each_once(start, cache):
    keys = [key_of(number) for number in range(4)]
    started = [start("sys.stdin.readline()" + CLAIM, cache.folder, *keys) for _ in range(3)]
    for one in started:
        assert one.line() == "ready"
    for one in started:
        one.go()
    for one in started:
        one.finish()
    log = (cache.folder.parent / "log").read_text().splitlines()
    for key in keys:
        turns = [line.split()[0] for line in log if line.endswith(key)]
        assert [turn for turn in turns if turn != "trained"] == ["in", "out"] * 3, "two held it at once"
        # The first is never saved, as if its training failed.
        assert turns.count("trained") == (3 if key == keys[0] else 1)
    assert names(cache.folder) == sorted(f"trial-{key}.npz" for key in keys[1:]), "locks pile up"


def test_threads_take_turns_too(cache):
    inside, most = [0], [0]

    def work() -> None:
        for _ in range(3):
            with cache.claim(KEY):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                time.sleep(0.005)
                inside[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=PATIENCE)
    assert not any(thread.is_alive() for thread in threads)
    assert most == [1]


def test_a_claim_is_given_back_when_a_training_fails(cache):
    with pytest.raises(OSError, match="of the training"), cache.claim(KEY):
        raise OSError("of the training")
    assert names(cache.folder) == []
    with cache.claim(KEY), cache.claim(OTHER):
        pass


HOLD = """
with cache.claim(keys[0]):
    print("held", flush=True)
    sys.stdin.readline()
    cache.save(keys[0], scores)
"""


def test_the_one_that_waited_finds_the_entry(start, cache):
    holder = start(HOLD, cache.folder, KEY)
    assert (holder.line(), holder.line()) == ("ready", "held")
    assert cache.held([KEY, OTHER]) == 1
    found = []

    def wait() -> None:
        with cache.claim(KEY):
            found.append(cache.load(KEY, 3))

    waiting = threading.Thread(target=wait)
    waiting.start()
    time.sleep(0.1)
    assert found == []
    holder.go()
    holder.finish()
    waiting.join(timeout=PATIENCE)
    assert same(found[0], SCORES)
    assert cache.held([KEY, OTHER]) == 0


def test_the_claim_of_a_killed_process_ends_with_it(start, cache):
    holder = start(HOLD, cache.folder, KEY)
    assert (holder.line(), holder.line()) == ("ready", "held")
    claimed = threading.Event()

    def wait() -> None:
        with cache.claim(KEY):
            claimed.set()

    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()
    assert not claimed.wait(0.1)
    holder.kill()
    assert claimed.wait(PATIENCE)
    waiting.join(timeout=PATIENCE)
    assert names(cache.folder) == []


def test_locks_that_killed_processes_left_are_not_held_and_go_away(start, cache):
    holder = start(HOLD, cache.folder, KEY)
    assert (holder.line(), holder.line()) == ("ready", "held")
    cache.trim()
    cache.clear()
    assert cache.held([KEY]) == 1, "a claim that is held must stay"
    holder.kill()
    assert names(cache.folder) == [f"trial-{KEY}.lock"]
    assert cache.held([KEY]) == 0
    for clean in (cache.trim, cache.clear):
        (cache.folder / f"trial-{KEY}.lock").touch()
        clean()
        assert names(cache.folder) == []


def test_asking_who_holds_what_writes_nothing(cache):
    assert cache.held([KEY, OTHER]) == 0
    assert not cache.folder.exists()
    cache.folder.mkdir()
    assert cache.held([KEY, OTHER]) == 0
    assert names(cache.folder) == []


@posix
def test_a_file_system_without_locks_still_keeps_trials(cache, monkeypatch):
    import errno
    import fcntl

    def without(*_):
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", without)  # what such a file system answers
    warnings.simplefilter("error")
    for key in (KEY, OTHER):
        with cache.claim(key):
            # Nor a file that stands for a lock: it would outlive a process that is killed.
            assert not list(cache.folder.glob("*.lock"))
            assert cache.held([KEY, OTHER]) == 0
            cache.save(key, SCORES)
    assert same(cache.load(KEY, 3), SCORES)
    assert names(cache.folder) == sorted([f"trial-{KEY}.npz", f"trial-{OTHER}.npz"])


# --- killed at any moment ---

SAVE = """
large = TrialScores(np.full(200_000, -1.0), np.ones(200_000, bool))
killed, seconds = 0, np.random.default_rng(0)
while killed < 1000 and len(list(folder.glob("*.part"))) < 5:
    child = os.fork()
    if not child:
        while True:
            for key in keys:
                cache.save(key, large)
    time.sleep(seconds.uniform(0.002, 0.02))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    killed += 1
    for key in keys:
        cache.load(key, 200_000)  # any broken entry would be warned of, and warnings are errors here
print(sum(cache.load(key, 200_000) is not None for key in keys))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="only where processes fork")
def test_a_process_killed_while_it_saves_leaves_whole_entries_only(start, cache):
    keys = [key_of(number) for number in range(3)]
    cache.folder.mkdir()
    loaded = int(start(SAVE, cache.folder, *keys).finish().split()[-1])
    assert 1 <= loaded == len(list(cache.folder.glob("*.npz")))
    parts = list(cache.folder.glob("*.part"))
    assert len(parts) >= 5, "no kill came in the middle of a write"
    cache.trim()
    assert set(cache.folder.glob("*.part")) == set(parts), "these may still be growing"
    for part in parts:
        os.utime(part, (time.time() - 3700,) * 2)
    cache.trim()
    assert not list(cache.folder.glob("*.part"))
    assert len(names(cache.folder)) == loaded


# --- size ---


def aged(cache: Cache, count: int) -> list[str]:
    """Keys of entries of one size, the first used longest ago."""
    keys = [key_of(number) for number in range(count)]
    for age, key in enumerate(keys):
        cache.save(key, SCORES)
        os.utime(cache.folder / f"trial-{key}.npz", (1000 + age, 1000 + age))
    return keys


def kept(cache: Cache, keys: list[str]) -> list[int]:
    return [number for number, key in enumerate(keys) if (cache.folder / f"trial-{key}.npz").exists()]


def test_the_longest_unused_go_first_and_no_more_than_needed(cache):
    keys = aged(cache, 6)
    size = cache.contents().size // 6
    Cache(cache.folder, 6 * size).trim()
    assert kept(cache, keys) == [0, 1, 2, 3, 4, 5]
    assert cache.load(keys[1], 3) is not None  # now the last used
    assert cache.load(keys[3], 3) is not None
    Cache(cache.folder, 4 * size - 1).trim()
    assert kept(cache, keys) == [1, 3, 5]
    Cache(cache.folder, 0).trim()
    assert kept(cache, keys) == []


def test_trimming_needs_no_folder(cache):
    cache.trim()
    assert not cache.folder.exists()


TRIM = """
sys.stdin.readline()
Cache(folder, int(keys[0])).trim()
"""


def test_processes_that_trim_at_once_neither_fail_nor_remove_too_much(start, cache):
    keys = aged(cache, 300)
    size = cache.contents().size // 300
    started = [start(TRIM, cache.folder, str(100 * size)) for _ in range(2)]
    for one in started:
        assert one.line() == "ready"
    for one in started:
        one.go()
    for one in started:
        one.finish()
    assert kept(cache, keys) == list(range(200, 300))


def test_what_a_user_keeps_there_is_never_removed(cache, tmp_path):
    cache.save(KEY, SCORES)
    outside = tmp_path / "outside"
    outside.mkdir()
    inside = cache.folder / "mine"
    inside.mkdir()
    names_like_ours = [f"trial-{OTHER}.npz", f"trial-{OTHER}.lock", f"trial-{OTHER}-{'0' * 16}.part"]
    for name in names_like_ours:
        (outside / name).write_text("theirs")
        (inside / name).write_text("mine")
        (cache.folder / name).symlink_to(outside / name)
    (cache.folder / f"trial-{key_of('folder')}.npz").mkdir()
    (cache.folder / "elsewhere").symlink_to(outside)
    unlike = [f"{KEY}.npz", f"trial-{KEY}.npz.bak", f"my-trial-{KEY}.npz", f"trial-{KEY[:-1]}.npz", "trial-notes.npz"]
    for name in [*unlike, f"trial-{KEY.upper()}.npz", f"trial-{KEY}.txt", "notes.txt", ".hidden"]:
        (cache.folder / name).write_text("mine")
    (cache.folder / f"trial-{KEY}.lock").touch()
    (cache.folder / f"trial-{KEY}-{'0' * 16}.part").touch()
    before = set(names(cache.folder)) - {f"trial-{KEY}{end}" for end in (".npz", ".lock", f"-{'0' * 16}.part")}
    Cache(cache.folder, 0).trim()
    cache.save(KEY, SCORES)
    assert cache.contents().trials == 1
    assert cache.clear().trials == 1
    assert set(names(cache.folder)) == before
    assert names(outside) == names(inside) == sorted(names_like_ours)
    assert (outside / names_like_ours[0]).read_text() == "theirs"
    assert (inside / names_like_ours[0]).read_text() == "mine"


def test_contents_say_how_many_how_large_and_how_old(cache):
    assert vars(cache.contents()) == {"trials": 0, "size": 0, "oldest": None, "newest": None}
    aged(cache, 3)
    found = cache.contents()
    sizes = [path.stat().st_size for path in cache.folder.iterdir()]
    assert (found.trials, found.size) == (3, sum(sizes))
    assert (found.oldest, found.newest) == (datetime.fromtimestamp(1000), datetime.fromtimestamp(1002))
    assert cache.clear() == found
    assert cache.contents().trials == 0
    assert cache.clear().trials == 0


# --- which folder ---


@pytest.fixture
def bare(monkeypatch, tmp_path) -> Path:
    """A home folder, and none of our variables."""
    for name in ("CAPTIONBIAS_CACHE", "CAPTIONBIAS_CACHE_GB", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    return tmp_path


def test_the_usual_folder_and_what_moves_it(bare, monkeypatch):
    assert open_cache(True).folder == bare / ".cache" / "captionbias"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert open_cache(True).folder == bare / ".cache" / "captionbias"
    monkeypatch.setenv("XDG_CACHE_HOME", str(bare / "xdg"))
    assert open_cache(True).folder == bare / "xdg" / "captionbias"
    monkeypatch.setenv("CAPTIONBIAS_CACHE", "~/mine")
    assert open_cache(True).folder == bare / "mine"
    monkeypatch.setenv("CAPTIONBIAS_CACHE", "")
    assert open_cache(True).folder == bare / "xdg" / "captionbias"
    assert open_cache(True).limit == GIGABYTE
    assert names(bare) == [], "nothing is made before a trial is saved"


def test_a_folder_of_one_s_own(bare, monkeypatch):
    monkeypatch.setenv("CAPTIONBIAS_CACHE", str(bare / "another"))
    monkeypatch.chdir(bare)
    assert open_cache(bare / "mine").folder == bare / "mine"
    assert open_cache("~/mine").folder == bare / "mine"
    cache = open_cache("mine")
    monkeypatch.chdir("/")
    assert cache.folder == bare / "mine", "it moved with the working folder"
    assert open_cache(False) is None
    cache.save(KEY, SCORES)
    assert names(bare) == ["mine"]


@pytest.mark.parametrize("value", [None, 1, 0, "", " ", "a\0b", b"folder", ["folder"], 0.5])
def test_anything_else_is_refused(bare, value):
    with pytest.raises(ValueError, match=r"cache is .*: give True .* False .* or the path of a folder"):
        open_cache(value)


@pytest.mark.parametrize(("given", "limit"), [("0.5", GIGABYTE // 2), ("20", 20 * GIGABYTE), ("0", 0), ("", GIGABYTE)])
def test_the_limit_is_in_gigabytes(bare, monkeypatch, given, limit):
    monkeypatch.setenv("CAPTIONBIAS_CACHE_GB", given)
    assert open_cache(True).limit == open_cache("mine").limit == limit


@pytest.mark.parametrize("given", ["-1", "nan", "inf", "1e400", "1e305", "much", "1,5", "1 GB"])
def test_a_limit_that_is_no_size_is_refused(bare, monkeypatch, given):
    monkeypatch.setenv("CAPTIONBIAS_CACHE_GB", given)
    with pytest.raises(ValueError, match=f"CAPTIONBIAS_CACHE_GB is '{given}'.*gigabytes, such as 0.5"):
        open_cache(True)
    assert open_cache(False) is None


@posix
@pytest.mark.skipif(os.name == "posix" and os.geteuid() != 0, reason="only root can become a user without a home")
def test_a_user_without_a_home_is_told_and_goes_without(start, bare, monkeypatch, tmp_path):
    monkeypatch.delenv("HOME")
    code = """
os.setuid(54321)
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    assert open_cache(True) is None
print(*(warning.message for warning in told))
"""
    message = start(code, tmp_path).finish().splitlines()[1]
    assert "no home folder" in message
    assert "Set CAPTIONBIAS_CACHE" in message
