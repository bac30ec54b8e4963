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
from captionbias.report.leaderboard import Leaderboard, audit_leaderboard, audit_title, leaderboard, title
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
        board = audit_leaderboard(measured)
        return drawn(board, audit_title(board, measured))
    if not isinstance(measured, (Measurement, Mapping)):
        raise InputError(
            "measured", f"is of type {type(measured).__name__}: measure it first, as in picture(sway(...))"
        )
    result = measured.flat() if isinstance(measured, Measurement) else measured
    metric = next((SCORES[key].metric for key in result if key in SCORES), None)
    return captioner_picture({metric: result} if metric else {}, name)


def captioner_picture(results: Mapping[str, Mapping[str, Any]], name: str) -> Picture:
    """The picture of a captioner by what each metric returned."""
    return drawn(*captioner_rows(results, name))


def captioner_rows(results: Mapping[str, Mapping[str, Any]], name: str) -> tuple[Leaderboard, str]:
    """The rows of a captioner by what each metric returned, and their title; of sway with details of it alone."""
    known = {metric: result_of(result) for metric, result in results.items()}
    if "level" in (known.get("sway", Result()).get("details") or {}):
        known = {"sway": known["sway"]}
    estimates = {key: one for result in known.values() for key, one in result.estimates.items()}
    verdicts = {(name, key): one.verdict for key, one in estimates.items() if one.verdict}
    first = next(iter(known.values()), Result())
    details = {name: first["details"]} if "level" in (first.get("details") or {}) else {}
    board = leaderboard({name: estimates}, verdicts, called_in(first), details)
    return board, title(board, {name: list(known.values())}, verdicts)
