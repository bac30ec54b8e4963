"""What each word of a caption adds to a fitted attacker's answer: a function of the attacker and the caption."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from captionbias.arrays import Flags, Floats, Integers
from captionbias.attackers.convex import FittedConvex
from captionbias.attackers.registry import Attacker
from captionbias.warnings import warn

if TYPE_CHECKING:
    from captionbias.attackers.neural.fitting import FittedNetwork

# Of the difference between an answer and that to no words; in log-odds where the difference is less than 1.
TOLERANCE = 0.01
# With 4 steps, sums are right for 98% of captions, but single words still off by 0.1.
FIRST_STEPS, MOST_STEPS = 8, 512


def check_explained(attacker: Attacker) -> None:
    """Raise ValueError if attackers of this kind cannot be explained, or captum is missing, which networks need."""
    if attacker.explained is None:
        raise ValueError(f"attackers of encoder {attacker.name!r} cannot be explained; measure with another")
    if attacker.precision and not find_spec("captum"):
        raise ValueError("explaining neural attackers takes captum: pip install '.[explain]' in a clone, or use 'bow'")


def contributions(attacker: FittedConvex | FittedNetwork, rows: Integers, outputs: Integers | None = None) -> Floats:
    """The contribution of each word of the captions `rows` to each logit of a fitted attacker, or to these `outputs`,
    `(words, outputs)`: the exact shares of a convex attacker, else integrated gradients."""
    chosen = np.arange(attacker.logits(rows[:1]).shape[1]) if outputs is None else outputs
    if isinstance(attacker, FittedConvex):
        return attacker.contributions(rows, chosen)
    return integrated_gradients(attacker, rows, chosen)


def integrated_gradients(attacker: FittedNetwork, rows: Integers, outputs: Integers) -> Floats:
    """Integrated gradients from no words, with as many steps as each caption needs; of a word in pieces their sum.
    Equal captions are computed once, captions of as many words or pieces together, so there is no padding to explain.
    """
    from captionbias.attackers.neural.fitting import of_equal_length

    tokens = attacker.trial.examples.tokens.select(rows)
    _, first, copy = np.unique(tokens.fingerprints(), return_index=True, return_inverse=True)
    distinct = tokens.select(first)
    values = np.zeros((len(distinct.ids), len(outputs)))
    largest, short = 0.0, 0
    worded = rows[first[distinct.lengths > 0]]
    for group in of_equal_length(attacker.lengths(worded), attacker.at_once // FIRST_STEPS):
        shares, gaps, exact = _along_paths(attacker, worded[group], outputs)
        words = attacker.words(worded[group])
        places = distinct.positions(np.flatnonzero(distinct.lengths)[group])[words[words >= 0]]
        np.add.at(values, places, shares.reshape(-1, len(outputs))[words >= 0])
        largest, short = max(largest, float(gaps.max())), short + int((~exact).sum())
    if short:
        warn(
            f"{short} captions: after {MOST_STEPS} steps the words' values do not add up to within {TOLERANCE:.0%} of "
            f"the attacker's answer; the largest difference is {largest:.2g}",
        )
    return values[distinct.positions(copy.reshape(-1))]


def _along_paths(attacker: FittedNetwork, rows: Integers, outputs: Integers) -> tuple[Floats, Floats, Flags]:
    """Values `(captions, words, outputs)` of captions of equal length, their gaps, and whether these are small enough.
    Steps are doubled for the captions whose values do not add up."""
    import torch
    from captum.attr import IntegratedGradients

    embedded, baselines = attacker.embedded(rows), attacker.baselines(rows)
    with torch.no_grad():
        wanted = (attacker.read(embedded) - attacker.read(baselines)).cpu().double().numpy()[:, outputs]
    method = IntegratedGradients(attacker.read)
    values = np.zeros((*embedded.shape[:2], len(outputs)))
    gaps, exact = np.full(len(rows), np.inf), np.zeros(len(rows), bool)
    n_steps = FIRST_STEPS
    while n_steps <= MOST_STEPS and not exact.all():
        left = np.flatnonzero(~exact)
        by_output = [
            method.attribute(
                embedded[left], baselines[left], target=output, n_steps=n_steps, internal_batch_size=attacker.at_once
            ).sum(2)
            for output in outputs.tolist()
        ]
        values[left] = torch.stack(by_output, 2).cpu().double().numpy()
        gaps = np.abs(values.sum(1) - wanted)
        exact = np.all(gaps <= TOLERANCE * np.maximum(1, np.abs(wanted)), axis=1)
        n_steps *= 2
    return values, gaps, exact
