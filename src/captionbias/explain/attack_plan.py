"""The attackers that are explained: those of `lic`, or those of `dbac` from T to A."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from captionbias.arrays import Integers
from captionbias.attackers.base import Examples, Fitted, Trial
from captionbias.attackers.registry import Attacker, find_attacker
from captionbias.attackers.splits import stratified_split
from captionbias.captions import check_captions
from captionbias.explain.contributions import TOLERANCE
from captionbias.metrics.inputs import note_nothing_masked, number_classes, shown_tasks
from captionbias.metrics.lic import ENCODERS, plan_lic
from captionbias.metrics.measurement import Measurement
from captionbias.metrics.protocol import lexicon_name, preset_settings, signature, whole_number
from captionbias.text import find_mentions, load_lexicon, named_labels

# Arguments of one direction alone.
ONE_WAY = {"a_to_t": ("attribute_lexicon",), "t_to_a": ("tasks", "references", "task_lexicon", "classes")}


@dataclass(frozen=True, eq=False)
class Attack:
    """Trials on one table of captions, whose attackers predict the `classes` (tasks, from T to A).

    `explained`: the numbers of the outputs to explain. `signature`: everything that determines the result.
    """

    trials: list[Trial]
    classes: tuple[str, ...]
    explained: Integers
    attacker: Attacker
    signature: str


def plan_attack(
    direction: str, captions: Any, attributes: Any, preset: str | None, seed: int, **options: Any
) -> Attack:
    """The attack of one direction; `options`: the caller's others, None for the preset's.

    Raises:
        ValueError: an unknown direction, an argument of the other one, or input that cannot be measured.
    """
    if direction not in PLANS:
        raise ValueError(f"direction {direction!r} is unknown; choose one of {', '.join(PLANS)}")
    for other, names in ONE_WAY.items():
        for name in names:
            if other != direction and options[name] is not None:
                raise ValueError(
                    f"{name} has no meaning in direction {direction!r}; leave it out, or give direction={other!r}"
                )
    return PLANS[direction](captions, attributes, preset, whole_number("seed", seed, least=0), options)


def measured_attack(
    measured: Measurement, direction: str, classes: Sequence[str] | None
) -> tuple[Attack, list[Fitted]]:
    """The attack of a measurement whose attackers were kept, and these.

    Raises:
        ValueError: no attackers were kept, or none of this direction, or unknown classes.
    """
    plan = measured.plans.get("lic" if measured.metric == "lic" else direction)
    if plan is None or not plan.fitted or measured.attacker is None:
        raise ValueError(
            f"measured has no attackers of direction {direction!r}: measure lic, or dbac in this direction, with "
            "keep_attackers=1 or more"
        )
    explained = _explained(plan.classes) if measured.metric == "lic" else _numbers_of(classes, plan.classes)
    parts = measured.signature.partition("|")
    signature = f"metric:attributions|method:{_method(measured.attacker)}|of:{measured.metric}|{parts[2]}"
    return Attack(plan.first("m", len(plan.fitted)), plan.classes, explained, measured.attacker, signature), plan.fitted


def _a_to_t(captions: Any, attributes: Any, preset: str | None, seed: int, options: Mapping[str, Any]) -> Attack:
    checked = check_captions(predictions=captions, attributes=attributes)
    preset, chosen = _settings("lic", preset or "lic-2022", options)
    attacker = _attacker(ENCODERS.get(chosen["encoder"], chosen["encoder"]), options)
    notes: list[str] = []
    names, classes = number_classes(checked, notes)
    plan, _ = plan_lic(checked, chosen, names, classes, seed, notes)
    return Attack(
        trials=plan.trials["m"][0],
        classes=plan.classes,
        explained=_explained(names),
        attacker=attacker,
        signature=signature(
            metric="attributions",
            preset=preset,
            **attacker.signature(),
            method=_method(attacker),
            trials=chosen["trials"],
            split=f"balanced,{chosen['test_share']:g}",
            seed=seed,
            tok=chosen["tokenizer"],
            attribute=lexicon_name(load_lexicon(chosen["attribute_lexicon"]), chosen["attribute_lexicon"]),
        ),
    )


def _t_to_a(captions: Any, attributes: Any, preset: str | None, seed: int, options: Mapping[str, Any]) -> Attack:
    tasks, references = options["tasks"], options["references"]
    if tasks is None and references is None:
        raise ValueError(
            "tasks is missing: direction 't_to_a' needs the tasks that the images show; give tasks, or references "
            "(human captions), which name them"
        )
    checked = check_captions(predictions=captions, references=references, attributes=attributes, tasks=tasks)
    preset, chosen = _settings("dbac", preset or "dbac-2026", options)
    attacker = _attacker(chosen["encoder"], options)
    notes: list[str] = []
    _, classes = number_classes(checked, notes)
    lexicon, words = load_lexicon(chosen["task_lexicon"]), checked.words(chosen["tokenizer"])
    mentions = find_mentions(words.tokens, lexicon, chosen["tokenizer"])
    note_nothing_masked(mentions, lexicon, notes)
    named = named_labels(words.tokens, mentions, len(lexicon.labels))
    shown, names = shown_tasks(checked, words, named, lexicon, notes)
    occurring = np.flatnonzero(shown.any(axis=0))
    names = tuple(names[task] for task in occurring)
    examples = Examples(words.mask(mentions, lexicon.mask).model, shown[:, occurring], len(names), lexicon.mask)
    return Attack(
        trials=[
            Trial(f"t_to_a m seed {number}", examples, *stratified_split(classes, chosen["test_share"], number), number)
            for number in range(seed, seed + chosen["trials"])
        ],
        classes=names,
        explained=_numbers_of(options["classes"], names),
        attacker=attacker,
        signature=signature(
            metric="attributions",
            preset=preset,
            **attacker.signature(),
            method=_method(attacker),
            direction="t_to_a",
            trials=chosen["trials"],
            split=f"{chosen['test_share']:g}",
            seed=seed,
            tok=chosen["tokenizer"],
            task=lexicon_name(load_lexicon(chosen["task_lexicon"]), chosen["task_lexicon"]),
            tasks="named" if tasks is None else "given",
        ),
    )


PLANS: dict[str, Callable[[Any, Any, str | None, int, Mapping[str, Any]], Attack]] = {
    "a_to_t": _a_to_t,
    "t_to_a": _t_to_a,
}


def _method(attacker: Attacker) -> str | None:
    return f"{attacker.explained},{TOLERANCE:g}" if attacker.precision else attacker.explained


def _attacker(encoder: Any, options: Mapping[str, Any]) -> Attacker:
    return find_attacker(encoder, options["precision"], options["model"], options["cache"])


def _settings(metric: str, preset: str, options: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    names = ("encoder", "trials", "tokenizer", "attribute_lexicon", "task_lexicon")
    return preset_settings(metric, preset, **{name: options[name] for name in names})


def _explained(values: Sequence[str]) -> Integers:
    """The outputs of an attacker of the attribute: two values have one."""
    return np.arange(1 if len(values) == 2 else len(values))


def _numbers_of(wanted: Sequence[str] | None, names: tuple[str, ...]) -> Integers:
    """The numbers of the tasks to explain, in the order in which they are wanted; all of them when None."""
    if wanted is None:
        return np.arange(len(names))
    listed = isinstance(wanted, Sequence) and not isinstance(wanted, str)
    for row, name in enumerate(wanted if listed else ()):
        if name not in names:
            raise ValueError(
                f"classes[{row}] {name!r} is not a task that an image shows; those are {', '.join(names[:5])}"
                f"{', ...' if len(names) > 5 else ''}"
            )
    if not listed or not wanted or len(set(wanted)) < len(wanted):
        raise ValueError(f"classes must list one or more tasks, each once, not {wanted!r}")
    return np.array([names.index(name) for name in wanted])
