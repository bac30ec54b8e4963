"""Sway as an `evaluate` module."""

from captionbias import metrics
from captionbias.hub import modules


class Module(modules.CaptionMetric):
    metric = metrics.sway
