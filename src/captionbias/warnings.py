"""The category of every warning of this library, and notes: what to know before a number is believed."""

from __future__ import annotations

import sys
import warnings

from captionbias.errors import Argument, Message


class CaptionBiasWarning(UserWarning):
    """Something to know before the number is believed: images left out, a weak statistic."""


INSIDE = ("captionbias", "evaluate", "evaluate_modules", "contextlib")  # packages whose lines tell a user nothing


def warn(message: str) -> None:
    """A warning at the line of the caller of this library."""
    frame, level = sys._getframe(), 1
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in INSIDE:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, CaptionBiasWarning, stacklevel=level)


def note(notes: list[str], text: str, *ways_out: str, about: str = "") -> None:
    """A weakness that the user must see, of an argument, and what helps: a warning, kept with the result."""
    message = Message(Message(Argument(about), ": ") if about else "", text, ways=ways_out)
    notes.append(message)
    warn(message)
