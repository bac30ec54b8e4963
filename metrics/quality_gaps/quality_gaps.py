"""Gaps in quality as an `evaluate` module."""

from captionbias import metrics
from captionbias.hub import modules


class QualityGaps(modules.CaptionMetric):
    metric = metrics.quality_gaps
