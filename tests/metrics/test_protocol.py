"""Presets and signatures: a score says all that it depends on, and two scores that may differ never say the same."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from captionbias import __version__
from captionbias.attackers.recipes import RECIPES, Recurrent
from captionbias.metrics import dbac, lic
from captionbias.metrics.protocol import (
    PRESETS,
    alignment_name,
    lexicon_name,
    preset_settings,
    signature,
    whole_number,
)
from captionbias.synthetic import plant
from captionbias.text import load_lexicon

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # 60 images are few

FAST = {"preset": "fast", "trials": 1, "bootstrap": 0, "alignment": "constant"}
OWN_WORDS = {"female": ["woman"], "male": ["man"]}
CHANGES = [
    {"encoder": "lstm", "precision": "fp32"},
    {"encoder": "lstm", "precision": "bf16"},
    {"encoder": "rnn"},
    {"trials": 2},
    {"seed": 1},
    {"bootstrap": 2},
    {"alignment": "contextual"},
    {"alignment": "contextual", "delta": 0.3},
    {"tokenizer": "whitespace"},
    {"attribute_lexicon": "age"},
    {"attribute_lexicon": OWN_WORDS},
    {"attribute_lexicon": {**OWN_WORDS, "male": ["man", "guy"]}},
]
LIC_CHANGES = [*CHANGES, {"preset": "lic-2022", "encoder": "bow"}, {"unseen_only": True}]
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
]


@pytest.fixture
def captions(monkeypatch):
    """Few captions of their own, and LSTM attackers of a size for them."""
    for name in ("lstm-lic", "lstm-dbac"):
        recipe = RECIPES[name]
        small = replace(recipe, encoder=Recurrent("lstm", 4), embedding=4, schedule=replace(recipe.schedule, epochs=1))
        monkeypatch.setitem(RECIPES, name, small)
    planted = vars(plant(images=60, captions=1))
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


def test_the_signature_of_lic_in_full(captions):
    result = lic(**captions, preset="fast", encoder="bow", trials=2, seed=7, bootstrap=3, unseen_only=True)
    assert result["signature"] == (
        "metric:lic|preset:fast|attacker:bow|align:constant|trials:2|split:balanced,0.1|seed:7|tok:words"
        f"|attribute:gender|unseen:True|bootstrap:3|v:{__version__}"
    )


def test_the_signature_of_dbac_in_full(captions):
    result = dbac(**captions, preset="fast", trials=2, seed=7, quality="accuracy", bayes=False, bootstrap=3, delta=0.5)
    assert result["signature"] == (
        "metric:dbac|preset:fast|attacker:bow|quality:accuracy|bayes:False|align:contextual,captions,0.5|trials:2"
        f"|split:0.2|seed:7|tok:words|attribute:gender|task:coco_objects|tasks:given|bootstrap:3|v:{__version__}"
    )


def test_presets_are_the_papers_protocols():
    name, paper = preset_settings("lic", "papers")
    assert name == "lic-2022"
    assert (paper["encoder"], paper["trials"], paper["test_share"]) == ("lstm-lic", 10, 0.1)
    assert paper["alignment"] == "constant"
    name, paper = preset_settings("dbac", "papers")
    assert name == "dbac-2026"
    assert (paper["encoder"], paper["test_share"], paper["quality"]) == ("lstm", 0.2, "confidence")
    assert (paper["alignment"], paper["delta"], paper["tokenizer"]) == ("contextual", 0.4, "words")
    _, published = preset_settings("dbac", "dbac-2026-published")
    assert {name for name in paper if paper[name] != published[name]} == {"tokenizer", "task_lexicon", "vectors"}
    for metric in PRESETS:
        assert preset_settings(metric, "fast")[1] == preset_settings(metric, "papers", encoder="bow")[1]


def test_what_the_caller_chooses_goes_before_the_preset_and_none_does_not():
    before = {name: dict(preset) for name, preset in PRESETS["dbac"].items()}
    name, chosen = preset_settings("dbac", "fast", trials=3, encoder=None, delta=0.2)
    assert (name, chosen["trials"], chosen["encoder"], chosen["delta"]) == ("fast", 3, "bow", 0.2)
    assert before == PRESETS["dbac"], "a preset stays what it is"


def test_whole_numbers():
    assert whole_number("trials", 1, least=1) == 1
    for value in (0, 1.0, True, "1", None):
        with pytest.raises(ValueError, match=f"^trials must be a whole number of 1 or more, not {value!r}$"):
            whole_number("trials", value, least=1)


def test_a_lexicon_of_ones_own_is_named_by_its_words(tmp_path):
    def name(source):
        return lexicon_name(load_lexicon(source), source)

    assert name("gender") == "gender"
    own = name(OWN_WORDS)
    assert re.fullmatch(r"custom-[0-9a-f]{8}", own)
    assert name({"male": ["man"], "female": ["woman"]}) == own, "in any order"
    assert name({**OWN_WORDS, "male": ["man", "guy"]}) != own
    assert name({"groups": OWN_WORDS, "masked_only": ["person"]}) != name({"groups": OWN_WORDS})
    assert name({"groups": OWN_WORDS, "mask": "<x>"}) != name({"groups": OWN_WORDS})
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(OWN_WORDS))
    assert name(file).startswith("mine-")
    imposter = tmp_path / "gender.json"
    imposter.write_text(json.dumps(OWN_WORDS))
    assert name(imposter) not in ("gender", name(file))


def test_alignment_is_named_by_all_that_it_depends_on(tmp_path):
    def name(alignment, vectors, delta):
        return alignment_name({"alignment": alignment, "vectors": vectors, "delta": delta})

    assert name("constant", "captions", 0.4) == "constant"
    assert name("contextual", "captions", 0.4) == "contextual,captions,0.4"
    assert name("contextual", tmp_path / "glove.50d.txt", 0.35) == "contextual,glove.50d.txt,0.35"
    assert name("contextual", str(tmp_path / "glove.50d.txt"), 1) == "contextual,glove.50d.txt,1"


def test_a_signature_says_its_parts_in_their_order():
    assert signature(metric="lic", trials=3) == f"metric:lic|trials:3|v:{__version__}"
