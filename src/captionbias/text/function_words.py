"""English words of the closed classes: what is left of a text without them are nouns, verbs, adjectives and adverbs."""

from __future__ import annotations

from captionbias.text.content import function_words

FUNCTION_WORDS = function_words("closed")
