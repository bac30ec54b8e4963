"""Scores of captions and of caption sets."""

from captionbias.scores.captions import CAPTION_SCORES, QUALITIES, confidence, cross_entropy, leakage, lic
from captionbias.scores.omega import Omega, Side, Tested, named_frequencies, normalized_difference, number_sets, omegas

__all__ = [
    "CAPTION_SCORES",
    "QUALITIES",
    "Omega",
    "Side",
    "Tested",
    "confidence",
    "cross_entropy",
    "leakage",
    "lic",
    "named_frequencies",
    "normalized_difference",
    "number_sets",
    "omegas",
]
