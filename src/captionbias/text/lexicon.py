"""Word lists as data: which words name which label. A user's own file or mapping is as good as ours."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, TypeAlias

KEYS = ("groups", "masked_only", "mask", "extends", "description", "source")


@dataclass(frozen=True)
class Lexicon:
    """Labels and the words that name them; a word may be several words long ("hot dog").

    `masked_only` words are masked with the others but name no label. `mask` is the token that replaces a word.
    """

    name: str
    mask: str
    groups: dict[str, tuple[str, ...]]
    masked_only: tuple[str, ...] = ()

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(self.groups)


LexiconSource: TypeAlias = str | Path | Mapping[str, Any] | Lexicon


def builtin_lexicons() -> list[str]:
    """Names of the lexicons that come with the package."""
    return sorted(path.name.removesuffix(".json") for path in _folder().iterdir() if path.name.endswith(".json"))


def load_lexicon(source: LexiconSource) -> Lexicon:
    """A lexicon by its name, from a JSON file, or from a mapping of labels to words.

    A file or mapping is either plain, `{"female": ["woman", ...], "male": [...]}`, or has the keys `groups`,
    `masked_only`, `mask`, and `extends`: the name of a built-in lexicon whose words are added to.

    >>> load_lexicon("gender").labels
    ('female', 'male')
    >>> load_lexicon({"extends": "gender", "groups": {"female": ["gal", "gals"]}}).groups["female"][-2:]
    ('gal', 'gals')

    Raises:
        ValueError: an unknown name, an unreadable file, a word under two labels, no words.
    """
    if isinstance(source, Lexicon):
        return source
    if isinstance(source, Mapping):
        return _parse(source, "custom")
    if not isinstance(source, (str, Path)):
        raise ValueError(f"a lexicon is a name, a JSON file or a mapping of labels to words, not {source!r}")
    if str(source) in builtin_lexicons():
        return _parse(json.loads((_folder() / f"{source}.json").read_text(encoding="utf-8")), str(source))
    path = Path(source)
    if not path.is_file():
        known = ", ".join(builtin_lexicons())
        raise ValueError(f"lexicon {str(source)!r} is neither a built-in one ({known}) nor a JSON file that exists")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"lexicon {path} cannot be read as JSON: {error}") from error
    if not isinstance(content, dict):
        raise ValueError(f"lexicon {path} must be a JSON object of labels and words, not a {type(content).__name__}")
    return _parse(content, path.stem)


def _folder() -> Any:
    return resources.files("captionbias.text") / "lexicons"


def _parse(content: Mapping[str, Any], name: str) -> Lexicon:
    plain = "groups" not in content and "extends" not in content
    for key in () if plain else content:
        if key not in KEYS:
            raise ValueError(f"lexicon {name!r}: {key!r} is none of {', '.join(KEYS)}; labels go into 'groups'")
    groups = content if plain else content.get("groups", {})
    if not isinstance(groups, Mapping):
        raise ValueError(f"lexicon {name!r}: 'groups' must map each label to a list of words")
    words = {label: _words(listed, f"lexicon {name!r}, label {label!r}") for label, listed in groups.items()}
    alone = () if plain else _words(content.get("masked_only", ()), f"lexicon {name!r}, 'masked_only'")
    mask = f"<{name}>" if plain else str(content.get("mask", f"<{name}>"))
    if "extends" in content:
        if content["extends"] not in builtin_lexicons():
            known = ", ".join(builtin_lexicons())
            raise ValueError(f"lexicon {name!r}: 'extends' is {content['extends']!r}; it can be one of {known}")
        base = load_lexicon(content["extends"])
        labels = dict.fromkeys((*base.groups, *words))
        words = {label: base.groups.get(label, ()) + words.get(label, ()) for label in labels}
        alone, mask = base.masked_only + alone, str(content.get("mask", base.mask))
    _check_disjoint(words, alone, name)
    return Lexicon(name, mask, words, alone)


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
    seen: dict[str, str] = {}
    for label, listed in (*words.items(), ("masked_only", alone)):
        for word in listed:
            if seen.setdefault(word, label) != label:
                raise ValueError(f"lexicon {name!r}: {word!r} stands under {seen[word]!r} and {label!r}; keep one")
