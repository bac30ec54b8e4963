"""What each event of the page does with images: values of components in, values of components out."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from captionbias.analysis.audit import audit
from captionbias.app import actions, reproduce
from captionbias.app.actions import heard
from captionbias.app.custom_lexicon import custom_lexicon
from captionbias.app.data import captioners_of
from captionbias.app.results import DATA, Run
from captionbias.app.sessions import Session
from captionbias.app.uploads import Pictures, open_pictures
from captionbias.captions import Captions, check_captions, uncross
from captionbias.images.masks import first_of
from captionbias.images.reading import Images, Selected, coco_name

METRIC, PRESET = "imagecaptioner2", "fast"
AGAIN = (
    f"to measure the same on your machine, take {DATA} from the downloads and put the images into a folder called "
    f"{reproduce.IMAGES}"
)


def read(paths: list[str] | None, annotations: str | None, masked: bool) -> tuple[Pictures | None, str, list[Any]]:
    """The images as the judge will see them, what there is to tell of them, and some before and after masking."""
    if not paths:
        return None, "", []
    if bool(annotations) == masked:
        return None, "Not ready yet: give annotations of the persons, or say that they are masked.", []
    found = open_pictures([Path(path) for path in paths], Path(annotations) if annotations else None)
    lines = [f"{len(found.ids):,} images, of which the judge sees {found.side} x {found.side} pixels."]
    lines += [f"Note: {note}." for note in found.notes]
    return found, "\n".join(lines), list(found.previews)


def measure(
    watch: Callable[[str, float], None],
    session: Session,
    attributes: list[str],
    custom_attribute: str,
    trials: int,
    epochs: int,
    prompt: str,
    seed: int | None,
) -> Run:
    """Measure ImageCaptioner2 of each captioner, of the captions that have an image."""
    data, pictures = session.data, session.pictures
    if pictures is None:
        raise ValueError("there are no images yet: upload some, and annotations unless the persons are masked")
    if seed is None:
        raise ValueError("seed is empty: give a whole number, such as 0")
    custom = (
        custom_lexicon(custom_attribute or "", "attribute-words")
        if actions.CUSTOM in actions.listed(attributes)
        else None
    )
    words = actions.words_of(data, attributes, custom)
    watch("reading", 0.0)
    with heard() as notes:
        captioners, images = with_images(captioners_of(data), pictures, notes)
    chosen = {"epochs": int(epochs), "prompt": prompt.strip() or None}
    with heard() as warned:
        found = audit(
            captioners,
            metrics=[METRIC],
            preset=PRESET,
            trials=int(trials),
            seed=int(seed),
            attribute_lexicon=words,
            image_options={**chosen, "images": images},
            watch=watch,
        )
    of_metric = {note for name in found.captioners for note in found.notes(name)}
    notes += [note for note in warned if not any(other.endswith(note) for other in of_metric)]
    arguments: dict[str, Any] = {"references": DATA} if next(iter(captioners.values())).references else {}
    arguments |= {"id_column": "image_id", "attribute_column": list(data.columns.attribute_column)}
    arguments |= {"attribute_lexicon": reproduce.written(words), "preset": PRESET, "trials": int(trials)}
    arguments |= {"seed": int(seed), **{name: value for name, value in chosen.items() if value is not None}}
    return Run(
        found,
        tuple(dict.fromkeys([*pictures.notes, *notes, AGAIN])),
        reproduce.image_command(list(captioners), pictures, arguments),
        reproduce.image_python(list(captioners), pictures, arguments),
        (custom,) if custom else (),
        TemporaryDirectory(prefix="captionbias-app-"),
        table(captioners, data.columns.attribute_column),
    )


def with_images(
    captioners: dict[str, Captions], pictures: Pictures, notes: list[str]
) -> tuple[dict[str, Captions], Images]:
    """The captions that have an image, by its id or its file's name, and their images; `notes` takes what is left out.

    Raises:
        ValueError: the captions have no ids, or none of them has an image.
    """
    first = next(iter(captioners.values()))
    if first.image_ids is None:
        raise ValueError("the captions have no image ids: choose the column with the ids or file names of the images")
    places = {name: place for place, name in enumerate(pictures.ids)}
    found = [places.get(name, places.get(coco_name(name))) for name in first.image_ids]
    rows = {place: row for row, place in reversed(list(enumerate(found))) if place is not None}
    kept = sorted(rows.items(), key=lambda item: item[1])
    if not kept:
        raise ValueError(
            f"no caption has an image: the captions are of {first_of(first.image_ids)}, the images are "
            f"{first_of(pictures.ids)}; choose the column with the ids or file names of the images"
        )
    if lost := [name for name, place in zip(first.image_ids, found, strict=True) if place is None]:
        notes.append(f"{len(lost):,} of {len(first):,} captions have no image and are left out: {first_of(lost)}")
    ids = [pictures.ids[place] for place, _ in kept]

    def of_rows(values: Any) -> Any:
        return None if values is None else [values[row] for _, row in kept]

    human = {name: of_rows(getattr(first, name)) for name in ("references", "attributes", "tasks")}
    base = check_captions(predictions=of_rows(first.predictions), image_ids=ids, **human)
    of_images = {name: base.with_predictions(of_rows(captions.predictions)) for name, captions in captioners.items()}
    return of_images, Images(tuple(ids), Selected(list(pictures.pixels()), [place for place, _ in kept]))


def table(captioners: dict[str, Captions], labels: Sequence[str]) -> str:
    """What was measured, as JSON: a row for each image, with a column for each captioner and column of labels."""
    first = next(iter(captioners.values()))
    columns: dict[str, Any] = {"image_id": first.image_ids, "references": first.references}
    columns |= dict(zip(labels, uncross(first.attributes, len(labels)), strict=True))
    columns |= {reproduce.column_of(name): captions.predictions for name, captions in captioners.items()}
    given = {name: values for name, values in columns.items() if values is not None}
    rows = [dict(zip(given, row, strict=True)) for row in zip(*given.values(), strict=True)]
    return json.dumps(rows, ensure_ascii=False, indent=1)
