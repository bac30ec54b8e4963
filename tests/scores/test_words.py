"""Words that follow values: ties by regressions written out, on planted captioners, and of people."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from captionbias.scores.words import (
    FOLDS,
    GROUPS,
    PENALTY,
    QUARTERS,
    Ties,
    context_words,
    detectable_share,
    distinct_draws,
    find_ties,
    fit_references,
    found_words,
    frequent_words,
    level,
    list_words,
    people_draws,
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


def fitted(value, said, draws=2, join=1, **options):
    """References of these images, and the rows of the captions drawn."""
    human = csr_array(said.reshape(-1, WORDS).astype(float))
    image = np.repeat(np.arange(len(value)), said.shape[1])
    columns = context_words(human, np.arange(WORDS) < OWN, np.ones(len(image)))
    drawn = distinct_draws(image, draws, join)
    return fit(value, people_draws(human, image, drawn, columns), **options), drawn, columns


def fit(value, draws, **options):
    plain = {"weights": np.ones(len(value)), "pictures": np.arange(len(value)), "seed": 0, "values": value.max() + 1}
    return fit_references(value, draws, **plain | options)


def every_tie(captioner, references):
    return find_ties(csr_array(captioner), references, np.arange(WORDS))


def test_ties_and_their_errors_are_those_of_the_regressions():
    value, said, captioner, random = pictures(240, values=3)
    captioner = captioner * random.choice([0.5, 1.0], (240, 1))  # two captions of some images
    weights = random.integers(1, 4, 240).astype(float)
    copies = np.arange(240) // 2
    references, drawn, columns = fitted(value, said, weights=weights, pictures=copies, values=3)
    found = every_tie(captioner, references)

    place = np.random.default_rng([0, 9]).permutation(120)[copies]
    fold, group = place // QUARTERS % FOLDS, place % (QUARTERS * FOLDS * GROUPS)
    by_level = level(csr_array(captioner), references)[value][:, None]

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
            assert found.captioner[contrast, word] == pytest.approx(ties[0], abs=1e-3)
            assert found.person[contrast, word] == pytest.approx(ties[1], abs=1e-3)
            assert found.beyond[contrast, word] == pytest.approx(ties[0] - ties[1], abs=1e-3)
            assert found.error[contrast, word] == pytest.approx(error, rel=1e-3)


def test_values_swapped_turn_the_signs_and_nothing_else():
    value, said, captioner, _ = pictures(1200)
    captioner[value == 0, OWN] = np.arange((value == 0).sum()) % 5 == 0
    references, swapped = (fitted(each, said)[0] for each in (value, 1 - value))
    found, turned = every_tie(captioner, references), every_tie(captioner, swapped)
    np.testing.assert_allclose(found.beyond, -turned.beyond, atol=1e-3)
    np.testing.assert_allclose(found.error, turned.error, rtol=1e-3)
    scores = [found_words(csr_array(captioner), each, np.arange(WORDS)) for each in (references, swapped)]
    assert scores[0].value == pytest.approx(scores[1].value, rel=1e-3)
    assert scores[0].error == pytest.approx(scores[1].error, rel=1e-3)


def test_an_image_of_weight_w_is_w_copies_of_it():
    value, said, captioner, random = pictures(300)
    weights = random.integers(1, 4, 300)
    rows = np.repeat(np.arange(300), weights)
    weighted, drawn, columns = fitted(value, said, weights=weights.astype(float))
    human = csr_array(said[rows].reshape(-1, WORDS).astype(float))
    image = np.repeat(np.arange(len(rows)), 5)
    same = [np.arange(len(rows)) * 5 + of_draw[rows] % 5 for of_draw in drawn]
    repeated = fit(value[rows], people_draws(human, image, same, columns), pictures=rows)
    for one, other in zip(every_tie(captioner, weighted), every_tie(captioner[rows], repeated), strict=True):
        np.testing.assert_allclose(one, other, atol=2e-3)


@pytest.mark.parametrize("values", [2, 3])
def test_of_a_person_no_word_is_listed_and_nothing_is_found(values):
    value, said, person, _ = pictures(4000, values=values)
    references, *_ = fitted(value, said, values=values)
    words = frequent_words(csr_array(person), references, np.ones(WORDS, bool))
    ties = find_ties(csr_array(person), references, words)
    assert not list_words(ties).listed.any()
    assert np.sqrt(np.mean((ties.beyond / ties.error) ** 2)) == pytest.approx(1, abs=0.3)
    found = found_words(csr_array(person), references, words)
    assert found.value == pytest.approx(0, abs=0.5)
    assert found.value < 1.96 * found.error


def test_a_word_put_into_captions_of_one_value_is_listed_and_counted():
    value, said, captioner, random = pictures(4000)
    captioner[:, OWN] = (value == 1) & (random.random(4000) < 0.2)
    captioner[:, OWN + 1] = (value == 0) & (random.random(4000) < 0.12)
    references, *_ = fitted(value, said)
    ties = every_tie(captioner, references)
    listed, q = list_words(ties)
    assert np.flatnonzero(listed[0]).tolist() == [OWN, OWN + 1]
    assert ties.beyond[0, OWN : OWN + 2] == pytest.approx([-20, 12], abs=2)
    assert ties.more[0, OWN : OWN + 2].all()
    assert q[0, OWN] < 1e-6
    words = np.arange(WORDS)
    found = found_words(csr_array(captioner), references, words)
    assert found.value == pytest.approx((20 + 12) / 2, abs=2)
    assert 0.2 < found.error < 2


def test_a_word_said_of_one_value_alone_is_listed_though_it_has_no_error_and_one_said_of_all_is_not():
    always, never = np.array([[100.0, 0.0]]), np.zeros((1, 2))
    assert list_words(Ties(always, never, always, never, always, never)).listed.tolist() == [[True, False]]


def test_of_three_values_a_score_is_the_mean_over_values():
    """A word in 20 of 100 captions of one value is 10 of 100 fewer than elsewhere in those of either other one."""
    value, said, captioner, random = pictures(6000, values=3)
    captioner[:, OWN] = (value == 2) & (random.random(6000) < 0.2)
    references, *_ = fitted(value, said, values=3)
    assert every_tie(captioner, references).beyond[:, OWN] == pytest.approx([-10, -10, 20], abs=2)
    found = found_words(csr_array(captioner), references, np.arange(WORDS))
    assert found.value == pytest.approx((10 + 10 + 20) / 6, abs=1)


def test_a_word_that_people_tie_and_the_captioner_lacks_is_less_and_is_not_counted():
    value, said, captioner, random = pictures(4000)
    said[..., OWN] = (value == 0)[:, None] & (random.random((4000, 5)) < 0.2)
    references, *_ = fitted(value, said)
    ties = every_tie(captioner, references)
    assert list_words(ties).listed[0, OWN]
    assert not ties.more[0, OWN]
    assert found_words(csr_array(captioner), references, np.arange(WORDS)).value == pytest.approx(0, abs=0.5)


def test_a_word_said_more_often_is_no_more_than_that_where_people_say_it_alike():
    value, said, captioner, random = pictures(4000)
    for share, table in ((0.05, said), (0.15, captioner)):
        lean = np.where(value == 0, 3 * share, share)
        table[..., OWN] = random.random(table.shape[:-1]) < (lean[:, None] if table.ndim > 2 else lean)
    references, *_ = fitted(value, said)
    ties = every_tie(captioner, references)
    assert ties.beyond[0, OWN] == pytest.approx(20, abs=3)
    assert not ties.also_scaled[0, OWN]


def test_fewer_words_of_one_value_are_a_level_and_no_list_of_words():
    value, said, captioner, random = pictures(4000)
    captioner *= np.where(value == 0, random.random((WORDS, 4000)) < 0.8, 1).T
    references, *_ = fitted(value, said)
    of_values = level(csr_array(captioner), references)
    assert of_values[0] / of_values[1] == pytest.approx(0.8, abs=0.03)
    assert not list_words(every_tie(captioner, references)).listed.any()


def test_tasks_given_as_contents_explain_who_names_all_of_them():
    value, said, captioner, random = pictures(4000)
    shown = random.random(4000) < np.where(value == 0, 0.6, 0.1)
    captioner[:, OWN] = shown
    human = csr_array(said.reshape(-1, WORDS).astype(float))
    image = np.repeat(np.arange(4000), 5)
    columns = context_words(human, np.arange(WORDS) < OWN, np.ones(len(image)))
    drawn = distinct_draws(image, 2)
    ties = []
    for tasks in (None, csr_array(shown[:, None].astype(float))):
        references = fit(value, people_draws(human, image, drawn, columns, tasks))
        ties.append(every_tie(captioner, references).beyond[0, OWN])
    assert ties[0] > 20
    assert ties[1] == pytest.approx(0, abs=2)


def test_longer_captions_are_compared_with_as_many_joined_ones():
    value, said, _, _ = pictures(4000, captions=6)
    longer = (said[:, 0] | said[:, 1]).astype(float)
    references, *_ = fitted(value, said[:, 2:], join=2)
    assert not list_words(every_tie(longer, references)).listed.any()


def test_captions_are_drawn_once_before_any_is_again():
    image = np.array([0, 0, 0, 1, 1, 1, 1, 2, 2])
    drawn = np.array(distinct_draws(image, 4))
    assert (image[drawn] == [0, 1, 2]).all()
    assert [len(set(rows)) for rows in drawn.T] == [3, 4, 2]
    joined = distinct_draws(image, 2, join=2)
    assert sorted(image[joined[0]]) == [0, 0, 1, 1, 2, 2]
    assert len(set(joined[0])) == 6


def test_copies_of_a_picture_draw_the_captions_at_the_same_places():
    image, pictures = np.repeat(np.arange(40), 5), np.arange(40) // 2
    for rows in distinct_draws(image, 3, pictures=pictures):
        places = rows - 5 * np.arange(40)
        assert (places[::2] == places[1::2]).all()
        assert len(set(places.tolist())) > 1


def test_what_would_have_been_seen_shrinks_with_more_images():
    seen = []
    for images in (500, 4000):
        value, said, *_ = pictures(images)
        seen.append(detectable_share(fitted(value, said)[0], WORDS))
    assert (seen[0] > seen[1]).all()
    assert (seen[1] <= 3).all()


def test_too_few_pictures_have_a_list_and_no_score():
    value, said, captioner, _ = pictures(900)
    references, *_ = fitted(value, said)
    assert list_words(every_tie(captioner, references)).q.shape == (1, WORDS)
    assert found_words(csr_array(captioner), references, np.arange(WORDS)) is None
