"""Examples in docstrings stand without a title; the site shows them as code. What metrics take and return is data."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import griffe

EXAMPLE = re.compile(r"^>>> .*\n?(?:.+\n?)*", re.MULTILINE)  # up to an empty line


class FencedExamples(griffe.Extension):
    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.is_function and any(str(one.value).startswith("metric(") for one in obj.decorators):
            obj.docstring = griffe.Docstring(getattr(import_module(obj.module.path), obj.name).__doc__, parent=obj)
        if obj.docstring:
            obj.docstring.value = EXAMPLE.sub(
                lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", obj.docstring.value
            )
