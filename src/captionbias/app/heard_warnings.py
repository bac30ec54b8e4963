"""Warnings by user: several users share the process of the app, and Python's warnings belong to the process."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from captionbias.captions import CaptionBiasWarning

_heard: ContextVar[list[str] | None] = ContextVar("heard", default=None)


@contextmanager
def heard() -> Iterator[list[str]]:
    """Collect the warnings of this call, and of no other thread; needs `listen`."""
    notes: list[str] = []
    token = _heard.set(notes)
    try:
        yield notes
    finally:
        _heard.reset(token)


def listen() -> None:
    """From now on warnings of this library go to the enclosing `heard`, if there is one; all others as before."""
    before = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        notes = _heard.get()
        if notes is None or not issubclass(category, CaptionBiasWarning):
            before(message, category, *place, **more)
        elif str(message) not in notes:
            notes.append(str(message))

    warnings.simplefilter("always", CaptionBiasWarning)
    warnings.showwarning = show
