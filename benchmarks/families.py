"""Which families of captioners can be captioned with and traced: each is built tiny and tried.

usage: python benchmarks/families.py [FAMILY ...] [--write]

Models have random weights, and tokenizers a few words: what is shown is that a family's processor, prompt, generation
and probabilities are handled, not that its captions are good. --write replaces the table in docs/models.md.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import numpy as np
import torch
import transformers as tf
import typer
from PIL import Image
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from captionbias.images.attributions import attribute_images
from captionbias.images.captioners import PROMPT, Captioner, find_captioner, load_captioner
from captionbias.images.captioning import caption, open_captioner

PAGE = Path(__file__).parents[1] / "docs/models.md"
BEGIN, END = "<!-- families -->", "<!-- /families -->"
SIZE, PATCH, IMAGES = 32, 8, 3
WORDS = (
    "a woman man with dog cake on the street . describe image in one short sentence therefore , gender is female male"
)
SPECIAL = ["<pad>", "<unk>", "<s>", "</s>", "<image>"]
TEMPLATE = (
    "{% for message in messages %}{{ message.role }} {% for part in message.content %}"
    "{{ 'PLACE' if part.type == 'image' else part.text }} {% endfor %}{% endfor %}assistant "
)
SMALL = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
TEXT = {**SMALL, "num_key_value_heads": 2, "head_dim": 16, "max_position_embeddings": 512}
SEEN = {**SMALL, "image_size": SIZE, "patch_size": PATCH}
ENDS = {"bos_token_id": 2, "eos_token_id": 3, "pad_token_id": 0}
SQUARE = {"height": SIZE, "width": SIZE}

Parts = tuple[torch.nn.Module, list[Any]]  # a model, and what prepares its input
FAMILIES: dict[str, Callable[[], Parts]] = {}
app = typer.Typer(add_completion=False)


def family(name: str) -> Callable[[Callable[[], Parts]], Callable[[], Parts]]:
    """Enter a function that builds the family of that name."""
    return lambda build: FAMILIES.setdefault(name, build)


# Parts


def tokenizer(*more: str, ends: str = "$A", image_token: str | None = "<image>", **named: str) -> Any:
    """A tokenizer with a word a token; `more` and `named` are special tokens, the latter by their names."""
    named |= {"image_token": image_token} if image_token else {}
    special = list(dict.fromkeys([*SPECIAL, *more, *named.values()]))
    words = {word: number for number, word in enumerate([*special, *WORDS.split()])}
    table = Tokenizer(models.WordLevel(words, "<unk>"))
    table.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation()])
    table.post_processor = processors.TemplateProcessing(single=ends, special_tokens=[("<s>", 2), ("</s>", 3)])
    table.add_special_tokens(special)
    return tf.PreTrainedTokenizerFast(
        tokenizer_object=table,
        pad_token="<pad>",
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        cls_token="<s>",
        sep_token="</s>",
        extra_special_tokens=named,
    )


def text_of(kind: str, words: Any, **options: Any) -> dict[str, Any]:
    return {"model_type": kind, "vocab_size": len(words), **TEXT, **ENDS, **options}


def template(place: str = "<image>") -> str:
    return TEMPLATE.replace("PLACE", place)


def squares(kind: Any, **options: Any) -> Any:
    """An image processor that makes every image one square."""
    return kind(size=SQUARE, **options)


# Families that describe the image, alone or after a prompt


@family("BLIP")
def blip() -> Parts:
    words = tokenizer(ends="<s> $A </s>")
    text = {"vocab_size": len(words), "encoder_hidden_size": 32, "max_position_embeddings": 64, "sep_token_id": 3}
    config = tf.BlipConfig(text_config={**text, **ENDS, **SMALL}, vision_config=SEEN, projection_dim=32)
    return tf.BlipForConditionalGeneration(config), [tf.BlipProcessor(squares(tf.BlipImageProcessor), words)]


def blip2(language: Any) -> Parts:
    words = tokenizer(ends="<s> $A", image_token=None)
    language.vocab_size = len(words)
    query = {"vocab_size": len(words), "encoder_hidden_size": 32, **SMALL}
    config = tf.Blip2Config(
        vision_config=SEEN,
        qformer_config=query,
        text_config=language.to_dict(),
        num_query_tokens=4,
        image_token_index=4,
    )
    processor = tf.Blip2Processor(squares(tf.BlipImageProcessor), words, num_query_tokens=4)
    return tf.Blip2ForConditionalGeneration(config), [processor]


def opt() -> Any:
    sizes = {"hidden_size": 32, "ffn_dim": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    return tf.OPTConfig(word_embed_proj_dim=32, max_position_embeddings=128, **sizes, **ENDS)


def t5() -> Any:
    return tf.T5Config(
        d_model=32,
        d_kv=16,
        d_ff=32,
        num_layers=2,
        num_heads=2,
        decoder_start_token_id=0,
        eos_token_id=3,
        pad_token_id=0,
    )


family("BLIP-2 (OPT)")(lambda: blip2(opt()))
family("BLIP-2 (T5)")(lambda: blip2(t5()))


@family("InstructBLIP")
def instructblip() -> Parts:
    words = tokenizer(ends="<s> $A", image_token=None)
    language = {**t5().to_dict(), "vocab_size": len(words)}
    query = {"vocab_size": len(words), "encoder_hidden_size": 32, **SMALL}
    config = tf.InstructBlipConfig(
        vision_config=SEEN, qformer_config=query, text_config=language, num_query_tokens=4, image_token_index=4
    )
    processor = tf.InstructBlipProcessor(squares(tf.BlipImageProcessor), words, words, num_query_tokens=4)
    return tf.InstructBlipForConditionalGeneration(config), [processor]


@family("GIT")
def git() -> Parts:
    words = tokenizer(ends="<s> $A </s>")
    config = tf.GitConfig(vision_config=SEEN, vocab_size=len(words), max_position_embeddings=128, **ENDS, **SMALL)
    processor = tf.GitProcessor(squares(tf.CLIPImageProcessor, crop_size=SQUARE), words)
    return tf.GitForCausalLM(config), [processor]


@family("ViT-GPT2")
def vit_gpt2() -> Parts:
    words = tokenizer()
    language = tf.GPT2Config(vocab_size=len(words), n_positions=64, n_embd=32, n_layer=2, n_head=2)
    config = tf.VisionEncoderDecoderConfig.from_encoder_decoder_configs(tf.ViTConfig(**SEEN), language)
    config.pad_token_id, config.decoder_start_token_id, config.eos_token_id = 0, 2, 3
    return tf.VisionEncoderDecoderModel(config), [squares(tf.ViTImageProcessor), words]


@family("Florence-2")
def florence2() -> Parts:
    words = tokenizer(*(f"<loc_{place}>" for place in range(10)), ends="<s> $A </s>")
    sizes = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32}
    heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2, "max_position_embeddings": 128}
    start = {"decoder_start_token_id": 3, "forced_bos_token_id": None, "forced_eos_token_id": 3}
    config = tf.Florence2Config(
        vision_config={
            "depths": [1, 1], "patch_size": [7, 3], "patch_stride": [4, 2], "patch_padding": [3, 1],
            "patch_prenorm": [False, True], "embed_dim": [16, 32], "num_heads": [2, 2], "num_groups": [2, 2],
            "window_size": 4, "projection_dim": 32,
        },
        text_config={"model_type": "bart", "vocab_size": len(words), **sizes, **heads, **start, **ENDS},
        image_token_id=4,
    )  # fmt: skip
    images = squares(tf.CLIPImageProcessor, do_center_crop=False)
    images.image_seq_length = 17
    return tf.Florence2ForConditionalGeneration(config), [tf.Florence2Processor(images, words)]


@family("Kosmos-2")
def kosmos2() -> Parts:
    names = ["<image>", "</image>", "<phrase>", "</phrase>", "<object>", "</object>", "<grounding>"]
    words = tokenizer(*names, "</delimiter_of_multi_objects/>", *(f"<patch_index_{one:04}>" for one in range(36)))
    processor = tf.Kosmos2Processor(squares(tf.CLIPImageProcessor, crop_size=SQUARE), words, 36)  # it adds tokens
    text = {
        "vocab_size": len(words),
        "embed_dim": 32,
        "layers": 2,
        "ffn_dim": 32,
        "attention_heads": 2,
        "scale_embedding": False,
    }
    config = tf.Kosmos2Config(text_config={**text, **ENDS}, vision_config=SEEN, latent_query_num=64)
    return tf.Kosmos2ForConditionalGeneration(config), [processor]


@family("PaliGemma")
def paligemma() -> Parts:
    words, images = tokenizer(ends="<s> $A"), squares(tf.SiglipImageProcessor)
    images.image_seq_length = (SIZE // PATCH) ** 2
    processor = tf.PaliGemmaProcessor(images, words)  # it adds tokens
    config = tf.PaliGemmaConfig(
        vision_config={"model_type": "siglip_vision_model", **SEEN},
        text_config=text_of("gemma", words),
        image_token_index=4,
        projection_dim=32,
        hidden_size=32,
    )
    return tf.PaliGemmaForConditionalGeneration(config), [processor]


@family("Pix2Struct")
def pix2struct() -> Parts:
    words = tokenizer(ends="$A </s>")
    layers = {"num_layers": 2, "num_heads": 2, "hidden_size": 32, "d_kv": 16, "d_ff": 32}
    text = {"vocab_size": len(words), **layers, "decoder_start_token_id": 0, "eos_token_id": 3, "pad_token_id": 0}
    vision = {"patch_embed_hidden_size": 3 * 16**2, "num_hidden_layers": 2, "num_attention_heads": 2, "seq_len": 64}
    config = tf.Pix2StructConfig(text_config=text, vision_config={**vision, "hidden_size": 32, "d_ff": 32, "d_kv": 16})
    processor = tf.Pix2StructProcessor(tf.Pix2StructImageProcessor(max_patches=64, is_vqa=False), words)
    return tf.Pix2StructForConditionalGeneration(config), [processor]


# Chat models


def llava_like(config: Any, model: Any, processor: Any, images: Any, **options: Any) -> Parts:
    words = tokenizer()
    settings = config(
        vision_config={"model_type": "clip_vision_model", **SEEN},
        text_config=text_of("llama", words),
        image_token_index=4,
        vision_feature_layer=-1,
        **options,
    )
    made = processor(
        images, words, patch_size=PATCH, vision_feature_select_strategy="default", num_additional_image_tokens=1,
        chat_template=template(),
    )  # fmt: skip
    return model(settings), [made]


@family("LLaVA")
def llava() -> Parts:
    images = squares(tf.CLIPImageProcessor, crop_size=SQUARE)
    return llava_like(tf.LlavaConfig, tf.LlavaForConditionalGeneration, tf.LlavaProcessor, images)


@family("LLaVA-NeXT")
def llava_next() -> Parts:
    grid = [[SIZE, SIZE], [SIZE, 2 * SIZE], [2 * SIZE, SIZE]]
    images = tf.LlavaNextImageProcessor(size={"shortest_edge": SIZE}, crop_size=SQUARE, image_grid_pinpoints=grid)
    kinds = tf.LlavaNextConfig, tf.LlavaNextForConditionalGeneration, tf.LlavaNextProcessor
    return llava_like(*kinds, images, image_grid_pinpoints=grid)


@family("LLaVA-OneVision")
def llava_onevision() -> Parts:
    words, grid = tokenizer(video_token="<video>"), [[SIZE, SIZE], [SIZE, 2 * SIZE]]
    config = tf.LlavaOnevisionConfig(
        vision_config={"model_type": "siglip_vision_model", **SEEN, "vision_use_head": False},
        text_config=text_of("qwen2", words),
        image_token_index=4,
        video_token_index=5,
        vision_feature_layer=-1,
        image_grid_pinpoints=grid,
    )
    images = squares(tf.LlavaOnevisionImageProcessor, image_grid_pinpoints=grid)
    processor = tf.LlavaOnevisionProcessor(
        images, words, squares(tf.LlavaOnevisionVideoProcessor), num_image_tokens=(SIZE // PATCH) ** 2,
        vision_feature_select_strategy="full", chat_template=template(),
    )  # fmt: skip
    return tf.LlavaOnevisionForConditionalGeneration(config), [processor]


def qwen(name: str, text: str, vision: dict[str, Any], **rope: Any) -> Parts:
    tokens = {"vision_start": "<|vision_start|>", "vision_end": "<|vision_end|>"}
    words = tokenizer(*tokens.values(), image_token="<|image_pad|>", video_token="<|video_pad|>")
    ids = words.convert_tokens_to_ids
    config = getattr(tf, f"{name}Config")(
        vision_config=vision,
        text_config={**text_of(text, words), "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, **rope}},
        image_token_id=ids("<|image_pad|>"),
        video_token_id=ids("<|video_pad|>"),
        vision_start_token_id=ids("<|vision_start|>"),
        vision_end_token_id=ids("<|vision_end|>"),
    )
    sizes = {"patch_size": PATCH, "merge_size": 2, "size": {"shortest_edge": SIZE**2, "longest_edge": (2 * SIZE) ** 2}}
    processor = getattr(tf, f"{name}Processor")(
        tf.Qwen2VLImageProcessor(**sizes),
        words,
        (tf.Qwen3VLVideoProcessor if "3" in name else tf.Qwen2VLVideoProcessor)(**sizes),
        chat_template=template("<|vision_start|><|image_pad|><|vision_end|>"),
    )
    return getattr(tf, f"{name}ForConditionalGeneration")(config), [processor]


@family("Qwen2-VL")
def qwen2_vl() -> Parts:
    vision = {"depth": 2, "embed_dim": 32, "hidden_size": 32, "num_heads": 2, "mlp_ratio": 1, "patch_size": PATCH}
    return qwen("Qwen2VL", "qwen2_vl_text", vision, mrope_section=[2, 3, 3])


@family("Qwen2.5-VL")
def qwen2_5_vl() -> Parts:
    vision = {"depth": 2, "hidden_size": 32, "out_hidden_size": 32, "num_heads": 2, "intermediate_size": 32}
    vision |= {"patch_size": PATCH, "window_size": 32, "fullatt_block_indexes": [1]}
    return qwen("Qwen2_5_VL", "qwen2_5_vl_text", vision, mrope_section=[2, 3, 3])


@family("Qwen3-VL")
def qwen3_vl() -> Parts:
    vision = {"depth": 2, "hidden_size": 32, "out_hidden_size": 32, "num_heads": 2, "intermediate_size": 32}
    vision |= {"patch_size": PATCH, "num_position_embeddings": 16, "deepstack_visual_indexes": [0]}
    return qwen("Qwen3VL", "qwen3_vl_text", vision, mrope_section=[2, 3, 3])


@family("InternVL")
def internvl() -> Parts:
    words = tokenizer(
        image_token="<IMG_CONTEXT>", context_image_token="<IMG_CONTEXT>", video_token="<video>",
        start_image_token="<img>", end_image_token="</img>",
    )  # fmt: skip
    config = tf.InternVLConfig(
        vision_config={**SEEN, "image_size": [SIZE, SIZE], "patch_size": [PATCH, PATCH]},
        text_config=text_of("qwen2", words),
        image_token_id=words.convert_tokens_to_ids("<IMG_CONTEXT>"),
        image_seq_length=4,
    )
    processor = tf.InternVLProcessor(
        squares(tf.GotOcr2ImageProcessor, crop_to_patches=True, max_patches=2),
        words,
        squares(tf.InternVLVideoProcessor),
        image_seq_length=4,
        chat_template=template("<IMG_CONTEXT>"),
    )
    return tf.InternVLForConditionalGeneration(config), [processor]


def idefics(name: str, processor: Callable[[Any], Any], **options: Any) -> Parts:
    rows = [f"<row_{row}_col_{column}>" for row in range(1, 7) for column in range(1, 7)]
    named = {"fake_image_token": "<fake_token_around_image>", "global_image_token": "<global-img>"}
    named |= {"video_token": "<video>", "end_of_utterance_token": "<end_of_utterance>"}
    words = tokenizer(*rows, image_token=None if name == "Idefics2" else "<image>", **named)
    kind = "mistral" if name == "Idefics2" else "llama"
    config = getattr(tf, f"{name}Config")(
        vision_config=SEEN, text_config=text_of(kind, words), image_token_id=4, **options
    )
    return getattr(tf, f"{name}ForConditionalGeneration")(config), [processor(words)]


@family("Idefics2")
def idefics2() -> Parts:
    perceiver = {"hidden_size": 32, "resampler_n_latents": 4, "resampler_depth": 1, "resampler_n_heads": 2}
    perceiver |= {"resampler_head_dim": 16, "num_key_value_heads": 2}
    images = tf.Idefics2ImageProcessor(
        size={"shortest_edge": SIZE // 2, "longest_edge": SIZE}, do_image_splitting=False
    )
    return idefics(
        "Idefics2",
        lambda words: tf.Idefics2Processor(images, words, image_seq_len=4, chat_template=template()),
        perceiver_config=perceiver,
    )


@family("Idefics3")
def idefics3() -> Parts:
    images = tf.Idefics3ImageProcessor(size={"longest_edge": 2 * SIZE}, max_image_size={"longest_edge": SIZE})
    return idefics(
        "Idefics3",
        lambda words: tf.Idefics3Processor(images, words, image_seq_len=4, chat_template=template()),
        scale_factor=2,
    )


@family("SmolVLM")
def smolvlm() -> Parts:
    sizes = {"size": {"longest_edge": 2 * SIZE}, "max_image_size": {"longest_edge": SIZE}}
    images, videos = tf.SmolVLMImageProcessor(**sizes), tf.SmolVLMVideoProcessor(**sizes)
    return idefics(
        "SmolVLM",
        lambda words: tf.SmolVLMProcessor(images, words, videos, image_seq_len=4, chat_template=template()),
        scale_factor=2,
    )


@family("Llama 4")
def llama4() -> Parts:
    words = tokenizer(
        "<|image|>", "<|image_start|>", "<|image_end|>", "<|patch|>", "<|tile_x_separator|>", "<|tile_y_separator|>"
    )
    vision = {**SEEN, "vision_output_dim": 32, "projector_input_dim": 32, "projector_output_dim": 32}
    text = text_of("llama4_text", words, intermediate_size_mlp=32, num_local_experts=2, attention_chunk_size=512)
    config = tf.Llama4Config(
        vision_config={**vision, "intermediate_size": 128, "pixel_shuffle_ratio": 0.5},
        text_config=text,
        image_token_index=words.convert_tokens_to_ids("<|patch|>"),
    )
    processor = tf.Llama4Processor(
        squares(tf.Llama4ImageProcessor, max_patches=2), words, patch_size=PATCH, chat_template=template("<|image|>")
    )
    return tf.Llama4ForConditionalGeneration(config), [processor]


@family("Mllama")
def mllama() -> Parts:
    words = tokenizer("<|python_tag|>", image_token="<|image|>")
    vision = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2, "num_global_layers": 1}
    vision |= {"attention_heads": 2, "image_size": SIZE, "patch_size": PATCH, "max_num_tiles": 2}
    vision |= {
        "intermediate_layers_indices": [0],
        "vision_output_dim": 64,
        "supported_aspect_ratios": [[1, 1], [1, 2], [2, 1]],
    }
    image = words.convert_tokens_to_ids("<|image|>")
    config = tf.MllamaConfig(
        vision_config=vision,
        text_config=text_of("mllama_text_model", words, cross_attention_layers=[1]),
        image_token_index=image,
    )
    processor = tf.MllamaProcessor(
        squares(tf.MllamaImageProcessor, max_image_tiles=2), words, chat_template=template("<|image|>")
    )
    return tf.MllamaForConditionalGeneration(config), [processor]


def pixtral_like(config: Any, model: Any, **options: Any) -> Parts:
    words = tokenizer("[IMG_BREAK]", "[IMG_END]", image_token="[IMG]")
    settings = config(
        vision_config={"model_type": "pixtral", **SEEN, "head_dim": 16},
        text_config=text_of("mistral", words),
        image_token_index=words.convert_tokens_to_ids("[IMG]"),
        vision_feature_layer=-1,
        **options,
    )
    images = tf.PixtralImageProcessor(size={"longest_edge": SIZE}, patch_size={"height": PATCH, "width": PATCH})
    merged = options.get("spatial_merge_size", 1)
    processor = tf.PixtralProcessor(
        images, words, patch_size=PATCH, spatial_merge_size=merged, chat_template=template("[IMG]")
    )
    return model(settings), [processor]


@family("Pixtral")
def pixtral() -> Parts:
    kinds = tf.LlavaConfig, tf.LlavaForConditionalGeneration
    return pixtral_like(*kinds, vision_feature_select_strategy="full")


@family("Mistral 3")
def mistral3() -> Parts:
    return pixtral_like(tf.Mistral3Config, tf.Mistral3ForConditionalGeneration, spatial_merge_size=2)


@family("Gemma 3")
def gemma3() -> Parts:
    words = tokenizer(image_token="<image_soft_token>", boi_token="<start_of_image>", eoi_token="<end_of_image>")
    ids = words.convert_tokens_to_ids
    config = tf.Gemma3Config(
        vision_config={"model_type": "siglip_vision_model", **SEEN, "vision_use_head": False},
        text_config=text_of("gemma3_text", words),
        mm_tokens_per_image=4,
        image_token_index=ids("<image_soft_token>"),
        boi_token_index=ids("<start_of_image>"),
        eoi_token_index=ids("<end_of_image>"),
    )
    processor = tf.Gemma3Processor(
        squares(tf.Gemma3ImageProcessor), words, image_seq_length=4, chat_template=template("<start_of_image>")
    )
    return tf.Gemma3ForConditionalGeneration(config), [processor]


@family("Aya Vision")
def aya_vision() -> Parts:
    names = ["<|START_OF_IMG|>", "<|END_OF_IMG|>", "<|IMG_PATCH|>", "<|IMG_LINE_BREAK|>", "TILE", "TILE_GLOBAL"]
    words = tokenizer(*names, *(f"TILE_{number}" for number in range(1, 13)))
    config = tf.AyaVisionConfig(
        vision_config={"model_type": "siglip_vision_model", **SEEN, "vision_use_head": False},
        text_config=text_of("cohere2", words, layer_types=["full_attention"] * 2),
        image_token_index=words.convert_tokens_to_ids("<|IMG_PATCH|>"),
        downsample_factor=2,
        vision_feature_layer=-1,
        adapter_layer_norm_eps=1e-6,
    )
    images = squares(tf.GotOcr2ImageProcessor, crop_to_patches=True, max_patches=2)
    processor = tf.AyaVisionProcessor(
        images, words, patch_size=PATCH, img_size=SIZE, downsample_factor=2, chat_template=template()
    )
    return tf.AyaVisionForConditionalGeneration(config), [processor]


@family("Molmo 2")
def molmo2() -> Parts:
    names = ["im_patch", "im_col", "im_start", "low_res_im_start", "frame_start", "im_end", "frame_end", "im_low"]
    words = tokenizer(*(f"<{name}>" for name in names), image_token="<|image|>", video_token="<|video|>")
    ids = words.convert_tokens_to_ids
    heads = {"num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 16}
    vision = {**SMALL, **heads, "image_size": [SIZE, SIZE], "patch_size": PATCH, "num_position_embeddings": 16}
    adapter = {
        "hidden_size": 32,
        "intermediate_size": 32,
        "text_hidden_size": 32,
        "vision_feature_layer": [-1],
        **heads,
    }
    config = tf.Molmo2Config(
        vision_config=vision,
        adapter_config=adapter,
        text_config=text_of("molmo2_text", words, additional_vocab_size=8),
        image_start_token_id=ids("<im_start>"),
        low_res_image_start_token_id=ids("<low_res_im_start>"),
        image_end_token_id=ids("<im_end>"),
        image_patch_id=ids("<im_patch>"),
        frame_start_token_id=ids("<frame_start>"),
        frame_end_token_id=ids("<frame_end>"),
    )
    sizes = {"patch_size": PATCH, "pooling_size": [2, 2]}
    images = squares(tf.Molmo2ImageProcessor, max_crops=2, overlap_margins=[1, 1], **sizes)
    videos = squares(tf.Molmo2VideoProcessor, **sizes)
    return tf.Molmo2ForConditionalGeneration(config), [
        tf.Molmo2Processor(images, videos, words, chat_template=template("<|image|>"))
    ]


@family("Phi-4-multimodal")
def phi4_multimodal() -> Parts:
    words = tokenizer(image_token="<|image|>", audio_token="<|audio|>")
    image, sound = words.convert_tokens_to_ids(["<|image|>", "<|audio|>"])
    audio = {"hidden_size": 32, "intermediate_size": 32, "num_blocks": 1, "num_attention_heads": 2}
    audio |= {"ext_pw_out_channel": 32, "depthwise_separable_out_channel": 32, "nemo_conv_channels": 32}
    text = {name: value for name, value in text_of("phi3", words).items() if name not in ("model_type", "head_dim")}
    config = tf.Phi4MultimodalConfig(
        vision_config={
            **SMALL,
            "image_token_id": image,
        },  # of 448 pixels: its processor knows no other number of tokens
        audio_config={**audio, "audio_token_id": sound},
        original_max_position_embeddings=512,
        **text,
    )
    processor = tf.Phi4MultimodalProcessor(
        tf.Phi4MultimodalImageProcessor(dynamic_hd=1),
        tf.Phi4MultimodalFeatureExtractor(),
        words,
        chat_template=template("<|image|>"),
    )
    return tf.Phi4MultimodalForCausalLM(config), [processor]


# Trying them


def saved(folder: Path, name: str) -> Path:
    """Weights are large, save those of special tokens, so that captions have words and follow the picture."""
    torch.manual_seed(0)
    model, parts = FAMILIES[name]()
    words = getattr(parts[-1], "tokenizer", parts[-1])
    with torch.no_grad():
        for part, weight in model.named_parameters():
            if weight.ndim > 1:
                weight.normal_(std=1.5 / weight[0].numel() ** 0.5)
            elif part.endswith("_gate"):  # Mllama's, which let nothing of the picture through at first
                weight.fill_(1)
            if len(weight) == len(words):
                weight[list(words.added_tokens_decoder)] /= 10
    for part in [model, *parts]:
        part.save_pretrained(folder)
    return folder


def pictures() -> list[Image.Image]:
    generator = np.random.default_rng(0)
    return [
        Image.fromarray(generator.integers(256, size=(4, 4, 3), dtype=np.uint8)).resize((width, 40))
        for width in range(40, 40 + 10 * IMAGES, 10)
    ]


def captioned(model: Path, images: list[Image.Image]) -> None:
    found = caption(model, images, max_new_tokens=8, cache=False)
    if len(found) < IMAGES:
        raise ValueError("captions are empty")
    if found != caption(model, images, max_new_tokens=8, batch_size=1, cache=False):
        raise ValueError("captions depend on the batch; alone (--batch-size 1) it can")
    captioner, two = opened(model), [image.resize((40, 40)) for image in images[:2]]
    inputs = dict(captioner.processor(images=two, return_tensors="pt"))
    inputs |= {name: value.float() for name, value in inputs.items() if torch.is_floating_point(torch.as_tensor(value))}
    options = {"max_new_tokens": 1, "return_dict_in_generate": True, "output_logits": True}
    first, second = captioner.model.generate(**inputs, **options).logits[0]
    if first.allclose(second):
        raise ValueError("captions do not depend on the picture")


def traced(model: Path, images: list[Image.Image]) -> None:
    captioner, processor, tokens = open_captioner(model)
    left = [np.indices((one.height, one.width))[1] < one.width // 2 for one in images]
    attribute_images(captioner, processor, images, left, ["a woman with a dog"] * IMAGES, tokenizer=tokens, bootstrap=0)


def outcome(work: Callable[[Path, list[Image.Image]], None], model: Path) -> str:
    try:
        work(model, pictures())
    except Exception as error:
        said = " ".join(str(error).split()).replace(str(model), "FOLDER").replace("|", "\\|")
        kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
        return f"no: {kind}" + re.sub(r"model '[^']+'", "the model", said)
    return "yes"


def opened(model: Path) -> Captioner:
    return load_captioner(find_captioner(str(model)), None, {}, "float32", torch.device("cpu"))


def shown(asked: str) -> str:
    """What a family is asked where no prompt is given."""
    if PROMPT in asked:
        return "one short sentence, in its chat template"
    return f"`{asked}`" if asked else "the image alone"


@app.command()
def main(
    names: Annotated[list[str] | None, typer.Argument(metavar="FAMILY", help="Some of them; all by default.")] = None,
    write: Annotated[bool, typer.Option(help="Write the table into docs/models.md.")] = False,
) -> None:
    """Build each family, caption and trace with it, and print the table."""
    warnings.simplefilter("ignore")
    tf.utils.logging.set_verbosity_error()
    tf.utils.logging.disable_progress_bar()
    rows = ["| family | captions | asked by default | attribution |", "| --- | --- | --- | --- |"]
    print(*rows, sep="\n")
    for name in names or FAMILIES:
        with TemporaryDirectory() as folder:
            model = saved(Path(folder), name)
            captions, attribution = (outcome(work, model) for work in (captioned, traced))
            rows.append(f"| {name} | {captions} | {shown(opened(model).asked)} | {attribution} |")
        print(rows[-1], flush=True)
    if write:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        table = "\n".join([BEGIN, "", *rows, "", END])
        PAGE.write_text(before + table + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    app()
