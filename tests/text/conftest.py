"""What captions name of a lexicon, and captions with that masked."""

from captionbias.text import find_mentions, mask_mentions, named_values, tokenize


def masked(captions, lexicon, split="words"):
    tokens = tokenize(captions, split)
    return mask_mentions(tokens, (find_mentions(tokens, lexicon, split), lexicon.mask)).texts()


def named(captions, lexicon, split="words"):
    """The labels that each caption names."""
    tokens = tokenize(captions, split)
    flags = named_values(tokens, find_mentions(tokens, lexicon, split), lexicon, split)
    assert flags.shape == (len(captions), len(lexicon.labels))
    return [{label for label, here in zip(lexicon.labels, row, strict=True) if here} for row in flags]
