"""Examples in docstrings stand without a title; the site shows them as code. What metrics take and return is data."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import griffe

from captionbias.metrics import Metric

EXAMPLE = re.compile(r"^>>> .*\n?(?:.+\n?)*", re.MULTILINE)  # up to an empty line


class FencedExamples(griffe.Extension):
    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring and obj.is_function and obj.module.path.startswith("captionbias"):
            value = getattr(import_module(obj.module.path), obj.name, None)
            obj.docstring.value = str(value.__doc__) if isinstance(value, Metric) else obj.docstring.value
        if obj.docstring:
            obj.docstring.value = EXAMPLE.sub(
                lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", obj.docstring.value
            )
