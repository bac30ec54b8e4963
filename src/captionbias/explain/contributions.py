"""What each word of a caption adds to a trained attacker's answer: a function of the attacker and the caption."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from captionbias.attackers import bow
from captionbias.captions import CaptionBiasWarning
from captionbias.explain.models import Explainable, LinearAttacker, NeuralAttacker, of_equal_length
from captionbias.text.tokens import Flags, Integers, Tokens

if TYPE_CHECKING:
    from torch import Tensor

Values = npt.NDArray[np.float64]

# Of the difference between an answer and that to padding; in log-odds where the difference is less than 1.
TOLERANCE = 0.01
STEPS, MOST_STEPS = 8, 512  # with 4, sums are right for 98% of captions, but single words still off by 0.1
PATHS_AT_ONCE = 512


@dataclass(frozen=True, eq=False)
class Contributions:
    """`values` `(words, outputs)` of the words of some captions, one caption after the other.

    `largest_delta`: how far any caption's sum is from what it should be, its logit less that of no words at all.
    """

    values: Values
    largest_delta: float


def check_captum() -> None:
    """Raise ValueError if captum, which neural attackers are explained with, is missing."""
    if not find_spec("captum"):
        raise ValueError("neural attackers are explained with captum: pip install 'captionbias[explain]', or use 'bow'")


def contributions(attacker: Explainable, rows: Integers) -> Contributions:
    """What each word of the captions `rows` adds to each logit of a trained attacker."""
    tokens = attacker.trial.examples.tokens.select(rows)
    if isinstance(attacker, LinearAttacker):
        values = shares(attacker, rows)
        wanted = attacker.logits(rows) - attacker.bias
        return Contributions(values, float(np.abs(_sums(values, tokens) - wanted).max()))
    return integrated_gradients(attacker, rows)


def shares(attacker: LinearAttacker, rows: Integers) -> Values:
    """The exact values: a word's own weight, and half of that of each pair that it is part of.

    An n-gram counts once however often it stands in a caption; its weight is divided among the places it stands at.
    """
    table = attacker.trial.examples.tokens
    tokens = table.select(rows)
    columns, width = bow.ngrams_of_tokens(table, attacker.pairs)
    columns = columns[_positions(table, rows)]
    keys = np.where(columns == bow.NO_PAIR, -1, tokens.rows[:, None] * width + columns)
    _, number, times = np.unique(keys, return_inverse=True, return_counts=True)
    share = attacker.weights[columns] / times[number].reshape(*columns.shape, 1)
    share[columns == bow.NO_PAIR] = 0
    words, pairs = share[:, 0], share[:, 1] / 2
    words += pairs
    words[1:] += pairs[:-1]  # the last word of a caption begins no pair
    return words


def integrated_gradients(attacker: NeuralAttacker, rows: Integers) -> Contributions:
    """Integrated gradients from padding, with as many steps as each caption needs to come within the tolerance.

    Equal captions are computed once, captions of equal length together, so there is no padding to explain.
    """
    tokens = attacker.trial.examples.tokens.select(rows)
    _, first, copy = np.unique(tokens.fingerprints(), return_index=True, return_inverse=True)
    distinct = tokens.select(first)
    values = np.zeros((len(distinct.ids), attacker.network.output_bias.shape[-1]))
    largest, short = 0.0, 0
    for places in of_equal_length(distinct.lengths, PATHS_AT_ONCE // STEPS):
        length = int(distinct.lengths[places[0]])
        if not length:
            continue
        found, gaps, exact = _along_paths(attacker, attacker.embedded(rows[first[places]]))
        values[distinct.offsets[places][:, None] + np.arange(length)] = found
        largest, short = max(largest, float(gaps.max())), short + int((~exact).sum())
    if short:
        warnings.warn(
            f"{short} captions: after {MOST_STEPS} steps the words' values do not add up to within {TOLERANCE:.0%} of "
            f"the attacker's answer; the largest difference is {largest:.2g}",
            CaptionBiasWarning,
            stacklevel=2,
        )
    return Contributions(values[_positions(distinct, copy.reshape(-1))], largest)


def _along_paths(attacker: NeuralAttacker, embedded: Tensor) -> tuple[Values, Values, Flags]:
    """Of embedded captions of one length: values `(captions, words, outputs)`, their gaps, and whether these are fine.

    Steps are doubled for the captions whose values do not add up.
    """
    import torch
    from captum.attr import IntegratedGradients

    start = attacker.padding().expand(1, *embedded.shape[1:])
    with torch.no_grad():
        wanted = (attacker.read(embedded) - attacker.read(start)).cpu().double().numpy()
    method = IntegratedGradients(attacker.read)
    captions, outputs = wanted.shape
    values = np.zeros((*embedded.shape[:2], outputs))
    gaps, exact = np.full(captions, np.inf), np.zeros(captions, bool)
    steps = STEPS
    while steps <= MOST_STEPS and not exact.all():
        left = np.flatnonzero(~exact)
        for some in np.split(left, range(0, len(left), max(1, PATHS_AT_ONCE // steps))[1:]):
            by_output = [
                method.attribute(embedded[some], start, target=output, n_steps=steps).sum(2)
                for output in range(outputs)
            ]
            values[some] = torch.stack(by_output, 2).cpu().double().numpy()
        gaps = np.abs(values.sum(1) - wanted)
        exact = np.all(gaps <= TOLERANCE * np.maximum(1, np.abs(wanted)), axis=1)
        steps *= 2
    return values, gaps, exact


def _positions(tokens: Tokens, rows: Integers) -> Integers:
    """Where the words of the captions `rows` stand in `tokens.ids`, caption after caption."""
    numbered = replace(tokens, ids=np.arange(len(tokens.ids), dtype=np.int32))
    return numbered.select(rows).ids.astype(np.int64)


def _sums(values: Values, tokens: Tokens) -> Values:
    """`(captions, outputs)` of `(words, outputs)`."""
    totals = np.concatenate((np.zeros((1, values.shape[1])), np.cumsum(values, axis=0)))
    return totals[tokens.offsets[1:]] - totals[tokens.offsets[:-1]]
