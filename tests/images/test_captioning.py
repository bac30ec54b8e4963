"""Captions are the model's own, whatever batch an image is in, and none is made twice."""

import shutil

import numpy as np
import pytest
import torch

from benchmarks import families
from captionbias.captions import CaptionBiasWarning
from captionbias.images import captioning
from captionbias.images.captioning import Draws, caption
from captionbias.images.reading import read_images
from tests.refusals import refuses

MODELS = ["tiny_blip", "tiny_encoder_decoder", "tiny_git", "tiny_chat_model"]
SHORT = {"max_new_tokens": 8}


class LoadedError(Exception):
    """A model was loaded."""


def no_model(*_):
    raise LoadedError


def by_hand(folder, images, prompt=None):
    """The captions of a loop as model cards show it, an image at a time, without what comes before them."""
    from transformers import AutoImageProcessor, AutoModelForImageTextToText, AutoProcessor, AutoTokenizer

    model = AutoModelForImageTextToText.from_pretrained(folder).eval()
    processor, tokenizer = AutoProcessor.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    for image in images:
        if model.config.model_type == "vision-encoder-decoder":
            inputs = AutoImageProcessor.from_pretrained(folder)(image, return_tensors="pt")
        elif model.config.model_type == "llava":
            inputs = processor(image, f"user <image> {prompt} assistant", return_tensors="pt")
        else:
            inputs = processor(image, return_tensors="pt")
        with torch.no_grad():
            tokens = model.generate(**inputs, max_new_tokens=8, do_sample=False)
        before = inputs["input_ids"].shape[1] if "input_ids" in inputs else 0
        yield tokenizer.decode(tokens[0, before:], skip_special_tokens=True).strip()


@pytest.mark.parametrize("kind", MODELS)
def test_captions_are_those_of_a_plain_loop_alone_and_in_batches(kind, all_pictures, request):
    model, images = request.getfixturevalue(kind), read_images(all_pictures)
    prompt = "describe this picture" if kind == "tiny_chat_model" else None
    expected = dict(zip(images.ids, by_hand(model, images, prompt), strict=True))
    assert len(set(expected.values())) > 4
    for batch_size in (1, 4):
        captions = caption(model, images, prompt=prompt, batch_size=batch_size, cache=False, **SHORT)
        assert list(captions.items()) == list(expected.items()), batch_size


def test_images_of_one_batch_may_need_different_numbers_of_tokens(tiny_chat_model, all_pictures, monkeypatch):
    """As where a processor cuts large images into several: the shorter inputs are padded on the left."""
    from transformers import LlavaProcessor

    plain = LlavaProcessor.__call__

    def with_words_for_width(self, images, text, **options):
        texts = [f"{'the ' * (image.width % 7)}{one}" for (image,), one in zip(images, text, strict=True)]
        return plain(self, images=images, text=texts, **options)

    monkeypatch.setattr(LlavaProcessor, "__call__", with_words_for_width)
    images = read_images(all_pictures)
    assert len({image.width % 7 for image in images}) > 2
    alone, together = (
        caption(tiny_chat_model, images, batch_size=size, prompt="describe", cache=False, **SHORT) for size in (1, 4)
    )
    assert alone == together


def test_prompt_beams_and_length_are_obeyed(tiny_blip, tiny_git, tiny_chat_model, all_pictures):
    for model in (tiny_blip, tiny_git, tiny_chat_model):
        plain = caption(model, all_pictures, **SHORT)
        asked = caption(model, all_pictures, prompt="red dog", **SHORT)
        assert plain != asked, model
        assert not any(text.startswith("red dog") for text in asked.values()), model
    for tokens in (3, 5):
        found = caption(tiny_blip, all_pictures, max_new_tokens=tokens).values()
        assert max(len(text.split()) for text in found) == tokens
    beams = {size: caption(tiny_blip, all_pictures, num_beams=3, batch_size=size, cache=False) for size in (1, 4)}
    assert beams[1] == beams[4] != caption(tiny_blip, all_pictures)


def test_no_image_is_captioned_twice_by_the_same_model(tiny_blip, pictures, monkeypatch):
    cut_off = r"12 of 12 images have a caption cut off at 8 tokens \(raise"
    with pytest.warns(CaptionBiasWarning, match=cut_off):
        first = caption(tiny_blip, pictures, batch_size=5, **SHORT)
    monkeypatch.setattr(captioning, "load_captioner", no_model)
    with pytest.warns(CaptionBiasWarning, match=cut_off):  # also when they are kept
        assert caption(tiny_blip, pictures, batch_size=4, **SHORT) == first
    under_other_names = [file.read_bytes() for file in sorted(pictures.iterdir())]
    assert list(caption(tiny_blip, under_other_names, **SHORT).values()) == list(first.values())
    others = [{"num_beams": 2}, {"prompt": "a"}, {"max_new_tokens": 9}, {"cache": False}]
    others += [{"temperature": 1.0}, {"top_p": 0.9}, {"dtype": "bfloat16"}]
    for other in others:
        with pytest.raises(LoadedError):
            caption(tiny_blip, pictures, **SHORT | other)


def test_changed_weights_and_changed_pictures_are_captioned_anew(tiny_blip, tiny_git, pictures, tmp_path):
    model = shutil.copytree(tiny_blip, tmp_path / "model")
    before = caption(model, pictures, **SHORT)
    shutil.rmtree(model)
    shutil.copytree(tiny_git, model)
    assert caption(model, pictures, **SHORT) != before
    first, second = sorted(pictures.iterdir())[:2]
    first.write_bytes(second.read_bytes())
    after = caption(tiny_blip, pictures, **SHORT)
    assert after == {**before, "0": before["1"]}
    assert before["0"] != before["1"]


def test_images_that_cannot_be_read_are_named_and_left_out(tiny_blip, pictures):
    whole = caption(tiny_blip, pictures, **SHORT)
    files = sorted(pictures.iterdir())
    files[3].write_bytes(files[3].read_bytes()[:60])
    files[7].write_text("not an image")
    with pytest.warns(CaptionBiasWarning, match="2 of 12 images cannot be read and are left out: image 3 .*image 7 "):
        found = caption(tiny_blip, pictures, **SHORT)
    assert found == {image: text for image, text in whole.items() if image not in ("3", "7")}
    for file in files:
        file.write_text("not an image")
    refuses("images: none of 12 can be read; the first: image 0", caption, tiny_blip, pictures, **SHORT)


def test_empty_captions_and_refusals_are_empty_with_a_note(tiny_blip, all_pictures, monkeypatch):
    from captionbias.training import captioning as training

    answers = ["  a\n dog ", " ", "I'm sorry, but I can't help with that.", "a sorry sight"]
    monkeypatch.setattr(training, "caption_images", lambda model, processor, images, **_: answers)
    with pytest.warns(CaptionBiasWarning) as noted:
        captions = caption(tiny_blip, all_pictures, batch_size=4)
    assert list(captions.values()) == ["a dog", "", "", "a sorry sight"] * 3
    said = "I'm sorry, but I can't help with that."
    assert [str(one.message) for one in noted if "empty" in str(one.message)] == [
        "3 of 12 images have an empty caption: 1, 5, 9",
        f"3 of 12 images are refused, and have an empty caption: 2 ({said}), 6 ({said}), 10 ({said})",
    ]


def test_what_is_not_a_captioner_and_options_that_make_no_sense_are_refused(
    tiny_encoder_decoder, tiny_blip, all_pictures, tmp_path
):
    from safetensors.torch import load_file, save_file
    from transformers import BertConfig, BertModel

    refuses("prompt: model", caption, tiny_encoder_decoder, all_pictures, prompt="a photo of")
    text = shutil.copytree(tiny_encoder_decoder, tmp_path / "text")
    BertModel(BertConfig(vocab_size=9, hidden_size=8, num_hidden_layers=1, num_attention_heads=1)).save_pretrained(text)
    refuses("is of the kind 'bert', which does not caption images", caption, text, all_pictures)
    part = shutil.copytree(tiny_blip, tmp_path / "part")
    weights = load_file(part / "model.safetensors")
    del weights[next(name for name in weights if "text_decoder" in name and "layer.1" in name)]
    save_file(weights, part / "model.safetensors")
    refuses("the weights lack text_decoder", caption, part, all_pictures)
    for options, message in [
        ({"temperature": 0}, "temperature is 0: it must be above 0"),
        ({"top_p": 1.1}, "top_p.* but is 1.1"),
        ({"top_p": 0.9, "num_beams": 2}, "num_beams is 2: captions are drawn without beams"),
        ({"revision": "main"}, "revision: model .* is a folder here"),
        ({"template_arguments": {"style": 1}}, "template_arguments: model .* has no chat template"),
    ]:
        refuses(message, caption, tiny_blip, all_pictures, **options)


def test_drawn_captions_depend_on_the_seed_and_the_image_alone(tiny_blip, all_pictures):
    drawn = {**SHORT, "temperature": 2.0, "cache": False}
    first, again = (caption(tiny_blip, all_pictures, batch_size=size, **drawn) for size in (1, 5))
    assert first == again
    assert first != caption(tiny_blip, all_pictures, sampling_seed=1, **drawn)
    assert first != caption(tiny_blip, all_pictures, top_p=0.2, **drawn)
    almost_greedy = caption(tiny_blip, all_pictures, **{**drawn, "temperature": 1e-6})
    assert almost_greedy == caption(tiny_blip, all_pictures, **SHORT)


def test_draws_have_the_probabilities_of_their_logits():
    logits = torch.tensor([[0.0, 1.0, 2.0, -3.0]])
    found = {top_p: np.zeros(4) for top_p in (1.0, 0.7)}
    for top_p, counts in found.items():
        chosen = Draws(2.0, top_p, [str(row) for row in range(4000)])(None, logits.repeat(4000, 1)).argmax(1)
        counts += np.bincount(chosen.numpy(), minlength=4) / 4000
    expected = (logits / 2).softmax(1).numpy()[0]
    assert np.allclose(found[1.0], expected, atol=0.03)
    assert np.allclose(found[0.7], [0, *(expected[1:3] / expected[1:3].sum()), 0], atol=0.03)


def with_template(folder, source, template, *, of_tokenizer=False):
    """A copy of a chat model with another template, kept in its processor or in its tokenizer."""
    from transformers import AutoProcessor

    shutil.copytree(source, folder)
    processor = AutoProcessor.from_pretrained(source)
    (folder / "chat_template.jinja").unlink()
    processor.chat_template = None if of_tokenizer else template
    processor.tokenizer.chat_template = template if of_tokenizer else None
    processor.save_pretrained(folder)
    return folder


TYPED = families.template().replace("{{ message.role }}", "{{ message.role }} {% if loud %}red dog {% endif %}")
JOINED = "{% for message in messages %}{{ message.role + ' ' + message.content }} {% endfor %}assistant "


def test_the_template_of_a_chat_model_is_used_wherever_it_is_with_its_arguments(
    tiny_chat_model, all_pictures, tmp_path
):
    expected = caption(tiny_chat_model, all_pictures, prompt="describe this picture", **SHORT)
    for name, template in (("typed", TYPED), ("joined", JOINED)):
        model = with_template(tmp_path / name, tiny_chat_model, template, of_tokenizer=True)
        assert caption(model, all_pictures, prompt="describe this picture", **SHORT) == expected
    model = with_template(tmp_path / "model", tiny_chat_model, TYPED)
    quiet, loud = (caption(model, all_pictures, template_arguments={"loud": one}, **SHORT) for one in (False, True))
    assert quiet != loud
    thinking = with_template(tmp_path / "thinking", tiny_chat_model, TYPED + "<think>")
    with pytest.warns(CaptionBiasWarning, match="12 of 12 images have an empty caption"):
        found = caption(thinking, all_pictures, **SHORT)
    assert set(found.values()) == {""}, "a thought that the template opens is no caption"


def test_what_a_model_cannot_do_is_said_whole(tiny_chat_model, all_pictures, tmp_path):
    without_image = with_template(tmp_path / "model", tiny_chat_model, "{{ messages[0].role }}")
    whole = "(?s)cannot caption these images, asked 'user'.*give another prompt or batch_size, or name another model$"
    refuses(whole, caption, without_image, all_pictures, prompt="describe")
    fussy = with_template(tmp_path / "fussy", tiny_chat_model, "{{ raise_exception('no user') }}")
    refuses(r"\(no user\)", caption, fussy, all_pictures)


def test_an_adapter_is_laid_over_its_model(tiny_blip, all_pictures, tmp_path):
    peft = pytest.importorskip("peft")
    from transformers import BlipForConditionalGeneration

    model = BlipForConditionalGeneration.from_pretrained(tiny_blip)
    settings = peft.LoraConfig(target_modules=["query", "value"], init_lora_weights=False)
    adapted = peft.get_peft_model(model, settings)
    adapted.save_pretrained(tmp_path / "adapter")
    adapted.merge_and_unload().save_pretrained(shutil.copytree(tiny_blip, tmp_path / "merged"))
    found = caption(tmp_path / "adapter", all_pictures, **SHORT)
    assert found == caption(tmp_path / "merged", all_pictures, **SHORT)
    assert found != caption(tiny_blip, all_pictures, **SHORT)


PROMPTS = {
    "BLIP-2 (T5)": "a photo of",
    "Kosmos-2": "<grounding>An image of",
    "PaliGemma": "caption en",
    "Florence-2": "<CAPTION>",
    "Mllama": "user <|image|> Describe the image in one short sentence. assistant ",
}


@pytest.mark.parametrize("name", PROMPTS)
def test_a_family_is_asked_as_it_was_trained_and_the_prompt_is_not_in_captions(name, tmp_path):
    model, images = families.saved(tmp_path / "model", name), families.pictures()
    assert families.opened(model).asked == PROMPTS[name]
    found, alone = (caption(model, images, max_new_tokens=6, cache=False, batch_size=size) for size in (8, 1))
    assert found == alone
    assert len(found) == families.IMAGES
    assert not any(words in text for text in found.values() for words in ("An image of", "caption en", "user"))
