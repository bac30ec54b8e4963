"""What the attackers that are explained were asked: `lic`'s question of captions, or `dbac`'s from T to A."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from captionbias.arrays import Integers
from captionbias.attackers.base import Trial
from captionbias.captions import check_captions
from captionbias.metrics.dbac import plan_dbac
from captionbias.metrics.inputs import number_classes
from captionbias.metrics.lic import ENCODERS, plan_lic
from captionbias.metrics.protocol import lexicon_name, preset_settings, whole_number
from captionbias.text import load_lexicon

# What is given for one direction alone.
ONE_WAY = {"a_to_t": ("attribute_lexicon",), "t_to_a": ("tasks", "references", "task_lexicon", "classes")}


@dataclass(frozen=True, eq=False)
class Question:
    """Trials whose attackers predict the `classes` (tasks, from T to A), and the numbers of those to explain.

    `encoder`: as the engine calls it. `signature`: what the other settings add to a signature.
    """

    trials: list[Trial]
    classes: tuple[str, ...]
    explained: Integers
    preset: str
    encoder: Any
    signature: Mapping[str, Any]


def question(direction: str, captions: Any, attributes: Any, preset: str | None, seed: int, **given: Any) -> Question:
    """The question of one direction; `given`: the caller's other arguments, None for the preset's.

    Raises:
        ValueError: an unknown direction, an argument of the other one, or input that cannot be measured.
    """
    if direction not in QUESTIONS:
        raise ValueError(f"direction {direction!r} is unknown; choose one of {', '.join(QUESTIONS)}")
    for other, arguments in ONE_WAY.items():
        for argument in arguments:
            if other != direction and given[argument] is not None:
                raise ValueError(
                    f"{argument} has no meaning in direction {direction!r}; leave it out, or give direction={other!r}"
                )
    return QUESTIONS[direction](captions, attributes, preset, whole_number("seed", seed, least=0), given)


def _a_to_t(captions: Any, attributes: Any, preset: str | None, seed: int, given: Mapping[str, Any]) -> Question:
    checked = check_captions(predictions=captions, attributes=attributes)
    preset, chosen = _settings("lic", preset or "lic-2022", given)
    notes: list[str] = []
    names, classes = number_classes(checked, notes)
    plan, _ = plan_lic(checked, chosen, names, classes, seed, notes)
    return Question(
        trials=plan.trials["m"][0],
        classes=plan.classes,
        explained=np.arange(1 if len(names) == 2 else len(names)),
        preset=preset,
        encoder=ENCODERS.get(chosen["encoder"], chosen["encoder"]),
        signature={
            "trials": chosen["trials"],
            "split": f"balanced,{chosen['test_share']:g}",
            "seed": seed,
            "tok": chosen["tokenizer"],
            "attribute": lexicon_name(load_lexicon(chosen["attribute_lexicon"]), chosen["attribute_lexicon"]),
        },
    )


def _t_to_a(captions: Any, attributes: Any, preset: str | None, seed: int, given: Mapping[str, Any]) -> Question:
    tasks, references = given["tasks"], given["references"]
    if tasks is None and references is None:
        raise ValueError(
            "tasks is missing: direction 't_to_a' needs the tasks that the images show; give tasks, or references "
            "(human captions), which name them"
        )
    checked = check_captions(predictions=captions, references=references, attributes=attributes, tasks=tasks)
    preset, chosen = _settings("dbac", preset or "dbac-2026", given)
    notes: list[str] = []
    values, classes = number_classes(checked, notes)
    _, plans, _ = plan_dbac(checked, chosen | {"alignment": "constant"}, ["t_to_a"], values, classes, seed, notes)
    plan = plans["t_to_a"]
    return Question(
        trials=plan.trials["m"][0],
        classes=plan.classes,
        explained=_numbers_of(given["classes"], plan.classes),
        preset=preset,
        encoder=chosen["encoder"],
        signature={
            "direction": "t_to_a",
            "trials": chosen["trials"],
            "split": f"{chosen['test_share']:g}",
            "seed": seed,
            "tok": chosen["tokenizer"],
            "task": lexicon_name(load_lexicon(chosen["task_lexicon"]), chosen["task_lexicon"]),
            "tasks": "named" if tasks is None else "given",
        },
    )


QUESTIONS: dict[str, Callable[[Any, Any, str | None, int, Mapping[str, Any]], Question]] = {
    "a_to_t": _a_to_t,
    "t_to_a": _t_to_a,
}


def _settings(metric: str, preset: str, given: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    names = ("encoder", "trials", "tokenizer", "attribute_lexicon", "task_lexicon")
    return preset_settings(metric, preset, **{name: given[name] for name in names})


def _numbers_of(wanted: Sequence[str] | None, names: tuple[str, ...]) -> Integers:
    """The numbers of the tasks to explain, in the order in which they are wanted; all of them when None."""
    if wanted is None:
        return np.arange(len(names))
    listed = isinstance(wanted, Sequence) and not isinstance(wanted, str)
    for row, name in enumerate(wanted if listed else ()):
        if name not in names:
            raise ValueError(
                f"classes[{row}] {name!r} is no task that an image shows; those are {', '.join(names[:5])}"
                f"{', ...' if len(names) > 5 else ''}"
            )
    if not listed or not wanted or len(set(wanted)) < len(wanted):
        raise ValueError(f"classes must list one or more tasks, each once, not {wanted!r}")
    return np.array([names.index(name) for name in wanted])
