"""`accelerate launch`: two processes on a CPU that share the work."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import captionbias
from captionbias.attackers.ranks import LAUNCHED
from tests.patience import PATIENCE

LAUNCH = [
    *(sys.executable, "-m", "accelerate.commands.accelerate_cli", "launch", "--multi_gpu", "--num_processes", "2"),
    *("--main_process_port", "0", "--mixed_precision", "no", "--dynamo_backend", "no"),
]


def launched(arguments: Sequence[str | Path], folder: Path) -> tuple[int, str]:
    """The exit status and all that was printed; modules in the folder are found too."""
    environment = {name: value for name, value in os.environ.items() if name not in LAUNCHED}
    places = [folder, Path(captionbias.__file__).parents[1]]
    environment |= {"PYTHONPATH": os.pathsep.join(map(str, places)), "ACCELERATE_USE_CPU": "1", "OMP_NUM_THREADS": "1"}
    started = subprocess.Popen(
        [*LAUNCH, *map(str, arguments)],
        env=environment,
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
