"""What the wings (images, studies, page, hub) add to the core, which imports none: their entry points are looked up."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any


def entered(group: str) -> Iterator[Any]:
    """What wings have entered under `captionbias.<group>`; nothing of a wing whose folder is gone."""
    for point in entry_points(group=f"captionbias.{group}"):
        try:
            yield point.load()
        except ModuleNotFoundError as error:
            if not (error.name or "").startswith("captionbias"):
                raise


def shipped(folder: str) -> Path:
    """A folder of the repository, in the wheel, which has it with an underscore before its name, or in the clone."""
    package = Path(__file__).parent
    return package / f"_{folder}" if (package / f"_{folder}").is_dir() else package.parents[1] / folder
