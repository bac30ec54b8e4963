"""A run is cancelled by its own session, by a later run, when nobody listens, or when its time is over."""

from __future__ import annotations

import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from threading import Barrier
from types import SimpleNamespace

import pytest

from captionbias.app.runs import CancelledError, Runs, _importing, heard, listen
from captionbias.app.sessions import Session
from captionbias.captions import CaptionBiasWarning
from tests.patience import PATIENCE


def ignore(share: float, text: str) -> None:
    pass


def cancelled(watch) -> bool:
    try:
        watch("step", 0.5)
    except CancelledError:
        return True
    return False


def test_a_session_cancels_its_own_run_and_no_other():
    runs, a, b = Runs(), Session(), Session()
    with runs.begun(a, ignore) as watch:
        assert not runs.cancel(b)
        assert not cancelled(watch)
        assert runs.cancel(a)
        assert cancelled(watch)
    assert not runs.cancel(a)


def test_a_run_that_was_cancelled_before_it_began_does_not_begin():
    runs, a = Runs(), Session()
    runs.request(a)
    assert not runs.cancel(Session())
    assert runs.cancel(a)
    with pytest.raises(CancelledError), runs.begun(a, ignore):
        raise AssertionError("it began")
    assert not runs.cancel(a)
    runs.request(a)
    with runs.begun(a, ignore) as watch:
        assert not cancelled(watch)


def test_a_later_run_of_a_session_ends_the_earlier_one_and_waits_for_that():
    runs, worked, a = Runs(), [], Session()

    def later():
        with runs.begun(a, ignore) as watch:
            worked.append("later")
            watch("step", 0.5)

    with ThreadPoolExecutor(1) as pool, runs.begun(a, ignore) as watch:
        waiting = pool.submit(later)
        while not cancelled(watch):
            time.sleep(0.01)
        assert worked == []
        worked.append("earlier")
    waiting.result()
    assert worked == ["earlier", "later"]


def test_runs_of_an_address_work_in_their_order_and_say_how_many_are_before_them():
    runs, order, shown = Runs(), [], {}
    sessions = {name: Session() for name in "abcd"}

    def wait(name):
        with runs.begun(sessions[name], lambda share, text: shown.update({name: text})):
            order.append(name)

    with ThreadPoolExecutor(3) as pool, runs.begun(sessions["a"], ignore):
        waiting = []
        for number, name in enumerate("bcd", 1):
            waiting.append(pool.submit(wait, name))
            while shown.get(name) != f"waiting for {number} earlier run{'s' if number > 1 else ''}":
                time.sleep(0.01)
        runs.cancel(sessions["c"])
        with pytest.raises(CancelledError):
            waiting[1].result()
        while shown["d"] != "waiting for 2 earlier runs":
            time.sleep(0.01)
    assert order == ["b", "d"]


@pytest.mark.parametrize("waits", [False, True])
def test_a_run_that_nobody_listens_to_is_dropped_also_while_it_waits(waits):
    here = {"a": True, "b": True}
    runs = Runs(here=lambda session: here[session.address])
    with runs.begun(Session("a"), ignore) as watch:
        assert not cancelled(watch)
        if waits:
            shown = []
            with ThreadPoolExecutor(1) as pool:
                waiting = pool.submit(lambda: runs.begun(Session("b"), lambda *told: shown.append(told)).__enter__())
                while not shown:
                    time.sleep(0.01)
                here["b"] = False
                with pytest.raises(CancelledError):
                    waiting.result()
        else:
            here["a"] = False
            assert cancelled(watch)


def test_progress_is_told_from_the_beginning_and_kept_while_the_run_goes_on():
    shown, session = [], Session()
    with Runs().begun(session, lambda *told: shown.append(told)) as watch:
        assert shown[0] == session.progress == (0.0, "starting")
        watch("measuring", 0.5)
        assert shown[-1] == session.progress == (0.5, "measuring")
    assert session.progress is None


def test_a_run_waits_for_what_is_being_imported():
    worked = []

    def work():
        with Runs().begun(Session(), ignore):
            worked.append(True)

    with ThreadPoolExecutor(1) as pool:
        with _importing:
            begun = pool.submit(work)
            with pytest.raises(FutureTimeout):
                begun.result(0.2)
        begun.result()
    assert worked


def test_the_time_of_a_run_begins_with_its_work_and_is_limited(monkeypatch):
    clock, shown = [0.0], []
    monkeypatch.setattr("captionbias.app.runs.time", SimpleNamespace(monotonic=lambda: clock[0]))
    runs = Runs(seconds=1)

    def wait():
        with runs.begun(Session(), lambda share, text: shown.append((share, text))) as watch:
            watch("step", 0.5)
            clock[0] += 2
            watch("step", 0.75)

    with ThreadPoolExecutor(1) as pool:
        with runs.begun(Session(), ignore):
            waiting = pool.submit(wait)
            while len(shown) < 2:
                time.sleep(0.01)
            clock[0] = 10.0
        with pytest.raises(ValueError, match="take the fast preset"):
            waiting.result()
    told = list(dict.fromkeys(shown))
    assert told == [(0.0, "starting"), (0.0, "waiting for 1 earlier run"), (0.5, "step")]


def test_each_thread_hears_its_own_warnings_once():
    together = Barrier(4, timeout=PATIENCE)

    def work(number: int) -> list[str]:
        with heard() as notes:
            together.wait()
            for _ in range(3):
                warnings.warn(f"note {number}", CaptionBiasWarning, stacklevel=1)
            together.wait()
        return notes

    with warnings.catch_warnings(), ThreadPoolExecutor(4) as pool:
        listen()
        assert list(pool.map(work, range(4))) == [[f"note {number}"] for number in range(4)]


def test_other_warnings_and_those_that_nobody_hears_go_where_they_went():
    before = []
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *_, **__: before.append(str(message))
        listen()
        with heard() as notes:
            warnings.warn("other", UserWarning, stacklevel=1)
        warnings.warn("nobody hears", CaptionBiasWarning, stacklevel=1)
    assert (notes, before) == ([], ["other", "nobody hears"])
