"""A user's own network, explained through its one embedding of words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from captionbias.arrays import Integers
from captionbias.attackers import batches
from captionbias.attackers.base import Trial
from captionbias.explain.embedded import WordReader

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from captionbias.attackers.neural.user_module import Own

CHECKED = 64
CLOSE = 1e-3  # of a logit


@dataclass(frozen=True, eq=False)
class OwnAttacker(WordReader):
    """A user's trained network, with the `embedding` that its words go through."""

    network: Own
    embedding: nn.Embedding

    def look_up(self, tokens: Integers) -> Tensor:
        import torch

        with torch.no_grad():
            embedded: Tensor = self.embedding(torch.as_tensor(tokens, device=self.embedding.weight.device))
        return embedded

    def read(self, embedded: Tensor) -> Tensor:
        """Logits `(captions, outputs)` of captions that are given as embeddings.

        The network gets unknown words, and its embedding gives these embeddings in their place.
        """
        import torch

        captions, length = embedded.shape[:2]
        unknown = torch.full((1, captions, length), batches.UNKNOWN_ROW, device=embedded.device)
        return self._answer(unknown, embedded)

    def answer(self, rows: Integers) -> Tensor:
        """Logits of the captions `rows`, which are of equal length, as the network itself reads them."""
        import torch

        tokens, _ = batches.pad([self.trial], [self.words], rows[None])
        return self._answer(torch.as_tensor(tokens, device=self.embedding.weight.device), None)

    def _answer(self, tokens: Tensor, embedded: Tensor | None) -> Tensor:
        import torch

        from captionbias.attackers.neural.dropout import Keep

        lengths = np.full(tokens.shape[:2], tokens.shape[2])
        hook = self.embedding.register_forward_hook(lambda *_: embedded)
        try:
            with torch.backends.cudnn.flags(enabled=False):  # its recurrent layers have no gradient outside of training
                return self.centred(self.network(tokens, lengths, Keep())[0])
        finally:
            hook.remove()


def fit_own(trial: Trial, module: type[nn.Module], precision: str, device: torch.device) -> OwnAttacker:
    """Train a user's network on one trial as the engine does, and keep it.

    Raises:
        ValueError: it reads captions in another way than through one `nn.Embedding`.
    """
    import torch
    from torch import nn

    from captionbias.attackers.neural.fitting import PRECISIONS, fit_and_score, one_thread, outputs, own_random_numbers
    from captionbias.attackers.neural.user_module import Own, schedule

    with one_thread(), own_random_numbers(trial.seed, device):
        words, rows = batches.vocabulary(trial)
        network = Own(module(rows, outputs(trial)), outputs(trial), PRECISIONS[precision])
        found = [layer for layer in network.modules() if isinstance(layer, nn.Embedding)]
        if len(found) != 1:
            raise ValueError(_refusal(module, f"it has {len(found)}"))
        fit_and_score([trial], [words], network, schedule(module), 0.0, device)
    network.requires_grad_(False)
    network.precision = torch.float32
    attacker = OwnAttacker(trial, outputs(trial), words, network, found[0])
    _check(attacker, module)
    return attacker


def _check(attacker: OwnAttacker, module: type[nn.Module]) -> None:
    """A network may look at its tokens elsewhere too; then it says other things of embeddings than of tokens."""
    import torch

    lengths = attacker.pieces(attacker.trial.test)
    rows = attacker.trial.test[lengths == np.bincount(lengths).argmax()][:CHECKED]
    with torch.no_grad():
        wanted = attacker.answer(rows)
        try:
            found = attacker.read(attacker.embedded(rows))
        except (RuntimeError, ValueError) as error:
            raise ValueError(_refusal(module, "it cannot read given embeddings")) from error
    if not torch.allclose(found, wanted, atol=CLOSE, rtol=CLOSE):
        raise ValueError(_refusal(module, "its answers depend on words in another way as well"))


def _refusal(module: type[nn.Module], reason: str) -> str:
    return (
        f"encoder {module.__qualname__} cannot be explained ({reason}): its forward must read words through one "
        "torch.nn.Embedding, called once on all tokens, and through nothing else"
    )
