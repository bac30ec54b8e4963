"""A pretrained encoder that is trained with its head, one trial after the other.

Accelerate's `Accelerator` is not used: it would couple the processes that share the trials step by step, and fix the
precision of one that the script makes later.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.checkpoint import checkpoint as computed_twice

from captionbias.arrays import Floats, Integers
from captionbias.attackers import batches
from captionbias.attackers.base import Fitted, Trial, TrialScores
from captionbias.attackers.neural.fitting import loss_of, own_random_numbers, scores_from
from captionbias.attackers.neural.networks import normalized_mlp
from captionbias.attackers.pretrained.encoding import (
    all_cores,
    as_texts,
    no_threads_of_tokenizers,
    reading,
    refuse_missing,
    special_tokens,
    whole_characters,
)
from captionbias.attackers.pretrained.models import Model
from captionbias.attackers.recipes import FineTuned
from captionbias.attackers.stored_trials import trial_key
from captionbias.io.store import Arrays, Store

# With padding. A step of 64 captions is one part as long as none of them is longer than 64 tokens.
TOKENS_AT_ONCE = 4096
SECONDS_BETWEEN = 120.0  # checkpoints: a kill costs this much at most; BERT's 1.3 GB take some seconds to write

Result = TypeVar("Result")


def fit(
    trial: Trial,
    recipe: FineTuned,
    model: Model,
    precision: str,
    device: torch.device,
    store: Store | None,
    identity: str,
) -> FittedEncoder:
    """Train an encoder and its head on a trial, and score it on the trial's test captions.

    With a `store`, a training that is killed goes on from its last checkpoint there, and ends as if it had not been.
    `identity`: the attacker's, by which its trials and checkpoints are known in the store.

    What a trial gives depends on that trial alone, but for the last bits of sums (another number of cores adds up in
    another order, and a GPU in none that is fixed) and for the words that dropout hides once memory was short.
    Steps of many tokens are computed in parts, but normalised and learnt from as a whole, in one update.

    Raises:
        ValueError: the model cannot be loaded, or its weights are not all there.
        RuntimeError: there is too little memory for one caption.
    """
    texts, examples = as_texts(trial.examples, *special_tokens(model))
    captions, numbered = _tokenized(texts, model), replace(trial, examples=examples)
    checkpoint = Checkpoint(store, trial_key(trial, identity, reads_words=True))
    with all_cores():
        with own_random_numbers(trial.seed, device):
            # As published, two classes have two outputs here.
            classifier = Classifier(_encoder(model), recipe, trial.examples.outputs, precision).to(device)
            _fit(classifier, numbered, captions, recipe, checkpoint)
        scores = scores_from(trial, _predict(classifier, numbered, captions, trial.test), trial.test)
    checkpoint.remove()
    return FittedEncoder(trial, scores, numbered, classifier, captions)


@dataclass(frozen=True, eq=False)
class FittedEncoder(Fitted):
    """A trained encoder with its head. `numbered`: the trial with each caption as one word, the number of its text."""

    numbered: Trial
    classifier: Classifier
    captions: TokenizedTexts

    def scores(self, rows: Integers) -> TrialScores:
        return scores_from(self.trial, self._answer(rows), rows)

    def logits(self, rows: Integers) -> Floats:
        logits = self._answer(rows)
        if self.trial.examples.multilabel:
            return logits.numpy()
        two = self.trial.examples.outputs == 2
        return (logits[:, 1:] - logits[:, :1] if two else logits - logits.mean(1, keepdim=True)).numpy()

    def _answer(self, rows: Integers) -> Tensor:
        with all_cores():
            return _predict(self.classifier, self.numbered, self.captions, rows)


@dataclass(frozen=True, eq=False)
class TokenizedTexts:
    """Distinct captions as token numbers, and how many tokens each has."""

    tokens: list[Tensor]
    lengths: Integers
    padding: int

    def in_parts(self, longest_first: Integers, most: int, device: torch.device) -> list[Part]:
        """Captions by their numbers, in parts of at most `most` tokens with padding, but of one caption at least."""
        parts, start = [], 0
        while start < len(longest_first):
            end = start + max(1, most // int(self.lengths[longest_first[start]]))
            some = longest_first[start:end]
            tokens = pad_sequence([self.tokens[number] for number in some], True, self.padding)
            real = torch.arange(tokens.shape[1]) < torch.from_numpy(self.lengths[some])[:, None]
            parts.append((tokens.to(device), real.to(device)))
            start = end
        return parts


Part = tuple[Tensor, Tensor]


def _tokenized(texts: list[str], model: Model) -> TokenizedTexts:
    """As the encoder's own tokenizer has them, cut off where the encoder ends."""
    from transformers import AutoConfig, AutoTokenizer

    with reading(model):
        tokenizer = AutoTokenizer.from_pretrained(model.folder)
        positions = getattr(AutoConfig.from_pretrained(model.folder), "max_position_embeddings", None)
    tokenizer.model_max_length = min(tokenizer.model_max_length, positions or tokenizer.model_max_length)
    with no_threads_of_tokenizers():
        numbers = tokenizer(whole_characters(texts), truncation=True, return_attention_mask=False)["input_ids"]
    lengths = np.fromiter(map(len, numbers), np.int64, len(numbers))
    return TokenizedTexts([torch.tensor(one) for one in numbers], lengths, tokenizer.pad_token_id or 0)


def _encoder(model: Model) -> nn.Module:
    from transformers import AutoModel

    with reading(model):
        encoder, found = AutoModel.from_pretrained(model.folder, output_loading_info=True)
        refuse_missing(found["missing_keys"])
    weights: nn.Module = encoder.float()  # whatever they are kept in
    return weights


class Classifier(nn.Module):
    """The encoder's last state of a caption's first token, and the head on it."""

    def __init__(self, encoder: Any, recipe: FineTuned, outputs: int, precision: str) -> None:
        super().__init__()
        self.encoder, self.precision = encoder, precision
        self.head = normalized_mlp((encoder.config.hidden_size, *recipe.head, outputs))

    def features(self, tokens: Tensor, real: Tensor) -> Tensor:
        with torch.autocast(tokens.device.type, torch.bfloat16, enabled=self.precision == "bf16"):
            states = self.encoder(input_ids=tokens, attention_mask=real.long()).last_hidden_state
        return states[:, 0].float()  # type: ignore[no-any-return]

    def forward(self, parts: Sequence[Part]) -> Tensor:
        """Logits `(captions, outputs)`. Of several parts, only one at a time has its inner states in memory."""
        if len(parts) == 1 or not torch.is_grad_enabled():
            features = torch.cat([self.features(*part) for part in parts])
        else:
            features = torch.cat([computed_twice(self.features, *part, use_reentrant=False) for part in parts])
        logits: Tensor = self.head(features)
        return logits


@dataclass
class Checkpoint:
    """The steps of one training that are done, and what they made of its model and optimizer; no `store` keeps none."""

    store: Store | None
    key: str
    last: float = 0.0

    def restore(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> int:
        """How many steps are done; the model and the optimizer are then as they were after these."""
        self.last = time.monotonic()
        kept = self.store.load("checkpoint", self.key, _unpacked) if self.store else None
        if kept is None:
            return 0
        model.load_state_dict(kept["model"])
        optimizer.load_state_dict(kept["optimizer"])
        return int(kept["done"])

    def keep_if_due(self, done: int, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """Keep the training after `done` steps, unless that was done a short while ago."""
        if self.store is None or time.monotonic() - self.last < SECONDS_BETWEEN:
            return
        packed = io.BytesIO()
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "done": done}, packed)
        self.store.save("checkpoint", self.key, {"packed": np.frombuffer(packed.getbuffer(), np.uint8)})
        self.last = time.monotonic()

    def remove(self) -> None:
        if self.store:
            self.store.remove("checkpoint", self.key)


def _unpacked(arrays: Arrays) -> dict[str, Any]:
    found: dict[str, Any] = torch.load(io.BytesIO(arrays["packed"].data), map_location="cpu", weights_only=True)
    return found


def _fit(
    classifier: Classifier, trial: Trial, captions: TokenizedTexts, recipe: FineTuned, checkpoint: Checkpoint
) -> None:
    optimizer = _optimizer(classifier, recipe)
    memory = Memory(TOKENS_AT_ONCE)
    classifier.train()
    done = checkpoint.restore(classifier, optimizer)
    for number, rows in islice(enumerate(_steps(trial, captions, recipe)), done, None):
        statistics = [buffer.clone() for buffer in classifier.head.buffers()]
        seed = np.random.SeedSequence([trial.seed, 3, number]).generate_state(1, np.uint64)
        memory.run(partial(_backward, classifier, trial, captions, rows, int(seed[0]), statistics))
        optimizer.step()
        checkpoint.keep_if_due(number + 1, classifier, optimizer)
    classifier.zero_grad()


def _backward(
    classifier: Classifier,
    trial: Trial,
    captions: TokenizedTexts,
    rows: Integers,
    seed: int,
    statistics: list[Tensor],
    most: int,
) -> None:
    """The gradients of one step: the same again if memory was short the first time, or a restart came before."""
    torch.manual_seed(seed)
    classifier.zero_grad()
    for buffer, before in zip(classifier.head.buffers(), statistics, strict=True):
        buffer.copy_(before)
    logits = classifier(captions.in_parts(_numbers(trial, rows), most, statistics[0].device))
    loss_of(trial, logits, rows).backward()  # type: ignore[no-untyped-call]


def _steps(trial: Trial, captions: TokenizedTexts, recipe: FineTuned) -> Iterator[Integers]:
    """The rows of every step, the longest caption first."""
    for number in range(recipe.schedule.epochs):
        for rows in batches.epoch(trial, recipe.schedule, np.random.default_rng([trial.seed, 2, number])):
            yield rows[np.argsort(-captions.lengths[_numbers(trial, rows)], kind="stable")]


def _numbers(trial: Trial, rows: Integers) -> Integers:
    """The numbers of captions, each of which is one word."""
    return trial.examples.tokens.ids[rows].astype(np.int64)


def _optimizer(classifier: Classifier, recipe: FineTuned) -> torch.optim.Optimizer:
    """Decay is for matrices: biases and the scales of normalisation have none."""
    matrices: list[Tensor] = []
    others: list[Tensor] = []
    for name, parameter in classifier.named_parameters():
        scale = name.endswith("bias") or parameter.numel() == parameter.shape[-1]
        (others if scale else matrices).append(parameter)
    groups = [{"params": matrices, "weight_decay": recipe.decay}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, recipe.schedule.learning_rate, recipe.betas, recipe.epsilon, fused=True)


@torch.no_grad()
def _predict(classifier: Classifier, trial: Trial, captions: TokenizedTexts, rows: Integers) -> Tensor:
    """Logits of the captions `rows` `(captions, outputs)`, in 64 bits; those of equal captions are equal."""
    numbers, places = np.unique(_numbers(trial, rows), return_inverse=True)
    order = np.argsort(-captions.lengths[numbers], kind="stable")
    device = next(classifier.parameters()).device
    classifier.eval()
    found = Memory(TOKENS_AT_ONCE).run(lambda most: classifier(captions.in_parts(numbers[order], most, device)))
    logits = torch.empty(found.shape, dtype=torch.float64)
    logits[order] = found.cpu().double()
    return logits[places]


@dataclass
class Memory:
    """How many tokens are computed at once: half as many each time that memory is short."""

    tokens: int

    def run(self, task: Callable[[int], Result]) -> Result:
        """Do a task that takes the number of tokens, again with fewer if it does not fit."""
        from accelerate.utils.memory import clear_device_cache, should_reduce_batch_size

        while True:
            try:
                return task(self.tokens)
            except RuntimeError as error:
                if self.tokens == 1 or not should_reduce_batch_size(error):
                    raise
            self.tokens //= 2
            clear_device_cache(garbage_collection=True)  # only now: the error held on to what did not fit
