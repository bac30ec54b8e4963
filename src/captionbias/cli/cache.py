"""What captionbias keeps on this machine: metric modules and finished trials."""

from __future__ import annotations

from typing import Annotated

import typer

from captionbias.cli.terminal import console, plain_errors


def install_metrics(
    names: Annotated[list[str] | None, typer.Argument(help="Which metrics; all when none is named.")] = None,
) -> None:
    """Make evaluate.load("dbac"), and every other metric here, work anywhere on this machine, offline too.

    Example: captionbias install-metrics
    """
    with plain_errors():
        try:
            from captionbias.hub.modules import install_metrics as install
        except ModuleNotFoundError as error:
            raise ValueError(f"{error}: pip install 'captionbias[evaluate]' first") from error

        for path in install(names or None):
            console.print(f"evaluate.load({path.stem!r}) loads {path}", highlight=False, markup=False, soft_wrap=True)


def cache(
    clear: Annotated[bool, typer.Option("--clear", help="Remove them all: the next run trains anew.")] = False,
) -> None:
    """Show where finished trials and embeddings of captions are kept and how many there are, or remove them.

    CAPTIONBIAS_CACHE names another folder than the usual one, CAPTIONBIAS_CACHE_GB another limit than 1 GB.

    Example: captionbias cache --clear
    """
    from rich.filesize import decimal

    def tell(text: str) -> None:
        console.print(text, highlight=False, markup=False, soft_wrap=True)

    with plain_errors():
        from captionbias.attackers.cache import open_cache

        kept = open_cache(True)
        if kept is None:  # a note has said why
            return
        if clear:
            removed = kept.clear()
            tell(f"removed {removed.trials:,} trials, {decimal(removed.size)}, from {kept.folder}")
            if (left := kept.contents()).size:
                raise ValueError(
                    f"{left.trials:,} trials, {decimal(left.size)}, in {kept.folder} could not be removed: make that "
                    "folder writable"
                )
            return
        found = kept.contents()
        tell(f"folder  {kept.folder}")
        tell(f"trials  {found.trials:,}")
        tell(f"size    {decimal(found.size)} of at most {decimal(kept.limit)}")
        if found.oldest and found.newest:
            tell(f"used    {found.oldest:%Y-%m-%d %H:%M} to {found.newest:%Y-%m-%d %H:%M}")
