"""Heads on pretrained encoders, explained through the encoder from the embeddings of its word pieces.

Integrals start from the caption with the mask token in the place of every word, between the same marks of beginning and
end. The encoder was trained to read that token as a word that it is not told, where padding is what its attention never
looked at; and words that were masked for the attacker are this token already, so they rightly get nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from captionbias.arrays import Integers
from captionbias.attackers.base import Trial
from captionbias.attackers.batches import FIRST_WORD_ROW
from captionbias.attackers.pretrained.models import Model, find_model
from captionbias.attackers.recipes import BERT_FROZEN, SENTENCES
from captionbias.attackers.registry import BERTS
from captionbias.explain.embedded import NO_WORD, Reader, of_equal_length
from captionbias.io.store import open_store
from captionbias.text.tokens import Tokens

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from captionbias.attackers.neural.frozen import OnTable

CHECKED = 8
# Of an embedding's length: what bf16 and the order of sums leave is less, another way of reading captions is more.
CLOSE = 0.1


@dataclass(frozen=True, eq=False)
class Pieces:
    """Distinct texts as an encoder's word pieces.

    `ids`: their numbers in its vocabulary. `words`: in their place, the place of each one's word in its caption, or
    `NO_WORD`. `blank`: the number of the token that says nothing.
    """

    ids: Tokens
    words: Tokens
    blank: int


@dataclass(frozen=True, eq=False)
class FrozenAttacker(Reader):
    """A trained head on an encoder; `numbers`: each caption's text among the `texts`, which are word pieces."""

    network: OnTable
    encoder: Any
    texts: Pieces
    numbers: Integers

    paths_at_once: ClassVar[int] = 64  # a large encoder needs some gigabytes for more
    roughness: ClassVar[int] = 2  # with MiniLM, 16 steps are enough for nine captions in ten, 8 for less than half

    def pieces(self, rows: Integers) -> Integers:
        return self.texts.ids.lengths[self.numbers[rows]]

    def word_of_piece(self, rows: Integers) -> Integers:
        return self.texts.words.select(self.numbers[rows]).ids.reshape(len(rows), -1).astype(np.int64)

    def embedded(self, rows: Integers) -> Tensor:
        return self._look_up(self._ids(rows))

    def start(self, rows: Integers) -> Tensor:
        """The captions with the mask token for each word piece, or what the encoder has in its place."""
        return self._look_up(np.where(self.word_of_piece(rows) == NO_WORD, self._ids(rows), self.texts.blank))

    def features(self, embedded: Tensor) -> Tensor:
        """The encoder's embeddings of captions `(captions, width)` from those of their word pieces."""
        import torch

        real = torch.ones(embedded.shape[:2], dtype=torch.int64, device=embedded.device)
        found = self.encoder({"inputs_embeds": embedded, "attention_mask": real, "modality": "text"})
        features: Tensor = found["sentence_embedding"].float()
        return features

    def read(self, embedded: Tensor) -> Tensor:
        import torch

        features = self.features(embedded)[None]
        if self.network.normalized:
            real = torch.ones(features.shape[:2], dtype=torch.bool, device=features.device)
            logits = self.network.head(features, real)
        else:
            logits = self.network.head(features)
        return self.centred(logits[0])

    def _ids(self, rows: Integers) -> Integers:
        return self.texts.ids.select(self.numbers[rows]).ids.reshape(len(rows), -1).astype(np.int64)

    def _look_up(self, ids: Integers) -> Tensor:
        import torch

        with torch.no_grad():
            table = self.encoder[0].auto_model.get_input_embeddings()
            embedded: Tensor = table(torch.as_tensor(ids, device=self.encoder.device))
        return embedded


def fit_frozen(
    trials: Sequence[Trial],
    encoder: str,
    model: str | None,
    precision: str,
    device: torch.device,
    cache: bool | str | Path,
) -> Iterator[FrozenAttacker]:
    """Train a head for each trial as the engine does, and keep it with the encoder; every caption is encoded once.

    Raises:
        ValueError: the encoder cannot be loaded, or it cannot be given embeddings of words.
    """
    from captionbias.attackers.neural.fitting import outputs
    from captionbias.attackers.neural.frozen import embedded, fit_heads
    from captionbias.attackers.pretrained.encoding import load_encoder

    bert = encoder in BERTS
    found = find_model(model or "bert-base-uncased", "model") if bert else find_model(encoder)
    recipe, store = BERT_FROZEN if bert else SENTENCES, open_store(cache)
    texts, table = embedded(trials, recipe, found, precision, device, store)
    loaded = load_encoder(found, recipe.pooling, device).eval().requires_grad_(False)
    pieces = _in_pieces(texts.distinct, loaded, found)
    for trial, numbered in zip(trials, texts.trials, strict=True):
        network, _ = fit_heads([numbered], table, recipe, device)
        numbers = numbered.examples.tokens.ids.astype(np.int64)
        network.requires_grad_(False)
        attacker = FrozenAttacker(trial, outputs(trial), network, loaded, pieces, numbers)
        _check(attacker, table, found)
        yield attacker


def _in_pieces(texts: list[str], encoder: Any, model: Model) -> Pieces:
    """As the encoder's own tokenizer has them, cut off where the encoder ends."""
    from captionbias.attackers.pretrained.encoding import no_threads_of_tokenizers

    tokenizer = encoder.tokenizer
    blanks = (tokenizer.mask_token_id, tokenizer.unk_token_id, tokenizer.pad_token_id)
    blank = next((number for number in blanks if number is not None), None)
    if blank is None or not tokenizer.is_fast:
        lacking = "a token for nothing" if blank is None else "the places of its tokens in a text"
        raise ValueError(_refusal(model, f"its tokenizer does not tell {lacking}"))
    whole = [text.encode("utf-8", "replace").decode() for text in texts]
    with no_threads_of_tokenizers():
        said = tokenizer(whole, truncation=True, max_length=encoder.max_seq_length, return_offsets_mapping=True)
    lengths = np.fromiter(map(len, said["input_ids"]), np.int64, len(texts))
    # Words are joined by blanks: as many as stand before a piece's last character, so many words do.
    words = [
        [text.count(" ", 0, end - 1) if end > start else NO_WORD for start, end in places]
        for text, places in zip(whole, said["offset_mapping"], strict=True)
    ]
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    ids = Tokens(np.concatenate(said["input_ids"]).astype(np.int32), offsets, ())
    return Pieces(ids, replace(ids, ids=np.concatenate(words).astype(np.int32)), blank)


def _check(attacker: FrozenAttacker, table: Tensor, model: Model) -> None:
    """Some encoders put words of their own before a caption, or know it by more than its words' embeddings."""
    import torch

    lengths = attacker.pieces(attacker.trial.test)
    rows = attacker.trial.test[of_equal_length(lengths, CHECKED)[0]]
    wanted = table[attacker.numbers[rows] + FIRST_WORD_ROW].float()
    try:
        with torch.no_grad():
            found = attacker.features(attacker.embedded(rows)).cpu()
    except (TypeError, ValueError, NotImplementedError) as error:
        raise ValueError(_refusal(model, "it takes no embeddings of words")) from error
    if bool(((found - wanted).norm(dim=1) > CLOSE * wanted.norm(dim=1)).any()):
        raise ValueError(_refusal(model, "it answers otherwise to the embeddings of words than to words"))


def _refusal(model: Model, reason: str) -> str:
    return f"encoder {model.name!r} cannot be explained ({reason}); choose all-MiniLM-L6-v2, say"
