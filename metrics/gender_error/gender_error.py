"""Gender ratio and error as an `evaluate` module."""

from captionbias import metrics
from captionbias.hub import modules


class GenderError(modules.CaptionMetric):
    metric = metrics.gender_error
