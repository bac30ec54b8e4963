"""One picture of captioners: the portrait where `sway` was measured with details, else the main scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from captionbias.analysis.audit import Audit
from captionbias.bench.catalogue import SCORES
from captionbias.bench.measurement import Measurement
from captionbias.bench.sentence import called_in
from captionbias.compat import result_of
from captionbias.errors import InputError
from captionbias.report.charts import leaderboard_chart
from captionbias.report.drawn import WIDE, naming_drawing, words_drawing
from captionbias.report.portrait import Portrait, audit_portrait, portrait_of
from captionbias.report.rows import rows_of
from captionbias.report.svg import Picture, document


def picture(measured: Audit | Measurement | Mapping[str, Any], name: str = "captioner") -> Picture:
    """The portrait of captioners by `sway` with details; of any other result the main scores with their intervals.

    Args:
        measured: an audit, or what a metric measured or returned, or read from a file.
        name: of the captioner, where there is one alone.

    >>> picture({"lic": 20.1, "signature": "metric:lic"}).startswith("<svg")
    True
    """
    if isinstance(measured, Audit):
        portrait = audit_portrait(measured)
        return portrait_picture(portrait) if portrait else leaderboard_chart(rows_of(measured.as_dict()))
    if not isinstance(measured, (Measurement, Mapping)):
        raise InputError(
            "measured", f"is of type {type(measured).__name__}: measure it first, as in picture(sway(...))"
        )
    result = measured.flat() if isinstance(measured, Measurement) else measured
    metric = next((SCORES[key].metric for key in result if key in SCORES), None)
    return captioner_picture({metric: result} if metric else {}, name)


def captioner_picture(results: Mapping[str, Mapping[str, Any]], name: str) -> Picture:
    """The picture of a captioner by what each metric returned."""
    sway = result_of(results.get("sway", {}))
    if "level" not in (sway.get("details") or {}):
        scores = {metric: {"scores": result} for metric, result in results.items()}
        return leaderboard_chart(rows_of({"metrics": scores}, name))
    verdicts = {(name, key): one.verdict for key, one in sway.estimates.items() if one.verdict}
    return portrait_picture(portrait_of({name: sway}, verdicts, called_in(sway)))


def portrait_picture(portrait: Portrait) -> Picture:
    title = f"Who is named wrong, and which words follow the {portrait.called['value']}"
    return document([naming_drawing(portrait), words_drawing(portrait)], WIDE, title)
