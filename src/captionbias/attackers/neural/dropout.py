"""Dropout drawn as a function of trial, step, caption, token and feature: the same alone, stacked, on any device."""

from __future__ import annotations

import torch
from torch import Tensor

_ROW, _TIME, _FEATURE = -1640531535, -2048144777, -1028477379  # odd constants of xxHash32 (Collet 2012), as int32
_MIX = (16, -2048144789), (13, -1028477387)  # the finaliser of MurmurHash3 (Appleby 2011)


class Dropout:
    """Drops features of one training step with probability `rate`; each call takes the next of the trials' keys.

    `keys`: int32 of shape `(S, calls)`, drawn by each trial's own generator.
    """

    def __init__(self, rate: float, keys: Tensor) -> None:
        self.rate = rate
        self.keys = iter(keys.unbind(1))

    def __call__(self, values: Tensor, row: Tensor, time: Tensor | None = None) -> Tensor:
        """`values` of shape `(S, ..., F)`, those of caption `row` and token `time`, both of the shape in between."""
        if not self.rate:
            return values
        place = row.int() * _ROW
        if time is not None:
            place = place + time.int() * _TIME
        return values * self._scale(place[..., None], next(self.keys), values)

    def _scale(self, place: Tensor, key: Tensor, values: Tensor) -> Tensor:
        """0 for what is dropped, `1 / (1 - rate)` for the rest. One hash makes 16-bit numbers for two features."""
        features = values.shape[-1]
        feature = torch.arange((features + 1) // 2, dtype=torch.int32, device=values.device) * _FEATURE
        numbers = (place + feature) + key.view(-1, *[1] * place.dim())
        for shift, factor in _MIX:
            numbers ^= (numbers >> shift) & ((1 << (32 - shift)) - 1)
            numbers *= factor
        numbers ^= (numbers >> 16) & 0xFFFF
        threshold = round(self.rate * 65536) - 32768
        kept = numbers.view(torch.int16)[..., :features] >= threshold
        return kept.to(values.dtype).mul_(1 / (1 - self.rate))


class Keep:
    """No dropout: what a trained attacker is scored with."""

    def __call__(self, values: Tensor, row: Tensor, time: Tensor | None = None) -> Tensor:
        return values


Drop = Dropout | Keep
