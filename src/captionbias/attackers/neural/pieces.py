"""Captions in the pieces of an encoder's own tokenizer, and which word of a caption each piece is of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from captionbias.arrays import Array, Ids
from captionbias.attackers.base import Examples
from captionbias.attackers.neural.fitting import FIRST_WORD_ROW, PADDING_ROW
from captionbias.attackers.pretrained.encoding import (
    as_texts,
    no_threads_of_tokenizers,
    read_tokenizer,
    reading,
    special_tokens,
    spelled,
    whole_characters,
)
from captionbias.attackers.pretrained.models import Model
from captionbias.text.tokens import Tokens

AT_ONCE = 64  # captions through an encoder, with gradients


def in_pieces(examples: Examples, model: Model) -> Tokens:
    """The captions as the encoder's own tokenizer has them, cut off where the encoder ends."""
    texts, numbered = as_texts(examples, *special_tokens(model))
    return _ragged(_tokenizer(model, texts)["input_ids"]).select(numbered.tokens.ids)


def places_of_pieces(examples: Examples, model: Model) -> Tokens:
    """For each piece of `in_pieces` the place in its caption of the word that it is of, -1 for a mark of the encoder's
    own."""
    special = special_tokens(model)
    texts, numbered = as_texts(examples, *special)
    try:
        spans = _tokenizer(model, texts, return_offsets_mapping=True)["offset_mapping"]
    except NotImplementedError as error:
        raise ValueError(f"{model.name} cannot be explained: its tokenizer does not tell where pieces stand") from error
    lengths = np.array([len(word) for word in spelled(examples, *special)], np.int64)
    _, first = np.unique(numbered.tokens.ids, return_index=True)
    of_texts = examples.tokens.select(first)
    words = np.split(lengths[of_texts.ids], of_texts.offsets[1:-1])
    ends = [np.array([end for _, end in span], np.int64) for span in spans]
    # Some pieces begin with the blank before their word, so the last letter of a piece tells its word.
    places = [
        np.where(end > 0, np.searchsorted(np.cumsum(word + 1) - 1, end - 1, side="right"), -1)
        for word, end in zip(words, ends, strict=True)
    ]
    return _ragged(places).select(numbered.tokens.ids)


def keep_rows(encoder: Any, pieces: Tokens, model: Model) -> Ids:
    """Leave an encoder the rows of its embedding that captions need, as an optimizer goes over all of them at every
    step, and give the row of each piece."""
    embedding: nn.Embedding = encoder.get_input_embeddings()
    present = np.bincount(pieces.ids, minlength=len(embedding.weight)) > 0
    rows = torch.from_numpy(np.concatenate(([0, read_tokenizer(model).pad_token_id or 0], np.flatnonzero(present))))
    embedding.weight = nn.Parameter(embedding.weight.detach()[rows])
    embedding.num_embeddings, embedding.padding_idx = len(rows), PADDING_ROW
    return np.where(present, np.cumsum(present) - 1 + FIRST_WORD_ROW, 0).astype(np.int32)


def _tokenizer(model: Model, texts: Sequence[str], **wanted: bool) -> Any:
    from transformers import AutoConfig

    tokenizer = read_tokenizer(model)
    with reading(model):
        configuration = AutoConfig.from_pretrained(model.folder, trust_remote_code=False)
    positions = getattr(configuration, "max_position_embeddings", None)
    tokenizer.model_max_length = min(tokenizer.model_max_length, positions or tokenizer.model_max_length)
    with no_threads_of_tokenizers():
        return tokenizer(whole_characters(texts), truncation=True, **wanted)


def _ragged(rows: Sequence[Sequence[int] | Array]) -> Tokens:
    return Tokens(np.concatenate(rows).astype(np.int32), np.cumsum([0, *map(len, rows)]), ())
