"""A user's words in Markdown, where they show and do nothing else."""

from __future__ import annotations

import re

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~&$])")
_LIST_OR_RULE = re.compile(r"^(\d*)(?=(-+|=+|\.)(\s|$))")


def one_line(text: str) -> str:
    """A user's words without line breaks or anything else that does not print."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in " ".join(text.split()))


def escaped(text: str) -> str:
    """A user's words as one line of Markdown that shows them and does nothing else."""
    return _LIST_OR_RULE.sub(r"\1\\", _SPECIAL.sub(r"\\\1", one_line(text)))


def code(text: str) -> str:
    """A user's words as code, where they cannot end it."""
    return escaped(text) if {"`", "<"} & set(text) else f"`{one_line(text)}`"
