"""The one reader of captions: from files, tables in memory and uploads alike."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from captionbias.captions.captioners import captioner_columns, errors_of
from captionbias.captions.check import Captions, People, check_captions, check_people
from captionbias.captions.columns import choose_columns
from captionbias.captions.crossing import attribute_columns
from captionbias.captions.names import COLUMNS, DRAWN_OF, SIDES, plain_name
from captionbias.captions.sources import is_url
from captionbias.captions.tables import Column, Table, as_table, numbered, one_hot, with_together
from captionbias.errors import InputError, few, missing, phrase
from captionbias.io.files import user_path
from captionbias.warnings import warn

if TYPE_CHECKING:
    import pandas as pd

REASONS, LIMITS = ("finish_reason", "stop_reason"), ("length", "max_tokens")  # why an answer ended, to servers


def read_captions(
    table: Any = None,
    *,
    predictions: Any = None,
    references: Any = None,
    attributes: Any = None,
    tasks: Any = None,
    attribute: str | Sequence[str] = "attribute",
    id_column: str | None = None,
    prediction_column: str | None = None,
    reference_column: str | Sequence[str] | None = None,
    attribute_column: str | Sequence[str | None] | None = None,
    task_column: str | None = None,
    weight_column: str | None = None,
    scene_column: str | None = None,
    keep: Sequence[str] | None = None,
    labels: Mapping[Any, str] | None = None,
    language: str | None = None,
    trust_rows: bool = False,
) -> Captions:
    """Read captions from files or tables and join them by image id.

    A table is a datasets.Dataset, pandas DataFrame, pyarrow Table or mapping of columns. A file is .csv, .tsv, .txt,
    .token (Flickr's), .jsonl, .parquet, .xlsx, or .json: records, alone (COCO results) or under a key (COCO captions,
    Karpathy's splits), columns, `{id: caption}`, `{id: [captions]}`, or COCO instances; .pkl has what .json may have,
    .eval is a log of Inspect. It may be on any file system that fsspec knows, as in s3://bucket/nic.parquet.
    `owner/dataset:configuration:split` is a dataset of the Hub, and a folder that `captionbias data build` or datasets
    wrote is one, too.

    A column that you name must exist; output.text is the entry text of the objects in the column output, and
    outputs.0.text that of the first object in a list. A column that you do not name has its usual name, or is guessed
    by its name if it is needed, with a warning; a column named "" is not read.

    Args:
        table: a table or file that may hold everything, including human captions.
        predictions: a table or file with the captioner's captions: one for each image, or, if it was asked several
            times, a list in each row or several rows for an image, which count as equal shares of one.
        references: a table or file with human captions: a list in each row (in CSV, as JSON, pandas or numpy write it,
            or text, which is one caption), or several rows for an image.
        attributes: a table or file with the label of each image, or votes for it: a list, several rows, or columns such
            as gender_1 ... gender_3; default: that of `references` or `predictions`.
        tasks: a table or file with the tasks of each image, as lists (an empty one if it has none) or as several rows;
            or COCO's instances, whose objects are the tasks; default: as for `attributes`, or none. Images that only
            this file has are left out without a warning: annotations cover more images than captions do.
        attribute: the usual name of the attribute's column. Several are crossed into one attribute, with labels such as
            "female, dark", see `captionbias.captions.cross`; give metrics as many lexicons, in the same order.
        id_column: image ids in the first table, usually "image_id". Other tables are joined by their column that has
            these ids, whatever its name; 42, "42", "42.jpg" and "COCO_val2014_000000000042.jpg" are one image. Without
            ids everything must be in one table; its rows are then the images, named "row 0", "row 1" and so on.
        prediction_column: usually "caption".
        reference_column: usually "references", or in a table of its own also the name of the predictions' column.
            Several columns hold one caption of an image each. Columns such as caption1 ... caption5 are read together.
            Without `references`, these and lists called refs or sentences, say, are human captions if they are beside
            the predictions, with a warning.
        attribute_column: see `attribute`; for several attributes as many columns, of one table. Numbers can be labels,
            like words.
        task_column: usually "tasks", in a table of its own also "objects".
        weight_column: how much each image counts, a number above 0. Without it, a column "weight" is used, with a
            warning.
        scene_column: the scene of each image; images of a scene differ in the person alone; never guessed.
        keep: use only the images with one of these labels; for crossed attributes, these may be labels of one attribute
            ("dark") or of the crossing ("female, dark"), and an image must have one of each kind that is named.
        labels: the values that labels stand for, as in `{"0": "female", "1": "male"}`.
        language, trust_rows: see `check_captions`.

    Returns:
        The images that every table has and that have a caption on each side, in the order of their ids, so that a
        shuffled file gives the same scores.

    Warns:
        CaptionBiasWarning: images are left out, once for each cause; columns are guessed; images have several captions
            by the captioner, or several labels.

    Example:
        >>> people = {"image_id": [9, 7], "references": [["a girl", "a child"], ["a guy"]], "sex": ["female", "male"]}
        >>> captions = read_captions(
        ...     predictions={"image_id": [7, 9], "caption": ["a man", "a girl"]}, references=people, attribute="sex"
        ... )
        >>> captions.image_ids, captions.attributes
        (('7', '9'), ('male', 'female'))
    """
    if table is not None and (predictions is not None or references is not None):
        raise InputError("table", "may hold everything:", phrase("give either it or {predictions} and {references}"))
    if table is None and predictions is None and references is None:
        raise missing(
            "predictions", phrase("and {references} are both missing: give model captions, human captions or both")
        )
    name = "predictions" if table is None else "table"
    captioners = _read(
        {name: predictions if table is None else table},
        prediction_column,
        references=references if table is None else table,
        attributes=attributes,
        tasks=tasks,
        attribute=attribute,
        id_column=id_column,
        reference_column=reference_column,
        attribute_column=attribute_column,
        task_column=task_column,
        weight_column=weight_column,
        scene_column=scene_column,
        keep=keep,
        labels=labels,
        language=language,
        trust_rows=trust_rows,
        optional=() if table is None else ("prediction_column", "reference_column"),
    )
    return captioners[name]


def captions_of(table: Any, lexicon: Any = "gender", **options: Any) -> Captions:
    """The captions in a table: columns that are called like the arguments of `check_captions` are these, others are
    guessed, with the labels of the attribute, or the crossing, that the lexicon is of."""
    names = getattr(table, "column_names", getattr(table, "columns", None))
    if names is None:
        raise InputError(
            "captions",
            f"is of type {type(table).__name__}: give Captions, from read_captions or check_captions, a table, or "
            "predictions=, references= and attributes=",
        )
    arguments = {name: table[name] for name in COLUMNS if name in names}
    if "attributes" in arguments and not arguments.keys().isdisjoint(SIDES):
        return check_captions(**arguments, **options)
    sources = lexicon if isinstance(lexicon, (list, tuple)) else [lexicon]
    attributes = [Path(source).stem if isinstance(source, (str, Path)) else "attribute" for source in sources]
    return read_captions(table, attribute=attributes if len(attributes) > 1 else attributes[0], **options)


def read_captioners(
    predictions: Mapping[str, Any], *, prediction_column: str | Sequence[str] | None = None, **options: Any
) -> dict[str, Captions]:
    """Read the captions of several captioners, every file and column once.

    `predictions`: each captioner's table or file, by name; `prediction_column`: several of one table are several
    captioners, called like the columns, several of several tables are called like both; `options`: those of
    `read_captions`. An error of one captioner's captions names it.
    """
    return _read(predictions, prediction_column, named=True, **options)


def read_labels(attributes: Any, tasks: Any = None, **options: Any) -> Captions:
    """Read the labels and tasks of images without captions, such as training images, from one table or two."""
    tasks = attributes if tasks is None else tasks
    return _read({"": None}, None, attributes=attributes, tasks=tasks, **options)[""]


def label_counts(
    predictions: Mapping[str, Any], *, prediction_column: str | Sequence[str] | None = None, **options: Any
) -> dict[str, int]:
    """How many of the images that `read_captioners` would join, and that every captioner has, have each label, the
    most frequent first. Images without a label are not an error here; `options`: those of what is joined.

    >>> people = {"image_id": [1, 2, 3], "references": [["a girl"], ["a boy"], []], "gender": ["female", None, "male"]}
    >>> label_counts({"nic": {"image_id": [1, 2, 3], "caption": ["a girl"] * 3}}, references=people, attribute="gender")
    {'female': 1}
    """
    import pandas as pd

    frames = [frame for *_, frame in _joined(predictions, prediction_column, [], **options)]
    images = pd.concat([frame["attributes"] for frame in frames], axis=1, join="inner")
    return dict(Counter(images.iloc[:, 0].dropna()).most_common())


def _read(
    predictions: Mapping[str, Any],
    prediction_column: Any,
    *,
    keep: Sequence[str] | None = None,
    language: str | None = None,
    trust_rows: bool = False,
    named: bool = False,
    **options: Any,
) -> dict[str, Captions]:
    """Each captioner's captions; notes become warnings at the line that called a function of this module."""
    from captionbias.captions.join import keep_labels

    captioners: dict[str, Captions] = {}
    known: list[tuple[Mapping[str, Column], pd.Index, People]] = []
    notes: list[str] = []
    try:
        for name, columns, every_image in _joined(predictions, prediction_column, notes, **options):
            images = keep_labels(every_image, columns["attributes"], keep, notes)
            caption_lists = _caption_lists(images["predictions"]) if "predictions" in images else None
            sources = {argument: column for argument, column in columns.items() if argument != "predictions"}
            same = (people for others, there, people in known if others == sources and there.equals(images.index))
            people = next(same, None)
            if people is None:
                people_columns: dict[str, Any] = {argument: images[argument].tolist() for argument in sources}
                people = check_people(
                    **people_columns, image_ids=images.index, language=language, trust_rows=trust_rows
                )
                known.append((sources, images.index, people))
            cut = _cut_off(columns["predictions"]) if "predictions" in columns else []
            with errors_of(name) if named else nullcontext():
                captioners[name] = people.with_predictions(caption_lists, known=cut)
            notes += captioners[name].notes
    finally:
        for note in dict.fromkeys(notes):
            warn(note)
    return captioners


def _caption_lists(lists: pd.Series[Any]) -> list[Any]:
    """A captioner's captions of each image; its one caption where rows repeat it, one for each human caption."""
    if all(texts.count(texts[0]) == len(texts) for texts in lists if texts):
        return [texts[0] if texts else None for texts in lists]
    return lists.tolist()


def _cut_off(column: Column) -> list[str]:
    """A note of answers that a limit of tokens ended, as a server says beside them."""
    path = column.name.split(".")
    for inner, name in product(range(len(path), 0, -1), REASONS):
        with suppress(ValueError):
            reasons = column.table.column(".".join([*path[: inner - 1], name]))
            cut = sum(str(reason).lower() in LIMITS for reason in reasons)
            return [f"predictions: a limit of tokens cut {cut:,} captions off ({name}): ask for more"] if cut else []
    return []


def _joined(
    predictions: Mapping[str, Any],
    prediction_column: Any,
    notes: list[str],
    *,
    references: Any = None,
    attributes: Any = None,
    tasks: Any = None,
    attribute: str | Sequence[str] = "attribute",
    attribute_column: str | Sequence[str | None] | None = None,
    reference_column: str | Sequence[str] | None = None,
    labels: Mapping[Any, str] | None = None,
    optional: Sequence[str] = (),
    **columns: str | None,
) -> Iterator[tuple[str, Mapping[str, Column], pd.DataFrame]]:
    """Each captioner, the columns that are read for it, and what they have of the images in all of them."""
    from captionbias.captions.join import by_image, images_of, joined  # pandas is slow to import

    human = [reference_column] if isinstance(reference_column, str) else list(reference_column or ())
    columns["reference_column"] = ", ".join(human) if human else None
    attribute_names = attribute_columns(attribute, attribute_column)
    open_table = _once_each(human, [name or usual for usual, name in attribute_names], notes)
    others = {"references": references, "attributes": attributes, "tasks": tasks}
    read = cache(partial(by_image, index=cache(images_of), notes=notes))
    for name, (source, column) in captioner_columns(list(predictions), prediction_column).items():
        tables = {"predictions": open_table(predictions[source], source)}
        tables |= {argument: open_table(data, argument) for argument, data in others.items()}
        chosen, id_columns, guesses = choose_columns(
            tables, {**columns, "prediction_column": column}, attribute_names, optional
        )
        if guesses:
            notes.append(f"guessed: {', '.join(guesses)}; name the columns if this is wrong")
        yield name, chosen, joined(chosen, id_columns, read, notes, labels)


def _once_each(human: Sequence[str], attributes: Sequence[str], notes: list[str]) -> Callable[[Any, str], Table | None]:
    """A function as `as_table` that opens each file once; several columns of human captions are also one, and so are
    those of several annotators' labels, as gender_1 ... gender_3.
    """
    opened: dict[Any, Table] = {}

    def open_table(data: Any, name: str) -> Table | None:
        if data is None:
            return None
        local = isinstance(data, (str, Path)) and not is_url(data)
        key = os.path.realpath(user_path(data, name)) if local else data if isinstance(data, str) else id(data)
        if key not in opened:
            table = as_table(data, name)
            if DRAWN_OF in table.columns:
                drawn_of = table.column(DRAWN_OF)
                notes.append(f"{table.name}: {len(drawn_of):,} of {drawn_of[0]:,} images, drawn by hash")
            groups: dict[str, Sequence[str]] = {}
            if len(human) > 1 and any(map(table.spelled, human)):
                groups[", ".join(human)] = human
            for name in attributes:
                for column, labels in one_hot(table, name).items():
                    table = table.with_column(column, labels)
                    which = few(sorted({*labels}))
                    notes.append(f"{column!r} of {table.name} is read from columns of 0 and 1, of {which}")
                if not table.spelled(name):
                    for votes in numbered(table.columns, re.escape(plain_name(name))).values():
                        groups[name] = votes
            opened[key] = with_together(table, groups)
        return opened[key]

    return open_table
