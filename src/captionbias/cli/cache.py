"""What captionbias keeps on this machine: finished trials, captions and embeddings."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from captionbias.cli.terminal import plain_errors, say


def cache(
    clear: Annotated[bool, typer.Option("--clear", help="Remove them all: the next run trains again.")] = False,
) -> None:
    """Show where finished trials, captions and their embeddings are kept and how many trials there are, or remove all.

    CAPTIONBIAS_CACHE names another folder than the usual one, CAPTIONBIAS_CACHE_GB another limit than 1 GB.

    Example: captionbias cache --clear
    """
    from rich.filesize import decimal

    with plain_errors():
        from captionbias.io.store import Entry, open_store

        def trials(entries: list[Entry]) -> str:
            return f"{sum(entry.kind == 'trial' for entry in entries):,}"

        def size(entries: list[Entry]) -> str:
            return decimal(sum(entry.size for entry in entries))

        store = open_store(True)
        if store is None:  # a warning has explained why
            return
        if clear:
            removed = store.clear()
            say(f"removed {trials(removed)} trials, {size(removed)}, from {store.folder}")
            if left := store.contents():
                raise ValueError(
                    f"{trials(left)} trials, {size(left)}, in {store.folder} could not be removed: make that folder "
                    "writable"
                )
            return
        entries = store.contents()
        say(f"folder  {store.folder}")
        say(f"trials  {trials(entries)}")
        say(f"size    {size(entries)} of at most {decimal(store.limit)}")
        if entries:
            oldest, newest = (datetime.fromtimestamp(entries[end].used) for end in (0, -1))
            say(f"used    {oldest:%Y-%m-%d %H:%M} to {newest:%Y-%m-%d %H:%M}")
