"""The store of finished trials: what was trained once is not trained again, and a killed run goes on where it stopped.

A trial's scores are one file, named by everything that determines them. It appears whole or not at all, so a process
may be killed at any moment. A file that is lost or damaged later is never misread: its trial is trained anew.
"""

from __future__ import annotations

import errno
import math
import os
import re
import reprlib
import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from secrets import token_hex
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from captionbias.attackers.base import Examples, Trial, TrialScores
from captionbias.captions import CaptionBiasWarning

# Part of every key: raise it when entries are written, or keys are made, in another way. Older entries then stay unread
# until `trim` reaches them.
FORMAT = 1
ENTRY = re.compile(r"trial-[0-9a-f]{64}\.npz")
EMBEDDINGS = re.compile(r"embeddings-[0-9a-f]{32}-[0-9a-f]{16}\.npz")
CHECKPOINT = re.compile(r"checkpoint-[0-9a-f]{64}\.npz")
LOCK = re.compile(r"trial-[0-9a-f]{64}\.lock")
PART = re.compile(r"((trial|checkpoint)-[0-9a-f]{64}|embeddings-[0-9a-f]{32})-[0-9a-f]{16}\.part")
PART_SECONDS = 3600
CHECKPOINT_SECONDS = 7 * 24 * 3600
GIGABYTE = 1_000_000_000
# What a file system answers that has no locks, such as some of those that clusters share.
NO_LOCKS = {errno.ENOSYS, errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP}
_digests: WeakKeyDictionary[Examples, str] = WeakKeyDictionary()
_complained: set[Path] = set()


def trial_key(trial: Trial, attacker: str, reads_words: bool = False) -> str:
    """Everything that determines a trial's scores, as 64 hexadecimal digits (SHA-256).

    `attacker` names the rest: the encoder and its settings, the precision, the kind of device, the versions of the
    libraries. The trial's name is left out, and words that occur in no caption of its examples change nothing; so does
    the spelling of the others, unless the attacker `reads_words`.

    Example:
        >>> from captionbias.text import tokenize
        >>> examples = Examples(tokenize(["a man", "a dog", "a man"]), np.array([0, 1, 0]), 2)
        >>> trial = Trial("human 0", examples, np.array([0, 1]), np.array([2]), seed=0)
        >>> trial_key(trial, "bow") == trial_key(trial, "lstm")
        False
    """
    if trial.examples not in _digests:
        _digests[trial.examples] = _examples_digest(trial.examples)
    parts = (str(FORMAT), attacker, _digests[trial.examples], trial.train, trial.test, str(int(trial.seed)))
    return _digest(*parts, *([_spelling(trial.examples)] if reads_words else []))


@dataclass(frozen=True)
class Contents:
    """Entries of a cache: how many trials, the size of all in bytes, when the first and last was used (local time)."""

    trials: int
    size: int
    oldest: datetime | None
    newest: datetime | None


@dataclass(frozen=True)
class Cache:
    """Finished trials in `folder`, of at most `limit` bytes once `trim` was called; `open_cache` makes one.

    No method raises because of the disk: without a cache scores are the same, they only take longer.

    Example:
        >>> import tempfile
        >>> key, trained = "0" * 64, TrialScores(np.log([0.25, 0.75]), np.array([False, True]))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     cache = Cache(Path(folder), limit=GIGABYTE)
        ...     with cache.claim(key):
        ...         if cache.load(key, captions=2) is None:
        ...             cache.save(key, trained)
        ...     cache.load(key, captions=2).correct
        array([False,  True])
    """

    folder: Path
    limit: int

    def load(self, key: str, captions: int) -> TrialScores | None:
        """The scores kept under `key`, of `captions` test captions, now the last used; None when there are none.

        An entry that is damaged, or is another's, is warned of and counts as none.
        """
        path = self._path(key, ".npz")
        try:
            scores = _unpack(path.read_bytes(), key, captions)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except Exception as error:  # a damaged file makes its readers raise almost anything
            reason = getattr(error, "strerror", None) or "it is damaged, or not this trial's"
            warnings.warn(
                f"{path} cannot be used ({reason}): its trial is computed anew", CaptionBiasWarning, stacklevel=2
            )
            if not isinstance(error, OSError):
                _remove(path)  # or whoever looks next would be warned as well
            return None
        with suppress(OSError):  # a cache that is only read from
            os.utime(path)
        return scores

    def save(self, key: str, scores: TrialScores) -> None:
        """Keep a trial's scores under `key`. If that fails, warn once."""
        if np.isnan(scores.log_probability).any():
            return  # a training that came to nothing; `load` takes NaN for damage
        part = self._path(key, f"-{token_hex(8)}.part")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            try:
                part.write_bytes(_pack(key, scores))
                part.replace(self._path(key, ".npz"))
            finally:
                with suppress(OSError):
                    part.unlink()
        except OSError as error:
            warn_unkept("finished trials", self.folder, error)

    @contextmanager
    def claim(self, key: str) -> Iterator[None]:
        """While this is held, whoever else claims `key`, in a thread or process, waits; it should then `load` first.

        The claim of a killed process ends with it. Where there can be no lock there is no claim, and a trial may be
        trained twice. Who holds several claims at once takes them in sorted order: two could wait for each other.
        """
        path = self._path(key, ".lock")
        with ExitStack() as claimed:
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
                claimed.enter_context(_locked(path, timeout=-1))
            except FileNotFoundError:
                pass  # the folder was removed while this waited; `save` makes it anew
            except OSError as error:
                if error.errno in NO_LOCKS:
                    _remove(path)  # made on the way, and nobody can hold it
                else:
                    warn_unkept("finished trials", self.folder, error)
            yield

    def held(self, keys: Iterable[str]) -> int:
        """How many of `keys` somebody has claimed now."""
        return sum(_is_held(self._path(key, ".lock")) for key in keys)

    def contents(self) -> Contents:
        """What is kept now."""
        return _summary(sorted([*self._kept(), *self._files(CHECKPOINT)]))

    def trim(self) -> None:
        """Remove entries until the rest is within the limit, and what killed runs left.

        Embeddings go first, then trials, those first that were unused longest.

        A training in progress does not count towards the limit: one alone can be larger. Its checkpoint goes when its
        trial is finished, or after a week without a step.
        """
        # Embeddings are large and soon computed again: they make room for trials.
        entries = [*self._files(EMBEDDINGS), *self._files(ENTRY)]
        excess = sum(file.size for file in entries) - self.limit
        for file in entries:
            if excess <= 0:
                break
            if _remove(file.path):
                excess -= file.size
        for file in self._files(CHECKPOINT):
            key = file.path.stem.removeprefix("checkpoint-")
            if file.used < time.time() - CHECKPOINT_SECONDS or self._path(key, ".npz").exists():
                _remove(file.path)
        for file in self._files(PART):
            if file.used < time.time() - PART_SECONDS:  # younger ones may be growing
                _remove(file.path)
        self._remove_abandoned_locks()

    def clear(self) -> Contents:
        """Remove every entry and what killed runs left, and nothing else; returns the entries that were removed."""
        removed = [file for file in sorted([*self._kept(), *self._files(CHECKPOINT)]) if _remove(file.path)]
        for file in self._files(PART):
            _remove(file.path)
        self._remove_abandoned_locks()
        return _summary(removed)

    def _path(self, key: str, ending: str) -> Path:
        return self.folder / f"trial-{key}{ending}"

    def _kept(self) -> list[_File]:
        return sorted([*self._files(ENTRY), *self._files(EMBEDDINGS)])

    def _files(self, kind: re.Pattern[str]) -> list[_File]:
        """Files of our own making, the longest unused first. A link is not one of them, whatever its name."""
        files = []
        with suppress(OSError), os.scandir(self.folder) as found:
            for file in found:
                if kind.fullmatch(file.name) and file.is_file(follow_symlinks=False):
                    with suppress(FileNotFoundError):  # another process removed it just now
                        status = file.stat(follow_symlinks=False)
                        files.append(_File(status.st_mtime, Path(file.path), status.st_size))
        return sorted(files)

    def _remove_abandoned_locks(self) -> None:
        for file in self._files(LOCK):
            _is_held(file.path)


def warn_unkept(what: str, folder: Path, error: OSError) -> None:
    """Say that `what` cannot be kept: once a process, for thousands of trials would all say the same."""
    if folder in _complained:
        return
    _complained.add(folder)
    warnings.warn(
        f"{what} cannot be kept in {folder} ({error.strerror or error}): the scores are right, but the next run "
        "computes them again. Free space there or make it writable, or name another folder with cache= or in "
        "CAPTIONBIAS_CACHE",
        CaptionBiasWarning,
        stacklevel=3,
    )


def open_cache(cache: bool | str | Path) -> Cache | None:
    """The cache in a folder: the usual one for True, none for False. Nothing is written before a trial is.

    The usual folder is `$CAPTIONBIAS_CACHE`, else `$XDG_CACHE_HOME/captionbias`, else `~/.cache/captionbias`.
    `$CAPTIONBIAS_CACHE_GB` limits the size: 1 (10^9 bytes) by default, enough for some 70,000 trials of 1,500 captions.

    Raises:
        ValueError: `cache` or `$CAPTIONBIAS_CACHE_GB` is none of these.

    Example:
        >>> open_cache(False) is None
        True
        >>> open_cache("/data/trials").folder.name
        'trials'
        >>> open_cache(3)
        Traceback (most recent call last):
        ValueError: cache is 3: give True (the usual folder), False (keep no trials) or the path of a folder
    """
    if cache is False:
        return None
    limit = _limit()
    if cache is True:
        folder = _usual_folder()
        return None if folder is None else Cache(folder, limit)
    if not isinstance(cache, (str, Path)) or not str(cache).strip() or "\0" in str(cache):
        raise ValueError(
            f"cache is {reprlib.repr(cache)}: "
            "give True (the usual folder), False (keep no trials) or the path of a folder"
        )
    return Cache(_absolute(cache), limit)


def _usual_folder() -> Path | None:
    named = os.environ.get("CAPTIONBIAS_CACHE")
    if named:
        return _absolute(named)
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):  # one that is relative does not count, by the XDG specification
        base = os.path.expanduser("~/.cache")
    if not os.path.isabs(base):
        warnings.warn(
            "this user has no home folder, so finished trials are not kept: the scores are right, but the next run "
            "trains these trials again. Set CAPTIONBIAS_CACHE to a folder",
            CaptionBiasWarning,
            stacklevel=3,
        )
        return None
    return Path(base, "captionbias")


def _absolute(folder: str | Path) -> Path:
    """Worker processes may stand in another folder."""
    return Path(os.path.abspath(os.path.expanduser(folder)))


def _limit() -> int:
    given = os.environ.get("CAPTIONBIAS_CACHE_GB") or "1"
    try:
        limit = float(given) * GIGABYTE
    except ValueError:
        limit = math.nan
    if not 0 <= limit < math.inf:
        raise ValueError(
            f"CAPTIONBIAS_CACHE_GB is {given!r}: set it to a number of gigabytes, such as 0.5, or unset it"
        )
    return int(limit)


def _examples_digest(examples: Examples) -> str:
    tokens = examples.tokens
    dense = np.cumsum(tokens.present()) - 1
    targets = examples.targets.astype(bool) if examples.multilabel else examples.targets
    return _digest(dense[tokens.ids], tokens.offsets, str(targets.shape), targets, str(examples.outputs))


def _spelling(examples: Examples) -> str:
    present = examples.tokens.present()
    return repr((examples.mask, [word for word, here in zip(examples.tokens.words, present, strict=True) if here]))


def _digest(*parts: str | npt.NDArray[Any]) -> str:
    digest = sha256()
    for part in parts:
        if isinstance(part, str):
            content = memoryview(part.encode())
        else:
            content = np.ascontiguousarray(part, np.bool_ if part.dtype == bool else "<i8").data
        digest.update(content.nbytes.to_bytes(8, "little"))  # or the end of one part could be the start of the next
        digest.update(content)
    return digest.hexdigest()


def _pack(key: str, scores: TrialScores) -> bytes:
    content = BytesIO()
    np.savez(content, key=np.array(key), log_probability=scores.log_probability, correct=scores.correct)
    return content.getvalue()


def _unpack(content: bytes, key: str, captions: int) -> TrialScores:
    with np.load(BytesIO(content), allow_pickle=False) as found:  # a .npz file holds a checksum of each array
        written_for = str(found["key"])
        scores = TrialScores(found["log_probability"], found["correct"])
    if not (
        written_for == key
        and scores.log_probability.dtype == np.float64
        and scores.correct.dtype == np.bool_
        and scores.log_probability.shape == scores.correct.shape == (captions,)
        and not np.isnan(scores.log_probability).any()
    ):
        raise ValueError(f"no scores of {captions} captions under {key}")
    return scores


class _File(NamedTuple):
    used: float
    path: Path
    size: int


def _summary(files: list[_File]) -> Contents:
    """Of files in the order of their use."""
    oldest, newest = (datetime.fromtimestamp(files[end].used) if files else None for end in (0, -1))
    trials = sum(ENTRY.fullmatch(file.path.name) is not None for file in files)
    return Contents(trials, sum(file.size for file in files), oldest, newest)


def _remove(path: Path) -> bool:
    """Whether the file is gone, whoever removed it."""
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return False
    return True


@contextmanager
def _locked(path: Path, timeout: float) -> Iterator[None]:
    from filelock import FileLock

    # Only a lock of the operating system ends with its process. The soft kind would outlive a kill.
    with FileLock(path, timeout=timeout, fallback_to_soft=False):
        try:
            yield
        finally:
            # Removed while held, so that locks do not pile up. Whoever opened this file before gets its lock next, sees
            # that it has lost its name, and asks again by name: nobody holds a lock that newcomers cannot see.
            _remove(path)


def _is_held(path: Path) -> bool:
    """Whether somebody holds this lock now; the file that a killed process left is removed."""
    from filelock import Timeout

    if not os.path.exists(path):  # asking for the lock would make it
        return False
    try:
        with _locked(path, timeout=0):
            return False
    except Timeout:
        return True
    except OSError:
        return False
