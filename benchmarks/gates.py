"""What the gate says of captions, for `power.py`, `harmless.py` and `occupations.py`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

from captionbias.bench.verdicts import BEYOND
from captionbias.captions import check_captions
from captionbias.cli.gate import FAIL, PASS, UNKNOWN, _asked, _judged, _tolerances
from captionbias.metrics import find_metric
from captionbias.report.wording import interval
from captionbias.statistics.samples import Estimate

EXITS = {PASS: "pass", FAIL: "fail", UNKNOWN: "undecided"}
SHOWN = ("wrong_gap", "unnamed_gap", "t_to_a", "t_to_a_lost", "words", "length_gap", "missing_gap")


class Gated(NamedTuple):
    """The gate's exit status, the lines of questions that do not pass, every score, and what is behind them."""

    exit: int
    lines: tuple[str, ...]
    estimates: Mapping[str, Estimate]
    facts: Mapping[str, float]
    details: Mapping[str, Any]

    def more(self, question: str) -> bool:
        """Whether this question is answered with more, or that captions differ."""
        estimate = self.estimates.get(f"sway_{question}")
        return estimate is not None and estimate.verdict in BEYOND

    def cells(self) -> list[str]:
        """The exit, and each score."""
        known = (self.estimates.get(f"sway_{name}") for name in SHOWN)
        return [EXITS[self.exit], *("-" if estimate is None else interval(estimate, 1) for estimate in known)]

    def chosen(self) -> str:
        """The words of each value that its captions were counted by."""
        rows = self.details.get("words_chosen", ())
        said = (f"{row['attribute']}: {', '.join(of['words'] for of in row['columns'][:8])}" for row in rows)
        return "; ".join(said)


def gated(options: Mapping[str, Any] | None = None, **given: Any) -> Gated:
    """What `captionbias gate --portrait` says of these captions, with options of sway."""
    warnings.simplefilter("ignore")
    captions = check_captions(**given)
    measured = find_metric("sway").measure(captions, **options or {}, details=True)
    answers = list(_asked(captions, measured, partial(_judged, _tolerances([]))))
    statuses = {status for status, _ in answers}
    lines = tuple(line for status, line in answers if status != PASS)
    whole = FAIL if FAIL in statuses else max(statuses)
    return Gated(whole, lines, measured.estimates, measured.facts, measured.details or {})
