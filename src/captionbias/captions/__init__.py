"""Captions in: every way to give the input, and every error that bad input raises."""

from __future__ import annotations

from captionbias.captions.captioners import Captioners, on_the_same_images
from captionbias.captions.check import (
    MAX_CHARACTERS,
    CaptionBiasWarning,
    Captions,
    as_captions,
    check_captions,
    check_sides,
)
from captionbias.captions.labels import Labels, check_labels, join_labels
from captionbias.captions.reader import captions_from_table, read_captions
from captionbias.captions.words import Words

__all__ = [
    "MAX_CHARACTERS",
    "CaptionBiasWarning",
    "Captioners",
    "Captions",
    "Labels",
    "Words",
    "as_captions",
    "captions_from_table",
    "check_captions",
    "check_labels",
    "check_sides",
    "join_labels",
    "on_the_same_images",
    "read_captions",
]
