"""Multi-attribute BA as an `evaluate` module."""

from captionbias import metrics
from captionbias.hub import modules


class MultiDirectionalBa(modules.CaptionMetric):
    metric = metrics.multi_directional_ba
