"""Scores of captions and of caption sets."""

from captionbias.scores.captions import CAPTION_SCORES, QUALITIES, confidence, cross_entropy, leakage, lic
from captionbias.scores.omega import normalized_difference, number_sets

__all__ = [
    "CAPTION_SCORES",
    "QUALITIES",
    "confidence",
    "cross_entropy",
    "leakage",
    "lic",
    "normalized_difference",
    "number_sets",
]
