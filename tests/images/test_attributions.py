"""Where a captioner finds the attribute: right where the truth is planted, on every kind of captioner, in any view."""

import json
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from benchmarks import families
from captionbias.captions import CaptionBiasWarning
from captionbias.images.attributions import _seen, attribute_images
from captionbias.images.captioning import caption, open_captioner
from captionbias.images.occlusion import NamedWord, log_probabilities
from captionbias.training.captioning import caption_images
from tests.cli.conftest import ran
from tests.images.coco_pictures import annotation, write_annotations
from tests.images.conftest import few_words
from tests.refusals import refuses

SIZE, PATCH = 32, 8
pytestmark = [pytest.mark.filterwarnings("ignore:.*have no share:captionbias.captions.CaptionBiasWarning")]
learns = pytest.mark.skipif(
    tuple(map(int, torch.__version__.split(".")[:2])) < (2, 8),
    reason="with its random numbers the small captioner does not learn the cue",
)


def planted(images: int, where: str, seed: int) -> tuple[list[np.ndarray], list[np.ndarray], list[str]]:
    """Pictures of a person on the left and a thing on the right; what `where` says has the attribute's colour.

    The other colour is beside it, so that the mean colour of a picture tells nothing.
    """
    random = np.random.default_rng(seed)
    pictures = random.integers(90, 160, size=(images, SIZE, SIZE, 3)).astype(np.uint8)
    persons = np.zeros((images, SIZE, SIZE), bool)
    left = np.indices((SIZE, SIZE))[1] % PATCH < PATCH / 2
    for row, (picture, person) in enumerate(zip(pictures, persons, strict=True)):
        top, place = random.integers(0, 3, 2) * PATCH
        person[top : top + 2 * PATCH, : PATCH + 4] = True
        thing = np.zeros_like(person)
        thing[place : place + PATCH, 2 * PATCH + 4 : 3 * PATCH + 4] = True
        picture[person | thing] = 40
        told = {"person": person, "thing": thing, "everywhere": person | ~person}[where]
        picture[told & (left == row % 2)] = (255, 0, 0)
        picture[told & (left != row % 2)] = (0, 0, 255)
    return list(pictures), list(persons), [f"a {('woman', 'man')[row % 2]} with dog" for row in range(images)]


@cache
def trained(where: str):
    """A captioner that has learnt who is there from the stripes of the person, of the thing, or of more.

    Its encoder has no attention, which passes on what a patch shows to others: where it looks is where the cue is.
    """
    from transformers import GPT2Config, VisionEncoderDecoderConfig, VisionEncoderDecoderModel, ViTConfig
    from transformers import ViTImageProcessorPil as ViTImageProcessor

    torch.manual_seed(0)
    config = VisionEncoderDecoderConfig.from_encoder_decoder_configs(
        ViTConfig(image_size=SIZE, patch_size=PATCH, hidden_size=32, num_hidden_layers=0, num_attention_heads=2),
        GPT2Config(vocab_size=24, n_positions=16, n_embd=32, n_layer=1, n_head=2, bos_token_id=2, eos_token_id=3),
    )
    config.pad_token_id, config.decoder_start_token_id, config.eos_token_id = 0, 2, 3
    model, processor = VisionEncoderDecoderModel(config), ViTImageProcessor(size={"height": SIZE, "width": SIZE})
    with few_words():
        tokenizer = families.tokenizer()
    pictures, _, captions = planted(512, where, seed=1)
    pixels = processor(images=pictures, return_tensors="pt")["pixel_values"]
    labels = tokenizer([f"{caption} </s>" for caption in captions], return_tensors="pt").input_ids
    optimizer, random = torch.optim.Adam(model.parameters(), 3e-3), np.random.default_rng(0)
    model.train()
    for _ in range(200):
        rows = random.integers(512, size=32)
        optimizer.zero_grad()
        model(pixel_values=pixels[rows], labels=labels[rows]).loss.backward()
        optimizer.step()
    return model, processor, tokenizer


def opened(folder: Path, count: int) -> tuple[list[Image.Image], list[np.ndarray]]:
    """The first pictures, with a person in the left half of each."""
    pictures = [Image.open(path).convert("RGB") for path in sorted(folder.iterdir())[:count]]
    return pictures, [np.indices((one.height, one.width))[1] < one.width // 2 for one in pictures]


@pytest.mark.slow
@learns
def test_occlusion_orders_captioners_by_what_their_word_depends_on():
    of_all = {}
    for where in ("person", "everywhere", "thing"):
        model, processor, tokenizer = trained(where)
        pictures, persons, captions = planted(60, where, seed=9)
        own = caption_images(model, processor, pictures, tokenizer=tokenizer)
        of_all[where] = attribute_images(model, processor, pictures, persons, own, tokenizer=tokenizer)
        assert of_all[where].overall.area == pytest.approx(1 - np.mean(persons), abs=0.02)
        learnt = {credit.image: credit.caption for credit in of_all[where].credits}
        assert all(captions[int(image.removeprefix("row "))] == text for image, text in learnt.items())
    found = {where: one.overall for where, one in of_all.items()}
    person, everywhere, thing = (one.share for one in found.values())
    assert person.low < person.value < person.high < everywhere.low
    assert everywhere.high < thing.low
    assert person.high < found["person"].area - 0.5
    assert thing.low > found["thing"].area
    assert all(one.gain > 1 and one.words == 60 for one in found.values())
    labels = of_all["thing"].by_label
    assert labels["female"].share.value == pytest.approx(1, abs=0.1)
    assert labels["male"].share is None, "it is said without a picture"
    assert any("words of 'male' have no share" in note for note in of_all["thing"].notes)
    assert of_all["thing"].as_dict()["by_label"]["male"]["share"] is None


@pytest.mark.parametrize("kind", ["tiny_blip", "tiny_git", "tiny_encoder_decoder", "tiny_chat_model"])
def test_every_kind_of_captioner_is_read(kind, all_pictures, request):
    """The words of its captions are found, and their log-probability is that with which it makes them."""
    model, processor, tokenizer = open_captioner(request.getfixturevalue(kind))
    pictures, persons = opened(all_pictures, 4)
    captions = ["a woman with a man", "a dog and cake", "the woman", "MAN on street"]
    with pytest.warns(CaptionBiasWarning, match="1 of 4 images are left out: their captions name no attribute"):
        found = attribute_images(model, processor, pictures, persons, captions, tokenizer=tokenizer, bootstrap=0)
    assert [credit.word for credit in found.credits] == ["woman", "man", "woman", "man"]
    assert found.overall.share is None or found.overall.share.low is None
    assert found.images == 4

    inputs = dict(processor(images=pictures[:1], return_tensors="pt"))
    with torch.no_grad():
        made = model.generate(
            **inputs, max_new_tokens=4, do_sample=False, return_dict_in_generate=True, output_scores=True
        )
        ids = made.sequences[0, -len(made.scores) :].tolist()
        for place, scores in enumerate(made.scores):
            named = NamedWord(0, "", "", ids, [place])
            wanted = float(scores[0].log_softmax(-1)[ids[place]])
            assert log_probabilities(model, inputs, [named]) == pytest.approx(wanted, abs=1e-3)


def test_a_token_that_always_comes_first_is_no_word_of_the_caption(tiny_encoder_decoder, all_pictures):
    """As BART's decoders, Florence-2's for one, begin."""
    model, processor, _ = open_captioner(tiny_encoder_decoder)
    model.generation_config.forced_bos_token_id = 2
    inputs = dict(processor(images=opened(all_pictures, 1)[0], return_tensors="pt"))
    made = model.generate(**inputs, max_new_tokens=4, return_dict_in_generate=True, output_logits=True)
    ids = made.sequences[0, -3:].tolist()
    wanted = [float(made.logits[1 + place][0].log_softmax(-1)[number]) for place, number in enumerate(ids)]
    found = [float(log_probabilities(model, inputs, [NamedWord(0, "", "", ids, [place])])[0]) for place in range(3)]
    assert found == pytest.approx(wanted, abs=1e-4)


def test_a_captioner_that_sees_a_picture_in_pieces_is_occluded():
    """As Qwen2-VL's patches, or LLaVA-NeXT's tiles: regions are of the picture itself."""
    model, plain, tokenizer = trained("person")
    pictures, persons, captions = planted(12, "person", seed=3)

    def in_pieces(images, return_tensors):
        return {"pixel_values": plain(images=images, return_tensors=return_tensors)["pixel_values"][:, None]}

    forward = model.generate
    given = {"tokenizer": tokenizer, "bootstrap": 0}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model, "generate", lambda pixel_values, **rest: forward(pixel_values=pixel_values[:, 0], **rest))
        found = attribute_images(model, in_pieces, pictures, persons, captions, **given)
    assert found.credits == attribute_images(model, plain, pictures, persons, captions, **given).credits


def test_regions_follow_the_processor_that_cuts_pictures():
    """CLIP's cuts out the middle: a person at the left edge of a wide picture is cut off, and so is not there."""
    from transformers import CLIPImageProcessorPil

    processor = CLIPImageProcessorPil(size={"shortest_edge": SIZE}, crop_size={"height": SIZE, "width": SIZE})
    picture = Image.new("RGB", (4 * SIZE, SIZE), (255, 0, 128))
    edge, middle = np.zeros((2, SIZE, 4 * SIZE), bool)
    edge[:, :SIZE], middle[:, 2 * SIZE :] = True, True
    assert not _seen(processor, picture, edge, "1").any()
    assert _seen(processor, picture, middle, "1").mean() == pytest.approx(0.5)


def test_what_does_not_fit_is_refused():
    model, processor, tokenizer = trained("person")
    pictures, persons, captions = planted(4, "person", seed=3)
    given = {"regions": persons, "captions": captions, "tokenizer": tokenizer, "bootstrap": 0}
    for change, message in [
        ({"regions": [np.ones((SIZE, SIZE), bool)] * 3}, "regions: 3 for 4 images"),
        ({"regions": [np.ones((2, 2), bool)] * 4}, r"regions: that of image row 0 has the shape \(2, 2\)"),
        ({"regions": [np.zeros((SIZE, SIZE), bool)] * 4}, r"none is left: 4 of 4 .* no person is in their regions"),
        ({"captions": ["a dog"] * 4}, "captions: none names the attribute"),
    ]:
        refuses(message, attribute_images, model, processor, pictures, **given | change)


def test_the_command_prints_and_writes_shares(tiny_blip, all_pictures, tmp_path):
    sizes = [Image.open(path).size for path in sorted(all_pictures.iterdir())]
    left_half = [annotation(number, box=(0, 0, width / 2, height)) for number, (width, height) in enumerate(sizes)]
    file = write_annotations(tmp_path, left_half, range(len(sizes)), [size[::-1] for size in sizes])
    given = ["attribution", "--model", tiny_blip, "--images", all_pictures, "--annotations", file]
    shown, _ = ran(*given, "--bootstrap", 100, "--output", tmp_path / "shares.json")
    written = json.loads((tmp_path / "shares.json").read_text())
    assert "Attribution outside the person" in shown
    for label, part in written["by_label"].items():
        assert re.search(rf"{label} .* {part['words']}\s", shown)
    own = caption(tiny_blip, all_pictures)
    assert all(credit["word"] in own[credit["image"]] == credit["caption"] for credit in written["credits"])
    assert written["fill"] == "mean"
    assert written["area"] == pytest.approx(0.5, abs=0.1)
