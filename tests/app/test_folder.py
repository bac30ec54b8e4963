"""The private folder of a process goes with it, however it ends, and nobody else's is touched."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import PIPE, Popen, TimeoutExpired

import pytest

from captionbias.app.folder import PREFIX, private_folder
from captionbias.io.temporary import sweep
from tests import signals
from tests.patience import FOREVER, PATIENCE

SCRIPT = f"""
import subprocess, sys, tempfile, time
from captionbias.app.folder import private_folder
with private_folder() as folder:
    open(tempfile.NamedTemporaryFile(delete=False).name, "w").write("secret")
    code = "import tempfile; print(tempfile.mkdtemp(), flush=True)"
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
    print(folder, made.startswith(str(folder)), len(list(folder.iterdir())), flush=True)
    if "wait" in sys.argv:
        time.sleep({FOREVER})
    if "fail" in sys.argv:
        raise RuntimeError
"""


def start(where: Path, *how: str, prepare: Callable[[], object] = signals.restore) -> tuple[Popen[str], Path]:
    environment = {**os.environ, "TMPDIR": str(where), "PYTHONPATH": os.pathsep.join(sys.path)}
    process: Popen[str] = Popen(
        [sys.executable, "-c", SCRIPT, *how], env=environment, stdout=PIPE, stderr=PIPE, text=True, preexec_fn=prepare
    )
    assert process.stdout
    made, in_it, files = process.stdout.readline().split()
    assert (in_it, files) == ("True", "3")
    return process, Path(made)


@pytest.mark.parametrize("how", ["end", "fail", "SIGTERM", "SIGHUP", "SIGINT"])
def test_nothing_is_left_at_any_kind_of_end(tmp_path, how):
    process, made = start(tmp_path, "wait" if how.startswith("SIG") else how)
    assert made.name.startswith(f"{PREFIX}{process.pid}-")
    if how.startswith("SIG"):
        assert made.stat().st_mode & 0o777 == 0o700
        process.send_signal(getattr(signal, how))
    process.communicate(timeout=PATIENCE)
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_swept_and_what_a_living_one_has_is_not(tmp_path):
    (killed, left), (living, used) = start(tmp_path, "wait"), start(tmp_path, "wait")
    killed.kill()
    killed.communicate(timeout=PATIENCE)
    assert left.exists()
    sweep(tmp_path, PREFIX)
    assert list(tmp_path.iterdir()) == [used]
    living.kill()
    living.communicate(timeout=PATIENCE)


def test_who_ignores_a_signal_goes_on_ignoring_it(tmp_path):
    """As under nohup."""

    def nohup() -> None:
        signals.restore()
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    process, made = start(tmp_path, "wait", prepare=nohup)
    process.send_signal(signal.SIGHUP)
    with pytest.raises(TimeoutExpired):
        process.communicate(timeout=0.5)
    assert made.exists()
    process.terminate()
    process.communicate(timeout=PATIENCE)
    assert not made.exists()


def test_afterwards_temporary_files_are_where_they_were(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.delenv("GRADIO_TEMP_DIR", raising=False)
    handlers = {name: signal.getsignal(name) for name in (signal.SIGTERM, signal.SIGHUP)}
    with private_folder() as made:
        assert made.parent == tmp_path
        assert os.environ["GRADIO_TEMP_DIR"].startswith(str(made))
    assert "GRADIO_TEMP_DIR" not in os.environ
    with private_folder() as made:
        assert made.parent == tmp_path
    for name, handler in handlers.items():
        signal.signal(name, handler)
