"""What a metric's attackers are trained on and scored on: its plan, from which explanations start as well."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from captionbias.attackers.base import Trial


@dataclass(frozen=True, eq=False)
class AttackPlan:
    """One question that attackers answer from captions.

    `name`: `lic`, or a direction of DBAC. `classes`: what the attacker's outputs are called: attribute values, or
    tasks. `trials`: of each side (`m` the captioner, `h` people) and each column of its captions, one trial a seed.
    """

    name: str
    classes: tuple[str, ...]
    trials: dict[str, list[list[Trial]]]

    def __iter__(self) -> Iterator[Trial]:
        """Every trial, in the order in which they are trained."""
        return (trial for columns in self.trials.values() for column in columns for trial in column)
