"""What events of the page make of a session's data, and what there is to tell of these."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import chain
from math import prod
from tempfile import TemporaryDirectory
from typing import Any

from captionbias.analysis.audit import audit
from captionbias.app import reproduce
from captionbias.app.custom_lexicon import custom_lexicon
from captionbias.app.data import (
    MAX_LABELS,
    Columns,
    Data,
    as_said,
    captioners_of,
    captions_of,
    corrected,
    count_labels,
    guess_words,
    left_out,
    read_uploads,
)
from captionbias.app.example import example
from captionbias.app.preview import preview
from captionbias.app.results import Run
from captionbias.app.roles import CAPTIONER, LABELS, PEOPLE, TASKS, TITLES, UNUSED
from captionbias.app.sessions import Session
from captionbias.attackers.splits import SMALLEST_CLASS
from captionbias.captions import CaptionBiasWarning, Captions, count_cells, uncross
from captionbias.captions.captioners import captioner_columns
from captionbias.metrics.inputs import other_labels
from captionbias.text import Lexicon, load_lexicon

CUSTOM = "custom words"
SHOWN_LABELS = 5
_heard: ContextVar[list[str] | None] = ContextVar("heard", default=None)


def read(session: Session, files: list[str] | None) -> Data:
    """The files in place of the data, with a guess of what each is and of their columns."""
    return read_uploads(files or [])


def read_example(session: Session) -> Data:
    """Two captioners of known bias, as if their files had been uploaded."""
    return example()


def roles(
    session: Session,
    captioners: list[str] | str | None,
    people: str | None = None,
    labels: str | None = None,
    tasks: str | None = None,
) -> Data:
    """The files as the user says what they are, by their names; those that are not named are not used.

    A file that is named as two things is the later one, in the order of the arguments: events may come twice, and the
    second one must change nothing.

    Raises:
        ValueError: there is no such file.
    """
    data = session.data
    tables = {table.name: table for _, table in data.tables()}
    before = {table.name: role for role, table in data.tables()}
    said = dict.fromkeys(tables, UNUSED)
    of_role = {CAPTIONER: listed(captioners), PEOPLE: listed(people), LABELS: listed(labels), TASKS: listed(tasks)}
    for role, names in of_role.items():
        for name in names:
            if name not in said:
                raise ValueError(f"there is no file {name!r}: the files are {', '.join(map(repr, said)) or 'none'}")
            said[name] = role
    return data if said == before else as_said([*tables.values()], said, data.code)


def columns(
    session: Session,
    image_ids: str | None = None,
    captions: list[str] | str | None = None,
    people: str | None = None,
    labels: list[str] | str | None = None,
    tasks: str | None = None,
    keep: list[str] | str | None = None,
) -> Data:
    """The data with the columns as the user corrects them, and only images with the labels to keep."""
    ids, people, tasks = (str(one or "") for one in (image_ids, people, tasks))
    chosen = Columns(ids, tuple(listed(captions)), people, tuple(listed(labels)), tasks, tuple(listed(keep)))
    return corrected(session.data, chosen)


def listed(chosen: list[str] | str | None) -> list[str]:
    """One or several of a choice: programs may give one as it is."""
    return [str(one) for one in ([chosen] if isinstance(chosen, str) else chosen or []) if one]


def fitted(data: Data, attributes: list[str]) -> list[str]:
    """As many attributes as there are label columns, those that were chosen last: of one column another replaces it."""
    return listed(attributes)[-max(1, len(data.columns.attribute_column)) :]


def told(data: Data) -> dict[str, Any]:
    """For programs: what was read."""
    return {
        "files": {table.name: TITLES[role] for role, table in data.tables()},
        "columns": vars(data.columns),
        "labels": count_labels(data, data.columns.attribute_column),
        "attributes": guess_words(data, data.columns.attribute_column),
    }


def looked(session: Session, *words: Any) -> dict[str, Any]:
    """What `look` finds, which is kept: several events ask for the same."""
    asked = (session.data, *words)
    if session.look is None or session.look[0] != asked:
        session.look = asked, look(*asked)
    found: dict[str, Any] = session.look[1]
    return found


def look(
    data: Data, attributes: list[str], custom_attribute: str, task_words: str, custom_tasks: str
) -> dict[str, Any]:
    """What will be measured, as far as it can be: images, captioners, and the first images with words to be masked.

    Returns:
        `not_ready`: what is missing, "" if nothing is; `images`; `captioners`; `labels`, with their images;
        `intersections` of crossed labels, if they can be listed; `notes`; `masked`: for the attribute's words and the
        tasks' the spans of the first captions, see `captionbias.app.preview.preview`.
    """
    found: dict[str, Any] = {"not_ready": "", "images": 0, "captioners": [], "labels": {}, "intersections": []}
    found |= {"notes": [], "masked": {}}
    if not data:
        return found
    try:
        lexicons = _lexicons(data, attributes, custom_attribute, task_words, custom_tasks)
        with heard() as notes:
            (captions,) = captions_of(data, first_only=True).values()
        loaded = {kind: load_lexicon(lexicon) for kind, lexicon in lexicons.items()}
    except ValueError as error:
        return {**found, "not_ready": str(error)}
    notes = [*_with_left_out(notes, data), other_labels(captions, loaded["attribute_lexicon"])]
    if captions.references is None:
        notes.append(
            "without people's captions only the bias of the captioner is measured, not whether it is more than people's"
        )
    return {
        "not_ready": "; ".join(_too_few(captions, data.columns.attribute_column)),
        "images": len(captions),
        "captioners": list(captioner_columns(list(data.predictions), data.columns.prediction_column)),
        "labels": dict(sorted(Counter(captions.attributes).items())),
        "intersections": _cells(captions, data.columns.attribute_column),
        "notes": list(filter(None, notes)),
        "masked": {kind: preview(captions, lexicon) for kind, lexicon in loaded.items()},
    }


def _cells(captions: Captions, columns: Sequence[str]) -> list[list[Any]]:
    """How many images there are at each intersection of crossed labels."""
    if len(columns) < 2 or _intersections(captions, columns) > MAX_LABELS:
        return []
    return [[*labels, count] for labels, count in count_cells(captions.attributes, len(columns)).items()]


def _intersections(captions: Captions, columns: Sequence[str]) -> int:
    return prod(len(set(labels)) for labels in uncross(captions.attributes, len(columns)))


def _too_few(captions: Captions, columns: Sequence[str]) -> Iterator[str]:
    if len(columns) > 1 and (number := _intersections(captions, columns)) > MAX_LABELS:
        yield f"there are {number:,} intersections: leave labels out, or choose other columns"
    counts = sorted(Counter(captions.attributes).items())
    if few := [f"{label!r} ({count})" for label, count in counts if count < SMALLEST_CLASS]:
        shown = ", ".join(few[:SHOWN_LABELS]) + (", ..." if len(few) > SHOWN_LABELS else "")
        yield (
            f"labels with too few images to split: {shown}. An attacker needs {SMALLEST_CLASS} of each: leave these "
            "labels out, or add images"
        )


def _with_left_out(notes: Sequence[str], data: Data) -> list[str]:
    counts = count_labels(data, data.columns.attribute_column)
    return list(filter(None, [*notes, left_out(counts, data.columns.keep)]))


def words_of(data: Data, attributes: list[str] | str | None, custom: Lexicon | None = None) -> Any:
    """The words of each label column, as a metric's `attribute_lexicon`: one lexicon, or a list of several to cross.

    Raises:
        ValueError: there are more or fewer of them than label columns.
    """
    chosen, columns = listed(attributes), data.columns.attribute_column
    if not chosen or (columns and len(chosen) != len(columns)):
        raise ValueError(
            f"the columns of labels are {', '.join(columns) or 'none'}, and the words are of "
            f"{', '.join(chosen) or 'none'}: choose the attribute of each column, in the same order"
        )
    lexicons = [custom if attribute == CUSTOM else attribute for attribute in chosen]
    return lexicons if len(lexicons) > 1 else lexicons[0]


def _lexicons(
    data: Data, attributes: list[str], custom_attribute: str, task_words: str, custom_tasks: str
) -> dict[str, Any]:
    """The chosen words by setting; custom ones are called like their file, so that the signature names it."""
    custom = custom_lexicon(custom_attribute or "", "attribute-words") if CUSTOM in listed(attributes) else None
    return {
        "attribute_lexicon": words_of(data, attributes, custom),
        "task_lexicon": custom_lexicon(custom_tasks or "", "task-words") if task_words == CUSTOM else task_words,
    }


def measure(
    watch: Callable[[str, float], None],
    session: Session,
    attributes: list[str],
    custom_attribute: str,
    task_words: str,
    custom_tasks: str,
    metrics: list[str],
    preset: str,
    trials: int,
    seed: int | None,
) -> Run:
    """Measure the data by the settings that are chosen."""
    data = session.data
    if not metrics:
        raise ValueError("choose at least one metric")
    if seed is None:
        raise ValueError("seed is empty: give a whole number, such as 0")
    lexicons = _lexicons(data, attributes, custom_attribute, task_words, custom_tasks)
    watch("reading", 0.0)
    with heard() as notes:
        found = audit(
            captioners_of(data),
            metrics=metrics,
            preset=preset,
            trials=int(trials),
            seed=int(seed),
            **lexicons,
            watch=watch,
        )
    of_metrics = {note for name in found.captioners for note in found.notes(name)}
    every = chain.from_iterable(one if isinstance(one, list) else [one] for one in lexicons.values())
    return Run(
        found,
        tuple(note for note in _with_left_out(notes, data) if not any(other.endswith(note) for other in of_metrics)),
        reproduce.command(data, found.settings, lexicons),
        reproduce.python(data, found.settings, lexicons),
        tuple(lexicon for lexicon in every if isinstance(lexicon, Lexicon)),
        TemporaryDirectory(prefix="captionbias-app-"),
    )


@contextmanager
def heard() -> Iterator[list[str]]:
    """Collect the warnings of this call, and of no other thread; needs `listen`."""
    notes: list[str] = []
    token = _heard.set(notes)
    try:
        yield notes
    finally:
        _heard.reset(token)


def listen() -> None:
    """From now on warnings of this library go to the enclosing `heard`, if there is one; all others as before."""
    before = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        notes = _heard.get()
        if notes is None or not issubclass(category, CaptionBiasWarning):
            before(message, category, *place, **more)
        elif str(message) not in notes:
            notes.append(str(message))

    warnings.simplefilter("always", CaptionBiasWarning)
    warnings.showwarning = show
