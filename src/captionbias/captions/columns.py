"""Which column of a table is what: the one that is named, else the one with the usual name, else a guess by names."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from itertools import chain, islice
from typing import Any, NamedTuple

from captionbias.captions.crossing import one_column
from captionbias.captions.names import IN_FILES, NAMES, USUAL_ID, VALUE, plain_name
from captionbias.captions.tables import ANSWER, Column, Table, nested, no_column, numbered
from captionbias.captions.values import ROW, as_weight, base_names, entries, holds_list, image_keys, is_missing
from captionbias.errors import Argument, InputError, Message, few, phrase

SYNONYMS = {"gender": ("bb_gender", "sex", "gender_presentation", "genderpresentation"), "race": ("skin", "bb_skin")}
ANY_TEXTS = ("captions", "caption", "sentences", "text")  # names of human captions, or of the captioner's
# What the columns of `IN_FILES` must hold; see `_kinds`.
KINDS = ("scalars", "text", "text or lists", "text", "text or lists", "weights", "scalars")
SAMPLE = 2000
LINE = (VALUE,)  # the columns of a table of captions a line
MAY_BE_LISTS = (VALUE, ANSWER, "outputs")  # names of captions, of which a file may have several of an image
MAX_LABELS = 50  # values of a column that may be labels


class Guess(NamedTuple):
    """A column, or None where none fits, and all columns that could be meant, that one first."""

    column: str | None
    choices: tuple[str, ...]


def guess_columns(
    *,
    predictions: Table | None = None,
    references: Table | None = None,
    attributes: Table | None = None,
    tasks: Table | None = None,
    whatever_their_names: bool = False,
) -> dict[str, Guess]:
    """Guess every column by its name, if it holds what it should, for a user to correct.

    Without a table of their own, references, attributes and tasks are looked for in the others. A column of which
    nearly each value is another, as of ids, is not a choice of labels. `whatever_their_names`: where no name tells,
    take what is left if it is one column: that of ids that another table has too, of sentences, of few values, of
    lists.
    """
    pools = _pools(predictions, references, attributes, tasks)
    columns = _guessed(pools, {}, "attribute")
    if whatever_their_names:
        own = {"prediction_column": predictions, "reference_column": references, "task_column": tasks}
        columns = _left(pools | {role: _distinct(table) for role, table in own.items()}, columns)
    if "id_column" in columns:
        others = {role: column for role, column in columns.items() if role != "id_column"}
        columns["id_column"] = _joining(pools, others, columns["id_column"])
    guesses = {}
    for role, pool in pools.items():
        column = columns[role].name if role in columns else None
        there = [each.name for each in _columns(pool) if role != "attribute_column" or _values(each)]
        guesses[role] = Guess(column, tuple(dict.fromkeys([column, *there] if column else there)))
    return guesses


def _left(pools: Mapping[str, list[Table]], known: Mapping[str, Column]) -> dict[str, Column]:
    """The columns that are known, and the one left for an argument in the first table that has any."""
    columns, kinds, ids = dict(known), cache(_kinds), cache(_ids)
    tables = _distinct(*chain.from_iterable(pools.values()))

    def shared(column: Column) -> bool:
        others = [ids(other) for other in _columns(tables) if other.table != column.table]
        return any(2 * len(ids(column) & there) > min(len(ids(column)), len(there)) for there in others)

    rules: list[tuple[str, Callable[[Column], bool]]] = [
        ("id_column", shared),
        ("prediction_column", lambda column: {"text", "references"} <= kinds(column)),
        ("reference_column", lambda column: "references" in kinds(column)),
        ("attribute_column", lambda column: _values(column) > 1),
        ("task_column", lambda column: kinds(column) == {"text or lists"}),
        ("prediction_column", lambda column: "references" in kinds(column)),
    ]
    for role, fits in rules:
        for table in pools[role] if role not in columns else ():
            left = [column for column in _columns([table]) if column not in columns.values() and fits(column)]
            if len(left) == 1:
                columns[role] = left[0]
            if left:
                break
    return columns


def _ids(column: Column) -> frozenset[str]:
    """The ids of images that a column may hold; none if it holds something else."""
    if _values(column) or "scalars" not in (kinds := _kinds(column)) or "references" in kinds:
        return frozenset()
    try:
        return frozenset(image_keys(column.name, column.values()))
    except ValueError:
        return frozenset()


def _values(column: Column) -> int:
    """How many values a column has; 0 if they are too many, or too seldom the same, to be labels."""
    present = [str(value) for value in column.values()[:SAMPLE] if not is_missing(value)]
    values = len(set(present))
    return values if values <= min(MAX_LABELS, len(present) / 2) else 0


def choose_columns(
    tables: Mapping[str, Table | None],
    named: Mapping[str, str | None],
    attributes: Sequence[tuple[str, str | None]],
    optional: Collection[str],
) -> tuple[dict[str, Column], dict[Table, str | None], list[str]]:
    """The column of each argument, the image ids of each table, and which columns are guesses; see `read_captions`.

    `attributes`: of each attribute the usual name of its column and the name that was given. Of the `optional` columns
    one is enough although the others have a table too.
    """
    chosen = [_choose(tables, {**named, "attribute_column": name}, usual, optional) for usual, name in attributes]
    columns, ids, _ = chosen[0]
    labels = one_column([by_argument["attributes"] for by_argument, *_ in chosen])
    guesses = list(dict.fromkeys(chain.from_iterable(guesses for *_, guesses in chosen)))
    columns, ids = _in_row_order({**columns, "attributes": labels}, ids, guesses)
    return columns, _match_ids(columns, ids), guesses


def _in_row_order(
    columns: dict[str, Column], ids: str | None, guesses: list[str]
) -> tuple[dict[str, Column], str | None]:
    """The columns and the image ids, where captions a line, which name no image, have those of another table's rows."""
    tables = _distinct(*(column.table for column in columns.values()))
    lines = [table for table in tables if table.columns == LINE]
    if not lines or len(tables) == 1:
        return columns, ids
    known = next((table for table in tables if table not in lines), tables[0])
    rows = known.column(ids or known.columns[0])
    images, ids = rows if ids else [f"{ROW}{row}" for row in range(len(rows))], ids or USUAL_ID
    for table in lines:
        if len(table.column(VALUE)) != len(rows):
            text = "{} has {:,} lines, which name no images, and {} has {:,} rows: give a table with a column {!r}"
            raise ValueError(text.format(table.name, len(table.column(VALUE)), known.name, len(rows), USUAL_ID))
    guesses.append(f"images of {few(table.name for table in lines)} from the order of the rows of {known.name}")
    with_ids = {table: table.with_column(ids, images) for table in (known, *lines)}
    moved = {name: column._replace(table=with_ids.get(column.table, column.table)) for name, column in columns.items()}
    return moved, ids


def _choose(
    tables: Mapping[str, Table | None], named: Mapping[str, str | None], attribute: str, optional: Collection[str]
) -> tuple[dict[str, Column], str | None, list[str]]:
    """The same with one attribute and the image ids of the first table alone."""
    predictions, references, tasks = tables["predictions"], tables["references"], tables["tasks"]
    pools = _pools(**tables)
    # What is optional, human captions and tasks, is not looked for in every table that may have a column so named.
    likely = {**pools, "reference_column": _distinct(references)}
    likely["task_column"] = _distinct(tasks) or _distinct(references, predictions)
    caption = named.get("prediction_column") or "caption"
    usual = {
        "id_column": [USUAL_ID],
        "prediction_column": [caption],
        "reference_column": ["references"] if references == predictions else ["references", caption],
        "attribute_column": [attribute],
        "task_column": ["tasks", "objects"] if tasks else ["tasks"],
        "weight_column": [],  # whatever its name, it is told: it changes every score
        "scene_column": [],
    }
    columns: dict[str, Column] = {}
    missing = []
    for role, argument in IN_FILES.items():
        name = named.get(role)
        searched, names = (likely[role], usual[role]) if name is None else (pools[role], [name])
        spelled = ((table, table.spelled(name)) for name in names for table in searched)
        column = next((Column(table, name) for table, name in spelled if name), None)
        if column:
            columns[role] = column
        elif name and searched:
            raise no_column(name, searched, Message("name one of these with ", Argument(role)))
        elif name is None and (role in ("id_column", "attribute_column") or tables.get(argument)):
            missing.append(role)
    if "id_column" in missing and len(_distinct(*tables.values())) == 1:
        missing.remove("id_column")  # each row is an image
    guesses = _guessed(pools, columns, attribute) if missing else {}
    guesses = {role: guesses[role] for role in missing if role in guesses}
    if predictions and not references and named.get("reference_column") is None and "reference_column" not in columns:
        guesses |= _human_beside(predictions, {**columns, **guesses})
    if named.get("weight_column") is None:
        likely_weights = _named(pools["weight_column"], NAMES["weight_column"])
        weights = next((column for column in likely_weights if "weights" in _kinds(column)), None)
        guesses |= {"weight_column": weights} if weights else {}
    columns |= guesses
    for role in missing:
        if role != "id_column" and not any(other in columns for other in (optional if role in optional else [role])):
            objects = (column for column in _columns(pools[role]) if dict in map(type, column.values()))
            inside = (Message("; ", nested(column, role)) for column in objects)
            raise no_column(usual[role][0], pools[role], Message("name one of these with ", Argument(role), *inside))
    ids = columns.pop("id_column", None)
    by_argument = {argument: columns[role] for role, argument in IN_FILES.items() if role in columns}
    if "id_column" in guesses:
        ids = guesses["id_column"] = _joining(pools, by_argument, guesses["id_column"])
    if role := next((role for role, column in columns.items() if column == ids), ""):
        raise InputError("id_column", Message("and ", Argument(role), f" are both {ids}: name two columns"))
    return by_argument, ids and ids.name, [f"{IN_FILES[role]} from {column}" for role, column in guesses.items()]


def _joining(pools: Mapping[str, list[Table]], columns: Mapping[str, Column], guess: Column) -> Column:
    """Of columns that are called like ids the first that the other tables have, else the guess."""
    by_name = _named(pools["id_column"], NAMES["id_column"])
    return next((column for column in by_name if len(by_name) == 1 or _joins(columns, column.name)), guess)


def _joins(columns: Mapping[str, Column], id_column: str) -> bool:
    """Whether the other tables have ids of this column of the first."""
    try:
        return bool(_match_ids(columns, id_column))
    except ValueError:
        return False


def _human_beside(table: Table, known: Mapping[str, Column]) -> dict[str, Column]:
    """Human captions in the captioner's own table, if names and contents both say that there are some."""
    for column in [*_numbered([table], known), *_named([table], NAMES["reference_column"])]:
        kind = "caption lists" if plain_name(column.name) in ANY_TEXTS else "references"
        if column not in known.values() and kind in _kinds(column):
            return {"reference_column": column}
    return {}


def _numbered(tables: Iterable[Table], known: Mapping[str, Column]) -> list[Column]:
    """Several columns as one, as caption1 ... caption5, of which none is the captioner's."""
    return [
        Column(table, name)
        for table in tables
        for name, group in numbered(table.columns).items()
        if name in table.columns and known.get("prediction_column") not in [Column(table, part) for part in group]
    ]


def _match_ids(columns: Mapping[str, Column], id_column: str | None) -> dict[Table, str | None]:
    """The image ids of each table: `id_column` in the first one, in others the column that has these ids."""
    first, *others = _distinct(*(column.table for column in columns.values()))
    if not others:
        return {first: id_column}
    if id_column is None:
        raise _no_ids(first, USUAL_ID)
    if id_column == USUAL_ID and all(USUAL_ID in table.columns for table in others):
        return dict.fromkeys([first, *others], id_column)
    known = dict.fromkeys(image_keys(f"{first.name}: {id_column}", first.column(id_column)))
    return {first: id_column, **{table: _with_ids(table, known, id_column) for table in others}}


def _with_ids(table: Table, known: Mapping[str, None], id_column: str) -> str:
    """The column most like the known ids; of equals, the one of the same name. Columns that are named as ids come
    first: the numbers of human captions, say, can be numbers of images by chance.
    """

    def alike(column: str) -> tuple[float, int, int]:
        """The share of ids of either that both have, how many both have, and how many there are here."""
        try:
            there = set(image_keys(column, table.column(column)))
        except ValueError:
            return 0, 0, 0  # a missing cell or a list is not an id
        both = len(known.keys() & there) or len(bases.intersection(base_names(there)))
        return both / (len(known) + len(there) - both), both, len(there)

    if id_column == USUAL_ID and id_column in table.columns:
        return id_column
    bases = set(base_names(known))
    same = [id_column] if id_column in table.columns else []
    named = [*same, *(column.name for column in _named([table], NAMES["id_column"]))]
    for columns in (named, table.columns):
        best = max(columns, key=alike, default=None)
        if best is not None:
            _, both, there = alike(best)
            if same or 2 * both >= (min(len(known), there or 1) if columns is named else len(known)):
                return best
    raise _no_ids(table, id_column, f" with ids such as {', '.join(islice(known, 2))}")


def _no_ids(table: Table, id_column: str, such_as: str = "") -> ValueError:
    ways_out = phrase("name the column of image ids with {id_column}"), "put everything in one file"
    return no_column(id_column, [table], *ways_out, purpose=f"{such_as} to join it by")


def _pools(
    predictions: Table | None, references: Table | None, attributes: Table | None, tasks: Table | None
) -> dict[str, list[Table]]:
    """The tables that may have each column, in the order in which they are searched."""
    return {
        "id_column": [one for one in _distinct(predictions, references, attributes, tasks) if one.columns != LINE][:1],
        "prediction_column": _distinct(predictions),
        "reference_column": _distinct(references or predictions),
        "attribute_column": _distinct(attributes) or _distinct(references, predictions),
        "task_column": _distinct(tasks) or _distinct(references, predictions, attributes),
        "weight_column": _distinct(attributes, references, predictions),
        "scene_column": _distinct(attributes, references, predictions, tasks),
    }


def _distinct(*tables: Table | None) -> list[Table]:
    return list(dict.fromkeys(table for table in tables if table is not None))


def _guessed(pools: Mapping[str, list[Table]], known: Mapping[str, Column], attribute: str) -> dict[str, Column]:
    """Columns for the arguments that are not known, each column for one argument only."""
    names = dict(NAMES)
    if attribute != "attribute":  # the column of another attribute would not do
        names["attribute_column"] = (attribute, *SYNONYMS.get(attribute, ()), "attribute", "attributes", "label", VALUE)
    guesses, kinds = dict(known), cache(_kinds)
    for role, kind in zip(IN_FILES, KINDS, strict=True):
        together = _numbered(pools[role], guesses) if role == "reference_column" else []
        for column in (*together, *_named(pools[role], names[role])):
            fits = kind in kinds(column) or (column.name in MAY_BE_LISTS and KINDS[2] in kinds(column))
            if role not in guesses and column not in guesses.values() and fits:
                guesses[role] = column
    return guesses


def _named(tables: Iterable[Table], names: Iterable[str]) -> list[Column]:
    return [column for name in names for column in _columns(tables) if plain_name(column.name) == name]


def _columns(tables: Iterable[Table]) -> list[Column]:
    return [Column(table, name) for table in tables for name in table.columns]


def _kinds(column: Column) -> set[str]:
    """The kinds of columns that it may be, by what it holds."""
    present = [value for value in column.values() if not is_missing(value)]
    numbers = sum(as_weight(value) is not None for value in present[:SAMPLE])
    types, weights = set(map(type, present)), {"weights"} if numbers > len(present[:SAMPLE]) / 2 else set()
    lists = [_list(value) for value in present[:SAMPLE]]
    if lists and None not in lists:
        sentences = _mostly_sentences(list(chain.from_iterable(filter(None, lists))))
        return {"text or lists", *(("references", "caption lists") if sentences else ())}
    if types != {str}:
        return {"scalars", *weights} if types == {int} else weights
    sentences = _mostly_sentences(present[:SAMPLE]) and len(set(present)) > len(present) / 2
    return {"scalars", "text", "text or lists", *weights, *(("references",) if sentences else ())}


def _mostly_sentences(texts: Sequence[str]) -> bool:
    return sum(" " in text.strip() for text in texts) > len(texts) / 2


def _list(value: Any) -> list[str] | None:
    """The value as a list of text, which may be text itself; None if it is not one."""
    try:
        texts = entries(value) if holds_list(value) else [value]
    except ValueError:
        return None
    return texts if texts != [value] and all(isinstance(entry, str) for entry in texts) else None
