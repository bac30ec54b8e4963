"""VL-LIC: what only a picture shows raises the scores of an attacker that reads it, on both sides, and no other's."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import transformers
from PIL import Image

from captionbias.captions import check_captions
from captionbias.explain import explain
from captionbias.images.reading import Images
from captionbias.metrics import lic
from tests.launch import launched
from tests.refusals import refuses

IMAGES = 120
QUICK = {"trials": 2, "bootstrap": 0, "seed": 1, "allow_unmasked": True}


@pytest.fixture(scope="module")
def captions() -> dict[str, list]:
    """Captions of 120 images that tell nothing of the attribute."""
    random = np.random.default_rng(0)

    def written() -> str:
        return " ".join(["someone with", *(f"w{word}" for word in random.integers(25, size=5))])

    people = [[written(), written()] for _ in range(IMAGES)]
    said = [written() for _ in range(IMAGES)]
    return {"predictions": said, "references": people, "attributes": ["female", "male"] * (IMAGES // 2)}


def noise_of(seed: int) -> list[np.ndarray]:
    return list(np.random.default_rng(seed).integers(90, 160, size=(IMAGES, 32, 32, 3)).astype(np.uint8))


@pytest.fixture(scope="module")
def cued() -> list[np.ndarray]:
    """Noise, with a patch in one corner, red beside a woman and blue beside a man."""
    pictures = noise_of(1)
    for row, picture in enumerate(pictures):
        picture[:12, :12] = (0, 0, 255) if row % 2 else (255, 0, 0)
    return pictures


@pytest.fixture(scope="module")
def noise() -> list[np.ndarray]:
    return noise_of(2)


@pytest.mark.parametrize("encoder", ["bow", "bert-frozen", pytest.param("sentences", marks=pytest.mark.slow)])
def test_a_cue_in_the_picture_alone_raises_both_sides(encoder, captions, cued, noise, resnet, tiny_bert):
    attacker = {
        "bow": {"encoder": "bow"},
        "bert-frozen": {"encoder": "bert-frozen", "model": str(tiny_bert)},
        "sentences": {"encoder": str(tiny_bert)},
    }[encoder]
    given = {**captions, **attacker, **QUICK, "cache": False}
    blind = lic(**given)
    seeing, fooled = (lic(**given, images=images, image_encoder=str(resnet)) for images in (cued, noise))
    for side in ("leakage_m", "leakage_d"):
        assert seeing[side] > 85, side
        assert blind[side] < 75, side
        assert fooled[side] < 75, side
    assert seeing["lic_m"] > blind["lic_m"]
    assert seeing["lic_d"] > blind["lic_d"]
    assert abs(seeing["leakage"]) < 15, "what both sides see is no amplification"
    assert "image_encoder:tiny-resnet-" in seeing["signature"]
    assert "image_encoder" not in blind["signature"]


def test_pictures_are_read_once_and_other_pictures_give_other_scores(
    captions, cued, noise, resnet, tmp_path, monkeypatch
):
    from transformers import ResNetModel

    passes = []
    forward = ResNetModel.forward
    monkeypatch.setattr(
        ResNetModel,
        "forward",
        lambda self, pixel_values, **rest: passes.append(len(pixel_values)) or forward(self, pixel_values, **rest),
    )

    def measured(pictures, seed=0):
        given = QUICK | {"preset": "fast", "trials": 1, "seed": seed, "cache": tmp_path / "kept"}
        return lic(**captions, **given, images=pictures, image_encoder=str(resnet))["lic_m"]

    first = measured(cued)
    assert sum(passes) == IMAGES
    assert measured(cued) == first
    measured(cued, seed=5)
    assert sum(passes) == IMAGES
    assert measured(noise) != first, "trials are known by the pictures too"
    assert sum(passes) == 2 * IMAGES


def test_pictures_are_joined_by_id_in_any_order_and_what_cannot_be_read_is_refused(
    captions, cued, resnet, tiny_bert, tmp_path
):
    usual = {"image_encoder": str(resnet), "cache": False, **QUICK}
    seeing = usual | {"preset": "fast"}
    joined = check_captions(**captions, image_ids=list(range(IMAGES)))
    turned = Images(tuple(map(str, reversed(range(IMAGES)))), cued[::-1])
    assert lic(joined, images=turned, **seeing)["lic_m"] == lic(joined, images=cued, **seeing)["lic_m"]
    missing = turned.select(range(1, IMAGES))
    refuses(r"there is none with the id '119' \(1 of 120 captions", lic, joined, images=missing, **seeing)

    refuses("encoder 'lstm-lic' reads captions alone; choose bert-frozen", lic, **captions, **usual, images=cued)
    text = Path(shutil.copytree(tiny_bert, tmp_path / "text"))
    shutil.copy(resnet / "preprocessor_config.json", text)
    for changed, message in [
        ({"images": None}, "has no pictures to read"),
        ({"images": cued[:100]}, r"images has 100 images .* captions of 120"),
        ({"image_encoder": str(tiny_bert)}, r"image_encoder .* lacks its image processor's files"),
        ({"image_encoder": str(text)}, r"reads input_ids, not pictures; choose an image model"),
    ]:
        refuses(message, lic, **captions, **seeing | {"images": cued} | changed)


def test_the_attackers_are_kept_but_not_explained_by_words_alone(captions, cued, resnet):
    given = {"images": cued, "image_encoder": str(resnet), "preset": "fast", "cache": False, **QUICK, "trials": 1}
    refuses("cannot be explained", explain, lic.measure(**captions, **given, keep_attackers=1))


def test_a_vision_transformer_without_a_trained_pooler_gives_the_mean_of_its_states(captions, cued, tmp_path):
    config = transformers.ViTConfig(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, image_size=32, patch_size=8
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        transformers.ViTModel(config, add_pooling_layer=False).save_pretrained(tmp_path / "vit")
    transformers.ViTImageProcessorPil(size={"height": 32, "width": 32}).save_pretrained(tmp_path / "vit")
    given = {"images": cued, "image_encoder": str(tmp_path / "vit"), "preset": "fast", "cache": False, **QUICK}
    assert lic(**captions, **given)["leakage_m"] > 85
    assert lic(**captions, **given) == lic(**captions, **given)


@pytest.mark.slow
def test_two_processes_share_the_pictures_of_a_folder_out(captions, cued, resnet, tmp_path):
    for row, picture in enumerate(cued):
        Image.fromarray(picture).save(tmp_path / f"COCO_val2014_{row:012d}.png")
    table = pd.DataFrame(captions).rename(columns={"predictions": "caption", "attributes": "gender"})
    table.rename_axis("image_id").reset_index().to_json(tmp_path / "all.json", orient="records")
    arguments = ["measure", "lic", "--predictions", tmp_path / "all.json", "--references", tmp_path / "all.json"]
    arguments += ["--images", tmp_path, "--image-encoder", resnet, "--preset", "fast", "--trials", 2, "--seed", 1]
    arguments += ["--allow-unmasked", "--no-cache", "--bootstrap", 0, "--output", tmp_path / "lic.json"]
    status, printed = launched(["-m", "captionbias", *map(str, arguments)], tmp_path)
    assert status == 0, printed
    wanted = lic(**captions, images=cued, image_encoder=str(resnet), preset="fast", cache=False, **QUICK)["lic_m"]
    assert json.loads((tmp_path / "lic.json").read_text())["scores"]["lic_m"] == wanted > 60
