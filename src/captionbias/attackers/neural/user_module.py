"""A user's own attacker: any `torch.nn.Module` that turns captions into logits."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import pickle
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from captionbias.arrays import Integers
from captionbias.attackers import batches
from captionbias.attackers.base import Trial
from captionbias.attackers.neural.fitting import (
    PRECISIONS,
    FittedNetwork,
    WordNetwork,
    fit_and_score,
    one_thread,
    outputs,
    own_random_numbers,
)
from captionbias.attackers.neural.layers import Dropout
from captionbias.attackers.recipes import Schedule

STANDARD = Schedule(learning_rate=1e-3, batch=64, epochs=5)
CLOSE = 1e-3  # of a logit


def find(encoder: str | type[nn.Module]) -> type[nn.Module]:
    """The class, or the one called `module:Class`.

    Raises:
        ValueError: there is no such module or class, or it is not a `torch.nn.Module`.
    """
    found: Any = encoder
    if isinstance(encoder, str):
        module, _, name = encoder.partition(":")
        try:
            found = importlib.import_module(module)
            for part in name.split("."):
                found = getattr(found, part)
        except (ImportError, AttributeError, TypeError, ValueError) as error:
            raise ValueError(
                f"encoder {encoder!r} cannot be imported ({error}): write module:Class, of a module on PYTHONPATH"
            ) from error
    if not (isinstance(found, type) and issubclass(found, nn.Module)):
        raise ValueError(
            f"encoder {encoder!r} must be a subclass of torch.nn.Module whose objects turn captions into logits"
        )
    return found


def name(module: type[nn.Module]) -> str:
    """The class's name and a digest of what makes it: what a signature and a cache know it by.

    That is the file or notebook cell that defines it, and the values that its methods take from the function around it.

    Raises:
        ValueError: it has no source, or such a value cannot be written down.
    """
    digest = hashlib.sha256(_source(module))
    for method in filter(inspect.isfunction, vars(module).values()):
        taken = inspect.getclosurevars(method).nonlocals
        for variable in sorted(taken.keys() - {"__class__"}):
            digest.update(f"{method.__name__} {variable} ".encode() + _content(module, variable, taken[variable]))
    return f"{module.__qualname__}-{digest.hexdigest()[:8]}"


def _source(module: type[nn.Module]) -> bytes:
    try:
        return Path(inspect.getsourcefile(module) or "").read_bytes()
    except (OSError, TypeError):
        pass
    try:
        return inspect.getsource(module).encode()
    except (OSError, TypeError) as error:
        raise ValueError(
            f"encoder {module.__qualname__} has no source to be known by: define it in a file or a notebook cell"
        ) from error


def _content(module: type[nn.Module], variable: str, value: object) -> bytes:
    if hasattr(value, "__qualname__"):  # a function or class, whose source the file has
        return str(value.__qualname__).encode()
    try:
        return pickle.dumps(value)
    except Exception as error:  # objects raise anything when they are pickled
        raise ValueError(
            f"encoder {module.__qualname__} takes {variable!r} from the function around it, which cannot be written "
            "down to know the encoder by: make it in the file of the class"
        ) from error


def schedule(module: type[nn.Module]) -> Schedule:
    """`STANDARD`, but for what the class sets in attributes of the same names."""
    chosen = {field.name: getattr(module, field.name) for field in fields(Schedule) if hasattr(module, field.name)}
    return replace(STANDARD, **chosen)


class UserNetwork(WordNetwork):
    """A user's network among the engine's: one trial, and its logits checked."""

    def __init__(self, module: nn.Module, outputs: int, precision: torch.dtype) -> None:
        super().__init__()
        self.module, self.outputs, self.precision = module, outputs, precision

    def forward(self, tokens: Tensor, lengths: Integers, drop: Dropout) -> Tensor:
        return self._logits(tokens[0], lengths[0], self.precision)[None]

    def _logits(self, tokens: Tensor, lengths: Integers, precision: torch.dtype) -> Tensor:
        name = type(self.module).__qualname__
        with torch.autocast(tokens.device.type, precision, enabled=precision != torch.float32):
            logits = self.module(tokens, torch.as_tensor(lengths, device=tokens.device))
        wanted = (len(tokens), self.outputs)
        if not isinstance(logits, Tensor) or logits.shape != wanted:
            found = tuple(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
            raise ValueError(
                f"encoder {name}: forward(tokens, lengths) gives {found}; it must give logits of shape "
                f"(captions, outputs), here {wanted}"
            )
        if not (self.training or torch.isfinite(logits).all()):
            raise ValueError(
                f"encoder {name}: once trained, its logits are not all finite: give the class a lower learning_rate"
            )
        return logits.float()

    def embed(self, tokens: Tensor) -> Tensor:
        embedded: Tensor = self._embedding()(tokens)
        return embedded

    def read(self, embedded: Tensor) -> Tensor:
        """The network gets unknown words, and its embedding gives these embeddings in their place."""
        unknown = torch.full(embedded.shape[:2], batches.UNKNOWN_ROW, device=embedded.device)
        hook = self._embedding().register_forward_hook(lambda *_: embedded)
        try:
            with torch.backends.cudnn.flags(enabled=False):  # its recurrent layers have no gradient outside of training
                return self._logits(unknown, _lengths(unknown), torch.float32)
        finally:
            hook.remove()

    def check(self, tokens: Tensor) -> None:
        """A network may look at its tokens elsewhere too; then it answers otherwise to embeddings than to tokens."""
        with torch.no_grad():
            wanted, embedded = self._logits(tokens, _lengths(tokens), torch.float32), self.embed(tokens)
            try:
                found = self.read(embedded)
            except (RuntimeError, ValueError) as error:
                raise self._refusal("it cannot read given embeddings") from error
        if not torch.allclose(found, wanted, atol=CLOSE, rtol=CLOSE):
            raise self._refusal("its answers depend on words in another way as well")

    def _embedding(self) -> nn.Embedding:
        found = [layer for layer in self.modules() if isinstance(layer, nn.Embedding)]
        if len(found) != 1:
            raise self._refusal(f"it has {len(found)}")
        return found[0]

    def _refusal(self, reason: str) -> ValueError:
        return ValueError(
            f"encoder {type(self.module).__qualname__} cannot be explained ({reason}): its forward must read words "
            "through one torch.nn.Embedding, called once on all tokens, and through nothing else"
        )


def _lengths(tokens: Tensor) -> Integers:
    """Of captions without padding."""
    return np.full(len(tokens), tokens.shape[1])


def fit(trials: Sequence[Trial], module: type[nn.Module], precision: str, device: torch.device) -> list[FittedNetwork]:
    """Train one network a trial and score it, with random numbers of the trial's own.

    `module(words, outputs)` makes the network: `words` is the number of rows that an embedding of its tokens needs.
    Its `forward(tokens, lengths)` turns token numbers `(captions, longest)`, filled up with `PADDING_ROW`, and lengths
    `(captions,)` into logits `(captions, outputs)`.
    """
    fitted = []
    for trial in trials:
        with one_thread(), own_random_numbers(trial.seed, device):
            words, rows = batches.vocabulary(trial)
            network = UserNetwork(module(rows, outputs(trial)), outputs(trial), PRECISIONS[precision])
            (scores,) = fit_and_score([trial], [words], network, schedule(module), 0.0, device)
        fitted.append(FittedNetwork(trial, scores, words, network))
    return fitted
