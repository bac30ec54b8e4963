"""Label leakage as an `evaluate` module."""

from captionbias import metrics
from captionbias.hub import modules


class LabelLeakage(modules.CaptionMetric):
    metric = metrics.label_leakage
