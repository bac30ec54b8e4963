"""BA (MALS) as an `evaluate` module."""

from captionbias import metrics
from captionbias.hub import modules


class BaMals(modules.CaptionMetric):
    metric = metrics.ba_mals
