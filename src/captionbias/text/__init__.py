"""Tokens, lexicons and masking."""

from captionbias.text.guess import guess_language as guess_language
from captionbias.text.lexicon import Lexicon as Lexicon
from captionbias.text.lexicon import LexiconSource as LexiconSource
from captionbias.text.lexicon import builtin_lexicons as builtin_lexicons
from captionbias.text.lexicon import lexicon_of as lexicon_of
from captionbias.text.lexicon import load_lexicon as load_lexicon
from captionbias.text.masking import Mentions as Mentions
from captionbias.text.masking import crossed_labels as crossed_labels
from captionbias.text.masking import find_mentions as find_mentions
from captionbias.text.masking import mask_mentions as mask_mentions
from captionbias.text.masking import merge as merge
from captionbias.text.masking import named_by_words as named_by_words
from captionbias.text.masking import named_values as named_values
from captionbias.text.tokens import TOKENIZERS as TOKENIZERS
from captionbias.text.tokens import UNKNOWN as UNKNOWN
from captionbias.text.tokens import Tokens as Tokens
from captionbias.text.tokens import split_words as split_words
from captionbias.text.tokens import tokenize as tokenize
