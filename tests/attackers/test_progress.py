"""What a user sees of a long training: a bar in a terminal, log lines elsewhere, one warning on a CPU; else nothing."""

from __future__ import annotations

import fcntl
import logging
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path

import pytest

import captionbias
from captionbias import progress
from captionbias.alignment import vectors
from captionbias.metrics import dbac, lic
from captionbias.progress import reported
from captionbias.statistics import samples
from captionbias.synthetic import plant
from tests.patience import PATIENCE

SOURCE = Path(captionbias.__file__).parents[1]
SCRIPT = """
import time
import tqdm.auto
from captionbias import progress
from captionbias.progress import reported
progress.BAR_AFTER, progress.BAR_EVERY, progress.LINE_EVERY = {bar}, 0.05, {line}
with reported(None, "lstm") as report:
    for finished in range(4):
        report(finished, 4)
        time.sleep(0.15)
print("done")
"""


def said(bar: float = 5.0, line: float = 30.0, terminal: bool = False) -> tuple[str, str]:
    """Standard output and standard error, a terminal or not, of a program that trains for 0.6 s."""
    screen, keyboard = pty.openpty()
    os.set_blocking(screen, False)
    fcntl.ioctl(keyboard, termios.TIOCSWINSZ, struct.pack("4H", 25, 100, 0, 0))
    try:
        ran = subprocess.run(
            [sys.executable, "-c", SCRIPT.format(bar=bar, line=line)],
            env=os.environ | {"PYTHONPATH": str(SOURCE)},
            stdout=subprocess.PIPE,
            stderr=keyboard if terminal else subprocess.PIPE,
            timeout=PATIENCE,
            check=True,
        )
        shown = (os.read(screen, 100_000) if terminal else ran.stderr).decode()
    finally:
        os.close(screen)
        os.close(keyboard)
    return ran.stdout.decode(), shown


def test_a_terminal_has_a_bar_after_a_while():
    out, shown = said(bar=0.2, terminal=True)
    assert out == "done\n"
    assert "training lstm" in shown
    assert "| 3/4 [" in shown
    assert " captionbias: " not in shown, "and no log lines"


def test_a_batch_job_has_log_lines_on_standard_error_with_no_logging_set_up():
    out, shown = said(bar=0.0, line=0.2)
    assert out == "done\n"
    first, *_ = shown.splitlines()
    assert re.search(r"training lstm: [1-4] of 4 attackers in \d+ s$", first)
    assert "\r" not in shown, "and no bar"


def test_what_is_quick_says_nothing_and_leaves_no_thread(capfd):
    before = threading.enumerate()
    result = lic(**vars(plant(60, captions=1)), preset="fast", trials=2, bootstrap=0)
    assert "lic" in result
    assert capfd.readouterr() == ("", "")
    assert not {*threading.enumerate()}.difference(before)


def test_log_lines_go_where_the_program_sends_them(monkeypatch, caplog, capfd):
    monkeypatch.setattr(progress, "LINE_EVERY", 0.05)
    with caplog.at_level(logging.INFO, "captionbias"), reported(None, "bow") as report:
        report(3, 8)
        time.sleep(0.2)
    assert re.fullmatch(r"training bow: 3 of 8 attackers in \d+ s", caplog.messages[0])
    assert capfd.readouterr().err == ""


def slowed(monkeypatch, module, name):
    """A function takes 0.2 s longer, and lines come every 0.02 s."""
    function = getattr(module, name)

    def slow(*arguments, **options):
        time.sleep(0.2)
        return function(*arguments, **options)

    monkeypatch.setattr(progress, "LINE_EVERY", 0.02)
    monkeypatch.setattr(module, name, slow)


@pytest.mark.parametrize(
    ("module", "name", "line"),
    [
        (samples, "resamples", r"bootstrap: [\d,]+ of 30 replicates in \d+ s"),
        (vectors, "train_vectors", r"training word vectors: \d+ s so far"),
    ],
)
def test_every_step_of_a_metric_that_takes_long_tells_unless_progress_is_off(monkeypatch, caplog, module, name, line):
    slowed(monkeypatch, module, name)
    rows, options = vars(plant(60, captions=2)), {"preset": "fast", "trials": 2, "bootstrap": 30, "controls": False}
    with caplog.at_level(logging.INFO, "captionbias"):
        dbac(**rows, **options, vectors="captions", progress=False)
        dbac(**rows, **options, vectors="captions", progress=lambda finished, total: None)
        assert not caplog.messages
        dbac(**rows, **options, vectors="captions")
    assert any(re.fullmatch(line, message) for message in caplog.messages), caplog.messages
