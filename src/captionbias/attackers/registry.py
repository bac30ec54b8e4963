"""Attackers by name: how each is trained, in which precision, and what a cache and a signature know it by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from captionbias.attackers import convex
from captionbias.attackers.base import Fitted, Trial
from captionbias.attackers.pretrained.models import KNOWN, find_model, is_model
from captionbias.attackers.ranks import device
from captionbias.attackers.recipes import (
    BERT_FINETUNED,
    BERT_FROZEN,
    RECIPES,
    SENTENCES,
    FineTuned,
    Frozen,
    Schedule,
    Transformer,
)
from captionbias.errors import InputError, phrase, unknown
from captionbias.io.store import open_store

if TYPE_CHECKING:
    import torch

CONVEX = {"bow": True, "linear": False}  # with pairs of words or without
ENCODERS = (*CONVEX, *RECIPES)
BERTS = ("bert-frozen", "bert-finetuned")
PRECISIONS = ("fp32", "bf16", "fp16")
GRADIENTS = "integrated_gradients,padding"
# Raised when the same trial gives other scores than before.
ENGINE = 3


@dataclass(frozen=True)
class Attacker:
    """An attacker, which `fit` trains on a trial.

    `precision`: None where there is no choice. `identity`: everything that determines a trial's scores beside the
    trial itself. `explained`: by which method fitted attackers are explained, None where they cannot be.
    `schedule`: of a training by steps. `fit_together`: what trains trials of one shape at once, where there is such.
    """

    name: str
    precision: str | None
    identity: str
    fit: Callable[[Trial], Fitted]
    placement: str
    explained: str | None
    reads_pictures: bool = False
    schedule: Schedule | None = None
    fit_together: Callable[[Sequence[Trial]], Sequence[Fitted]] | None = None

    def signature(self, trials: Iterable[Trial]) -> dict[str, str]:
        """What a signature says of it, before anything is trained, with the least steps where one of these trials is so
        small that they act."""
        signed = {"attacker": self.name} | ({"precision": self.precision} if self.precision else {})
        own = self.schedule
        if own and any(own.epochs_of(len(trial.train)) > own.epochs for trial in trials):
            signed["steps"] = f"{own.least_steps}+"
        return signed


def find_attacker(
    encoder: str, precision: str | None = None, model: str | None = None, cache: bool | str | Path = True
) -> Attacker:
    """The attacker called `encoder`; ValueError if there is none, or it cannot be had so or here. `cache`: where
    embeddings of pretrained encoders are kept."""
    pretrained = encoder not in ENCODERS and (encoder in BERTS or is_model(encoder))
    if not (encoder in ENCODERS or pretrained):
        raise InputError(
            "encoder",
            f"{encoder!r} is unknown; choose one of {', '.join((*ENCODERS, *BERTS, *KNOWN))}, or the folder or "
            "the owner/name of a pretrained one",
        )
    if model is not None and encoder not in BERTS:
        raise InputError("model", f"{model!r} is only for encoder {' and '.join(BERTS)}; leave it out")
    if precision is not None and precision not in PRECISIONS:
        raise unknown("precision", precision, PRECISIONS)
    if encoder in CONVEX:
        if precision is not None:
            raise InputError(
                "precision", f"{precision!r}: encoder {encoder!r} has no choice of precision; leave it out"
            )
        return _convex(encoder)
    if not (find_spec("torch") and find_spec("accelerate")):
        raise InputError(
            "encoder",
            f"{encoder!r} needs torch and accelerate:",
            "pip install '.[torch]' in a clone",
            phrase("use {preset}", preset="fast"),
        )
    place = device()
    if precision == "fp16" and place.type != "cuda":
        raise InputError("precision", "'fp16' is for a CUDA GPU; here choose one of fp32, bf16")
    half = "fp16" if place.type == "cuda" else "fp32"
    precision = precision or ("bf16" if computes_bf16(place) else half)
    if pretrained:
        return _pretrained(encoder, model, precision, place, cache)
    return _network(encoder, precision, place)


def _convex(name: str) -> Attacker:
    identity = f"{name} {ENGINE} {convex.SETTINGS} scikit-learn {version('scikit-learn')} scipy {version('scipy')}"
    fit = partial(convex.fit, pairs=CONVEX[name])
    return Attacker(name, None, identity, fit, placement="threads", explained="coefficients", reads_pictures=True)


def _network(name: str, precision: str, place: torch.device) -> Attacker:
    from captionbias.attackers.neural import stacked
    from captionbias.attackers.neural.fitting import fit
    from captionbias.attackers.neural.networks import Network

    recipe = RECIPES[name]
    fit_on = partial(fit, schedule=recipe.schedule, precision=precision, device=place, base_rates=recipe.base_rates)
    # torch's attention draws its dropout itself, which would be one for all trials.
    together = None if isinstance(recipe.encoder, Transformer) else stacked.fit
    placement = "processes" if place.type == "cpu" else "stacked" if place.type == "cuda" and together else "plain"
    return Attacker(
        name,
        precision,
        _identity((recipe, placement) if placement == "stacked" else recipe, precision, place),
        partial(fit_on, make=partial(Network, recipe)),
        placement,
        explained=GRADIENTS,
        schedule=recipe.schedule,
        fit_together=together and partial(together, recipe=recipe, precision=precision, device=place),
    )


def _pretrained(
    encoder: str, model: str | None, precision: str, place: torch.device, cache: bool | str | Path
) -> Attacker:
    if not find_spec("sentence_transformers"):  # importing it takes seconds, and only encoding needs that
        raise InputError("encoder", f"{encoder!r} needs sentence-transformers: pip install '.[pretrained]' in a clone")
    from captionbias.attackers.neural import finetuned
    from captionbias.attackers.neural.frozen import FrozenEncoder

    bert = encoder in BERTS
    files = find_model(model or "bert-base-uncased", "model") if bert else find_model(encoder)
    name = f"{encoder},{files.signature}" if bert else files.signature
    tuned = encoder == "bert-finetuned"
    recipe: Frozen | FineTuned
    fit: Callable[[Trial], Fitted]
    if tuned:
        recipe = BERT_FINETUNED
        fit = partial(finetuned.fit, recipe=recipe, model=files, precision=precision, device=place)
    else:
        recipe = BERT_FROZEN if bert else SENTENCES
        fit = FrozenEncoder(recipe, files, precision, place, open_store(cache)).fit
    identity = _identity((recipe, files.identity), precision, place)
    return Attacker(
        name,
        precision,
        identity,
        fit,
        placement="processes" if tuned and place.type == "cpu" else "plain",
        explained=GRADIENTS if tuned else None,
        reads_pictures=not tuned,
        schedule=recipe.schedule,
    )


def _identity(what: object, precision: str, place: torch.device) -> str:
    return f"{what} {ENGINE} {precision} {place.type} torch {version('torch')}"


def computes_bf16(place: torch.device) -> bool:
    """Whether the device has instructions for bfloat16 products; a processor without them is slower than in fp32."""
    import torch

    if place.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if place.type != "cpu":
        return False
    known = torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}
    return bool(known.get("avx512_bf16") or known.get("amx_bf16"))
