"""Captions as text for an encoder: each distinct one once, masked and unknown words as the encoder's own tokens."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from captionbias.attackers.base import Examples, Trial
from captionbias.attackers.pretrained.distinct_texts import as_texts
from captionbias.attackers.stored_trials import trial_key
from captionbias.text import tokenize
from captionbias.text.tokens import UNKNOWN, Tokens

WORDS = ["<gender>", UNKNOWN, "a", "man", "the"]
SEEN = {"<gender>": "[MASK]", UNKNOWN: "[UNK]"}


def examples_of(captions: list[list[str]], mask: str = "<gender>") -> Examples:
    """Words numbered as they come."""
    words = list(dict.fromkeys(word for caption in captions for word in caption))
    ids = np.array([words.index(word) for caption in captions for word in caption], np.int32)
    offsets = np.concatenate(([0], np.cumsum(list(map(len, captions))))).astype(np.int64)
    return Examples(Tokens(ids, offsets, tuple(words)), np.zeros(len(captions), np.int64), 2, mask)


def trial_of(examples: Examples, seed: int = 0) -> Trial:
    rows = np.arange(len(examples.tokens))
    return Trial("a name", examples, rows, rows, seed)


@settings(deadline=None)
@given(tables=st.lists(st.lists(st.lists(st.sampled_from(WORDS), max_size=4), min_size=1), min_size=1, max_size=3))
def test_every_caption_is_the_number_of_its_text_and_every_text_is_there_once(tables):
    found = as_texts([trial_of(examples_of(captions)) for captions in tables], "[MASK]", "[UNK]")
    wanted = [[" ".join(SEEN.get(word, word) for word in caption) for caption in captions] for captions in tables]
    tokens = [trial.examples.tokens for trial in found.trials]
    assert [[found.distinct[number] for number in own.ids] for own in tokens] == wanted
    assert all((own.lengths == 1).all() for own in tokens)
    assert len(found.distinct) == len({text for texts in wanted for text in texts})


def test_trials_on_the_same_captions_go_on_sharing_them():
    examples = examples_of([["a", "man"], ["a"], ["a", "man"]])
    trials = [trial_of(examples, seed) for seed in range(3)]
    found = as_texts([*trials, trial_of(examples_of([["a"]]))], "", "").trials
    assert len({trial.examples for trial in found}) == 2
    assert [(trial.seed, trial.name) for trial in found[:3]] == [(trial.seed, trial.name) for trial in trials]
    assert all(trial.train is before.train for trial, before in zip(found, trials, strict=False))
    assert found[0].examples.targets is examples.targets


def test_each_mask_of_its_own_is_the_encoder_s():
    people = examples_of([["a", "<gender>", "and", "a", "dog"]])
    objects = examples_of([["a", "man", "and", "a", "<object>"]], "<object>")
    both = as_texts([trial_of(people), trial_of(objects)], "<mask>", "<unk>")
    assert both.distinct == ["a <mask> and a dog", "a man and a <mask>"]


def test_the_tasks_of_captions_stay():
    flags = np.array([[True, False], [False, True]])
    examples = replace(examples_of([["a"], ["the"]]), targets=flags)
    [found] = as_texts([trial_of(examples)], "", "").trials
    assert found.examples.multilabel
    assert found.examples.targets is flags


def test_spelling_and_mask_count_in_the_cache_for_encoders_that_read():
    def keys(caption: str, mask: str = "", unused: str = "") -> tuple[str, str]:
        """Of an attacker that sees only which words are the same, and of one that reads them."""
        tokens = tokenize([caption, "the dog", unused]).select(np.arange(2))
        trial = trial_of(Examples(tokens, np.array([0, 1]), 2, mask))
        return trial_key(trial, "lstm"), trial_key(trial, "lstm", reads_words=True)

    for same in (keys("a Man "), keys("a man", unused="a bird")):
        assert same == keys("a man")
    others = [keys(caption) for caption in ("a man", "a woman", "man a")] + [
        keys("a man", mask) for mask in ("man", "a")
    ]
    assert {blind for blind, _ in others} == {keys("a man")[0]}
    assert len({reading for _, reading in others}) == len(others)
