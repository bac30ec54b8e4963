"""What a metric's attackers are trained on and scored on: its plan, from which explanations start as well."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from captionbias.attackers.base import Fitted, Trial, TrialScores
from captionbias.attackers.registry import Attacker


@dataclass(frozen=True, eq=False)
class AttackPlan:
    """One question that attackers answer from captions.

    `name`: `lic`, or a direction of DBAC. `classes`: what the attacker's outputs are called: attribute values, or
    tasks. `trials`: of each side (`m` the captioner, `h` people) and each column of its captions, one trial a seed.
    `fitted`: the first attackers of the captioner's captions, if they were kept.
    """

    name: str
    classes: tuple[str, ...]
    trials: dict[str, list[list[Trial]]]
    fitted: list[Fitted] = field(default_factory=list)

    def __iter__(self) -> Iterator[Trial]:
        """Every trial, in the order in which they are trained."""
        return (trial for columns in self.trials.values() for column in columns for trial in column)

    def first(self, side: str, count: int) -> list[Trial]:
        """The first trials of a side's first column."""
        return self.trials[side][0][:count] if side in self.trials else []

    def keep(self, answers: Mapping[Trial, TrialScores]) -> AttackPlan:
        """The plan with those attackers of the captioner's captions that the answers came with."""
        trials = self.first("m", len(answers))
        return replace(self, fitted=[fitted for trial in trials if (fitted := answers[trial].fitted)])


@dataclass(frozen=True, eq=False)
class Attacks:
    """What trained attackers leave to a metric's views: what those of `lic`, or of each direction of `dbac`, were
    trained on, how, and of each direction what its trials compare, a `Direction`."""

    plans: dict[str, AttackPlan]
    attacker: Attacker
    questions: dict[str, Any] = field(default_factory=dict)
