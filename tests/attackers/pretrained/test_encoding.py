"""Texts through a pretrained encoder: its own tokens, its own way, all of its weights, and nothing on the terminal."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from captionbias.attackers.base import Examples, Trial
from captionbias.attackers.pretrained.encoding import as_texts, encoder, special_tokens
from captionbias.attackers.pretrained.models import find_model
from captionbias.text.tokens import UNKNOWN, Tokens
from tests.refusals import refuses

WORDS = [*(f"w{number}" for number in range(25)), "zebra", "."]


def encoded(texts: list[str], folder: Path, pooling: str | None = None, precision: str = "fp32") -> np.ndarray:
    return encoder(find_model(str(folder)), pooling, precision, torch.device("cpu"))(texts)


def drawn(seed: int, n: int, longest: int = 20) -> list[str]:
    random = np.random.default_rng(seed)
    return [" ".join(random.choice(WORDS, random.integers(1, longest))) for _ in range(n)]


VOCABULARY = ["<gender>", UNKNOWN, "a", "man", "the"]
SEEN = {"<gender>": "[MASK]", UNKNOWN: "[UNK]"}


def trial_of(captions: list[list[str]]) -> Trial:
    """Words numbered as they come."""
    words = list(dict.fromkeys(word for caption in captions for word in caption))
    ids = np.array([words.index(word) for caption in captions for word in caption], np.int32)
    offsets = np.concatenate(([0], np.cumsum(list(map(len, captions))))).astype(np.int64)
    rows = np.arange(len(captions))
    return Trial(Examples(Tokens(ids, offsets, tuple(words)), rows, 2, ("<gender>",)), rows, rows, 0)


@settings(deadline=None)
@given(captions=st.lists(st.lists(st.sampled_from(VOCABULARY), max_size=4), min_size=1))
def test_every_caption_is_the_number_of_its_text_and_every_text_is_there_once(captions):
    examples = trial_of(captions).examples
    texts, numbered = as_texts(examples, "[MASK]", "[UNK]")
    wanted = [" ".join(SEEN.get(word, word) for word in caption) for caption in captions]
    assert [texts[number] for number in numbered.tokens.ids] == wanted
    assert (numbered.tokens.lengths == 1).all()
    assert len(texts) == len(set(wanted))
    assert numbered.targets is examples.targets


def test_masked_and_unknown_words_are_the_encoder_s_own_tokens(tiny_bert, read):
    trial = trial_of([["w1", "<gender>", "w2"], ["w3", UNKNOWN]])
    texts, _ = as_texts(trial.examples, *special_tokens(find_model(str(tiny_bert))))
    assert texts == ["w1 [MASK] w2", "w3 [UNK]"]
    encoded(texts, tiny_bert)
    vocabulary = (tiny_bert / "vocab.txt").read_text().split("\n")
    seen = sorted([vocabulary[number] for number in row] for row in read[-1])
    assert seen == [["[CLS]", "w1", "[MASK]", "w2", "[SEP]"], ["[CLS]", "w3", "[UNK]", "[SEP]"]]


def test_texts_longer_than_the_encoder_takes_are_cut_off_where_it_ends(tiny_bert, read):
    long = "w1 " * 3000
    found = encoded([long, "w1 " * 62, "w2"], tiny_bert)
    assert max(map(len, read[-1])) == 64
    assert found[0].tolist() == found[1].tolist()
    assert np.isfinite(encoded([long], tiny_bert, "cls")).all()


def test_empty_and_broken_texts_have_embeddings(tiny_bert):
    found = encoded(["", "half a \ud83d character", "half a ? character"], tiny_bert)
    assert np.isfinite(found).all()
    assert found[1].tolist() == found[2].tolist()


def states(texts: list[str], folder: Path, cls: bool) -> np.ndarray:
    """Of a BERT, by transformers alone, one text at a time."""
    from transformers import AutoModel, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    with torch.no_grad():
        last = [model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0] for text in texts]
    return torch.stack([one[0] if cls else one.mean(0) for one in last]).numpy()


@pytest.mark.parametrize("pooling", ["cls", None])
def test_a_plain_bert_gives_its_first_token_or_the_mean(tiny_bert, pooling):
    texts = drawn(0, 30)
    np.testing.assert_allclose(
        encoded(texts, tiny_bert, pooling), states(texts, tiny_bert, pooling == "cls"), atol=2e-3
    )


def test_a_sentence_encoder_gives_what_its_makers_meant(minilm):
    """All-MiniLM: the mean of its tokens, of length 1, near for texts that mean the same."""
    texts = ["a man rides a bike", "someone is cycling", "two pizzas on a table"]
    found = encoded(texts, minilm).astype(float)
    mean = states(texts, minilm, cls=False)
    np.testing.assert_allclose(found, mean / np.linalg.norm(mean, axis=1, keepdims=True), atol=1e-4)
    same, other = found[0] @ found[1], found[0] @ found[2]
    assert same > other + 0.3


def rewrite(folder: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """The weights of a folder, changed."""
    from safetensors.torch import load_file, save_file

    save_file(change(load_file(folder / "model.safetensors")), folder / "model.safetensors", {"format": "pt"})


def test_weights_that_would_be_drawn_anew_are_refused(own_bert):
    rewrite(own_bert, lambda weights: {f"of_mine.{name}": value for name, value in weights.items()})
    with pytest.raises(
        ValueError, match=r"encoder 'mine-\w+' cannot be read from .*mine \(the weights lack .* and \d+ others\)"
    ):
        encoded(["w1"], own_bert)


def test_damaged_files_are_refused(own_bert):
    weights = own_bert / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])
    refuses(r"cannot be read from .*mine \(.+\): fetch or save it again", encoded, ["w1"], own_bert)
    (own_bert / "tokenizer.json").write_text("{")
    refuses("cannot be read from", special_tokens, find_model(str(own_bert)))


@pytest.mark.parametrize("value", [float("nan"), 1e6])
def test_embeddings_that_are_no_numbers_are_refused(own_bert, value):
    def spoilt(weights: dict[str, Any]) -> dict[str, Any]:
        weights["encoder.layer.1.output.LayerNorm.bias"][3] = value
        return weights

    rewrite(own_bert, spoilt)
    refuses(r"encoder 'mine-\w+' computes what is not finite in 16 bits", encoded, ["w1"], own_bert)


@pytest.mark.parametrize("given", [None, "true"])
def test_nothing_is_printed_and_threads_bars_and_the_environment_are_as_they_were(own_bert, capfd, monkeypatch, given):
    from huggingface_hub.utils import are_progress_bars_disabled
    from transformers.utils import logging

    monkeypatch.delenv("TOKENIZERS_PARALLELISM", raising=False)
    if given:
        monkeypatch.setenv("TOKENIZERS_PARALLELISM", given)
    rewrite(own_bert, lambda weights: weights | {"cls.predictions.bias": torch.zeros(3)})
    verbosity, threads = logging.get_verbosity(), torch.get_num_threads()
    logging.enable_progress_bar()
    torch.set_num_threads(1)
    try:
        encoded(["w1"], own_bert)
        special_tokens(find_model(str(own_bert)))
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(threads)
    assert capfd.readouterr() == ("", "")
    assert logging.is_progress_bar_enabled()
    assert not are_progress_bars_disabled()
    assert logging.get_verbosity() == verbosity
    assert os.environ.get("TOKENIZERS_PARALLELISM") == given
