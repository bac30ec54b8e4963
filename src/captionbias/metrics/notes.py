"""What to know before a number is believed."""

from __future__ import annotations

import warnings

from captionbias.warnings import CaptionBiasWarning


def note(notes: list[str], message: str) -> None:
    """A weakness that the user must see: a warning, kept with the result."""
    notes.append(message)
    warnings.warn(message, CaptionBiasWarning, stacklevel=3)
