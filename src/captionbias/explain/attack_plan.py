"""What the attackers that are explained predict, from what: the trials of `lic`, or of `dbac` from T to A."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from captionbias.arrays import Integers
from captionbias.attackers.base import Examples, Trial
from captionbias.attackers.registry import Attacker, find_attacker
from captionbias.attackers.splits import balanced_split, stratified_split
from captionbias.captions import check_captions
from captionbias.metrics.inputs import mentions_of, note_nothing_masked, number_classes, split_into_words
from captionbias.metrics.lic import ENCODERS
from captionbias.metrics.protocol import DBAC_PRESETS, LIC_PRESETS, lexicon_name, settings, whole_number
from captionbias.metrics.tasks import shown_tasks
from captionbias.text import load_lexicon, named_labels

# Arguments of one direction alone.
ONE_WAY = {"a_to_t": ("attribute_lexicon",), "t_to_a": ("tasks", "references", "task_lexicon", "classes")}


@dataclass(frozen=True, eq=False)
class AttackPlan:
    """Trials of one table of captions, whose attackers predict the `classes` (tasks, from T to A).

    `explained`: the numbers of the outputs to explain. `signature`: everything that determines the attackers.
    """

    trials: list[Trial]
    classes: tuple[str, ...]
    explained: Integers
    attacker: Attacker
    signature: Mapping[str, Any]


def attack_plan(
    direction: str, captions: Any, attributes: Any, preset: str | None, seed: int, **arguments: Any
) -> AttackPlan:
    """The plan of one direction; `arguments`: the caller's others, None for the preset's.

    Raises:
        ValueError: an unknown direction, an argument of the other one, or input that cannot be measured.
    """
    if direction not in PLANS:
        raise ValueError(f"direction {direction!r} is unknown; choose one of {', '.join(PLANS)}")
    for other, names in ONE_WAY.items():
        for name in names:
            if other != direction and arguments[name] is not None:
                raise ValueError(
                    f"{name} has no meaning in direction {direction!r}; leave it out, or give direction={other!r}"
                )
    return PLANS[direction](captions, attributes, preset, whole_number("seed", seed, least=0), arguments)


def _a_to_t(captions: Any, attributes: Any, preset: str | None, seed: int, arguments: Mapping[str, Any]) -> AttackPlan:
    preset = "lic-2022" if preset is None else preset
    checked = check_captions(predictions=captions, attributes=attributes)
    chosen = _settings(LIC_PRESETS, preset, arguments)
    attacker = _attacker(ENCODERS.get(chosen["encoder"], chosen["encoder"]), arguments)
    lexicon = load_lexicon(chosen["attribute_lexicon"])
    notes: list[str] = []
    names, classes = number_classes(checked, notes)
    sides = split_into_words(checked, chosen["tokenizer"])
    mentions = mentions_of(sides, lexicon, chosen["tokenizer"])
    note_nothing_masked(mentions, lexicon, notes)
    examples = Examples(sides.mask(mentions, lexicon.mask).model, classes, len(names), lexicon.mask)
    return AttackPlan(
        trials=_trials("m0", examples, balanced_split, classes, chosen, seed),
        classes=tuple(names),
        explained=np.arange(1 if len(names) == 2 else len(names)),
        attacker=attacker,
        signature={
            "preset": preset,
            **attacker.signature(),
            "method": attacker.explained,
            "trials": chosen["trials"],
            "split": f"balanced,{chosen['test_share']:g}",
            "seed": seed,
            "tok": chosen["tokenizer"],
            "attribute": lexicon_name(lexicon, chosen["attribute_lexicon"]),
        },
    )


def _t_to_a(captions: Any, attributes: Any, preset: str | None, seed: int, arguments: Mapping[str, Any]) -> AttackPlan:
    preset = "dbac-2026" if preset is None else preset
    tasks, references = arguments["tasks"], arguments["references"]
    if tasks is None and references is None:
        raise ValueError(
            "tasks is missing: direction 't_to_a' needs the tasks that the images show; give tasks, or references "
            "(human captions), which name them"
        )
    checked = check_captions(predictions=captions, references=references, attributes=attributes, tasks=tasks)
    chosen = _settings(DBAC_PRESETS, preset, arguments)
    attacker = _attacker(chosen["encoder"], arguments)
    lexicon = load_lexicon(chosen["task_lexicon"])
    notes: list[str] = []
    _, classes = number_classes(checked, notes)
    sides = split_into_words(checked, chosen["tokenizer"])
    mentions = mentions_of(sides, lexicon, chosen["tokenizer"])
    note_nothing_masked(mentions, lexicon, notes)
    named = named_labels(sides.tokens, mentions, len(lexicon.labels))
    # Without the captioner, there is no comparison to warn of.
    shown = shown_tasks(replace(checked, predictions=None), sides, named, lexicon, notes)
    occurring = np.flatnonzero(shown.flags.any(axis=0))
    names = tuple(shown.names[task] for task in occurring)
    masked = sides.mask(mentions, lexicon.mask).model
    examples = Examples(masked, shown.flags[:, occurring], len(names), lexicon.mask)
    return AttackPlan(
        trials=_trials("t_to_a m", examples, stratified_split, classes, chosen, seed),
        classes=names,
        explained=_numbers_of(arguments["classes"], names),
        attacker=attacker,
        signature={
            "preset": preset,
            **attacker.signature(),
            "method": attacker.explained,
            "direction": "t_to_a",
            "trials": chosen["trials"],
            "split": f"{chosen['test_share']:g}",
            "seed": seed,
            "tok": chosen["tokenizer"],
            "task": lexicon_name(lexicon, chosen["task_lexicon"]),
            "tasks": "named" if tasks is None else "given",
        },
    )


PLANS: dict[str, Callable[[Any, Any, str | None, int, Mapping[str, Any]], AttackPlan]] = {
    "a_to_t": _a_to_t,
    "t_to_a": _t_to_a,
}


def _attacker(encoder: Any, arguments: Mapping[str, Any]) -> Attacker:
    return find_attacker(encoder, arguments["precision"], arguments["model"], arguments["cache"])


def _settings(presets: Mapping[str, dict[str, Any]], preset: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    names = ("encoder", "trials", "tokenizer", "attribute_lexicon", "task_lexicon")
    return settings(presets, preset, {name: arguments[name] for name in names})


def _trials(
    name: str,
    examples: Examples,
    split: Callable[[Integers, float, int], tuple[Integers, Integers]],
    classes: Integers,
    chosen: Mapping[str, Any],
    seed: int,
) -> list[Trial]:
    return [
        Trial(f"{name} seed {trial_seed}", examples, *split(classes, chosen["test_share"], trial_seed), trial_seed)
        for trial_seed in range(seed, seed + chosen["trials"])
    ]


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
