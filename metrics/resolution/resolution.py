"""Resolution as an `evaluate` module."""

from captionbias import metrics
from captionbias.hub import modules


class Resolution(modules.CaptionMetric):
    metric = metrics.resolution
