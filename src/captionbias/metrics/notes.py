"""What to know before a number is believed."""

from __future__ import annotations

import warnings

from captionbias.warnings import CaptionBiasWarning


def note(notes: list[str], message: str) -> None:
    """A weakness that the user must see: a warning, kept with the result."""
    notes.append(message)
    warnings.warn(message, CaptionBiasWarning, stacklevel=3)


def note_single_training(neural: bool, trials: int, notes: list[str]) -> None:
    """One training of a neural attacker says nothing of the next, whose weights begin elsewhere."""
    if neural and trials == 1:
        note(
            notes,
            "trials=1: intervals do not contain how much neural attackers differ from training to training; take "
            "three or more",
        )
