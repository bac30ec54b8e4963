"""A run is cancelled by its own session, by a later run of that session, or when its time is over."""

from __future__ import annotations

import pytest

from captionbias.app.runs import CancelledError, Runs


def ignore(share: float, text: str) -> None:
    pass


def test_a_session_cancels_its_own_run_and_no_other():
    runs = Runs()
    with runs.begun("a", ignore) as first, runs.begun("b", ignore) as second:
        assert runs.cancel("a")
        with pytest.raises(CancelledError):
            first("step", 0.5)
        second("step", 0.5)
    assert not runs.cancel("a")
    assert not runs.cancel("b")


def test_a_later_run_of_a_session_cancels_the_earlier_one():
    runs = Runs()
    with runs.begun("a", ignore) as earlier, runs.begun("a", ignore) as later:
        with pytest.raises(CancelledError):
            earlier("step", 0.5)
        later("step", 0.5)


def test_a_run_that_takes_too_long_is_told_what_to_do():
    with Runs(seconds=1e-9).begun("a", ignore) as watch, pytest.raises(ValueError, match="take the fast preset"):
        watch("step", 0.5)


def test_steps_and_shares_are_shown():
    shown = []
    with Runs().begun("a", lambda share, text: shown.append((share, text))) as watch:
        watch("reading", 0.0)
        watch("lic", 0.5)
    assert shown == [(0.0, "reading"), (0.5, "lic")]
