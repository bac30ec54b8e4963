"""One small file a metric."""

from captionbias.metrics.dbac import dbac
from captionbias.metrics.lic import lic

__all__ = ["dbac", "lic"]
