"""Scores of captions and of caption sets."""

from captionbias.scores.captions import CAPTION_SCORES, QUALITIES, confidence, cross_entropy, leakage, lic
from captionbias.scores.omega import (
    Omega,
    Side,
    Table,
    Tested,
    amplification_part,
    named_frequencies,
    normalized_difference,
    number_sets,
    occurrences,
    omegas,
    pair_shares,
    tabulate,
)

__all__ = [
    "CAPTION_SCORES",
    "QUALITIES",
    "Omega",
    "Side",
    "Table",
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
    "omegas",
    "pair_shares",
    "tabulate",
]
