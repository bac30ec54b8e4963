"""LIC as an `evaluate` module."""

from captionbias import metrics
from captionbias.hub import modules


class Lic(modules.CaptionMetric):
    metric = metrics.lic
