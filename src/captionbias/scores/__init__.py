"""Scores of captions and of caption sets."""

from captionbias.scores.captions import CAPTION_SCORES, QUALITIES, confidence, cross_entropy, leakage, lic
from captionbias.scores.omega import (
    Omega,
    Parts,
    Side,
    Tested,
    amplification_part,
    named_frequencies,
    normalized_difference,
    number_sets,
    occurrences,
    omega_parts,
    omegas,
)

__all__ = [
    "CAPTION_SCORES",
    "QUALITIES",
    "Omega",
    "Parts",
    "Side",
    "Tested",
    "amplification_part",
    "confidence",
    "cross_entropy",
    "leakage",
    "lic",
    "named_frequencies",
    "normalized_difference",
    "number_sets",
    "occurrences",
    "omega_parts",
    "omegas",
]
