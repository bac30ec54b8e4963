"""Word vectors through gensim: from a file, from gensim's downloads, or trained on the captions at hand."""

from __future__ import annotations

import contextlib
import gzip
import json
import math
import os
import re
import struct
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast
from urllib.request import urlopen

import numpy as np

from captionbias.arrays import Flags, Floats32
from captionbias.io.plain_pickle import ARRAYS, read_plain_pickle
from captionbias.progress import told_if_long
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
    "unpack a .zip first, and of another gensim model pass the KeyedVectors, model.wv"
)
_FASTTEXT = struct.pack("<i", 793712314)
_FASTTEXT_HEADER = struct.Struct("<14id3i")
_HEADER = re.compile(rb"\d+ \d+[ \t\r]*\n")
_NOT_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_ENDS_IN_NUMBER = re.compile(r" [-+]?\d*\.?\d+(e[-+]?\d+)?$", re.IGNORECASE)
_SECONDS_TO_ANSWER = 10


@contextlib.contextmanager
def needs_gensim() -> Iterator[None]:
    """Imports of gensim; where it is missing they become a ValueError that says what to do."""
    try:
        yield
    except ModuleNotFoundError as error:
        way = "pip install 'captionbias[vectors]'"
        if sys.version_info >= (3, 14):
            way = "gensim has no release for Python 3.14 yet, so use an older Python"
        raise ValueError(f"word vectors: {error}: {way}, or choose alignment='constant', which needs none") from error


def load_vectors(source: str | Path | KeyedVectors, tokens: Tokens | None = None, seed: int = 0) -> KeyedVectors:
    """Word vectors for the words of `tokens`.

    `source` is one of
    - a gensim `KeyedVectors`;
    - a file: GloVe or word2vec text, or word2vec binary, also packed as .gz; FastText's `.bin`; a `KeyedVectors` that
      gensim saved, of which only the words and numbers are read. The contents decide which it is, not the name;
    - a name of gensim's downloads, such as "glove-wiki-gigaword-50", which the DBAC paper used;
    - "captions": FastText trained on `tokens` (see `train_vectors`), seeded with `seed`.

    With `tokens`, only their words are kept of a text file: GloVe has 400,000, captions a few thousand.

    >>> from captionbias.text import tokenize
    >>> len(load_vectors("captions", tokenize(["a dog runs", "a cat sleeps"])))
    5

    Raises:
        ValueError: no such file or name, no network for a download, a file that is damaged or of another format, a
            pickle of anything but a `KeyedVectors`, vectors that are not finite, no vector for any word of `tokens`; no
            gensim.
    """
    with needs_gensim():
        from gensim.models import KeyedVectors

    if isinstance(source, KeyedVectors):
        vectors = source
    elif source == CAPTIONS:
        if tokens is None:
            raise ValueError("vectors='captions' trains on the captions: pass their tokens as well")
        with told_if_long("training word vectors"):
            vectors = train_vectors(tokens, seed)
    elif isinstance(source, (str, Path)):
        with told_if_long(f"reading word vectors, {Path(source).name}"):
            vectors = _read(find_vectors(source), None if tokens is None else frozenset(tokens.words))
    else:
        raise ValueError(f"vectors cannot be a {type(source).__name__}; {_WAYS_OUT}; of a gensim model, pass model.wv")
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
    return vectors


def train_vectors(tokens: Tokens, seed: int = 0) -> KeyedVectors:
    """FastText vectors (skip-gram, 50 dimensions) of every word of `tokens`.

    On one processor they are the same bit for bit for the same `seed`. On another they differ by about 0.001, so that
    of 1,000 words one or two are closest to another word, and a DBAC may change in its last printed digit.

    The number of passes is in proportion to 1 / sqrt(tokens): 4 passes over 480,000 tokens, more over fewer. A few
    hundred captions teach little, whatever the passes: with fewer than a few thousand, use pretrained vectors.

    In a small corpus all FastText vectors point in similar directions, and any two words seem close. So their mean is
    subtracted.

    Raises:
        ValueError: no words to train on; no gensim.
    """
    with needs_gensim():
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
    have a vector for words outside their vocabulary, too.

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


def find_vectors(source: str | Path) -> Path:
    """The file that `source` names, fetched by gensim if it is a name of its downloads; ValueError if there is none."""
    with needs_gensim():
        from gensim import downloader

    # gensim asks the network even for what it has downloaded, which must be found at once and without a network.
    path, kept = Path(os.path.expanduser(source)), Path(downloader.BASE_DIR, source, f"{source}.gz")
    if path.is_dir():
        raise ValueError(f"vectors: {path} is a folder; pass the file of vectors in it")
    if path.is_file():
        return path
    if isinstance(source, Path) or not re.fullmatch(r"[\w-]+", source):
        raise ValueError(f"vectors: there is no file {path}; {_WAYS_OUT}")
    if kept.is_file():
        return kept
    try:
        with urlopen(downloader.DATA_LIST_URL, timeout=_SECONDS_TO_ANSWER) as answer:
            models = json.load(answer)["models"]
        if source not in models:
            raise ValueError(f"it has {', '.join(sorted(models))}")
        # The path, not the vectors: to load them gensim would run a script that it downloads with them.
        with contextlib.redirect_stdout(sys.stderr):
            return Path(downloader.load(source, return_path=True))
    except Exception as error:  # a wrong checksum is a bare Exception
        raise ValueError(
            f"vectors: there is no file {path}, and {source!r} cannot be downloaded by gensim ({error}); {_WAYS_OUT}"
        ) from error


def _read(path: Path, wanted: frozenset[str] | None) -> KeyedVectors:
    from gensim.models import KeyedVectors
    from gensim.models.fasttext import load_facebook_vectors

    try:
        with _open(path) as file:
            head = file.read(1 << 16)
        header = _HEADER.match(head)
        if head.startswith(b"\x80"):
            return _read_saved(path)
        if head.startswith(_FASTTEXT):
            _check_fasttext(path)
            return load_facebook_vectors(str(path))
        if header and _NOT_TEXT.search(head, header.end()):
            return KeyedVectors.load_word2vec_format(str(path), binary=True, unicode_errors="replace")
        if not head or _NOT_TEXT.search(head):
            raise ValueError("its format is not known" if head else "it is empty")
        return _read_text(path, wanted, header is not None)
    except Exception as error:  # gensim's readers fail in many ways
        reason = str(error) or type(error).__name__
        raise ValueError(f"vectors: {path} cannot be read: {reason}. Word vectors are read from {_FORMATS}") from error


def _open(path: Path) -> BinaryIO:
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
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
            word, *values = text.rsplit(" ", width)  # from the right: some words of GloVe 840B have blanks in them
            try:
                row = np.array(values, np.float32)
            except ValueError:
                row = np.empty(0, np.float32)
            if not width or len(row) != width or _ENDS_IN_NUMBER.search(word):
                raise ValueError(f"line {number} should be a word and {width or 'its'} numbers, not {text[:60]!r}")
            if wanted is None or word in wanted:
                rows.setdefault(word, row)
    if header and found != count:
        raise ValueError(f"its first line promises {count} words, but {found} follow")
    vectors = KeyedVectors(width)
    if rows:
        vectors.add_vectors(list(rows), np.stack(list(rows.values())))
    return vectors


def _check_fasttext(path: Path) -> None:
    """Raise for a packed file, and for one that is cut off among its words: gensim would never stop reading it."""
    with path.open("rb") as file:
        header = file.read(_FASTTEXT_HEADER.size)
    if not header.startswith(_FASTTEXT):
        raise ValueError("a packed FastText file must be unpacked first")
    numbers = _FASTTEXT_HEADER.unpack(header)
    dimensions, ngrams, words = numbers[2], numbers[10], numbers[16]  # after the format's number and version
    if path.stat().st_size < 4 * dimensions * (ngrams + words):
        raise ValueError("it is cut off")


def _read_saved(path: Path) -> KeyedVectors:
    """A `KeyedVectors` that gensim saved: its words and matrices, and nothing else."""
    from gensim.models import KeyedVectors
    from gensim.models.fasttext import FastTextKeyedVectors

    kinds = (KeyedVectors, FastTextKeyedVectors, set, frozenset)
    admitted: dict[str, Any] = ARRAYS | {f"{kind.__module__}.{kind.__name__}": kind for kind in kinds}
    with _open(path) as file:
        vectors = read_plain_pickle(file, admitted)
    if not isinstance(vectors, KeyedVectors):
        raise ValueError("it is a pickle, but not of a KeyedVectors of gensim 4")
    for name in vars(vectors).get("__numpys", ()):  # large ones, which gensim saves beside it
        setattr(vectors, name, np.load(f"{path}.{name}.npy", allow_pickle=False))
    for name in vars(vectors).get("__ignoreds", ()):
        setattr(vectors, name, None)
    if isinstance(vectors, FastTextKeyedVectors):  # vectors of its words follow from those of their n-grams
        vectors.recalc_char_ngram_buckets()
        vectors.adjust_vectors()
    matrix = vectors.vectors
    if not isinstance(matrix, np.ndarray) or matrix.dtype.kind != "f" or matrix.shape[:-1] != (len(vectors),):
        raise ValueError("its vectors must be a matrix of numbers with a row for each word")
    return vectors
