"""Metrics that return everything that they measured, also what a result tells with details alone, as one flat dict."""

from typing import Any

from captionbias.compat import ENDINGS
from captionbias.metrics import Measurement, find_metric


def whole(measured: Measurement) -> dict[str, Any]:
    """Every number of every estimate, the facts, and the rest of the flat result."""
    numbers = {
        f"{key}{ending}": getattr(estimate, name)
        for key, estimate in measured.estimates.items()
        for name, ending in {"value": "", **ENDINGS}.items()
    }
    flat = {key: entry for key, entry in measured.flat().items() if not key.endswith("_verdict")}
    return {key: number for key, number in numbers.items() if number is not None} | measured.facts | flat


class Whole:
    """A metric that returns the whole of its result, else as it is."""

    def __init__(self, name: str) -> None:
        self.metric = find_metric(name)

    def __call__(self, *captions: Any, **options: Any) -> dict[str, Any]:
        return whole(self.metric.measure(*captions, **options))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.metric, name)


dbac, lic, sway, dpa, label_leakage = map(Whole, ("dbac", "lic", "sway", "dpa", "label_leakage"))
directional_ba, gender_error, imagecaptioner2 = map(Whole, ("directional_ba", "gender_error", "imagecaptioner2"))
