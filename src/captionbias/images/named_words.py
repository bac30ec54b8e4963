"""The words of captions that name an attribute, or a task, and the captioner's tokens of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from captionbias.text import LexiconSource, find_mentions, load_lexicon, tokenize


class Named(NamedTuple):
    """A place where a caption names the attribute: the tokens of the word, and the tokens of the caption."""

    image: int
    word: str
    label: str
    ids: list[int]
    places: list[int]


def find_words(texts: Sequence[str], tokenizer: Any, source: LexiconSource) -> list[Named]:
    """Each attribute word that a caption names, and the captioner's tokens of it."""
    if not getattr(tokenizer, "is_fast", False):
        raise ValueError("tokenizer does not say where its tokens are in a text; give the captioner's fast tokenizer")
    lexicon, tokens = load_lexicon(source), tokenize(texts)
    mentions, rows, named = find_mentions(tokens, lexicon), tokens.rows, []
    for start, length, label in zip(mentions.starts, mentions.lengths, mentions.labels, strict=True):
        if label < 0:  # masked in captions, but of no value
            continue
        image = int(rows[start])
        words = [tokens.words[number] for number in tokens.ids[tokens.offsets[image] : start + length]]
        first, last = _span(texts[image].lower(), words, int(length))
        cut = tokenizer(texts[image], add_special_tokens=False, return_offsets_mapping=True)
        places = [place for place, (begin, end) in enumerate(cut["offset_mapping"]) if begin < last and end > first]
        if places:
            word = texts[image][first:last].lower()
            named.append(Named(image, word, lexicon.labels[label], cut["input_ids"], places))
    return named


def _span(text: str, words: Sequence[str], length: int) -> tuple[int, int]:
    """Where the last `length` of a text's first words begin and end in it."""
    first = last = 0
    for number, word in enumerate(words):
        begin = max(text.find(word, last), last)
        first = begin if number == len(words) - length else first
        last = begin + len(word)
    return first, last
