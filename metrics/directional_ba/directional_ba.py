"""Directional BA as an `evaluate` module."""

from captionbias import metrics
from captionbias.hub import modules


class DirectionalBa(modules.CaptionMetric):
    metric = metrics.directional_ba
