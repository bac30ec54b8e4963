"""Sessions keep what each user has: found again by a token, removed in a fair order, and whoever lost one is told."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from captionbias.app import sessions as module
from captionbias.app.sessions import EXPIRES, GRACE, Sessions, address_of
from captionbias.app.upload_state import Data, read_uploads
from captionbias.captions.tables import Table

MB = 1_000_000


@pytest.fixture
def clock(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


def asked(key, address="1.2.3.4", **headers):
    return SimpleNamespace(session_hash=key, client=SimpleNamespace(host=address), headers=headers)


def data(size=1, name="nic"):
    return Data({name: Table(name, ("caption",), lambda column: [], size)})


def run(size=0, report="report"):
    return SimpleNamespace(size=size, report=report)


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
    assert not found.adopt(asked("b"), None)
    assert not found.of(asked("b")).data
    assert found.adopt(asked("b", "5.6.7.8"), session.token)
    assert found.of(asked("b")) is found.of(asked("a")) is session
    for number in range(50):
        found.adopt(asked(f"again {number}"), session.token)
    assert found.of(asked("again 49")) is session
    assert len(session.keys) <= 11


def test_data_can_be_undone_step_by_step_and_take_the_result_of_others_away():
    found = Sessions()
    session = found.of(asked("a"))
    first, second = data(), data()
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


def test_each_result_has_a_name_of_its_own_that_cannot_be_guessed():
    found = Sessions()
    session = found.of(asked("a"))
    names = [found.finish(session, run()) for _ in range(3)]
    assert len({*names, session.token}) == 4
    assert min(map(len, names)) >= 32
    assert [bool(found.result(name)) for name in names] == [False, False, True]


def test_memory_counts_the_tables_once_and_the_result(write):
    path = write("nic.csv", {"id": range(1000), "caption": ["a man rides"] * 1000})
    read = read_uploads([str(path)])
    (table,) = read.predictions.values()
    held = sum(len(str(table.read(column))) for column in table.columns)
    assert held * 0.9 < table.size < held * 1.1
    found = Sessions()
    session = found.of(asked("a"))
    found.keep(session, read)
    found.keep(session, Data(read.predictions, references=data(5).predictions["nic"]))
    assert session.size == table.size + 5
    found.finish(session, run(7))
    assert session.size == table.size + 12


def test_room_is_made_by_who_was_unused_longest_and_whoever_comes_back_is_told(clock):
    found = Sessions(most=100 * MB)
    keep = {}
    for number, name in enumerate("abc"):
        clock[0] += 1
        keep[name] = found.of(asked(name, address=name))
        found.keep(keep[name], data(40 * MB))
        assert [bool(found.of(asked(one, address=one)).data) for one in "abc"[: number + 1]][-1]
        clock[0] += 1
        found.of(asked("a", address="a"))  # is used again and again
    gone = found.of(asked("b", address="b"))
    assert not gone.data
    assert gone.gone == "your data are not here any more: room was needed for other users; give the files again"
    assert found.of(asked("a", address="a")).data
    assert not found.adopt(asked("b again", address="b"), keep["b"].token)
    assert "not here any more" in found.of(asked("b again", address="b")).gone
    found.keep(gone, data())
    assert gone.gone == ""


def test_an_address_makes_room_of_its_own(clock):
    found = Sessions(of_address=100 * MB)
    for number, name in enumerate("abc"):
        clock[0] = 1000 + number
        found.keep(found.of(asked(name)), data(40 * MB))
    found.keep(found.of(asked("other", address="other")), data(40 * MB))
    assert [bool(found.of(asked(name)).data) for name in "abc"] == [False, True, True]
    assert "from the same address" in found.of(asked("a")).gone or found.of(asked("a"))
    with pytest.raises(ValueError, match="no room for them now: wait"):
        found.keep(found.of(asked("b")), data(101 * MB))
    assert found.of(asked("b")).data.predictions["nic"].size == 40 * MB
    assert found.of(asked("other", address="other")).data


def test_page_loads_remove_no_data(monkeypatch, clock):
    """However many there are, of one address or of many."""
    monkeypatch.setattr(module, "MAX_SESSIONS", 50)
    monkeypatch.setattr(module, "MAX_EMPTY", 10)
    found = Sessions()
    found.keep(found.of(asked("a")), data())
    for number in range(200):
        clock[0] += 1
        found.of(asked(f"empty {number}"))
        found.of(asked(f"from {number}", address=str(number)))
    assert found.of(asked("a")).data
    assert len(found._sessions) <= 50


def test_sessions_expire_an_hour_after_their_last_use_but_not_during_a_run(clock):
    found = Sessions()
    for name in ("idle", "works", "used"):
        found.keep(found.of(asked(name)), data())
    name = found.finish(found.of(asked("idle")), run())
    found.of(asked("works")).progress = (0.5, "measuring")
    clock[0] += EXPIRES - 1
    assert found.result(name)
    assert found.of(asked("used")).data
    clock[0] += 2
    assert found.result(name) is None
    assert [bool(found.of(asked(name)).data) for name in ("idle", "works", "used")] == [False, True, True]
    assert "were not used for 60 minutes" in found.of(asked("idle")).gone


def test_a_session_is_here_while_any_of_its_pages_is_connected_and_some_seconds_more(clock):
    found = Sessions()
    session = found.of(asked("a"))
    clock[0] += GRACE + 1
    assert not found.here(session)
    with found.connected("a"), found.connected("a"):
        assert found.here(session)
    assert found.here(session)
    clock[0] += GRACE - 1
    assert found.here(session)
    clock[0] += 2
    assert not found.here(session)
    found.adopt(asked("b"), session.token)
    with found.connected("b"):
        clock[0] += 1000
        assert found.here(session)
        found.close()
        assert not found.here(session)


def test_the_address_is_who_connects_and_on_a_space_the_last_hop_that_its_proxy_names(monkeypatch):
    request = asked("a", "10.0.0.1", **{"x-forwarded-for": "6.6.6.6, 9.9.9.9"})
    assert address_of(request) == "10.0.0.1"
    monkeypatch.setenv("SPACE_ID", "alice/captionbias")
    assert address_of(request) == "9.9.9.9"
    assert address_of(asked("a")) == "1.2.3.4"
