"""Presets, seeds and signatures."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from gensim.models import KeyedVectors

from captionbias import __version__
from captionbias.attackers import engine
from captionbias.attackers.recipes import RECIPES, Recurrent
from captionbias.bench.protocol import lexicon_name, vectors_name
from captionbias.captions import CaptionBiasWarning
from captionbias.metrics import dbac, gender_error, lic
from captionbias.synthetic import plant
from captionbias.text import load_lexicon
from tests.refusals import refuses

FAST = {"preset": "fast", "trials": 1, "bootstrap": 0, "alignment": "constant"}
OWN_WORDS = {"female": ["woman"], "male": ["man"]}


@pytest.fixture
def captions(monkeypatch):
    """Few captions, and an LSTM of a size for them; workers take longer to start than these trainings."""
    monkeypatch.setattr(engine, "cores", lambda: 1)
    small = replace(RECIPES["lstm-dbac"], encoder=Recurrent("lstm", 4), embedding=4)
    monkeypatch.setitem(RECIPES, "lstm-dbac", replace(small, schedule=replace(small.schedule, epochs=1)))
    planted = vars(plant(images=60, captions=2))
    numbered = [f"{caption} {number}" for number, caption in enumerate(planted["predictions"])]
    return {**planted, "predictions": numbered}


def test_what_cannot_change_a_score_does_not_change_the_signature(captions, capsys):
    result = dbac(**captions, **FAST)
    shown = dbac(**captions, **FAST, details=True, progress=True)
    assert {key: shown[key] for key in result} == result
    assert capsys.readouterr().out == "", "a progress bar would spoil JSON on standard output"


@pytest.mark.parametrize(
    ("metric", "options", "signature"),
    [
        (
            lic,
            {"unseen_only": True},
            "metric:lic|preset:fast|attacker:bow|align:constant|trials:2|split:balanced,folds,5|rows:#|predictions:#|seed:7|tok:words"
            f"|attribute:gender|unseen:True|bootstrap:23|v:{__version__}",
        ),
        (
            dbac,
            {"quality": "accuracy", "bayes": False, "delta": 0.5},
            "metric:dbac|preset:fast|attacker:bow|quality:accuracy|bayes:False|pairing:held-out|align:contextual,names-kept,captions"
            f",0.5|trials:2|split:folds,5|rows:#|predictions:#|seed:7|tok:words|attribute:gender|task:coco_objects|tasks:given"
            f"|directions:a_to_t,t_to_a|controls:True|bootstrap:23|v:{__version__}",
        ),
    ],
)
def test_a_signature_in_full(metric, options, signature, captions):
    found = metric(**captions, preset="fast", trials=2, seed=7, bootstrap=23, **options)["signature"]
    assert re.sub(r"(rows|predictions):[0-9a-f]{8}", r"\1:#", found) == signature


def test_word_vectors_are_named_by_their_words_and_numbers(tmp_path):
    def made(*words, size=1.0):
        vectors = KeyedVectors(2)
        vectors.add_vectors(list(words), np.eye(2)[: len(words)] * size)
        return vectors

    path, other = tmp_path / "glove.txt", tmp_path / "other.txt"
    path.write_text("dog 1 0\ncat 0 1\n")
    other.write_text("dog 1 0\ncat 0 2\n")
    names = [vectors_name(of) for of in (made("dog", "cat"), made("cat", "dog"), made("dog", size=2), path, other)]
    assert len({name[-8:] for name in names}) == 5
    assert vectors_name(made("dog", "cat")) == names[0]
    assert re.fullmatch("KeyedVectors-[0-9a-f]{8} glove.txt-[0-9a-f]{8}", f"{names[0]} {names[3]}")
    path.write_text("dog 1 0\ncat 0 2\n")
    assert vectors_name(str(path))[-8:] == names[4][-8:], "read again when it has changed"
    assert vectors_name("captions") == "captions"


def test_word_vectors_that_would_not_be_used_are_refused():
    people = vars(plant(60, captions=2))
    model = {**people, "references": None}
    for function, captions in ((lic, people | {"alignment": "constant"}), (dbac, model)):
        refuses(r"^vectors: word vectors are not used .*; leave them out$", function, **captions, vectors="gone.txt")
    signed = dbac(**model, preset="fast", trials=1, bootstrap=0)["signature"]
    assert "align:contextual,names-kept|" in signed, "nothing was aligned by vectors"


@pytest.mark.parametrize("metric", [lic, dbac])
def test_seeds_are_those_of_the_trials_one_by_one(metric, captions):
    options = {"preset": "fast", "bootstrap": 0, "cache": False, "details": True}
    listed, counted = metric(**captions, **options, seeds=[3, 4, 5]), metric(**captions, **options, seed=3, trials=3)
    for result, seeds in ((listed, {"seeds": "3,4,5"}), (counted, {"seed": 3})):
        settings = result["details"].pop("settings")
        assert {name: settings[name] for name in settings if name.startswith("seed")} == seeds
        assert f"|{'|'.join(f'{name}:{value}' for name, value in seeds.items())}|" in result.pop("signature")
    assert {key: listed[key] for key in listed if not key.endswith("_noise")} == counted
    other = metric(**captions, **options, seeds=[12, 0, 1234])["details"]
    trials = other["a_to_t"]["trials"] if metric is dbac else other["trials"]["m"]
    assert [row["seed"] for row in trials] == [12, 0, 1234]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *(({"seeds": wrong}, "must be a list of different whole numbers, not") for wrong in ([], "0,1", 5, [0, 1, 0])),
        ({"seeds": [0, -1]}, "must be a whole number of 0 or more, not -1"),
        ({"seeds": [0, 1], "trials": 2}, "each is a trial; leave out trials"),
        ({"seeds": [0, 1], "seed": 1}, "each trial has one of its own; leave out seed"),
    ],
)
def test_seeds_that_cannot_be_meant(options, message, captions):
    refuses(f"^seeds:? {message}", lic, **captions, preset="fast", **options)


def test_a_user_s_lexicon_is_named_by_its_words(tmp_path):
    def name(source):
        return lexicon_name(load_lexicon(source), source)

    mine, imposter = tmp_path / "mine.json", tmp_path / "gender.json"
    for file in (mine, imposter):
        file.write_text(json.dumps(OWN_WORDS))
    sources = [
        *("gender", OWN_WORDS, mine, imposter),
        {"male": ["man"], "female": ["woman"]},  # gaps are those of the first label
        {"groups": OWN_WORDS, "roles": {"girl|boy": ["girl", "boy"]}},
        {**OWN_WORDS, "male": ["man", "guy"]},
        {"groups": OWN_WORDS, "masked_only": ["person"]},
        {"groups": OWN_WORDS, "mask": "<x>"},
    ]
    names = list(map(name, sources))
    assert len(set(names)) == len(names)
    assert re.fullmatch("gender custom-[0-9a-f]{8} mine-[0-9a-f]{8} .*", " ".join(names))


def test_too_few_images_give_no_interval_and_so_no_verdict():
    planted = vars(plant(40, t_to_a=0.9))
    few = {name: rows[:10] for name, rows in planted.items()}
    with pytest.warns(CaptionBiasWarning, match="no interval: it takes 20 images"):
        found = gender_error.measure(**few)
    assert {found.estimates[key].verdict for key in found.estimates} == {None}
    assert gender_error.measure(**planted).estimates["error"].low is not None


def test_one_training_of_a_neural_attacker_is_said_to_be_one(captions):
    chosen = FAST | {"encoder": "lstm-dbac", "bootstrap": 20}
    found = lic.measure(**captions, **chosen)
    assert any(text.startswith("trials=1: intervals do not cover") for text in found.notes)
    assert not any("trials=1" in text for text in lic.measure(**captions, **chosen | {"encoder": "bow"}).notes)
