"""Languages as data: each is a file of `languages/`, which says how captions are split, what stands for words that give
away whom a caption is about, and which words name what."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib import resources
from importlib.metadata import version
from itertools import chain
from typing import Any

from captionbias.errors import InputError, unknown
from captionbias.text.tokens import OTHER_TOKENIZERS, WORDS, visible

ENGLISH = "en"
COVERED = 0.5  # of a side's captions, in which a language's lexicons must find a word
_FOLDER = resources.files("captionbias.text") / "languages"

Splitter = Callable[[str], Iterable[tuple[str, str]]]  # gives each word as it is written, and its lemma


@dataclass(frozen=True, eq=False)
class Language:
    """A language, whose captions become words that do not give away whom they are about.

    `split`: words and their lemmas. `form`: from both of a word, what stands for it. `lexicons`: by name, what
    `load_lexicon` reads. `planted`: what `captionbias.synthetic.plant` says in it.
    """

    split: Splitter
    form: Callable[[str, str], str]
    lexicons: dict[str, Any]
    planted: dict[str, Any] | None

    def words(self, caption: str) -> list[str]:
        """The caption's lemmas in lower case, what agrees with a person in one form."""
        return [self.form(written, lemma) for written, lemma in self.split(visible(caption))]

    def written(self, caption: str) -> list[str]:
        """The same words as they are written, in lower case."""
        return [written.lower() for written, _ in self.split(visible(caption))]


def languages() -> list[str]:
    """Names of the languages."""
    return sorted(path.name.removesuffix(".json") for path in _FOLDER.iterdir() if path.name.endswith(".json"))


def language_name(language: str) -> str:
    """What a language is called.

    >>> language_name("de")
    'German'
    """
    return str(language_data(language)["name"])


@cache
def function_words(language: str) -> frozenset[str]:
    """The words of a language that name nothing, of others than English as lemmas; none for a tokenizer that is no
    language."""
    return frozenset(language_data(language)["function_words"] if language in languages() else ())


@cache
def closed_words() -> frozenset[str]:
    """English words of the closed classes: without them nouns, verbs, adjectives and adverbs are left of a text."""
    return frozenset(language_data(ENGLISH)["closed_words"])


def check_language(language: str | None) -> str | None:
    """The name of a language; None for English, which needs nothing.

    >>> check_language("de"), check_language("en")
    ('de', None)
    """
    if language is not None and not (isinstance(language, str) and language in languages()):
        raise unknown("language", language, languages())
    if language is None or language == ENGLISH:
        return None
    load_language(language)
    return language


@cache
def load_language(name: str) -> Language:
    """The language of a file in `languages/`; ValueError if its library is not installed.

    >>> load_language("de").words("Eine lächelnde Frau und ihr Hund."), load_language("de").words("Ein lächelnder Mann")
    (['ein', 'lächelnd', 'frau', 'und', 'ihr', 'hund', '.'], ['ein', 'lächelnd', 'mann'])
    """
    data = language_data(name)
    groups = [[*lexicon["groups"].values(), lexicon.get("masked_only", [])] for lexicon in data["lexicons"].values()]
    listed = [word for words in chain(*groups) for phrase in words for word in phrase.split()]
    forms = {f"{word}{plural}": word for word in listed for plural in data.get("plurals", [])}
    forms |= {word: word for word in listed}
    forms |= {form: word for word, alike in data.get("forms", {}).items() for form in (word, *alike)}
    try:
        split = SPLITTERS[data["splitter"]](name, data.get("endings", []), listed)
    except ModuleNotFoundError as error:
        raise InputError("language", f"{name!r}: {error}: pip install '.[languages]' in a clone first") from error
    lexicons = json.loads(json.dumps(data["lexicons"]).replace('"*', '"'))
    return Language(split, cache(partial(_form, forms)), lexicons, data.get("planted"))


def lexicon_of_language(name: str) -> dict[str, Any] | None:
    """The source of a lexicon such as "gender-de" for `load_lexicon`; None if no language has it."""
    kind, _, language = name.rpartition("-")
    return load_language(language).lexicons.get(kind) if language in {*languages()} - {ENGLISH} else None


def english_name(lexicon: str) -> str:
    """The English name of a lexicon.

    >>> english_name("gender-de"), english_name("my-words")
    ('gender', 'my-words')
    """
    kind, _, language = lexicon.rpartition("-")
    return kind if language in languages() else lexicon


def signed(tokenizer: str) -> str:
    """A tokenizer as signatures name it: a language with its libraries' versions.

    >>> signed("words"), signed("de").split()[0]
    ('words', 'de,simplemma')
    """
    if tokenizer not in languages():
        return tokenizer.partition("@")[0]
    libraries = LIBRARIES[language_data(tokenizer)["splitter"]]
    return ",".join([tokenizer, *(f"{library} {version(library)}" for library in libraries)])


def language_data(language: str) -> dict[str, Any]:
    return dict(json.loads((_FOLDER / f"{language}.json").read_text(encoding="utf-8")))


def _form(forms: Mapping[str, str], written: str, lemma: str) -> str:
    """The form that stands for a word: one of it, of its lemma or, as in *fahrerin, of its end; else the lemma."""
    for word in (written, written.lower(), lemma.lower()):
        for key in (word, *(f"*{word[start:]}" for start in range(len(word)))):
            if key in forms:
                return forms[key].lstrip("*")
    return lemma.lower()


def _simplemma(language: str, endings: list[list[str]], listed: list[str]) -> Splitter:
    from simplemma import is_known, lemmatize

    @cache
    def lemma(word: str) -> str:
        plain = str(lemmatize(word, lang=language))
        for ending, other in () if plain.lower() in listed else endings:
            bare = word.removesuffix(ending) + other
            if bare and word.endswith(ending) and (is_known(bare, lang=language) or not is_known(word, lang=language)):
                return str(lemmatize(bare, lang=language))
        return plain

    return lambda text: ((word, lemma(word)) for word in WORDS.findall(text))


def _sudachipy(_language: str, _endings: list[list[str]], _listed: list[str]) -> Splitter:
    from sudachipy import Dictionary

    tokenize = Dictionary(dict="small").tokenizer().tokenize
    return lambda text: ((word.surface(), word.normalized_form()) for word in tokenize(text) if word.surface().strip())


def _jieba(_language: str, _endings: list[list[str]], listed: list[str]) -> Splitter:
    import jieba

    jieba.setLogLevel("WARNING")
    tokenizer = jieba.Tokenizer()
    for word in listed:
        tokenizer.add_word(word.lstrip("*"))
    ends = tuple(word[1:] for word in listed if word.startswith("*"))
    for word in [
        word for word in tokenizer.FREQ if word.endswith(ends) and word not in listed and f"*{word}" not in listed
    ]:
        tokenizer.del_word(word)
    return lambda text: ((word, word) for word in tokenizer.cut(text) if word.strip())


SPLITTERS = {"simplemma": _simplemma, "sudachipy": _sudachipy, "jieba": _jieba}
LIBRARIES = {"simplemma": ["simplemma"], "sudachipy": ["sudachipy", "sudachidict_small"], "jieba": ["jieba"]}


def _words(language: str, caption: str) -> list[str]:
    return load_language(language).words(caption)


OTHER_TOKENIZERS |= {name: partial(_words, name) for name in languages() if name != ENGLISH}
