"""Human captions in the captioner's words: whether they are, by what, and what the signature says of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from captionbias.alignment.align import AlignmentReport, align
from captionbias.alignment.vectors import CAPTIONS, load_vectors
from captionbias.bench.protocol import Alignment, vectors_name
from captionbias.captions import Captions, Words
from captionbias.captions.check import digest_of_rows
from captionbias.captions.values import is_column
from captionbias.errors import InputError
from captionbias.io.formats import read_json
from captionbias.text import Lexicon, Tokens, named_by_words


def read_vocabulary(vocabulary: Any) -> frozenset[str] | None:
    """The words of a captioner's own vocabulary, from a list or a JSON file of one."""
    if vocabulary is None:
        return None
    words = vocabulary
    if isinstance(vocabulary, (str, Path)):
        try:
            words = read_json(Path(vocabulary))
        except (OSError, ValueError) as error:
            raise InputError("vocabulary", f"{str(vocabulary)!r} cannot be read: {error}") from error
    words = list(words) if isinstance(words, Set) or is_column(words) else ()
    if not words or not all(isinstance(word, str) for word in words):
        raise InputError("vocabulary", "must be a list of words, or a JSON file of such a list")
    return frozenset(words)


class Sides(NamedTuple):
    """Whether there are captions of the captioner, and human ones."""

    model: bool
    human: bool


def by_vectors(settings: Alignment, sides: Sides) -> bool:
    """Whether human captions are aligned by word vectors."""
    return settings.alignment == "contextual" and sides.human and (sides.model or settings.vocabulary is not None)


def check_vectors(settings: Alignment, sides: Sides, vectors: Any) -> None:
    """Refuse word vectors that are given and not used."""
    if vectors is not None and not by_vectors(settings, sides):
        why = "with constant alignment" if settings.alignment == "constant" else "unless human captions are aligned"
        raise InputError("vectors", f": word vectors are not used {why}", "leave them out")


def alignment_name(settings: Alignment, sides: Sides) -> str:
    """`constant`, or `contextual`, with its vectors and its threshold if captions are aligned by them; to a captioner's
    own vocabulary also a digest."""
    parts = [settings.alignment]
    if settings.names_kept:
        parts.append("names-kept")
    if by_vectors(settings, sides):
        parts += [vectors_name(settings.vectors), f"{settings.delta}"]
    if settings.vocabulary:
        parts.append(f"to-{digest_of_rows(sorted(settings.vocabulary))}")
    return ",".join(parts)


def alignment_vectors(
    human: Tokens, masked: Sequence[Words], settings: Alignment, captions: Captions | None = None
) -> Any:
    """The word vectors that align captions, read even if no word needs them; "captions" are of human ones, made if some
    does, and where these are whose `captions` once for all captioners."""
    of_these = isinstance(settings.vectors, str) and settings.vectors == CAPTIONS
    if of_these and settings.vocabulary is None and not any(table.lacking() for table in masked):
        return None
    load = partial(load_vectors, settings.vectors, human)
    return captions.cached("vectors", settings.tokenizer, load) if of_these and captions else load()


def align_human(
    masked: Words, masks: Sequence[str], vectors: Any, settings: Alignment, lexicons: Iterable[Lexicon]
) -> tuple[Tokens, AlignmentReport | None]:
    """The masked human captions in the captioner's words, or in those of its vocabulary, if these are known, but for
    words of the lexicons where names are kept."""
    human, own = masked.human, settings.vocabulary
    if not len(human) or not (masked.model_rows or own):
        return human, None
    known = masked.model.present()
    if own is not None:
        human = replace(human, words=(*human.words, *sorted(own.difference(human.words))))
        known = np.fromiter((word in own for word in human.words), bool, len(human.words))
    names = named_by_words(human.words, *lexicons) if settings.names_kept else None
    return align(human, known, frozenset(masks), vectors, settings.delta, names)
