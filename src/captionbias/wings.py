"""The wings, parts that stand on the core; it imports none of them, and does without those whose folders are absent."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

WITH_COMMANDS = ("images", "datasets", "hub", "studies", "counting", "harnesses", "app")  # in the order of --help
PACKAGE = Path(__file__).parent


def wing(module: str) -> Any:
    """A module of a wing, such as `images.imagecaptioner2`; None where the wing's folder is absent."""
    present = (PACKAGE / module.partition(".")[0] / "__init__.py").is_file()
    return import_module(f"captionbias.{module}") if present else None


def shipped(folder: str) -> Path:
    """A folder of the repository, in the wheel, which has it with an underscore before its name, or in the clone."""
    return PACKAGE / f"_{folder}" if (PACKAGE / f"_{folder}").is_dir() else PACKAGE.parents[1] / folder
