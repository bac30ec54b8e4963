"""Captions as text through a pretrained encoder, masked words as its own mask token."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from captionbias.attackers.base import Examples
from captionbias.attackers.pretrained.embeddings import Embeddings, Encode, in_16_bits
from captionbias.attackers.pretrained.models import Model, first_line
from captionbias.attackers.workers import cores, threads
from captionbias.text.tokens import UNKNOWN, Tokens

if TYPE_CHECKING:
    import torch

BATCH = 64


def special_tokens(model: Model) -> tuple[str, str]:
    """The tokens for a masked word and for an unknown one; an encoder without the former takes the latter."""
    tokenizer = read_tokenizer(model)
    unknown = tokenizer.unk_token or ""
    return tokenizer.mask_token or unknown, unknown


def read_tokenizer(model: Model) -> Any:
    from transformers import AutoTokenizer

    with reading(model):
        return AutoTokenizer.from_pretrained(model.folder, trust_remote_code=False)


def spelled(examples: Examples, mask: str, unknown: str) -> tuple[str, ...]:
    """The words, with the tokens `mask` and `unknown` for masks and for those without a counterpart."""
    special = {**dict.fromkeys(examples.masks, mask), UNKNOWN: unknown}
    return tuple(special.get(word, word) for word in examples.tokens.words)


def as_texts(examples: Examples, mask: str, unknown: str) -> tuple[list[str], Examples]:
    """The distinct captions as text, with their words `spelled`, and the examples with each caption as one word, its
    text's number."""
    tokens = examples.tokens
    _, first, same = np.unique(tokens.fingerprints(), return_index=True, return_inverse=True)
    numbers: dict[str, int] = {}
    texts = replace(tokens.select(first), words=spelled(examples, mask, unknown)).texts()
    ids = np.array([numbers.setdefault(text, len(numbers)) for text in texts], np.int32)
    one_each = Tokens(ids[same.reshape(-1)], np.arange(len(tokens) + 1), ())
    return list(numbers), replace(examples, tokens=one_each)


def encoder(model: Model, pooling: str | None, precision: str, device: torch.device) -> Encode:
    """A function from `n` texts to 16-bit embeddings `(n, width)`; the model is loaded when it is first called.
    `pooling`: `cls` for the first token's last state, None for the model's own."""
    load = cache(lambda: load_encoder(model, pooling, device))

    def encode(texts: list[str]) -> Embeddings:
        import torch

        half = torch.float16 if precision == "fp16" else torch.bfloat16
        with (
            threads(cores()),
            no_threads_of_tokenizers(),
            torch.autocast(device.type, half, enabled=precision != "fp32"),
        ):
            features = load().encode(
                whole_characters(texts), batch_size=BATCH, convert_to_numpy=True, show_progress_bar=False
            )
        return in_16_bits(features, model)

    return encode


def whole_characters(texts: Sequence[str]) -> list[str]:
    """The texts without halves of characters, which broken captions may have and tokenizers refuse."""
    return [text.encode("utf-8", "replace").decode() for text in texts]


@contextmanager
def reading(model: Model, argument: str = "encoder") -> Iterator[None]:
    """Errors of reading a model as a ValueError that names it; silenced."""
    with silenced():
        try:
            yield
        except Exception as error:  # damaged and foreign files make their readers raise almost anything
            raise ValueError(
                f"{argument} {model.name!r} cannot be read from {model.folder} ({first_line(error)}): fetch or save it "
                "again, or give a model of a kind that transformers reads here"
            ) from error


@contextmanager
def silenced() -> Iterator[None]:
    """Silence transformers' bars and reports on standard error for a while."""
    import transformers

    logging: Any = transformers.utils.logging  # it has no types
    bars, verbosity = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


@contextmanager
def no_threads_of_tokenizers() -> Iterator[None]:
    """Keep tokenizers to one thread: after more, every process that is forked later complains."""
    name = "TOKENIZERS_PARALLELISM"
    before = os.environ.get(name)
    os.environ.setdefault(name, "false")
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(name, None)


def load_encoder(model: Model, pooling: str | None, device: torch.device) -> Any:
    """A `SentenceTransformer` in fp32; ValueError unless all of its weights come from the model's folder."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers import AutoModel

    loaded: Any
    place, own = str(model.folder), {"trust_remote_code": False}
    exact = {"dtype": torch.float32}  # whatever the weights are kept in
    with reading(model):
        if pooling is None:
            loaded = SentenceTransformer(place, device=str(device), model_kwargs=exact, trust_remote_code=False)
        else:
            transformer = Transformer(place, model_kwargs=exact | own, processor_kwargs=own, config_kwargs=own)
            pooled = Pooling(transformer.get_embedding_dimension(), pooling)
            loaded = SentenceTransformer(modules=[transformer, pooled], device=str(device))
        _, report = AutoModel.from_pretrained(model.folder, output_loading_info=True, device_map="meta", **own)
        used = {name for name, _ in loaded[0].auto_model.named_parameters()}
        refuse_missing(used & set(report["missing_keys"]))
    return loaded


def read_model(kind: Any, model: Model, argument: str = "encoder", **options: Any) -> tuple[Any, list[str]]:
    """A model of a class of transformers, and the names of the weights that its files lack: of its pooler alone."""
    with reading(model, argument):
        loaded, report = kind.from_pretrained(
            model.folder, output_loading_info=True, trust_remote_code=False, **options
        )
        refuse_missing(report["missing_keys"])
    return loaded, report["missing_keys"]


def refuse_missing(weights: Iterable[str]) -> None:
    """Raise ValueError for weights that the files lack, which each run would draw anew; the pooler's are not used."""
    if missing := sorted(name for name in weights if "pooler." not in name):
        raise ValueError(f"the weights lack {missing[0]} and {len(missing) - 1} others")
