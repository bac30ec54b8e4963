"""What a metric computes, as one object, and the one wrapper around every metric's function."""

from __future__ import annotations

import functools
import html
import inspect
import math
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, ParamSpec, cast

import numpy as np

from captionbias.bench import catalogue
from captionbias.bench.arguments import CHECKS, describe, section
from captionbias.bench.catalogue import MetricEntry, Score
from captionbias.bench.protocol import signature
from captionbias.bench.sentence import sentence_of
from captionbias.bench.verdicts import estimates_of
from captionbias.captions import Captions, captions_of, check_captions
from captionbias.captions.entries import repeated
from captionbias.captions.names import MEASURED, SIDES
from captionbias.errors import InputError, explained_memory
from captionbias.io.files import check_ending
from captionbias.io.formats import write_json
from captionbias.progress import show_steps
from captionbias.statistics.intervals import in_digits
from captionbias.statistics.samples import LEAST_IMAGES, Estimate, Sample
from captionbias.text.languages import check_language
from captionbias.text.lexicon import options_in
from captionbias.text.tokens import OTHER_TOKENIZERS
from captionbias.warnings import note

if TYPE_CHECKING:
    from pandas import DataFrame

P = ParamSpec("P")
LATER = ("bootstrap", "details", "at_least")  # options that may be others once captions are counted
WIDE, MOST_NOTES = 110, 5  # characters of a line, and notes, of a result that is printed


@dataclass(frozen=True, eq=False)
class Scores:
    """What a metric computes: a `Measurement` but for its name and settings, with all of its details."""

    samples: dict[str, Sample]
    facts: dict[str, float]
    notes: list[str] = field(default_factory=list)
    details: dict[str, Any] | None = None
    artefacts: Any = None
    noise: Mapping[str, float] = field(default_factory=dict)
    doubts: Mapping[str, str] = field(default_factory=dict)


class Prepared(NamedTuple):
    """A metric's settings, known before anything is computed, and what computes its scores."""

    settings: dict[str, Any]
    measure: Callable[[], Scores]
    units: Callable[[], Sequence[Mapping[Any, Any]]] | None = None  # tables of units, see `Reading.counted`


class Counts(NamedTuple):
    """What a metric counted of images that are not here: see `captionbias.counting`.

    Attributes:
        options: the options that it was counted with.
        signed: what of its signature is not of these options.
        sides: see `Reading.counted`.
        notes: what to know before a number is believed.
    """

    options: Mapping[str, Any]
    signed: Mapping[str, Any]
    sides: Sequence[Mapping[Any, Any]]
    notes: Sequence[str] = ()


class Counted(NamedTuple):
    """What metrics counted, by their names, of so many images; `image_set`: a digest of these."""

    metrics: Mapping[str, Counts]
    images: int
    image_set: str


@dataclass(frozen=True, eq=False)
class Measurement(Scores):
    """A metric's result on some images.

    Attributes:
        metric: its name.
        samples: every quantity that has an interval, by its key; see `captionbias.bench.catalogue`.
        facts: what has none, by its key: counts, coverage.
        settings: everything that changes the scores, by name: the parts of the `signature`.
        notes: what to know before the numbers are believed.
        details: nested tables, or None if they were not requested.
        artefacts: what the metric keeps for its views: the images behind each cell of `sway`, the `Attacks` of `lic`,
            `dbac` and `imagecaptioner2`.
        noise: how far from 0 people read by chance, by the score's key, where that was measured.
        doubts: why one cannot tell by a score, by its key, whatever its interval.

    In a notebook it shows as a table with intervals, as what a metric returns does; see `Result`.
    """

    metric: str = field(kw_only=True)
    settings: dict[str, Any] = field(kw_only=True)

    @property
    def signature(self) -> str:
        """The settings as one text."""
        margins = ",".join(f"{key}={margin:.12g}" for key, margin in self.margins.items())
        return signature(metric=self.metric, **self.settings | ({"margins": margins} if margins else {}))

    @property
    def margins(self) -> Mapping[str, float]:
        """How near to 0 a score is as good as 0, by its key, where that is not the usual one."""
        margins: Mapping[str, float] = self.settings.get("margins", {})
        return margins

    @cached_property
    def estimates(self) -> dict[str, Estimate]:
        """Each quantity that is defined, with its intervals, and where it has one its verdict."""
        return estimates_of(self.samples, self.margins, self.noise, self.doubts)

    def with_margins(self, margins: Mapping[str, float]) -> Measurement:
        """The same with other margins, by the keys of its scores, in their units; verdicts then go by these, and those
        that are not the usual ones are in the signature.

        >>> from captionbias.metrics import sway
        >>> from captionbias.synthetic import plant
        >>> measured = sway.measure(**vars(plant(300))).with_margins({"sway_t_to_a": 2.0})
        >>> measured.estimates["sway_t_to_a"].margin, "|margins:sway_t_to_a=2|" in measured.signature
        (2.0, True)
        """
        usual = {score.key: score.usual_margin for score in catalogue.scores_of(self.metric) if score.judged}
        for key, margin in margins.items():
            if key not in usual:
                raise InputError("margins", f"names {key!r}, which has no verdict; choose from {', '.join(usual)}")
            if not margin >= 0:
                raise InputError("margins", f": {key} must be 0 or more, not {margin!r}")
        chosen = {key: margin for key, margin in {**self.margins, **margins}.items() if margin != usual[key]}
        others = {name: value for name, value in self.settings.items() if name != "margins"}
        return replace(self, settings=others | ({"margins": chosen} if chosen else {}))

    def flat(self) -> Result:
        """The flat result as `evaluate` has it: the main scores with the ends of their intervals and verdicts as text,
        facts, and a `signature`; `details`, if they were requested, have every estimate whole, as `scores`."""
        result: dict[str, Any] = {key: math.nan for key in self.samples if catalogue.SCORES[key].minimised}
        for key in catalogue.results_among(self.estimates):
            result |= self.estimates[key].flat(key)
        if not catalogue.METRICS[self.metric].facts_are_details:
            result |= self.facts
        result["signature"] = self.signature
        if self.details is not None:
            scores = {key: estimate.as_dict() for key, estimate in self.estimates.items()}
            about = {"scores": scores, "facts": self.facts, "settings": self.settings, "warnings": self.notes}
            result["details"] = {**self.details, **about}
        return Result(result)

    def to_frame(self) -> DataFrame:
        """A row a score, its key the index: `score` (in words), `value`, `low`, `high` (95%), `std` over trials and
        `verdict`, empty where it has none."""
        return _frame(self.estimates)

    def __repr__(self) -> str:
        return _text(self.flat(), self.notes)

    def _repr_html_(self) -> str:
        return _html(self.estimates, self.notes, self.signature)


class Result(dict[str, Any]):
    """What a metric returns: a flat dict for `evaluate`, JSON and logs, that can show itself.

    It is made of its keys alone, so one that was read from a file is as good: `Result(json.load(file))`. What is added
    to it or merged with it is not of its making: unknown keys are left out of tables and pictures.

    >>> result = Result(lic=24.5, lic_ci_low=21.0, lic_ci_high=28.0, lic_verdict="more than people", signature="lic")
    >>> result.to_frame()
             score  value   low  high  std          verdict
    lic  LIC x 100   24.5  21.0  28.0  NaN  more than people
    >>> result == dict(result)
    True
    """

    @property
    def estimates(self) -> dict[str, Estimate]:
        """Each score with its interval and verdict; with details every score, and all that is known of it."""
        details = self.get("details") or {}
        if "scores" in details:
            scores = details["scores"].items()
            return {key: Estimate(**known) for key, known in scores if key in catalogue.SCORES}  # others are gone
        known = [key for key, one in self.items() if key in catalogue.SCORES and one is not None and one == one]
        ends = {key: (self.get(f"{key}_ci_low"), self.get(f"{key}_ci_high")) for key in known}
        return {
            key: Estimate(self[key], *of, verdict=self.get(f"{key}_verdict"), unit=catalogue.SCORES[key].scale.unit)
            for key, of in ends.items()
        }

    def save(self, path: str | Path) -> None:
        """Write it as JSON, whole or not at all, for `captionbias card`; what is nan becomes null."""
        check_ending(Path(path), ".json")
        write_json(self, Path(path))

    def with_verdicts(self, words: Mapping[str, str]) -> Result:
        """The same with these verdicts, by the scores' keys, such as those corrected for their number."""
        changed = {key: one._replace(verdict=words.get(key, one.verdict)) for key, one in self.estimates.items()}
        result = Result(self)
        for key in changed.keys() & self.keys():
            result |= changed[key].flat(key)
        if "details" in self:
            result["details"] = {**self["details"], "scores": {key: one.as_dict() for key, one in changed.items()}}
        return result

    @property
    def sentence(self) -> str:
        """What the captioner does more than people, as a report's headline says it."""
        return sentence_of(self, self.estimates)

    def to_frame(self) -> DataFrame:
        """As `Measurement.to_frame`."""
        return _frame(self.estimates)

    def __str__(self) -> str:
        return _text(self, (self.get("details") or {}).get("warnings", []))

    def __repr__(self) -> str:
        return repr({name: "..." if name == "details" else value for name, value in self.items()})

    def _repr_html_(self) -> str:
        return _html(self.estimates, (self.get("details") or {}).get("warnings", []), self.get("signature", ""))


def _frame(estimates: Mapping[str, Estimate]) -> DataFrame:
    from pandas import DataFrame

    columns = ["value", "low", "high", "std"]
    rows = {key: estimate[: len(columns)] for key, estimate in estimates.items()}
    frame = DataFrame.from_dict(rows, orient="index", columns=columns, dtype=np.float64)
    frame.insert(0, "score", [catalogue.label(key) for key in frame.index])
    frame["verdict"] = [estimate.verdict or "" for estimate in estimates.values()]
    return frame


def _text(result: Result, notes: Sequence[str]) -> str:
    """A screen of a result: its sentence, its main scores, the first notes and the signature."""
    estimates = result.estimates
    if not estimates:
        return repr(result)
    main = {score.key: estimates[score.key] for score in catalogue.main_scores(estimates)}
    table = _frame(main).drop(columns="std").to_string(index=False, na_rep="", float_format="{:.2f}".format)
    shown = [f"note: {textwrap.shorten(text, WIDE)}" for text in notes[:MOST_NOTES]]
    more = [f"and {len(notes) - MOST_NOTES} more notes"] if len(notes) > MOST_NOTES else []
    lines = (*textwrap.wrap(result.sentence, WIDE), "", table, "", *shown, *more, result.get("signature", ""))
    return "\n".join(lines)


def _html(estimates: Mapping[str, Estimate], notes: Iterable[str], signed: str) -> str:
    table = _frame(estimates).to_html(float_format="{:.3f}".format, na_rep="", border=0)
    listed = "".join(f"<li>{html.escape(note)}</li>" for note in notes)
    return f"{table}<ul>{listed}</ul><code>{html.escape(signed)}</code>"


def _keyword(name: str) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None)


GIVEN = inspect.Parameter("captions", inspect.Parameter.POSITIONAL_ONLY, default=None)
COLUMNS = tuple(map(_keyword, MEASURED))
FREQUENCIES, LANGUAGE = _keyword("freq_weights"), _keyword("language")
OF_ROWS = (*MEASURED, "predicted_attributes", "predicted_tasks")
TRUST_ROWS = inspect.Parameter("trust_rows", inspect.Parameter.KEYWORD_ONLY, default=False)


class Metric(Generic[P]):
    """A metric as a function: called, it returns the flat `Result`; `measure` takes the same and returns the
    `Measurement`. It reads the captions; the `scores` function gets them checked, or None where labels are given.

    Attributes:
        name, entry: what the catalogue says of it.
        summary: what it is, the docstring of the `scores` function.
        arguments: what each argument is.
    """

    def __init__(self, scores: Callable[P, Prepared], entry: MetricEntry, about: Mapping[str, str]) -> None:
        functools.update_wrapper(self, scores)
        self._scores = scores
        _, *own = inspect.signature(scores).parameters.values()
        taken = {one.name for one in own}
        columns = [one for one in COLUMNS if one.name not in taken]
        columns += [] if entry.of_images else [FREQUENCIES]
        spoken = [LANGUAGE] if "tokenizer" in taken else []
        self._parameters = {one.name: one for one in (GIVEN, *columns, *own, *spoken, TRUST_ROWS)}
        self.__signature__ = inspect.Signature([*self._parameters.values()])
        self.name, self.entry, self.summary = entry.name, entry, inspect.getdoc(scores) or ""
        self.arguments = describe(self._parameters, about, self.name, of_labels="attributes" in taken)
        self.__doc__ = f"{self.summary}\n\n{self.inputs(*self.arguments)}"

    def signature(self, *args: P.args, **kwargs: P.kwargs) -> str:
        """The signature of the result, before anything is computed."""
        prepared, *_ = self._prepared(*args, **kwargs)
        return signature(metric=self.name, **prepared.settings)

    def _prepared(self, *args: Any, **kwargs: Any) -> tuple[Prepared, Captions | Counts | None, dict[str, Any]]:
        """What is prepared of the captions, these, and the options."""
        options: dict[str, Any] = {name: self._checked(name, value) for name, value in kwargs.items()}
        if args and isinstance(args[0], Counted):
            captions, options = self._counted_with(args[0], options)
        else:
            captions, options = cast("Callable[..., Any]", self._read)(*args, **options)
        return cast("Callable[..., Prepared]", self._scores)(captions, **options), captions, options

    def measure(self, *args: P.args, **kwargs: P.kwargs) -> Measurement:
        usual = self._parameters["progress"].default if "progress" in self._parameters else None
        with explained_memory():
            prepared, captions, options = self._prepared(*args, **kwargs)
            with show_steps(options.get("progress", usual)):
                scores = prepared.measure()
        asked = prepared.settings.get("bootstrap", options.get("bootstrap", 1))  # 0 where a metric told why
        if asked and not any(len(sample.replicates) for sample in scores.samples.values()):
            text = f"no interval: it takes {LEAST_IMAGES} images or scenes (and imagecaptioner2 two trials)"
            note(scores.notes, text)
        details = scores.details if options.get("details") else None
        notes = [*(captions.notes if captions else ()), *scores.notes]
        samples = {
            key: sample.recentre() if catalogue.SCORES[key].recentred else sample
            for key, sample in scores.samples.items()
            if key in catalogue.SCORES
        }
        made = {"samples": samples, "settings": prepared.settings, "notes": notes, "details": details}
        if self.entry.trains:
            made |= in_digits({"facts": scores.facts, "noise": scores.noise, "details": details})
        return Measurement(metric=self.name, **vars(scores) | made)

    def units(self, captions: Captions, **options: Any) -> Counts:
        """What it counts of some of the images, in units that add."""
        prepared, *_ = self._prepared(captions, **options)
        data = ("rows", "predictions", "weights", "scene", "samples", "missing", "worst", "seed", *LATER)
        signed = {name: value for name, value in prepared.settings.items() if name not in data}
        usual = {name: parameter.default for name, parameter in self._parameters.items()}
        chosen = {name: value for name, value in options.items() if value != usual[name] and name not in LATER}
        return Counts(chosen, signed, cast("Callable[[], Any]", prepared.units)())

    def _counted_with(self, counted: Counted, options: Mapping[str, Any]) -> tuple[Counts, dict[str, Any]]:
        """What it counted, and the options with those that it counted with, which cannot be others any more."""
        if self.name not in counted.metrics:
            names = ", ".join(counted.metrics)
            raise InputError("counts", f"are of {names}: count {self.name} too, or measure a sample")
        counts = counted.metrics[self.name]
        for name, value in options.items():
            if name not in LATER and value not in (
                self._parameters[name].default,
                counts.options.get(name),
            ):
                raise InputError(name, f"{value!r}: captions were counted with another; count them anew")
        return counts, {**options, **counts.options}

    def _read(
        self,
        captions: Captions | None = None,
        /,
        *,
        freq_weights: Any = None,
        language: str | None = None,
        trust_rows: bool = False,
        **options: Any,
    ) -> tuple[Captions | None, dict[str, Any]]:
        """The captions, None where labels are given instead, and the options, with the tokenizer and the lexicons of
        their language."""
        if freq_weights is not None:
            if captions is not None:
                raise InputError("freq_weights", ": captions were given already; give columns, or repeat the rows")
            rows = {name: options[name] for name in OF_ROWS if options.get(name) is not None}
            options |= repeated(rows, "freq_weights", freq_weights)
        takes_labels = "attributes" in inspect.signature(self._scores).parameters
        columns: dict[str, Any] = {one.name: options.get(one.name) for one in COLUMNS}
        of_captions = captions is not None or not takes_labels or any(columns[side] is not None for side in SIDES)
        if columns["scene"] is not None and not of_captions:
            raise InputError(
                "scene", ": images of a scene are compared by their captions, and labels have none: leave it out"
            )
        removed = columns if of_captions else (*SIDES, "scene")
        options = {name: value for name, value in options.items() if name not in removed}
        if of_captions:
            unsplit = str(options.get("tokenizer")) in OTHER_TOKENIZERS
            if captions is None:
                captions = check_captions(**columns, language=language, unsplit=unsplit, trust_rows=trust_rows)
            elif twice := [name for name, column in columns.items() if column is not None]:
                raise InputError(twice[0], ": captions were given already; give one or the other")
            elif not isinstance(captions, Captions):
                lexicon = options.get("attribute_lexicon") or "gender"
                captions = captions_of(captions, lexicon, language=language, trust_rows=trust_rows)
        spoken = getattr(captions, "language", None)
        if language is not None and check_language(language) != spoken:
            raise InputError(
                "language",
                f"{language!r}: the captions were read without it; give it to check_captions or read_captions",
            )
        if trust_rows and not (captions and captions.trust_rows):
            raise InputError("trust_rows", ": give it to check_captions or read_captions, which check the rows")
        if spoken:
            options |= {name: value for name, value in options_in(spoken, options).items() if name in self.options()}
        return captions, options

    def _checked(self, name: str, value: Any) -> Any:
        """What every metric asks of an argument: yes or no, else its check."""
        if name not in self.options():
            raise TypeError(f"{self.name}() got an unexpected keyword argument {name!r}")
        usual = self._parameters[name].default
        if value is None and usual is None:
            return None
        flag = name == "controls" or (isinstance(usual, bool) and name != "cache")
        if flag and not isinstance(value, (bool, np.bool_)):
            raise InputError(name, f"must be True or False, not {value!r:.60}")
        return CHECKS[name](name, value) if name in CHECKS else value

    def inputs(self, *names: str) -> str:
        """What these arguments are and what the metric returns, as sections of a docstring."""
        parts = ((name, self.arguments[name], self._parameters[name].default) for name in names)
        about = (f"{name}: {entry.sentence(default)}" for name, entry, default in parts)
        return f"{section('Args', *about)}\n\n{section('Returns', self.entry.returns)}"

    def options(self) -> frozenset[str]:
        """The names of its keyword arguments."""
        return frozenset(self._parameters) - {"captions"}

    def accepted(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Those of the options that it takes; None leaves its default."""
        return {name: value for name, value in options.items() if name in self.options() and value is not None}

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Result:
        return self.measure(*args, **kwargs).flat()

    def __reduce__(self) -> str:
        return self.name  # pickled by its name, as functions are


DEFINED: dict[str, Metric[Any]] = {}  # the metrics, by their names


def metric(
    title: str, question: str, scores: Iterable[Score], *, about: Mapping[str, str] | None = None, **entry: Any
) -> Callable[[Callable[P, Prepared]], Metric[P]]:
    """Make a function a metric, which commands, reports and modules find by its name, with what the catalogue says of
    it. `about`: descriptions of arguments that mean something else here than in other metrics, or are its alone;
    `entry`: the rest of its `MetricEntry`."""

    def defined(function: Callable[P, Prepared]) -> Metric[P]:
        trains = "cache" in inspect.signature(function).parameters  # attackers, whose answers are kept
        known = MetricEntry(function.__name__, title, question, tuple(scores), trains=trains, **entry)
        made = Metric(function, known, about or {})
        DEFINED[made.name] = made
        catalogue.register(made.entry)
        return made

    return defined
