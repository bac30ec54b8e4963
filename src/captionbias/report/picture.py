"""One picture of captioners: whom they name wrong where `sway` was measured with details, else the main scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from captionbias.analysis.audit import Audit
from captionbias.bench.catalogue import SCORES
from captionbias.bench.measurement import Measurement, Result
from captionbias.bench.sentence import called_in
from captionbias.compat import result_of
from captionbias.errors import InputError
from captionbias.report.leaderboard import Leaderboard, audit_leaderboard, leaderboard
from captionbias.report.svg import Picture, drawn


def picture(measured: Audit | Measurement | Mapping[str, Any], name: str = "captioner") -> Picture:
    """Captioners as rows, by `sway` with details; of any other result by the main scores, with their intervals.

    Args:
        measured: an audit, or what a metric measured or returned, or read from a file.
        name: of the captioner, where there is one alone.

    >>> picture({"lic": 20.1, "signature": "metric:lic"}).startswith("<svg")
    True
    """
    if isinstance(measured, Audit):
        return drawn(audit_leaderboard(measured))
    if not isinstance(measured, (Measurement, Mapping)):
        raise InputError(
            "measured", f"is of type {type(measured).__name__}: measure it first, as in picture(sway(...))"
        )
    result = measured.flat() if isinstance(measured, Measurement) else measured
    metric = next((SCORES[key].metric for key in result if key in SCORES), None)
    return captioner_picture({metric: result} if metric else {}, name)


def captioner_picture(results: Mapping[str, Mapping[str, Any]], name: str) -> Picture:
    return drawn(captioner_rows(results, name))


def captioner_rows(results: Mapping[str, Mapping[str, Any]], name: str) -> Leaderboard:
    """The rows of a captioner by what each metric returned; of sway with details of it alone."""
    known = {metric: result_of(result) for metric, result in results.items()}
    if "level" in (known.get("sway", Result()).get("details") or {}):
        known = {"sway": known["sway"]}
    verdicts = {(name, key): one.verdict for of in known.values() for key, one in of.estimates.items() if one.verdict}
    return leaderboard({name: [*known.values()]}, verdicts, called_in(next(iter(known.values()), {})))
