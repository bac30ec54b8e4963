"""What is measured of data by the choices of a user, what can be told before, and the warnings on the way."""

from __future__ import annotations

import gc
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from importlib import import_module
from threading import Lock
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from captionbias.analysis.audit import Audit, audit
from captionbias.analysis.compare import replicates_for
from captionbias.app import results
from captionbias.app.data import ATTRIBUTES, TASK_WORDS, Data, captions_of, guess_task_words, guess_words, left_out
from captionbias.app.example import TRIALS
from captionbias.app.results import RunResult
from captionbias.attackers.base import SMALLEST_CLASS
from captionbias.bench.catalogue import REPORTED
from captionbias.bench.checks import label_contradiction, other_labels
from captionbias.bench.reading import as_values, namings
from captionbias.captions import CaptionBiasWarning, Captions
from captionbias.captions.columns import MAX_LABELS
from captionbias.errors import message_of, within
from captionbias.progress import Watch
from captionbias.text import load_lexicon
from captionbias.text.lexicon import options_in

SHOWN_LABELS = 5
FIRST = "sway"  # which trains nothing, so that its picture can be shown at once
FIRST_SHARE = 0.1  # of the work
KEPT = 2  # data whose captions are kept as they were read
NEEDED = (  # by runs
    *("gensim.models", "sklearn.linear_model", "captionbias.report.html"),
    *("nltk.translate.meteor_score", "pycocoevalcap.bleu.bleu", "pycocoevalcap.cider.cider"),
)
_heard: ContextVar[list[str] | None] = ContextVar("heard", default=None)
_read: WeakKeyDictionary[Data, tuple[dict[str, Captions], list[str]]] = WeakKeyDictionary()
_keeping, _preparing = Lock(), Lock()


@dataclass(frozen=True)
class PageSettings:
    """What is measured of the captions, and how; the words of the attribute and of the tasks by their lexicons."""

    attribute: str = ATTRIBUTES[0]
    task_words: str = TASK_WORDS[0]
    metrics: tuple[str, ...] = REPORTED
    preset: str = "fast"
    trials: int = TRIALS
    seed: int | None = 0

    @property
    def lexicons(self) -> dict[str, str]:
        return {"attribute_lexicon": self.attribute, "task_lexicon": self.task_words}

    def fitting(self, data: Data) -> PageSettings:
        """The same with the words that the data seem to need."""
        return replace(self, attribute=guess_words(data), task_words=guess_task_words(data))


class Look(NamedTuple):
    """What will be measured, as far as it can be; `not_ready` says what is missing."""

    not_ready: str = ""
    images: int = 0
    labels: Mapping[str, int] = {}
    notes: Sequence[str] = ()


def look(data: Data, attribute: str) -> Look:
    """Look at data before they are measured by the words of an attribute."""
    if not data:
        return Look()
    try:
        captioners, read_notes = read(data)
        captions = next(iter(captioners.values()))
        words = attribute
        if captions.language:
            words = options_in(captions.language, {"attribute_lexicon": attribute})["attribute_lexicon"]
        lexicon = load_lexicon(words)
        tokenizer = captions.language or "words"
        others = other_labels(captions.attributes, lexicon, namings(captions, lexicon, tokenizer))
        for name, each in captioners.items() if not others else ():
            as_read = each.with_attributes(as_values(each.attributes, lexicon, []))
            if fault := label_contradiction(namings(as_read, lexicon, tokenizer)):
                return Look(message_of(fault if as_read.references else within(name, fault)))
    except ValueError as error:
        return Look(message_of(error))
    notes = [*read_notes, left_out(data), others.message if others else ""]
    if captions.scene:
        notes.append(f"scenes: {_scenes(captions.scene)}, whose images differ in the person alone")
    if captions.references is None and not captions.scene:
        notes.append(
            "without people's captions only the bias of the captioner is measured, not whether it is more than people's"
        )
    counts = dict(sorted(Counter(captions.attributes).items()))
    return Look("; ".join(_too_few(counts)), len(captions), counts, list(filter(None, notes)))


def prepare() -> None:
    """Import what runs need, in one thread: some of these packages import each other in a circle."""
    with _preparing:
        if not gc.get_freeze_count():
            for name in NEEDED:
                with suppress(ImportError):
                    import_module(name)
            gc.collect()
            gc.freeze()  # what is there now stays: looking through it again takes a second of a run


def read(data: Data) -> tuple[dict[str, Captions], list[str]]:
    """Each captioner's captions, and warnings of their files. Those of the latest data are kept as long as the data:
    what was looked at is measured soon."""
    if (known := _read.get(data)) is not None:
        return known
    prepare()
    with heard() as notes:
        captioners = captions_of(data)
    with _keeping:
        _read[data] = captioners, notes
        for earlier in list(_read)[:-KEPT]:
            del _read[earlier]
    return captioners, notes


def _scenes(scene: Sequence[str | None]) -> str:
    """How many scenes there are, and of how many images.

    >>> _scenes(["a", "b", "a", "b", None]), _scenes(["a", "a", "a", "b", "b"])
    ('2 pairs', '2 scenes of 2 to 3 images')
    """
    sizes = sorted(Counter(filter(None, scene)).values())
    return f"{len(sizes):,} " + ("pairs" if sizes[-1] == 2 else f"scenes of {sizes[0]} to {sizes[-1]} images")


def _too_few(counts: Mapping[str, int]) -> Iterator[str]:
    if len(counts) > MAX_LABELS:
        yield f"there are {len(counts):,} labels: leave some out, or choose other columns"
    if few := [f"{label!r} ({count})" for label, count in counts.items() if count < SMALLEST_CLASS]:
        first = ", ".join(few[:SHOWN_LABELS]) + (", ..." if len(few) > SHOWN_LABELS else "")
        yield (
            f"labels with too few images to split: {first}. An attacker needs {SMALLEST_CLASS} of each: leave these "
            "labels out, or add images"
        )


def measure(data: Data, settings: PageSettings, watch: Watch) -> Iterator[RunResult]:
    """Measure the data: sway's scores alone first, then everything."""
    if not settings.metrics:
        raise ValueError("choose at least one metric")
    if settings.seed is None:
        raise ValueError("seed is empty: give a whole number, such as 0")
    watch("reading", 0.0)
    captioners, _ = read(data)
    chosen = {"preset": settings.preset, "trials": int(settings.trials), "seed": int(settings.seed)}
    bootstrap = replicates_for(settings.metrics, len(captioners))
    options: dict[str, Any] = {**settings.lexicons, **chosen, "bootstrap": bootstrap, "lean": data.lean}

    def share(start: float, end: float) -> Watch:
        return lambda step, done: watch(step, start + (end - start) * done)

    def result(audited: Audit, whole: bool) -> RunResult:
        return RunResult(audited, results.again(data, audited.settings, settings.lexicons), whole, data.compared)

    first = None
    if FIRST in settings.metrics:
        with heard(), suppress(ValueError):  # what it cannot measure is told with the rest
            first = audit(captioners, metrics=[FIRST], scores_only=True, watch=share(0.0, FIRST_SHARE), **options)
    if first:
        yield result(first, whole=False)
    rest = share(FIRST_SHARE if first else 0.0, 1.0)
    with heard():  # the report has what is told of measurements
        everything = audit(captioners, metrics=settings.metrics, earlier=first, watch=rest, **options)
    yield result(everything, whole=True)


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
