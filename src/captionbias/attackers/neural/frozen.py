"""Heads on the embeddings of a frozen encoder; and, to be explained, on the encoder itself.

Integrals start from the caption with the mask token in the place of every word: the encoder was trained to read it as a
word that it does not know, and words that were masked for the attacker are this token already, so they get nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from captionbias.arrays import Integers
from captionbias.attackers.base import Examples, Trial
from captionbias.attackers.neural.fitting import (
    Learner,
    adam,
    epochs,
    outputs,
    own_random_numbers,
    start_at_base_rates,
)
from captionbias.attackers.neural.networks import mlp, normalized_mlp
from captionbias.attackers.pretrained.embeddings import embed
from captionbias.attackers.pretrained.encoding import (
    as_texts,
    encoder,
    load_encoder,
    special_tokens,
    whole_characters,
    word_pieces,
)
from captionbias.attackers.pretrained.models import Model
from captionbias.attackers.reader import NO_WORD, Reader, centred, of_equal_length
from captionbias.attackers.recipes import Frozen
from captionbias.attackers.workers import threads
from captionbias.io.store import Store
from captionbias.text.tokens import Tokens

CHECKED = 8
# Of an embedding's length: what bf16 and the order of sums leave is less, another way of reading captions is more.
CLOSE = 0.1


@dataclass(frozen=True, eq=False)
class FrozenEncoder:
    """A pretrained encoder under heads that are trained. Each distinct caption of a table is encoded once; with a
    `store`, once for good."""

    recipe: Frozen
    model: Model
    precision: str
    device: torch.device
    store: Store | None
    tables: WeakKeyDictionary[Examples, Embedded] = field(default_factory=WeakKeyDictionary)

    def fit(self, trial: Trial) -> FittedHead:
        """Train a head on a trial, and score it on the trial's test captions."""
        if trial.examples not in self.tables:
            self.tables[trial.examples] = self._embedded(trial.examples)
        captions = self.tables[trial.examples]
        numbered = replace(trial, examples=captions.numbered)
        with threads(1), own_random_numbers(trial.seed, self.device):
            network = OnTable(captions.table, self._head(numbered, captions.table.shape[1])).to(self.device)
            learner = Learner(numbered, np.arange(len(captions.table), dtype=np.int32), network, "fp32")
            learner.train(adam(network, self.recipe.schedule), epochs(numbered, self.recipe.schedule))
            scores = learner.scores(trial.test)
        return FittedHead(trial, scores, network, captions)

    def _embedded(self, examples: Examples) -> Embedded:
        mask, unknown = special_tokens(self.model)
        texts, numbered = as_texts(examples, mask, unknown)
        encode = encoder(self.model, self.recipe.pooling, self.precision, self.device)
        identity = f"{self.model.identity} {self.recipe.pooling} {self.precision} {self.device.type} {mask} {unknown}"
        embeddings = embed(texts, encode, self.store, identity)
        if examples.pictures is not None:
            tokens = numbered.tokens
            embeddings = np.hstack((embeddings[tokens.ids], examples.pictures.astype(np.float16)))
            numbered = replace(numbered, tokens=replace(tokens, ids=np.arange(len(tokens), dtype=np.int32)))
        return Embedded(self, texts, numbered, torch.from_numpy(embeddings).to(self.device))

    def _head(self, trial: Trial, width: int) -> nn.Sequential:
        widths = (width, *self.recipe.head, outputs(trial))
        if self.recipe.normalized:
            return normalized_mlp(widths)
        head = mlp(widths)
        if self.recipe.base_rates:
            start_at_base_rates(head, trial)
        return head

    @cached_property
    def transformer(self) -> Any:
        """A `SentenceTransformer`, to be explained."""
        return load_encoder(self.model, self.recipe.pooling, self.device).eval().requires_grad_(False)


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
class Embedded:
    """The captions of some examples as an encoder reads them: `texts`, the distinct ones, and `numbered`, the examples
    with each caption as one word, its row in `table`: the embeddings of texts or, with pictures, of each caption and
    picture."""

    encoder: FrozenEncoder
    texts: Sequence[str]
    numbered: Examples
    table: Tensor

    @cached_property
    def pieces(self) -> tuple[Tokens, Tokens]:
        """Each text's pieces in the encoder's own tokenizer, cut off where the encoder ends: their numbers, and the
        positions of their words in the caption, or `NO_WORD`."""
        tokenizer = self.encoder.transformer.tokenizer
        if tokenizer.mask_token_id is None or not tokenizer.is_fast:
            raise self.refusal("its tokenizer has no mask token, or does not say where words are in a text")
        ids, places = word_pieces(tokenizer, self.texts, self.encoder.transformer.max_seq_length)
        # Words are joined by blanks: the number of blanks before a piece's last character is the number of its word.
        words = [
            text.count(" ", 0, end - 1) if end > start else NO_WORD
            for text, of_text in zip(whole_characters(self.texts), places, strict=True)
            for start, end in of_text
        ]
        return ids, replace(ids, ids=np.array(words, np.int32))

    def embed(self, ids: Integers) -> Tensor:
        """The embeddings `(captions, pieces, width)` of word pieces `(captions, pieces)`."""
        embedding = self.encoder.transformer[0].auto_model.get_input_embeddings()
        embedded: Tensor = embedding(torch.as_tensor(ids, device=self.encoder.device))
        return embedded

    def features(self, embedded: Tensor) -> Tensor:
        """The encoder's embeddings of captions `(captions, width)` from those of their word pieces."""
        real = torch.ones(embedded.shape[:2], dtype=torch.int64, device=embedded.device)
        outputs = self.encoder.transformer({"inputs_embeds": embedded, "attention_mask": real, "modality": "text"})
        features: Tensor = outputs["sentence_embedding"].float()
        return features

    def refusal(self, reason: str) -> ValueError:
        return ValueError(
            f"encoder {self.encoder.model.name!r} cannot be explained ({reason}); choose all-MiniLM-L6-v2, say"
        )


@dataclass(frozen=True, eq=False)
class FittedHead(Reader):
    """A head of one trial on an encoder."""

    network: OnTable
    captions: Embedded

    internal_batch_size: ClassVar[int] = 64  # a large encoder needs some gigabytes for more
    n_steps: ClassVar[int] = 16  # with MiniLM enough for nine captions in ten, 8 for less than half

    def pieces(self, rows: Integers) -> Integers:
        return self.captions.pieces[0].lengths[self._texts(rows)]

    def word_of_piece(self, rows: Integers) -> Integers:
        return self._chosen(self.captions.pieces[1], rows)

    def embedded(self, rows: Integers) -> Tensor:
        return self.captions.embed(self._chosen(self.captions.pieces[0], rows))

    def baselines(self, rows: Integers) -> Tensor:
        """The captions with the mask token for each word piece."""
        ids = self._chosen(self.captions.pieces[0], rows)
        mask = self.captions.encoder.transformer.tokenizer.mask_token_id
        return self.captions.embed(np.where(self.word_of_piece(rows) == NO_WORD, ids, mask))

    def read(self, embedded: Tensor) -> Tensor:
        return centred(self.trial, self.network.head(self.captions.features(embedded)))

    def check(self) -> None:
        """Some encoders put words of their own before a caption, or know it by more than its words' embeddings."""
        test = self.trial.test
        rows = test[of_equal_length(self.pieces(test), CHECKED)[0]]
        wanted = self.network.table[torch.as_tensor(self._texts(rows))].float()
        try:
            with torch.no_grad():
                read = self.captions.features(self.embedded(rows))
        except (TypeError, ValueError, NotImplementedError) as error:
            raise self.captions.refusal("it takes no embeddings of words") from error
        if bool(((read - wanted).norm(dim=1) > CLOSE * wanted.norm(dim=1)).any()):
            raise self.captions.refusal("it answers otherwise to the embeddings of words than to words")

    def _texts(self, rows: Integers) -> Integers:
        """The numbers of these captions' texts."""
        return self.captions.numbered.tokens.ids[rows].astype(np.int64)

    def _chosen(self, pieces: Tokens, rows: Integers) -> Integers:
        return pieces.select(self._texts(rows)).ids.reshape(len(rows), -1).astype(np.int64)
