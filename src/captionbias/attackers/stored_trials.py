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
FORMAT = 3
_digests: WeakKeyDictionary[Examples, str] = WeakKeyDictionary()


def trial_key(trial: Trial, attacker: str) -> str:
    """Everything that determines a trial's scores, as 64 hexadecimal digits. `attacker` names all but the trial. Words
    that occur in no caption change nothing."""
    digest = _digests.get(trial.examples) or _digests.setdefault(trial.examples, _examples_digest(trial.examples))
    return _digest(str(FORMAT), attacker, digest, trial.train, trial.test, str(int(trial.seed)))


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
    tokens, present = examples.tokens, examples.tokens.present()
    words = [word for word, occurs in zip(tokens.words, present, strict=True) if occurs]
    targets = examples.targets.astype(bool) if examples.multilabel else examples.targets
    pictures = b"" if examples.pictures is None else np.ascontiguousarray(examples.pictures).data
    return _digest(
        repr((words, examples.masks, targets.shape, int(examples.outputs), sha256(pictures).hexdigest())),
        (np.cumsum(present) - 1)[tokens.ids],
        tokens.offsets,
        targets,
    )


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
