"""What counts as a caption: a text without the marks of models around it, that says something, once an image."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from itertools import islice
from typing import Any

from captionbias.captions.values import is_missing
from captionbias.text import load_lexicon
from captionbias.text.lexicon import task_name

_THOUGHT = re.compile(
    r"[<\[◁](think|thinking|thought|reasoning|inst)[>\]▷].*?(?:[<\[◁]/\1[>\]▷]|$)|^.*</think(?:ing)?>"
    r"|<\|channel\|>(?!final)\w+<\|message\|>.*?(?:<\|end\|>|$)|<\|(?:start|channel)\|>\w+",
    re.DOTALL | re.IGNORECASE,
)
_PLACES = re.compile(r"<(object|box|poly|quad)>.*?(?:</\1>|$)", re.DOTALL)
_TAGS = re.compile(
    r"</?(?:grounding|phrase|ref|patch_index_\d+|loc_?\d+|seg\d+|s|bos|eos|pad|start|end)>|<\|[^|>]*\|>"
    r"|\[(?:CLS|SEP|PAD|BOS|EOS)\]"
)
_MARKS = _THOUGHT, _PLACES, _TAGS
_NOT_WORDS = re.compile(r"\W+")
OFTEN = 10  # images
_BETWEEN = re.compile(r"\s*[,;|]\s*")


def plain(text: str) -> str:
    """A caption without the thoughts before it, the places that it names, special tokens and the blanks around it.

    >>> plain("<think>A man? I look again.</think> a woman<|im_end|>")
    'a woman'
    """
    for pattern in _MARKS:
        text = pattern.sub("", text)
    return " ".join(text.split())


def strip_marks(texts: list[Any]) -> list[Any]:
    """The same, `plain` where they have a mark; what is not text as it is."""
    return [plain(text) if isinstance(text, str) and _is_marked(text) else text for text in texts]


def _is_marked(text: str) -> bool:
    return ("<" in text or "[" in text or "◁" in text) and any(mark.search(text) for mark in _MARKS)


def without_blanks(texts: list[Any]) -> list[Any]:
    """The same, "" in place of what is missing or has blanks alone."""
    if set(map(type, texts)) <= {str} and all(map(str.strip, texts)):
        return texts
    return ["" if is_blank(text) else text for text in texts]


def is_blank(text: Any) -> bool:
    """Whether a caption is missing or has blanks alone."""
    return is_missing(text) or (isinstance(text, str) and not text.strip())


def words_of(text: str) -> str:
    """The words of a text in lower case, without punctuation, as a tokenizer may have left them."""
    return _NOT_WORDS.sub(" ", text.lower()).strip()


def canonical_order(rows: Iterable[Sequence[str]], once: bool) -> tuple[tuple[str, ...], ...]:
    """The human captions of each image in an order that is theirs alone, however they came, and that no word decides;
    `once`: each once, whatever its punctuation."""
    return tuple(tuple(texts) if len(texts) < 2 else _canonical(texts, once) for texts in rows)


def _canonical(texts: Sequence[str], once: bool) -> tuple[str, ...]:
    every = "\n".join(sorted({*map(str.strip, texts)})).encode("utf-8", "backslashreplace")
    salt = blake2b(every, digest_size=8).digest()
    distinct = list({words_of(text): text for text in sorted(texts)}.values()) if once else texts
    encoded = [text.strip().encode("utf-8", "backslashreplace") for text in distinct]
    digests = [blake2b(text, digest_size=8, key=salt).digest() for text in encoded]
    return tuple(text for _, text in sorted(zip(digests, distinct, strict=True)))


def is_repeated(rows: Sequence[Sequence[str]]) -> bool:
    """Whether most of a thousand images have each of their human captions twice or more, whatever its punctuation."""
    several = list(islice((texts for texts in rows if len(texts) > 1), 1000))
    twice = sum(min(Counter(map(words_of, texts)).values()) > 1 for texts in several)
    return twice > max(len(several) / 2, OFTEN)


def task_names(rows: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """The tasks of each image, each once: COCO's objects by their names, however written; several in one text apart,
    where each is a task by itself.

    >>> task_names([["Teddy_bear"], ["cake, dog"], ["cake"]])
    (('teddy bear',), ('cake', 'dog'), ('cake',))
    """
    texts = {text for row in rows for text in row}
    known = {*load_lexicon("coco_objects").labels, *map(task_name, texts)}
    parts = {text: [task_name(part) for part in _BETWEEN.split(text) if part.strip()] for text in texts}
    names = {text: parts[text] if known.issuperset(parts[text]) else [task_name(text)] for text in texts}
    return tuple(tuple(dict.fromkeys(name for text in row for name in names[text])) for row in rows)
