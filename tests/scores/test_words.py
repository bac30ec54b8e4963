"""Words that follow values: ties by regressions written out; counts of captions, of planted captioners and people."""

from collections import Counter

import numpy as np
import pytest
from scipy.sparse import csr_array

from captionbias.hashes import mix
from captionbias.scores.words import (
    ALPHA,
    FOLDS,
    GROUPS,
    PENALTY,
    QUARTERS,
    Candidates,
    Ties,
    context_words,
    detectable_share,
    distinct_draws,
    find_ties,
    fit_references,
    followed,
    frequent_words,
    level,
    list_words,
    people_draws,
    rarities,
)

WORDS, OWN = 40, 37  # those from OWN on are said in no picture by people


def pictures(images: int, seed: int = 0, values: int = 2, captions: int = 5):
    """Values, the words of human captions `(images, captions, words)` and of one more person's. What pictures show goes
    with the values, and people say some of what they show."""
    random = np.random.default_rng(seed)
    value = random.integers(values, size=images)
    lean = random.uniform(0.05, 0.5, (values, WORDS))
    lean[:, OWN:] = 0
    shown = random.random((images, WORDS)) < lean[value]
    said = (random.random((captions + 1, images, WORDS)) < 0.5) & shown
    return value, said[:captions].transpose(1, 0, 2), said[captions].astype(float), random


CONTENT = np.ones(WORDS, bool)


def fitted(value, said, draws=2, **options):
    """References of these images, and the rows of the captions drawn."""
    human = csr_array(said.reshape(-1, WORDS).astype(float))
    image = np.repeat(np.arange(len(value)), said.shape[1])
    columns = context_words(human, np.arange(WORDS) < OWN, np.ones(len(image)))
    drawn = distinct_draws(image, mix(np.arange(len(image), dtype=np.uint64)), draws)
    return fit(value, people_draws(human, image, drawn, columns), **options), drawn, columns


def fit(value, draws, **options):
    plain = {"weights": np.ones(len(value)), "pictures": np.arange(len(value)), "seed": 0, "values": value.max() + 1}
    return fit_references(value, draws, **plain | options)


def every_tie(captioner, references):
    said = csr_array(captioner)
    return find_ties(said, references, np.arange(WORDS), level(said, references, CONTENT))


def found(captioner, references):
    """Of each value how many more of 100 captions use any of the words that follow it, and in how many of six choices
    each word was."""
    said = csr_array(captioner)
    halvings = [Candidates(said, references.drawn[draw % len(references.drawn)].tocsr()) for draw in range(3)]
    return followed(references, halvings)


def test_ties_and_their_errors_are_those_of_the_regressions():
    value, said, captioner, random = pictures(240, values=3)
    captioner = captioner * random.choice([0.5, 1.0], (240, 1))  # two captions of some images
    weights = random.integers(1, 4, 240).astype(float)
    copies = np.arange(240) // 2
    references, drawn, columns = fitted(value, said, weights=weights, pictures=copies, values=3)
    ties_found = every_tie(captioner, references)

    place = np.random.default_rng([0, 9]).permutation(120)[copies]
    fold, group = place // QUARTERS % FOLDS, place % (QUARTERS * FOLDS * GROUPS)
    by_level = level(csr_array(captioner), references, CONTENT)[value][:, None]

    def left(contents, outcome):
        residual = np.empty(240)
        for number in range(FOLDS):
            train, test = fold != number, fold == number
            mean = np.average(contents[train], 0, weights[train]), np.average(outcome[train], 0, weights[train])
            x, y, w = contents[train] - mean[0], outcome[train] - mean[1], weights[train]
            slope = np.linalg.solve(x.T @ (w[:, None] * x) + PENALTY * np.eye(x.shape[1]), x.T @ (w * y))
            residual[test] = outcome[test] - mean[1] - (contents[test] - mean[0]) @ slope
        return residual

    for contrast in range(3):
        for word in (0, 5):
            products, squares = np.zeros((2, 240)), 0.0
            for rows in drawn:
                human = said.reshape(-1, WORDS)[rows] * 1.0
                contents = ((said.sum(axis=1) - human) / 4)[:, columns]
                own = left(contents, (value == contrast) * 1.0)
                squares += (weights * own**2).sum() / 2
                products[0] += weights * own * left(contents, captioner[:, word]) / 2
                products[1] += weights * own * left(contents, (human * by_level)[:, word]) / 2
            ties = 100 * products.sum(axis=1) / squares
            numbers = np.unique(group)
            sums = np.array([(products[0] - products[1])[group == each].sum() for each in numbers]) * 100 / squares
            size = np.array([weights[group == each].sum() for each in numbers]) / weights.sum()
            error = np.sqrt(((sums - size * sums.sum()) ** 2).sum() * len(numbers) / (len(numbers) - 1))
            assert ties_found.captioner[contrast, word] == pytest.approx(ties[0], abs=1e-3)
            assert ties_found.person[contrast, word] == pytest.approx(ties[1], abs=1e-3)
            assert ties_found.beyond[contrast, word] == pytest.approx(ties[0] - ties[1], abs=1e-3)
            assert ties_found.error[contrast, word] == pytest.approx(error, rel=1e-3)


@pytest.mark.parametrize("values", [2, 3])
def test_of_a_person_no_word_is_listed_and_nothing_is_found(values):
    value, said, person, _ = pictures(4000, values=values)
    references, *_ = fitted(value, said, values=values)
    words = frequent_words(csr_array(person), references, np.ones(WORDS, bool))
    ties = find_ties(csr_array(person), references, words, level(csr_array(person), references, CONTENT))
    assert not list_words(ties).listed.any()
    assert np.sqrt(np.mean((ties.beyond / ties.error) ** 2)) == pytest.approx(1, abs=0.3)
    for of_value in found(person, references):
        assert of_value.amount.value < 1 + 1.96 * of_value.amount.error


def test_a_word_put_into_captions_of_one_value_is_listed_and_counted():
    value, said, captioner, random = pictures(4000)
    captioner[:, OWN] = (value == 1) & (random.random(4000) < 0.2)
    captioner[:, OWN + 1] = (value == 0) & (random.random(4000) < 0.12)
    references = fitted(value, said)[0]
    ties = every_tie(captioner, references)
    listed, q = list_words(ties)
    assert np.flatnonzero(listed[0]).tolist() == [OWN, OWN + 1]
    assert ties.beyond[0, OWN : OWN + 2] == pytest.approx([-20, 12], abs=2)
    assert ties.more[0, OWN : OWN + 2].all()
    assert q[0, OWN] < 1e-6
    women, men = found(captioner, references)
    assert (women.amount.value, men.amount.value) == pytest.approx((12, 20), abs=2)
    assert 0.2 < men.amount.error < 2
    assert (women.columns[OWN + 1], men.columns[OWN]) == (6, 6)


def test_a_word_said_of_one_value_alone_is_listed_though_it_has_no_error_and_one_said_of_all_is_not():
    always, never = np.array([[100.0, 0.0]]), np.zeros((1, 2))
    assert list_words(Ties(always, never, always, never, always, never)).listed.tolist() == [[True, False]]


def test_of_three_values_each_has_an_amount_of_its_own():
    """A word in 20 of 100 captions of one value is 10 of 100 fewer than elsewhere in those of either other one."""
    value, said, captioner, random = pictures(6000, values=3)
    captioner[:, OWN] = (value == 2) & (random.random(6000) < 0.2)
    references = fitted(value, said, values=3)[0]
    assert every_tie(captioner, references).beyond[:, OWN] == pytest.approx([-10, -10, 20], abs=2)
    amounts = [of_value.amount.value for of_value in found(captioner, references)]
    assert amounts == pytest.approx([0, 0, 20], abs=2)


def test_a_word_that_people_tie_and_the_captioner_lacks_is_less_and_is_not_counted():
    value, said, captioner, random = pictures(4000)
    said[..., OWN] = (value == 0)[:, None] & (random.random((4000, 5)) < 0.2)
    references = fitted(value, said)[0]
    ties = every_tie(captioner, references)
    assert list_words(ties).listed[0, OWN]
    assert not ties.more[0, OWN]
    assert all(not of_value.columns[OWN] for of_value in found(captioner, references))


def test_a_word_said_more_often_is_no_more_than_that_where_people_say_it_alike():
    value, said, captioner, random = pictures(4000)
    lean = np.where(value == 0, 3, 1)
    said[..., OWN] = random.random((4000, 5)) < 0.05 * lean[:, None]
    captioner[:, OWN] = random.random(4000) < 0.15 * lean
    references = fitted(value, said)[0]
    ties = every_tie(captioner, references)
    assert ties.beyond[0, OWN] == pytest.approx(20, abs=3)
    assert not ties.also_scaled[0, OWN]


def test_fewer_words_of_one_value_are_a_level_and_no_list_of_words():
    value, said, captioner, random = pictures(4000)
    captioner *= np.where(value == 0, random.random((WORDS, 4000)) < 0.8, 1).T
    references = fitted(value, said)[0]
    of_values = level(csr_array(captioner), references, CONTENT)
    assert of_values[0] / of_values[1] == pytest.approx(0.8, abs=0.03)
    assert not list_words(every_tie(captioner, references)).listed.any()


def test_tasks_given_as_contents_explain_who_names_all_of_them():
    value, said, captioner, random = pictures(4000)
    shown = random.random(4000) < np.where(value == 0, 0.6, 0.1)
    captioner[:, OWN] = shown
    _, drawn, columns = fitted(value, said)
    human, image, ties = csr_array(said.reshape(-1, WORDS).astype(float)), np.repeat(np.arange(4000), 5), []
    for tasks in (None, csr_array(shown[:, None].astype(float))):
        references = fit(value, people_draws(human, image, drawn, columns, tasks))
        ties.append(every_tie(captioner, references).beyond[0, OWN])
    assert ties[0] > 20
    assert ties[1] == pytest.approx(0, abs=2)


def test_captions_are_drawn_once_before_any_is_again_and_copies_of_a_picture_alike():
    image = np.array([0, 0, 0, 1, 1, 1, 1, 2, 2])
    drawn = np.array(distinct_draws(image, mix(np.arange(9, dtype=np.uint64)), 4))
    assert (image[drawn] == [0, 1, 2]).all()
    assert [len(set(rows)) for rows in drawn.T] == [3, 4, 2]
    keys = mix(np.tile(np.arange(100, dtype=np.uint64).reshape(20, 1, 5), (1, 2, 1)).ravel())
    for rows in distinct_draws(np.repeat(np.arange(40), 5), keys, 3):
        places = rows - 5 * np.arange(40)
        assert (places[::2] == places[1::2]).all()
        assert len(set(places.tolist())) > 1


def test_a_phrase_counts_once_twenty_words_are_seen_together_and_a_common_word_does_not_come_along():
    value, said, captioner, random = pictures(4000)
    phrase = (value == 0) & (random.random(4000) < 0.1)
    captioner[:, OWN:] = phrase[:, None]
    women, men = found(captioner, fitted(value, said)[0])
    assert women.amount.value == pytest.approx(10, abs=1.5), "three words of one phrase are in 10 of 100 captions"
    assert sorted(women.columns[word] for word in range(OWN, WORDS)) == [0, 0, 6]
    assert men.amount.value < 1 + 1.96 * men.amount.error
    captioner[:, OWN:] = 0
    for word in range(OWN, WORDS):
        captioner[:, word] = phrase & (random.integers(OWN, WORDS, 4000) == word)
    apart, _ = found(captioner, fitted(value, said)[0])
    assert apart.amount.value == pytest.approx(phrase[value == 0].mean() * 100, abs=6)
    assert sum(apart.columns[word] > 2 for word in range(OWN, WORDS)) == 3


def test_what_people_say_more_of_is_measured_and_not_capped():
    """A person whose words count double says a word in 40 of 100 captions, of which the captioner's 20 are fewer."""
    value, said, captioner, random = pictures(4000)
    captioner[:, OWN] = (value == 0) & (random.random(4000) < 0.2)
    references = fitted(value, said)[0]
    person = references.drawn[0].tolil()
    person[:, OWN] = captioner[:, [OWN]]
    halvings = [Candidates(csr_array(captioner), csr_array(person.tocsr() * 2.0)) for _ in range(3)]
    assert not followed(references, halvings)[0].columns[OWN]


def test_a_share_that_would_be_seen_is_seen_and_twenty_words_take_more():
    value, said, captioner, random = pictures(4000)
    references = fitted(value, said)[0]
    one, many = (detectable_share(references, words) for words in (1, 20))
    assert (one < many).all()
    z = 1.959963984540054
    assert pytest.approx(0.025) == ALPHA
    for number, share in enumerate(one):
        captioner[:, OWN] = (value == number) & (random.random(4000) < share / 100)
        amount = found(captioner, references)[number].amount
        assert amount.value == pytest.approx(share, abs=1.5)
        assert amount.value - z * amount.error > 0


def test_pools_of_rarity_are_by_the_uses_of_captions_that_are_not_drawn():
    pools = rarities(np.array([0.0, 2, 3, 9, 41]), np.array([True, True, True, False, True]))
    assert Counter(int(pool.sum()) for pool in pools) == {1: 3, 0: 3}
    assert [pool.tolist().index(True) for pool in pools[:3]] == [0, 1, 2]


def test_too_few_pictures_have_a_list_and_no_score():
    value, said, captioner, _ = pictures(490)
    references = fitted(value, said)[0]
    assert list_words(every_tie(captioner, references)).q.shape == (1, WORDS)
    assert found(captioner, references) == []
