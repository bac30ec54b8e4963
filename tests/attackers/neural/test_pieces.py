"""Encoders read captions in pieces, and lose the rows of their embedding that no piece needs."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from captionbias.attackers.base import Examples
from captionbias.attackers.neural.pieces import in_pieces, keep_rows
from captionbias.attackers.pretrained.models import find_model
from captionbias.text import tokenize

pytest.importorskip("sentence_transformers")


def examples(captions: list[str], masks: tuple[str, ...] = ()) -> Examples:
    return Examples(tokenize(captions), np.zeros(len(captions), np.int64), 2, masks)


def test_the_rows_that_stay_are_those_of_the_pieces(tiny_bert):
    from transformers import AutoModel

    model = find_model(str(tiny_bert))
    pieces = in_pieces(examples(["w1 w2 dog", "w7"]), model)
    encoder = AutoModel.from_pretrained(tiny_bert)
    before = encoder.get_input_embeddings().weight.detach().clone()
    rows = keep_rows(encoder, pieces, model)
    kept = encoder.get_input_embeddings().weight
    assert len(kept) == 2 + len(np.unique(pieces.ids))
    assert torch.equal(kept[rows[pieces.ids]], before[pieces.ids])
