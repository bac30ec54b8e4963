"""The category of every warning of this library, and notes: what to know before a number is believed."""

from __future__ import annotations

import warnings

from captionbias.errors import Argument, Message


class CaptionBiasWarning(UserWarning):
    """Something to know before the number is believed: images left out, a weak statistic."""


def note(notes: list[str], text: str, *ways_out: str, about: str = "") -> None:
    """A weakness that the user must see, of an argument, and what helps: a warning, kept with the result."""
    message = Message(Message(Argument(about), ": ") if about else "", text, ways=ways_out)
    notes.append(message)
    warnings.warn(message, CaptionBiasWarning, stacklevel=3)
