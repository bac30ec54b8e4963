"""Why a score is what it is: which words, tasks and attribute values carry it, and what to do about it."""

from __future__ import annotations

from captionbias.explain.attributions import Attributions, attribute_captions
from captionbias.explain.sources import in_words, predicted_effect, resampling_weights, write_weights

__all__ = [
    "Attributions",
    "attribute_captions",
    "in_words",
    "predicted_effect",
    "resampling_weights",
    "write_weights",
]
