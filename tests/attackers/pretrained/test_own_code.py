"""No code that comes with a model is run, whatever the user answers."""

import pytest
import transformers

from captionbias.attackers.registry import find_attacker
from tests.trap import runs_its_code


def test_the_trap_works(own_bert):
    trusted = {"trust_remote_code": True}
    assert runs_its_code(own_bert, "config.json", lambda: transformers.AutoConfig.from_pretrained(own_bert, **trusted))


@pytest.mark.parametrize("file", ["config.json", "tokenizer_config.json"])
@pytest.mark.parametrize("encoder", ["bert-frozen", "bert-finetuned", "sentences"])
def test_of_an_encoder(own_bert, class_trial, encoder, file):
    named = {"encoder": str(own_bert)} if encoder == "sentences" else {"encoder": encoder, "model": str(own_bert)}
    trial = class_trial(40, test=10)
    assert not runs_its_code(own_bert, file, lambda: find_attacker(**named, cache=False).fit(trial))
