"""DPA as an `evaluate` module."""

from captionbias import metrics
from captionbias.hub import modules


class DPA(modules.CaptionMetric):
    metric = metrics.dpa
