"""Captions that are drawn, each by its own random numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


class Draws:
    """Makes a greedy search draw, as one of transformers' processors of logits: the highest of log-probabilities with
    Gumbel noise is a draw from them. Each row has a generator of its own, by its key, so that a caption depends neither
    on the others of its batch nor on a restart.
    """

    def __init__(self, temperature: float, top_p: float, keys: Sequence[str]) -> None:
        import torch

        self.temperature, self.top_p = temperature, top_p
        digests = [hashlib.blake2b(key.encode(), digest_size=7).digest() for key in keys]
        self.generators = [torch.Generator().manual_seed(int.from_bytes(digest, "big")) for digest in digests]

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        import torch
        from transformers import TopPLogitsWarper

        likely = TopPLogitsWarper(self.top_p)(input_ids, scores.float() / self.temperature)
        drawn = [torch.empty(scores.shape[1]).exponential_(generator=generator) for generator in self.generators]
        noisy: Tensor = likely - torch.stack(drawn).log().to(scores.device)
        return noisy
