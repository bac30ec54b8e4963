"""Word lists as data: which words name which label. A user's own file or mapping is as good as ours."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, TypeAlias

from captionbias.errors import InputError
from captionbias.io.files import user_path
from captionbias.io.formats import read_json
from captionbias.text.languages import lexicon_of_language
from captionbias.text.names import forms, written

SEPARATOR = ", "  # between the values of a crossing
MOST_WORDS = 100_000
MASK = re.compile(r"<[^<>\s]+>")
_FOLDER = resources.files("captionbias.text") / "lexicons"
KEYS = ("groups", "called", "masked_only", "roles", "mask", "extends", "description", "source", "prompt", "title")


@dataclass(frozen=True)
class Lexicon:
    """Labels and the words that name them; a word may be several words long ("hot dog").

    `masked_only` words are masked with the others but name no label. `mask` is the token that replaces a word.
    `parts`: of a crossing, the lexicons that are crossed and have the words; see `load_lexicon`. `roles`: words that
    say the same of another value, such as "girl" and "boy", under a name, "girl|boy"; they may be no label's. `called`:
    what else data sets call a label, in no caption. `base`: the built-in lexicon that it is, or extends.
    """

    name: str
    mask: str
    groups: dict[str, tuple[str, ...]]
    masked_only: tuple[str, ...] = ()
    parts: tuple[Lexicon, ...] = ()
    roles: dict[str, tuple[str, ...]] = field(default_factory=dict)
    called: dict[str, tuple[str, ...]] = field(default_factory=dict, compare=False)
    base: str = field(default="", compare=False)

    def __hash__(self) -> int:  # lexicons are the same where their words are, which dictionaries hold
        return hash((self.name, self.mask, *self.groups, self.masked_only, self.parts))

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(self.groups)

    @property
    def words(self) -> frozenset[str]:
        """The words that name a label, those of the parts of a crossing too."""
        return frozenset(itertools.chain(*self.groups.values(), *(part.words for part in self.parts)))

    def named_parts(self) -> list[tuple[bool, ...]]:
        """Flags, for each label of a crossing, of the parts of which it names a value."""
        values = ([True] * len(part.labels) + [False] for part in self.parts)
        return list(itertools.product(*values))[:-1]


LexiconSource: TypeAlias = str | Path | Mapping[str, Any] | Lexicon | Sequence[Any]


def builtin_lexicons() -> list[str]:
    """Names of the lexicons that come with the package."""
    return sorted(path.name.removesuffix(".json") for path in _FOLDER.iterdir() if path.name.endswith(".json"))


def attribute_lexicons() -> dict[str, str]:
    """The attributes whose words come with the package, gender first, and what ImageCaptioner2 asks of each."""
    prompts = _entries_under("prompt")
    return {"gender": prompts["gender"]} | prompts


def task_lexicons() -> dict[str, str]:
    """The lexicons of tasks that come with the package, but for those of earlier papers, and what each is called."""
    return _entries_under("title")


def _entries_under(key: str) -> dict[str, str]:
    """The entries under this key of the built-in lexicons that have it."""
    contents = {name: _builtin(name) for name in builtin_lexicons()}
    return {name: content[key] for name, content in contents.items() if key in content}


def _builtin(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((_FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return content


def load_lexicon(source: LexiconSource) -> Lexicon:
    """A lexicon by its name, from a file, or from a mapping of labels to words; the crossing of a list of these.

    A file or mapping is either plain, `{"female": ["woman", ...], "male": [...]}`, or has the keys `groups`,
    `called`, `masked_only`, `roles`, `mask`, and `extends`: the name of a built-in lexicon whose words are added to. A
    file is JSON, or `.txt` with the name of a label a line, whose words `captionbias.text.lexicon_of` makes.

    A crossing masks the words of all its lexicons, by one token. Its labels are what a caption can name of them:
    "female, dark" where it names both, "female" where it names no second one; see `captionbias.text.named_values`.

    >>> load_lexicon("gender").labels
    ('female', 'male')
    >>> load_lexicon({"extends": "gender", "groups": {"female": ["nun", "nuns"]}}).groups["female"][-2:]
    ('nun', 'nuns')
    >>> load_lexicon("gender").roles["girl|boy"]
    ('girl', 'boy')
    >>> load_lexicon(["gender", "race"]).labels
    ('female, light', 'female, dark', 'female', 'male, light', 'male, dark', 'male', 'light', 'dark')
    """
    if isinstance(source, Lexicon):
        return source
    if isinstance(source, Mapping):
        return _parse(source, "custom")
    if isinstance(source, (list, tuple)):
        return _crossed([load_lexicon(each) for each in source])
    if not isinstance(source, (str, Path)):
        raise ValueError(f"a lexicon is a name, a file or a mapping of labels to words, not {source!r:.60}")
    if str(source) in builtin_lexicons():
        return replace(_parse(_builtin(str(source)), str(source)), base=str(source))
    if translated := lexicon_of_language(str(source)):
        return replace(_parse(translated, str(source)), base=str(source))
    path = user_path(source, "lexicon")
    if not path.is_file():
        known = ", ".join(builtin_lexicons())
        raise ValueError(f"lexicon {str(source)!r} is neither a built-in one ({known}) nor a file that exists")
    try:
        names = path.read_text(encoding="utf-8-sig").splitlines() if path.suffix == ".txt" else None
        content = read_json(path) if names is None else lexicon_of(names)
    except (OSError, ValueError) as error:
        raise ValueError(f"lexicon {path} cannot be read: {error}") from error
    if not isinstance(content, dict):
        raise ValueError(f"lexicon {path} must be a JSON object of labels and words, not a {type(content).__name__}")
    return _parse(content, path.stem)


def check_lexicon(argument: str, source: Any) -> Any:
    """The source of a lexicon; an `InputError` that names the argument unless it is one."""
    try:
        load_lexicon(source)
    except ValueError as error:
        raise InputError(argument, f": {error}") from error
    return source


def lexicon_of(names: Iterable[str]) -> dict[str, list[str]]:
    """A lexicon with a label for each of `n` names and the words that name it, for `load_lexicon` or to save as JSON.

    Names are those of single things, as datasets write them: "Handbag/Satchel" and "tench, Tinca tinca" are two words
    each, "bow_(weapon)" is one. Plurals are made by inflect; "hot dog" is also "hot-dog" and "hotdog". A word that is
    made of several names stays with the one that it is, or with none.

    >>> lexicon_of(["knife", "hot dog", "bow_(weapon)"])
    {'knife': ['knife', 'knives'],
     'hot dog': ['hot dog', 'hot-dog', 'hotdog', 'hot dogs', 'hot-dogs', 'hotdogs'],
     'bow_(weapon)': ['bow', 'bows']}
    """
    if isinstance(names, str):
        raise InputError("names", f"is the text {names!r}: give a list of names; load_lexicon reads a file of them")
    lexicon = {task_name(name): written(name) for name in names if name.strip()}
    made = {name: forms(words) for name, words in lexicon.items()}
    taken, times = {*itertools.chain(*lexicon.values())}, Counter(itertools.chain(*made.values()))
    for name, words in made.items():
        lexicon[name] += [word for word in words if word not in taken and times[word] == 1]
    return lexicon


@cache
def _of_coco() -> frozenset[str]:
    return frozenset(_builtin("coco_objects")["groups"])


def task_name(text: str) -> str:
    """A task as it is written, but COCO's objects by their names.

    >>> task_name("Teddy_bear"), task_name("Sneakers")
    ('teddy bear', 'Sneakers')
    """
    plain = " ".join(text.lower().replace("_", " ").split())
    return plain if plain in _of_coco() else text.strip()


def options_in(language: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The `tokenizer`, `attribute_lexicon` and `task_lexicon` of a metric's options, or the usual ones, as those of the
    language. What is one's own stays, and so does `whitespace`.

    >>> options_in("de", {"attribute_lexicon": ["gender", {"dark": ["dunkel"]}], "tokenizer": "whitespace"})
    {'tokenizer': 'whitespace', 'attribute_lexicon': ['gender-de', {'dark': ['dunkel']}],
     'task_lexicon': 'coco_objects-de'}
    """
    usual = {"tokenizer": "words", "attribute_lexicon": "gender", "task_lexicon": "coco_objects"}
    chosen = {name: value if options.get(name) is None else options[name] for name, value in usual.items()}
    tokenizer = chosen.pop("tokenizer")
    lexicons = {name: _in_language(source, language) for name, source in chosen.items()}
    return {"tokenizer": language if tokenizer == "words" else tokenizer, **lexicons}


def _in_language(source: Any, language: str) -> Any:
    if isinstance(source, (list, tuple)):
        return [_in_language(each, language) for each in source]
    if not isinstance(source, str) or source not in builtin_lexicons():
        return source
    source = source.removesuffix("_published")
    if lexicon_of_language(f"{source}-{language}") is None:
        raise ValueError(
            f"language {language!r} has no words of {source!r}: give your own, as a mapping of labels to words or as "
            "a JSON file"
        )
    return f"{source}-{language}"


def _crossed(parts: Sequence[Lexicon]) -> Lexicon:
    """The crossing, which has its words in its parts."""
    if len(parts) < 2:
        raise ValueError(f"a crossing needs two lexicons or more, not {len(parts)}")
    if any(part.parts for part in parts):
        raise ValueError("a crossing is of lexicons, not of crossings: give all of them in one list")
    name = "+".join(part.name for part in parts)
    named = [
        SEPARATOR.join(filter(None, labels)) for labels in itertools.product(*((*part.labels, "") for part in parts))
    ]
    if twice := [label for label, number in Counter(named).items() if number > 1]:
        raise ValueError(f"lexicon {name!r}: {twice[0]!r} is a label of more than one; rename it in all but one")
    return Lexicon(name, f"<{name}>", dict.fromkeys(named[:-1], ()), parts=tuple(parts))


def _parse(content: Mapping[str, Any], name: str) -> Lexicon:
    if "groups" not in content and "extends" not in content:
        content = {"groups": content}
    for key in content:
        if key not in KEYS:
            raise ValueError(f"lexicon {name!r}: {key!r} is none of {', '.join(KEYS)}; labels go into 'groups'")
    words = _lists(content, "groups", "label", name)
    roles, called = _lists(content, "roles", "role", name), _lists(content, "called", "label", name)
    alone = _words(content.get("masked_only", ()), f"lexicon {name!r}, 'masked_only'")
    mask = content.get("mask", f"<{name}>")
    if "mask" in content and not MASK.fullmatch(str(mask)):
        raise ValueError(
            f"lexicon {name!r}: 'mask' is {mask!r}; it must be one word in angle brackets, as in '<person>', which no "
            "caption has"
        )
    if "extends" in content:
        if content["extends"] not in builtin_lexicons() and not lexicon_of_language(str(content["extends"])):
            known = ", ".join(builtin_lexicons())
            raise ValueError(f"lexicon {name!r}: 'extends' is {content['extends']!r}; it can be one of {known}")
        base = load_lexicon(content["extends"])
        labels = dict.fromkeys((*base.groups, *words))
        words = {label: base.groups.get(label, ()) + words.get(label, ()) for label in labels}
        alone, mask, roles = base.masked_only + alone, content.get("mask", base.mask), base.roles | roles
        called = base.called | called
    _check_disjoint(words, alone, name)
    _check_once([*roles.items()], name)
    return Lexicon(name, mask, words, alone, roles=roles, called=called, base=str(content.get("extends", "")))


def _lists(content: Mapping[str, Any], key: str, kind: str, name: str) -> dict[str, tuple[str, ...]]:
    """The lists of words under a key, each of a label or a role."""
    lists = content.get(key, {})
    if not isinstance(lists, Mapping):
        raise ValueError(f"lexicon {name!r}: {key!r} must map each {kind} to a list of words")
    for label in lists:
        if not isinstance(label, str) or not label.strip():
            raise ValueError(f"lexicon {name!r}: {label!r} must be the name of a {kind}, a text")
    return {label: _words(listed, f"lexicon {name!r}, {kind} {label!r}") for label, listed in lists.items()}


def _words(listed: object, where: str) -> tuple[str, ...]:
    if isinstance(listed, str) or not isinstance(listed, Sequence):
        raise ValueError(f"{where}: give a list of words, not {listed!r}")
    for word in listed:
        if not isinstance(word, str) or not word.strip():
            raise ValueError(f"{where}: {word!r} is not a word")
    return tuple(" ".join(word.lower().split()) for word in listed)


def _check_disjoint(words: dict[str, tuple[str, ...]], alone: tuple[str, ...], name: str) -> None:
    if not any(words.values()):
        raise ValueError(f"lexicon {name!r} has no words: map each label to the words that name it")
    if empty := [label for label, listed in words.items() if not listed]:
        raise ValueError(f"lexicon {name!r}, label {empty[0]!r}: no word names it; list one or more, or remove it")
    number = len(alone) + sum(map(len, words.values()))
    if number > MOST_WORDS:
        raise ValueError(
            f"lexicon {name!r} has {number:,} words; the limit is {MOST_WORDS:,}: list those that name a label"
        )
    _check_once([*words.items(), ("masked_only", alone)], name)


def _check_once(lists: Sequence[tuple[str, tuple[str, ...]]], name: str) -> None:
    seen: dict[str, str] = {}
    for label, listed in lists:
        for word in listed:
            if seen.setdefault(word, label) != label:
                raise ValueError(f"lexicon {name!r}: {word!r} is listed under {seen[word]!r} and {label!r}; keep one")
