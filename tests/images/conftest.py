"""Tiny captioners with random weights, saved to folders as those on the Hub are, and pictures for them.

Their weights are large, so that captions differ from picture to picture.
"""

import json
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from benchmarks import families
from tests.attackers.conftest import resnet as resnet
from tests.attackers.conftest import tiny_bert as tiny_bert
from tests.training.conftest import one_thread as one_thread

SIZE = 16
TEXT = "a woman man with dog cake pizza tie surfboard on the street in red describe this picture user assistant"


@contextmanager
def few_words() -> Iterator[None]:
    """Tokenizers know the words of `TEXT` alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(families, "WORDS", TEXT)
        yield


@few_words()
def tiny(folder: Path, family: str) -> Path:
    generator = torch.Generator().manual_seed(0)
    model, parts = families.FAMILIES[family]()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim > 1:
                spread = 3 if "embed" in name else 1.5
                weight.copy_(torch.randn(weight.shape, generator=generator) * spread / weight[0].numel() ** 0.5)
                if len(weight) == 24:
                    weight[: len(families.SPECIAL)] /= (
                        4  # or captions would be of special tokens, and end before a word
                    )
    for part in (model, *parts):
        part.save_pretrained(folder)
    return folder


def saved(family: str):
    @pytest.fixture(scope="session")
    def folder(tmp_path_factory) -> Path:
        return tiny(tmp_path_factory.mktemp(family.lower()), family)

    return folder


tiny_blip, tiny_encoder_decoder, tiny_git = map(saved, ("BLIP", "ViT-GPT2", "GIT"))
tiny_chat_model = saved("LLaVA")  # its chat template says `user <image> PROMPT assistant`


@pytest.fixture(scope="session")
def tiny_detector(tmp_path_factory) -> str:
    """A folder with a model that finds boxes of people and dogs."""
    from transformers import YolosConfig, YolosForObjectDetection
    from transformers.models.yolos.image_processing_pil_yolos import YolosImageProcessorPil

    torch.manual_seed(0)
    small = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    names = {"id2label": {0: "person", 1: "dog"}, "label2id": {"person": 0, "dog": 1}}
    configuration = YolosConfig(**small, image_size=[32, 48], patch_size=8, num_detection_tokens=4, **names)
    folder = tmp_path_factory.mktemp("yolos")
    YolosForObjectDetection(configuration).save_pretrained(folder)
    YolosImageProcessorPil(size={"shortest_edge": 32, "longest_edge": 48}).save_pretrained(folder)
    return str(folder)


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


def write_people(path: Path, numbers: Iterable[int], dogs: str = "") -> Path:
    """What people say of pictures with these numbers, of women where they are odd."""
    rows = [
        {"image_id": number, "references": [f"a {who}{dogs}", f"a {who}"], "gender": value}
        for number in numbers
        for value, who in [(("male", "man"), ("female", "woman"))[number % 2]]
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


@pytest.fixture
def pictures(all_pictures, tmp_path) -> Path:
    """A folder with twelve pictures of many sizes, named as COCO's are; the test's own, to damage or remove."""
    return Path(shutil.copytree(all_pictures, tmp_path / "pictures"))
