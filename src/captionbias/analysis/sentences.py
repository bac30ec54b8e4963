"""Captions of several sentences: which of the sentences sway?"""

from __future__ import annotations

import re

from captionbias.captions import Captions

WHOLE = "whole"
NOTHING = "."  # in the place of a sentence that a caption does not have: it names nothing
_END = re.compile(r"(?<=[.!?])\s+|(?<=\u3002)|\n+")


def sentences(text: str) -> list[str]:
    """The sentences of a caption, which end in . ! or ? before a blank, or with the line.

    >>> sentences("A man on a 2.5 m board. He surfs !  The sea is rough")
    ['A man on a 2.5 m board.', 'He surfs !', 'The sea is rough']
    """
    return [part.strip() for part in _END.split(text) if re.search(r"\w", part)]


def by_sentence(captions: Captions, positions: int = 3) -> dict[str, Captions]:
    """A captioner's captions whole, and its first, second and following sentences, each like another captioner's.

    `compare` of them says which sentences sway, and how sure that is. Human captions stay whole, so at each position 0
    is a person's whole caption. A caption with fewer sentences names nothing at the further positions, and every
    position has all images: what the sentences sway from attribute to task (A to T) adds up to what the whole does, as
    far as no task is named twice. From task to attribute (T to A) each is of the sentences that name the attribute, and
    undefined where hardly any do. The other scores of sway say nothing of a part of a caption, which need not name
    anybody nor say all: compare `sway_a_to_t` and `sway_t_to_a` alone.

    Args:
        captions: with predictions, from `check_captions` or `read_captions`; of several of an image the first.
        positions: sentences told apart; the last position has all that follow, too.

    Returns:
        The captions by `whole`, `sentence 1`, ..., and `sentence n and on`.

    >>> from captionbias.captions import check_captions
    >>> captions = check_captions(predictions=["A man. He cooks. Well."] * 2 + ["A girl."], attributes=["m", "m", "f"])
    >>> {name: of.predictions[1:] for name, of in by_sentence(captions, 2).items() if name != "whole"}
    {'sentence 1': ('A man.', 'A girl.'), 'sentence 2 and on': ('He cooks. Well.', '.')}
    """
    if captions.predictions is None:
        raise ValueError("captions have no predictions: give the captioner's captions, whose sentences are told apart")
    if positions < 2:
        raise ValueError(f"positions must be 2 or more, not {positions}")
    split = [sentences(text) for text in captions.predictions]
    longest = max(map(len, split))
    if longest < 2:
        raise ValueError("captions: no caption of the captioner has two sentences; measure them whole")
    last = min(positions, longest)
    captioners = {WHOLE: captions.first_samples()}
    for position in range(1, last + 1):
        end = None if position == last else position
        said = [" ".join(parts[position - 1 : end]) or NOTHING for parts in split]
        rest = " and on" if position == last < longest else ""
        captioners[f"sentence {position}{rest}"] = captions.saying(said)
    return captioners
