"""No code that comes with a model is run, whatever the user answers."""

import shutil

import numpy as np
import pytest

from captionbias.attackers.registry import find_attacker
from tests.trap import runs_its_code

transformers = pytest.importorskip("transformers")
pytest.importorskip("sentence_transformers")


def test_the_trap_works(own_bert):
    trusted = {"trust_remote_code": True}
    assert runs_its_code(own_bert, "config.json", lambda: transformers.AutoConfig.from_pretrained(own_bert, **trusted))


@pytest.mark.parametrize("file", ["config.json", "tokenizer_config.json"])
@pytest.mark.parametrize("encoder", ["bert-frozen", "bert-finetuned", "sentences"])
def test_of_an_encoder(own_bert, class_trial, encoder, file):
    named = {"encoder": str(own_bert)} if encoder == "sentences" else {"encoder": encoder, "model": str(own_bert)}
    trial = class_trial(40, test=10)
    assert not runs_its_code(own_bert, file, lambda: find_attacker(**named, cache=False).fit(trial))


@pytest.mark.parametrize("file", ["config.json", "preprocessor_config.json"])
def test_of_an_image_encoder(resnet, tmp_path, file):
    pytest.importorskip("PIL")
    from PIL import Image

    from captionbias.images.features import find_image_encoder, picture_features

    folder = shutil.copytree(resnet, tmp_path / "mine")
    picture = Image.fromarray(np.zeros((32, 32, 3), np.uint8))
    assert not runs_its_code(folder, file, lambda: picture_features([picture], find_image_encoder(str(folder)), None))
