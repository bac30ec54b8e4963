"""Trained attackers, kept to be explained: one trial is trained as the engine trains it, and its model stays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from captionbias.attackers import batches, bow
from captionbias.attackers.attacker import CONVEX, find_attacker
from captionbias.attackers.recipes import RECIPES
from captionbias.attackers.trials import Trial
from captionbias.text.tokens import Integers

if TYPE_CHECKING:
    from torch import Tensor

    from captionbias.attackers.neural.network import Network

Logits = npt.NDArray[np.float64]

EXPLAINED = (*CONVEX, *RECIPES)
CAPTIONS_AT_ONCE = 512


@dataclass(frozen=True, eq=False)
class LinearAttacker:
    """A trained convex attacker: `weights` `(n-grams, outputs)` of all n-grams of its examples, `bias` `(outputs,)`.

    A word or pair that it did not learn from weighs 0. Two classes have one output, the second class's log-odds; of
    more classes the outputs add up to 0.
    """

    trial: Trial
    weights: Logits
    bias: Logits
    pairs: bool

    def logits(self, rows: Integers) -> Logits:
        """`(captions, outputs)` of the captions `rows` of the trial's examples."""
        found: Logits = bow.features(self.trial.examples, self.pairs)[rows] @ self.weights + self.bias
        return found


@dataclass(frozen=True, eq=False)
class NeuralAttacker:
    """A trained network, in fp32 whatever the precision of its training; `words`: the embedding row of each word.

    Two classes have one output, the second class's log-odds; of more classes the outputs add up to 0, which changes no
    probability.
    """

    trial: Trial
    network: Network
    words: batches.Numbers

    def embedded(self, rows: Integers) -> Tensor:
        """Embeddings `(captions, longest, width)` of the captions `rows`, which are of equal length."""
        tokens, _ = batches.pad([self.trial], [self.words], rows[None])
        return self._embedding(tokens)[0]

    def padding(self) -> Tensor:
        """The embedding `(width,)` of padding, which no training moves from 0."""
        return self._embedding(np.full((1, 1), batches.PADDING_ROW))[0, 0]

    def read(self, embedded: Tensor) -> Tensor:
        """Logits `(captions, outputs)` of captions that are given as embeddings `(captions, length, width)`.

        The encoders look each token up in an embedding; here the token's number is its place in `embedded`.
        """
        import torch
        from torch.nn.functional import embedding

        from captionbias.attackers.neural.dropout import Keep

        captions, length, width = embedded.shape
        places = torch.arange(captions * length, device=embedded.device).view(1, captions, length)
        table = embedded.reshape(-1, width)
        features = self.network.encoder(
            lambda numbers: embedding(numbers, table), places, np.full((1, captions), length), Keep()
        )
        logits: Tensor = self.network.head(features)[0].float()
        one_of_many = not self.trial.examples.multilabel and logits.shape[1] > 1
        return logits - logits.mean(1, keepdim=True) if one_of_many else logits

    def logits(self, rows: Integers) -> Logits:
        """`(captions, outputs)` of the captions `rows` of the trial's examples."""
        import torch

        tokens = self.trial.examples.tokens
        found = np.empty((len(rows), self.network.output_bias.shape[-1]))
        with torch.no_grad():
            for places in of_equal_length(np.maximum(tokens.lengths[rows], 1), CAPTIONS_AT_ONCE):
                found[places] = self.read(self.embedded(rows[places])).cpu().numpy()
        return found

    def _embedding(self, tokens: Integers) -> Tensor:
        import torch

        with torch.no_grad():
            embedded: Tensor = self.network.embedding(torch.as_tensor(tokens, device=self.network.output_bias.device))
        return embedded


Explainable = LinearAttacker | NeuralAttacker


def fit(trial: Trial, encoder: str, precision: str | None = None) -> Explainable:
    """Train one trial as `run_trials` does, and keep the model.

    Args:
        encoder: `bow`, `linear` or an attacker of `captionbias.attackers.recipes` (LIC's own is `lstm-lic`).
        precision: of neural training, `fp32` or `bf16`; None for the device's own, as in `run_trials`.

    Raises:
        ValueError: an encoder that cannot be explained, or torch is missing.

    >>> from captionbias.attackers.trials import Examples
    >>> from captionbias.text import tokenize
    >>> examples = Examples(tokenize(["a cake", "a wave"] * 20), np.arange(40) % 2, 2)
    >>> attacker = fit(Trial("example", examples, np.arange(30), np.arange(30, 40), seed=0), "bow")
    >>> attacker.logits(np.array([0, 1])).round(1).tolist()
    [[-2.4], [2.4]]
    """
    check_explained(encoder)
    chosen = find_attacker(encoder, precision).precision
    return _neural(trial, encoder, chosen) if chosen else _linear(trial, CONVEX[encoder])


def check_explained(encoder: object) -> None:
    """Raise ValueError unless attackers of this kind can be explained."""
    if not isinstance(encoder, str) or encoder not in EXPLAINED:
        raise ValueError(f"encoder {encoder!r} cannot be explained; choose one of {', '.join(EXPLAINED)}")


def _linear(trial: Trial, pairs: bool) -> LinearAttacker:
    from threadpoolctl import threadpool_limits

    examples = trial.examples
    table = bow.features(examples, pairs)
    train, known = table[trial.train], examples.targets[trial.train]
    columns = bow.learnt_from(train, examples.multilabel)
    found: tuple[npt.NDArray[Any], npt.NDArray[Any]]
    with threadpool_limits(1):  # as the engine has it
        if examples.multilabel:
            found = bow.fit_tasks(train[:, columns], known)
        else:
            model = bow.fit_classes(train[:, columns], known)
            if len(model.classes_) < examples.outputs:
                raise ValueError("trial: a class has no training caption; train on captions of every class")
            found = model.coef_.T, model.intercept_
    weights = np.zeros((table.shape[1], found[0].shape[1]))
    weights[columns] = found[0]
    return LinearAttacker(trial, weights, found[1].astype(np.float64), pairs)


def _neural(trial: Trial, encoder: str, precision: str) -> NeuralAttacker:
    import torch

    from captionbias.attackers.neural.fitting import fit_and_score, one_thread
    from captionbias.attackers.neural.training import untrained
    from captionbias.attackers.processes import device

    recipe = RECIPES[encoder]
    with one_thread():
        network, (words,) = untrained([trial], recipe, precision)
        fit_and_score([trial], [words], network, recipe.schedule, recipe.dropout, device())
    network.requires_grad_(False)
    network.embedding.precision = torch.float32  # integrals of gradients need more digits than bf16 has
    return NeuralAttacker(trial, network, words)


def log_probabilities(logits: Logits) -> Logits:
    """`(captions, classes)` of an attacker's logits `(captions, outputs)` of classes."""
    both = np.pad(logits, ((0, 0), (1, 0))) if logits.shape[1] == 1 else logits
    found: Logits = both - np.logaddexp.reduce(both, axis=1, keepdims=True)
    return found


def of_equal_length(lengths: Integers, most: int) -> list[Integers]:
    """Places of captions of one length each, at most `most` together."""
    order = np.argsort(lengths, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(lengths[order])) + 1)
    return [part for group in groups for part in np.split(group, range(most, len(group), most))]
