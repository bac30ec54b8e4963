"""The images that a harness asks a model about, and the scores of what it answers; no harness is known here."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from itertools import repeat
from pathlib import Path
from typing import Any

from captionbias.captions import read_captions
from captionbias.captions.reader import read_labels
from captionbias.captions.values import image_keys
from captionbias.errors import Argument, InputError, Message, missing
from captionbias.metrics.sway import sway
from captionbias.metrics.sway.questions import PARTS
from captionbias.warnings import warn

PROMPT = "Describe this image in one sentence."
WORST = "sway_worst"
OF = f"{WORST}_of"  # the questions that it is of
QUESTIONS = tuple(key for key, part in PARTS.items() if not part.implied)
NUMBERS = (WORST, "sway_images", *(f"{key}{end}" for key in QUESTIONS for end in ("", "_ci_low", "_ci_high")))
SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".gif")


def images_of(
    images: str | Path,
    references: Any = None,
    attributes: Any = None,
    tasks: Any = None,
    *,
    attribute: str = "gender",
) -> list[dict[str, Any]]:
    """A row for each image whose label is known and whose file, named by its id, is in the folder `images`.

    `references`, `attributes`, `tasks`, `attribute`: as in `captionbias.captions.read_captions`; `references` or
    `attributes` must be given.

    Returns:
        Rows with `id`, `file` (a whole path), `label`, `references` (a list of human captions, or None) and `tasks` (a
        list of what the image shows, or None).

    Raises:
        InputError: no image has a file.
    """
    if references is None and attributes is None:
        raise missing(
            "references", Message("and ", Argument("attributes", missing=True), " are both missing: give one")
        )
    others = {"attributes": attributes, "tasks": tasks, "attribute": attribute}
    if references is None:
        people = read_labels(**others, optional=("task_column", "attribute_column"))
    else:
        people = read_captions(references=references, **others)
    files = sorted(path for path in Path(images).expanduser().rglob("*") if path.suffix.lower() in SUFFIXES)
    by_id = dict(zip(image_keys("images", [path.name for path in files]), files, strict=True))
    unknown = repeat(None)
    known = zip(people.attributes, people.references or unknown, people.tasks or unknown, strict=False)
    rows = [
        {"id": image, "file": str(by_id[image].resolve()), "label": label, "references": texts, "tasks": shown}
        for image, (label, texts, shown) in zip(people.image_ids or (), known, strict=False)
        if image in by_id
    ]
    if not rows:
        first = next(iter(people.image_ids or ()), "none")
        raise InputError("images", f": no file in {images} has an image's id, such as {first}, as its name")
    if less := len(people) - len(rows):
        warn(f"images: {less:,} of {len(people):,} images have no file in {images}, and are left out")
    return rows


def flat_scores(rows: Collection[Mapping[str, Any]], **options: Any) -> dict[str, float]:
    """Sway of a model's captions, as numbers alone.

    Args:
        rows: one for each answer, with `id` (of the image), `caption` and `label`; where they are known `references`, a
            list of human captions, and `tasks`, a list of what the image shows. Several rows of an image are several
            captions of it.
        **options: of `captionbias.sway`.

    Returns:
        All numbers of `captionbias.sway`. Leaderboards sort by `sway_worst`: lower is better, nan where one cannot
        tell; compare it where `sway_images` is alike and the questions are the same: `sway_worst_of_wrong`,
        `sway_worst_of_unnamed` and so on are 1.0, of each question that the rows can answer. What cannot be measured
        has a `sway_worst` of nan alone, with a warning that says why: an error would lose what a model said in hours.

    >>> from captionbias.synthetic import plant
    >>> planted = plant(1000, t_to_a=0.5)
    >>> columns = zip(planted.predictions, planted.attributes, planted.references)
    >>> rows = [{"id": n, "caption": text, "label": label, "references": people}
    ...         for n, (text, label, people) in enumerate(columns)]
    >>> scores = flat_scores(rows)
    >>> scores["sway_images"], scores["sway_worst_of_length"], "sway_worst_of_a_to_t" in scores
    (1000, 1.0, False)
    """
    names = ("id", "caption", "label", "references", "tasks")
    columns = {name: [row.get(name) for row in rows] for name in names}
    columns = {name: column for name, column in columns.items() if any(cell is not None for cell in column)}
    try:
        captions = read_captions(columns, attribute="label", id_column="id")
        measured = sway.measure(captions, **options)
    except ValueError as error:
        warn(f"no {WORST}: {error}")
        return {WORST: math.nan}
    numbers = {key: value for key, value in measured.flat().items() if isinstance(value, (int, float))}
    asked = str(measured.settings["worst"]).split(",")
    return numbers | {f"{OF}_{name}": 1.0 for name in asked}
