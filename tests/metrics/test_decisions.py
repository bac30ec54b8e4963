"""What decides in sway, on images that can be counted by hand."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from captionbias.bench.reading import read
from captionbias.bench.verdicts import MORE
from captionbias.captions import check_captions
from captionbias.metrics import sway
from captionbias.metrics.sway import RULES
from captionbias.metrics.sway.images import compared_images, count_leans, no_leans
from captionbias.metrics.sway.question import draw_person, mean_of_known
from captionbias.scores.cooccurrence import mals
from captionbias.scores.misnaming import composition
from captionbias.scores.words import Ties, find_ties, fit_references, list_words
from captionbias.text import load_lexicon

LEAN = {"female": ["handbag"], "male": ["tie"]}
SHOWN = [("woman", "handbag")] * 40 + [("woman", "tie")] * 8 + [("man", "tie")] * 40 + [("man", "handbag")] * 20


def measured(said="a {} near a {}", people=("a {} with a {}", "one {} and a {}"), shown=SHOWN, called=(), **options):
    """Of these people and objects; `said`: by the captioner, of each image or of all; `called`: by people."""
    texts = [said] * len(shown) if isinstance(said, str) else said
    columns = {
        "predictions": [text.format(*of) for text, of in zip(texts, shown, strict=True)],
        "references": [[text.format(*of) for text in people] for of in called or shown],
        "attributes": ["female" if who == "woman" else "male" for who, _ in shown],
        "tasks": [[what] for _, what in shown],
    }
    usual = {"lean": LEAN, "draws": 2, "bootstrap": 25, "details": True}
    return sway.measure(**columns | usual | options)


def test_three_captions_of_the_smaller_cell_can_be_otherwise_whatever_an_image_weighs():
    """8 women beside a tie are fewest, 20 men beside a handbag; 28 of 108 images suggest another value."""
    for weights in (None, [10.0] * 108):
        found = measured(weights=weights).estimates
        assert found["sway_t_to_a"].high == pytest.approx(28 / 108 * 300 / 20)
        assert found["sway_t_to_a_least"].low == pytest.approx(-28 / 108 * 300 / 8)
        one = found["sway_t_to_a_one"]
        assert (one.low, one.high, one.detectable) == pytest.approx((-300 / 20, 300 / 8, 300 / 8))
        assert found["sway_wrong_gap"].high == pytest.approx(300 / 48)


def test_shares_are_of_weights_and_of_who_names_one_value_alone():
    """Women: 10 of weight 3 are called men, 10 of weight 1 both."""
    said = ["a man and a dog"] * 10 + ["a woman and a man and a dog"] * 10 + ["a {} near a {}"] * 88
    found = measured(said * 3, shown=SHOWN * 3, weights=([3] * 10 + [1] * 98) * 3)
    assert found.facts["wrong_female"] == pytest.approx(100 * 30 / 68)
    assert found.facts["unnamed_female"] == pytest.approx(100 * 10 / 68)
    assert found.estimates["sway_least_named"].value == pytest.approx(100 * 28 / 68)
    assert found.estimates["sway_tasks_named"].value == pytest.approx(100 * 88 / 128)  # a dog goes with nobody
    [bag] = [row for row in found.details["tasks"] if row["task"] == "handbag"]
    assert bag["named_captioner"]["female"] == pytest.approx(100 * 20 / 68)
    assert [row["lean_female"] for row in found.details["leans"]] == pytest.approx([0.5, -0.5], abs=0.01)
    both = measured(people=("a woman and a man", "one woman and man"), trust_rows=True)
    assert [row["unnamed_person"] for row in both.details["level"]] == [100, 100]


def test_what_a_default_could_explain_is_how_often_people_do_not_name_whom_all_others_name():
    """Of 8 women beside a tie nobody names four, whom the captioner calls men; one of two people calls four men."""
    called = [(who, what, who) for who, what in SHOWN]
    called[40:48] = [("figure", "tie", "figure")] * 4 + [("woman", "tie", "man")] * 4
    said = ["a {} near a {}"] * 40 + ["a man and a {1}"] * 4 + ["a {} near a {}"] * 64
    women, _ = measured(said, ("a {} with a {}", "one {2} and a {1}"), called=called, draws=9).details["t_to_a"]
    assert (women["step"], women["bound"], women["step_beyond"]) == (0, 100, -100)


def test_labels_are_not_told_to_follow_the_tasks_by_what_chance_brings():
    """People contradict 33 of 100 labels that tasks suggest and 23 of 100 others, or 45 and 5."""
    other = {"woman": "man", "man": "woman"}
    shown = [(who, what) for who in other for what in ("handbag", "tie") for _ in range(50)]
    for along, against, told in ((33, 23, False), (45, 5, True)):
        wrong = [row % 50 < (along if (row // 50) in (0, 3) else against) // 2 for row in range(200)]
        called = [(other[who] if off else who, what) for off, (who, what) in zip(wrong, shown, strict=True)]
        notes = measured(shown=shown, called=called, bootstrap=0).notes
        assert any("labels that follow the tasks hide" in note for note in notes) == told


def test_of_three_values_less_said_of_one_is_found():
    shown = [(who, "dog") for who in ("elder", "grownup", "child") for _ in range(60)]
    said = ["a {} with a small brown {} on a street"] * 120 + ["a {} with a {}"] * 60
    options = {"attributes": [who for who, _ in shown], "attribute_lexicon": {w: [w] for w, _ in shown}}
    found = measured(said, shown=shown, lean="own", **options).estimates["sway_length_gap"]
    assert found.high < -2
    assert found.verdict == MORE


def test_copies_of_a_picture_draw_one_person_and_are_left_out_of_their_own_leans():
    words = [" ".join(f"{place}{row}" for place in range(16)) for row in range(30)]
    texts = [[f"a {who} and a person with a dog {of}" for who in ("man", "woman")] for of in words] * 2
    labels, said = ["female", "male"] * 15 + ["male", "female"] * 15, ["a man and a dog", "a woman"] * 30
    captions = check_captions(references=texts, attributes=labels, predictions=said, trust_rows=True)
    reading = read(captions, "gender", "coco_objects", "words", RULES)
    named = compared_images(reading, 0)
    assert "person" not in named.tasks
    for of_both in (reading.groups(0), draw_person(named, no_leans(named), 1).other):
        assert np.ptp(of_both.reshape(2, -1).astype(int), axis=0).max() == 0
    assert (count_leans(named, "own", tuple(map(load_lexicon, ("gender", "coco_objects"))), []).own == 1).all()
    assert mean_of_known(np.array([[1.0, np.nan], [3.0, 5.0]])).tolist() == [2, 5]


def test_scenes_of_other_shares_are_other_strata_even_shares_no_lean_and_small_or_unsure_ties_are_not_listed():
    value, scene = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
    assert composition(value, scene, np.array([1.0, 2.0, 8.0, 17.0]))[1].tolist() == [1, 1, 0, 0]
    assert mals(np.ones((2, 1, 1)), np.array([[[3.0]], [[1.0]]])).tolist() == [[[0]], [[0]]]
    size, error = np.array([[0.8, 1.2, 1.2]]), np.array([[0.1, 0.1, 0.7]])
    assert list_words(Ties(size, 0 * size, size, error, size, error)).listed.tolist() == [[False, True, False]]


def test_the_error_of_a_word_that_images_of_a_value_never_have_is_that_of_values_at_random():
    """In 20 of 300 scenes of three values one of the others has it: by chance it is any of the three."""
    value, scene = np.tile([0, 1, 2], 300), np.repeat(np.arange(300), 3)
    references = fit_references(value, [(None, csr_array((900, 1)))], np.ones(900), scene, 0, 3, scene)
    said = csr_array((np.isin(scene, np.arange(20)) & (value == 1)).astype(float)[:, None])
    generator = np.random.default_rng(0)
    ties = 100 * (np.where(generator.integers(3, size=(4000, 20)) == 0, 2 / 3, -1 / 3).sum(axis=1)) / 200
    assert find_ties(said, references, np.arange(1), np.ones(3)).error[0, 0] == pytest.approx(ties.std(), rel=0.05)
