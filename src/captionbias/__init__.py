"""Does an image captioner make its data's bias worse, in which direction, for which tasks, and how sure is that?

What most people need is here, and imported when it is first used:

    captions = captionbias.read_captions(predictions="nic.parquet", references="people.parquet")
    captionbias.dbac(captions, preset="fast")
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from captionbias._version import __version__ as __version__

# The names and their modules, but for the metrics', are listed once, where type checkers read them too.
_listed = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")).body
_MODULES = {
    alias.name: str(node.module) for node in _listed if isinstance(node, ast.ImportFrom) for alias in node.names
}
_METRICS = _MODULES.pop("*")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    if name == "__all__":
        return sorted((*_MODULES, *_metrics()))
    if name.startswith("_") or name not in _metrics():
        raise AttributeError(f"module 'captionbias' has no attribute {name!r}")
    return _metrics()[name]


def __dir__() -> list[str]:
    return [*__getattr__("__all__"), "__version__"]


def _metrics() -> Mapping[str, Any]:
    """The metrics, a user's own among them."""
    defined: Mapping[str, Any] = import_module(_METRICS).DEFINED
    return defined
