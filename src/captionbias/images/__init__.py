"""Images: read, masked, captioned and judged."""

from __future__ import annotations

from importlib.util import find_spec


def need_images(*packages: str) -> None:
    """ValueError, which says how to install it, for a package that is missing."""
    for package in packages:
        if not find_spec(package):
            raise ValueError(f"{package} is missing: pip install '.[images]' in a clone first")
