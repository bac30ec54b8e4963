"""The attackers that the papers describe, written out a second time."""

from __future__ import annotations

import pytest

from captionbias.attackers.recipes import BERT_FINETUNED, RECIPES, Bag, Recipe, Recurrent, Schedule, Transformer

DBAC = {
    "lstm-dbac": Recurrent("lstm", 64, layers=1, bidirectional=False),
    "bilstm": Recurrent("lstm", 64, layers=1, bidirectional=True),
    "rnn": Recurrent("rnn", 64, layers=1, bidirectional=False),
    "birnn": Recurrent("rnn", 64, layers=1, bidirectional=True),
    "transformer-1h": Transformer(heads=1, hidden=200),
    "transformer-5h": Transformer(heads=5, hidden=200),
}


def test_lic_is_as_published():
    # Hirota et al. 2022: embedding 100, 2-layer bidirectional LSTM of 256, dropout 0.5, one linear output; Adam 5e-5,
    # batch 64, 20 epochs, batches bucketed by length. It starts as it is drawn.
    assert RECIPES["lstm-lic"] == Recipe(
        encoder=Recurrent("lstm", 256, layers=2, bidirectional=True),
        embedding=100,
        head=(),
        dropout=0.5,
        base_rates=False,
        schedule=Schedule(learning_rate=5e-5, batch=64, epochs=20, bucketed=True),
    )


@pytest.mark.parametrize("name", DBAC)
def test_dbac_s_encoders_have_50_dimensions_a_3_layer_head_and_random_batches(name):
    recipe = RECIPES[name]
    assert recipe.encoder == DBAC[name]
    assert recipe.embedding == 50
    assert len(recipe.head) + 1 == 3
    assert recipe.base_rates
    assert not recipe.schedule.bucketed
    assert set(RECIPES) == {"lstm-lic", "dense", *DBAC}
    assert len(set(RECIPES.values())) == len(RECIPES), "a recipe stands for a cache's key"


def test_the_fine_tuned_bert_is_as_published():
    schedule = BERT_FINETUNED.schedule
    assert (schedule.learning_rate, schedule.batch, schedule.epochs) == (1e-5, 64, 5)
    assert BERT_FINETUNED.head == (256,)
    assert isinstance(RECIPES["dense"].encoder, Bag), "Tokas et al. 2025: a small dense network, no more"
