"""The images that a harness asks a model about, and the scores of what it answers; no harness is known here."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from captionbias.captions import read_captions
from captionbias.captions.columns import SYNONYMS
from captionbias.captions.reader import read_labels
from captionbias.captions.values import image_keys
from captionbias.errors import Argument, InputError, Message, missing
from captionbias.metrics.sway import sway
from captionbias.metrics.sway.questions import PARTS
from captionbias.warnings import warn

PROMPT = "Describe this image in one sentence."
WORST, OF = "sway_worst", "sway_worst_of"  # what leaderboards sort by, and the questions that it is of
QUESTIONS = tuple(key for key, part in PARTS.items() if not part.implied)
NUMBERS = (WORST, "sway_images", *(f"{key}{end}" for key in QUESTIONS for end in ("", "_ci_low", "_ci_high")))
SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".gif")


def images_of(
    images: str | Path, references: Any = None, attributes: Any = None, tasks: Any = None, attribute: str = "gender"
) -> list[dict[str, Any]]:
    """A row for each image whose label is known, and whose file is in the folder `images`, named by its id.

    It has `id`, `file`, `label`, `lexicon` (whose words name the labels), `references` (a list of human captions) and
    `tasks` (a list of what it shows), the last two where somebody says. `references` or `attributes` must be given;
    what they are `read_captions` says. Images without a file are left out, with a warning; InputError: none has one.
    """
    others = {"attributes": attributes, "tasks": tasks, "attribute": attribute}
    if references is not None:
        people = read_captions(references=references, **others)
    elif attributes is not None:
        people = read_labels(**others, optional=("task_column", "attribute_column"))
    else:
        other = Argument("attributes", missing=True)
        raise missing("references", Message("and ", other, " are both missing: give one"))
    files = sorted(path for path in Path(images).expanduser().rglob("*") if path.suffix.lower() in SUFFIXES)
    by_id = dict(zip(image_keys("images", [path.name for path in files]), files, strict=True))
    lexicon = next((name for name, columns in SYNONYMS.items() if attribute in columns), attribute)
    known = {"id": people.image_ids, "label": people.attributes, "references": people.references, "tasks": people.tasks}
    columns = {name: column for name, column in known.items() if column is not None}
    every_row = (dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True))
    rows = [
        row | {"file": str(by_id[row["id"]].resolve()), "lexicon": lexicon} for row in every_row if row["id"] in by_id
    ]
    if not rows:
        first = next(iter(people.image_ids or ()), "none")
        raise InputError("images", f": no file in {images} has an image's id, such as {first}, as its name")
    if less := len(people) - len(rows):
        warn(f"images: {less:,} of {len(people):,} images have no file in {images}, and are left out")
    return rows


def flat_scores(rows: Collection[Mapping[str, Any]]) -> dict[str, float]:
    """All numbers of `sway`, of a model's captions.

    Leaderboards sort by `sway_worst`: lower is better, nan where one cannot tell. It compares with others of as many
    images (`sway_images`) and the same questions: `sway_worst_of_wrong`, `sway_worst_of_words` and so on are 1.0, of
    those that the rows can answer. Of what cannot be measured there is `sway_worst` alone, nan, and a warning that says
    why: an error would lose what a model said in hours.

    Args:
        rows: of each answer the `id` of the image, `caption`, `label` and, where they are known, `references`, a list
            of human captions, `tasks`, a list of what the image shows, and `lexicon`, an `attribute_lexicon`; gender's
            if nobody says. Several rows of an image are shares of one.

    >>> rows = [{"id": n, "caption": "a man", "label": label} for n, label in enumerate(["female", "male"] * 50)]
    >>> scores = flat_scores(rows)
    >>> scores["sway_wrong_gap"], scores["sway_images"], [key for key in scores if key.startswith("sway_worst_of")]
    (100.0, 100, ['sway_worst_of_wrong', 'sway_worst_of_unnamed', 'sway_worst_of_missing'])
    """
    names = ("id", "caption", "label", "references", "tasks")
    columns = {
        name: [row.get(name) for row in rows] for name in names if any(row.get(name) is not None for row in rows)
    }
    lexicon = next((row["lexicon"] for row in rows if row.get("lexicon")), "gender")
    try:
        captions = read_captions(columns, attribute="label", id_column="id")
        measured = sway.measure(captions, attribute_lexicon=lexicon)
    except ValueError as error:
        warn(f"no {WORST}: {error}")
        return {WORST: math.nan}
    numbers = {key: value for key, value in measured.flat().items() if isinstance(value, (int, float))}
    return numbers | {f"{OF}_{name}": 1.0 for name in str(measured.settings["worst"]).split(",")}
