"""Why a score is what it is: which words, tasks and attribute values carry it, and what to do about it."""

from __future__ import annotations

from captionbias.analysis.resampling import in_words, predicted_effect, resampling_weights, write_weights
from captionbias.explain.attributions import Attributions, attribute_captions, explain

__all__ = [
    "Attributions",
    "attribute_captions",
    "explain",
    "in_words",
    "predicted_effect",
    "resampling_weights",
    "write_weights",
]
