"""The metrics, one small file each.

A metric is a function of captions (or labels) that returns a flat dict; its `measure` returns the `Measurement`.
"""

from typing import Any

from captionbias.bench import catalogue
from captionbias.bench.measurement import Measurement, Metric, Result
from captionbias.errors import unknown
from captionbias.metrics.ba_mals import ba_mals
from captionbias.metrics.dbac import dbac
from captionbias.metrics.directional_ba import directional_ba
from captionbias.metrics.dpa import dpa
from captionbias.metrics.gender_error import gender_error
from captionbias.metrics.label_leakage import label_leakage
from captionbias.metrics.lic import lic
from captionbias.metrics.multi_directional_ba import multi_directional_ba
from captionbias.metrics.sway import sway
from captionbias.wings import entered

_METRICS: dict[str, Metric[Any]] = {}


def add(metric: Metric[Any]) -> None:
    """Make a metric one that commands, reports and modules find by its name."""
    _METRICS[metric.name] = metric
    catalogue.register(metric.entry)


for _metric in (sway, dbac, lic, directional_ba, multi_directional_ba, ba_mals, dpa, label_leakage, gender_error):
    add(_metric)
for _module in entered("metrics"):
    pass  # it adds its own when it is imported


def find_metric(name: str) -> Metric[Any]:
    """The metric of that name, which may have hyphens; ValueError names those there are.

    >>> find_metric("lic") is lic
    True
    """
    found = _METRICS.get(name.replace("-", "_"))
    if found is None:
        raise unknown("metric", name, _METRICS)
    return found


def __getattr__(name: str) -> Metric[Any]:
    """The metrics that wings have added."""
    if name in _METRICS:
        return _METRICS[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Measurement",
    "Metric",
    "Result",
    "add",
    "ba_mals",
    "catalogue",
    "dbac",
    "directional_ba",
    "dpa",
    "find_metric",
    "gender_error",
    "label_leakage",
    "lic",
    "multi_directional_ba",
    "sway",
]
