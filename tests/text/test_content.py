"""Content words: what is the same is one word, and what says nothing is none."""

from __future__ import annotations

import itertools

import pytest

from captionbias.text import load_lexicon, tokenize
from captionbias.text.content import content_words, function_words, singular
from captionbias.text.languages import languages

ENGLISH = load_lexicon("gender"), load_lexicon("coco_objects")


def said(captions, attribute=ENGLISH[0], task=ENGLISH[1], tokenizer="words"):
    found = content_words(tokenize(captions, tokenizer), attribute, task, tokenizer)
    return [
        {found.words[number] for number in found.used[[row]].nonzero()[1]} for row in range(found.used.shape[0])
    ], dict(zip(found.words, found.of_attribute.tolist(), strict=True))


def test_words_of_a_role_are_one_word_and_the_attributes():
    captions, own = said(["a woman and her mother", "a man and his father", "a guy with a child"])
    assert captions == [{"woman|man", "her|his", "mother|father"}] * 2 + [{"guy", "child"}]
    assert own == {"woman|man": True, "her|his": True, "mother|father": True, "guy": True, "child": False}


def test_a_tasks_name_of_several_words_is_one_and_so_is_its_plural():
    captions, _ = said(["cell phones, a hot dog", "a cell phone on the phone"])
    assert captions == [{"cell phone", "hot dog"}, {"cell phone", "phone"}]


def test_a_word_said_twice_is_used_once():
    found = content_words(tokenize(["a tie on ties on a tie"]), *ENGLISH)
    assert found.words == ("tie",)
    assert found.used.toarray().tolist() == [[1.0]]


def test_function_words_numbers_and_marks_are_left_out():
    assert said(["There is a man, who is on it. 2 ...", "of the"])[0] == [{"woman|man"}, set()]


def test_a_lexicon_without_roles_pools_nothing():
    lexicon = load_lexicon({"happy": ["glad", "joys"], "sad": ["low"]})
    captions, own = said(["glad of joys", "low"], lexicon)
    assert captions == [{"glad", "joy"}, {"low"}]
    assert all(own.values())


def test_a_crossing_has_the_roles_of_its_parts():
    crossed = load_lexicon(["gender", {"old": ["old"], "young": ["young"]}])
    captions, own = said(["an old woman", "a young man"], crossed)
    assert captions == [{"old", "woman|man"}, {"young", "woman|man"}]
    assert all(own.values())


@pytest.mark.parametrize(
    ("plural", "word"),
    [
        ("ties", "tie"),
        ("parties", "party"),
        ("skies", "sky"),
        ("dishes", "dish"),
        ("boxes", "box"),
        ("horses", "horse"),
        ("children", "child"),
        ("women", "woman"),
        ("shoes", "shoe"),
        ("potatoes", "potato"),
        ("teddy bears", "teddy bear"),
    ],
)
def test_plurals_are_their_singular(plural, word):
    assert singular(plural) == word


@pytest.mark.parametrize("word", ["tennis", "bus", "dress", "grass", "glasses", "shorts", "gas", "his", "canvas"])
def test_other_words_in_s_stay(word):
    assert singular(word) == word


CAPTIONS = {
    "de": ("Eine Frau mit einem Hund.", "Ein Mann mit einem Hund.", "frau|mann"),
    "es": ("Una mujer con un perro.", "Un hombre con un perro.", "mujer|hombre"),
    "fr": ("Une femme avec un chien.", "Un homme avec un chien.", "femme|homme"),
    "ja": ("女性が犬と歩いている。", "男性が犬と歩いている。", "女性|男性"),
    "zh": ("一个女人和一只狗。", "一个男人和一只狗。", "女人|男人"),
}


@pytest.mark.parametrize("language", CAPTIONS)
def test_every_language_has_roles_and_function_words(language):
    first, second, role = CAPTIONS[language]
    attribute, task = (load_lexicon(f"{name}-{language}") for name in ("gender", "coco_objects"))
    (one, other), own = said([first, second], attribute, task, language)
    assert one == other >= {role}
    assert own[role]
    assert not one & function_words(language)


def test_the_languages_are_those_of_the_package():
    assert {"en", *CAPTIONS} == {*languages()}
    for name in ("gender", *(f"gender-{language}" for language in CAPTIONS)):
        words = [*itertools.chain(*load_lexicon(name).roles.values())]
        assert len(words) == len(set(words)) > 20
