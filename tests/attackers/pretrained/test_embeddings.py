"""Embeddings in the store: each text is encoded once, whatever is damaged, removed or running at the same time."""

import hashlib
import os

import numpy as np
import pytest

from captionbias.attackers.pretrained import embeddings as module
from captionbias.attackers.pretrained.embeddings import embed
from captionbias.io.store import Store
from captionbias.metrics import dpa, label_leakage

pytestmark = pytest.mark.filterwarnings("error::captionbias.captions.CaptionBiasWarning")

WIDTH = 5
TEXTS = [f"caption {number}" for number in range(20)]


def right(texts: list[str]) -> np.ndarray:
    """Embeddings that anyone can compute: `(n, 5)`."""
    rows = [list(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:WIDTH]) for text in texts]
    return np.array(rows, np.float16).reshape(-1, WIDTH)


def encoded(store: Store | None, texts: list[str], identity: str = "an encoder") -> list[str]:
    """What had to be encoded on the way to the right embeddings."""
    fresh: list[str] = []

    def encode(some: list[str]) -> np.ndarray:
        fresh.extend(some)
        return right(some)

    found = embed(texts, encode, store, identity)
    assert found.dtype == np.float16
    assert found.tolist() == right(texts).tolist()
    return fresh


def test_what_was_encoded_once_is_not_encoded_again(store):
    assert encoded(store, TEXTS[:10]) == TEXTS[:10]
    assert encoded(store, TEXTS[9::-1]) == []
    assert encoded(store, TEXTS[5:15]) == TEXTS[10:15]
    assert encoded(store, TEXTS) == TEXTS[15:]
    assert encoded(store, TEXTS) == []
    assert encoded(store, TEXTS, "another") == TEXTS
    assert encoded(None, TEXTS) == encoded(None, TEXTS) == TEXTS


def test_broken_text_is_kept_like_any_other(store):
    texts = ["half a \ud83d character", "half a \ude00 character", "half a ? character", ""]
    assert encoded(store, texts) == texts
    assert encoded(store, texts) == []


def test_a_killed_run_keeps_the_pieces_that_were_finished(store, monkeypatch):
    monkeypatch.setattr(module, "PIECE", 6)

    def killed(texts):
        if "caption 12" in texts:
            raise KeyboardInterrupt
        return right(texts)

    with pytest.raises(KeyboardInterrupt):
        embed(TEXTS, killed, store, "an encoder")
    assert encoded(store, TEXTS) == TEXTS[12:]


def test_only_what_serves_counts_as_used(store):
    encoded(store, TEXTS[:10])
    encoded(store, TEXTS[10:])
    for entry in store.contents():
        os.utime(entry.path, (1, 1))
    encoded(store, TEXTS[:3])
    assert [entry.used == 1 for entry in store.contents()] == [True, False]


@pytest.mark.parametrize("metric", [dpa, label_leakage], ids=lambda metric: metric.name)
def test_without_a_cache_attackers_of_labels_keep_no_embeddings(metric, tiny_bert, own_cache):
    labels = {"attributes": ["female", "male"] * 10, "tasks": [["dog"], ["cake"]] * 10}
    told = [["dog"], ["cake"], ["cake"], ["dog"]] * 5
    metric(**labels, predicted_tasks=told, encoder=str(tiny_bert), trials=1, bootstrap=0, cache=False)
    assert not own_cache.exists()
