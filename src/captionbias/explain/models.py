"""Trained attackers, kept to be explained: one trial is trained as the engine trains it, and its model stays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from captionbias.arrays import Array, Floats, Integers
from captionbias.attackers import convex
from captionbias.attackers.base import Trial
from captionbias.attackers.device import device
from captionbias.attackers.recipes import RECIPES
from captionbias.attackers.registry import CONVEX, find_attacker
from captionbias.explain.embedded import Reader, WordReader
from captionbias.explain.pretrained import fit_frozen
from captionbias.explain.user_module import fit_own

if TYPE_CHECKING:
    from torch import Tensor, nn

    from captionbias.attackers.neural.network import Network


@dataclass(frozen=True, eq=False)
class LinearAttacker:
    """A trained convex attacker: `weights` `(n-grams, outputs)` of all n-grams of its examples, `bias` `(outputs,)`.

    A word or pair that it did not learn from weighs 0. Two classes have one output, the second class's log-odds; of
    more classes the outputs add up to 0.
    """

    trial: Trial
    weights: Floats
    bias: Floats
    pairs: bool

    def logits(self, rows: Integers) -> Floats:
        """`(captions, outputs)` of the captions `rows` of the trial's examples."""
        found: Floats = convex.features(self.trial.examples, self.pairs)[rows] @ self.weights + self.bias
        return found


@dataclass(frozen=True, eq=False)
class NeuralAttacker(WordReader):
    """A trained network of the engine's own; no training moves padding's embedding from 0."""

    network: Network

    def look_up(self, tokens: Integers) -> Tensor:
        import torch

        with torch.no_grad():
            embedded: Tensor = self.network.embedding(torch.as_tensor(tokens, device=self.network.output_bias.device))
        return embedded

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
        return self.centred(self.network.head(features)[0].float())


Explainable = LinearAttacker | Reader


def fit(
    trial: Trial,
    encoder: str | type[nn.Module],
    precision: str | None = None,
    model: str | None = None,
    cache: bool | str | Path = True,
) -> Explainable:
    """Train one trial as `run_trials` does, and keep the model; see `fit_each`.

    >>> from captionbias.attackers.base import Examples
    >>> from captionbias.text import tokenize
    >>> examples = Examples(tokenize(["a cake", "a wave"] * 20), np.arange(40) % 2, 2)
    >>> attacker = fit(Trial("example", examples, np.arange(30), np.arange(30, 40), seed=0), "bow")
    >>> attacker.logits(np.array([0, 1])).round(1).tolist()
    [[-2.4], [2.4]]
    """
    return next(fit_each([trial], encoder, precision, model, cache))


def fit_each(
    trials: Sequence[Trial],
    encoder: str | type[nn.Module],
    precision: str | None = None,
    model: str | None = None,
    cache: bool | str | Path = True,
) -> Iterator[Explainable]:
    """Train trials one after the other as `run_trials` does, each when it is asked for, and keep their models.

    Args:
        encoder: as `find_attacker` takes it, but for `bert-finetuned`. LIC's own is `lstm-lic`.
        precision: of neural training, `fp32` or `bf16`; None for the device's own, as in `run_trials`.
        model: what `bert-frozen` stands on, a name on the Hub or a folder.
        cache: where embeddings of pretrained encoders are kept, as in `run_trials`.

    Raises:
        ValueError: an encoder that cannot be explained, or a library is missing.
    """
    check_explained(encoder)
    chosen = find_attacker(encoder, precision, model, cache).precision
    if chosen is None:
        return (_linear(trial, CONVEX[str(encoder)]) for trial in trials)
    if encoder in RECIPES:
        return (_neural(trial, str(encoder), chosen) for trial in trials)
    if is_pretrained(encoder):
        return fit_frozen(trials, str(encoder), model, chosen, device(), cache)
    from captionbias.attackers.neural import user_module

    module = user_module.find(encoder)
    return (fit_own(trial, module, chosen, device()) for trial in trials)


def check_explained(encoder: object) -> None:
    """Raise ValueError if attackers of this kind are known and cannot be explained."""
    if encoder == "bert-finetuned":
        raise ValueError(
            f"encoder {encoder!r} cannot be explained; choose one of {', '.join((*CONVEX, *RECIPES))}, bert-frozen, a "
            "pretrained sentence encoder, or your own as module:Class"
        )


def is_pretrained(encoder: object) -> bool:
    """Whether an encoder that `find_attacker` knows is a pretrained one."""
    return isinstance(encoder, str) and encoder not in (*CONVEX, *RECIPES) and ":" not in encoder


def _linear(trial: Trial, pairs: bool) -> LinearAttacker:
    from threadpoolctl import threadpool_limits

    examples = trial.examples
    table = convex.features(examples, pairs)
    train, known = table[trial.train], examples.targets[trial.train]
    columns = convex.learnt_from(train, examples.multilabel)
    found: tuple[Array, Array]
    with threadpool_limits(1):  # as the engine has it
        if examples.multilabel:
            found = convex.fit_tasks(train[:, columns], known)
        else:
            model = convex.fit_classes(train[:, columns], known)
            if len(model.classes_) < examples.outputs:
                raise ValueError("trial: a class has no training caption; train on captions of every class")
            found = model.coef_.T, model.intercept_
    weights = np.zeros((table.shape[1], found[0].shape[1]))
    weights[columns] = found[0]
    return LinearAttacker(trial, weights, found[1].astype(np.float64), pairs)


def _neural(trial: Trial, encoder: str, precision: str) -> NeuralAttacker:
    import torch

    from captionbias.attackers.neural.fitting import fit_and_score, one_thread, outputs
    from captionbias.attackers.neural.training import untrained

    recipe = RECIPES[encoder]
    with one_thread():
        network, (words,) = untrained([trial], recipe, precision)
        fit_and_score([trial], [words], network, recipe.schedule, recipe.dropout, device())
    network.requires_grad_(False)
    network.embedding.precision = torch.float32  # integrals of gradients need more digits than bf16 has
    return NeuralAttacker(trial, outputs(trial), words, network)


def log_probabilities(logits: Floats) -> Floats:
    """`(captions, classes)` of an attacker's logits `(captions, outputs)` of classes."""
    both = np.pad(logits, ((0, 0), (1, 0))) if logits.shape[1] == 1 else logits
    found: Floats = both - np.logaddexp.reduce(both, axis=1, keepdims=True)
    return found
