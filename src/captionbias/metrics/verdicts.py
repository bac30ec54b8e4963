"""What a score with its interval says: the captioner amplifies, mitigates, or it is not clear."""

from __future__ import annotations

from collections.abc import Mapping

from captionbias.metrics import catalogue
from captionbias.metrics.measurement import Estimate

NOTHING = "-"
AMPLIFIES, MITIGATES, UNCLEAR = "amplifies", "mitigates", "unclear"
# What a person, or a faithful synthetic captioner, reads at most with a few thousand images: attackers trained on other
# captions would differ by as much, which no interval knows of.
SMALL_DBAC = 0.01


def verdict(estimates: Mapping[str, Estimate], key: str) -> str:
    """On which side of 0 a score and its interval are; a net DBAC below `SMALL_DBAC` is no evidence.

    None of a score whose excess over a person was measured: the verdict is that one's.
    """
    estimate = estimates.get(key)
    if estimate is None or estimate.low is None or estimate.high is None:
        return NOTHING
    if catalogue.superseded(key, estimates):
        return NOTHING
    if key.endswith("_net") and abs(estimate.value) < SMALL_DBAC:
        return UNCLEAR
    if estimate.low > 0:
        return AMPLIFIES
    return UNCLEAR if estimate.high >= 0 else MITIGATES
