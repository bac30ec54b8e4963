"""What a user of the page uploaded: tables, the columns that are chosen, and the captions that they make."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from captionbias.app.uploads import ENDINGS, MAX_IMAGES, check_total, open_tables, shown_name
from captionbias.attackers.base import SMALLEST_CLASS
from captionbias.captions import Captions, guess_columns, on_the_same_images, read_captioners
from captionbias.captions.captioners import captioner_columns
from captionbias.captions.columns import LINE, MAX_LABELS, SYNONYMS
from captionbias.captions.names import IN_FILES, USUAL_ID, VALUE, plain_name
from captionbias.captions.reader import label_counts
from captionbias.captions.tables import Table
from captionbias.captions.values import as_scene, entries, is_missing
from captionbias.errors import InputError
from captionbias.text import guess_language, load_lexicon
from captionbias.text.languages import ENGLISH
from captionbias.text.lexicon import attribute_lexicons, task_lexicons

MAX_CAPTIONERS = 10
MAX_FILES = MAX_CAPTIONERS + 10
ATTRIBUTES, TASK_WORDS = (*attribute_lexicons(),), (*sorted(task_lexicons(), key="coco_objects".__ne__),)
MOST_IN_SCENE = 30  # images: a "scene" of more is a kind of place
CAPTIONER, PEOPLE, LABELS, TASKS, LEAN, UNUSED = "predictions", "references", "attributes", "tasks", "lean", ""
TITLES = {
    CAPTIONER: "a captioner's captions",
    PEOPLE: "people's captions",
    LABELS: "labels",
    TASKS: "tasks (objects in the images)",
    LEAN: "which tasks go with whom",
    UNUSED: "not used",
}
# Words in the name of a file or of a column of people's captions.
_PEOPLE = re.compile(
    r"(?<![a-z])(people|persons?|humans?|refs?|references?|gts?|ground[ _-]?truths?|annotators?"
    r"|captions[ _-]?(val|train|test)\d*)(?![a-z])",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Columns:
    """The columns to read, the labels to keep and the captions' language, as `read_captioners` takes them."""

    id_column: str = ""
    prediction_column: tuple[str, ...] = ()
    reference_column: str = ""
    attribute_column: str = ""
    task_column: str = ""
    weight_column: str = ""
    scene_column: str = ""
    keep: tuple[str, ...] = ()
    language: str = ENGLISH


@dataclass(frozen=True, eq=False)
class Data:
    """Tables and what each is, by its name; which columns of them are read. `offered`: the columns to choose from for
    each field of `Columns`; `counts`: how many of the images that are measured have each label, the most frequent
    first; `compared`: whether captioners of two runs are in it."""

    tables: tuple[Table, ...] = ()
    roles: Mapping[str, str] = field(default_factory=dict)
    columns: Columns = Columns()
    offered: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    compared: bool = False

    def __bool__(self) -> bool:
        return bool(self.tables)

    def of(self, role: str) -> list[Table]:
        """The tables that are this."""
        return [table for table in self.tables if self.roles[table.name] == role]

    @property
    def predictions(self) -> dict[str, Table]:
        """Captioners' tables by their names."""
        return {stem(table.name): table for table in self.of(CAPTIONER)}

    @property
    def others(self) -> dict[str, Table]:
        """The table of people's captions, of labels and of tasks, as far as there is one."""
        return {role: self.of(role)[0] for role in (PEOPLE, LABELS, TASKS) if self.of(role)}

    @property
    def lean(self) -> dict[str, list[str]] | None:
        """The tasks that go with each value, if a file says so."""
        for table in self.of(LEAN):
            return dict(zip(table.column(USUAL_ID), map(entries, table.column(VALUE)), strict=True))
        return None

    @property
    def captioners(self) -> dict[str, tuple[str, Any]]:
        """The table and the column of each captioner, by its name."""
        return captioner_columns(list(self.predictions), self.columns.prediction_column)


def read_uploads(paths: Sequence[str]) -> Data:
    """Read uploaded files of any kind, in any order, and find out which is what."""
    if len(paths) > MAX_FILES:
        raise ValueError(f"there are {len(paths)} files, and this page takes {MAX_FILES} at most: give fewer")
    files = sorted(map(Path, paths), key=lambda path: path.name)
    check_total(sum(path.stat().st_size for path in files))
    _check_names("files", [shown_name(path.name) for path in files])
    tables = open_tables(files)
    return as_said(tables, roles_of(tables))


def as_said(tables: Iterable[Table], roles: Mapping[str, str]) -> Data:
    """The tables by what each is, see `roles_of`, and a guess of their columns."""
    order = list(TITLES)
    data = Data(tuple(sorted(tables, key=lambda table: order.index(roles[table.name]))), roles)
    names = [stem(table.name) for table in data.of(CAPTIONER)]
    _check_names("captioners", names)
    _check_count(len(names))
    first = {CAPTIONER: next(iter(data.predictions.values()), None), **data.others}
    guesses = guess_columns(**first, whatever_their_names=True)
    guess: dict[str, Any] = {role: column or "" for role, (column, _) in guesses.items()}
    guess["prediction_column"] = tuple(filter(None, [guess["prediction_column"]]))
    guess["scene_column"] = "" if guess["reference_column"] else _scene_column(data)
    offered = {role: choices for role, (_, choices) in guesses.items()}
    data = replace(data, columns=Columns(**guess), offered=offered)
    return counted(replace(data, columns=replace(data.columns, language=guess_spoken(data))))


def stem(table: str) -> str:
    """A table's name without the ending that it has where it is a file."""
    return Path(table).stem if Path(table).suffix.lower() in ENDINGS else table


def with_roles(data: Data, names_by_role: Mapping[str, Any]) -> Data:
    """The data whose tables are what the user says: the names of those of each role; others are not used. One that is
    named as two things is the later one: events may come twice, and the second one must change nothing."""
    roles = dict.fromkeys(data.roles, UNUSED)
    for role, names in names_by_role.items():
        for name in listed(names):
            if name not in roles:
                raise ValueError(f"there is no file {name!r}: the files are {', '.join(map(repr, roles)) or 'none'}")
            roles[name] = role
    return data if roles == data.roles else as_said(data.tables, roles)


def listed(chosen: Any) -> list[str]:
    """A choice, of one name or of several, as a list of names."""
    return [str(name) for name in ([chosen] if isinstance(chosen, str) else chosen or []) if name]


def roles_of(tables: Sequence[Table]) -> dict[str, str]:
    """What each table is, by its name: one with captions is a captioner's, unless several of an image, its columns or
    its name say that they are people's; any other has labels or tasks, or says which tasks go with whom. Of several for
    one of these the surest is taken, whatever their order."""
    roles = {table.name: _role(table) for table in tables}
    surest: dict[str, str] = {}
    for name in sorted(roles, key=lambda name: (-roles[name][1], name)):
        surest.setdefault(roles[name][0], name)
    return {name: role if role == CAPTIONER or surest[role] == name else UNUSED for name, (role, _) in roles.items()}


def _role(table: Table) -> tuple[str, int]:
    """What a table seems to be, and how surely: by names, and where they say nothing by what is left."""
    if _says_lean(table):
        return LEAN, 0
    role = _role_by(table, False)
    return role if role[0] else _role_by(table, True)


def _says_lean(table: Table) -> bool:
    """Whether it has tasks for each value of an attribute, as `{"female": ["nurse"], "male": ["pilot"]}`."""
    if {*table.columns} != {USUAL_ID, VALUE}:
        return False
    values = {str(value) for value in table.column(USUAL_ID)[: MAX_LABELS + 1]}
    return any(values <= {*load_lexicon(attribute).labels} for attribute in ATTRIBUTES)


def _role_by(table: Table, whatever_their_names: bool) -> tuple[str, int]:
    tables = {"predictions": table, "references": table, "tasks": table}
    guesses = guess_columns(**tables, whatever_their_names=whatever_their_names)
    guessed = {role: guess.column for role, guess in guesses.items()}
    caption, human, labels, tasks = (
        guessed[f"{side}_column"] for side in ("prediction", "reference", "attribute", "task")
    )
    known = bool(labels) + bool(tasks)  # what else it says of the images
    if table.columns == LINE and not any(" " in str(line) for line in table.column(VALUE)):
        return UNUSED, 0  # the images of the lines of another file
    if caption is None and human is None:
        return LABELS if labels else TASKS if tasks else UNUSED, known
    if caption is None:
        return PEOPLE, 4 + known
    ids = table.column(guessed["id_column"]) if guessed["id_column"] and human is None else []
    present = [str(value) for value in ids if not is_missing(value)]
    if len(set(present)) < 0.9 * len(present):  # many of the images are in several rows
        return PEOPLE, 3 + known
    if human is None and any(map(_PEOPLE.search, (caption, Path(table.name).stem))):
        return PEOPLE, known
    return CAPTIONER, 0


def _scene_column(data: Data) -> str:
    """The column `scene` of images of which a few each differ in the person alone; none of kinds of places."""
    for table in data.tables:
        if column := next((name for name in table.columns if plain_name(name) == "scene"), ""):
            sizes = Counter(filter(None, map(as_scene, table.column(column)))).values()
            if sizes and sum(sizes) > len(sizes) and max(sizes) <= MOST_IN_SCENE:
                return column
    return ""


def choices_of(data: Data) -> dict[str, tuple[str, ...]]:
    """The columns to choose from for each field of `Columns`; for `keep` the labels, none if they are too many."""
    labels = tuple(data.counts) if len(data.counts) <= MAX_LABELS else ()
    return {name: data.offered.get(name, ()) for name in IN_FILES} | {"keep": labels}


def with_columns(data: Data, chosen: Mapping[str, Any]) -> Data:
    """The data with the columns and the language as the user corrects them, by their names in `Columns`, and only
    images with the labels to keep; of other columns of labels those are kept that attackers can learn."""
    usual = vars(replace(Columns(), language=data.columns.language))
    read: dict[str, Any] = {
        name: tuple(listed(chosen.get(name))) if isinstance(value, tuple) else str(chosen.get(name) or value)
        for name, value in usual.items()
    }
    columns = Columns(**read)
    there = dict.fromkeys(column for table in data.tables for column in table.columns)
    for name in IN_FILES:
        for column in listed(read[name]):
            if column not in there:
                raise InputError(name, f"is {column!r}, and the columns are {', '.join(map(repr, there)) or 'none'}")
    same = replace(columns, keep=()) == replace(data.columns, keep=())
    other = _kept(data, columns) if same else counted(replace(data, columns=columns))
    return data if other.columns == data.columns else other


def counted(data: Data) -> Data:
    """The data with the labels of the images that its columns join; without any where they cannot be joined."""
    counts: dict[str, int] = {}
    if data.predictions and not missing_columns(data):
        with suppress(ValueError):  # which is told as the captions are read
            options: dict[str, Any] = {**data.others, **{name: getattr(data.columns, name) for name in IN_FILES}}
            counts = label_counts(data.predictions, **options)
    return _kept(replace(data, counts=counts), data.columns)


def _kept(data: Data, columns: Columns) -> Data:
    """The data with these columns, of whose labels to keep those stay that there are; else those that attackers can
    learn, none if there are too many to choose from."""
    few = data.counts.items() if len(data.counts) <= MAX_LABELS else ()
    learnable = [label for label, count in few if count >= SMALLEST_CLASS]
    keep = [label for label in columns.keep if label in data.counts] or learnable
    return replace(data, columns=replace(columns, keep=tuple(keep)))


def missing_files(data: Data) -> str:
    """What no choice among the columns of these files can make up for; empty if there is nothing, or no file yet."""
    if data and not data.predictions:
        return "choose below which file has a captioner's captions, or add one that has"
    if data and not (data.columns.attribute_column or data.offered.get("attribute_column")):
        return "none of these files has labels of the images, such as each person's gender: add one that has"
    return ""


def missing_columns(data: Data) -> str:
    """Which column is still to be chosen; empty if none is."""
    if not data.columns.prediction_column:
        return "choose the column of the captioner's captions below"
    if (people := data.of(PEOPLE)) and not data.columns.reference_column:
        return f"no column of {people[0].name} is chosen: choose the one of people's captions below"
    if not data.columns.attribute_column:
        return "no attribute is chosen: choose the column of the labels below, such as each person's gender"
    return ""


def left_out(data: Data) -> str:
    """Which labels are not kept, with their images, and whether attackers could learn them; empty if all are."""
    keep = data.columns.keep
    gone = [
        f"{label!r} ({count:,} images{', too few to split' if count < SMALLEST_CLASS else ''})"
        for label, count in data.counts.items()
        if keep and label not in keep
    ]
    return f"left out by their label: {', '.join(gone)}" if gone else ""


def guess_words(data: Data) -> str:
    """The attribute whose words the labels seem to need: by most of them, else by their column's name, else the
    first."""
    column = data.columns.attribute_column
    spelled = set(map(str.casefold, data.counts))
    for attribute in ATTRIBUTES:
        if len(spelled.intersection(map(str.casefold, load_lexicon(attribute).labels))) > len(spelled) / 2:
            return attribute
    named = (name for name in ATTRIBUTES if plain_name(column) in (name, *SYNONYMS.get(name, ())))
    return next(named, ATTRIBUTES[0])


def guess_task_words(data: Data) -> str:
    """The task words that have most of the tasks' names; the first where there are no tasks."""
    tables = (*data.of(TASKS), *data.tables)
    table = next((table for table in tables if data.columns.task_column in table.columns), None)
    names = Counter(
        map(str, chain.from_iterable(map(entries, table.column(data.columns.task_column) if table else ())))
    )
    known = {words: sum(names[label] for label in load_lexicon(words).labels) for words in TASK_WORDS}
    return max(known, key=known.__getitem__)


def guess_spoken(data: Data) -> str:
    """The language that the first captioner's captions seem to be in; English where no words tell it."""
    cells = (
        cell for table, column in [*data.captioners.values()][:1] for cell in data.predictions[table].column(column)
    )
    texts = chain.from_iterable(entries(cell) for cell in cells if not is_missing(cell))
    return guess_language(text for text in texts if isinstance(text, str)) or ENGLISH


def captions_of(data: Data) -> dict[str, Captions]:
    """Each captioner's captions of the images that all of them have, joined with what is known of these."""
    if not data:
        raise ValueError("there are no captions yet: upload files, or take the example data")
    if fault := missing_files(data) or missing_columns(data):
        raise ValueError(fault)
    _check_count(len(data.captioners))
    options = {**data.others, **vars(data.columns), "keep": data.columns.keep or None}
    captioners = read_captioners(data.predictions, **options)
    most = max(map(len, captioners.values()))
    if most > MAX_IMAGES:
        raise ValueError(
            f"there are {most:,} images, and this page takes {MAX_IMAGES:,} at most: give fewer, or measure them on a "
            "machine of your own with the command line"
        )
    return on_the_same_images(captioners)


def _check_count(captioners: int) -> None:
    if captioners > MAX_CAPTIONERS:
        raise ValueError(f"there are {captioners} captioners, and this page takes {MAX_CAPTIONERS} at most: give fewer")


def _check_names(what: str, names: Sequence[str]) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise ValueError(f"two {what} are called {name}: rename a file")
