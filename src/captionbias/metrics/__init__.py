"""The metrics, one small file each, in the order of tables: to import a metric's file is to add it everywhere.

A metric is a function of captions (or labels) that returns a flat dict; its `measure` returns the `Measurement`.
"""

# ruff: noqa: I001 (the order of tables)
from typing import Any

from captionbias.bench import catalogue as catalogue
from captionbias.bench.measurement import (
    DEFINED as DEFINED,
    Measurement as Measurement,
    Metric as Metric,
    Result as Result,
)
from captionbias.errors import unknown
from captionbias.metrics.sway import sway as sway
from captionbias.metrics.dbac import dbac as dbac
from captionbias.metrics.lic import lic as lic
from captionbias.metrics.directional_ba import directional_ba as directional_ba
from captionbias.metrics.multi_directional_ba import multi_directional_ba as multi_directional_ba
from captionbias.metrics.ba_mals import ba_mals as ba_mals
from captionbias.metrics.dpa import dpa as dpa
from captionbias.metrics.label_leakage import label_leakage as label_leakage
from captionbias.metrics.gender_error import gender_error as gender_error
from captionbias.metrics.quality_gaps import quality_gaps as quality_gaps
from captionbias.metrics.resolution import resolution as resolution
from captionbias.wings import wing

wing("images.imagecaptioner2")


def find_metric(name: str) -> Metric[Any]:
    """The metric of that name, which may have hyphens; ValueError names those there are.

    >>> find_metric("lic") is lic
    True
    """
    metric = DEFINED.get(name.replace("-", "_"))
    if metric is None:
        raise unknown("metric", name, DEFINED)
    return metric


def __getattr__(name: str) -> Metric[Any]:
    """The metrics of wings."""
    if name in DEFINED:
        return DEFINED[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
