"""What the lmms-eval task in captionbias.yaml calls: pictures, what is kept of an image, and the scores of all images.

lmms-eval loads this file by its path; nothing here imports lmms-eval.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

from captionbias.captions import read_captions
from captionbias.captions.values import image_keys
from captionbias.metrics import find_metric
from captionbias.warnings import CaptionBiasWarning

KEPT = ("image_id", "references", "gender", "tasks")
SCORES = {  # the entries of metric_list, and the metric that has each
    **{
        f"sway_{part}{end}": "sway"
        for part in ("wrong_gap", "unnamed_gap", "t_to_a", "a_to_t")
        for end in ("", "_ci_low", "_ci_high")
    },
    **{f"sway_words{end}": "sway" for end in ("", "_ci_low")},  # what was found, at least
    **{"dbac_t_to_a_net": "dbac", "dbac_a_to_t_net": "dbac", "lic": "lic"},
}


def pictures(doc: dict[str, Any], lmms_eval_specific_kwargs: dict[str, str]) -> list[Any]:
    """The image of a row: its own, or the file of its id in the folder `images`."""
    if doc.get("image"):
        return [doc["image"].convert("RGB")]
    from PIL import Image

    folder, (key,) = lmms_eval_specific_kwargs["images"], image_keys("image_id", [doc["image_id"]])
    if key not in (files := _files(folder)):
        raise ValueError(f"image_id {doc['image_id']!r} has no file in {folder!r}: set images in captionbias.yaml")
    return [Image.open(files[key]).convert("RGB")]


@cache
def _files(folder: str) -> dict[str, Path]:
    paths = sorted(path for path in Path(folder).glob("*") if path.is_file())
    return dict(zip(image_keys("images", [path.stem for path in paths]), paths, strict=True))


def image(doc: dict[str, Any], results: list[str]) -> dict[str, dict[str, Any]]:
    """A row and the model's caption of it, for every score."""
    row = {name: doc[name] for name in KEPT if doc.get(name) is not None} | {"caption": results[0]}
    return dict.fromkeys(SCORES, row)


def __getattr__(name: str) -> Callable[[list[dict[str, Any]]], float]:
    """`utils.sway_t_to_a` and so on: the score of all images, NaN with a warning of what cannot be measured.

    An error would lose what the model has said in hours.
    """
    if name not in SCORES:
        raise AttributeError(name)
    return partial(_score, name)


def _score(name: str, rows: list[dict[str, Any]]) -> float:
    try:
        scores = _scores(SCORES[name], json.dumps(rows))
    except ValueError as error:
        warnings.warn(f"no {name}: {error}", CaptionBiasWarning, stacklevel=2)
        return math.nan
    if name not in scores:
        warnings.warn(f"no {name}: these images and captions leave it undefined", CaptionBiasWarning, stacklevel=2)
    return float(scores.get(name, math.nan))


@cache
def _scores(metric: str, rows: str) -> dict[str, Any]:
    images = json.loads(rows)
    columns = {name: [row.get(name) for row in images] for name in images[0]}
    captions = read_captions(columns, attribute="gender")
    return find_metric(metric)(captions, **({} if metric == "sway" else {"preset": "fast"}))
