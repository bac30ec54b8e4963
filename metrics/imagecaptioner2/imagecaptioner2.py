"""ImageCaptioner2 as an `evaluate` module."""

from captionbias import metrics
from captionbias.hub import modules


class Imagecaptioner2(modules.CaptionMetric):
    metric = metrics.imagecaptioner2
