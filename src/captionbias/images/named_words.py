"""The words of captions that name an attribute, as tokens of the captioner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from captionbias.errors import InputError
from captionbias.text import LexiconSource, load_lexicon
from captionbias.text.marks import find_marks


class Named(NamedTuple):
    """A place where a caption names the attribute: the tokens of the word, and the tokens of the caption."""

    image: int
    word: str
    label: str
    ids: list[int]
    places: list[int]


def named_words(texts: Sequence[str], tokenizer: Any, source: LexiconSource) -> list[Named]:
    """The attribute words in captions, with the captioner's tokens of each."""
    if not getattr(tokenizer, "is_fast", False):
        raise InputError(
            "tokenizer", "does not say where its tokens are in a text; give the captioner's fast tokenizer"
        )
    named = []
    for image, marks in enumerate(find_marks(texts, load_lexicon(source))):
        for first, last, label in marks:
            cut = tokenizer(texts[image], add_special_tokens=False, return_offsets_mapping=True)
            places = [place for place, (begin, end) in enumerate(cut["offset_mapping"]) if begin < last and end > first]
            if places and label is not None:  # else it is masked in captions, but of no value
                named.append(Named(image, texts[image][first:last].lower(), label, cut["input_ids"], places))
    return named
