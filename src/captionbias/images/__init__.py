"""Images: read, masked, captioned and judged."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def needs_images() -> Iterator[None]:
    """Imports; a package that is missing becomes a ValueError that says how to install it."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ValueError(f"{error}: pip install 'captionbias[images]' first") from error
