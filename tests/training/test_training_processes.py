"""Two processes log what one process logs, once, and each knows all of it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import captionbias
from captionbias.attackers.ranks import LAUNCHED
from tests.patience import PATIENCE

SCRIPT = Path(__file__).with_name("trained_by_ranks.py")
PLACES = [Path(captionbias.__file__).parents[1], Path(__file__).parents[2]]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are started by forking, so that they import once")
def test_two_processes_have_the_scores_and_captions_of_one_and_log_them_once(tmp_path):
    """Though the process without a batch captions nothing itself."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {name: value for name, value in os.environ.items() if name not in LAUNCHED}
    environment |= {"PYTHONPATH": os.pathsep.join(map(str, PLACES)), "ACCELERATE_USE_CPU": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(SCRIPT), str(tmp_path), str(port)]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    one, first, second = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("one", "0", "1"))
    assert (one.pop("processes"), first.pop("processes"), second.pop("processes")) == (1, 2, 2)
    assert len(one["logged"]) == 2
    assert len(one["one_batch"]) == 101
    assert first == one
    assert second == {**one, "logged": []}
