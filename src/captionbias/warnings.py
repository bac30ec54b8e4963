"""The category of every warning of this library, and notes: what to know before a number is believed."""

from __future__ import annotations

import warnings


class CaptionBiasWarning(UserWarning):
    """Something to know before the number is believed: images left out, a weak statistic."""


def note(notes: list[str], message: str) -> None:
    """A weakness that the user must see: a warning, kept with the result."""
    notes.append(message)
    warnings.warn(message, CaptionBiasWarning, stacklevel=3)
