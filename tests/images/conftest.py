"""Tiny captioners with random weights, saved to folders as those on the Hub are, and pictures for them.

Their weights are large, so that captions differ from picture to picture.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from benchmarks.families import SMALL, SPECIAL, tokenizer

SIZE = 16
TEXT = "a woman man with dog cake pizza tie surfboard on the street in red describe this picture user assistant"
TEMPLATE = (
    "{% for message in messages %}{{ message.role }} "
    "{% for part in message.content %}{{ '<image>' if part.type == 'image' else part.text }} {% endfor %}"
    "{% endfor %}{% if add_generation_prompt %}assistant {% endif %}"
)


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """The products are small: threads would fight over them."""
    torch.set_num_threads(1)


def words(*, ends: str = "$A") -> object:
    """A tokenizer with a word a token; `ends` is what it makes of a text."""
    return tokenizer(ends=ends, words=TEXT)


def saved(folder: Path, model: torch.nn.Module, *parts: object) -> Path:
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim > 1:
                spread = 3 if "embed" in name else 1.5
                weight.copy_(torch.randn(weight.shape, generator=generator) * spread / weight[0].numel() ** 0.5)
                if len(weight) == 24:
                    weight[: len(SPECIAL)] /= 4  # or captions would be of special tokens, and end before a word
    model.save_pretrained(folder)
    for part in parts:
        part.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_blip(tmp_path_factory) -> Path:
    """A folder with a BLIP."""
    from transformers import BlipConfig, BlipForConditionalGeneration, BlipImageProcessor, BlipProcessor

    ends = {"bos_token_id": 2, "eos_token_id": 3, "sep_token_id": 3, "pad_token_id": 0}
    config = BlipConfig(
        text_config={"vocab_size": 24, "encoder_hidden_size": 32, "max_position_embeddings": 64, **ends, **SMALL},
        vision_config={"image_size": SIZE, "patch_size": 8, **SMALL},
        projection_dim=32,
    )
    processor = BlipProcessor(BlipImageProcessor(size={"height": SIZE, "width": SIZE}), words(ends="<s> $A </s>"))
    return saved(tmp_path_factory.mktemp("blip"), BlipForConditionalGeneration(config), processor)


@pytest.fixture(scope="session")
def tiny_encoder_decoder(tmp_path_factory) -> Path:
    """A folder with a vision transformer and a GPT-2."""
    from transformers import (
        GPT2Config,
        VisionEncoderDecoderConfig,
        VisionEncoderDecoderModel,
        ViTConfig,
        ViTImageProcessor,
    )

    config = VisionEncoderDecoderConfig.from_encoder_decoder_configs(
        ViTConfig(image_size=SIZE, patch_size=8, **SMALL),
        GPT2Config(vocab_size=24, n_positions=64, n_embd=32, n_layer=2, n_head=2, bos_token_id=2, eos_token_id=3),
    )
    config.pad_token_id, config.decoder_start_token_id, config.eos_token_id = 0, 2, 3
    image_processor = ViTImageProcessor(size={"height": SIZE, "width": SIZE})
    return saved(tmp_path_factory.mktemp("vit-gpt2"), VisionEncoderDecoderModel(config), image_processor, words())


@pytest.fixture(scope="session")
def tiny_git(tmp_path_factory) -> Path:
    """A folder with a GIT."""
    from transformers import CLIPImageProcessor, GitConfig, GitForCausalLM, GitProcessor

    config = GitConfig(
        vision_config={"image_size": SIZE, "patch_size": 8, **SMALL},
        vocab_size=24,
        max_position_embeddings=64,
        bos_token_id=2,
        eos_token_id=3,
        pad_token_id=0,
        **SMALL,
    )
    size = {"height": SIZE, "width": SIZE}
    image_processor = CLIPImageProcessor(size=size, crop_size=size)
    processor = GitProcessor(image_processor, words(ends="<s> $A </s>"))
    return saved(tmp_path_factory.mktemp("git"), GitForCausalLM(config), processor)


@pytest.fixture(scope="session")
def tiny_chat_model(tmp_path_factory) -> Path:
    """A folder with a LLaVA, whose chat template says `user <image> PROMPT assistant`."""
    from transformers import CLIPImageProcessor, LlavaConfig, LlavaForConditionalGeneration, LlavaProcessor

    config = LlavaConfig(
        vision_config={"model_type": "clip_vision_model", "image_size": SIZE, "patch_size": 8, **SMALL},
        text_config={"model_type": "llama", "vocab_size": 24, "bos_token_id": 2, "eos_token_id": 3, **SMALL},
        image_token_index=4,
        pad_token_id=0,
        vision_feature_layer=-1,
    )
    size = {"height": SIZE, "width": SIZE}
    processor = LlavaProcessor(
        CLIPImageProcessor(size=size, crop_size=size),
        words(),
        patch_size=8,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=TEMPLATE,
    )
    return saved(tmp_path_factory.mktemp("llava"), LlavaForConditionalGeneration(config), processor)


@pytest.fixture(scope="session")
def all_pictures(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("pictures")
    generator = np.random.default_rng(0)
    for number in range(12):
        height, width = generator.integers(SIZE, 3 * SIZE, 2)
        corners = generator.integers(0, 256, (2, 2, 3), dtype=np.uint8)
        Image.fromarray(corners).resize((width, height), Image.Resampling.BILINEAR).save(
            folder / f"COCO_val2014_{number:012}.png"
        )
    return folder


@pytest.fixture
def pictures(all_pictures, tmp_path) -> Path:
    """A folder with twelve pictures of many sizes, named as COCO's are; the test's own, to damage or remove."""
    return Path(shutil.copytree(all_pictures, tmp_path / "pictures"))
