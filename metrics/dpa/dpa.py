"""DPA as an `evaluate` module."""

from captionbias import metrics
from captionbias.hub import modules


class Dpa(modules.CaptionMetric):
    metric = metrics.dpa
