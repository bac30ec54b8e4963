"""Maps of what in a picture speaks for a word, from the gradients of a captioner's vision encoder.

Grad-CAM weighs a channel by its gradient's mean over all places, which is right where the places are pooled. To an
attending captioner the same channel may mean the opposite in another patch: with planted cues the mean told the person
from the rest not at all, gradients in their own places did (0.71 to 0.98 outside the person, and 0.30 to 0.33).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from captionbias.arrays import Floats32
from captionbias.attackers.pretrained.models import first_line
from captionbias.errors import InputError, naming
from captionbias.images.named_words import Named
from captionbias.training.captioning import moved

if TYPE_CHECKING:
    from torch import Tensor, nn


MOST_EXTRA = 8  # tokens that stand for no patch: of the class, registers
OTHER = naming("take {method}, which needs no map", method="occlusion")


def maps(
    model: Any,
    processor: Any,
    tokenizer: Any,
    images: Sequence[Any],
    batch: Sequence[Named],
    averaged: bool,
) -> list[Floats32]:
    """The map of each word, `(height, width)` in cells of the feature map, nothing in it below 0.

    `images`: a picture for each word. `averaged`: as `attribute_images` takes it.
    """
    import torch

    weights = next(model.parameters())
    read = processor(images=list(images), return_tensors="pt").items()
    inputs = {name: moved(value, weights) for name, value in read}
    shape: tuple[int, ...] = getattr(inputs.get("pixel_values"), "shape", ())
    if len(shape) != 4 or shape[0] != len(images):
        raise InputError("method", ": gradients need a captioner that sees a picture whole, not in pieces", OTHER)
    inputs["pixel_values"].requires_grad_(True)
    states: list[Tensor] = []
    hook = _vision_encoder(model).register_forward_hook(lambda _, __, output: states.append(_states(output)))
    try:
        with torch.enable_grad():
            try:
                total = _log_probability(model, tokenizer, inputs, batch)
            except Exception as error:  # families differ in what they must be given
                raise InputError(
                    "method", f": this captioner gives no gradients ({first_line(error)})", OTHER
                ) from error
            gradient = torch.autograd.grad(total, states[-1], allow_unused=True)[0] if states else None
    finally:
        hook.remove()
    if gradient is None:
        raise InputError("method", ": what the captioner says does not depend on its vision encoder", OTHER)
    height, width = inputs["pixel_values"].shape[-2:]
    cells, weight = (_as_map(values.detach().float(), height / width) for values in (states[-1], gradient))
    weight = weight.mean(dim=(2, 3), keepdim=True) if averaged else weight
    maps = (weight * cells).sum(dim=1).clamp(min=0)
    return [np.asarray(heat, np.float32) for heat in maps.cpu().numpy()]


def _vision_encoder(model: Any) -> nn.Module:
    from transformers import PreTrainedModel

    for name, module in model.named_modules():
        if name and isinstance(module, PreTrainedModel) and module.main_input_name == "pixel_values":
            return module
    raise InputError("method", ": the model has no vision encoder of its own", OTHER)


def _states(output: Any) -> Tensor:
    first: Any = output[0] if isinstance(output, tuple) else output
    states: Tensor = getattr(first, "last_hidden_state", first)
    return states


def _log_probability(model: Any, tokenizer: Any, inputs: Mapping[str, Tensor], batch: Sequence[Named]) -> Tensor:
    """The log-probability of each caption's word after all tokens before it, summed over the batch."""
    import torch

    decoder = bool(model.config.is_encoder_decoder)
    device, longest = inputs["pixel_values"].device, max(len(word.ids) for word in batch)
    arguments = dict(inputs)
    prompt = None if decoder else arguments.pop("input_ids", None)  # a chat model's prompt
    if prompt is None:
        first = getattr(model.config, "decoder_start_token_id", None)  # with which the decoder begins a caption
        if first is None:
            first = model.config.get_text_config(decoder=True).bos_token_id
        prompt = torch.full((len(batch), 1), int(first), device=device)
    filler = tokenizer.pad_token_id or 0  # nothing before a word depends on what is behind it
    padded = torch.tensor([word.ids + [filler] * (longest - len(word.ids)) for word in batch], device=device)
    text = torch.cat((prompt, padded), dim=1)
    for name, value in arguments.items():  # what the processor says of each token of the prompt
        if value.shape == prompt.shape:
            arguments[name] = torch.cat((value, torch.full_like(padded, name == "attention_mask")), dim=1)
    logits = model(**arguments, **{"decoder_input_ids" if decoder else "input_ids": text}).logits[:, -text.shape[1] :]
    row = [row for row, word in enumerate(batch) for _ in word.places]
    place = [prompt.shape[1] + at for word in batch for at in word.places]
    before = logits[row, [at - 1 for at in place]].float().log_softmax(dim=-1)
    said: Tensor = before.gather(1, text[row, place][:, None]).sum()
    return said


def _as_map(values: Tensor, shape: float) -> Tensor:
    """A map `(batch, channels, height, width)` of a feature map, or of patches `(batch, tokens, channels)`.

    `shape`: the picture's height over its width. Tokens of no patch come first.
    """
    if values.ndim == 4:
        return values
    tokens = values.shape[1] if values.ndim == 3 else 0
    for extra in range(min(MOST_EXTRA, tokens)):
        height = round(np.sqrt((tokens - extra) * shape))
        width = round(height / shape)
        if height * width == tokens - extra:
            return values[:, extra:].transpose(1, 2).reshape(len(values), -1, height, width)
    raise InputError(
        "method", f": the vision encoder's output of shape {tuple(values.shape)} is not a map of the picture", OTHER
    )
