"""Which column of uploaded tables is what, guessed, and the tables joined as the person chose."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any, TypeAlias

from captionbias.app.uploads import MAX_COLUMNS, MAX_IMAGES
from captionbias.captions import Captions
from captionbias.captions.join import Source, joined
from captionbias.captions.tables import Table
from captionbias.captions.values import image_keys, is_missing

# In the order of how sure the name makes it: one table may have several of these.
ID_NAMES = ("image_id", "img_id", "imgid", "cocoid", "coco_id", "file_name", "filename", "image", "id")
PREDICTION_NAMES = (
    *("prediction", "predictions", "generated_caption", "generated", "model_caption", "hypothesis", "caption"),
    *("captions", "text"),
)
REFERENCE_NAMES = (
    *("references", "reference", "human_captions", "human_caption", "ground_truth", "gt", "captions", "caption"),
    *("sentences", "text"),
)
ATTRIBUTE_NAMES = (*("attribute", "gender", "bb_gender", "sex", "skin", "bb_skin", "race", "age", "emotion", "label"),)
TASK_NAMES = ("tasks", "task", "objects", "rmdup_obj_list", "categories", "labels")

MAX_GROUPS = 20  # values of an attribute, for a guess
SAMPLE = 2000
_PROFILES = 4 * MAX_COLUMNS

Place: TypeAlias = tuple[Table, str]


@dataclass(frozen=True)
class Guess:
    """A column for an argument, or None where none fits, and all columns that a person may choose, that one first."""

    column: str | None
    choices: tuple[str, ...]


@dataclass(frozen=True)
class Columns:
    """A guess for each argument of `join_uploads`."""

    id: Guess
    prediction: Guess
    reference: Guess
    attribute: Guess
    tasks: Guess


def guess_columns(
    *,
    predictions: Table | None = None,
    references: Table | None = None,
    attributes: Table | None = None,
    tasks: Table | None = None,
) -> Columns:
    """Guess the columns by their names, then by what they hold.

    An attribute is text of 2 to 20 values that repeat, a prediction is text with blanks, a reference is lists of such
    text, tasks are lists of words, and ids are all different. Without `references` these are looked for in
    `predictions`, without `attributes` and `tasks` in the tables there are: one table may hold everything. The id is
    that of the first table given; others may call theirs otherwise, see `join_uploads`.

    Example:
        >>> from captionbias.captions.tables import table_from_memory
        >>> mine = {"img_id": [1, 2], "Generated": ["a man", "a girl"], "bb_gender": ["male", "female"]}
        >>> columns = guess_columns(predictions=table_from_memory(mine))
        >>> columns.id.column, columns.prediction.column, columns.attribute.column, columns.reference.column
        ('img_id', 'Generated', 'bb_gender', None)
        >>> columns.attribute.choices
        ('bb_gender', 'img_id', 'Generated')
    """
    profile = lru_cache(_PROFILES)(_profile)
    alone = references is None
    pools = {
        "id": _given(predictions, references, attributes, tasks)[:1],
        "prediction": _given(predictions),
        "reference": _reference_tables(predictions, references),
        "attribute": attribute_tables(predictions, references, attributes),
        "tasks": task_tables(predictions, references, attributes, tasks),
    }
    found: dict[str, Place] = {}

    def look(role: str, places: Iterable[Place], fits: Callable[[_Profile], bool]) -> None:
        for place in places:
            if role not in found and place not in found.values() and fits(profile(*place)):
                found[role] = place

    look("id", _named(pools["id"], ID_NAMES), _Profile.is_scalar)
    look("prediction", _named(pools["prediction"], PREDICTION_NAMES), _Profile.is_text)
    look("reference", _named(pools["reference"], REFERENCE_NAMES), _Profile.is_text_or_lists)
    look("attribute", _named(pools["attribute"], ATTRIBUTE_NAMES), _Profile.is_text)
    look("tasks", _named(pools["tasks"], TASK_NAMES), _Profile.is_text_or_lists)
    look("id", _places(pools["id"]), _Profile.like_ids)
    look("prediction", _not_ids(pools["prediction"]), _Profile.like_captions)
    look("reference", _not_ids(pools["reference"]), _Profile.like_caption_lists if alone else _Profile.like_references)
    look("attribute", _not_ids(pools["attribute"]), _Profile.like_attribute)
    look("tasks", _not_ids(pools["tasks"]), _Profile.like_tasks)

    def guess(role: str) -> Guess:
        own = [found[role][1]] if role in found else []
        every = chain(own, *(table.columns for table in pools[role]))
        return Guess(own[0] if own else None, tuple(dict.fromkeys(every)))

    return Columns(*map(guess, ("id", "prediction", "reference", "attribute", "tasks")))


def join_uploads(
    *,
    predictions: Table | None = None,
    references: Table | None = None,
    attributes: Table | None = None,
    tasks: Table | None = None,
    id_column: str | None = None,
    prediction_column: str | None = None,
    reference_column: str | None = None,
    attribute_column: str | None = None,
    task_column: str | None = None,
    keep: Sequence[str] | None = None,
) -> Captions:
    """Join uploaded tables by image id; `captionbias.captions.read_captions` tells how.

    Args:
        predictions, references, attributes, tasks: the tables. One table may hold everything.
        id_column: image ids, in the first table given. Each other table is joined by its column that has most of these
            ids, whatever it is called. None, for a single table: each of its rows is an image.
        prediction_column, reference_column, attribute_column, task_column: None for what there is none of.
        keep: use only the images with one of these labels.

    Raises:
        ValueError: no captions or no attribute are chosen, a column is missing, there are more than 50,000 images, or
            `read_captions` raises.

    Warns:
        CaptionBiasWarning: images are left out, once for each cause.

    Example:
        >>> from captionbias.captions.tables import table_from_memory
        >>> captions = join_uploads(
        ...     predictions=table_from_memory({"image_id": [1, 2], "caption": ["a man", "a girl"]}),
        ...     attributes=table_from_memory({"img": [2, 1], "sex": ["female", "male"]}),
        ...     id_column="image_id",
        ...     prediction_column="caption",
        ...     attribute_column="sex",
        ... )
        >>> captions.attributes
        ('male', 'female')
    """
    if prediction_column is None and reference_column is None:
        raise ValueError("no column of captions is chosen: choose that of model captions, of human captions or both")
    if attribute_column is None:
        raise ValueError("no attribute is chosen: choose the column that has the label of each image, such as gender")
    tables = _with_id(_given(predictions, references, attributes, tasks), id_column)
    tables = {table: _with_words_for_labels(joinable, attribute_column) for table, joinable in tables.items()}
    predicted, human, labelled, tasked = (
        table and tables[table] for table in (predictions, references, attributes, tasks)
    )
    captions = joined(
        predictions=_optional(prediction_column, _given(predicted)),
        references=_optional(reference_column, _reference_tables(predicted, human)),
        attributes=_source(attribute_column, attribute_tables(predicted, human, labelled)),
        tasks=_optional(task_column, task_tables(predicted, human, labelled, tasked)),
        id_column=id_column or "",
        keep=keep,
    )
    if len(captions) > MAX_IMAGES:
        raise ValueError(
            f"there are {len(captions):,} images, and this page takes {MAX_IMAGES:,} at most: give fewer, or measure "
            "them on a machine of your own with the command line"
        )
    return captions


def _given(*tables: Table | None) -> list[Table]:
    return list(dict.fromkeys(table for table in tables if table is not None))


def _reference_tables(predictions: Table | None, references: Table | None) -> list[Table]:
    return _given(predictions if references is None else references)


def attribute_tables(predictions: Table | None, references: Table | None, attributes: Table | None) -> list[Table]:
    return _given(references, predictions) if attributes is None else [attributes]


def task_tables(
    predictions: Table | None, references: Table | None, attributes: Table | None, tasks: Table | None
) -> list[Table]:
    return _given(attributes, references, predictions) if tasks is None else [tasks]


def _source(column: str, tables: list[Table]) -> Source:
    """The first of the tables that has the column; the first of all where none has, whose message then tells."""
    if not tables:
        raise ValueError(f"column '{column}' is chosen, and no file that could have it is given: give the file")
    return Source(next((table for table in tables if column in table.columns), tables[0]), column)


def _with_words_for_labels(table: Table, column: str) -> Table:
    """Numbers are as good as labels as words are: 0 and 1, say."""

    def read(name: str) -> list[Any]:
        values = table.read(name)
        if name != column:
            return values
        return [str(value) if isinstance(value, (int, float)) and not is_missing(value) else value for value in values]

    return table._replace(read=read)


def _optional(column: str | None, tables: list[Table]) -> Source | None:
    return None if column is None else _source(column, tables)


def id_columns(tables: list[Table], id_column: str) -> dict[Table, str]:
    """By which of its columns each table is joined; `id_column` is that of the first."""
    first, *others = tables
    known = set(image_keys(f"{first.name}: {id_column}", first.column(id_column)))
    return {first: id_column} | {table: _id_of(table, known, id_column) for table in others}


def _with_id(tables: list[Table], id_column: str | None) -> dict[Table, Table]:
    """Each table with its column of image ids called `id_column`."""
    if id_column is None or not tables:
        return {table: table for table in tables}
    return {table: _renamed(table, own, id_column) for table, own in id_columns(tables, id_column).items()}


def _id_of(table: Table, known: set[str], id_column: str) -> str:
    """The column with most of the known ids; of equals, the one whose name says most surely that it is an image's id.

    Columns that are named as ids come first: the numbers of human captions, say, can be numbers of images by chance.
    """
    named = [column for name in ID_NAMES for column in table.columns if _plain(column) == name]
    if id_column in table.columns and id_column not in named:
        named.insert(0, id_column)
    for columns in (named, table.columns):
        best = max(columns, key=lambda column: _shared(table, column, known), default=id_column)
        if best in table.columns and _shared(table, best, known) >= len(known) / 2:
            return best
    return id_column


def _shared(table: Table, column: str, known: set[str]) -> int:
    try:
        return len(known.intersection(image_keys(column, table.column(column))))
    except ValueError:
        return 0  # a missing cell or a list is no id


def _renamed(table: Table, column: str, id_column: str) -> Table:
    if column == id_column:
        return table
    others = tuple(name for name in table.columns if name not in (column, id_column))
    return Table(table.name, (id_column, *others), lambda name: table.read(column if name == id_column else name))


def _plain(name: str) -> str:
    """
    >>> _plain("Human Captions")
    'human_captions'
    """
    return re.sub(r"[\s-]+", "_", name.strip().lower())


def _places(tables: list[Table]) -> Iterator[Place]:
    return ((table, column) for table in tables for column in table.columns)


def _not_ids(tables: list[Table]) -> Iterator[Place]:
    return (place for place in _places(tables) if _plain(place[1]) not in ID_NAMES)


def _named(tables: list[Table], names: Sequence[str]) -> Iterator[Place]:
    return ((table, column) for name in names for table, column in _places(tables) if _plain(column) == name)


@dataclass(frozen=True)
class _Profile:
    """What a column holds: `text`, `numbers` (whole ones), `lists` of text, or `other`; with how many distinct values.

    `blanks`: the share of texts that have a blank inside.
    """

    kind: str
    rows: int
    missing: int
    distinct: int
    blanks: float

    def is_scalar(self) -> bool:
        return self.kind in ("text", "numbers")

    def is_text(self) -> bool:
        return self.kind == "text"

    def is_text_or_lists(self) -> bool:
        return self.kind in ("text", "lists")

    def like_ids(self) -> bool:
        return self.is_scalar() and not self.missing and self.distinct == self.rows and self.blanks == 0

    def like_captions(self) -> bool:
        return self.kind == "text" and self.blanks > 0.5 and self.distinct > (self.rows - self.missing) / 2

    def like_caption_lists(self) -> bool:
        return self.kind == "lists" and self.blanks > 0.5

    def like_references(self) -> bool:
        return self.like_captions() or self.like_caption_lists()

    def like_attribute(self) -> bool:
        return self.kind == "text" and 2 <= self.distinct <= min(MAX_GROUPS, (self.rows - self.missing) / 2)

    def like_tasks(self) -> bool:
        return self.kind == "lists" and self.blanks <= 0.5


def _profile(table: Table, column: str) -> _Profile:
    values = table.column(column)
    present = [value for value in values if not is_missing(value)]
    lists = _lists(present[:SAMPLE])
    kinds = set(map(type, present))
    if lists is not None:
        kind, texts = "lists", list(chain.from_iterable(lists))
    elif kinds == {str}:
        kind, texts = "text", present[:SAMPLE]
    else:
        kind, texts = "numbers" if kinds == {int} else "other", []
    blanks = sum(" " in text.strip() for text in texts) / max(1, len(texts))
    distinct = len(set(present)) if kind in ("text", "numbers") else 0
    return _Profile(kind, len(values), len(values) - len(present), distinct, blanks)


def _lists(values: list[Any]) -> list[list[str]] | None:
    """The values as lists of text, each a list or a JSON list; None if one is neither, or if there are none."""
    lists = [_list(value) for value in values]
    return [entries for entries in lists if entries is not None] if lists and None not in lists else None


def _list(value: object) -> list[str] | None:
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, list) and all(isinstance(entry, str) for entry in value) else None
