"""The score of one caption from what an attacker says of it, named as in the papers: pure functions on arrays."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from captionbias.arrays import Flags, Floats


def leakage(log_probability: Floats, correct: Flags) -> Floats:
    """1 for each caption that the attacker gets right (Wang et al. 2019). Arrays of shape `(n,)`.

    >>> leakage(np.log([0.9, 0.4]), np.array([True, False])).tolist()
    [1.0, 0.0]
    """
    return correct.astype(np.float64)


def lic(log_probability: Floats, correct: Flags) -> Floats:
    """The probability of the truth for each caption that the attacker gets right, else 0 (Hirota et al. 2022).

    >>> lic(np.log([0.9, 0.4]), np.array([True, False])).round(6).tolist()
    [0.9, 0.0]
    """
    return np.exp(log_probability) * correct


def confidence(log_probability: Floats, correct: Flags) -> Floats:
    """The probability of the truth for each caption (ImageCaptioner2, Eq. 4).

    >>> confidence(np.log([0.9, 0.4]), np.array([True, False])).round(6).tolist()
    [0.9, 0.4]
    """
    return np.exp(log_probability)


CAPTION_SCORES: dict[str, Callable[[Floats, Flags], Floats]] = {
    "lic": lic,
    "leakage": leakage,
    "confidence": confidence,
}


def cross_entropy(log_probability: Floats, correct: Flags) -> Floats:
    """The attacker's loss on each caption, in nats.

    >>> cross_entropy(np.array([-0.5]), np.array([True])).tolist()
    [0.5]
    """
    return -log_probability


QUALITIES: dict[str, Callable[[Floats, Flags], Floats]] = {
    "confidence": confidence,
    "accuracy": leakage,
    "inverse_cross_entropy": cross_entropy,
}
