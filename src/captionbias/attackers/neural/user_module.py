"""A user's own attacker: any `torch.nn.Module` that turns captions into logits."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import pickle
from dataclasses import fields, replace
from operator import attrgetter
from pathlib import Path
from typing import Any

from torch import nn

from captionbias.attackers.recipes import Schedule
from captionbias.errors import InputError

STANDARD = Schedule(learning_rate=1e-3, batch=64, epochs=5)


def find(encoder: str | type[nn.Module]) -> type[nn.Module]:
    """The class, or the one called `module:Class`; ValueError if there is none, or it is not a `torch.nn.Module`."""
    module: Any = encoder
    if isinstance(encoder, str):
        path, _, name = encoder.partition(":")
        try:
            module = attrgetter(name)(importlib.import_module(path))
        except (ImportError, AttributeError, TypeError, ValueError) as error:
            raise InputError(
                "encoder", f"{encoder!r} cannot be imported ({error}): write module:Class, of a module on PYTHONPATH"
            ) from error
    if not (isinstance(module, type) and issubclass(module, nn.Module)):
        raise InputError(
            "encoder", f"{encoder!r} must be a subclass of torch.nn.Module whose objects turn captions into logits"
        )
    return module


def name(module: type[nn.Module]) -> str:
    """The class's name and a digest of what makes it, by which signatures and caches know it: the file or notebook cell
    that defines it, and what its methods take from the function around it."""
    digest = hashlib.sha256(_source(module))
    for method in filter(inspect.isfunction, vars(module).values()):
        taken = inspect.getclosurevars(method).nonlocals
        for variable in sorted(taken.keys() - {"__class__"}):
            value = getattr(taken[variable], "__qualname__", taken[variable])  # the file has a function's source
            digest.update(f"{method.__name__} {variable} ".encode() + pickle.dumps(value))
    return f"{module.__qualname__}-{digest.hexdigest()[:8]}"


def _source(module: type[nn.Module]) -> bytes:
    try:
        return Path(inspect.getsourcefile(module) or "").read_bytes()
    except (OSError, TypeError):
        return inspect.getsource(module).encode()


def schedule(module: type[nn.Module]) -> Schedule:
    """The schedule `STANDARD`, but for what the class sets in attributes of the same names."""
    chosen = {field.name: getattr(module, field.name) for field in fields(Schedule) if hasattr(module, field.name)}
    return replace(STANDARD, **chosen)
