"""A run keeps what it was asked for, works in its turn whatever becomes of its page, and ends when nobody looks."""

import json
import time
from dataclasses import replace
from threading import Event
from types import SimpleNamespace

import gradio as gr
import pytest

from captionbias.app import runs as module
from captionbias.app.data import CAPTIONER, Columns, Data
from captionbias.app.measuring import Look, PageSettings
from captionbias.app.page import METRICS, Page
from captionbias.app.results import RunResult
from captionbias.app.runs import EXPIRES, KEPT, MAX_HELD, MAX_OF_ONE, MAX_WAITING, REPORT, Run, Runs, State
from tests.patience import PATIENCE
from tests.refusals import refuses


@pytest.fixture
def clock(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0], time=lambda: 5000 + now[0]))
    return now


class Work:
    """Measures a part, then the whole, each when it may; `watch` is the function that a run is told by."""

    def __init__(self):
        self.first, self.rest, self.begun, self.order, self.watch = Event(), Event(), Event(), [], None

    def __call__(self, run, watch):
        self.order.append(run)
        self.watch = watch
        self.begun.set()
        for part, may in ((False, self.first), (True, self.rest)):
            while not may.wait(0.01):
                watch("step", 0.5)
            yield SimpleNamespace(whole=part, report="report")


@pytest.fixture
def work():
    return Work()


@pytest.fixture
def found(work):
    runs = Runs(work, unseen=60)
    yield runs
    runs.close()


def ask(runs, owner=""):
    """Ask for another run of this owner."""
    return runs.ask(Run(owner, data=data()), owner)


def data(name="nic"):
    return module._names_of({name: CAPTIONER}, ["caption"])


def wait_for(true):
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_draft_is_changed_and_what_was_asked_for_stays_as_it_was(found, work):
    draft = found.change(Run("me"), "me", data(), PageSettings())
    assert found.find(draft.id) is draft
    assert found.change(draft, "me", draft.data, PageSettings("race")) is draft
    asked = found.ask(draft, "me")
    assert asked is draft
    other = found.change(draft, "me", draft.data, PageSettings("race", seed=5))
    assert (other.id == draft.id, other.state, other.data) == (False, State.DRAFT, draft.data)
    assert (draft.settings, other.settings) == (PageSettings("race"), PageSettings("race", seed=5))
    assert found.change(draft, "me", draft.data, draft.settings) is draft, "what changes nothing is no change"
    assert found.ask(draft, "me") is not draft, "measured again it is another run"
    assert found.change(other, "a visitor", other.data, PageSettings()) is not other


def test_files_that_are_read_make_another_run_and_what_is_wrong_with_them_is_told(found, work):
    first = found.keep(Run("me", data=data(), settings=PageSettings(seed=7)))
    may = Event()

    def read():
        assert may.wait(PATIENCE)
        return data("sat"), {"sat": "digest"}

    second = found.read(first, "me", read)
    assert (second.state, bool(second.data), second.ready) == (State.READING, False, False)
    refuses("the files are still being read", found.ask, second, "me")
    may.set()
    second.reading.result(PATIENCE)
    assert (second.state, list(second.data.predictions), second.settings.seed) == (State.DRAFT, ["sat"], 7)
    assert (list(first.data.predictions), second.files) == (["nic"], {"sat": "digest"})

    def refuse():
        raise ValueError("nic.csv is empty")

    third = found.read(second, "me", refuse)
    third.reading.result(PATIENCE)
    assert (third.state, third.message, bool(third.data)) == (State.DRAFT, "nic.csv is empty", False)


def test_files_that_are_given_while_others_are_read_stay_what_the_page_shows(found):
    with gr.Blocks() as app:
        page, may, request = Page(app, found, METRICS), Event(), SimpleNamespace(session_hash="a tab")
    first = found.read(Run("me"), "me", lambda: (Data(), {}) if may.wait(PATIENCE) else None)
    second = found.read(first, "me", lambda: (data("sat"), {}))
    first.page = second.page = "a tab"
    may.set()
    late = [page._read(first.id, "me", request), page._tick(first.id, "me", -1, request)]
    assert late == [gr.skip(), gr.skip()]
    assert page._read(second.id, "me", request)[page.run] == second.id


def test_runs_are_measured_one_by_one_in_the_order_in_which_they_were_asked_for(found, work):
    asked = [ask(found, owner) for owner in ("a", "b", "a")]
    work.begun.wait(PATIENCE)
    assert [found.before(run) for run in asked] == [0, 1, 2]
    assert [run.state for run in asked] == [State.RUNNING, State.WAITING, State.WAITING]
    found.cancel(asked[1])
    assert found.before(asked[2]) == 1
    work.first.set()
    wait_for(lambda: asked[0].result)
    assert (asked[0].result.whole, asked[0].state) == (False, State.RUNNING)
    work.rest.set()
    wait_for(lambda: not asked[2].working)
    assert work.order == [asked[0], asked[2]]
    assert [run.state for run in asked] == [State.DONE, State.CANCELLED, State.DONE]
    assert [run.result is not None and run.result.whole for run in asked] == [True, False, True]
    assert found.of("a") == [asked[2], asked[0]], "the latest first"
    assert found.of("") == []


def test_a_cancelled_run_keeps_its_part_and_gets_no_more(found, work):
    run = ask(found)
    work.first.set()
    wait_for(lambda: run.result)
    found.cancel(run)
    work.rest.set()
    other = ask(found)
    wait_for(lambda: other.state == State.DONE)
    assert (run.state, run.message, run.result.whole) == (State.CANCELLED, "Cancelled.", False)
    found.cancel(other)
    assert other.state == State.DONE, "what has ended stays as it is"


def test_what_fails_tells_why_and_others_get_their_turn(caplog):
    faults = iter([ValueError("choose at least one metric"), KeyError("secret")])

    def fail(run, watch):
        raise next(faults)
        yield

    found = Runs(fail)
    runs = [ask(found) for _ in range(2)]
    wait_for(lambda: runs[1].state == State.FAILED)
    assert [run.message for run in runs] == [
        "choose at least one metric",
        "the page failed; whoever serves it finds the reason in its log",
    ]
    assert "secret" in caplog.text
    found.close()


def test_a_run_at_which_nobody_looks_is_cancelled_and_says_so(found, work, clock):
    looked, left, waits = (ask(found, owner) for owner in ("a", "b", "a"))
    work.begun.wait(PATIENCE)
    clock[0] += 50
    found.look(looked, "a")  # which lists the owner's other run
    clock[0] += 20
    found.expire()
    assert [run.state for run in (looked, left, waits)] == [State.RUNNING, State.CANCELLED, State.WAITING]
    assert left.message == "Cancelled: no page showed this run for 60 s."
    clock[0] += 50
    wait_for(lambda: looked.state == State.CANCELLED)  # by itself, at its next step


def test_the_time_of_a_run_is_told_and_limited(work, clock):
    found = Runs(work, seconds=60)
    run = ask(found)
    work.begun.wait(PATIENCE)
    wait_for(lambda: run.step == "step")
    clock[0] += 30
    found.look(run)
    assert run.left() == "step, about 30 s left"
    clock[0] += 31
    wait_for(lambda: run.state == State.FAILED)
    assert "took more than 1 minutes, the limit of this page: take the fast preset" in run.message
    found.close()


def test_runs_expire_an_hour_after_their_last_use_but_not_while_they_work(found, work, clock):
    idle, used = (found.keep(Run("me", data=data())) for _ in range(2))
    found._unseen = EXPIRES
    works = ask(found)
    clock[0] += EXPIRES - 1
    found.look(works)
    assert found.find(used.id)
    clock[0] += 2
    found.look(works)
    assert [found.find(run.id) for run in (idle, used, works)] == [None, used, works]


def test_room_is_made_by_who_has_most_and_drafts_go_first(found, work, clock):
    others = [found.keep(Run(f"owner {number}", data=data())) for number in range(MAX_HELD - 4)]
    work.first.set()
    work.rest.set()
    done = ask(found, "many")
    wait_for(lambda: done.state == State.DONE)
    drafts = []
    for _ in range(4):
        clock[0] += 1
        drafts.append(found.keep(Run("many", data=data())))
    assert found.find(drafts[0].id) is None, "the draft that was unused longest"
    assert all(found.find(run.id) for run in (*others, done, *drafts[1:]))


def test_an_address_that_makes_up_owners_pushes_nobody_out_and_has_few_runs_wait(found, work):
    mine = found.keep(Run("me", data=data()))
    for number in range(2 * MAX_HELD):
        found.comes(f"made up {number}", "6.6.6.6")
        found.keep(Run(f"made up {number}", data=data()))
    assert found.find(mine.id) is mine
    found.comes("me", "7.7.7.7")
    for number in range(MAX_OF_ONE):
        found.comes(f"another {number}", "6.6.6.6")
        ask(found, f"another {number}")
    found.comes("late", "6.6.6.6")
    refuses(f"{MAX_OF_ONE} runs from your address wait already", ask, found, "late")
    assert ask(found, "me").state == State.WAITING


class Result(RunResult):
    """A whole one with a report alone."""

    def __init__(self, folder):
        vars(self).update(whole=True, report="a report", files={REPORT: folder / REPORT})
        (folder / REPORT).write_text("a report")


def test_a_link_outlives_data_and_servers_for_a_day_and_says_what_became_of_a_run(tmp_path, clock):
    held, store = Event(), tmp_path / "store"

    def measure(run, watch):
        while "held" in run.data.predictions and not held.wait(0.01):
            watch("step", 0.5)
        yield Result(tmp_path)

    first = Runs(measure)
    first.restore(store)
    done, under_way = first.ask(Run("me", data=data()), "me"), first.ask(Run("me", data=data("held")), "me")
    wait_for(lambda: under_way.state == State.RUNNING)
    assert (done.result.report, done.result.files[REPORT].parent) == ("a report", store / done.id)
    killed = Runs()
    killed.restore(store)
    again, lost = killed.find(done.id), killed.find(under_way.id)
    assert (again.state, again.result.report, list(again.data.captioners)) == (State.DONE, "a report", ["nic"])
    assert (lost.state, lost.message, lost.result) == (State.FAILED, module.STOPPED, None)
    assert {run.id for run in killed.of("me")} == {done.id, under_way.id}
    assert (again.ready, killed.change(again, "me", again.data, again.settings)) == (False, again)
    refuses("the files of this run are not here any more: give them again", killed.ask, again, "me")
    refuses("the files of this run are not here any more", killed.compare, Run(data=data()), "me", again)
    clock[0] += EXPIRES + 1
    first.look(under_way)
    assert (done.told, first.find(done.id).result.report) == (True, "a report"), "its data are gone"
    first.close()
    assert json.loads((store / under_way.id / module.RUN).read_text())["message"] == module.STOPPED
    clock[0] += KEPT
    killed.expire()
    assert (killed.find(done.id), list(store.iterdir())) == (None, [])
    (store / "x").mkdir(parents=True)
    (store / "x" / module.RUN).write_text("{}")
    killed.restore(store)  # what another version wrote is let be
    killed.close()


def test_not_everybody_can_wait_and_as_the_page_ends_nothing_goes_on(found, work):
    runs = [ask(found) for _ in range(MAX_WAITING)]
    refuses(f"{MAX_WAITING} runs wait already", ask, found)
    work.begun.wait(PATIENCE)
    found.close()
    assert {(run.state, found.find(run.id)) for run in runs} == {(State.CANCELLED, None)}


def test_what_will_be_measured_is_looked_at_once(monkeypatch):
    looked = []
    monkeypatch.setattr(module.measuring, "look", lambda *asked: looked.append(asked) or Look())
    run = Run(data=data())
    assert run.look() is run.look()
    run.settings = PageSettings("race")
    run.look()
    run.data = replace(run.data, columns=Columns("id"))
    run.look()
    assert len(looked) == 3
