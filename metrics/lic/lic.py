"""LIC as an `evaluate` module."""

from captionbias import metrics
from captionbias.hub import modules


class LIC(modules.CaptionMetric):
    metric = metrics.lic
