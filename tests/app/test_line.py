"""A line gives each address its turn, and limits how many one address begins."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from captionbias.app.line import IN_LINE, OF_ADDRESS, Line
from tests.patience import PATIENCE


def test_who_begins_many_does_not_hold_up_another_address_and_can_only_begin_some():
    line, order, waiting = Line(), [], []

    def work(address, number):
        with line.turn(address, lambda before: waiting.append((address, number))):
            order.append((address, number))

    with ThreadPoolExecutor(OF_ADDRESS + 1) as pool, line.turn("many"):
        for number in range(1, OF_ADDRESS):
            pool.submit(work, "many", number)
            while ("many", number) not in waiting:
                time.sleep(0.01)
        with pytest.raises(ValueError, match="8 are from your address"):
            work("many", OF_ADDRESS)
        pool.submit(work, "one", 0)
        while ("one", 0) not in waiting:
            time.sleep(0.01)
    assert order == [("one", 0), *(("many", number) for number in range(1, OF_ADDRESS))]


def test_several_places_are_taken_at_once():
    line, together = Line(2), Barrier(2, timeout=PATIENCE)

    def work(number):
        with line.turn(""):
            together.wait()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(4))) == [None] * 4


def test_all_addresses_together_are_limited():
    line, waiting = Line(), []
    with ThreadPoolExecutor(IN_LINE) as pool, line.turn("first"):
        for number in range(1, IN_LINE):
            pool.submit(line.turn(str(number), lambda before: waiting.append(before)).__enter__)
        while len(set(waiting)) < IN_LINE - 1:
            time.sleep(0.01)
        with pytest.raises(ValueError, match="20 in all"), line.turn("last"):
            raise AssertionError("it began")
