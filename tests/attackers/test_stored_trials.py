"""Keys that differ when anything that determines a trial's scores does, and scores that are right or trained anew."""

import gc
import weakref
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from captionbias.attackers import stored_trials
from captionbias.attackers.base import Examples, Trial, TrialScores
from captionbias.attackers.stored_trials import load_scores, save_scores, trial_key
from captionbias.text import tokenize
from captionbias.text.tokens import Tokens
from captionbias.warnings import CaptionBiasWarning

SEARCH = settings(deadline=None, max_examples=60)


@st.composite
def contents(draw):
    """What determines a trial, of few enough values that two drawn ones may be equal but for one part."""
    captions = draw(st.lists(st.lists(st.integers(0, 2), max_size=2), min_size=2, max_size=3))
    n, outputs, multilabel = len(captions), draw(st.integers(1, 2)), draw(st.booleans())
    target = st.lists(st.booleans(), min_size=outputs, max_size=outputs) if multilabel else st.integers(0, 1)
    rows = st.lists(st.integers(0, n - 1), max_size=2)
    return {
        "captions": captions,
        "targets": draw(st.lists(target, min_size=n, max_size=n)),
        "outputs": outputs,
        "train": draw(rows),
        "test": draw(rows),
        "seed": draw(st.integers(0, 2)),
        "attacker": draw(st.sampled_from(["bow", "bow|v2"])),
    }


def trial_of(content, numbers=(0, 1, 2), words=3, dtype=np.int32) -> Trial:
    """`numbers`: those of the three words among `words` in all."""
    captions, targets = content["captions"], np.array(content["targets"])
    ids = np.array([numbers[word] for caption in captions for word in caption], dtype)
    offsets = np.concatenate(([0], np.cumsum(list(map(len, captions)))))
    spelling = dict(zip(numbers, "abc", strict=True))
    tokens = Tokens(ids, offsets.astype(np.int64), tuple(spelling.get(word, f"w{word}") for word in range(words)))
    examples = Examples(tokens, targets if targets.dtype == bool else targets.astype(dtype), content["outputs"])
    rows = (np.array(content[part], dtype) for part in ("train", "test"))
    return Trial(examples, *rows, content["seed"])


def key_for(content, **how) -> str:
    return trial_key(trial_of(content, **how), content["attacker"])


@SEARCH
@given(
    one=contents(), other=contents(), part=st.sampled_from(["captions", "targets", "outputs", "train", "test", "seed"])
)
def test_keys_are_equal_when_and_only_when_everything_is(one, other, part):
    for changed in (other, {**one, part: other[part]}, {**one, "attacker": other["attacker"]}):
        assert (key_for(one) == key_for(changed)) == (one == changed)


@SEARCH
@given(content=contents(), before=st.lists(st.integers(0, 30), unique=True, max_size=5))
def test_neither_words_that_do_not_occur_nor_types_change_a_key(content, before):
    """Words that occur keep their order, whatever others stand among them."""
    key = key_for(content)
    places = np.setdiff1d(np.arange(40), before)[:3]
    assert key_for(content, numbers=places.tolist(), words=40) == key
    assert key_for(content, dtype=np.int64) == key


CONTENT = {"captions": [[0, 1], [2], [1, 1]], "targets": [0, 1, 0], "outputs": 2, "train": [0, 1], "test": [2]}
CONTENT |= {"seed": 0, "attacker": "bow"}
KEY = key_for(CONTENT)


def test_a_key_is_the_same_in_every_process_and_version_of_one_format(monkeypatch):
    # If this fails, kept trials are lost to their users: raise FORMAT and write the new key here.
    assert KEY == "9fd071df641feec6e89041f0dbb2e687c5703190000ebcb126d59fedf1c1894a"
    monkeypatch.setattr(stored_trials, "FORMAT", stored_trials.FORMAT + 1)
    assert key_for(CONTENT) != KEY


def test_examples_are_digested_once_and_not_kept_alive():
    trial = trial_of(CONTENT)
    assert trial_key(trial, "bow") == KEY
    trial.examples.tokens.ids[:] = 0
    assert trial_key(trial, "bow") == KEY, "read again"
    examples = weakref.ref(trial.examples)
    del trial
    gc.collect()
    assert examples() is None


def test_spelling_masks_and_pictures_count():
    def key(caption: str, mask: str = "", pictures: np.ndarray | None = None) -> str:
        examples = Examples(tokenize([caption, "the dog"]), np.array([0, 1]), 2, (mask,), pictures)
        return trial_key(Trial(examples, np.arange(2), np.arange(2), 0), "lstm")

    assert key("a Man ") == key("a man")
    shown = [np.full((2, 3), value, np.float32) for value in (0, 1)]
    others = [key("a man"), key("a woman"), key("man a"), key("a man", "man"), key("a man", "a")]
    others += [key("a man", pictures=pictures) for pictures in shown]
    assert len(set(others)) == len(others)


@pytest.mark.filterwarnings("error")
def test_scores_that_are_not_numbers_or_another_trial_s_are_not_believed(store):
    scores = TrialScores(np.log([0.25, 0.75, 1.0]), np.array([False, True, True]))
    save_scores(store, KEY, replace(scores, log_probability=np.array([-1, np.nan, -1])))
    assert load_scores(store, KEY, 3) is None, "not kept"
    save_scores(store, KEY, scores)
    assert load_scores(store, KEY, 3).correct.tolist() == scores.correct.tolist()
    with pytest.warns(CaptionBiasWarning, match="is damaged, or another's"):
        assert load_scores(store, KEY, 4) is None
    save_scores(store, KEY, replace(scores, log_probability=np.array([-1, 0.5, -1])))
    with pytest.warns(CaptionBiasWarning, match="is damaged"):
        assert load_scores(store, KEY, 3) is None, "a probability above 1"
