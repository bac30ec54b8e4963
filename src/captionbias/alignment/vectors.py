"""Word vectors through gensim: from a file, from gensim's downloads, or trained on the captions at hand."""

from __future__ import annotations

import contextlib
import gzip
import json
import math
import mmap
import os
import pickle
import re
import struct
import sys
from collections.abc import Sequence
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast
from urllib.request import urlopen

import numpy as np
import numpy.typing as npt

from captionbias.arrays import Array, Flags, Floats32
from captionbias.text.tokens import Tokens

if TYPE_CHECKING:
    from gensim.models import KeyedVectors

CAPTIONS = "captions"

_WAYS_OUT = (
    "pass the path of a GloVe, word2vec or FastText file, a gensim KeyedVectors, "
    "or vectors='captions', which trains on the captions themselves"
)
_FORMATS = (
    "GloVe or word2vec text (also .gz), word2vec binary (also .gz), FastText .bin, or a saved gensim KeyedVectors; "
    "unpack a .zip first"
)
_GZIP = b"\x1f\x8b"
_PICKLE = b"\x80"
_FASTTEXT = struct.pack("<i", 793712314)
_HEADER = re.compile(rb"\d+ \d+[ \t\r]*\n")
_NOT_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_SECONDS_TO_ANSWER = 10


def load_vectors(
    source: str | Path | KeyedVectors,
    tokens: Tokens | None = None,
    seed: int = 0,
) -> KeyedVectors:
    """Word vectors for the words of `tokens`.

    `source` is one of
    - a gensim `KeyedVectors`;
    - a file: GloVe or word2vec text, or word2vec binary, also packed as .gz; FastText's `.bin`; a `KeyedVectors` that
      gensim saved, which is read without running anything that it holds. The contents tell them apart, not the name;
    - a name of gensim's downloads, such as "glove-wiki-gigaword-50", which the DBAC paper used;
    - "captions": FastText trained on `tokens` (see `train_vectors`), seeded with `seed`.

    When `tokens` are given, only their words are kept of a text file: GloVe has 400,000, captions a few thousand.

    >>> from captionbias.text import tokenize
    >>> len(load_vectors("captions", tokenize(["a dog runs", "a cat sleeps"])))
    5

    Raises:
        ValueError: no such file or name, no network for a download, a file that is damaged or of another format, a
            pickle of anything but a `KeyedVectors`, vectors that are not finite, no vector for any word of `tokens`.
    """
    from gensim.models import KeyedVectors

    if isinstance(source, KeyedVectors):
        vectors = source
    elif source == CAPTIONS:
        if tokens is None:
            raise ValueError("vectors='captions' trains on the captions: pass their tokens as well")
        vectors = train_vectors(tokens, seed)
    elif isinstance(source, (str, Path)):
        vectors = _read(_find(source), None if tokens is None else frozenset(tokens.words))
    else:
        raise ValueError(f"vectors cannot be a {type(source).__name__}; {_WAYS_OUT}; of a gensim model, pass model.wv")
    _check(vectors, source, tokens)
    return vectors


def train_vectors(tokens: Tokens, seed: int = 0) -> KeyedVectors:
    """FastText vectors (skip-gram, 50 dimensions) of every word of `tokens`, the same bit for bit for the same `seed`.

    The fewer the tokens, the more passes are made over them, in proportion to 1 / sqrt(tokens): 4 passes over 480,000
    tokens. A few hundred captions teach little, whatever the passes: with less than some thousand, vectors from
    elsewhere are better.

    In a small corpus all FastText vectors lean to one side, and any two words seem close. So their mean is taken away.

    Raises:
        ValueError: no words to train on.
    """
    from gensim.models import FastText, KeyedVectors

    if not len(tokens.ids):
        raise ValueError("vectors='captions' needs captions with words in them, and these have none")
    words = np.array(tokens.words, dtype=object)[tokens.ids].tolist()
    sentences = [words[start:end] for start, end in zip(tokens.offsets, tokens.offsets[1:], strict=False)]
    model = FastText(
        vector_size=50,
        sg=1,
        window=5,
        negative=5,
        alpha=0.08,
        sample=3e-4,
        min_count=1,
        min_n=4,
        max_n=5,
        bucket=20_000,
        seed=seed,
        workers=1,
    )
    model.build_vocab(sentences)
    passes = min(50, max(1, round(2800 / math.sqrt(len(words)))))
    model.train(sentences, total_examples=len(sentences), epochs=passes)
    vectors = KeyedVectors(model.vector_size)
    vectors.add_vectors(model.wv.index_to_key, model.wv.vectors - model.wv.vectors.mean(axis=0))
    return vectors


def embed(vectors: KeyedVectors, words: Sequence[str]) -> tuple[Floats32, Flags]:
    """Unit vectors of `words`, float32 of shape `(len(words), dimensions)`, and flags of which words have one.

    A word without a vector, or whose vector is zero, is a row of zeros. FastText vectors that came with their n-grams
    give a vector to words that they never met.

    >>> from gensim.models import KeyedVectors
    >>> vectors = KeyedVectors(2)
    >>> vectors.add_vectors(["dog"], np.array([[0.0, 4.0]]))
    >>> matrix, known = embed(vectors, ["dog", "cat"])
    >>> matrix.tolist(), known.tolist()
    ([[0.0, 1.0], [0.0, 0.0]], [True, False])
    """
    places = np.array([vectors.key_to_index.get(word, -1) for word in words], np.int64)
    matrix = np.zeros((len(words), vectors.vector_size), np.float64)
    matrix[places >= 0] = vectors.vectors[places[places >= 0]]
    if getattr(vectors, "bucket", 0):
        for row in np.flatnonzero(places < 0).tolist():
            matrix[row] = vectors.get_vector(words[row])
    norms = np.linalg.norm(matrix, axis=1)
    known = norms > 0
    matrix[known] /= norms[known, None]
    return matrix.astype(np.float32), known


def _check(vectors: KeyedVectors, source: object, tokens: Tokens | None) -> None:
    where = f"vectors: {source}" if isinstance(source, (str, Path)) else "vectors"
    # One sum a row finds every NaN and infinity without a second matrix as large as the first.
    broken = ~np.isfinite(vectors.vectors.sum(axis=1, dtype=np.float64))
    if broken.any():
        word = vectors.index_to_key[int(broken.argmax())]
        raise ValueError(f"{where}: the vector of {word!r} is not finite; remove it or train the vectors again")
    if tokens is not None and not any(word in vectors for word in tokens.words):
        raise ValueError(f"{where}: there is no vector for any word of the captions; are they of the same language?")
    if not len(vectors):
        raise ValueError(f"{where} is empty; {_WAYS_OUT}")


def _find(source: str | Path) -> Path:
    """The file that `source` names, fetched by gensim if it is a name of its downloads."""
    path = Path(os.path.expanduser(source))
    if os.path.isdir(path):
        raise ValueError(f"vectors: {path} is a folder; pass the file of vectors in it")
    if os.path.isfile(path):
        return path
    if isinstance(source, Path) or not re.fullmatch(r"[\w-]+", source):
        raise ValueError(f"vectors: there is no file {path}; {_WAYS_OUT}")
    return _download(source)


def _download(name: str) -> Path:
    from gensim import downloader

    # gensim asks the network even for what it has kept. A machine without one must still find it, and at once.
    kept = Path(downloader.BASE_DIR, name, f"{name}.gz")
    if kept.is_file():
        return kept
    try:
        with urlopen(downloader.DATA_LIST_URL, timeout=_SECONDS_TO_ANSWER) as answer:
            models = json.load(answer)["models"]
    except (OSError, HTTPException, ValueError, KeyError) as error:
        raise ValueError(
            f"vectors: there is no file {name!r}, and gensim's list of downloads cannot be read ({error}); {_WAYS_OUT}"
        ) from error
    if name not in models:
        listed = ", ".join(sorted(models))
        raise ValueError(f"vectors: {name!r} is neither a file nor a download of gensim's ({listed}); {_WAYS_OUT}")
    try:
        # The path, not the vectors: these gensim would load by running a script that it downloads with them.
        with contextlib.redirect_stdout(sys.stderr):
            return Path(downloader.load(name, return_path=True))
    except Exception as error:  # a wrong checksum is a bare Exception
        raise ValueError(f"vectors: {name!r} cannot be downloaded ({error}); {_WAYS_OUT}") from error


def _read(path: Path, wanted: frozenset[str] | None) -> KeyedVectors:
    try:
        with _open(path) as file:
            head = file.read(1 << 16)
        if not head:
            raise ValueError("it is empty")
        header = _HEADER.match(head)
        if head.startswith(_FASTTEXT):
            return _read_fasttext(path)
        if head.startswith(_PICKLE):
            return _read_saved(path)
        if header is None and _NOT_TEXT.search(head):
            raise ValueError("its format is not known")
        if header and _NOT_TEXT.search(head, header.end()):
            return _read_binary(path)
        return _read_text(path, wanted, header is not None)
    except Exception as error:  # gensim's readers and the unpickler fail in many ways
        reason = str(error) or type(error).__name__
        raise ValueError(f"vectors: {path} cannot be read: {reason}. Word vectors are read from {_FORMATS}") from error


def _open(path: Path) -> BinaryIO:
    with path.open("rb") as file:
        packed = file.read(2) == _GZIP
    return cast(BinaryIO, gzip.open(path)) if packed else path.open("rb")


def _read_text(path: Path, wanted: frozenset[str] | None, header: bool) -> KeyedVectors:
    from gensim.models import KeyedVectors

    rows: dict[str, Floats32] = {}
    with _open(path) as lines:
        count, width = map(int, lines.readline().split()) if header else (None, 0)
        found = 0
        for number, line in enumerate(lines, start=1 + header):
            text = line.decode("utf-8", "replace").rstrip()
            found += text != ""
            width = width or text.count(" ")
            if not text or (wanted is not None and text.partition(" ")[0] not in wanted):
                continue
            # From the right: some words of GloVe 840B have blanks in them. One that ends in a number is a row too long.
            word, *values = text.rsplit(" ", width)
            row = _numbers(values)
            if not width or row is None or len(row) != width or _numbers(word.split(" ")[1:][-1:]) is not None:
                raise ValueError(f"line {number} should be a word and {width or 'its'} numbers, not {text[:60]!r}")
            if wanted is None or word in wanted:
                rows.setdefault(word, row)
    if header and found != count:
        raise ValueError(f"its first line promises {count} words, but {found} follow")
    vectors = KeyedVectors(width)
    if rows:
        vectors.add_vectors(list(rows), np.stack(list(rows.values())))
    return vectors


def _numbers(values: list[str]) -> Floats32 | None:
    try:
        return np.array(values, np.float32) if values else None
    except ValueError:
        return None


def _read_binary(path: Path) -> KeyedVectors:
    from gensim.models import KeyedVectors

    return KeyedVectors.load_word2vec_format(str(path), binary=True, unicode_errors="replace")


def _read_fasttext(path: Path) -> KeyedVectors:
    from gensim.models.fasttext import load_facebook_vectors

    with path.open("rb") as file:
        if file.read(2) == _GZIP:
            raise ValueError("a packed FastText file must be unpacked first")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            _check_fasttext_words(content)
    return load_facebook_vectors(str(path))


def _check_fasttext_words(content: mmap.mmap) -> None:
    # gensim never comes to an end on a file that is cut off among its words.
    arguments, counts = struct.calcsize("<2i12id"), struct.calcsize("<3i2q")
    (words,) = struct.unpack_from("<i", content, arguments)
    end = arguments + counts
    for _ in range(words):
        end = content.find(b"\0", end) + struct.calcsize("<cqb")
        if end < arguments + counts + struct.calcsize("<cqb") or end > len(content):
            raise ValueError("it is cut off among its words")


class _Saved:
    """What stands for any object of a pickle: what it was made with and filled with. It does nothing."""

    state: Any = None

    def __init__(self, *arguments: Any) -> None:
        self.arguments = arguments

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _InertUnpickler(pickle.Unpickler):
    """Reads the pickle of a `KeyedVectors` without importing or calling anything that it names."""

    ADMITTED = frozenset(
        {
            "gensim.models.keyedvectors.KeyedVectors",
            "gensim.models.fasttext.FastTextKeyedVectors",
            "builtins.set",
            "builtins.frozenset",
            "numpy.ndarray",
            "numpy.dtype",
            "numpy.core.multiarray._reconstruct",
            "numpy._core.multiarray._reconstruct",
            "numpy.core.multiarray.scalar",
            "numpy._core.multiarray.scalar",
        }
    )

    def find_class(self, module: str, name: str) -> type[_Saved]:
        if f"{module}.{name}" not in self.ADMITTED:
            raise ValueError(
                f"it is a pickle that names {module}.{name}, and a pickle may only hold a KeyedVectors of gensim 4; "
                "if you trust the file, load it with gensim and pass the KeyedVectors"
            )
        return _Saved


def _read_saved(path: Path) -> KeyedVectors:
    from gensim.models import KeyedVectors
    from gensim.models.fasttext import FastTextKeyedVectors

    with _open(path) as file:
        saved = _InertUnpickler(file).load()
    state = saved.state if isinstance(saved, _Saved) else None
    words = state.get("index_to_key") if isinstance(state, dict) else None
    if not isinstance(state, dict) or not isinstance(words, list) or set(map(type, words)) - {str}:
        raise ValueError("it is a pickle, but not of a KeyedVectors of gensim 4")
    if len(set(words)) != len(words):
        raise ValueError("it has several vectors for one word")
    # gensim leaves the vectors of FastText's words out of the file, as they follow from those of the n-grams.
    fasttext = "bucket" in state
    matrix = _saved_matrix(state, "vectors_vocab" if fasttext else "vectors", path)
    if len(matrix) != len(words):
        raise ValueError(f"it has {len(words)} words and {len(matrix)} vectors")
    if not fasttext:
        vectors = KeyedVectors(matrix.shape[1])
        vectors.add_vectors(words, matrix)
        return vectors
    vectors = FastTextKeyedVectors(matrix.shape[1], *(int(state[key]) for key in ("min_n", "max_n", "bucket")))
    vectors.index_to_key, vectors.key_to_index = words, {word: number for number, word in enumerate(words)}
    vectors.init_post_load(np.concatenate([matrix, _saved_matrix(state, "vectors_ngrams", path)]))
    return vectors


def _saved_matrix(state: dict[str, Any], name: str, path: Path) -> npt.NDArray[np.floating[Any]]:
    if name in state:
        matrix = _saved_array(state[name])
    else:
        beside = Path(f"{path}.{name}.npy")
        if not beside.is_file():
            raise ValueError(f"its vectors stand in {beside.name}, which must be kept beside it")
        matrix = np.load(beside, allow_pickle=False)
    if not isinstance(matrix, np.ndarray) or matrix.ndim != 2 or matrix.dtype.kind != "f":
        raise ValueError(f"{name} is not a matrix of numbers")
    return matrix


def _saved_array(saved: Any) -> Array | None:
    """The array of floats that numpy pickled, put together from its bytes."""
    try:
        _, shape, kind, by_columns, content = saved.state
        (name, *_), order = kind.arguments, kind.state[1]
        if re.fullmatch("f[248]", name):
            return np.frombuffer(content, order + name).reshape(shape, order="F" if by_columns else "C")
    except (AttributeError, IndexError, TypeError, ValueError):
        pass
    return None
