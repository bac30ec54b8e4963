"""Sessions keep what each user has, and whoever lost it is told; runs work one at a time, and can be cancelled."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace

import pytest

from captionbias.app import sessions as module
from captionbias.app.data import Columns, Data
from captionbias.app.sessions import EXPIRES, MAX_HELD, CancelledError, Session, Sessions
from captionbias.captions.tables import Table


@pytest.fixture
def clock(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


def asked(key):
    return SimpleNamespace(session_hash=key)


def data():
    return Data({"nic": Table("nic", ("caption",), lambda column: [])})


def run():
    return SimpleNamespace(report="report")


def ignore(share: float, desc: str) -> None:
    pass


def cancelled(watch) -> bool:
    try:
        watch("step", 0.5)
    except CancelledError:
        return True
    return False


def test_each_page_has_its_own_session_and_one_without_a_name_is_nobodys():
    found = Sessions()
    assert found.of(asked("a")) is found.of(asked("a"))
    assert found.of(asked("a")) is not found.of(asked("b"))
    assert found.of(asked(None)) is not found.of(asked(None))


def test_a_page_that_is_loaded_again_gets_its_session_back_by_the_token_alone():
    found = Sessions()
    session = found.of(asked("a"))
    found.keep(session, data())
    assert not found.adopt(asked("b"), "guessed")
    assert not found.of(asked("b")).data
    assert found.adopt(asked("b"), session.token)
    assert found.of(asked("b")) is found.of(asked("a")) is session


def test_data_can_be_undone_step_by_step_and_take_the_result_of_others_away():
    found = Sessions()
    session = found.of(asked("a"))
    first = data()
    second = replace(first, columns=Columns("image"))
    found.keep(session, first)
    name = found.finish(session, run())
    assert found.result(name) is session.run
    found.keep(session, second)
    assert (session.run, session.result, found.result(name)) == (None, "", None)
    assert found.undo(session) is first
    assert session.data is first
    with pytest.raises(ValueError, match="nothing to undo"):
        found.undo(session)
    assert found.result("") is None
    found.keep(session, second)
    found.keep(session, data())  # other files, of which nothing is kept
    assert not session.past


def test_room_is_made_by_who_was_unused_longest_and_whoever_comes_back_is_told(clock):
    found = Sessions()
    names = [f"page {number}" for number in range(MAX_HELD)]
    for name in names:
        clock[0] += 1
        found.keep(found.of(asked(name)), data())
    found.of(asked(names[0]))  # is used again
    found.keep(found.of(asked("new")), data())
    assert [name for name in names if not found.of(asked(name)).data] == [names[1]]
    gone = found.of(asked(names[1]))
    assert "your data are not here any more" in gone.gone
    found.keep(gone, data())
    assert gone.gone == ""


def test_page_loads_remove_no_data(monkeypatch, clock):
    monkeypatch.setattr(module, "MAX_SESSIONS", 50)
    found = Sessions()
    found.keep(found.of(asked("a")), data())
    token = found.of(asked("a")).token
    for number in range(200):
        clock[0] += 1
        found.of(asked(f"empty {number}"))
    assert found.adopt(asked("again"), token)
    assert found.of(asked("again")).data
    assert not found.of(asked("empty 0")).data


def test_sessions_expire_an_hour_after_their_last_use_but_not_during_a_run(clock):
    found = Sessions()
    for name in ("idle", "works", "used"):
        found.keep(found.of(asked(name)), data())
    name = found.finish(found.of(asked("idle")), run())
    found.of(asked("works")).ask()
    with found.running(found.of(asked("works")), ignore):
        clock[0] += EXPIRES - 1
        assert found.result(name)
        assert found.of(asked("used")).data
        clock[0] += 2
        assert found.result(name) is None
    assert [bool(found.of(asked(name)).data) for name in ("idle", "works", "used")] == [False, True, True]
    assert "an hour after their last use" in found.of(asked("idle")).gone


# Runs


def test_a_session_cancels_its_own_run_and_no_other():
    found, a, b = Sessions(), Session(), Session()
    a.ask()
    with found.running(a, ignore) as watch:
        assert not b.cancel()
        assert not cancelled(watch)
        assert a.cancel()
        assert cancelled(watch)
    assert not a.cancel()
    a.ask()
    assert a.cancel()
    with pytest.raises(CancelledError), found.running(a, ignore):
        raise AssertionError("it began")


def test_a_later_run_ends_the_earlier_one_and_begins_after_it():
    found, worked, a = Sessions(), [], Session()
    a.ask()

    def later():
        a.ask()
        with found.running(a, ignore) as watch:
            worked.append("later")
            watch("step", 0.5)

    with ThreadPoolExecutor(1) as pool, found.running(a, ignore) as watch:
        waiting = pool.submit(later)
        while not cancelled(watch):
            time.sleep(0.01)
        assert worked == []
        worked.append("earlier")
    waiting.result()
    assert worked == ["earlier", "later"]


def test_a_run_ends_with_the_page_that_began_it_and_with_all_pages():
    found = Sessions()
    session = found.of(asked("a"))
    found.adopt(asked("b"), session.token)
    session.ask("a")
    with found.running(session, ignore) as watch:
        for other in ("b", "c", None):
            found.leave(asked(other))
        assert not cancelled(watch)
        found.leave(asked("a"))
        assert cancelled(watch)
    session.ask("b")
    with found.running(session, ignore) as watch:
        found.close()
        assert cancelled(watch)


def test_the_time_of_a_run_is_shown_and_limited(clock):
    found, shown, a = Sessions(), [], Session()
    a.ask()
    with found.running(a, lambda share, desc: shown.append((share, desc)), seconds=60) as watch:
        clock[0] += 30
        watch("step", 0.5)
        clock[0] += 31
        with pytest.raises(ValueError, match="took more than 1 minutes, the limit of this page: take the fast preset"):
            watch("step", 0.75)
    assert shown == [(0.0, "starting"), (0.5, "step, about 30 s left")]
