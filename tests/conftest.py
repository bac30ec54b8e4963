"""What tests of several folders are given."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser import browser


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A real browser, gone before the next file's tests: one process can hold one, and no event loop beside it."""
    with browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def modules_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where evaluate copies each module that it loads, and imports it from: not the user's, nor another file's."""
    import evaluate

    cache = tmp_path_factory.mktemp("modules")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluate.config, "HF_MODULES_CACHE", cache)
        patch.setattr(sys, "path", [*sys.path])
        _forget_modules()
        yield cache
    _forget_modules()


def _forget_modules() -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "evaluate_modules"]:
        del sys.modules[name]
