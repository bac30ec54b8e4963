"""Captions of images from a captioner that is being trained, which goes on as if nothing had happened."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from captionbias.errors import missing

if TYPE_CHECKING:
    import torch
    from torch import nn

GPUS = ("cuda", "xpu")


def caption_images(
    model: nn.Module,
    processor: Any,
    images: Any,
    *,
    tokenizer: Any = None,
    batch_size: int = 32,
    generation: Mapping[str, Any] | None = None,
    seed: int = 0,
    distributed: bool = False,
) -> list[str]:
    """Caption images with a model in training, and leave the training untouched.

    Each module's train or eval mode, gradients, the generation config and all random generators are afterwards the same
    as before. Captions do not depend on the number of processes.

    Args:
        model: a captioner with `generate`, as it is or as `Accelerator.prepare` gives it back. It may not be split over
            processes (FSDP, DeepSpeed ZeRO-3).
        processor: called with `images=` (a list of as many as a batch holds) and `return_tensors="pt"`, it gives what
            `generate` takes, perhaps with a prompt as `input_ids`, which captions leave out.
        images: what the processor takes: a list, an array, or a column of a dataset, of which no more than a batch is
            decoded at a time.
        tokenizer: turns tokens into text by its `batch_decode`; the processor when None.
        batch_size: images per batch, in each process.
        generation: arguments for `generate`, such as `{"do_sample": True}`; without them, the search is greedy, for
            captions of at most 30 tokens.
        seed: seed of sampled captions; each batch has a separate seed.
        distributed: share the batches with the other processes of `accelerate launch`, each of which must then make the
            same call and gets all captions; otherwise the calling process captions alone.

    Returns:
        One caption for each image, in their order, without surrounding spaces; some may be empty.
    """
    import torch
    from accelerate import PartialState
    from accelerate.utils import extract_model_from_parallel, gather_object

    decoder = processor if tokenizer is None else tokenizer
    rank, size = (PartialState().process_index, PartialState().num_processes) if distributed else (0, 1)
    arguments = {"max_new_tokens": 30, "num_beams": 1, "do_sample": False, **(generation or {})}
    captioner = extract_model_from_parallel(model)
    weights = next(captioner.parameters())
    done, starts = [], range(0, len(images), batch_size)
    # `inference_mode` would leave tensors behind, in a model's buffers, that no gradient can flow through.
    with _untouched(captioner, weights.device), torch.no_grad():
        for number in range(rank, len(starts), size):
            batch = list(images[starts[number] : starts[number] + batch_size])
            read = processor(images=batch, return_tensors="pt").items()
            _seed(weights.device, seed + number)
            inputs = {name: moved(value, weights) for name, value in read}
            tokens = captioner.generate(**inputs, **arguments)
            prompt = inputs.get("decoder_input_ids", inputs.get("input_ids"))
            tokens = _without_prompt(getattr(tokens, "sequences", tokens), prompt)
            texts = decoder.batch_decode(tokens, skip_special_tokens=True)
            done.append((number, [text.strip() for text in texts]))
    if size > 1:
        done = gather_object(done)
    return list(chain.from_iterable(texts for _, texts in sorted(done)))


def find_processors(model: nn.Module, own: Any, processor: Any, tokenizer: Any) -> tuple[Any, Any]:
    """What reads images and what writes text, as `caption_images` takes them: those that are given, the trainer's own,
    which may be a processor, a tokenizer or an image processor, else those where the model, or a part of it, is from.
    """
    from transformers import AutoImageProcessor, AutoTokenizer, PreTrainedTokenizerBase

    own_tokenizer = isinstance(own, PreTrainedTokenizerBase)
    if processor is None:
        processor = _loaded(AutoImageProcessor, model, "encoder") if own is None or own_tokenizer else own
    if tokenizer is None and not hasattr(processor, "batch_decode"):
        tokenizer = own if hasattr(own, "batch_decode") else _loaded(AutoTokenizer, model, "decoder")
    return processor, tokenizer


def _loaded(kind: Any, model: nn.Module, part: str) -> Any:
    """A processor from where the model is from, or this part of it."""
    config = getattr(model, "config", None)
    for name in (getattr(one, "name_or_path", "") for one in (config, getattr(config, part, None))):
        with suppress(OSError, ValueError):
            if name:
                return kind.from_pretrained(name)
    argument = "processor" if part == "encoder" else "tokenizer"
    raise missing(
        argument, "is missing: the trainer has none, nor is there one where the model is from", f"give {argument}="
    )


def moved(value: Any, weights: torch.Tensor) -> Any:
    """A value on the model's device, numbers with a fraction in the model's precision."""
    if not hasattr(value, "is_floating_point"):
        return value
    return value.to(weights.device, weights.dtype if value.is_floating_point() else value.dtype)


def _without_prompt(tokens: torch.Tensor, prompt: torch.Tensor | None) -> torch.Tensor:
    """The generated tokens. Decoders repeat their prompt first, BLIP's without its last token, Pix2Struct's after a
    token that starts."""
    if prompt is not None:
        for start, length in ((0, prompt.shape[1]), (0, prompt.shape[1] - 1), (1, prompt.shape[1])):
            if tokens[:, start : start + length].equal(prompt[:, :length]):
                return tokens[:, start + length :]
    return tokens


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Put every module in evaluation mode, in which captioners caption; each module's own mode is put back."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode


@contextmanager
def _untouched(model: nn.Module, device: torch.device) -> Iterator[None]:
    import torch

    drawn = random.getstate(), np.random.get_state()
    gpu = device.type in GPUS
    with torch.random.fork_rng([device] if gpu else [], device_type=device.type if gpu else "cuda"), evaluating(model):
        try:
            yield
        finally:
            random.setstate(drawn[0])
            np.random.set_state(drawn[1])


def _seed(device: torch.device, seed: int) -> None:
    """Seed the generators that `_untouched` puts back, and no others as `torch.manual_seed` would."""
    import torch

    torch.default_generator.manual_seed(seed)
    if device.type in GPUS:
        module = torch.get_device_module(device.type)
        with module.device(device):
            module.manual_seed(seed)
