"""Sway as an `evaluate` module."""

from captionbias import metrics
from captionbias.hub import modules


class Sway(modules.CaptionMetric):
    metric = metrics.sway
