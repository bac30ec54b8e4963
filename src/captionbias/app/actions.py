"""What events of the page make of a session's data."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from captionbias.analysis.audit import Audit, audit
from captionbias.analysis.compare import replicates_for
from captionbias.app import results
from captionbias.app.data import (
    CAPTIONER,
    LABELS,
    MAX_LABELS,
    PEOPLE,
    TASKS,
    TITLES,
    UNUSED,
    Columns,
    Data,
    as_said,
    captioners_of,
    captions_of,
    corrected,
    guess_words,
    left_out,
    read_uploads,
)
from captionbias.app.results import Run
from captionbias.app.sessions import Session
from captionbias.app.uploads import Pictures, image_wing, open_pictures
from captionbias.app.words import custom_lexicon, preview
from captionbias.attackers.base import SMALLEST_CLASS
from captionbias.bench.inputs import other_labels
from captionbias.captions import CaptionBiasWarning, Captions
from captionbias.captions.captioners import captioner_columns
from captionbias.errors import message_of
from captionbias.progress import Watch
from captionbias.text import Lexicon, load_lexicon

CUSTOM = "custom words"
SHOWN_LABELS = 5
FIRST = "sway"  # which trains nothing, so that its picture can be shown at once
FIRST_SHARE = 0.1  # of the work
JUDGED, JUDGED_PRESET = "imagecaptioner2", "fast"
_heard: ContextVar[list[str] | None] = ContextVar("heard", default=None)


def read(session: Session, files: list[str] | None) -> Data:
    """The files in place of the data, with a guess of what each is and of their columns."""
    return read_uploads(files or [])


def roles(
    session: Session,
    captioners: list[str] | str | None,
    people: str | None = None,
    labels: str | None = None,
    tasks: str | None = None,
) -> Data:
    """The files as the user says what they are, by their names; those that are not named are not used. A file that is
    named as two things is the later one: events may come twice, and the second one must change nothing."""
    tables = [table for _, table in session.data.tables()]
    before = {table.name: role for role, table in session.data.tables()}
    after = dict.fromkeys(before, UNUSED)
    for role, names in ((CAPTIONER, captioners), (PEOPLE, people), (LABELS, labels), (TASKS, tasks)):
        for name in listed(names):
            if name not in after:
                raise ValueError(f"there is no file {name!r}: the files are {', '.join(map(repr, after)) or 'none'}")
            after[name] = role
    return session.data if after == before else as_said(tables, after)


def columns(
    session: Session,
    image_ids: str | None = None,
    captions: list[str] | str | None = None,
    people: str | None = None,
    labels: str | None = None,
    tasks: str | None = None,
    weights: str | None = None,
    keep: list[str] | str | None = None,
) -> Data:
    """The data with the columns as the user corrects them, and only images with the labels to keep."""
    ids, people, labels, tasks, weights = (str(name or "") for name in (image_ids, people, labels, tasks, weights))
    chosen = Columns(ids, tuple(listed(captions)), people, labels, tasks, weights, tuple(listed(keep)))
    return corrected(session.data, chosen)


def listed(chosen: list[str] | str | None) -> list[str]:
    """A choice as a list of names: programs may give a single one as it is."""
    return [str(name) for name in ([chosen] if isinstance(chosen, str) else chosen or []) if name]


def what_was_read(data: Data) -> dict[str, Any]:
    """Tell programs the files and what they are, the columns, the labels with their rows, the attribute."""
    return {
        "files": {table.name: TITLES[role] for role, table in data.tables()},
        "columns": vars(data.columns),
        "labels": data.counts,
        "attribute": guess_words(data),
    }


def last_look(session: Session, *words: Any) -> dict[str, Any]:
    """The answer of `look`, which is kept: several events ask for the same."""
    asked = (session.data, *words)
    if session.look is None or session.look[0] != asked:
        session.look = asked, look(*asked)
    answer: dict[str, Any] = session.look[1]
    return answer


def look(data: Data, attribute: str, custom_attribute: str, task_words: str, custom_tasks: str) -> dict[str, Any]:
    """What will be measured, as far as it can be: `not_ready` says what is missing, `masked` has for the words of the
    attribute and of the tasks the spans of the first captions, see `captionbias.app.words`."""
    nothing = {"not_ready": "", "images": 0, "captioners": [], "labels": {}, "notes": [], "masked": {}}
    if not data:
        return nothing
    try:
        lexicons = _lexicons(attribute, custom_attribute, task_words, custom_tasks)
        with heard() as notes:
            (captions,) = captions_of(data, first_only=True).values()
        loaded = {kind: load_lexicon(lexicon) for kind, lexicon in lexicons.items()}
    except ValueError as error:
        return {**nothing, "not_ready": message_of(error)}
    others = other_labels(captions, loaded["attribute_lexicon"], captions.language or "words")
    notes += [left_out(data), others.message if others else ""]
    counts = dict(sorted(Counter(captions.attributes).items()))
    if captions.references is None:
        notes.append(
            "without people's captions only the bias of the captioner is measured, not whether it is more than people's"
        )
    return {
        "not_ready": "; ".join(_too_few(counts)),
        "images": len(captions),
        "captioners": list(captioner_columns(list(data.predictions), data.columns.prediction_column)),
        "labels": counts,
        "notes": list(filter(None, notes)),
        "masked": {kind: preview(captions, lexicon) for kind, lexicon in loaded.items()},
    }


def _too_few(counts: Mapping[str, int]) -> Iterator[str]:
    if len(counts) > MAX_LABELS:
        yield f"there are {len(counts):,} labels: leave some out, or choose other columns"
    if few := [f"{label!r} ({count})" for label, count in counts.items() if count < SMALLEST_CLASS]:
        first = ", ".join(few[:SHOWN_LABELS]) + (", ..." if len(few) > SHOWN_LABELS else "")
        yield (
            f"labels with too few images to split: {first}. An attacker needs {SMALLEST_CLASS} of each: leave these "
            "labels out, or add images"
        )


def _lexicons(attribute: str, custom_attribute: str, task_words: str = "", custom_tasks: str = "") -> dict[str, Any]:
    """The chosen words by their setting; custom ones are called like their file."""
    words = custom_lexicon(custom_attribute or "", "attribute-words") if attribute == CUSTOM else attribute
    tasks = custom_lexicon(custom_tasks or "", "task-words") if task_words == CUSTOM else task_words
    return {"attribute_lexicon": words} | ({"task_lexicon": tasks} if tasks else {})


def _custom(lexicons: Mapping[str, Any]) -> tuple[Lexicon, ...]:
    return tuple(words for words in lexicons.values() if isinstance(words, Lexicon))


def measure(
    watch: Watch,
    session: Session,
    attribute: str,
    custom_attribute: str,
    task_words: str,
    custom_tasks: str,
    metrics: list[str],
    preset: str,
    trials: int,
    seed: int | None,
) -> Iterator[Run]:
    """Measure the data by the settings that are chosen: sway's scores alone first, then everything."""
    data = session.data
    if not metrics:
        raise ValueError("choose at least one metric")
    lexicons = _lexicons(attribute, custom_attribute, task_words, custom_tasks)
    chance = {"trials": int(trials), "seed": _whole(seed)}
    watch("reading", 0.0)
    with heard() as notes:
        captioners = captioners_of(data)
    options = {**lexicons, **chance, "preset": preset, "bootstrap": replicates_for(metrics, len(captioners))}
    for measured, warned, whole in _audits(watch, captioners, metrics, options):
        yield Run(
            measured,
            _not_in(measured, [*notes, *warned, left_out(data)]),
            results.again(data, measured.settings, lexicons),
            _custom(lexicons),
            whole=whole,
            pictures=session.pictures,
        )


def _audits(
    watch: Watch, captioners: Mapping[str, Captions], metrics: Sequence[str], options: Mapping[str, Any]
) -> Iterator[tuple[Audit, list[str], bool]]:
    """The audits, each with its warnings and whether it is whole."""

    def share(start: float, end: float) -> Watch:
        return lambda step, done: watch(step, start + (end - start) * done)

    first = None
    if FIRST in metrics:
        with heard() as warned, suppress(ValueError):  # what it cannot measure is told with the rest
            first = audit(captioners, metrics=[FIRST], scores_only=True, watch=share(0.0, FIRST_SHARE), **options)
    if first:
        yield first, warned, False
    with heard() as warned:
        rest = share(FIRST_SHARE if first else 0.0, 1.0)
        everything = audit(captioners, metrics=metrics, earlier=first, watch=rest, **options)
    yield everything, warned, True


def _whole(seed: int | None) -> int:
    if seed is None:
        raise ValueError("seed is empty: give a whole number, such as 0")
    return int(seed)


def _not_in(measured: Audit, notes: Sequence[str]) -> tuple[str, ...]:
    """The notes that no metric has."""
    others = {note for name in measured.captioners for note in measured.notes(name)}
    return tuple(note for note in dict.fromkeys(notes) if note and not any(other.endswith(note) for other in others))


# With images


def read_pictures(
    paths: list[str] | None, annotations: str | None, masked: bool
) -> tuple[Pictures | None, str, list[Any]]:
    """The images as the judge will see them, what there is to tell of them, and some before and after masking."""
    if not paths:
        return None, "", []
    if bool(annotations) == masked:
        return None, "Not ready yet: give annotations of the persons, or say that they are masked.", []
    pictures = open_pictures([Path(path) for path in paths], Path(annotations) if annotations else None)
    lines = [f"{len(pictures.ids):,} images, of which the judge sees {pictures.side} x {pictures.side} pixels."]
    lines += [f"Note: {note}." for note in pictures.notes]
    return pictures, "\n".join(lines), list(pictures.previews)


def measure_pictures(
    watch: Watch,
    session: Session,
    attribute: str,
    custom_attribute: str,
    trials: int,
    epochs: int,
    prompt: str,
    seed: int | None,
) -> Iterator[Run]:
    """Measure ImageCaptioner2 of each captioner, of the captions that have an image."""
    data, pictures = session.data, session.pictures
    if pictures is None:
        raise ValueError("there are no images yet: upload some, and annotations unless the persons are masked")
    lexicons = _lexicons(attribute, custom_attribute)
    options: dict[str, Any] = {"preset": JUDGED_PRESET, "trials": int(trials), "seed": _whole(seed)}
    judging: dict[str, Any] = {"epochs": int(epochs), "prompt": prompt.strip() or None}
    watch("reading", 0.0)
    with heard() as notes:
        captioners, judging["images"] = image_wing().beside(captioners_of(data), pictures.ids, pictures.pixels(), notes)
    with heard() as warned:
        measured = audit(captioners, metrics=[JUDGED], image_options=judging, watch=watch, **lexicons, **options)
    yield Run(measured, (*pictures.notes, *notes, *_not_in(measured, warned)), None, _custom(lexicons))


# Warnings


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
    """Send the warnings of this library to the enclosing `heard` from now on, if there is one; others go as before."""
    before = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        notes = _heard.get()
        if notes is None or not issubclass(category, CaptionBiasWarning):
            before(message, category, *place, **more)
        elif str(message) not in notes:
            notes.append(message_of(message))

    warnings.simplefilter("always", CaptionBiasWarning)
    warnings.showwarning = show
