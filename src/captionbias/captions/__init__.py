"""Captions in: the one input type, the one reader, and every error that bad input raises."""

from __future__ import annotations

from captionbias.captions.captioned import captioned_labels
from captionbias.captions.captioners import check_captioners, on_the_same_images
from captionbias.captions.check import (
    MAX_CHARACTERS,
    CaptionBiasWarning,
    Captions,
    Words,
    as_captions,
    check_captions,
    check_sides,
)
from captionbias.captions.columns import guess_columns
from captionbias.captions.crossing import count_cells, cross, uncross
from captionbias.captions.labels import Labels, check_labels, join_labels
from captionbias.captions.reader import captions_from_table, read_captioners, read_captions

__all__ = [
    "MAX_CHARACTERS",
    "CaptionBiasWarning",
    "Captions",
    "Labels",
    "Words",
    "as_captions",
    "captioned_labels",
    "captions_from_table",
    "check_captioners",
    "check_captions",
    "check_labels",
    "check_sides",
    "count_cells",
    "cross",
    "guess_columns",
    "join_labels",
    "on_the_same_images",
    "read_captioners",
    "read_captions",
    "uncross",
]
