"""Captioners of transformers: found, loaded, asked and understood, each family in its own way."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from captionbias.attackers.pretrained.encoding import read_model, reading
from captionbias.attackers.pretrained.models import Model, digest, find_folder, find_model, signed_name
from captionbias.captions.texts import plain
from captionbias.errors import InputError

if TYPE_CHECKING:
    import torch

# What a model is asked where no prompt is given.
PROMPT = "Describe the image in one short sentence."  # any family but these
PROMPTS: dict[str, str | None] = {  # families whose processors place the image themselves; None: the image alone
    "blip": None,
    "blip-2": None,
    "blip-2 t5": "a photo of",
    "florence2": "<CAPTION>",
    "git": None,
    "instructblip": "A short image description.",
    "kosmos-2": "<grounding>An image of",
    "paligemma": "caption en",
    "pix2struct": None,
    "vision-encoder-decoder": None,
}
# What makes captions: another version may make others.
LIBRARIES = ("transformers", "tokenizers", "torch", "pillow")
ADAPTER = "adapter_config.json"


@dataclass(frozen=True)
class Adapted(Model):
    """A model with the folder of a LoRA adapter for it."""

    adapter: Path


@dataclass(frozen=True, eq=False)
class Captioner:
    """A model and what prepares its input: `processor` takes images, and asks about them what `asked` says."""

    model: Any
    processor: Any
    tokenizer: Any
    asked: str = ""


def find_captioner(name: str, revision: str | None = None) -> Model:
    """A captioner's files, here or on the Hub; of a LoRA adapter those of the model that it is for, too."""
    folder = find_folder(name, "model", revision)
    if not (folder / ADAPTER).is_file():
        return find_model(name, "model", LIBRARIES, revision=revision)
    if not find_spec("peft"):
        raise InputError("model", f"{name!r} is an adapter, which needs peft: pip install peft first")
    if not (folder / "adapter_model.safetensors").is_file():
        raise InputError("model", f"{name!r}: {folder} lacks adapter_model.safetensors (pickled weights are not read)")
    base = json.loads((folder / ADAPTER).read_text(encoding="utf-8"))["base_model_name_or_path"]
    files = find_model(base, "model", LIBRARIES)
    identity = f"{files.identity} {digest(folder)} peft {version('peft')}"
    return Adapted(signed_name(name, folder), files.folder, identity, folder)


def load_captioner(
    files: Model,
    prompt: str | None,
    template_arguments: Mapping[str, Any],
    dtype: str,
    device: torch.device,
    device_map: Any = None,
) -> Captioner:
    """The model on its device, or on those of the map, and what it is asked."""
    from transformers import AutoConfig, AutoModelForMultimodalLM
    from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES

    with reading(files, "model"):
        config = AutoConfig.from_pretrained(files.folder, trust_remote_code=False)
    kind = config.model_type
    if kind not in (*MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES, "phi4_multimodal"):  # which is listed for sound alone
        raise InputError(
            "model", f"{files.name!r} is of the kind {kind!r}, which does not caption images: name another"
        )
    model, _ = read_model(AutoModelForMultimodalLM, files, "model", dtype=dtype, device_map=device_map)
    with reading(files, "model"):
        if isinstance(files, Adapted):
            from peft import PeftModel

            model = PeftModel.from_pretrained(model, files.adapter).merge_and_unload()
        processor, tokenizer = read_processor(files.folder)
    tokenizer.padding_side = "left"  # a decoder goes on after the last token
    captioner = Captioner(model if device_map else model.to(device), processor, tokenizer)
    return _asking(captioner, files, config, prompt, template_arguments)


def read_processor(folder: Path) -> tuple[Any, Any]:
    """The processor of images, and of text with them if it takes any, and the tokenizer."""
    import transformers

    auto: Any = transformers  # its classes have no types
    processor = auto.AutoProcessor.from_pretrained(folder, trust_remote_code=False)
    if hasattr(processor, "image_processor"):
        return processor, processor.tokenizer
    # vision encoder-decoders have two separate ones
    separate = auto.AutoImageProcessor, auto.AutoTokenizer
    images, tokenizer = (kind.from_pretrained(folder, trust_remote_code=False) for kind in separate)
    return images, tokenizer


# What a captioner is asked


def _asking(
    captioner: Captioner, files: Model, config: Any, prompt: str | None, template_arguments: Mapping[str, Any]
) -> Captioner:
    processor, tokenizer, kind = captioner.processor, captioner.tokenizer, config.model_type
    template = getattr(processor, "chat_template", None)
    if kind not in PROMPTS:
        template = template or tokenizer.chat_template
    elif prompt is None:
        prompt = PROMPTS.get(f"{kind} {config.get_text_config().model_type}", PROMPTS[kind])
    if template_arguments and not template:
        raise InputError("template_arguments", f": model {files.name!r} has no chat template; leave them out")
    if prompt is None and kind in PROMPTS and not template:
        return captioner
    if not hasattr(processor, "tokenizer"):
        raise InputError("prompt", f": model {files.name!r} takes images alone; leave the prompt out")
    asked, image_token = PROMPT if prompt is None else prompt, getattr(processor, "image_token", None) or ""
    if template:
        with reading(files, "model"):
            asked = _in_template(processor, template, asked, image_token, template_arguments)
    elif kind not in PROMPTS:
        asked = image_token + asked
    begun = tokenizer.bos_token is not None and asked.startswith(tokenizer.bos_token)
    padding = {"padding": True, "add_special_tokens": False} if begun else {"padding": True}

    def ask(images: Sequence[Any], return_tensors: str) -> Any:
        given = images if kind in PROMPTS else [[image] for image in images]
        inputs = processor(text=[asked] * len(images), images=given, return_tensors=return_tensors, **padding)
        if kind == "git":  # it would go on after the token that ends a text; BLIP takes that one off itself
            inputs.update({name: inputs[name][:, :-1] for name in ("input_ids", "attention_mask")})
        return inputs

    return replace(captioner, processor=ask, asked=asked)


def _in_template(processor: Any, template: Any, asked: str, image_token: str, arguments: Mapping[str, Any]) -> str:
    """The question in a chat template. A tokenizer's own template is for text alone, and has no place for images."""
    from jinja2 import TemplateError

    def rendered(content: Any) -> str:
        options = {"chat_template": template, "add_generation_prompt": True, **arguments}
        return str(processor.apply_chat_template([{"role": "user", "content": content}], **options))

    image, text = {"type": "image"}, {"type": "text", "text": asked}
    with suppress(TypeError, TemplateError):  # it joins texts
        typed = rendered([image, text])
        if "'type': 'image'" not in typed and typed != rendered([text]):
            return typed
    return rendered(f"{image_token}\n{asked}")


# What it answers


@dataclass
class Hearing:
    """A tokenizer for `caption_images` that turns tokens into captions; `cut`: the rows that the limit cut off."""

    captioner: Captioner
    cut: set[int] = field(default_factory=set)

    def batch_decode(self, tokens: torch.Tensor, **options: Any) -> list[str]:
        tokenizer, generation = self.captioner.tokenizer, self.captioner.model.generation_config
        stops = generation.eos_token_id if isinstance(generation.eos_token_id, list) else [generation.eos_token_id]
        ends = {*stops, generation.pad_token_id, tokenizer.eos_token_id, tokenizer.sep_token_id, tokenizer.pad_token_id}
        self.cut = {row for row, last in enumerate(tokens[:, -1].tolist()) if last not in ends}
        begun = "<think>" if self.captioner.asked.rstrip().endswith("<think>") else ""
        return [plain(begun + text) for text in tokenizer.batch_decode(tokens, **options)]
