"""Heads on the embeddings of a frozen encoder."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from captionbias.attackers.base import Examples, Fitted, Trial
from captionbias.attackers.neural.fitting import (
    FittedNetwork,
    Learner,
    adam,
    epochs,
    outputs,
    own_random_numbers,
    start_at_base_rates,
)
from captionbias.attackers.neural.networks import mlp, normalized_mlp
from captionbias.attackers.neural.pieces import AT_ONCE, in_pieces, keep_rows, places_of_pieces
from captionbias.attackers.pretrained.embeddings import embed
from captionbias.attackers.pretrained.encoding import as_texts, encoder, load_encoder, special_tokens
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
            learner.train(adam(network, self.recipe.schedule), epochs(numbered, self.recipe.schedule))
            return FittedHead(trial, learner.scores(trial.test), network.head, self)

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


@dataclass(frozen=True, eq=False)
class FittedHead(Fitted):
    """A head on kept embeddings."""

    head: nn.Module
    frozen: FrozenEncoder

    def explained(self) -> FittedNetwork:
        """The head with its encoder, in 32 bits, that reads the captions themselves."""
        trial, model, examples = self.trial, self.frozen.model, self.trial.examples
        pieces = replace(trial, examples=replace(examples, tokens=in_pieces(examples, model)))
        loaded = load_encoder(model, self.frozen.recipe.pooling, self.frozen.device)
        rows = keep_rows(loaded[0].auto_model, pieces.examples.tokens, model)
        network = OnEncoder(loaded, self.head).requires_grad_(False).eval()
        learner = Learner(pieces, rows, network, "fp32")
        return FittedNetwork(trial, self.test_scores, learner, partial(places_of_pieces, examples, model), AT_ONCE)


class OnEncoder(nn.Module):
    """A head on a sentence encoder."""

    def __init__(self, encoder: Any, head: nn.Module) -> None:
        super().__init__()
        self.encoder, self.head = encoder, head

    def forward(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Logits `(captions, outputs)` of word pieces `(captions, longest)`."""
        real = torch.arange(tokens.shape[1], device=tokens.device) < lengths[:, None]
        read = self.encoder({"input_ids": tokens, "attention_mask": real.long()})
        logits: Tensor = self.head(read["sentence_embedding"])
        return logits

    def get_input_embeddings(self) -> nn.Embedding:
        embedding: nn.Embedding = self.encoder[0].auto_model.get_input_embeddings()
        return embedding
