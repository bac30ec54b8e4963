"""The score of one caption from what an attacker says of it, named as in the papers: pure functions on arrays."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from captionbias.arrays import Flags, Floats


def leakage(log_probability: Floats, correct: Flags) -> Floats:
    """1 for each caption that the attacker gets right (Wang et al. 2019)."""
    return correct.astype(np.float64)


def lic(log_probability: Floats, correct: Flags) -> Floats:
    """The probability of the truth for each caption that the attacker gets right, else 0 (Hirota et al. 2022)."""
    return np.exp(log_probability) * correct


def confidence(log_probability: Floats, correct: Flags) -> Floats:
    """The probability of the truth for each caption (ImageCaptioner2, Eq. 4)."""
    return np.exp(log_probability)


def cross_entropy(log_probability: Floats, correct: Flags) -> Floats:
    """The attacker's loss on each caption, in nats."""
    return -log_probability


Quality = Callable[[Floats, Flags], Floats]
CAPTION_SCORES: dict[str, Quality] = {"lic": lic, "leakage": leakage, "confidence": confidence}
QUALITIES: dict[str, Quality] = {"confidence": confidence, "accuracy": leakage, "inverse_cross_entropy": cross_entropy}
