"""Word vectors: every format gives the same vectors, no file can run code, and what cannot be read says why."""

import gzip
import hashlib
import json
import pickle
import shutil
import struct
import sys
from pathlib import Path

import numpy as np
import pytest
from gensim import downloader
from gensim.models import FastText, KeyedVectors

from captionbias.alignment.vectors import embed, identity, load_vectors, train_vectors
from captionbias.text import tokenize
from tests.refusals import refuses

WORDS = ["dog", "cat", "ñandú", "."]
MATRIX = np.array([[3, 4, 0], [0.5, -0.25, 1], [1e-3, 2, -7.5], [0, 0, 1]], np.float32)


@pytest.fixture
def vectors():
    made = KeyedVectors(3)
    made.add_vectors(WORDS, MATRIX)
    return made


@pytest.fixture(scope="module")
def fasttext():
    captions = [["a", "dog", "runs"], ["a", "cat", "sleeps"]] * 20
    return FastText(captions, vector_size=4, min_count=1, bucket=50, min_n=2, max_n=3, workers=1, seed=1)


def glove():
    return "".join(f"{word} {' '.join(map(str, row))}\n" for word, row in zip(WORDS, MATRIX, strict=True))


WRITERS = {
    "glove.txt": lambda path, vectors: path.write_text(glove(), encoding="utf-8"),
    "glove.txt.gz": lambda path, vectors: path.write_bytes(gzip.compress(glove().encode())),
    "w2v.txt": lambda path, vectors: vectors.save_word2vec_format(str(path), binary=False),
    "as fastText writes it.vec": lambda path, vectors: path.write_text(
        "4 3\n" + glove().replace("\n", " \n"), encoding="utf-8"
    ),
    "w2v.bin.gz": lambda path, vectors: vectors.save_word2vec_format(str(path), binary=True),
    "binary in spite of its name.txt": lambda path, vectors: vectors.save_word2vec_format(str(path), binary=True),
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_vectors(name, vectors, tmp_path):
    path = tmp_path / name
    WRITERS[name](path, vectors)
    loaded = load_vectors(str(path))
    assert loaded.index_to_key == WORDS
    np.testing.assert_array_equal(loaded.vectors, MATRIX)
    assert load_vectors(loaded) is loaded


@pytest.mark.parametrize("name", ["glove.txt", "w2v.txt"])
def test_a_text_file_is_read_by_gensim_once_and_kept_without_a_pickle(name, vectors, tmp_path, own_cache, monkeypatch):
    path = tmp_path / name
    WRITERS[name](path, vectors)
    first = load_vectors(path)
    [kept] = own_cache.iterdir()
    with np.load(kept, allow_pickle=False) as arrays:
        assert set(arrays) == {"key", "words", "vectors"}
    read = KeyedVectors.load_word2vec_format
    monkeypatch.setattr(KeyedVectors, "load_word2vec_format", None)
    again = load_vectors(path)
    assert (again.index_to_key, again.vectors.tobytes()) == (first.index_to_key, first.vectors.tobytes())
    assert load_vectors(path, tokenize(["the cat ."])).index_to_key == ["cat", "."], "the words of the captions alone"
    monkeypatch.setattr(KeyedVectors, "load_word2vec_format", read)
    path.write_text("dog 1 2\ncat 3 4\ndog 5 6\n")
    assert load_vectors(path)["dog"].tolist() == [1, 2], "another file, and of a word that is there twice the first"


@pytest.mark.parametrize("large", [False, True])
def test_what_gensim_saved_is_read_and_runs_nothing(vectors, fasttext, tmp_path, large):
    path = tmp_path / "vectors.kv"
    vectors.save(str(path), sep_limit=0 if large else 10**9)
    assert Path(f"{path}.vectors.npy").exists() == large
    loaded = load_vectors(path)
    assert loaded.index_to_key == WORDS
    np.testing.assert_array_equal(loaded.vectors, MATRIX)
    before = identity(path)
    np.save(f"{path}.vectors.npy", 2 * MATRIX)
    assert identity(path) != before, "the array beside it counts"
    path.write_bytes(pickle.dumps(Runs()))
    refuses(r"no other is read.*pass what it loads", load_vectors, path)
    fasttext.wv.save(str(path))
    refuses(r"it names gensim\.models\.fasttext\.FastTextKeyedVectors", load_vectors, path)


class Runs:
    def __reduce__(self):
        return exec, ("raise SystemExit('the file was run')",)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it is empty"),
        (b"dog 1 2\ncat 3\n", "line 2 should be a word and 2 numbers, with one space between them"),
        (b"dog 1 2\n. . . 3 4\n", "line 2 should be a word and 2 numbers"),
        (b"dog 1 2\n\ncat 3 4\n", "line 2 should be a word and 2 numbers"),
        (b"dog 1 2\ncat 3 four\n", "could not convert string to float: 'four'"),
        (b"3 2\ndog 1 2\ncat 3 4\n", "promises 3 words, but 2 follow"),
        (b"1 2\ndog 1 2\ncat 3 4\n", "promises 1 words, but 2 follow"),
        (b"only\nwords\n", "line 1 should be a word and its numbers"),
        (b"dog 1 2\ncat nan 4\n", "the vector of 'cat' is not finite"),
        (b"PK\x03\x04\x00\x00rest of a zip", "format is not known.*unpack a .zip"),
        (gzip.compress(b"dog 1 2\n", mtime=0), "format is not known.*ends in .gz"),
        (struct.pack("<i", 793712314), "format is not known.*FastText's .bin"),
        (b"2 2\ndog \x00\x00\x80\x3f\x00\x00", "unexpected end of input"),
        (gzip.compress(b"dog 1 2\n" * 999, mtime=0)[:-20], "end-of-stream"),
    ],
)
def test_a_broken_file_says_why(content, reason, tmp_path):
    path = tmp_path / ("vectors.gz" if "end-of-stream" in reason else "vectors")
    path.write_bytes(content)
    refuses(f"(?s)vectors.*: .*({reason})", load_vectors, path)


def test_sources_that_are_nothing_say_what_to_pass(tmp_path, vectors):
    for missing in (tmp_path, tmp_path / "no.txt", "no.txt", Path("captions"), ""):
        refuses(r"vectors: there is no file", load_vectors, missing)
    refuses("tokens: vectors='captions' is trained on them", load_vectors, "captions")
    refuses("captions with words in them", load_vectors, "captions", tokenize(["", " "]))
    refuses("no vector for any word of the captions", load_vectors, vectors, tokenize(["ein Hund"]))


@pytest.fixture
def downloads(monkeypatch, tmp_path):
    """gensim's own downloader, pointed at a list and a release in a folder."""
    release = tmp_path / "release" / "tiny-glove"
    release.mkdir(parents=True)
    packed = gzip.compress(glove().encode())
    (release / "tiny-glove.gz").write_bytes(packed)
    (release / "__init__.py").write_text("raise SystemExit('the downloaded script was run')")
    about = {"parts": 1, "checksum": hashlib.md5(packed).hexdigest(), "file_name": "tiny-glove.gz"}
    (tmp_path / "list.json").write_text(json.dumps({"corpora": {}, "models": {"tiny-glove": about}}))
    monkeypatch.setattr(downloader, "BASE_DIR", str(tmp_path / "kept"))
    monkeypatch.setattr(downloader, "DATA_LIST_URL", (tmp_path / "list.json").as_uri())
    monkeypatch.setattr(downloader._load_info, "__defaults__", ((tmp_path / "list.json").as_uri(), "utf-8"))
    monkeypatch.setattr(downloader, "DOWNLOAD_BASE_URL", (tmp_path / "release").as_uri())
    return tmp_path


def test_a_name_is_downloaded_once_and_then_found_without_a_network(downloads, monkeypatch, capsys):
    refuses(r"'glov' cannot be downloaded by gensim \(.*\).*vectors='captions'", load_vectors, "glov")
    assert load_vectors("tiny-glove").index_to_key == WORDS
    assert capsys.readouterr().out == "", "a progress bar would spoil JSON on standard output"
    shutil.rmtree(downloads / "release")
    monkeypatch.setattr(downloader._load_info, "__defaults__", ("http://127.0.0.1:9/list.json", "utf-8"))
    assert load_vectors("tiny-glove").index_to_key == WORDS
    refuses(r"cannot be downloaded.*vectors='captions'", load_vectors, "glove-wiki-gigaword-50")


def test_captions_teach_which_words_are_alike():
    """ "seat" and "chair" have the same neighbours, and "dog" has others."""
    random = np.random.default_rng(0)

    def pick(*words):
        return str(random.choice(words))

    sitting = [f"a man rests on a {pick('seat', 'chair')} in the {pick('room', 'garden')}" for _ in range(600)]
    running = [f"the brown dog {pick('runs', 'barks')} after a {pick('ball', 'stick')}" for _ in range(600)]
    tokens = tokenize([*sitting, *running, "hapax legomenon"])
    vectors = load_vectors("captions", tokens)
    assert set(vectors.index_to_key) == set(tokens.words)
    matrix, known = embed(vectors, ["seat", "chair", "dog"])
    assert known.all()
    assert matrix[0] @ matrix[1] > 0.6 > matrix[0] @ matrix[2]


def test_captions_give_the_same_vectors_in_any_order():
    """Of captions and of words: only rounding may differ, which alignment does not see."""
    random = np.random.default_rng(0)
    captions = [" ".join(f"word{number}" for number in random.zipf(1.3, 8) % 900) for _ in range(900)]
    forth, back = train_vectors(tokenize(captions)), train_vectors(tokenize(captions[::-1]))
    words = sorted(forth.index_to_key)
    one, other = (embed(vectors, words)[0] for vectors in (forth, back))
    np.testing.assert_allclose(one @ one.T, other @ other.T, atol=1e-9)


def test_tiny_captions_train():
    for captions in (["dog"], ["dog", ""], ["a dog"], [f"word{number}" for number in range(300)]):
        assert np.isfinite(train_vectors(tokenize(captions)).vectors).all()


def test_embedding_gives_unit_rows_and_knows_what_has_no_direction(vectors, fasttext):
    vectors.add_vectors(["zero", "huge", "tiny"], np.array([[0, 0, 0], [1e38, 1e38, 0], [0, 1e-38, 0]], np.float32))
    matrix, known = embed(vectors, ["dog", "nowhere", "zero", "huge", "tiny", "dog"])
    assert known.tolist() == [True, False, False, True, True, True]
    half = 0.5**0.5
    expected = [[0.6, 0.8, 0], [0, 0, 0], [0, 0, 0], [half, half, 0], [0, 1, 0], [0.6, 0.8, 0]]
    np.testing.assert_allclose(matrix, expected, atol=1e-6)
    matrix, known = embed(vectors, [])
    assert (matrix.shape, known.shape) == ((0, 3), (0,))
    matrix, known = embed(fasttext.wv, ["dog", "dogs"])
    assert known.all(), "FastText has vectors for words outside its vocabulary"
    np.testing.assert_allclose(matrix[1], fasttext.wv.get_vector("dogs", norm=True), atol=1e-6)


def test_without_gensim_an_error_says_what_to_do(monkeypatch, tmp_path):
    for module in ("gensim", "gensim.models", "gensim.downloader"):
        monkeypatch.setitem(sys.modules, module, None)
    message, tokens = r"word vectors: .*gensim.*'\.\[vectors\]'.*alignment='constant'", tokenize(["a dog"])
    refuses(message, load_vectors, "captions", tokens)
    refuses(message, load_vectors, tmp_path)
    refuses(message, train_vectors, tokens)
