"""Heads on the embeddings of a frozen encoder."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from captionbias.attackers.base import Examples, Fitted, Trial
from captionbias.attackers.neural.fitting import Learner, adam, epochs, outputs, own_random_numbers, start_at_base_rates
from captionbias.attackers.neural.networks import mlp, normalized_mlp
from captionbias.attackers.pretrained.embeddings import embed
from captionbias.attackers.pretrained.encoding import as_texts, encoder, special_tokens
from captionbias.attackers.pretrained.models import Model
from captionbias.attackers.recipes import Frozen
from captionbias.attackers.workers import threads
from captionbias.io.store import Store


@dataclass(frozen=True, eq=False)
class FrozenEncoder:
    """A pretrained encoder under heads that are trained. Each distinct caption of a table is encoded once; with a
    `store`, once for good."""

    recipe: Frozen
    model: Model
    precision: str
    device: torch.device
    store: Store | None
    tables: WeakKeyDictionary[Examples, tuple[Examples, Tensor]] = field(default_factory=WeakKeyDictionary)

    def fit(self, trial: Trial) -> Fitted:
        """Train a head on a trial, and score it on the trial's test captions."""
        if trial.examples not in self.tables:
            self.tables[trial.examples] = self._embedded(trial.examples)
        examples, table = self.tables[trial.examples]
        numbered = replace(trial, examples=examples)
        with threads(1), own_random_numbers(trial.seed, self.device):
            network = OnTable(table, self._head(numbered, table.shape[1])).to(self.device)
            learner = Learner(numbered, np.arange(len(table), dtype=np.int32), network, "fp32")
            learner.train(adam(network.parameters(), self.recipe.schedule), epochs(numbered, self.recipe.schedule))
            return Fitted(trial, learner.scores(trial.test))

    def _embedded(self, examples: Examples) -> tuple[Examples, Tensor]:
        """The examples with each caption as one word, its row in a table; and that table: the embeddings of the
        distinct captions or, with pictures, of each caption and picture."""
        mask, unknown = special_tokens(self.model)
        texts, numbered = as_texts(examples, mask, unknown)
        encode = encoder(self.model, self.recipe.pooling, self.precision, self.device)
        identity = f"{self.model.identity} {self.recipe.pooling} {self.precision} {self.device.type} {mask} {unknown}"
        embeddings = embed(texts, encode, self.store, identity)
        if examples.pictures is not None:
            tokens = numbered.tokens
            embeddings = np.hstack((embeddings[tokens.ids], examples.pictures.astype(np.float16)))
            numbered = replace(numbered, tokens=replace(tokens, ids=np.arange(len(tokens), dtype=np.int32)))
        return numbered, torch.from_numpy(embeddings).to(self.device)

    def _head(self, trial: Trial, width: int) -> nn.Sequential:
        widths = (width, *self.recipe.head, outputs(trial))
        if self.recipe.normalized:
            return normalized_mlp(widths)
        head = mlp(widths)
        if self.recipe.base_rates:
            start_at_base_rates(head, trial)
        return head


class OnTable(nn.Module):
    """A head on a table of embeddings; a caption is the number of a row."""

    def __init__(self, table: Tensor, head: nn.Module) -> None:
        super().__init__()
        self.table, self.head = table, head

    def forward(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Logits `(captions, outputs)` of `tokens` `(captions, 1)`."""
        logits: Tensor = self.head(functional.embedding(tokens[:, 0], self.table).float())
        return logits
