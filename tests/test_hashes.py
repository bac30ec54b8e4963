"""Numbers of texts: by definition, without collisions, and draws and groups that mind neither place nor order."""

import numpy as np

from captionbias.bench.reading import draw_captions
from captionbias.hashes import hashes_of, sums_of
from captionbias.statistics.groups import GROUPS, random_groups

GOLDEN, ALL = 0x9E3779B97F4A7C15, 2**64 - 1
TEXTS = [f"a man with {number} dogs" for number in range(10_000)]


def mixed(number):
    number = (number + GOLDEN) * 0xBF58476D1CE4E5B9 & ALL
    number = (number ^ number >> 27) * 0x94D049BB133111EB & ALL
    return number ^ number >> 31


def test_a_number_is_that_of_its_bytes_in_eights_and_of_its_length():
    text = "a man é".encode()  # eight bytes
    one = mixed(int.from_bytes(text, "little"))
    two = mixed(ord("!") ^ (8 * GOLDEN & ALL))
    assert hashes_of(["a man é", " a man é!\n"]).tolist() == [mixed(one + 8 & ALL), mixed(one + two + 9 & ALL)]


def test_other_texts_have_other_numbers_in_any_order_and_sums_are_of_so_many_at_a_time():
    found = hashes_of(TEXTS)
    assert len(set(found.tolist())) == len(TEXTS)
    assert (hashes_of(TEXTS[::-1])[::-1] == found).all()
    assert len({*hashes_of(["", "\0", "a", "a\0", "\ud800"]).tolist()}) == 5
    assert sums_of(found[:3], np.array([2, 0, 1])).tolist() == [sum(found[:2].tolist()) & ALL, 0, int(found[2])]


def test_draws_and_groups_mind_neither_place_nor_order_and_groups_are_filled_evenly():
    keys, image = hashes_of(TEXTS), np.repeat(np.arange(2000), 5)
    drawn, turned = draw_captions(image, keys, 7), draw_captions(image, keys[::-1], 7)
    assert {*keys[drawn].tolist()} == {*keys[::-1][turned].tolist()}
    assert (np.abs(np.bincount(drawn % 5) - 400) < 90).all()  # 5 standard deviations
    assert (draw_captions(image, keys, 8) != drawn).any()
    groups, of_some = random_groups(keys, 0), random_groups(keys[::2], 0)
    assert ((groups[::2, None] == groups[:20:2]) == (of_some[:, None] == of_some[:10])).all()
    counts = np.bincount(groups, minlength=GROUPS)
    assert abs(np.var(counts) - len(TEXTS) / GROUPS) < 0.3  # as by chance: Poisson
