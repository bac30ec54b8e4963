"""How much hangs on our choices? DBAC with other tokenizers, task words, alignments, attackers, qualities and draws."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from numbers import Real
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from captionbias.alignment.vectors import load_vectors
from captionbias.attackers.registry import find_attacker
from captionbias.bench.protocol import lexicon_name, preset_settings, vectors_name, whole_number
from captionbias.bench.verdicts import NOTHING, verdict
from captionbias.captions import Captions, check_captioners
from captionbias.errors import InputError, unknown, within
from captionbias.metrics import catalogue, dbac
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


def label(choice: str) -> str:
    """The name of a choice in words; without one, of the base."""
    return {"task_lexicon": "task words", "encoder": "attacker", "": "base"}.get(choice, choice)


@dataclass(frozen=True)
class Specification:
    """One captioner measured with the base's choices but `choice`, which has this `value`; both "" for the base."""

    captioner: str
    choice: str
    value: str
    estimates: dict[str, Estimate]
    verdicts: dict[str, str]
    signature: str

    @property
    def label(self) -> str:
        """What sets it apart from the base."""
        return f"{label(self.choice)} {self.value}".strip()


@dataclass(frozen=True)
class Move:
    """How far a choice moves a score of a captioner when nothing else changes.

    `change`: the largest difference between two values of this choice; `lower`, `upper`: these two. `verdict_changes`:
    whether any two values have different verdicts; None where the score has none.
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
    def base(self) -> dict[str, str]:
        """The choices around which the others vary."""
        return _in_use({choice: values[0] for choice, values in self.choices.items()})

    def of(self, captioner: str) -> list[Specification]:
        return [each for each in self.specifications if each.captioner == captioner]

    @cached_property
    def moves(self) -> list[Move]:
        """What each choice does to each score of each captioner."""
        moves = []
        for captioner in self.captioners:
            base, *others = self.of(captioner)
            for choice, (usual, *_) in self.choices.items():
                by_value = {usual: base, **{other.value: other for other in others if other.choice == choice}}
                moves += [_move(captioner, choice, score, by_value) for score in self.scores]
        return list(filter(None, moves))

    def as_dict(self) -> dict[str, Any]:
        """Every specification with its scores, and what each choice moves, for a file."""
        return {
            "captioners": self.captioners,
            "choices": self.choices,
            "specifications": [
                {
                    "captioner": each.captioner,
                    "choice": each.choice,
                    "value": each.value,
                    "scores": {score: _numbers(each, score) for score in self.scores},
                    "signature": each.signature,
                }
                for each in self.specifications
            ],
            "moves": list(map(asdict, self.moves)),
        }


def sensitivity(
    captioners: Mapping[str, Any],
    references: Any = None,
    attributes: Any = None,
    tasks: Any = None,
    trust_rows: bool = False,
    *,
    preset: str = "fast",
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
        references, attributes, tasks, trust_rows: of the same images, as the metrics take them; left out with
            `Captions`.
        preset: of the base; see `dbac`.
        watch: called before each measurement with the captioner and what sets its choices apart from the base, and with
            the share of the work that is done, in [0, 1].
        cache: as of `dbac`; with False, trials are kept in a temporary folder until all is measured.
        options: choices, and other options of `dbac` such as `trials`, `bootstrap` or `directions`.

    Returns:
        Every specification, and what each choice moves.

    Source: Simonsohn, Simmons and Nelson 2020, "Specification curve analysis".

    >>> from captionbias.synthetic import plant
    >>> captions = vars(plant(200, a_to_t=0.9))
    >>> chosen = {"trials": 2, "bootstrap": 100, "delta": 0.4, "seed": 0, "quality": "confidence"}
    >>> found = sensitivity({"biased": captions.pop("predictions")}, **captions, **chosen, directions=["a_to_t"])
    >>> [(one.choice, one.verdict_changes) for one in found.moves if one.score == "dbac_a_to_t_net"]
    [('tokenizer', False), ('task_lexicon', False), ('alignment', False)]
    """
    people = {"references": references, "attributes": attributes, "tasks": tasks, "trust_rows": trust_rows}
    checked = check_captioners(captioners, **people)
    for name, captions in checked.items():
        if captions.references is None or captions.predictions is None:
            raise ValueError(
                f"{name}: net and matched DBAC compare a captioner with people; give predictions and references"
            )
    values = _values(preset, options)
    choices = {choice: list(tried) for choice, tried in values.items()}
    fixed = {option: value for option, value in options.items() if option not in USUAL}
    base = {choice: tried[0] for choice, tried in choices.items()}
    plan = [("", ""), *((choice, value) for choice in _in_use(base) for value in choices[choice][1:])]
    specifications: list[Specification] = []
    with TemporaryDirectory(prefix="captionbias-") as folder:
        for name, captions in checked.items():
            vectors = functools.cache(partial(_vectors, captions, values["vectors"]))
            for choice, value in plan:
                step = f"{name}, {label(choice)} {value}".strip()
                if watch:
                    watch(step, len(specifications) / (len(plan) * len(checked)))
                chosen = _in_use(base | ({choice: value} if choice else {}))
                own = {choice: values[choice][value] for choice, value in chosen.items()}
                try:
                    if "vectors" in chosen:
                        own["vectors"] = vectors(chosen["tokenizer"], chosen["vectors"])
                    store = folder if cache is False else cache
                    measured = dbac.measure(captions, preset=preset, cache=store, **own, **fixed)
                except ValueError as error:
                    raise within(step, error) from error
                estimates = {score: measured.estimates[score] for score in SCORES if score in measured.estimates}
                judged = (score for score in estimates if catalogue.SCORES[score].judged)
                said = {score: verdict(measured.estimates, score) for score in judged}
                verdicts = {score: words for score, words in said.items() if words != NOTHING}
                specifications.append(Specification(name, choice, value, estimates, verdicts, measured.signature))
    scores = [score for score in SCORES if score in measured.samples]
    return Sensitivity(list(checked), scores, choices, specifications)


def _values(preset: str, options: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The values of each choice to try, by their text, the base's first."""
    _, settings = preset_settings(dbac.entry.presets, preset, trials=options.get("trials"))
    seeds = [draw * settings.trials for draw in range(DRAWS)]  # none of whose trials draw or split alike
    usual = {**USUAL, "seed": seeds}
    values: dict[str, dict[str, Any]] = {}
    for choice in USUAL:
        given = options.get(choice)
        if given is None:
            tried = list(dict.fromkeys((getattr(settings, choice, 0), *usual[choice])))
        else:
            tried = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]
        values[choice] = {_text(choice, value): value for value in tried}
    return values


def _text(choice: str, value: Any) -> str:
    """A value as it is shown; one that `dbac` would refuse is refused before anything is trained."""
    if choice in COMPLETE and value not in USUAL[choice]:
        raise unknown(choice, value, USUAL[choice])
    if choice == "delta" and not (isinstance(value, Real) and 0 < float(value) <= 2):
        raise InputError("delta", f"is {value!r}: give a cosine distance above 0 and at most 2")
    if choice == "seed":
        return str(whole_number("seed", value, least=0))
    if choice == "task_lexicon":
        return lexicon_name(load_lexicon(value), value)
    if choice == "encoder":
        return find_attacker(value).name
    if choice == "vectors":
        return vectors_name(value)
    return f"{value:g}" if choice == "delta" else str(value)


def _in_use(choices: Mapping[str, str]) -> dict[str, str]:
    """The choices that play a part."""
    unused = OF_CONTEXTUAL if choices["alignment"] == "constant" else ()
    return {choice: value for choice, value in choices.items() if choice not in unused}


def _vectors(captions: Captions, sources: Mapping[str, Any], tokenizer: str, name: str) -> Any:
    """The word vectors of a name: loaded as by `dbac` if the captioner lacks a human word, else their source."""
    words = captions.words(tokenizer)
    if not words.lacking():
        return sources[name]
    loaded = load_vectors(sources[name], words.human)
    loaded.called = name
    return loaded


def _move(captioner: str, choice: str, score: str, by_value: Mapping[str, Specification]) -> Move | None:
    """How far the choice moves the score; None where fewer than two of its values have it."""
    scores = {value: each.estimates[score].value for value, each in by_value.items() if score in each.estimates}
    if len(scores) < 2:
        return None
    lower, *_, upper = sorted(scores, key=scores.__getitem__)
    verdicts = {by_value[value].verdicts.get(score) for value in scores}
    changes = None if verdicts == {None} else len(verdicts) > 1
    return Move(captioner, choice, score, scores[upper] - scores[lower], lower, upper, changes)


def _numbers(specification: Specification, score: str) -> dict[str, Any]:
    value, low, high = (specification.estimates.get(score) or (None, None, None))[:3]
    return {"value": value, "low": low, "high": high, "verdict": specification.verdicts.get(score)}
