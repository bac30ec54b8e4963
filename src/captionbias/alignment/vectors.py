"""Word vectors through gensim: from a file, from gensim's downloads, or trained on the captions at hand."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from captionbias.arrays import Array, Flags, Floats
from captionbias.errors import InputError, Message, missing, phrase
from captionbias.io.files import user_path
from captionbias.io.plain_pickle import ARRAYS, read_plain_pickle
from captionbias.io.store import Arrays, open_store
from captionbias.text.tokens import Tokens

if TYPE_CHECKING:
    from gensim.models import KeyedVectors
    from scipy import sparse

CAPTIONS = "captions"
_DIMENSIONS, _WINDOW, _CONTEXT_SMOOTHING = 50, 3, 0.75
_BORROWED_COUNTS, _LEAST_LIKENESS = 10, 0.3
_SMALL_VOCABULARY = 500

_WAYS_OUT = (
    "pass the path of a GloVe, word2vec or FastText file or a gensim KeyedVectors",
    phrase("{vectors}, which trains on the captions themselves", vectors=CAPTIONS),
)
_FORMATS = (
    "text of GloVe, word2vec or FastText (.vec), word2vec binary, both also packed in a file that ends in .gz, or "
    "gensim's .kv; unpack a .zip first, and of what else gensim reads, such as FastText's .bin, pass what it loads"
)
_SAVED = "gensim.models.keyedvectors.KeyedVectors"
_HEADER = re.compile(rb"\d+ \d+[ \t\r]*\n")
_NOT_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f]")
# Part of every key: raise it when kept vectors are written, or files read, in another way.
FORMAT = 1
BLOCK = 1 << 20


@contextlib.contextmanager
def needs_gensim() -> Iterator[None]:
    """Imports of gensim; where it is missing they become a ValueError that says what to do."""
    try:
        yield
    except ModuleNotFoundError as error:
        install = "pip install '.[vectors]' in a clone"
        if sys.version_info >= (3, 14):  # for which gensim has no wheels
            install = f"{install} on Python 3.13"
        other = phrase("choose {alignment}, which needs none", alignment="constant")
        raise ValueError(Message(f"word vectors: {error}:", ways=[install, other])) from error


def load_vectors(source: str | Path | KeyedVectors, tokens: Tokens | None = None) -> KeyedVectors:
    """Word vectors for the words of `tokens`.

    `source` is one of
    - a gensim `KeyedVectors`;
    - a file: text of GloVe, word2vec or FastText, or word2vec binary, also packed as .gz; gensim's `.kv`, of which the
      words and their vectors are read and nothing is run. The contents decide which it is, not the name;
    - a name of gensim's downloads, such as "glove-wiki-gigaword-50", which the DBAC paper used;
    - "captions": trained on the captions `tokens`, see `train_vectors`.

    gensim reads a text file once, GloVe's 400,000 words in half a minute; its vectors are then kept in the usual cache.
    With `tokens` these are of their words alone, a few thousand.

    >>> from captionbias.text import tokenize
    >>> len(load_vectors("captions", tokenize(["a dog runs", "a cat sleeps"])))
    5
    """
    with needs_gensim():
        from gensim.models import KeyedVectors

    if isinstance(source, KeyedVectors):
        vectors = source
    elif source == CAPTIONS:
        if tokens is None:
            raise missing("tokens", ": vectors='captions' is trained on them; pass the captions' own")
        vectors = train_vectors(tokens)
    else:
        vectors = _read(find_vectors(source), None if tokens is None else tokens.words)
    where = f": {source}" if isinstance(source, (str, Path)) else ""
    # One sum a row finds every NaN and infinity without a second matrix as large as the first.
    broken = ~np.isfinite(vectors.vectors.sum(axis=1, dtype=np.float64))
    if broken.any():
        word = vectors.index_to_key[int(broken.argmax())]
        fault = f"{where}: the vector of {word!r} is not finite; remove it or train the vectors again"
        raise InputError("vectors", fault)
    if tokens is not None and not any(word in vectors for word in tokens.words):
        fault = f"{where}: there is no vector for any word of the captions; are they of the same language?"
        raise InputError("vectors", fault)
    return vectors


def train_vectors(tokens: Tokens) -> KeyedVectors:
    """Vectors of the words of `tokens` from the words around them, at most 50 dimensions.

    Counts of the words within three places, nearer ones counting more, become positive pointwise mutual information, of
    which the singular value decomposition gives the vectors (Levy and Goldberg 2014; Levy, Goldberg and Dagan 2015,
    with their smoothing of contexts and weighting of singular values). A rare word says little about itself, so ten
    counts at most are borrowed from the words that are spelled like it: "skateboarder" has those of "skateboarders".

    Nothing is drawn at random and all is in double precision: alignment replaces the same words on every machine.
    """
    with needs_gensim():
        from gensim.models import KeyedVectors
    from scipy.sparse.linalg import svds
    from threadpoolctl import threadpool_limits

    tokens = tokens.used()
    if not len(tokens.ids):
        raise InputError("vectors", "'captions' needs captions with words in them, and these have none")
    counts = _contexts(tokens)
    counts = counts + _borrowed(tokens.words, counts)
    information = counts.tocoo()
    others = counts.sum(axis=0) ** _CONTEXT_SMOOTHING
    expected = counts.sum(axis=1)[information.row] * (others / max(others.sum(), 1))[information.col]
    information.data = np.log(information.data / expected).clip(min=0)
    matrix = information.tocsr()
    with threadpool_limits(1):  # more threads wait for each other longer than they work
        # ARPACK finds fewer singular values than the matrix has, and of a small one all are found as fast.
        if len(tokens.words) > _SMALL_VOCABULARY and matrix.nnz:
            left, values, _ = svds(matrix, k=_DIMENSIONS + 1, v0=np.ones(len(tokens.words)))
        else:
            left, values, _ = np.linalg.svd(matrix.toarray())
    # Of directions equally strong rounding would choose, so the first that is left out takes its equals with it.
    least = np.sort(values)[::-1][_DIMENSIONS] if len(values) > _DIMENSIONS else 0
    strong = values > max(least, values.max() * 1e-9) * (1 + 1e-6)
    vectors = KeyedVectors(len(values), dtype=np.float64)
    vectors.add_vectors(list(tokens.words), left * np.sqrt(values * strong) * (np.diff(matrix.indptr) > 0)[:, None])
    return vectors


def _contexts(tokens: Tokens) -> sparse.csr_array:
    """Counts of words near each other, `(words, words)`: the next word counts 1, the one after it 2/3, and so on."""
    from scipy import sparse

    size, rows = len(tokens.words), tokens.rows
    counts = sparse.csr_array((size, size))
    for distance in range(1, _WINDOW + 1):
        together = np.flatnonzero(rows[distance:] == rows[:-distance])
        weights = np.full(len(together), 1 - (distance - 1) / _WINDOW)
        pairs = (tokens.ids[together], tokens.ids[together + distance])
        counts += sparse.coo_array((weights, pairs), (size, size)).tocsr()
    return counts + counts.T


def _borrowed(words: tuple[str, ...], counts: sparse.csr_array) -> sparse.csr_array:
    """Contexts of the words spelled like each word: as many as the closest is like it, of `_BORROWED_COUNTS`."""
    from scipy import sparse
    from sklearn.feature_extraction.text import TfidfVectorizer

    spelling = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), lowercase=False).fit_transform(words)
    likeness = sparse.csr_array(spelling @ spelling.T)
    likeness.setdiag(0)
    likeness.data[likeness.data <= _LEAST_LIKENESS] = 0
    likeness.eliminate_zeros()
    contexts = likeness.power(2) @ counts
    share = _BORROWED_COUNTS * likeness.max(axis=1).toarray().ravel() / contexts.sum(axis=1).clip(min=1e-9)
    return sparse.diags_array(share) @ contexts


def embed(vectors: KeyedVectors, words: Sequence[str]) -> tuple[Floats, Flags]:
    """Unit vectors of `words`, `(len(words), dimensions)`, and flags of which words have one; a row of zeros where not.
    FastText's own of gensim have a vector for words outside their vocabulary, too."""
    places = np.array([vectors.key_to_index.get(word, -1) for word in words], np.int64)
    matrix = np.zeros((len(words), vectors.vector_size), np.float64)
    matrix[places >= 0] = vectors.vectors[places[places >= 0]]
    if getattr(vectors, "bucket", 0):
        for row in np.flatnonzero(places < 0).tolist():
            matrix[row] = vectors.get_vector(words[row])
    norms = np.linalg.norm(matrix, axis=1)
    known = norms > 0
    matrix[known] /= norms[known, None]
    return matrix, known


def find_vectors(source: str | Path) -> Path:
    """The file that `source` names, fetched by gensim if it is a name of its downloads; ValueError if there is none."""
    with needs_gensim():
        from gensim import downloader

    # gensim asks the network even for what it has downloaded, which must be found at once and without a network.
    path, download = user_path(source, "vectors"), Path(downloader.BASE_DIR, source, f"{source}.gz")
    if path.is_file():
        return path
    if isinstance(source, Path) or not re.fullmatch(r"[\w-]+", source):
        raise InputError("vectors", f": there is no file {path}", *_WAYS_OUT)
    if download.is_file():
        return download
    try:
        # The path, not the vectors: to load them gensim would run a script that it downloads with them.
        with contextlib.redirect_stdout(sys.stderr):
            return Path(downloader.load(source, return_path=True))
    except Exception as error:  # a wrong checksum is a bare Exception
        raise InputError(
            "vectors", f": there is no file {path}, and {source!r} cannot be downloaded by gensim ({error})", *_WAYS_OUT
        ) from error


def identity(vectors: str | Path | KeyedVectors) -> str:
    """A digest of word vectors, as 8 hexadecimal digits: of a file's contents, or of the words and all numbers."""
    if isinstance(vectors, (str, Path)):
        return _file_digest(find_vectors(vectors))[:8]
    content = sha256(repr(vectors.index_to_key).encode())
    for numbers in (vectors.vectors, getattr(vectors, "vectors_ngrams", None)):
        if numbers is not None:
            content.update(np.ascontiguousarray(numbers).data)
    return content.hexdigest()[:8]


def _file_digest(path: Path) -> str:
    files = [file for file in (path, _rows_of_saved(path)) if file.is_file()]
    return _contents_digest(*((file, file.stat().st_size, file.stat().st_mtime_ns) for file in files))


@lru_cache(maxsize=32)
def _contents_digest(*states: tuple[Path, int, int]) -> str:
    """A digest of the files' contents, read again when their sizes or times have changed."""
    content = sha256()
    for path, _, _ in states:
        with path.open("rb") as file:
            for block in iter(partial(file.read, BLOCK), b""):
                content.update(block)
    return content.hexdigest()


def _read(path: Path, wanted: Sequence[str] | None) -> KeyedVectors:
    from gensim.models import KeyedVectors
    from gensim.utils import open as open_unpacked

    try:
        with open_unpacked(path, "rb") as file:
            head = file.read(1 << 16)
        header = _HEADER.match(head)
        if head.startswith(b"\x80"):
            return _read_saved(path)
        if header and _NOT_TEXT.search(head, header.end()):
            return KeyedVectors.load_word2vec_format(path, binary=True, unicode_errors="replace")
        if not head or _NOT_TEXT.search(head):
            raise ValueError("its format is not known" if head else "it is empty")
        return _read_text(path, header is not None, wanted)
    except Exception as error:  # gensim's readers fail in many ways
        reason = str(error) or type(error).__name__
        raise InputError(
            "vectors", f": {path} cannot be read: {reason}. Word vectors are read from {_FORMATS}"
        ) from error


def _read_text(path: Path, header: bool, wanted: Sequence[str] | None) -> KeyedVectors:
    """The vectors of a text file, of the wanted words alone, from the store or, the first time, by gensim."""
    from gensim.models import KeyedVectors

    store = open_store(True)
    key = sha256(f"{FORMAT} {_file_digest(path)}".encode()).hexdigest()
    stored = store and store.load("vectors", key, partial(_kept, wanted=wanted))
    if stored is not None:
        return stored
    _check_lines(path, header)
    read = KeyedVectors.load_word2vec_format(path, no_header=not header, unicode_errors="replace")
    different = len(read.key_to_index)  # words that are in the file twice leave empty rows behind these
    # Text and numbers, not gensim's own file, which is a pickle. No word has a line break in it.
    words = np.frombuffer("\n".join(read.index_to_key[:different]).encode(), np.uint8)
    arrays = {"words": words, "vectors": read.vectors[:different]}
    if store:
        store.save("vectors", key, arrays)
    return _kept(arrays, wanted)


def _check_lines(path: Path, header: bool) -> None:
    """Raise for lines of another length than the first one's: gensim takes a single number for a whole vector."""
    from gensim.utils import open as open_unpacked

    with open_unpacked(path, "rb") as lines:
        promised = [int(number) for number in lines.readline().split()] if header else []
        blanks = [line.rstrip().count(b" ") for line in lines]
    words, width = promised or (len(blanks), blanks[0])
    for number, count in enumerate(blanks, start=1 + header):
        if not count or count != width:
            raise ValueError(
                f"line {number} should be a word and {width or 'its'} numbers, with one space between them"
            )
    if words != len(blanks):
        raise ValueError(f"its first line promises {words} words, but {len(blanks)} follow")


def _kept(arrays: Arrays, wanted: Sequence[str] | None) -> KeyedVectors:
    words = bytes(arrays["words"]).decode().split("\n")
    if wanted is None:
        return _keyed(words, arrays["vectors"])
    wanted_words = frozenset(wanted)
    rows = [row for row, word in enumerate(words) if word in wanted_words]
    return _keyed([words[row] for row in rows], arrays["vectors"][rows])


def _keyed(words: Sequence[str], rows: Array) -> KeyedVectors:
    from gensim.models import KeyedVectors

    vectors = KeyedVectors(rows.shape[1], dtype=rows.dtype)
    vectors.add_vectors(words, rows)
    return vectors


def _read_saved(path: Path) -> KeyedVectors:
    """What gensim saved, by a reader of pickles that runs nothing; large arrays have files of their own."""
    with path.open("rb") as file:
        saved = read_plain_pickle(file, ARRAYS | {_SAVED: type("Saved", (), {})})
    own = vars(saved)
    rows = own["vectors"] if "vectors" in own else np.load(_rows_of_saved(path), allow_pickle=False)
    return _keyed(own["index_to_key"], rows)


def _rows_of_saved(path: Path) -> Path:
    return Path(f"{path}.vectors.npy")
