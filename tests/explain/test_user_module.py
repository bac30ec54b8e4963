"""A user's own network: explained through its one embedding, refused where that is not all it reads."""

from __future__ import annotations

import numpy as np
import pytest

from captionbias.attackers.base import Examples, Trial, score_classes
from captionbias.attackers.engine import run_trials
from captionbias.attackers.registry import find_attacker
from captionbias.explain.attributions import attribute_captions
from captionbias.explain.contributions import TOLERANCE, contributions
from captionbias.explain.models import fit, log_probabilities
from captionbias.text import tokenize

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402


class Gru(nn.Module):
    learning_rate, batch, epochs = 0.02, 32, 6

    def __init__(self, words, outputs):
        super().__init__()
        self.words = nn.Embedding(words, 8)
        self.dropout = nn.Dropout(0.1)
        self.layer = nn.GRU(8, 8, batch_first=True)
        self.output = nn.Linear(8, outputs)

    def forward(self, tokens, lengths):
        states, _ = self.layer(self.dropout(self.words(tokens)))
        real = torch.arange(tokens.shape[1], device=tokens.device) < lengths[:, None]
        return self.output((states * real[..., None]).sum(1) / lengths[:, None])


class Looks(Gru):
    """Reads words beside its embedding as well."""

    def forward(self, tokens, lengths):
        return super().forward(tokens, lengths) + tokens.float().mean(1, keepdim=True)


class Twice(Gru):
    def __init__(self, words, outputs):
        super().__init__(words, outputs)
        self.more = nn.Embedding(words, 8)


class Turned(Gru):
    """Looks words up in another order than theirs."""

    def forward(self, tokens, lengths):
        return self.output(self.words(tokens.T).sum(0))


class Bag(nn.Module):
    def __init__(self, words, outputs):
        super().__init__()
        self.words, self.output = nn.EmbeddingBag(words, 8), nn.Linear(8, outputs)

    def forward(self, tokens, lengths):
        return self.output(self.words(tokens))


def made(classes: int = 2, n: int = 160) -> Trial:
    random = np.random.default_rng(classes)
    targets = np.arange(n) % classes
    captions = [[f"w{word}" for word in random.integers(8, size=random.integers(1, 6))] for _ in range(n)]
    for caption, target in zip(captions, targets, strict=True):
        if random.random() < 0.8:
            caption.insert(int(random.integers(len(caption) + 1)), f"sign{target}")
    captions[-1] = []
    rows = random.permutation(n - 1)
    examples = Examples(tokenize([" ".join(caption) for caption in captions]), targets, classes)
    return Trial("own", examples, np.sort(rows[40:]), np.append(np.sort(rows[:40]), n - 1), 1)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_kept_network_gives_the_scores_of_the_engine(classes):
    trial = made(classes)
    logits = fit(trial, Gru, "fp32").logits(trial.test)
    here = score_classes(log_probabilities(logits), trial.examples.targets[trial.test])
    (engine,) = run_trials([trial], find_attacker(Gru, "fp32"), cache=False, distributed=False)
    np.testing.assert_allclose(here.log_probability, engine.log_probability, atol=1e-5)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_values_of_a_caption_add_up_to_its_logit_less_that_of_padding(classes):
    trial = made(classes)
    attacker, rows = fit(trial, Gru, "fp32"), trial.test[:-1]
    found, tokens = contributions(attacker, rows), trial.examples.tokens.select(rows)
    padding = np.stack([attacker.read(attacker.padding().expand(1, n, -1))[0].numpy() for n in tokens.lengths])
    wanted = attacker.logits(rows) - padding
    added = np.stack([found.values[a:b].sum(0) for a, b in zip(tokens.offsets, tokens.offsets[1:], strict=False)])
    assert np.all(np.abs(added - wanted) <= TOLERANCE * np.maximum(1, np.abs(wanted)) + 1e-4)
    assert np.abs(wanted).max() > 0.5


def test_the_word_that_gives_a_class_away_is_on_top():
    captions = [f"{('indoors', 'surfs')[row % 2]} by the {('road', 'dog', 'sea')[row % 3]}" for row in range(240)]
    found = attribute_captions(captions, ["female", "male"] * 120, encoder=Gru)
    assert found.by_word(least=3)["female"][0]["word"] == "indoors"
    assert found.by_word(least=3)["male"][0]["word"] == "surfs"
    assert "|attacker:Gru-" in found.signature


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        (Looks, "its answers depend on words in another way as well"),
        (Twice, "it has 2"),
        (Bag, "it has 0"),
        (Turned, "it cannot read given embeddings|depend on words in another way"),
    ],
)
def test_a_network_that_reads_words_otherwise_is_refused(module, reason):
    with pytest.raises(ValueError, match=rf"encoder {module.__name__} cannot be explained \(({reason}).*one torch\.nn"):
        fit(made(), module, "fp32")
