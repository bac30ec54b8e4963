"""A run is cancelled by its own session, by a later run of that session, or when its time is over."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from captionbias.app.runs import CancelledError, Runs


def ignore(share: float, text: str) -> None:
    pass


def cancelled(watch) -> bool:
    try:
        watch("step", 0.5)
    except CancelledError:
        return True
    return False


def test_a_session_cancels_its_own_run_and_no_other():
    runs = Runs()
    with runs.begun("a", ignore) as watch:
        assert not runs.cancel("b")
        watch("step", 0.5)
        assert runs.cancel("a")
        with pytest.raises(CancelledError):
            watch("step", 0.5)
    assert not runs.cancel("a")


def test_a_later_run_of_a_session_ends_the_earlier_one_and_waits_for_that():
    runs, worked = Runs(), []

    def later():
        with runs.begun("a", ignore) as watch:
            worked.append("later")
            watch("step", 0.5)

    with ThreadPoolExecutor(1) as pool, runs.begun("a", ignore) as watch:
        waiting = pool.submit(later)
        while not cancelled(watch):
            time.sleep(0.01)
        assert worked == []
        worked.append("earlier")
    waiting.result()
    assert worked == ["earlier", "later"]


def test_a_run_that_waits_for_another_can_be_cancelled():
    runs = Runs()

    def wait():
        with runs.begun("b", ignore):
            raise AssertionError("it never works")

    with ThreadPoolExecutor(1) as pool, runs.begun("a", ignore):
        waiting = pool.submit(wait)
        while not runs.cancel("b"):
            time.sleep(0.01)
        with pytest.raises(CancelledError):
            waiting.result()


def test_runs_work_in_the_order_in_which_they_were_begun_and_say_how_many_are_before_them():
    runs, order, shown = Runs(), [], {}

    def wait(session):
        with runs.begun(session, lambda share, text: shown.update({session: text})):
            order.append(session)

    with ThreadPoolExecutor(3) as pool, runs.begun("a", ignore):
        waiting = []
        for session in "bcd":
            waiting.append(pool.submit(wait, session))
            while session not in shown:
                time.sleep(0.01)
        assert list(shown.values()) == [
            f"waiting for {before}" for before in ("1 earlier run", "2 earlier runs", "3 earlier runs")
        ]
        runs.cancel("c")
        with pytest.raises(CancelledError):
            waiting[1].result()
        while shown["d"] != "waiting for 2 earlier runs":
            time.sleep(0.01)
    assert order == ["b", "d"]


def test_the_time_of_a_run_begins_with_its_work(monkeypatch):
    clock, shown = [0.0], []
    monkeypatch.setattr("captionbias.app.runs.time", SimpleNamespace(monotonic=lambda: clock[0]))
    runs = Runs(seconds=1)

    def wait():
        with runs.begun("b", lambda share, text: shown.append(text)) as watch:
            watch("step", 0.5)

    with ThreadPoolExecutor(1) as pool:
        with runs.begun("a", ignore):
            waiting = pool.submit(wait)
            while not shown:
                time.sleep(0.01)
            clock[0] = 10.0
        waiting.result()


def test_a_run_that_takes_too_long_is_told_what_to_do():
    with Runs(seconds=1e-9).begun("a", ignore) as watch, pytest.raises(ValueError, match="take the fast preset"):
        watch("step", 0.5)


def test_steps_and_shares_are_shown():
    shown = []
    with Runs().begun("a", lambda share, text: shown.append((share, text))) as watch:
        watch("reading", 0.0)
        watch("lic", 0.5)
    assert shown == [(0.0, "reading"), (0.5, "lic")]
