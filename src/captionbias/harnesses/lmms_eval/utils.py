"""What caption_bias.yaml calls: an image's picture, what is kept of an answer, and the scores of all answers."""

import json
import math
from collections.abc import Callable
from functools import cache
from typing import Any

from PIL import Image

from captionbias.harnesses.rows import NUMBERS, OF, flat_scores


def pictures(doc: dict[str, Any]) -> list[Image.Image]:
    return [Image.open(doc["file"]).convert("RGB")]


def answer(doc: dict[str, Any], results: list[str]) -> dict[str, dict[str, Any]]:
    row = doc | {"caption": results[0]}
    return dict.fromkeys((*NUMBERS, OF), row)


def sway_worst_of(rows: list[dict[str, Any]]) -> str:
    return ", ".join(key.removeprefix(f"{OF}_") for key in _scores(json.dumps(rows)) if key.startswith(f"{OF}_"))


def __getattr__(name: str) -> Callable[[list[dict[str, Any]]], float]:
    """`utils.sway_worst` and so on: the score of all rows; nan where it is undefined."""
    if name not in NUMBERS:
        raise AttributeError(name)
    return lambda rows: _scores(json.dumps(rows)).get(name, math.nan)


@cache
def _scores(rows: str) -> dict[str, float]:
    return flat_scores(json.loads(rows))
