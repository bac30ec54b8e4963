"""Presets and signatures: a score says all that it depends on, and two scores that may differ never say the same."""

import json
import re
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from gensim.models import KeyedVectors
from hypothesis import given, settings
from hypothesis import strategies as st

from captionbias import __version__, metrics
from captionbias.attackers import engine
from captionbias.attackers.recipes import RECIPES, Recurrent
from captionbias.bench.protocol import lexicon_name, preset_settings, vectors_name, whole_number
from captionbias.captions import CaptionBiasWarning, read_captions
from captionbias.metrics import dbac, gender_error, lic
from captionbias.synthetic import plant
from captionbias.text import load_lexicon

FAST = {"preset": "fast", "trials": 1, "bootstrap": 0, "alignment": "constant"}
OWN_WORDS = {"female": ["woman"], "male": ["man"]}
CHANGES = [
    {"encoder": "lstm-dbac", "precision": "fp32"},
    {"encoder": "lstm-dbac", "precision": "bf16"},
    {"encoder": "rnn"},
    {"trials": 2},
    {"seed": 1},
    {"bootstrap": 30},
    {"alignment": "contextual"},
    {"alignment": "contextual", "delta": 0.3},
    {"tokenizer": "whitespace"},
    {"attribute_lexicon": "age", "allow_unmasked": True},
    {"attribute_lexicon": OWN_WORDS},
    {"attribute_lexicon": {**OWN_WORDS, "male": ["man", "guy"]}},
]
LIC_CHANGES = [
    *CHANGES,
    {"vocabulary": ["a", "woman", "man"]},
    {"preset": "lic-2022", "encoder": "bow"},
    {"unseen_only": True},
]
DBAC_CHANGES = [
    *CHANGES,
    {"preset": "dbac-2026", "encoder": "bow"},
    {"preset": "dbac-2026-published", "encoder": "bow"},
    {"quality": "accuracy"},
    {"quality": "inverse_cross_entropy"},
    {"bayes": False},
    {"task_lexicon": "coco_names"},
    {"task_lexicon": {"cake": ["cake"], "dog": ["dog"]}},
    {"tasks": None},
    {"vocabulary": ["a", "woman", "man"]},
    {"pairing": "every-caption"},
]


@pytest.fixture
def captions(monkeypatch):
    """Few captions, and LSTM attackers of a size for them; workers take longer to start than these trainings."""
    monkeypatch.setattr(engine, "cores", lambda: 1)
    for name in ("lstm-lic", "lstm-dbac"):
        recipe = RECIPES[name]
        small = replace(recipe, encoder=Recurrent("lstm", 4), embedding=4, schedule=replace(recipe.schedule, epochs=1))
        monkeypatch.setitem(RECIPES, name, small)
    planted = vars(plant(images=60, captions=2))
    numbered = [f"{caption} {number}" for number, caption in enumerate(planted["predictions"])]
    return {**planted, "predictions": numbered}


@pytest.mark.parametrize(("metric", "changes"), [(lic, LIC_CHANGES), (dbac, DBAC_CHANGES)], ids=["lic", "dbac"])
def test_every_option_that_may_change_a_score_changes_the_signature(metric, changes, captions):
    signatures = [metric(**{**captions, **FAST, **change})["signature"] for change in ({}, *changes)]
    assert len(set(signatures)) == len(signatures), signatures
    assert all(re.fullmatch(r"[^|:]+:[^|]+(\|[^|:]+:[^|]+)+", one) for one in signatures)
    assert [one.split("|")[-1] for one in signatures] == [f"v:{__version__}"] * len(signatures)


@pytest.mark.parametrize("metric", [lic, dbac])
def test_what_cannot_change_a_score_does_not_change_the_signature(metric, captions, capsys):
    result = metric(**captions, **FAST)
    shown = metric(**captions, **FAST, details=True, progress=True)
    assert {key: shown[key] for key in result} == result
    assert capsys.readouterr().out == "", "a progress bar would spoil JSON on standard output"


@pytest.mark.parametrize(
    ("metric", "options", "signature"),
    [
        (
            lic,
            {"unseen_only": True},
            "metric:lic|preset:fast|attacker:bow|align:constant|trials:2|split:balanced,folds,5|rows:#|seed:7|tok:words"
            f"|attribute:gender|unseen:True|bootstrap:23|v:{__version__}",
        ),
        (
            dbac,
            {"quality": "accuracy", "bayes": False, "delta": 0.5},
            "metric:dbac|preset:fast|attacker:bow|quality:accuracy|bayes:False|pairing:held-out|align:contextual,names-kept,captions"
            f",0.5|trials:2|split:folds,5|rows:#|seed:7|tok:words|attribute:gender|task:coco_objects|tasks:given|bootstrap:23|v:{__version__}",
        ),
    ],
)
def test_a_signature_in_full(metric, options, signature, captions):
    found = metric(**captions, preset="fast", trials=2, seed=7, bootstrap=23, **options)["signature"]
    assert re.sub(r"rows:[0-9a-f]{8}\|", "rows:#|", found) == signature


@settings(deadline=None, max_examples=12)
@given(st.randoms(use_true_random=False), st.booleans(), st.sampled_from(["lic", "gender_error"]))
def test_rows_in_another_order_have_another_signature_and_images_with_ids_the_same_scores(random, human, metric):
    """By the order of their ids images are always drawn alike; without ids only the order says how."""
    columns = {**vars(plant(60, a_to_t=0.5, captions=2)), "tasks": None}
    columns["predictions"] = [f"{caption} {row}" for row, caption in enumerate(columns["predictions"])]
    columns = {name: list(values) for name, values in columns.items() if values and (human or name != "references")}
    order = random.sample(range(60), 60)
    shuffled = {name: [values[row] for row in order] for name, values in columns.items()}
    options = {} if metric == "gender_error" else {"preset": "fast", "trials": 1}
    function = getattr(metrics, metric)
    first, again = (function(**each, bootstrap=30, **options) for each in (columns, shuffled))
    assert first["signature"] != again["signature"] or order == sorted(order)

    tables = {**columns, "image_id": list(range(60))}, {**shuffled, "image_id": order}
    usual = {"id_column": "image_id", "prediction_column": "predictions", "attribute_column": "attributes"}
    first, again = (function(read_captions(table, **usual), bootstrap=30, **options) for table in tables)
    assert first == again


def test_word_vectors_are_named_by_their_words_and_numbers(tmp_path):
    def made(*words, size=1.0):
        vectors = KeyedVectors(2)
        vectors.add_vectors(list(words), np.eye(2)[: len(words)] * size)
        return vectors

    path, other = tmp_path / "glove.txt", tmp_path / "other" / "glove.txt"
    other.parent.mkdir()
    path.write_text("dog 1 0\ncat 0 1\n")
    other.write_text("dog 1 0\ncat 0 2\n")
    names = [vectors_name(of) for of in (made("dog", "cat"), made("cat", "dog"), made("dog", size=2), path, other)]
    assert len({*names}) == 5
    assert vectors_name(made("dog", "cat")) == names[0]
    assert re.fullmatch("KeyedVectors-[0-9a-f]{8} glove.txt-[0-9a-f]{8}", f"{names[0]} {names[3]}")
    path.write_text("dog 1 0\ncat 0 2\n")
    assert vectors_name(path) == vectors_name(str(other)), "read again when it has changed"
    assert vectors_name("captions") == "captions"


def test_word_vectors_that_would_not_be_used_are_refused():
    people = vars(plant(60, captions=2))
    model = {**people, "references": None}
    for function, captions in ((metrics.lic, people), (metrics.dbac, model), (metrics.dbac, people)):
        constant = {"alignment": "constant"} if captions is people else {}
        with pytest.raises(ValueError, match=r"^vectors: word vectors are not used .*; leave them out$"):
            function(**captions, **constant, preset="fast", trials=1, vectors="gone.txt")
    signed = metrics.dbac(**model, preset="fast", trials=1, bootstrap=0)["signature"]
    assert "align:contextual,names-kept|" in signed, "nothing was aligned by vectors"


def test_whole_numbers():
    assert type(whole_number("trials", np.int64(1), least=1)) is int
    for value in (0, 1.0, True, "1", None):
        with pytest.raises(ValueError, match=f"^trials must be a whole number of 1 or more, not {value!r}$"):
            whole_number("trials", value, least=1)


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
    assert [
        row["seed"] for row in other.get("trials", other.get("a_to_t", other))["trials" if metric is dbac else "m"]
    ] == [12, 0, 1234]


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
    with pytest.raises(ValueError, match=f"^seeds:? {message}"):
        lic(**captions, preset="fast", **options)


def test_a_user_s_lexicon_is_named_by_its_words(tmp_path):
    def name(source):
        return lexicon_name(load_lexicon(source), source)

    assert name("gender") == "gender"
    own = name(OWN_WORDS)
    assert re.fullmatch(r"custom-[0-9a-f]{8}", own)
    assert name({"male": ["man"], "female": ["woman"]}) != own, "gaps are those of the first label"
    assert name({"groups": OWN_WORDS, "roles": {"girl|boy": ["girl", "boy"]}}) != own
    assert name({**OWN_WORDS, "male": ["man", "guy"]}) != own
    assert name({"groups": OWN_WORDS, "masked_only": ["person"]}) != name({"groups": OWN_WORDS})
    assert name({"groups": OWN_WORDS, "mask": "<x>"}) != name({"groups": OWN_WORDS})
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(OWN_WORDS))
    assert name(file).startswith("mine-")
    imposter = tmp_path / "gender.json"
    imposter.write_text(json.dumps(OWN_WORDS))
    assert name(imposter) not in ("gender", name(file))


def test_too_few_images_give_no_interval_and_so_no_verdict():
    planted = vars(plant(40, t_to_a=0.9))
    few = {name: rows[:10] for name, rows in planted.items()}
    with pytest.warns(CaptionBiasWarning, match="no interval: it takes 20 images"):
        found = gender_error.measure(**few)
    assert {found.estimates[key].verdict for key in found.estimates} == {None}
    assert gender_error.measure(**planted).estimates["error"].low is not None


def test_one_training_of_a_neural_attacker_is_said_to_be_one():
    planted = vars(plant(60, captions=1))
    chosen = {"preset": "papers", "encoder": "rnn", "trials": 1, "bootstrap": 20, "alignment": "constant"}
    found = lic.measure(**planted, **chosen)
    assert any(text.startswith("trials=1: intervals do not contain") for text in found.notes)
    assert not any("trials=1" in text for text in lic.measure(**planted, **chosen | {"encoder": "bow"}).notes)


def test_a_preset_sets_what_it_names_and_nothing_else():
    """A name that is no setting is refused: one that a function happens to have never takes the place of a preset's."""
    presets = lic.entry.presets
    name, chosen = preset_settings(presets, "papers", encoder="bow", delta=None)
    assert (name, chosen) == ("lic-2022", replace(presets["lic-2022"], encoder="bow"))
    with pytest.raises(TypeError, match="delat"):
        preset_settings(presets, "fast", delat=0.2)
    with pytest.raises(FrozenInstanceError):
        presets["fast"].delta = 0.2
