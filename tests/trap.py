"""A model folder that asks to run code of its own, before a user who says yes to everything."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

AUTO = ("Config", "Model", "ModelForImageTextToText", "ModelForMultimodalLM", "Processor", "ImageProcessor")


def runs_its_code(folder: Path, file: str, load: Callable[[], Any]) -> bool:
    """Whether loading the model, which may fail, runs or offers to run code of the folder that this configuration
    file names."""
    from transformers import dynamic_module_utils

    left, answers = folder / "left behind", io.StringIO("y\n" * 99)
    (folder / "own.py").write_text(f"open({str(left)!r}, 'w').close()")
    content = json.loads((folder / file).read_text())
    named = {f"Auto{kind}": f"own.{kind}" for kind in AUTO} | {"AutoTokenizer": ["own.Tokenizer", None]}
    unknown = {name: "Unknown" for name in content if name.endswith(("_class", "_type"))}
    (folder / file).write_text(json.dumps(content | unknown | {"auto_map": named}))
    with pytest.MonkeyPatch.context() as patch, suppress(ValueError, AttributeError):
        patch.setattr("sys.stdin", answers)
        patch.setattr(dynamic_module_utils, "HF_MODULES_CACHE", str(folder.parent / "modules"))
        load()
    return left.exists() or answers.tell() > 0
