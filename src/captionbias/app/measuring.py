"""What is measured of data by the choices of a user, what can be told before, and the warnings on the way."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from captionbias.analysis.audit import Audit, audit
from captionbias.analysis.compare import replicates_for
from captionbias.app import results
from captionbias.app.data import ATTRIBUTES, Data, captioners_of, captions_of, left_out
from captionbias.app.example import TRIALS
from captionbias.app.results import Result
from captionbias.app.words import custom_lexicon, preview
from captionbias.attackers.base import SMALLEST_CLASS
from captionbias.bench.catalogue import REPORTED
from captionbias.bench.checks import other_labels
from captionbias.captions import CaptionBiasWarning, Captions
from captionbias.captions.captioners import captioner_columns
from captionbias.captions.columns import MAX_LABELS
from captionbias.errors import message_of
from captionbias.progress import Watch
from captionbias.text import Lexicon, load_lexicon
from captionbias.text.lexicon import said_in

CUSTOM = "custom words"
SHOWN_LABELS = 5
FIRST = "sway"  # which trains nothing, so that its picture can be shown at once
FIRST_SHARE = 0.1  # of the work
_heard: ContextVar[list[str] | None] = ContextVar("heard", default=None)


@dataclass(frozen=True)
class Words:
    """The words of the attribute and of the tasks: names of lexicons, or `CUSTOM` and what the user typed."""

    attribute: str = ATTRIBUTES[0]
    custom_attribute: str = ""
    task_words: str = "coco_objects"
    custom_tasks: str = ""

    def lexicons(self) -> dict[str, Any]:
        """The chosen words by their setting; custom ones are called like their file."""
        attribute: Any = self.attribute
        tasks: Any = self.task_words
        if attribute == CUSTOM:
            attribute = custom_lexicon(self.custom_attribute or "", "attribute-words")
        if tasks == CUSTOM:
            tasks = custom_lexicon(self.custom_tasks or "", "task-words")
        return {"attribute_lexicon": attribute} | ({"task_lexicon": tasks} if tasks else {})


@dataclass(frozen=True)
class Settings:
    """What is measured of the captions, and how."""

    metrics: tuple[str, ...] = REPORTED
    preset: str = "fast"
    trials: int = TRIALS
    seed: int | None = 0


def look(data: Data, words: Words) -> dict[str, Any]:
    """What will be measured, as far as it can be: `not_ready` says what is missing, `masked` has for the words of the
    attribute and of the tasks the spans of the first captions, see `captionbias.app.words`."""
    nothing = {"not_ready": "", "images": 0, "captioners": [], "labels": {}, "notes": [], "masked": {}}
    if not data:
        return nothing
    try:
        lexicons = words.lexicons()
        with heard() as notes:
            (captions,) = captions_of(data, first_only=True).values()
        if captions.language:
            lexicons = {name: said_in(captions.language, lexicons)[name] for name in lexicons}
        loaded = {kind: load_lexicon(lexicon) for kind, lexicon in lexicons.items()}
    except ValueError as error:
        return {**nothing, "not_ready": message_of(error)}
    others = other_labels(captions, loaded["attribute_lexicon"], captions.language or "words")
    notes += [left_out(data), others.message if others else ""]
    counts = dict(sorted(Counter(captions.attributes).items()))
    if captions.references is None and not captions.scene:
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


def measure(data: Data, words: Words, settings: Settings, watch: Watch) -> Iterator[Result]:
    """Measure the data: sway's scores alone first, then everything."""
    if not settings.metrics:
        raise ValueError("choose at least one metric")
    lexicons = words.lexicons()
    custom = tuple(lexicon for lexicon in lexicons.values() if isinstance(lexicon, Lexicon))
    chance = {"trials": int(settings.trials), "seed": _whole(settings.seed)}
    watch("reading", 0.0)
    with heard() as notes:
        captioners = captioners_of(data)
    bootstrap = replicates_for(settings.metrics, len(captioners))
    options = {**lexicons, **chance, "preset": settings.preset, "bootstrap": bootstrap}
    for measured, warned, whole in _audits(watch, captioners, settings.metrics, options):
        told = _not_in(measured, [*notes, *warned, left_out(data)])
        yield Result(measured, told, results.again(data, measured.settings, lexicons), custom, whole=whole)


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
