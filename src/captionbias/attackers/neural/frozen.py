"""Heads on the embeddings of a frozen encoder, `S` of them in one; and, to be explained, on the encoder itself.

Integrals start from the caption with the mask token in the place of every word, between the same marks of beginning and
end. The encoder was trained to read that token as a word that it does not know, where padding is what its attention
never looked at; and words that were masked for the attacker are this token already, so they rightly get nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from captionbias.arrays import Integers
from captionbias.attackers.base import Examples, Trial, TrialScores
from captionbias.attackers.batches import FIRST_WORD_ROW, UNKNOWN_ROW
from captionbias.attackers.neural.fitting import base_rates, fit_and_score, one_thread, outputs, score_tests
from captionbias.attackers.neural.layers import MLP, Dropout, NormalizedMLP, parts
from captionbias.attackers.pretrained.embeddings import Embeddings, embed
from captionbias.attackers.pretrained.encoding import (
    as_texts,
    encoder,
    load_encoder,
    no_threads_of_tokenizers,
    special_tokens,
    whole_characters,
)
from captionbias.attackers.pretrained.models import Model
from captionbias.attackers.reader import NO_WORD, Reader, of_equal_length
from captionbias.attackers.recipes import Frozen
from captionbias.io.store import Store
from captionbias.text.tokens import Tokens

CHECKED = 8
# Of an embedding's length: what bf16 and the order of sums leave is less, another way of reading captions is more.
CLOSE = 0.1


def fit(
    trials: Sequence[Trial], recipe: Frozen, model: Model, precision: str, device: torch.device, store: Store | None
) -> list[FittedHead]:
    """Train the heads of trials of one `batches.shape` together, and score each on its test captions.

    Each distinct caption is encoded once; with a `store`, once for good.

    Raises:
        ValueError: the encoder cannot be loaded.
    """
    mask, unknown = special_tokens(model)
    texts, numbered = as_texts(trials, mask, unknown)
    identity = f"{model.identity} {recipe.pooling} {precision} {device.type} {mask} {unknown}"
    embeddings = embed(texts, encoder(model, recipe.pooling, precision, device), store, identity)
    if trials[0].examples.pictures is not None:
        embeddings, numbered = _beside_pictures(embeddings, numbered)
    table = torch.from_numpy(np.pad(embeddings, ((FIRST_WORD_ROW, 0), (0, 0))))
    with one_thread():
        stack = _untrained(numbered, table, recipe)
        scores = fit_and_score(numbered, _rows(table, trials), stack, recipe.schedule, 0.0, device)
        networks = parts(
            stack, len(trials), lambda trial: _untrained([numbered[trial]], stack.table, recipe).to(device)
        )
    whole = WholeEncoder(texts, model, recipe.pooling, device)
    return [FittedHead(*of_trial, whole) for of_trial in zip(trials, scores, numbered, networks, strict=True)]


def _untrained(trials: Sequence[Trial], table: Tensor, recipe: Frozen) -> OnTable:
    generators = [torch.Generator().manual_seed(trial.seed) for trial in trials]
    widths = (table.shape[1], *recipe.head, outputs(trials[0]))
    head = NormalizedMLP(generators, widths) if recipe.normalized else MLP(generators, widths)
    if recipe.base_rates and isinstance(head, MLP):
        head.start_at(list(map(base_rates, trials)))
    return OnTable(table, head)


def _beside_pictures(embeddings: Embeddings, trials: Sequence[Trial]) -> tuple[Embeddings, list[Trial]]:
    """The embeddings of every caption and its picture, and the trials with each caption as the number of these."""
    pairs: list[Embeddings] = []
    renumbered: dict[Examples, Examples] = {}
    for examples in dict.fromkeys(trial.examples for trial in trials):
        tokens = examples.tokens
        first = sum(map(len, pairs))
        pairs.append(np.hstack((embeddings[tokens.ids], np.asarray(examples.pictures, np.float16))))
        ids = np.arange(first, first + len(tokens), dtype=np.int32)
        renumbered[examples] = replace(examples, tokens=replace(tokens, ids=ids))
    return np.concatenate(pairs), [replace(trial, examples=renumbered[trial.examples]) for trial in trials]


def _rows(table: Tensor, trials: Sequence[Trial]) -> list[Any]:
    """The row of each text in a table of embeddings, the same for each trial."""
    return [np.arange(FIRST_WORD_ROW, len(table), dtype=np.int32)] * len(trials)


class OnTable(nn.Module):
    """A head on a table with the embedding of text `i` in row `FIRST_WORD_ROW + i`; a caption is one such number."""

    def __init__(self, table: Tensor, head: nn.Module) -> None:
        super().__init__()
        self.table: Tensor
        self.register_buffer("table", table, persistent=False)
        self.head = head

    def forward(self, tokens: Tensor, lengths: Integers, drop: Dropout) -> Tensor:
        """Logits `(S, B, outputs)` of `tokens` `(S, B, 1)`."""
        numbers = tokens[:, :, 0]
        return self.answer(functional.embedding(numbers, self.table).float(), numbers != UNKNOWN_ROW)

    def answer(self, features: Tensor, real: Tensor) -> Tensor:
        """Logits of embeddings `(S, B, width)`, of which those that are not `real` `(S, B)` are filling."""
        logits: Tensor = self.head(features, real) if isinstance(self.head, NormalizedMLP) else self.head(features)
        return logits


@dataclass(frozen=True, eq=False)
class Pieces:
    """Distinct texts as an encoder's word pieces.

    `ids`: their numbers in its vocabulary. `words`: in their place, the position of each one's word in its caption, or
    `NO_WORD`. `blank`: the number of the token that says nothing.
    """

    ids: Tokens
    words: Tokens
    blank: int


@dataclass(frozen=True, eq=False)
class WholeEncoder:
    """The encoder of a run and the texts that it has read, loaded and cut into pieces when they are first asked for."""

    texts: Sequence[str]
    model: Model
    pooling: str | None
    device: torch.device

    @cached_property
    def encoder(self) -> Any:
        """A `SentenceTransformer`."""
        return load_encoder(self.model, self.pooling, self.device).eval().requires_grad_(False)

    @cached_property
    def pieces(self) -> Pieces:
        """As the encoder's own tokenizer has them, cut off where the encoder ends."""
        tokenizer = self.encoder.tokenizer
        blanks = (tokenizer.mask_token_id, tokenizer.unk_token_id, tokenizer.pad_token_id)
        blank = next((number for number in blanks if number is not None), None)
        if blank is None or not tokenizer.is_fast:
            lacking = "a token for nothing" if blank is None else "the places of its tokens in a text"
            raise self.refusal(f"its tokenizer does not give {lacking}")
        whole = whole_characters(self.texts)
        with no_threads_of_tokenizers():
            cut = tokenizer(whole, truncation=True, max_length=self.encoder.max_seq_length, return_offsets_mapping=True)
        lengths = np.fromiter(map(len, cut["input_ids"]), np.int64, len(whole))
        # Words are joined by blanks: the number of blanks before a piece's last character is the number of its word.
        words = [
            [text.count(" ", 0, end - 1) if end > start else NO_WORD for start, end in places]
            for text, places in zip(whole, cut["offset_mapping"], strict=True)
        ]
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        ids = Tokens(np.concatenate(cut["input_ids"]).astype(np.int32), offsets, ())
        return Pieces(ids, replace(ids, ids=np.concatenate(words).astype(np.int32)), blank)

    def embed(self, ids: Integers) -> Tensor:
        """The embeddings `(captions, pieces, width)` of word pieces `(captions, pieces)`."""
        embedding = self.encoder[0].auto_model.get_input_embeddings()
        embedded: Tensor = embedding(torch.as_tensor(ids, device=self.device))
        return embedded

    def features(self, embedded: Tensor) -> Tensor:
        """The encoder's embeddings of captions `(captions, width)` from those of their word pieces."""
        real = torch.ones(embedded.shape[:2], dtype=torch.int64, device=embedded.device)
        found = self.encoder({"inputs_embeds": embedded, "attention_mask": real, "modality": "text"})
        features: Tensor = found["sentence_embedding"].float()
        return features

    def refusal(self, reason: str) -> ValueError:
        return ValueError(f"encoder {self.model.name!r} cannot be explained ({reason}); choose all-MiniLM-L6-v2, say")


@dataclass(frozen=True, eq=False)
class FittedHead(Reader):
    """A head of one trial on an encoder; `numbered`: the trial with each caption as one word, its text's number."""

    numbered: Trial
    network: OnTable
    whole: WholeEncoder

    internal_batch_size: ClassVar[int] = 64  # a large encoder needs some gigabytes for more
    n_steps: ClassVar[int] = 16  # with MiniLM enough for nine captions in ten, 8 for less than half

    def scores(self, rows: Integers) -> TrialScores:
        with one_thread():
            trials = [replace(self.numbered, test=rows)]
            return score_tests(trials, _rows(self.network.table, trials), self.network)[0]

    def pieces(self, rows: Integers) -> Integers:
        return self.whole.pieces.ids.lengths[self._texts(rows)]

    def word_of_piece(self, rows: Integers) -> Integers:
        return self._chosen(self.whole.pieces.words, rows)

    def embedded(self, rows: Integers) -> Tensor:
        return self.whole.embed(self._chosen(self.whole.pieces.ids, rows))

    def baselines(self, rows: Integers) -> Tensor:
        """The captions with the mask token for each word piece, or what the encoder has in its place."""
        ids = self._chosen(self.whole.pieces.ids, rows)
        return self.whole.embed(np.where(self.word_of_piece(rows) == NO_WORD, ids, self.whole.pieces.blank))

    def read(self, embedded: Tensor) -> Tensor:
        features = self.whole.features(embedded)[None]
        real = torch.ones(features.shape[:2], dtype=torch.bool, device=features.device)
        return self.centred(self.network.answer(features, real)[0])

    def check(self) -> None:
        """Some encoders put words of their own before a caption, or know it by more than its words' embeddings."""
        test = self.trial.test
        rows = test[of_equal_length(self.pieces(test), CHECKED)[0]]
        wanted = self.network.table[torch.as_tensor(self._texts(rows) + FIRST_WORD_ROW)].float()
        try:
            with torch.no_grad():
                found = self.whole.features(self.embedded(rows))
        except (TypeError, ValueError, NotImplementedError) as error:
            raise self.whole.refusal("it takes no embeddings of words") from error
        if bool(((found - wanted).norm(dim=1) > CLOSE * wanted.norm(dim=1)).any()):
            raise self.whole.refusal("it answers otherwise to the embeddings of words than to words")

    def _texts(self, rows: Integers) -> Integers:
        """The numbers of these captions' texts."""
        return self.numbered.examples.tokens.ids[rows].astype(np.int64)

    def _chosen(self, pieces: Tokens, rows: Integers) -> Integers:
        return pieces.select(self._texts(rows)).ids.reshape(len(rows), -1).astype(np.int64)
