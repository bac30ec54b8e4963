"""What a user sees of a long training: a bar, in the log of a batch job now and then; else nothing."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
import time

import pytest

from captionbias import progress
from captionbias.metrics import dbac
from captionbias.statistics import samples
from captionbias.synthetic import plant
from tests.patience import PATIENCE

SCRIPT = """
import sys, time
from captionbias import progress
from captionbias.progress import reported
for after in (5, 0.2):
    progress.BAR_AFTER = progress.LINE_EVERY = after
    with reported(None, "lstm") as report:
        for finished in range(5):
            report(finished, 4)
            time.sleep(0.15)
    print("ended", file=sys.stderr, flush=True)
"""


@pytest.mark.parametrize("terminal", [True, False])
def test_what_takes_long_tells_how_many_are_done_and_what_is_quick_nothing(terminal):
    screen, keyboard = pty.openpty()
    fcntl.ioctl(keyboard, termios.TIOCSWINSZ, struct.pack("4H", 25, 100, 0, 0))
    output = keyboard if terminal else subprocess.PIPE
    ran = subprocess.run([sys.executable, "-c", SCRIPT], stderr=output, timeout=PATIENCE, check=True)
    quick, slow, _ = (os.read(screen, 100_000) if terminal else ran.stderr).decode().split("ended")
    os.close(screen)
    os.close(keyboard)
    assert quick == ""
    assert "training lstm" in slow
    assert "4/4 [" in slow
    assert "1/4 [" not in slow, "it was too early"


def test_the_bootstrap_of_a_metric_tells_unless_progress_is_off(monkeypatch, capfd):
    drawn = samples.resamples

    def slow(*arguments, **options):
        for each in drawn(*arguments, **options):
            time.sleep(0.05)
            yield each

    monkeypatch.setattr(progress, "LINE_EVERY", 0.02)
    monkeypatch.setattr(samples, "resamples", slow)
    rows, options = vars(plant(60, captions=2)), {"preset": "fast", "trials": 2, "bootstrap": 30, "controls": False}
    for silent in (False, lambda finished, total: None):
        dbac(**rows, **options, progress=silent)
        assert capfd.readouterr().err == ""
    dbac(**rows, **options)
    assert "bootstrap: 100%" in capfd.readouterr().err
