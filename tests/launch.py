"""Processes that tests start: Python with this package, and `accelerate launch`, two on a CPU that share the work."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import captionbias
from captionbias.attackers.ranks import LAUNCHED
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[1]
LAUNCH = [
    *(sys.executable, "-m", "accelerate.commands.accelerate_cli", "launch", "--multi_gpu", "--num_processes", "2"),
    *("--main_process_port", "0", "--mixed_precision", "no", "--dynamo_backend", "no"),
]


def environment(*places: str | Path, **variables: str | Path) -> dict[str, str]:
    """That of a process which finds this package and modules in these places, and was launched by nobody."""
    kept = {name: value for name, value in os.environ.items() if name not in LAUNCHED}
    path = os.pathsep.join(map(str, [*places, Path(captionbias.__file__).parents[1]]))
    usual = {"PYTHONPATH": path, "ACCELERATE_USE_CPU": "1", "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    return kept | usual | {name: str(value) for name, value in variables.items()}


def python(*arguments: str | Path, folder: Path, **variables: str | Path) -> str:
    """What Python prints in this folder, where it must not fail."""
    command = [sys.executable, *map(str, arguments)]
    options = {"env": environment(ROOT, **variables), "cwd": folder, "timeout": PATIENCE}
    ran = subprocess.run(command, **options, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def launched(arguments: Sequence[str | Path], folder: Path, **variables: str) -> tuple[int, str]:
    """The exit status and all that was printed; modules in the folder are found too."""
    started = subprocess.Popen(
        [*LAUNCH, *map(str, arguments)],
        env=environment(folder, **variables),
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        printed = started.communicate(timeout=PATIENCE)[0]
    except subprocess.TimeoutExpired:
        os.killpg(started.pid, signal.SIGKILL)
        raise
    return started.returncode, printed
