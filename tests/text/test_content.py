"""Content words: what is the same is one word, and what says nothing is none."""

import itertools

import pytest

from captionbias.text import load_lexicon, tokenize
from captionbias.text.content import content_words, singular
from captionbias.text.languages import function_words, languages

ENGLISH = load_lexicon("gender"), load_lexicon("coco_objects")


def said(captions, attribute=ENGLISH[0], task=ENGLISH[1], tokenizer="words"):
    found = content_words(tokenize(captions, tokenizer), attribute, task, tokenizer)
    return [
        {found.words[number] for number in found.used[[row]].nonzero()[1] if found.content[number]}
        for row in range(found.used.shape[0])
    ], {word: own for word, own, says in zip(found.words, found.of_attribute, found.content, strict=True) if says}


FEELINGS = load_lexicon({"happy": ["glad", "joys"], "sad": ["low"]})
CROSSED = load_lexicon(["gender", {"old": ["old"], "young": ["young"]}])


@pytest.mark.parametrize(
    ("captions", "attribute", "words", "others"),
    [
        (["a woman and her mother", "a man and his father"], ENGLISH[0], ["woman|man,her|his,mother|father"] * 2, ""),
        (["a bloke with a child"], ENGLISH[0], ["bloke,child"], "bloke,child"),
        (["a tie on ties on a tie"], ENGLISH[0], ["tie"], "tie"),
        (["cell phones, a hot dog", "a phone"], ENGLISH[0], ["cell phone,hot dog", "phone"], ...),
        (["There is a man, who is on it. 2 ...", "of the"], ENGLISH[0], ["woman|man", ""], ""),
        (["glad of joys", "low"], FEELINGS, ["glad,joy", "low"], ""),
        (["an old woman", "a young man"], CROSSED, ["old,woman|man", "young,woman|man"], ""),
    ],
    ids=[
        "of a role",
        "of no role",
        "said again",
        "of several words",
        "that say nothing",
        "without roles",
        "of a crossing",
    ],
)
def test_what_is_the_same_is_one_word_and_the_attribute_s_are_known(captions, attribute, words, others):
    found, own = said(captions, attribute)
    assert found == [set(filter(None, of.split(","))) for of in words]
    assert others is ... or {word for word, of_attribute in own.items() if not of_attribute} == {
        *filter(None, others.split(","))
    }


PLURALS = "ties/tie parties/party skies/sky dishes/dish boxes/box horses/horse children/child women/woman shoes/shoe"
NONE = "tennis bus dress grass glasses shorts gas his canvas"


def test_plurals_are_their_singular_and_other_words_in_s_stay():
    pairs = [pair.split("/") for pair in PLURALS.split()] + [[word, word] for word in NONE.split()]
    assert [singular(plural) for plural, _ in pairs] == [word for _, word in pairs]
    assert (singular("potatoes"), singular("teddy bears")) == ("potato", "teddy bear")


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


def test_no_object_is_called_by_a_function_word_and_the_languages_are_those_of_the_package():
    assert not {*itertools.chain(*ENGLISH[1].groups.values())} & function_words("en")
    assert {"en", *CAPTIONS} == {*languages()}
    for name in ("gender", *(f"gender-{language}" for language in CAPTIONS)):
        words = [*itertools.chain(*load_lexicon(name).roles.values())]
        assert len(words) == len(set(words)) > 20
