"""The metrics, one small file each.

A metric is a function of captions (or labels) that returns a flat dict; its `measure` returns the `Measurement`.
"""

from typing import Any

from captionbias.metrics import catalogue
from captionbias.metrics.ba_mals import ba_mals
from captionbias.metrics.dbac import dbac
from captionbias.metrics.directional_ba import directional_ba
from captionbias.metrics.dpa import dpa
from captionbias.metrics.gender_error import gender_error
from captionbias.metrics.imagecaptioner2 import imagecaptioner2
from captionbias.metrics.label_leakage import label_leakage
from captionbias.metrics.lic import lic
from captionbias.metrics.measurement import Measurement, Metric, Result
from captionbias.metrics.multi_directional_ba import multi_directional_ba
from captionbias.metrics.sway import sway

_METRICS: tuple[Metric[Any], ...] = (
    sway,
    dbac,
    lic,
    directional_ba,
    multi_directional_ba,
    ba_mals,
    dpa,
    label_leakage,
    gender_error,
    imagecaptioner2,
)


for _metric in _METRICS:
    catalogue.register(_metric.entry)


def find_metric(name: str) -> Metric[Any]:
    """The metric of that name, which may have hyphens; ValueError names those there are.

    >>> find_metric("lic") is lic
    True
    """
    for metric in _METRICS:
        if metric.name == name.replace("-", "_"):
            return metric
    raise ValueError(f"metric {name!r} is unknown; choose one of {', '.join(metric.name for metric in _METRICS)}")


__all__ = [
    "Measurement",
    "Metric",
    "Result",
    "ba_mals",
    "dbac",
    "directional_ba",
    "dpa",
    "find_metric",
    "gender_error",
    "imagecaptioner2",
    "label_leakage",
    "lic",
    "multi_directional_ba",
    "sway",
]
