"""The category of every warning of this library."""

from __future__ import annotations


class CaptionBiasWarning(UserWarning):
    """Something to know before the number is believed: images left out, a weak statistic."""
