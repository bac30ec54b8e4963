"""DBAC as an `evaluate` module."""

from captionbias import metrics
from captionbias.hub import modules


class Dbac(modules.CaptionMetric):
    metric = metrics.dbac
