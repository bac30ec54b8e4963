"""Captions in other languages."""

import json
import pickle
import re
import shutil
import sys
from functools import cache
from pathlib import Path

import pytest

from benchmarks.planted_sway import swayed
from captionbias.bench.verdicts import CANNOT_TELL, LIKE, NOTHING_FOUND
from captionbias.captions import check_captioners, check_captions, on_the_same_images
from captionbias.explain.evidence import captions_behind
from captionbias.metrics import dbac, lic, sway
from captionbias.synthetic import plant
from captionbias.text import guess_language, load_lexicon, split_words
from captionbias.text.languages import language_name, languages, load_language
from tests.cli.conftest import invoke, refused
from tests.launch import ROOT
from tests.refusals import refuses
from tests.text.conftest import masked, named

LANGUAGES = sorted({*languages()} - {"en"})
EVERY = pytest.mark.parametrize("language", LANGUAGES)
FAST = {"preset": "fast", "cache": False}
CONSTANT = {**FAST, "alignment": "constant", "trials": 4, "bootstrap": 200}
# What is said of a woman and of a man, and must be the same word.
AGREEING = {
    "de": "eine/ein die/der diese/dieser keine/kein sie/er ihre/seine ihrem/seinem lächelnde/lächelnder junge/junger "
    "ältere/älterer sitzende/sitzender blonde/blonder große/großer bekleidete/bekleideter barfüßige/barfüßiger "
    "asiatische/asiatischer fotografierte/fotografierter Gärtnerin/Gärtner Forscherinnen/Forscher",
    "es": "una/un la/el esta/este otra/otro ella/él vieja/viejo sentada/sentado rubia/rubio alta/alto "
    "vestida/vestido vista/visto sola/solo cansada/cansado acostada/acostado rodeada/rodeado española/español "
    "inglesa/inglés seria/serio arrodillada/arrodillado pelirroja/pelirrojo sentadas/sentados",
    "fr": "une/un la/le cette/ce elle/il sa/son assise/assis vieille/vieux belle/beau blonde/blond brune/brun "
    "noire/noir heureuse/heureux blanche/blanc vêtue/vêtu photographiée/photographié vue/vu rousse/roux "
    "sportive/sportif seule/seul mignonne/mignon inquiète/inquiet allongées/allongés prise/pris",
    "ja": "一匹/一台",
    "zh": "一只/一条 两位/两名",
}


@EVERY
def test_what_agrees_with_a_person_is_one_word(language: str) -> None:
    words = load_language(language).words
    for pair in AGREEING[language].split():
        woman, man = pair.split("/")
        assert words(woman) == words(man), pair


@EVERY
def test_all_objects_have_words_that_captions_are_found_by(language: str) -> None:
    english = load_lexicon("coco_objects")
    assert load_lexicon(f"coco_objects-{language}").labels == english.labels
    frame = {"ja": "これは{}を見る。", "zh": "她在{}旁边。"}.get(language, "X {}.")
    for kind in ("gender", "coco_objects"):
        lexicon = load_lexicon(f"{kind}-{language}")
        listed = [(label, word) for label, words in lexicon.groups.items() for word in words]
        captions = [frame.format(re.sub("(?<=本)[をが]$", "", word)) for _, word in listed]
        for (label, word), found in zip(listed, named(captions, lexicon, language), strict=True):
            assert found - {"female"} == {label} - {"female"}, word


@pytest.mark.parametrize(
    ("language", "caption", "meant"),
    [
        ("de", "Zwei Radfahrerinnen mit Fahrrädern und Kühen", "female|bicycle|cow"),
        ("de", "Ein Skifahrer und zwei Fußballspieler neben den Bänken", "bench"),
        ("de", "Junge Frau. Eine junge Dame, die junge Hunde führt", "female|dog"),
        ("de", "Ein Junge und andere Jungen mit Äpfeln, Torten und Vögeln", "male|bird|apple|cake"),
        ("es", "Unas niñas y jugadoras con osos de peluche y tablas de surf", "female|surfboard|teddy bear"),
        ("es", "Los niños y un camarero con cucharas y manzanas", "spoon|apple"),
        ("fr", "Des joueuses assises sur des chaises près d'une bouche d'incendie", "female|fire hydrant|chair"),
        ("fr", "Un skieur et des messieurs avec des fourchettes", "male|fork"),
        ("ja", "彼女は三本のボトルと本を持っている", "female|bottle|book"),
        ("zh", "一个小男孩和他的热狗在两辆公共汽车旁边", "male|hot dog|bus"),
    ],
)
def test_captions_name_what_their_words_mean(language: str, caption: str, meant: str) -> None:
    lexicons = (load_lexicon(f"{kind}-{language}") for kind in ("gender", "coco_objects"))
    assert set().union(*(named([caption], lexicon, language)[0] for lexicon in lexicons)) == {*meant.split("|")}


@EVERY
def test_nothing_of_the_person_is_left_when_it_is_masked(language: str) -> None:
    planted = plant(3000, captions=1, naming=0, language=language)
    said = {value: set() for value in ("female", "male")}
    hidden = masked(planted.predictions, load_lexicon(f"gender-{language}"), language)
    for text, value in zip(hidden, planted.attributes, strict=True):
        if "<gender>" in text:
            said[value].add(text)
    assert said["female"] == said["male"]


@cache
def biased_in(language: str) -> tuple[dict[str, float], dict[str, float], dict[str, float]]:
    """What sway and DBAC read of a biased captioner, and what was planted."""
    planted = plant(1000, captions=2, t_to_a=0.5, language=language)
    found = sway(**vars(planted), language=language)
    return found, dbac(**vars(planted), language=language, directions=["t_to_a"], **CONSTANT), swayed(planted, language)


@EVERY
def test_a_faithful_captioner_reads_0_and_a_biased_one_as_in_english(language: str) -> None:
    faithful = plant(500, captions=2, language=language)
    for metric, given in ((sway, {}), (lic, CONSTANT), (dbac, CONSTANT)):
        measured = metric.measure(**vars(faithful), language=language, **given)
        judged = {key: estimate for key, estimate in measured.estimates.items() if estimate.margin is not None}
        assert judged
        for key, estimate in judged.items():
            assert measured.estimates[key].verdict in (CANNOT_TELL, LIKE, NOTHING_FOUND), key
            assert estimate.low <= 0 <= (estimate.high or 0), key
    (own, net, planted), (theirs, english_net, planted_there) = biased_in(language), biased_in("en")
    apart = {key for key in own if key.startswith("sway_words")} | {"signature"}  # a language has other content words
    assert own.keys() == theirs.keys()
    alike = {key: theirs[key] for key in theirs.keys() - apart}  # but for which human captions are drawn
    assert {key: own[key] for key in alike} == pytest.approx(alike, abs=3)
    assert own["sway_words"] == pytest.approx(theirs["sway_words"], abs=1)
    assert planted == planted_there
    assert net["dbac_t_to_a_net_ci_low"] > 0
    assert net["dbac_t_to_a_net"] == pytest.approx(english_net["dbac_t_to_a_net"], abs=0.03)
    assert f"|tok:{language}," in own["signature"]
    assert f"|attribute:gender-{language}|task:coco_objects-{language}|" in own["signature"]


def test_captions_keep_their_language_wherever_they_go() -> None:
    people = vars(plant(60, language="de"))
    said = people.pop("predictions")
    captioners = check_captioners({"one": said, "two": said}, **people, language="de", image_ids=range(60))
    first = captioners["one"]
    part = check_captions(**first.columns(range(40)))
    assert pickle.loads(pickle.dumps(first)) == first
    for one in (part, captioners["two"], first.with_attributes(first.attributes), pickle.loads(pickle.dumps(first))):
        assert one.language == "de"
        assert "lächelnd" in one.words().tokens.words
    shared = on_the_same_images({"one": first, "part": part})
    assert [(len(one), one.language) for one in shared.values()] == [(40, "de")] * 2
    assert first.mean_words == (first.words().model.lengths.mean(), first.words().human.lengths.mean())


def test_english_is_what_it_was() -> None:
    planted = vars(plant(60))
    assert sway(**planted, language="en") == sway(**planted)
    assert check_captions(**planted, language="en").language is None


@pytest.mark.parametrize(
    ("spoken", "given", "message"),
    [
        ("de", {"language": "fr"}, r"predictions: \d+% of them name .* language 'fr', and at least 50% must; give the"),
        ("de", {"language": "it"}, r"language 'it' is unknown; choose one of de, en, es, fr, ja, zh$"),
        ("ja", {}, r"predictions are not split into words, .*: give language='ja' or language='zh', split"),
        ("de", {"language": "de", "attribute_lexicon": "race"}, "language 'de' has no words of 'race': give your own"),
    ],
)
def test_captions_in_another_language_are_refused_with_the_way_out(spoken, given, message) -> None:
    refuses(f"^{message}", sway, **vars(plant(60, language=spoken)), **given)


def test_a_language_is_given_where_captions_are_read_and_needs_its_library(monkeypatch: pytest.MonkeyPatch) -> None:
    captions, german = check_captions(**vars(plant(60))), vars(plant(60, language="de"))
    refuses(r"^language 'de': the captions were read without it; give", sway, captions, language="de")
    refuses(r"^values must be 2 in language 'de', not 4", plant, 60, values=4, language="de")
    load_language.cache_clear()
    monkeypatch.setitem(sys.modules, "simplemma", None)
    missing = r"^language 'de': .*simplemma.*: pip install '\.\[languages\]' in a clone first"
    refuses(missing, check_captions, **german, language="de")


def test_the_file_of_the_guide_is_a_language(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guide = (ROOT / "docs/extend.md").read_text(encoding="utf-8").partition("## A language")[2]
    (tmp_path / "it.json").write_text(guide.partition("```json")[2].partition("```")[0], encoding="utf-8")
    shutil.copy(ROOT / "src/captionbias/text/languages/en.json", tmp_path)
    monkeypatch.setattr(f"{load_language.__module__}._FOLDER", tmp_path)
    assert (languages(), language_name("it")) == (["en", "it"], "Italian")
    assert load_language("it").words("La sua donna") == load_language("it").words("Il suo donna")
    assert load_lexicon("gender-it").groups["female"][0] == "donna"
    assert guess_language(["Una donna con un cane"]) == "it"


def letters(caption: str) -> list[str]:
    return [letter for letter in caption if letter not in "。、"]


def test_a_function_is_a_tokenizer() -> None:
    planted, unsplit = vars(plant(60)), vars(plant(60, language="ja"))
    ours = sway(**planted, tokenizer=split_words)
    assert {**ours, "signature": ""} == {**sway(**planted), "signature": ""}
    assert "|tok:split_words-" in ours["signature"]
    refuses("none of its words occurs", sway, **planted, tokenizer=lambda caption: [caption])
    words = {"female": ["女性", "女の人", "少女"], "male": ["男性", "男の人", "少年"]}
    own = {"attribute_lexicon": words, "tokenizer": letters, "trials": 2, **FAST}
    assert lic(**unsplit, **own) == lic(check_captions(**unsplit, unsplit=True), **own)


def test_evidence_is_of_the_language() -> None:
    captions = check_captions(**vars(plant(300, t_to_a=0.5, language="de")), language="de")
    evidence = captions_behind({"nic": captions}, {}, swayed={"nic": sway.measure(captions)})
    assert {"female", "male", "tie"} <= {*evidence["labels"]}
    words = {
        text[start:end]
        for text, row in zip(evidence["texts"], evidence["marks"], strict=True)
        for start, end in zip(row[::3], row[1::3], strict=True)
    }
    assert {"Frau", "Dame", "Radfahrerin", "Mann", "Krawatte"} <= words


def test_the_command_line_takes_a_language_and_says_which_is_needed(tmp_path: Path) -> None:
    planted = plant(120, language="ja")
    rows = zip(planted.predictions, planted.references, planted.attributes, strict=True)
    records = [{"caption": said, "references": human, "gender": value} for said, human, value in rows]
    (tmp_path / "all.json").write_text(json.dumps(records), encoding="utf-8")
    given = ["measure", "sway", "--predictions", tmp_path / "all.json", "--references", tmp_path / "all.json"]
    assert "tok:ja," in invoke(*given, "--language", "ja")
    assert "give --language ja or --language zh" in " ".join(refused(*given).split())


WRITTEN = {
    "de": ["Zwei Männer spielen Fußball im Park", "Ein Teller mit Essen und eine Tasse Kaffee auf dem Tisch"],
    "en": ["Baseball player swinging a bat", "a plate of food and a cup of coffee on the table", "she looks sad"],
    "es": ["Dos hombres jugando al fútbol en el parque", "Un plato de comida y una taza de café sobre la mesa"],
    "fr": ["Deux hommes jouant au football dans le parc", "Une assiette et une tasse de café sur la table"],
    "ja": ["公園でサッカーをしている二人の男性", "テーブルの上に料理とコーヒーが置かれている"],
    "zh": ["两个男人在公园里踢足球", "桌子上有一盘食物和一杯咖啡", "一個女人拿著一把雨傘站在街上"],
}
OTHERS = {
    "Italian": ["Un uomo in una strada con un cane", "Due persone sedute a un tavolo con del cibo"],
    "Portuguese": ["Um homem com um cachorro em uma rua", "Duas pessoas sentadas à mesa com comida"],
    "Dutch": ["Een man met een hond in een straat", "Een zwarte kat zit op de bank"],
    "Swedish": ["En man med en hund på en gata", "En kvinna håller ett paraply i regnet"],
    "Korean": ["개와 함께 있는 남자", "비 속에서 우산을 들고 있는 여자"],
    "Russian": ["Мужчина держит зонт под дождем"],
    "none": [],
    "numbers": ["12 34", "!"],
}


@pytest.mark.parametrize("language", WRITTEN)
def test_each_language_that_comes_with_the_package_is_told_by_its_words(language, monkeypatch):
    for library in ("simplemma", "sudachipy", "jieba"):
        monkeypatch.setitem(sys.modules, library, None)
    assert guess_language(WRITTEN[language]) == language


def test_another_language_is_unknown():
    assert {name: guess_language(captions) for name, captions in OTHERS.items()} == dict.fromkeys(OTHERS, "")
