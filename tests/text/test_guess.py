"""The language of captions is guessed by their words, without a library of it."""

import sys

import pytest

from captionbias.text.guess import guess_language
from captionbias.text.languages import languages

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


@pytest.mark.parametrize("language", languages())
def test_each_language_that_comes_with_the_package_is_told_by_its_words(language, monkeypatch):
    for library in ("simplemma", "sudachipy", "jieba"):
        monkeypatch.setitem(sys.modules, library, None)
    assert guess_language(WRITTEN[language]) == language


def test_another_language_is_unknown():
    assert {name: guess_language(captions) for name, captions in OTHERS.items()} == dict.fromkeys(OTHERS, "")
