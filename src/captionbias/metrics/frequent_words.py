"""The words that human captions often use together with every attribute value: the tasks of LIC's variant of BA."""

from __future__ import annotations

import numpy as np

from captionbias.captions import Captions
from captionbias.metrics.inputs import named_in
from captionbias.metrics.label_inputs import check_whole
from captionbias.text import Lexicon
from captionbias.text.function_words import FUNCTION_WORDS


def frequent_words(captions: Captions, lexicon: Lexicon, tokenizer: str, most: int, at_least: int) -> Lexicon:
    """A lexicon of one word a label.

    Of the `most` most frequent words of the human captions the nouns, verbs, adjectives and adverbs (all but English
    function words) that occur in `at_least` captions with each of the lexicon's labels; none of the lexicon's words.

    Source: Hirota et al. 2022, supplement: 1,000 and 100.
    """
    tokens = captions.words(tokenizer).human
    frequency = np.bincount(tokens.ids, minlength=len(tokens.words))
    named = named_in(tokens, check_whole(lexicon), tokenizer)
    row, word = np.divmod(np.unique(tokens.rows * len(tokens.words) + tokens.ids), len(tokens.words))
    together = np.stack(
        [np.bincount(word[named[row, label]], minlength=len(tokens.words)) for label in range(len(lexicon.labels))]
    )
    excluded = {
        part for words in (*lexicon.groups.values(), lexicon.masked_only) for word in words for part in word.split()
    }
    words = [number for number, word in enumerate(tokens.words) if frequency[number] and word[0].isalpha()]
    # Equally frequent words in the order of the alphabet, so that the order of the images plays no part.
    most_frequent = sorted(words, key=lambda number: (-frequency[number], tokens.words[number]))[:most]
    chosen = sorted(
        tokens.words[number]
        for number in most_frequent
        if (together[:, number] >= at_least).all() and tokens.words[number] not in FUNCTION_WORDS | excluded
    )
    if not chosen:
        raise ValueError(
            f"references: no word occurs in {at_least} captions with each of {', '.join(lexicon.labels)}; "
            "give more captions, or a smaller at_least"
        )
    return Lexicon("frequent", "<word>", {word: (word,) for word in chosen})
