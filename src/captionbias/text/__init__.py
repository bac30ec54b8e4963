"""Tokens, lexicons and masking."""

from captionbias.text.lexicon import Lexicon, LexiconSource, builtin_lexicons, load_lexicon
from captionbias.text.masking import (
    Mentions,
    find_mentions,
    mask_both,
    mask_mentions,
    named_by_words,
    named_labels,
    named_values,
)
from captionbias.text.tokens import TOKENIZERS, UNKNOWN, Tokens, split_whitespace, split_words, tokenize

__all__ = [
    "TOKENIZERS",
    "UNKNOWN",
    "Lexicon",
    "LexiconSource",
    "Mentions",
    "Tokens",
    "builtin_lexicons",
    "find_mentions",
    "load_lexicon",
    "mask_both",
    "mask_mentions",
    "named_by_words",
    "named_labels",
    "named_values",
    "split_whitespace",
    "split_words",
    "tokenize",
]
