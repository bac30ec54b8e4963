"""Human captions in the captioner's words: whether they are, by what, and what the signature says of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from captionbias.alignment.align import AlignmentReport, align
from captionbias.alignment.vectors import CAPTIONS, load_vectors
from captionbias.arrays import Flags
from captionbias.bench.protocol import Alignment, digest, vectors_name
from captionbias.captions import Captions, Words
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
    if not words or isinstance(words, Mapping) or not all(isinstance(word, str) for word in words):
        raise InputError("vocabulary", "must be a list of words, or a JSON file of such a list")
    return frozenset(words)


def by_vectors(settings: Alignment, model: bool, human: bool) -> bool:
    """Whether human captions are aligned by word vectors, where there are captions of the `model` and `human` ones."""
    return settings.alignment == "contextual" and human and (model or settings.vocabulary is not None)


def check_vectors(settings: Alignment, captions: Captions, vectors: Any) -> None:
    """Refuse word vectors that are given and not used."""
    if vectors is not None and not _aligned(settings, captions):
        why = "with constant alignment" if settings.alignment == "constant" else "unless human captions are aligned"
        raise InputError("vectors", f": word vectors are not used {why}", "leave them out")


def alignment_name(settings: Alignment, captions: Captions) -> str:
    """`constant`, or `contextual`, with its vectors and its threshold if captions are aligned by them; to a captioner's
    own vocabulary also a digest."""
    parts = [settings.alignment]
    if settings.names_kept:
        parts.append("names-kept")
    if _aligned(settings, captions):
        parts += [vectors_name(settings.vectors), f"{settings.delta:g}"]
    if settings.vocabulary:
        parts.append(f"to-{digest(sorted(settings.vocabulary))}")
    return ",".join(parts)


def _aligned(settings: Alignment, captions: Captions) -> bool:
    return by_vectors(settings, captions.predictions is not None, captions.references is not None)


def alignment_vectors(words: Words, masked: Iterable[Words], settings: Alignment) -> Any:
    """The word vectors that align captions, read even if no word needs them; "captions" are of human ones, the same
    beside any captioner, and made if some does."""
    vocabulary, vectors = settings.vocabulary, settings.vectors
    aligned = (_words_of_captioner(table, vocabulary) for table in masked)
    needed = any((table.human.present() & ~flags).any() for table, flags in aligned)
    return load_vectors(vectors, words.human) if needed or vectors != CAPTIONS else None


def align_human(
    masked: Words, masks: Sequence[str], vectors: Any, settings: Alignment, lexicons: Iterable[Lexicon]
) -> tuple[Tokens, AlignmentReport | None]:
    """The masked human captions in the captioner's words, if these are known, but for words of the lexicons where names
    are kept."""
    vocabulary = settings.vocabulary
    if not len(masked.human) or not (masked.model_rows or vocabulary):
        return masked.human, None
    known, flags = _words_of_captioner(masked, vocabulary)
    names = named_by_words(known.tokens.words, *lexicons) if settings.names_kept else None
    return align(known.human, flags, frozenset(masks), vectors, settings.delta, names)


def _words_of_captioner(masked: Words, vocabulary: frozenset[str] | None) -> tuple[Words, Flags]:
    """The captions over all words that human ones are aligned to, and which these are: the vocabulary's, or its own."""
    if vocabulary is None:
        return masked, masked.model.present()
    words = (*masked.tokens.words, *sorted(vocabulary.difference(masked.tokens.words)))
    flags = np.fromiter((word in vocabulary for word in words), bool, len(words))
    return replace(masked, tokens=replace(masked.tokens, words=words)), flags
