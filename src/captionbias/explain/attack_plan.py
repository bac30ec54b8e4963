"""The attackers that are explained: those of `lic`, or those of `dbac` from T to A."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from captionbias.arrays import Integers
from captionbias.attackers.base import Examples, Fitted, Trial
from captionbias.attackers.registry import Attacker, find_attacker
from captionbias.attackers.splits import stratified_split
from captionbias.captions import Captions, check_captions
from captionbias.explain.contributions import TOLERANCE
from captionbias.metrics.attack_plan import Attacks
from captionbias.metrics.inputs import note_nothing_masked, number_classes, shown_tasks
from captionbias.metrics.lic import plan_lic
from captionbias.metrics.measurement import Measurement
from captionbias.metrics.protocol import lexicon_name, preset_settings, signature, whole_number
from captionbias.text import find_mentions, load_lexicon, named_labels

# Of each direction: the metric whose attackers are explained, and its usual preset.
PRESETS = {"a_to_t": ("lic", "lic-2022"), "t_to_a": ("dbac", "dbac-2026")}
SETTINGS = ("encoder", "trials", "tokenizer", "attribute_lexicon", "task_lexicon")
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
    if direction not in PRESETS:
        raise ValueError(f"direction {direction!r} is unknown; choose one of {', '.join(PRESETS)}")
    for other, names in ONE_WAY.items():
        for name in names:
            if other != direction and options[name] is not None:
                raise ValueError(
                    f"{name} has no meaning in direction {direction!r}; leave it out, or give direction={other!r}"
                )
    seed = whole_number("seed", seed, least=0)
    tasks, references = options["tasks"], options["references"]
    if direction == "t_to_a" and tasks is None and references is None:
        raise ValueError(
            "tasks is missing: direction 't_to_a' needs the tasks that the images show; give tasks, or references "
            "(human captions), which name them"
        )
    checked = check_captions(predictions=captions, references=references, attributes=attributes, tasks=tasks)
    metric, usual = PRESETS[direction]
    preset, chosen = preset_settings(metric, preset or usual, **{name: options[name] for name in SETTINGS})
    attacker = find_attacker(chosen["encoder"], options["precision"], options["model"], options["cache"])
    notes: list[str] = []
    values, classes = number_classes(checked, notes)
    if direction == "a_to_t":
        plan, _ = plan_lic(checked, chosen, values, classes, seed, notes)
        trials, names, explained = plan.trials["m"][0], values, _explained(values)
        target = {"attribute": lexicon_name(load_lexicon(chosen["attribute_lexicon"]), chosen["attribute_lexicon"])}
    else:
        trials, names = _t_to_a(checked, chosen, classes, seed, notes)
        explained = _numbers_of(options["classes"], names)
        target = {
            "task": lexicon_name(load_lexicon(chosen["task_lexicon"]), chosen["task_lexicon"]),
            "tasks": "named" if tasks is None else "given",
        }
    share = f"{chosen['test_share']:g}"
    written = signature(
        metric="attributions",
        preset=preset,
        **attacker.signature(),
        method=_method(attacker),
        **({"direction": direction} if direction == "t_to_a" else {}),
        trials=chosen["trials"],
        split=f"balanced,{share}" if direction == "a_to_t" else share,
        **checked.rows(),
        seed=seed,
        tok=chosen["tokenizer"],
        **target,
    )
    return Attack(trials, names, explained, attacker, written)


def _t_to_a(
    captions: Captions, settings: Mapping[str, Any], classes: Integers, seed: int, notes: list[str]
) -> tuple[list[Trial], tuple[str, ...]]:
    """Trials on the captioner's captions, and the tasks that occur."""
    lexicon, words = load_lexicon(settings["task_lexicon"]), captions.words(settings["tokenizer"])
    mentions = find_mentions(words.tokens, lexicon, settings["tokenizer"])
    note_nothing_masked(mentions, lexicon, notes)
    named = named_labels(words.tokens, mentions, len(lexicon.labels))
    shown, names = shown_tasks(captions, words, named, lexicon, notes)
    occurring = np.flatnonzero(shown.any(axis=0))
    names = tuple(names[task] for task in occurring)
    examples = Examples(words.mask(mentions, lexicon.mask).model, shown[:, occurring], len(names), (lexicon.mask,))
    return [
        Trial(f"t_to_a m seed {number}", examples, *split, number)
        for number in range(seed, seed + settings["trials"])
        for split in [stratified_split(classes, settings["test_share"], number, captions.copies)]
    ], names


def measured_attack(
    measured: Measurement, direction: str, classes: Sequence[str] | None
) -> tuple[Attack, list[Fitted]]:
    """The attack of a measurement whose attackers were kept, and these.

    Raises:
        ValueError: no attackers were kept, or none of this direction, or unknown classes.
    """
    attacks = measured.artefacts if isinstance(measured.artefacts, Attacks) else None
    plan = attacks.plans.get("lic" if measured.metric == "lic" else direction) if attacks else None
    if attacks is None or plan is None or not plan.fitted:
        raise ValueError(
            f"measured has no attackers of direction {direction!r}: measure lic, or dbac in this direction, with "
            "keep_attackers=1 or more"
        )
    explained = _numbers_of(classes, plan.classes) if plan.name == "t_to_a" else _explained(plan.classes)
    parts = measured.signature.partition("|")
    signature = f"metric:attributions|method:{_method(attacks.attacker)}|of:{measured.metric}|{parts[2]}"
    return Attack(plan.first("m", len(plan.fitted)), plan.classes, explained, attacks.attacker, signature), plan.fitted


def _method(attacker: Attacker) -> str | None:
    return f"{attacker.explained},{TOLERANCE:g}" if attacker.precision else attacker.explained


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
