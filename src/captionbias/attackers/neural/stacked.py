"""Trials of one shape trained together, for a GPU: parameters have a leading trial dimension, products are batched.

Each trial has the captions, the order and the random numbers that it has alone, so its scores are the same but for the
order of sums. All is on the device before the first step, and no step waits for it. In shapes K is trials, B a step's
captions, T words, F features, D directions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from captionbias.arrays import Integers
from captionbias.attackers.base import Trial
from captionbias.attackers.neural import fitting
from captionbias.attackers.neural.fitting import DTYPES, PADDING_ROW, FittedNetwork, Learner, own_random_numbers
from captionbias.attackers.neural.networks import Network, at, mirrored
from captionbias.attackers.recipes import Recipe, Recurrent
from captionbias.attackers.workers import threads
from captionbias.errors import InputError

Parameters = Mapping[str, Tensor]
Drop = Callable[[Tensor], Tensor]


def fit(trials: Sequence[Trial], recipe: Recipe, precision: str, device: torch.device) -> list[FittedNetwork]:
    """Train a network a trial, all of as many training captions and outputs, and score each trial's test captions; half
    of them at a time where memory is too small for all."""
    with suppress(torch.OutOfMemoryError):
        return _together(trials, recipe, precision, device)
    if len(trials) == 1:
        raise InputError("encoder", f": one training needs more memory than {device} has", "take another, such as bow")
    half = len(trials) // 2
    return [one for some in (trials[:half], trials[half:]) for one in fit(some, recipe, precision, device)]


def _together(trials: Sequence[Trial], recipe: Recipe, precision: str, device: torch.device) -> list[FittedNetwork]:
    learners, generators = [], []
    with threads(1):
        for trial in trials:
            with own_random_numbers(trial.seed, device):
                learners.append(fitting.begun(trial, partial(Network, recipe), precision, device, recipe.base_rates))
                state = torch.cuda.get_rng_state(device) if device.type == "cuda" else torch.get_rng_state()
                generators.append(torch.Generator(device).set_state(state))
        of_each = [{name: own.detach() for name, own in one.network.named_parameters()} for one in learners]
        # Embeddings are filled up to as many rows.
        parameters = {name: pad_sequence([of[name] for of in of_each], True).requires_grad_() for name in of_each[0]}
        optimizer = fitting.adam(parameters.values(), recipe.schedule)
        fitting.descend(optimizer, _losses(learners, generators, parameters, recipe), precision)
        for number, (learner, of) in enumerate(zip(learners, of_each, strict=True)):
            for name, own in of.items():
                own.copy_(parameters[name][number, : len(own)].detach())
            learner.network.requires_grad_(False).eval()
        return [FittedNetwork(learner.trial, learner.scores(learner.trial.test), learner) for learner in learners]


def _losses(
    learners: Sequence[Learner], generators: Sequence[torch.Generator], parameters: Parameters, recipe: Recipe
) -> Iterator[Tensor]:
    """The sum of the trials' losses of each step."""
    trials, device, dtype = [one.trial for one in learners], generators[0].device, DTYPES[learners[0].precision]
    tables, ends = zip(*(fitting.pad(one.trial, one.words, one.trial.train) for one in learners), strict=True)
    places, sizes = _steps(trials, recipe)
    longest = np.take_along_axis(np.stack(ends), places[:, :, 0].T, 1).T  # a step's first caption is its longest
    shares = (np.arange(places.shape[2]) < sizes[..., None]) / sizes[..., None].astype(np.float32)
    targets = np.stack([trial.examples.targets[trial.train] for trial in trials])
    words = pad_sequence([torch.from_numpy(table.T.astype(np.int32)) for table in tables], True, PADDING_ROW).mT
    on_device = [torch.from_numpy(of).to(device) for of in (np.stack(ends), targets, places, shares)]
    words, (lengths, wanted, *steps) = words.to(device), on_device
    of_trial = torch.arange(len(trials), device=device)[:, None]
    for size, most, rows, share in zip(sizes, longest, *steps, strict=True):
        drop = partial(_drop, recipe.dropout, generators, np.stack((size, most), 1).tolist())
        of = {name: one if "embedding" in name else one.to(dtype) for name, one in parameters.items()}
        tokens = words[:, :, : int(most.max())][of_trial, rows]
        logits = _answers(recipe, of, tokens, lengths[of_trial, rows], drop).float()
        yield (_loss_of_each(logits, wanted[of_trial, rows]) * share).sum()


def _steps(trials: Sequence[Trial], recipe: Recipe) -> tuple[Integers, Integers]:
    """The places among its training captions of each trial's captions in each step, `(steps, K, B)`, a smaller step
    filled up with its own; and how many these are, `(steps, K)`."""
    steps = [*zip(*(fitting.epochs(trial, recipe.schedule) for trial in trials), strict=True)]
    sizes = np.array([[len(rows) for rows in step] for step in steps])
    filled = np.array([[np.resize(rows, sizes.max()) for rows in step] for step in steps])
    for number, trial in enumerate(trials):
        order = np.argsort(trial.train)
        filled[:, number] = order[np.searchsorted(trial.train, filled[:, number], sorter=order)]
    return filled, sizes


def _drop(share: float, generators: Sequence[torch.Generator], sizes: Sequence[list[int]], values: Tensor) -> Tensor:
    """Dropout of `(K, B, ...)`, by numbers that each trial draws for its own captions and words alone."""
    if not share:
        return values
    kept = torch.zeros_like(values)
    for of_trial, generator, size in zip(kept, generators, sizes, strict=True):
        of_trial[tuple(map(slice, size[: values.ndim - 2]))].bernoulli_(1 - share, generator=generator)
    return values * kept.div_(1 - share)


def _answers(recipe: Recipe, of: Parameters, tokens: Tensor, lengths: Tensor, drop: Drop) -> Tensor:
    """Logits `(K, B, outputs)` of tokens `(K, B, T)`, as `Network.forward` gives them."""
    table = of["embedding.weight"]
    first_rows = torch.arange(len(table), device=tokens.device)[:, None, None] * table.shape[1]
    values = functional.embedding(tokens + first_rows, table.flatten(0, 1)) * (tokens != PADDING_ROW)[..., None]
    if isinstance(recipe.encoder, Recurrent):
        answers = _last_states(recipe.encoder, of, values, lengths, drop)
    else:
        answers = values.sum(2)
    answers = drop(answers).to(of["head.0.bias"].dtype)
    for layer in range(0, 2 * len(recipe.head) + 1, 2):
        weight, bias = of[f"head.{layer}.weight"], of[f"head.{layer}.bias"]
        answers = torch.baddbmm(bias[:, None], functional.relu(answers) if layer else answers, weight.mT)
    return answers


def _last_states(encoder: Recurrent, of: Parameters, values: Tensor, lengths: Tensor, drop: Drop) -> Tensor:
    """The last hidden state of each direction, as `RecurrentEncoder.forward` gives them; directions run together."""
    mirror, directions = mirrored(values, lengths), range(1 + encoder.bidirectional)
    for layer in range(encoder.layers):
        values = drop(values)
        kinds = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        inner, outer, *biases = (
            torch.cat([of[f"encoder.layers.{layer}.{way}.{kind}_l0"] for way in directions]) for kind in kinds
        )
        ways = torch.cat([at(values, mirror) if way else values for way in directions])  # (D * K, B, T, F)
        bias = torch.stack(biases).sum(0)[:, None]
        inputs = torch.baddbmm(bias, ways.to(inner.dtype).flatten(1, 2), inner.mT).view(*ways.shape[:3], -1)
        states = _read(encoder.cell, inputs, outer.mT).chunk(len(directions))
        values = torch.cat([at(read, mirror) if way else read for way, read in enumerate(states)], 3)
    return torch.cat([at(read, lengths[..., None] - 1)[:, :, 0] for read in states], 2)


def _read(cell: str, inputs: Tensor, weight: Tensor) -> Tensor:
    """The states after each word, `(D * K, B, T, hidden)`, of what each adds to the gates."""
    state = inputs.new_zeros(*inputs.shape[:2], weight.shape[1])
    memory = state.float()  # as torch's own layers keep it
    states = []
    for of_word in inputs.unbind(2):
        gates = torch.baddbmm(of_word, state, weight)
        if cell == "rnn":
            state = gates.tanh()
        else:
            take, keep, new, show = gates.chunk(4, 2)
            memory = keep.sigmoid() * memory + take.sigmoid() * new.tanh()
            state = (show.sigmoid() * memory.tanh()).to(weight.dtype)
        states.append(state)
    return torch.stack(states, 2)


def _loss_of_each(logits: Tensor, wanted: Tensor) -> Tensor:
    """Each caption's loss, `(K, B)`, as `loss_of` has it."""
    if logits.shape[2] > 1 and wanted.ndim == 2:
        return functional.cross_entropy(logits.mT, wanted, reduction="none")
    wanted = wanted.float().view_as(logits)
    return functional.binary_cross_entropy_with_logits(logits, wanted, reduction="none").sum(2)
