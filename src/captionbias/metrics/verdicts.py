"""What a score with its interval says: the captioner amplifies, mitigates, or it is not clear."""

from __future__ import annotations

from collections.abc import Mapping

from captionbias.metrics import catalogue
from captionbias.metrics.catalogue import SMALL_DBAC as SMALL_DBAC
from captionbias.statistics.samples import Estimate

NOTHING = "-"
AMPLIFIES, MITIGATES, UNCLEAR = "amplifies", "mitigates", "unclear"


def verdict(estimates: Mapping[str, Estimate], key: str) -> str:
    """On which side of 0 a score and its interval are, or those of all the scores that decide its verdict; nearer to 0
    than its margin it is no evidence.

    None of a score whose excess over a person was measured: the verdict is that one's.
    """
    estimate = estimates.get(key)
    if estimate is None or estimate.low is None or estimate.high is None:
        return NOTHING
    if catalogue.superseded(key, estimates):
        return NOTHING
    score = catalogue.SCORES[key]
    if abs(estimate.value) < score.margin:
        return UNCLEAR
    sides = ((AMPLIFIES, score.above, 1), (MITIGATES, score.below, -1))
    for said, deciding, sign in sides:
        found = [estimates.get(other) for other in deciding or (key,)]
        if all(one is not None and _nearest(one, sign) > 0 for one in found):
            return said
    return UNCLEAR


def _nearest(estimate: Estimate, sign: int) -> float:
    """How far on the positive (1) or negative (-1) side of 0 the nearest end of the interval is, or the value without
    one."""
    end = estimate.low if sign > 0 else estimate.high
    return sign * (estimate.value if end is None else end)


def detectable(estimates: Mapping[str, Estimate], key: str) -> float | None:
    """How large the score would have to be for its verdict to be clear in four of five samples of this size.

    >>> detectable({"lic": Estimate(1.0, -0.5, 2.5, detectable=2.1)}, "lic")
    2.1
    """
    score = catalogue.SCORES[key]
    sizes = [estimates[one].detectable for one in (key, *score.above, *score.below) if one in estimates]
    return max((size for size in sizes if size is not None), default=None)
