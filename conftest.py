"""What tests and doctests stand on: finished trials in folders of their own, property tests that repeat under CI."""

from __future__ import annotations

import os
import signal
from contextlib import ExitStack
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import settings

# What only a harness imports.
collect_ignore_glob = [f"src/captionbias/harnesses/{name}*" for name in ("inspect", "lighteval", "vlmevalkit")]
settings.register_profile("repeatable", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("repeatable")
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # begun in the background: processes of tests would inherit that
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def shared_cache(tmp_path_factory):
    """For fixtures that several tests share: the developer's own cache is neither read nor filled."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CAPTIONBIAS_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True)
def own_cache(shared_cache, tmp_path_factory, monkeypatch) -> Path:
    """The usual cache folder, not yet made: no test finds what another trained."""
    folder = tmp_path_factory.mktemp("cache") / "trials"
    monkeypatch.setenv("CAPTIONBIAS_CACHE", str(folder))
    return folder


@pytest.fixture
def own_metrics():
    """For a test that defines a metric: it is gone again afterwards."""
    from captionbias.metrics import DEFINED, catalogue

    with ExitStack() as stack:
        for known in (DEFINED, catalogue.METRICS, catalogue.SCORES, catalogue.TASKS):
            stack.enter_context(mock.patch.dict(known))
        yield
