"""How much hangs on our choices? DBAC with other tokenizers, task words, alignments, attackers, qualities and draws."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from numbers import Real
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from captionbias.alignment.vectors import load_vectors
from captionbias.attackers.registry import find_attacker
from captionbias.captions import Captions, check_captioners
from captionbias.metrics import Measurement, catalogue, dbac
from captionbias.metrics.protocol import lexicon_name, preset_settings, vectors_name, whole_number
from captionbias.metrics.verdicts import NOTHING, verdict
from captionbias.progress import Watch
from captionbias.scores.captions import QUALITIES
from captionbias.statistics.samples import Estimate
from captionbias.text import load_lexicon

# The options of `dbac` that are choices, and what is tried of each beside the preset's when nothing is named.
USUAL: dict[str, tuple[Any, ...]] = {
    "tokenizer": ("words", "whitespace"),
    "task_lexicon": ("coco_objects", "coco_names"),
    "alignment": ("contextual", "constant"),
    "delta": (0.3, 0.4, 0.5),
    "vectors": (),
    "quality": tuple(QUALITIES),
    "encoder": (),
    "seed": (),
}
COMPLETE = ("tokenizer", "alignment", "quality")  # there are no other values of these
OF_CONTEXTUAL = ("delta", "vectors")  # no part of constant alignment
DRAWS = 3
SCORES = [f"dbac_{direction}_{form}" for form in ("net", "matched") for direction in catalogue.DIRECTIONS]

Choices = dict[str, "str | None"]


def label(choice: str) -> str:
    """What a choice is called."""
    return {"task_lexicon": "task words", "encoder": "attacker"}.get(choice, choice)


@dataclass(frozen=True)
class Specification:
    """One captioner measured with one set of choices, in text; None for what plays no part, as `delta` in constant
    alignment.
    """

    captioner: str
    choices: Choices
    estimates: dict[str, Estimate]
    verdicts: dict[str, str]
    signature: str


@dataclass(frozen=True)
class Move:
    """How far a choice moves a score of a captioner when nothing else changes.

    `change`: the largest difference between two specifications that differ in this choice alone; `lower`, `upper`: its
    values in these two. `verdict_changes`: whether any two such have different verdicts; None where the score has none.
    """

    captioner: str
    choice: str
    score: str
    change: float
    lower: str
    upper: str
    verdict_changes: bool | None


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Captioners measured with several sets of choices.

    `scores`: the keys that are measured, net and matched DBAC; `choices`: of each choice the values that were tried, in
    text, the base's first; `specifications`: every measurement, of each captioner the base first.
    """

    captioners: list[str]
    scores: list[str]
    choices: dict[str, list[str]]
    specifications: list[Specification]

    @property
    def varied(self) -> dict[str, list[str]]:
        """The choices of which more than one value was tried."""
        return {choice: values for choice, values in self.choices.items() if len(values) > 1}

    @property
    def base(self) -> Choices:
        """The choices around which the others vary."""
        return _effective({choice: values[0] for choice, values in self.choices.items()})

    def of(self, captioner: str) -> list[Specification]:
        return [one for one in self.specifications if one.captioner == captioner]

    def label(self, one: Specification) -> str:
        """A specification by what sets it apart from the base."""
        return _label(self.choices, one.choices)

    @cached_property
    def moves(self) -> list[Move]:
        """What each choice does to each score of each captioner."""
        moves = []
        for captioner, choice in itertools.product(self.captioners, self.varied):
            pairs = itertools.combinations(self.of(captioner), 2)
            alone = [pair for pair in pairs if _differ_in(choice, *pair)]
            moves += [_move(choice, score, alone) for score in self.scores]
        return list(filter(None, moves))

    def as_dict(self) -> dict[str, Any]:
        """For a file: every specification with its scores, and what each choice moves."""
        return {
            "captioners": self.captioners,
            "choices": self.choices,
            "specifications": [
                {
                    "captioner": one.captioner,
                    "choices": one.choices,
                    "scores": {score: _numbers(one, score) for score in self.scores},
                    "signature": one.signature,
                }
                for one in self.specifications
            ],
            "moves": [asdict(one) for one in self.moves],
        }


def sensitivity(
    captioners: Mapping[str, Any],
    references: Any = None,
    attributes: Any = None,
    tasks: Any = None,
    *,
    preset: str = "fast",
    grid: bool = False,
    watch: Watch | None = None,
    cache: bool | str | Path = True,
    **options: Any,
) -> Sensitivity:
    """Measure net and matched DBAC again and again, with one choice after the other made differently.

    The choices are `tokenizer`, `task_lexicon`, `alignment`, `delta`, `vectors`, `quality`, `encoder` and `seed`, as
    `dbac` has them. A list of values is tried: the first belongs to the base, around which the others vary. A single
    value stays. Of a choice that is not given, the preset's value belongs to the base, and there are tried: the other
    tokenizer, task words, alignment and qualities, deltas of 0.3, 0.4 and 0.5, and two other seeds; vectors and encoder
    stay. A seed decides which human captions are drawn and how images are split. Trials of two seeds have none in
    common, so what they move is what chance moves.

    What two measurements have in common is computed once: attackers, which quality has no part in, and word vectors.

    Args:
        captioners: each captioner's name and its `n` captions, or its `Captions`.
        references, attributes, tasks: of the same images, as the metrics take them; left out with `Captions`.
        preset: of the base; see `dbac`.
        grid: measure every combination of the values, not only those that differ from the base in one choice.
        watch: called before each measurement with the captioner and what sets its choices apart from the base, and with
            the share of the work that is done, in [0, 1].
        cache: as of `dbac`; with False, trials are kept in a temporary folder until all is measured.
        options: choices, and other options of `dbac` such as `trials`, `bootstrap` or `directions`.

    Returns:
        Every specification, and what each choice moves.

    Raises:
        ValueError: no human captions, an unknown value of a choice, or what `dbac` refuses.

    Source: Simonsohn, Simmons and Nelson 2020, "Specification curve analysis".

    >>> from captionbias.synthetic import plant
    >>> captions = vars(plant(200, a_to_t=0.9))
    >>> chosen = {"trials": 2, "bootstrap": 100, "delta": 0.4, "seed": 0, "quality": "confidence"}
    >>> found = sensitivity({"biased": captions.pop("predictions")}, **captions, **chosen, directions=["a_to_t"])
    >>> [(one.choice, one.verdict_changes) for one in found.moves if one.score == "dbac_a_to_t_net"]
    [('tokenizer', False), ('task_lexicon', False), ('alignment', False)]
    """
    checked = check_captioners(captioners, references=references, attributes=attributes, tasks=tasks)
    for name, captions in checked.items():
        if captions.references is None or captions.predictions is None:
            raise ValueError(
                f"{name}: net and matched DBAC compare a captioner with people; give predictions and references"
            )
    values = _values(preset, options)
    choices = {choice: list(tried) for choice, tried in values.items()}
    fixed = {option: value for option, value in options.items() if option not in USUAL}
    plan = _plan(choices, grid)
    specifications: list[Specification] = []
    with TemporaryDirectory(prefix="captionbias-") as folder:
        for name, captions in checked.items():
            vectors = functools.cache(partial(_vectors, captions, values["vectors"]))
            for chosen in plan:
                step = f"{name}, {_label(choices, chosen)}"
                if watch:
                    watch(step, len(specifications) / (len(plan) * len(checked)))
                own = {choice: values[choice][value] for choice, value in chosen.items() if value is not None}
                try:
                    if chosen["vectors"] is not None:
                        own["vectors"] = vectors(chosen["tokenizer"], chosen["vectors"])
                    store = folder if cache is False else cache
                    measured = dbac.measure(captions, preset=preset, cache=store, **own, **fixed)
                except ValueError as error:
                    raise ValueError(f"{step}: {error}") from error
                specifications.append(_specification(name, chosen, measured))
    scores = [score for score in SCORES if score in measured.samples]
    return Sensitivity(list(checked), scores, choices, specifications)


def draws(preset: str, trials: int | None = None, seed: int = 0) -> list[int]:
    """This seed and others, of whose trials no two draw and split alike."""
    _, settings = preset_settings("dbac", preset, trials=trials)
    return [seed + draw * settings["trials"] for draw in range(DRAWS)]


def _values(preset: str, options: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The values to try of each choice, by their text, the base's first."""
    _, settings = preset_settings("dbac", preset)
    usual = {**USUAL, "seed": draws(preset, options.get("trials"))}
    values: dict[str, dict[str, Any]] = {}
    for choice in USUAL:
        given = options.get(choice)
        if given is None:
            tried = list(dict.fromkeys((settings.get(choice, 0), *usual[choice])))
        else:
            tried = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]
        values[choice] = {_text(choice, value): value for value in tried}
    return values


def _text(choice: str, value: Any) -> str:
    """A value as it is shown; one that `dbac` would refuse is refused before anything is trained."""
    if choice in COMPLETE and value not in USUAL[choice]:
        raise ValueError(f"{choice} {value!r} is unknown; choose from {', '.join(USUAL[choice])}")
    if choice == "delta" and not (isinstance(value, Real) and 0 < float(value) <= 2):
        raise ValueError(f"delta is {value!r}: give a cosine distance above 0 and at most 2")
    if choice == "seed":
        return str(whole_number("seed", value, least=0))
    if choice == "task_lexicon":
        return lexicon_name(load_lexicon(value), value)
    if choice == "encoder":
        return find_attacker(value).name
    if choice == "vectors":
        return vectors_name(value)
    return f"{value:g}" if choice == "delta" else str(value)


def _plan(choices: Mapping[str, Sequence[str]], grid: bool) -> list[Choices]:
    """The base and what differs from it in one choice, or every combination; those that come to the same once."""
    base = {choice: values[0] for choice, values in choices.items()}
    if grid:
        chosen = [dict(zip(choices, values, strict=True)) for values in itertools.product(*choices.values())]
    else:
        chosen = [base, *({**base, choice: value} for choice, values in choices.items() for value in values[1:])]
    return list({tuple(one.values()): one for one in map(_effective, chosen)}.values())


def _effective(chosen: Mapping[str, str]) -> Choices:
    """None for what plays no part."""
    constant = chosen["alignment"] == "constant"
    return {choice: None if constant and choice in OF_CONTEXTUAL else value for choice, value in chosen.items()}


def _label(choices: Mapping[str, Sequence[str]], chosen: Choices) -> str:
    others = {choice: value for choice, value in chosen.items() if value not in (None, choices[choice][0])}
    return ", ".join(f"{label(choice)} {value}" for choice, value in others.items()) or "base"


def _vectors(captions: Captions, sources: Mapping[str, Any], tokenizer: str, name: str) -> Any:
    """The word vectors of that name as `dbac` would load them, if the captioner lacks a human word."""
    words = captions.words(tokenizer)
    if not (words.human.present() & ~words.model.present()).any():
        return sources[name]
    loaded = load_vectors(sources[name], words.human)
    loaded.called = name
    return loaded


def _specification(captioner: str, chosen: Choices, measured: Measurement) -> Specification:
    estimates = {score: measured.estimates[score] for score in SCORES if score in measured.estimates}
    said = {score: verdict(measured.estimates, score) for score in estimates if catalogue.SCORES[score].judged}
    verdicts = {score: words for score, words in said.items() if words != NOTHING}
    return Specification(captioner, chosen, estimates, verdicts, measured.signature)


def _differ_in(choice: str, one: Specification, other: Specification) -> bool:
    """Whether this choice alone differs; what plays no part in one of them does not count."""

    def same(name: str) -> bool:
        return one.choices[name] == other.choices[name] or None in (one.choices[name], other.choices[name])

    return not same(choice) and all(same(name) for name in one.choices if name != choice)


def _move(choice: str, score: str, pairs: Sequence[tuple[Specification, Specification]]) -> Move | None:
    """None where no pair has the score."""
    known = [
        sorted(pair, key=lambda one: one.estimates[score].value)
        for pair in pairs
        if all(score in one.estimates for one in pair)
    ]
    if not known:
        return None
    changes = [upper.estimates[score].value - lower.estimates[score].value for lower, upper in known]
    lower, upper = known[int(np.argmax(changes))]
    verdicts = [(one.verdicts[score], other.verdicts[score]) for one, other in known if score in one.verdicts]
    return Move(
        lower.captioner,
        choice,
        score,
        max(changes),
        str(lower.choices[choice]),
        str(upper.choices[choice]),
        any(one != other for one, other in verdicts) if verdicts else None,
    )


def _numbers(one: Specification, score: str) -> dict[str, Any]:
    value, low, high = (one.estimates.get(score) or (None, None, None))[:3]
    return {"value": value, "low": low, "high": high, "verdict": one.verdicts.get(score)}
