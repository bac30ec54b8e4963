"""The words that a name in a list stands for: how it is written, and its plural."""

from __future__ import annotations

import re
from collections.abc import Iterable


def written(name: str) -> list[str]:
    """The words that a name is written as, in lower case: two of "Handbag/Satchel", one of "bow_(weapon)"."""
    parts = re.split("[/,]", re.sub(r"\(.*?\)", "", name.lower().replace("_", " ")))
    return [word for part in parts if (word := " ".join(part.split()))]


def forms(words: Iterable[str]) -> list[str]:
    """Words and their plurals, each once, with blanks, hyphens and nothing between their parts."""
    import inflect

    made: dict[str, None] = {}
    for word in words:
        plural = inflect.engine().plural_noun(word)
        for form in (word,) if plural.endswith("ss") else (word, plural):  # of a plural it is none: "bootss"
            spaced = form.replace("-", " ")
            made |= dict.fromkeys((form, spaced, spaced.replace(" ", "-"), spaced.replace(" ", "")))
    return list(made)
