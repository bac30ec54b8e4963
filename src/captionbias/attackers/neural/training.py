"""The attackers of `recipes`, one or several trials at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from captionbias.arrays import Ids
from captionbias.attackers import batches
from captionbias.attackers.base import Trial, TrialScores
from captionbias.attackers.neural.fitting import PRECISIONS, fit_and_score, one_thread, outputs
from captionbias.attackers.neural.network import Network
from captionbias.attackers.recipes import Recipe


def train(trials: Sequence[Trial], recipe: Recipe, precision: str, device: torch.device) -> list[TrialScores]:
    """Train trials of one `batches.shape` together, and score each on its test captions.

    What a trial gives does not depend on the others, but for the last bits of sums.
    """
    with one_thread():
        model, words = untrained(trials, recipe, precision)
        return fit_and_score(trials, words, model, recipe.schedule, recipe.dropout, device)


def untrained(trials: Sequence[Trial], recipe: Recipe, precision: str) -> tuple[Network, tuple[Ids, ...]]:
    """The network that these trials' training starts from, and each trial's embedding row of each word."""
    words, rows = zip(*map(batches.vocabulary, trials), strict=True)
    generators = [torch.Generator().manual_seed(trial.seed) for trial in trials]
    model = Network(generators, recipe, rows, outputs(trials[0]), PRECISIONS[precision])
    if recipe.base_rates:
        with torch.no_grad():
            model.output_bias.copy_(torch.stack([base_rates(trial) for trial in trials]))
    return model, words


def base_rates(trial: Trial) -> Tensor:
    """The output as if captions told nothing: with 80 rare tasks most of the training would go into getting there."""
    known = trial.examples.targets[trial.train]
    if trial.examples.multilabel:
        share = known.mean(axis=0)
    else:
        share = np.bincount(known, minlength=trial.examples.outputs)[-outputs(trial) :] / len(known)
    share = np.clip(share, 0.5 / len(known), 1 - 0.5 / len(known))
    against_rest = trial.examples.multilabel or outputs(trial) == 1
    return torch.as_tensor(np.log(share / (1 - share)) if against_rest else np.log(share))[None]
