"""The networks of the LSTM attackers. The only file that needs torch to be imported."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import torch
from torch import nn

from captionbias.attackers.lstm import FIRST_WORD_ROW, PADDING_ROW


class LSTMClassifier(nn.Module):
    """Embedding, LSTM, and a head of linear layers on the last hidden state of each direction.

    `head` lists the widths of the head's hidden layers: none for one linear output, two for a 3-layer MLP.
    """

    def __init__(
        self,
        rows: int,
        outputs: int,
        *,
        embedding: int,
        hidden: int,
        layers: int,
        bidirectional: bool,
        head: Sequence[int],
        dropout: float,
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(rows, embedding, padding_idx=PADDING_ROW)
        with torch.no_grad():
            self.embedding.weight[:FIRST_WORD_ROW] = 0
        between = dropout if layers > 1 else 0.0
        self.lstm = nn.LSTM(embedding, hidden, layers, bidirectional=bidirectional, dropout=between, batch_first=True)
        self.dropout = nn.Dropout(dropout)
        widths = [hidden * (2 if bidirectional else 1), *head, outputs]
        linear = [nn.Linear(before, after) for before, after in itertools.pairwise(widths)]
        self.head = nn.Sequential(*(layer for hidden_layer in linear[:-1] for layer in (hidden_layer, nn.ReLU())))
        self.output = linear[-1]

    def forward(self, tokens: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Logits of shape `(captions, outputs)` for padded numbers `(captions, longest)` and lengths `(captions,)`."""
        embedded = self.dropout(self.embedding(tokens))
        packed = nn.utils.rnn.pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
        _, (state, _) = self.lstm(packed)
        last = torch.cat((state[-2], state[-1]), dim=1) if self.lstm.bidirectional else state[-1]
        logits: torch.Tensor = self.output(self.head(self.dropout(last)))
        return logits
