"""What was called or written otherwise in 0.2, in this one file: results, keys, commands."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from captionbias.bench.measurement import Result
from captionbias.bench.verdicts import judge
from captionbias.metrics import catalogue
from captionbias.statistics.samples import Estimate

# The fields of an estimate by the ending of their keys in a result of 0.2, each key a number.
ENDINGS = {
    "low": "_ci_low",
    "high": "_ci_high",
    "std": "_std",
    "trial_low": "_trial_ci_low",
    "trial_high": "_trial_ci_high",
    "detectable": "_detectable",
    "margin": "_margin",
    "noise": "_noise",
}
# What is gone, by its name, and what to do instead.
REMOVED = {
    "sway_words_size": "was removed: compare sway_words of as many images",
    "power": "was removed: captionbias gate --references people.parquet prints how many images each question takes",
    "anonymousbench": "was removed: scipy.stats.pearsonr correlates scores with people's answers",
}


def result_of(content: Mapping[str, Any]) -> Result:
    """A flat result; one that 0.2 wrote, of numbers without verdicts, as one of now.

    >>> old = {"lic": 24.5, "lic_ci_low": 21.0, "lic_ci_high": 28.0, "lic_noise": 1.5, "signature": "metric:lic"}
    >>> result_of(old)["lic_verdict"], "lic_noise" in result_of(old), result_of(result_of(old)) == result_of(old)
    ('more than people', False, True)
    """
    details = content.get("details") or {}
    if "scores" in details or any(key.endswith("_verdict") for key in content):
        return Result(content)
    known = {key: value for key, value in content.items() if value is not None}
    scores = [key for key in known if key in catalogue.SCORES]
    written = [f"{key}{ending}" for key in scores for ending in ("", *ENDINGS.values())]
    estimates = judge({key: _estimate(known, key) for key in scores})
    result = Result()
    for key in catalogue.results_among(estimates):
        result |= estimates[key].flat(key)
    result |= {key: value for key, value in known.items() if key not in written}
    if details:
        result["details"] = {**details, "scores": {key: one.as_dict() for key, one in estimates.items()}}
    return Result(result)


def _estimate(content: Mapping[str, Any], key: str) -> Estimate:
    return Estimate(content[key], **{name: content.get(f"{key}{ending}") for name, ending in ENDINGS.items()})


def told_of(name: str) -> str | None:
    """What became of a key of a result, or of a command, of 0.2; None of any other name.

    >>> told_of("sway_t_to_a_ci_high"), told_of("sway")
    ('is in details["scores"], with details=True: give the score itself, sway_t_to_a', None)
    """
    if name in REMOVED:
        return REMOVED[name]
    score = re.sub(f"({'|'.join(ENDINGS.values())})$", "", name)
    return f'is in details["scores"], with details=True: give the score itself, {score}' if score != name else None
