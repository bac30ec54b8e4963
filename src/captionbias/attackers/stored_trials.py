"""Finished trials in the store: none is trained twice, and a run that was killed goes on where it stopped."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from hashlib import sha256
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from captionbias.attackers.base import Examples, Trial, TrialScores
from captionbias.io.store import Store

# Part of every key: raise it when scores are written, or keys are made, in another way. Older entries then stay unread
# until they make room.
FORMAT = 2
_digests: WeakKeyDictionary[Examples, str] = WeakKeyDictionary()


def trial_key(trial: Trial, attacker: str, reads_words: bool = False) -> str:
    """Everything that determines a trial's scores, as 64 hexadecimal digits. `attacker` names all but the trial. Words
    that occur in no caption change nothing, nor does the spelling of the others, unless the attacker `reads_words`."""
    digest = _digests.get(trial.examples) or _digests.setdefault(trial.examples, _examples_digest(trial.examples))
    parts = (str(FORMAT), attacker, digest, trial.train, trial.test, str(int(trial.seed)))
    if not reads_words:
        return _digest(*parts)
    tokens = trial.examples.tokens
    spelling = [word for word, present in zip(tokens.words, tokens.present(), strict=True) if present]
    return _digest(*parts, repr((" ".join(trial.examples.masks), spelling)))


def load_scores(store: Store, key: str, captions: int) -> TrialScores | None:
    """A trial's scores of so many test captions; None if there are none, or not of as many."""
    return store.load("trial", key, partial(_scores, captions=captions))


def _scores(arrays: Mapping[str, npt.NDArray[Any]], captions: int) -> TrialScores:
    if any(array.shape != (captions,) for array in arrays.values()):
        raise ValueError(f"a trial's scores must be of its {captions} test captions")
    if not (arrays["log_probability"] <= 0).all():
        raise ValueError("a log-probability must be 0 or less")
    return TrialScores(arrays["log_probability"], arrays["correct"])


def save_scores(store: Store, key: str, scores: TrialScores) -> None:
    """Keep a trial's scores, unless its training came to nothing (NaN)."""
    if not np.isnan(scores.log_probability).any():
        store.save("trial", key, {"log_probability": scores.log_probability, "correct": scores.correct})


def _examples_digest(examples: Examples) -> str:
    tokens = examples.tokens
    dense = np.cumsum(tokens.present()) - 1
    targets = examples.targets.astype(bool) if examples.multilabel else examples.targets
    parts = (dense[tokens.ids], tokens.offsets, str(targets.shape), targets, str(examples.outputs))
    if examples.pictures is None:
        return _digest(*parts)
    return _digest(*parts, sha256(np.ascontiguousarray(examples.pictures).data).hexdigest())


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
