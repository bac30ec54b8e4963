"""What a metric computes, as one object, and the one wrapper around every metric's function."""

from __future__ import annotations

import functools
import html
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, ParamSpec, cast

import numpy as np

from captionbias.bench import catalogue
from captionbias.bench.arguments import described, section
from captionbias.bench.catalogue import MetricEntry, Score
from captionbias.bench.protocol import replicate_count, signature, whole_number
from captionbias.bench.verdicts import verdict
from captionbias.captions import Captions, as_captions, check_captions
from captionbias.captions.names import MEASURED, SIDES
from captionbias.errors import InputError
from captionbias.progress import steps_shown
from captionbias.statistics.samples import ENDINGS, LEAST_IMAGES, Estimate, Sample
from captionbias.text.languages import check_language, signed
from captionbias.text.lexicon import said_in
from captionbias.text.tokens import OTHER_TOKENIZERS, tokenizer_name
from captionbias.warnings import note

if TYPE_CHECKING:
    from pandas import DataFrame

P = ParamSpec("P")


@dataclass(frozen=True, eq=False)
class Scores:
    """What a metric computes: a `Measurement` but for its name and settings, with all of its details."""

    samples: dict[str, Sample]
    facts: dict[str, float]
    notes: list[str] = field(default_factory=list)
    details: dict[str, Any] | None = None
    artefacts: Any = None
    noise: Mapping[str, float] = field(default_factory=dict)


class Prepared(NamedTuple):
    """A metric's settings, known before anything is computed, and what computes its scores."""

    settings: dict[str, Any]
    measure: Callable[[], Scores]


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
        margins: how near to 0 a score is as good as 0, by its key, where that was chosen; else one of 100.

    In a notebook it shows as a table with intervals, as what a metric returns does; see `Result`.
    """

    metric: str = field(kw_only=True)
    settings: dict[str, Any] = field(kw_only=True)
    margins: Mapping[str, float] = field(default_factory=dict, kw_only=True)

    @property
    def signature(self) -> str:
        """The settings as one text."""
        return signature(metric=self.metric, **self.settings)

    @cached_property
    def estimates(self) -> dict[str, Estimate]:
        """Each quantity that is defined, with its intervals; of those that verdicts go by also `detectable`, `margin`
        and `noise`."""
        estimates = {}
        for key, sample in self.samples.items():
            score = catalogue.SCORES[key]
            estimate = sample.estimate(*score.scale[:2], score.scale.whole)
            if estimate is None:
                continue
            size, margin, noise = estimate.detectable if catalogue.decides(key) else None, None, None
            if score.judged and estimate.low is not None:
                margin = self.margins.get(key, score.usual_margin)
                noise = self.noise.get(key, score.usual_margin) if score.noisy else None
                beyond = margin if score.beyond_margin and estimate.high is not None else noise or 0.0
                size = size and size + beyond
            estimates[key] = estimate._replace(detectable=size, margin=margin, noise=noise)
        return estimates

    def with_margins(self, margins: Mapping[str, float]) -> Measurement:
        """The same with other margins, by the keys of its scores, in their units; verdicts then go by these.

        >>> from captionbias.metrics import sway
        >>> from captionbias.synthetic import plant
        >>> measured = sway.measure(**vars(plant(300))).with_margins({"sway_t_to_a": 2.0})
        >>> measured.flat()["sway_t_to_a_margin"]
        2.0
        """
        judged = [score.key for score in catalogue.scores_of(self.metric) if score.judged]
        for key, margin in margins.items():
            if key not in judged:
                raise InputError("margins", f"names {key!r}, which has no verdict; choose from {', '.join(judged)}")
            if not margin >= 0:
                raise InputError("margins", f": {key} must be 0 or more, not {margin!r}")
        return replace(self, margins={**self.margins, **margins})

    def flat(self) -> Result:
        """The flat result as `evaluate` has it: floats, a `signature`, and `details` if they were requested."""
        result: dict[str, Any] = {}
        for key, estimate in self.estimates.items():
            result |= estimate.flat(key)
        result |= {**self.facts, "signature": self.signature}
        if self.details is not None:
            result["details"] = {**self.details, "settings": self.settings, "warnings": self.notes}
        return Result(result)

    def to_frame(self) -> DataFrame:
        """A row a score, its key the index: `score` (in words), `value`, `low`, `high` (95%), `std` over trials and
        `verdict`, empty where it has none."""
        return self.flat().to_frame()

    def _repr_html_(self) -> str:
        return replace(self, details=self.details or {}).flat()._repr_html_()


class Result(dict[str, Any]):
    """What a metric returns: a flat dict for `evaluate`, JSON and logs, that can show itself.

    It is made of its keys alone, so one that was read from a file is as good: `Result(json.load(file))`. What is added
    to it or merged with it is not of its making: unknown keys are left out of tables and pictures.

    >>> result = Result(lic=24.5, lic_ci_low=21.0, lic_ci_high=28.0, signature="metric:lic")
    >>> result.to_frame()
             score  value   low  high  std          verdict
    lic  LIC x 100   24.5  21.0  28.0  NaN  more than people
    >>> result == dict(result)
    True
    """

    @property
    def estimates(self) -> dict[str, Estimate]:
        """Each score with its intervals."""
        return {
            key: Estimate(*(self.get(f"{key}{ending}") for ending in ENDINGS))  # type: ignore[arg-type]
            for key in self
            if key in catalogue.SCORES
        }

    def to_frame(self) -> DataFrame:
        """As `Measurement.to_frame`."""
        from pandas import DataFrame

        estimates = self.estimates
        frame = DataFrame.from_dict(
            {key: estimate[:4] for key, estimate in estimates.items()},
            orient="index",
            columns=["value", "low", "high", "std"],
            dtype=np.float64,
        )
        frame.insert(0, "score", [catalogue.label(key) for key in frame.index])
        frame["verdict"] = [verdict(estimates, key) if catalogue.SCORES[key].judged else "" for key in frame.index]
        return frame

    def _repr_html_(self) -> str:
        table = self.to_frame().to_html(float_format="{:.3f}".format, na_rep="", border=0)
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in self.get("details", {}).get("warnings", []))
        return f"{table}<ul>{notes}</ul><code>{html.escape(self.get('signature', ''))}</code>"


# Of arguments that are whole numbers.
LEAST = {"seed": 0, "trials": 1, "draws": 1, "epochs": 1, "keep_attackers": 0, "most_frequent": 1}


def _keyword(name: str) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None)


GIVEN = inspect.Parameter("captions", inspect.Parameter.POSITIONAL_ONLY, default=None)
COLUMNS = tuple(map(_keyword, MEASURED))
LANGUAGE = _keyword("language")
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
        spoken = [LANGUAGE] if "tokenizer" in taken else []
        self._parameters = {one.name: one for one in (GIVEN, *columns, *own, *spoken, TRUST_ROWS)}
        self.__signature__ = inspect.Signature([*self._parameters.values()])
        self.name, self.entry, self.summary = entry.name, entry, inspect.getdoc(scores) or ""
        self.arguments = described(self._parameters, about, self.name, of_labels="attributes" in taken)
        self.__doc__ = f"{self.summary}\n\n{self.inputs(*self.arguments)}"

    def signature(self, *args: P.args, **kwargs: P.kwargs) -> str:
        """The signature of the result, before anything is computed."""
        prepared, *_ = self._prepared(*args, **kwargs)
        return signature(metric=self.name, **_signed(prepared.settings))

    def _prepared(self, *args: P.args, **kwargs: P.kwargs) -> tuple[Prepared, Captions | None, dict[str, Any]]:
        """What is prepared of the captions, these, and the options."""
        options: dict[str, Any] = {name: self._checked(name, value) for name, value in kwargs.items()}
        captions, options = cast("Callable[..., Any]", self._read)(*args, **options)
        return cast("Callable[..., Prepared]", self._scores)(captions, **options), captions, options

    def measure(self, *args: P.args, **kwargs: P.kwargs) -> Measurement:
        prepared, captions, options = self._prepared(*args, **kwargs)
        usual = self._parameters["progress"].default if "progress" in self._parameters else None
        with steps_shown(options.get("progress", usual)):
            scores = prepared.measure()
        if options.get("bootstrap", 1) and not any(len(sample.replicates) for sample in scores.samples.values()):
            text = f"no interval: it takes {LEAST_IMAGES} images or scenes (and imagecaptioner2 two trials)"
            note(scores.notes, text)
        settings = _signed(prepared.settings)
        details = scores.details if options.get("details") else None
        notes = [*(captions.notes if captions else ()), *scores.notes]
        samples = {
            key: sample.recentred() if catalogue.SCORES[key].recentred else sample
            for key, sample in scores.samples.items()
            if key in catalogue.SCORES
        }
        made = {"samples": samples, "settings": settings, "notes": notes, "details": details}
        return Measurement(metric=self.name, **vars(scores) | made)

    def _read(
        self,
        captions: Captions | None = None,
        /,
        *,
        language: str | None = None,
        trust_rows: bool = False,
        **options: Any,
    ) -> tuple[Captions | None, dict[str, Any]]:
        """The captions, None where labels are given instead, and the options, with the tokenizer and the lexicons of
        their language."""
        takes_labels = "attributes" in inspect.signature(self._scores).parameters
        columns: dict[str, Any] = {one.name: options.get(one.name) for one in COLUMNS}
        of_captions = captions is not None or not takes_labels or any(columns[side] is not None for side in SIDES)
        if columns["scene"] is not None and not of_captions:
            raise InputError("scene", ": images of a scene are told apart by captions; labels have none: leave it out")
        removed = columns if of_captions else (*SIDES, "scene")
        options = {name: value for name, value in options.items() if name not in removed}
        if of_captions:
            unsplit = str(options.get("tokenizer")) in OTHER_TOKENIZERS
            if captions is None:
                captions = check_captions(**columns, language=language, unsplit=unsplit, trust_rows=trust_rows)
            else:
                captions = as_captions(captions, **columns)
        spoken = getattr(captions, "language", None)
        if language is not None and check_language(language) != spoken:
            raise InputError(
                "language",
                f"{language!r}: the captions were read without it; give it to check_captions or read_captions",
            )
        if trust_rows and not (captions and captions.trust_rows):
            raise InputError("trust_rows", ": give it to check_captions or read_captions, which check the rows")
        if spoken:
            options |= {name: value for name, value in said_in(spoken, options).items() if name in self.options()}
        return captions, options

    def _checked(self, name: str, value: Any) -> Any:
        """What every metric asks of an argument: yes or no, a whole number, replicates."""
        if name not in self.options():
            raise TypeError(f"{self.name}() got an unexpected keyword argument {name!r}")
        usual = self._parameters[name].default
        if isinstance(usual, bool) and name != "cache" and not isinstance(value, (bool, np.bool_)):
            raise InputError(name, f"must be True or False, not {value!r}")
        if name == "tokenizer":
            return tokenizer_name(value)
        if name in LEAST and not (value is None and usual is None):
            return whole_number(name, value, LEAST[name])
        return replicate_count(value) if name == "bootstrap" else value

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


def _signed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with the tokenizer as signatures call it."""
    tok = settings.get("tok")
    return {**settings, **({"tok": signed(tok)} if tok else {})}


DEFINED: dict[str, Metric[Any]] = {}  # the metrics, by their names


def metric(
    title: str, question: str, scores: Iterable[Score], *, about: Mapping[str, str] | None = None, **entry: Any
) -> Callable[[Callable[P, Prepared]], Metric[P]]:
    """Make a function a metric, which commands, reports and modules find by its name, with what the catalogue says of
    it. `about`: descriptions of arguments that mean something else here than in other metrics, or are its alone;
    `entry`: the rest of its `MetricEntry`."""

    def defined(function: Callable[P, Prepared]) -> Metric[P]:
        made = Metric(function, MetricEntry(function.__name__, title, question, tuple(scores), **entry), about or {})
        DEFINED[made.name] = made
        catalogue.register(made.entry)
        return made

    return defined
