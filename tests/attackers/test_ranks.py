"""Ranks share trials: real processes, with arrays made up in place of training."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from captionbias.attackers import ranks
from captionbias.metrics import lic
from captionbias.synthetic import plant
from tests.patience import PATIENCE

SOURCE = Path(ranks.__file__).parents[2]

ONE_PROCESS = "if only one process is to measure, pass distributed=False"
RESUME = "look at its output; finished trials are kept, run again to go on"
LOST = "RankError: rank 0 or its launcher ended, or its machine is out of reach"

COMMON = """
import json, os, signal, sys, time, warnings
from pathlib import Path
import accelerate, torch
import numpy as np
from captionbias.attackers import ranks

folder = Path(sys.argv[1])
ranks.BEAT, ranks.LINGER = 0.05, 1.0

def reported_by(rank):
    file = folder / f"{rank}.json"
    return json.loads(file.read_text()) if file.exists() else {}

def report(**facts):
    temporary = folder / f"{rank}.new"
    temporary.write_text(json.dumps(reported_by(rank) | facts))
    temporary.replace(folder / f"{rank}.json")

def made_up(number, size):
    values = np.random.default_rng(number).normal(size=size)
    values[0] = [-np.inf, np.nan, -0.0][number % 3]
    return values

def share(total=5, size=3, data="the same", seconds=0, on=None, error=None, kill=None):
    "How many results all ranks have, bit for bit those of one process. Rank `on` fails or is killed, others train on."

    def train(positions):
        assert list(positions) == list(range(total))[rank :: ranks.rank_and_size()[1]]
        if rank == on and kill:
            os.kill(os.getpid(), kill)
        if rank == on and error:
            raise error
        end = time.monotonic() + (float("inf") if error else seconds)
        for position in positions:
            yield position, made_up(position, size)
            while time.monotonic() < end:
                time.sleep(0.01)
                yield position, made_up(position, size)

    results = ranks.share([f"{data} {number}" for number in range(total)], train)
    assert [values.tobytes() for values in results] == [made_up(number, size).tobytes() for number in range(total)]
    return len(results)

def error_of(**options):
    try:
        return share(**options)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
"""


def run(folder: Path, script: str, *command: str) -> tuple[list[dict[str, Any]], str]:
    """A script after COMMON, under a command: what each rank reported, and all that was printed."""
    path = folder / "script.py"
    path.write_text(COMMON + textwrap.dedent(script))
    environment = {name: value for name, value in os.environ.items() if name not in ranks.LAUNCHED}
    environment |= {"PYTHONPATH": str(SOURCE), "ACCELERATE_USE_CPU": "1", "OMP_NUM_THREADS": "1"}
    started = subprocess.Popen(
        [sys.executable, *command, str(path), str(folder)],
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
    return [json.loads(file.read_text()) for file in sorted(folder.glob("?.json"))], printed


@pytest.fixture(scope="module")
def launch(tmp_path_factory):
    """Two ranks under `accelerate launch` that make calls one after the other, started again after a failure."""
    script = """
    rank, size = ranks.rank_and_size()
    if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
        share()
        share(on=1, error=MemoryError("trial 4"))
    report(calls=[share(), share(), share(total=1), share(total=0)], device=str(ranks.device()))
    report(rank_0=ranks.on_rank_0(os.getpid) == os.getpid())
    ranks.SILENCE = 2
    report(slow=share(total=2, size=3 << 20, seconds=2.5 * rank))
    report(failed=error_of(on=1, error=KeyError("trial 3")))
    report(different=error_of(data=f"data {rank}"))

    from captionbias.metrics import lic
    from captionbias.synthetic import plant

    accelerator = accelerate.Accelerator(mixed_precision="no")
    report(accelerator=[accelerator.device.type, accelerator.num_processes, accelerator.process_index])
    progress = []
    options = {"preset": "fast", "trials": 5, "bootstrap": 0, "progress": lambda *numbers: progress.append(numbers)}
    report(lic=lic(**vars(plant(100, captions=1)), **options, cache=False), progress=progress)
    accelerator.wait_for_everyone()
    accelerator.end_training()
    report(after_its_end=share())

    ranks.NOTE_AFTER, ranks.PATIENCE = 0.2, 0.6
    while rank and "alone" not in reported_by(0):
        time.sleep(0.05)
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        report(alone=error_of(), notes=[str(note.message) for note in notes])
    """
    options = ["--multi_gpu", "--num_processes", "2", "--max_restarts", "1", "--main_process_port", "0"]
    command = ["-m", "accelerate.commands.accelerate_cli", "launch", *options, "--mixed_precision", "no"]
    facts, printed = run(tmp_path_factory.mktemp("launch"), script, *command, "--dynamo_backend", "no")
    assert ["notes" in one for one in facts] == [True, True], printed
    return facts, printed


@pytest.fixture(scope="module")
def facts(launch):
    return launch[0]


def test_every_rank_has_all_results_call_after_call(facts):
    """A rank without trials too, and after a restart by the launcher, whose store has the failed call."""
    assert [one["calls"] for one in facts] == [[5, 5, 1, 0]] * 2
    assert [one["rank_0"] for one in facts] == [True, False]


def test_a_slow_rank_is_waited_for_and_results_may_exceed_what_the_store_takes_at_once(facts):
    """25 MB from each rank, where the store takes 8."""
    assert [one["slow"] for one in facts] == [2, 2]


@pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # 100 images are few
def test_a_metric_gives_each_rank_the_scores_of_one_process_and_rank_0_alone_reports_progress(facts):
    alone = lic(**vars(plant(100, captions=1)), preset="fast", trials=5, bootstrap=0, cache=False)
    assert [one["lic"] for one in facts] == [json.loads(json.dumps(alone))] * 2
    assert [one["progress"] for one in facts] == [[[finished, 5] for finished in range(6)], []]


def test_the_script_may_start_a_process_group_and_end_it(facts):
    """Sharing needs none; the device is that of an Accelerator made afterwards."""
    assert [(one["device"], one["accelerator"]) for one in facts] == [("cpu", ["cpu", 2, rank]) for rank in range(2)]
    assert [one["after_its_end"] for one in facts] == [5, 5]


def test_the_exception_of_a_rank_ends_the_others_while_they_train(facts):
    assert facts[0]["failed"] == "RankError: rank 1 failed with KeyError: 'trial 3'"
    assert facts[1]["failed"] == "KeyError: 'trial 3'"


def test_an_error_is_printed_by_all_ranks_before_the_launcher_ends_them(launch):
    for message in ("MemoryError: trial 4", r"\S*RankError: rank 1 failed with MemoryError: trial 4"):
        assert re.search(rf"^(\[rank\d\]: )?{message}$", launch[1], re.MULTILINE), launch[1]


def test_ranks_with_other_data_are_named_on_every_rank(facts):
    same = f"use the same ones on every rank; {ONE_PROCESS}"
    for rank, one in enumerate(facts):
        made = f"rank {1 - rank} made this call with other captions or arguments than rank {rank}"
        assert one["different"] == f"ValueError: {made}: {same}"


def test_a_rank_that_does_not_come_is_named_first_in_a_note_then_in_an_error(facts):
    """When it comes too late it learns why."""
    assert [one["notes"] for one in facts] == [
        [f"rank 0 is waiting for rank 1 to make the same call; {ONE_PROCESS}"],
        [],
    ]
    gave_up = f"RankError: rank 0 gave up after 0.6 s: rank 1 did not make the same call; {ONE_PROCESS}"
    assert [one["alone"] for one in facts] == [gave_up] * 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are started by forking, so that they import once")
def test_dead_ranks_and_a_dead_store_are_named(tmp_path):
    """Three processes without a launcher, first with a process group of their own; then rank 0 holds the store.

    Rank 2 is killed. Rank 0 is stopped for a while: neither an answer nor a broken connection. Then it fails and is
    killed at once, though not before rank 1 knows why.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    script = f"""
    launched = dict(MASTER_ADDR="127.0.0.1", MASTER_PORT="{port}", WORLD_SIZE="3")
    rank = next((rank for rank in (2, 1, 0) if not os.fork()), None)
    if rank is None:
        sys.exit([os.wait() for _ in range(3)] and 0)

    from torch import distributed

    distributed.init_process_group("gloo", init_method=f"file://{{folder}}/group", rank=rank, world_size=3)
    report(own_group=[*ranks.rank_and_size(), share()])
    distributed.destroy_process_group()

    os.environ.update(launched, RANK=str(rank))
    report(hosted=share(), pid=os.getpid())
    ranks.SILENCE = 2
    report(killed=error_of(on=2, kill=signal.SIGKILL))
    os.environ["WORLD_SIZE"] = "2"
    report(stopped=error_of(on=0, kill=signal.SIGSTOP))
    if rank == 1:
        os.kill(reported_by(0)["pid"], signal.SIGCONT)
    report(failed=error_of(on=0, error=MemoryError("trial 4")))
    if rank == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    report(lost=error_of())
    """
    facts, printed = run(tmp_path, script)
    assert [one["own_group"] for one in facts] == [[0, 3, 5], [1, 3, 5], [2, 3, 5]], printed
    assert [one["hosted"] for one in facts] == [5, 5, 5], printed
    died = f"RankError: rank 2 died (no sign of life for 2 s): {RESUME}"
    assert [one.get("killed") for one in facts] == [died, died, None], printed
    assert facts[1]["stopped"] == f"{LOST} (no answer for 2 s): {RESUME}"
    assert facts[1]["failed"] == "RankError: rank 0 failed with MemoryError: trial 4"
    assert re.fullmatch(rf"{LOST} \(.+\): {RESUME}", facts[1]["lost"])


def test_a_plain_process_is_alone_and_several_without_torch_learn_the_way_out():
    code = """
        import os, sys
        from captionbias.attackers import ranks

        results = ranks.share("ab", lambda positions: ((one, -one) for one in positions))
        print(ranks.rank_and_size(), results, "torch" in sys.modules)
        sys.modules["torch"] = None
        os.environ.update(RANK="0", WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT="1")
        ranks.share("ab", lambda positions: (position for position in positions))
        """
    environment = {name: value for name, value in os.environ.items() if name not in ranks.LAUNCHED}
    command = [sys.executable, "-c", textwrap.dedent(code)]
    environment["PYTHONPATH"] = str(SOURCE)
    ran = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert ran.stdout.splitlines() == ["(0, 1) [0, -1] False"], ran.stderr
    assert ran.stderr.splitlines()[-1] == (
        "ValueError: several processes share the trials through torch and accelerate: "
        f"pip install 'captionbias[torch]'; {ONE_PROCESS}"
    )
