"""Texts through a pretrained encoder: its own tokens and weights, none of its code, and each text once."""

import hashlib
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from huggingface_hub.utils import are_progress_bars_disabled
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModel, AutoTokenizer
from transformers.utils import logging

from captionbias.attackers.base import Examples
from captionbias.attackers.pretrained import embeddings
from captionbias.attackers.pretrained.embeddings import embed
from captionbias.attackers.pretrained.encoding import as_texts, encoder, special_tokens
from captionbias.attackers.pretrained.models import find_model
from captionbias.attackers.registry import find_attacker
from captionbias.io.store import Store
from captionbias.metrics import dpa, label_leakage
from captionbias.text.tokens import UNKNOWN, Tokens
from tests.refusals import refuses
from tests.trap import runs_its_code

SEEN = {"<gender>": "[MASK]", UNKNOWN: "[UNK]"}


def encoded(texts: list[str], folder: Path, pooling: str | None = None) -> np.ndarray:
    return encoder(find_model(str(folder)), pooling, "fp32", torch.device("cpu"))(texts)


def examples_of(captions: list[list[str]]) -> Examples:
    """Words numbered as they come."""
    words = list(dict.fromkeys(word for caption in captions for word in caption))
    ids = np.array([words.index(word) for caption in captions for word in caption], np.int32)
    offsets = np.concatenate(([0], np.cumsum(list(map(len, captions))))).astype(np.int64)
    return Examples(Tokens(ids, offsets, tuple(words)), np.arange(len(captions)), 2, ("<gender>",))


@settings(deadline=None)
@given(captions=st.lists(st.lists(st.sampled_from([*SEEN, "a", "man", "the"]), max_size=4), min_size=1))
def test_every_caption_is_the_number_of_its_text_and_every_text_is_there_once(captions):
    examples = examples_of(captions)
    texts, numbered = as_texts(examples, "[MASK]", "[UNK]")
    wanted = [" ".join(SEEN.get(word, word) for word in caption) for caption in captions]
    assert [texts[number] for number in numbered.tokens.ids] == wanted
    assert (numbered.tokens.lengths == 1).all()
    assert len(texts) == len(set(wanted))
    assert numbered.targets is examples.targets


def test_masked_and_unknown_words_are_the_encoder_s_own_tokens(tiny_bert, read):
    examples = examples_of([["w1", "<gender>", "w2"], ["w3", UNKNOWN]])
    texts, _ = as_texts(examples, *special_tokens(find_model(str(tiny_bert))))
    assert texts == ["w1 [MASK] w2", "w3 [UNK]"]
    encoded(texts, tiny_bert)
    vocabulary = (tiny_bert / "vocab.txt").read_text().split("\n")
    seen = sorted([vocabulary[number] for number in row] for row in read[-1])
    assert seen == [["[CLS]", "w1", "[MASK]", "w2", "[SEP]"], ["[CLS]", "w3", "[UNK]", "[SEP]"]]


def test_too_long_texts_are_cut_off_where_the_encoder_ends_and_empty_and_broken_ones_have_embeddings(tiny_bert, read):
    texts = ["w1 " * 3000, "w1 " * 62, "w2", "", "half a \ud83d character", "half a ? character"]
    found = encoded(texts, tiny_bert)
    assert max(map(len, read[-1])) == 64
    assert found[0].tolist() == found[1].tolist()
    assert found[4].tolist() == found[5].tolist()
    assert np.isfinite(found).all()
    assert np.isfinite(encoded(texts[:1], tiny_bert, "cls")).all()


def states(texts: list[str], folder: Path, cls: bool) -> np.ndarray:
    """Of a BERT, by transformers alone, one text at a time."""
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    with torch.no_grad():
        last = [model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0] for text in texts]
    return torch.stack([one[0] if cls else one.mean(0) for one in last]).numpy()


def test_a_plain_bert_gives_its_first_token_or_the_mean(tiny_bert):
    random, words = np.random.default_rng(0), [*(f"w{number}" for number in range(25)), "zebra", "."]
    texts = [" ".join(random.choice(words, random.integers(1, 20))) for _ in range(30)]
    for pooling in ("cls", None):
        wanted = states(texts, tiny_bert, cls=pooling == "cls")
        np.testing.assert_allclose(encoded(texts, tiny_bert, pooling), wanted, atol=2e-3)


def test_a_sentence_encoder_gives_what_its_makers_meant(minilm):
    """All-MiniLM: the mean of its tokens, of length 1, near for texts that mean the same."""
    texts = ["a man rides a bike", "someone is cycling", "two pizzas on a table"]
    found = encoded(texts, minilm).astype(float)
    mean = states(texts, minilm, cls=False)
    np.testing.assert_allclose(found, mean / np.linalg.norm(mean, axis=1, keepdims=True), atol=1e-4)
    same, other = found[0] @ found[1], found[0] @ found[2]
    assert same > other + 0.3


def spoilt(value: float):
    """A change of weights after which the embeddings are no numbers."""
    bias = "encoder.layer.1.output.LayerNorm.bias"
    return lambda weights: weights | {bias: weights[bias].index_fill(0, torch.tensor(3), value)}


def rewrite(folder: Path, change) -> None:
    save_file(change(load_file(folder / "model.safetensors")), folder / "model.safetensors", {"format": "pt"})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (  # those that lack would be drawn anew
            lambda weights: {f"of_mine.{name}": value for name, value in weights.items()},
            r"encoder 'mine-\w+' cannot be read from .*mine \(the weights lack .* and \d+ others\)",
        ),
        (spoilt(float("nan")), r"encoder 'mine-\w+' computes values that are not finite in 16 bits"),
        (spoilt(1e6), r"encoder 'mine-\w+' computes values that are not finite in 16 bits"),
    ],
)
def test_weights_that_lack_or_give_no_numbers_are_refused(own_bert, change, message):
    rewrite(own_bert, change)
    refuses(message, encoded, ["w1"], own_bert)


def test_damaged_files_are_refused(own_bert):
    weights = own_bert / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])
    refuses(r"cannot be read from .*mine \(.+\): fetch or save it again", encoded, ["w1"], own_bert)
    (own_bert / "tokenizer.json").write_text("{")
    refuses("cannot be read from", special_tokens, find_model(str(own_bert)))


@pytest.mark.parametrize("given", [None, "true"])
def test_nothing_is_printed_and_threads_bars_and_the_environment_are_as_they_were(own_bert, capfd, monkeypatch, given):
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


def test_the_trap_works(own_bert):
    trusted = {"trust_remote_code": True}
    assert runs_its_code(own_bert, "config.json", lambda: AutoConfig.from_pretrained(own_bert, **trusted))


@pytest.mark.parametrize("file", ["config.json", "tokenizer_config.json"])
@pytest.mark.parametrize("encoder", ["bert-frozen", "bert-finetuned", "sentences"])
def test_no_code_that_comes_with_an_encoder_is_run_whatever_the_user_answers(own_bert, class_trial, encoder, file):
    named = {"encoder": str(own_bert)} if encoder == "sentences" else {"encoder": encoder, "model": str(own_bert)}
    trial = class_trial(40, test=10)
    assert not runs_its_code(own_bert, file, lambda: find_attacker(**named, cache=False).fit(trial))


NO_WARNINGS = pytest.mark.filterwarnings("error::captionbias.captions.CaptionBiasWarning")
TEXTS = [f"caption {number}" for number in range(20)]


def right(texts: list[str]) -> np.ndarray:
    """Embeddings that anyone can compute: `(n, 5)`."""
    rows = [list(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:5]) for text in texts]
    return np.array(rows, np.float16).reshape(-1, 5)


def kept(store: Store | None, texts: list[str], identity: str = "an encoder") -> list[str]:
    """What had to be encoded on the way to the right embeddings."""
    fresh: list[str] = []
    found = embed(texts, lambda some: (fresh.extend(some), right(some))[1], store, identity)
    assert found.dtype == np.float16
    assert found.tolist() == right(texts).tolist()
    return fresh


@NO_WARNINGS
def test_what_was_encoded_once_is_not_encoded_again(store):
    assert kept(store, TEXTS[:10]) == TEXTS[:10]
    assert kept(store, TEXTS[9::-1]) == []
    assert kept(store, TEXTS[5:15]) == TEXTS[10:15]
    assert kept(store, TEXTS) == TEXTS[15:]
    assert kept(store, TEXTS) == []
    assert kept(store, TEXTS, "another") == TEXTS
    assert kept(None, TEXTS) == kept(None, TEXTS) == TEXTS
    broken = ["half a \ud83d character", "half a \ude00 character", "half a ? character", ""]
    assert kept(store, broken) == broken
    assert kept(store, broken) == []


@NO_WARNINGS
def test_a_killed_run_keeps_the_pieces_that_were_finished(store, monkeypatch):
    monkeypatch.setattr(embeddings, "PIECE", 6)

    def killed(texts):
        if "caption 12" in texts:
            raise KeyboardInterrupt
        return right(texts)

    with pytest.raises(KeyboardInterrupt):
        embed(TEXTS, killed, store, "an encoder")
    assert kept(store, TEXTS) == TEXTS[12:]


@NO_WARNINGS
def test_only_what_serves_counts_as_used(store):
    kept(store, TEXTS[:10])
    kept(store, TEXTS[10:])
    for entry in store.contents():
        os.utime(entry.path, (1, 1))
    kept(store, TEXTS[:3])
    assert [entry.used == 1 for entry in store.contents()] == [True, False]


@pytest.mark.parametrize("metric", [dpa, label_leakage], ids=lambda metric: metric.name)
def test_without_a_cache_attackers_of_labels_keep_no_embeddings(metric, tiny_bert, own_cache):
    labels = {"attributes": ["female", "male"] * 10, "tasks": [["dog"], ["cake"]] * 10}
    told = [["dog"], ["cake"], ["cake"], ["dog"]] * 5
    metric(**labels, predicted_tasks=told, encoder=str(tiny_bert), trials=1, bootstrap=0, cache=False)
    assert not own_cache.exists()
