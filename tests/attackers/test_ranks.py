"""Ranks share trials: real processes under `accelerate launch`, with arrays made up in place of training."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from captionbias.attackers import ranks as processes
from tests.patience import PATIENCE

SOURCE = Path(processes.__file__).parents[2]

LOOK_AND_GO_ON = "look at its output; finished trials are kept, run again to go on"

COMMON = """
import json, os, signal, sys, threading, time, warnings
from pathlib import Path
import numpy as np
from captionbias.attackers import ranks as processes
from captionbias.attackers.base import TrialScores
from captionbias.captions import CaptionBiasWarning

folder = Path(sys.argv[1])

def tell(**facts):
    file = folder / f"{crew.rank}.json"
    told = json.loads(file.read_text()) if file.exists() else {}
    file.write_text(json.dumps(told | facts))

def error_of(task, *arguments, **options):
    try:
        task(*arguments, **options)
    except Exception as error:
        return f"{type(error).__name__}: {error}"

def made_up(number, size=3):
    values = np.random.default_rng(number).normal(size=size)
    values[0] = [-np.inf, np.nan, -0.0][number % 3]
    return TrialScores(values, values > 0)

def share(total=5, digest="the same", size=3, before=lambda: None, **options):
    with crew.sharing(digest, **options):
        before()
        done = {number: made_up(number, size) for number in range(crew.rank, total, crew.size)}
        scores = crew.gather(done, total)
    wanted = [made_up(number, size) for number in range(total)]
    bits = [(one.log_probability.tobytes(), one.correct.tobytes(), str(one.correct.dtype)) for one in scores]
    assert bits == [(one.log_probability.tobytes(), one.correct.tobytes(), "bool") for one in wanted]
    return len(bits)

def fail(rank, error):
    if crew.rank == rank:
        raise error
    while True:  # as in training
        crew.check()
        time.sleep(0.05)

crew = processes.crew()
"""


def start(folder: Path, script: str, *command: str, **environment: str) -> subprocess.Popen[str]:
    """A script after COMMON, under a command; it writes what each rank tells into the folder."""
    path = folder / "script.py"
    path.write_text(COMMON + script)
    inherited = {name: value for name, value in os.environ.items() if name not in processes.LAUNCHED}
    environment = inherited | {"PYTHONPATH": str(SOURCE), "ACCELERATE_USE_CPU": "1"} | environment
    return subprocess.Popen(
        [*command, str(path), str(folder)],
        env=environment,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def accelerate_launch(*options: object) -> list[str]:
    launch = [sys.executable, "-m", "accelerate.commands.accelerate_cli", "launch", "--multi_gpu"]
    return [*launch, "--mixed_precision", "no", "--dynamo_backend", "no", *map(str, options)]


def output(*started: subprocess.Popen[str]) -> str:
    """What they printed, once they have ended; if one hangs the test fails, and all are ended."""
    try:
        return "".join(one.communicate(timeout=PATIENCE)[0] for one in started)
    finally:
        for one in started:
            if one.poll() is None:
                one.terminate()  # a launcher then ends its ranks
                one.send_signal(signal.SIGCONT)
                one.communicate(timeout=PATIENCE)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def told_by(folder: Path, rank: int) -> dict[str, object]:
    facts: dict[str, object] = json.loads((folder / f"{rank}.json").read_text())
    return facts


@pytest.fixture(scope="module")
def launch(tmp_path_factory):
    """One launch of two ranks that make calls one after the other: what each rank tells, and all that is printed."""
    folder = tmp_path_factory.mktemp("one_machine")
    script = """
if os.environ["TORCHELASTIC_RESTART_COUNT"] == "1":
    tell(started_again=[share() for call in range(8)])
    sys.exit()

def late(rank, seconds):
    return lambda: time.sleep(seconds if crew.rank == rank else 0)

tell(device=str(processes.device()), one_after_the_other=[share(), share(total=1), share(total=0)])
start = time.monotonic()
tell(uneven=[share(before=late(0, 0.5)), share(before=late(1, 3.5), silence=3)], seconds=time.monotonic() - start)
tell(large=share(total=2, size=3 << 20))
tell(stumbled=error_of(share, before=lambda: fail(1, KeyError("trial 3"))))
tell(other_data=error_of(share, digest=f"data of rank {crew.rank}"))
tell(afterwards=share())

from accelerate import Accelerator
accelerator = Accelerator(mixed_precision="no")
tell(accelerator=[str(accelerator.device.type), accelerator.num_processes, accelerator.process_index], with_it=share())
accelerator.wait_for_everyone()
accelerator.end_training()
tell(after_its_end=share())

processes.NOTE_AFTER = 0.5
time.sleep(3 * crew.rank)
with warnings.catch_warnings(record=True) as notes:
    warnings.simplefilter("always")
    start = time.monotonic()
    tell(alone=error_of(share, patience=2), alone_for=time.monotonic() - start)
    tell(notes=[str(note.message) for note in notes if note.category is CaptionBiasWarning])

share(before=lambda: fail(1, MemoryError("trial 4")))
"""
    options = ["--num_processes", 2, "--main_process_port", 0, "--max_restarts", 1]
    printed = output(start(folder, script, *accelerate_launch(*options)))
    assert {path.name for path in folder.glob("*.json")} == {"0.json", "1.json"}, printed
    return [told_by(folder, 0), told_by(folder, 1)], printed


@pytest.fixture(scope="module")
def told(launch):
    return launch[0]


def test_every_rank_has_all_results_in_order_call_after_call(told):
    """Bit for bit, as `share` asserts: odd numbers, a rank without trials, and no trials at all."""
    assert [facts["one_after_the_other"] for facts in told] == [[5, 1, 0], [5, 1, 0]]


def test_a_slow_rank_is_waited_for_longer_than_a_silent_one(told):
    assert [facts["uneven"] for facts in told] == [[5, 5], [5, 5]]
    assert told[0]["seconds"] >= 4


def test_results_larger_than_the_store_takes_at_once_arrive(told):
    """27 MiB of one rank, where the store takes 8."""
    assert [facts["large"] for facts in told] == [2, 2]


def test_the_exception_of_a_rank_is_told_on_the_others_while_they_train(told):
    assert told[0]["stumbled"] == "RankError: rank 1 ended with KeyError: 'trial 3'"
    assert told[1]["stumbled"] == "KeyError: 'trial 3'"


def test_ranks_with_other_data_are_named_on_every_rank(told):
    message = (
        "ValueError: rank 1 was given other captions or arguments than rank 0: make the same calls, with the same "
        "captions and arguments, on every rank; if only one process is to measure, pass distributed=False"
    )
    assert [facts["other_data"] for facts in told] == [message, message]


def test_ranks_that_failed_together_can_go_on(told):
    assert [facts["afterwards"] for facts in told] == [5, 5]


def test_the_device_is_that_of_an_accelerator_made_afterwards_which_works(told):
    """Sharing needs no process group: the script is free to start its own, and to end it."""
    assert [facts["device"] for facts in told] == ["cpu", "cpu"]
    assert [facts["accelerator"] for facts in told] == [["cpu", 2, 0], ["cpu", 2, 1]]
    assert [(facts["with_it"], facts["after_its_end"]) for facts in told] == [(5, 5), (5, 5)]


def test_a_rank_that_never_comes_is_named_first_in_a_note_then_in_an_error(told):
    advice = "if only one process is to measure, pass distributed=False"
    assert told[0]["notes"] == [f"rank 0 waits for rank 1 to measure too; {advice}"]
    assert told[0]["alone"] == f"RankError: rank 0 waited 2 s for rank 1 in vain: measure on every rank; {advice}"
    assert told[0]["alone_for"] >= 2


def test_a_rank_that_comes_too_late_hears_that_the_others_gave_up(told):
    assert told[1]["alone"] == told[0]["alone"]
    assert told[1]["notes"] == []


def test_an_error_is_printed_by_all_ranks_before_the_launcher_ends_them(launch):
    printed = launch[1]
    assert re.search(r"^\[rank1\]: MemoryError: trial 4$", printed, re.MULTILINE), printed
    assert re.search(r"^\[rank0\]: .*RankError: rank 1 ended with MemoryError: trial 4$", printed, re.MULTILINE), (
        printed
    )


def test_ranks_that_the_launcher_starts_again_heed_nothing_said_before(told):
    """The launcher's store outlives the first attempt, in which one of as many calls had failed."""
    assert [facts["started_again"] for facts in told] == [[5] * 8, [5] * 8]


@pytest.mark.slow
def test_dead_ranks_on_other_machines_are_named(tmp_path):
    """Three launches for three machines: rank 1 is killed, then rank 0, whose launcher holds the store."""
    script = """
def die():
    os.kill(os.getpid(), signal.SIGKILL)

tell(first=error_of(share, before=die if crew.rank == 1 else lambda: None, silence=5))
if crew.rank == 0:
    threading.Timer(1, die).start()
tell(second=error_of(share))
"""
    port = free_port()
    machines = ["--num_machines", 3, "--num_processes", 3, "--same_network", "--main_process_ip", "127.0.0.1"]
    launches = [
        start(tmp_path, script, *accelerate_launch(*machines, "--main_process_port", port, "--machine_rank", rank))
        for rank in range(3)
    ]
    printed = output(*launches)
    died = f"RankError: rank 1 died (no sign of life for 5 s): {LOOK_AND_GO_ON}"
    assert [told_by(tmp_path, rank)["first"] for rank in (0, 2)] == [died, died], printed
    no_store = "RankError: rank 0 or its launcher ended, or its machine is out of reach"
    assert re.fullmatch(rf"{no_store} \(.+\): {LOOK_AND_GO_ON}", str(told_by(tmp_path, 2)["second"])), printed
    assert "second" not in told_by(tmp_path, 0)


@pytest.mark.slow
def test_ranks_started_by_other_means_share_too(tmp_path):
    """Without a launcher's store rank 0 opens one; without an address the script's own process group has one.

    Then rank 0, and the store in it, is stopped for a while: neither an answer nor a broken connection. At last it
    fails and ends, though not before rank 1 in its training knows why, and the store ends with it.
    """
    script = """
from torch import distributed

time.sleep(1.5 * (crew.rank == 0))
tell(opened=share(before=lambda: time.sleep(crew.rank / 2)), process=os.getpid())

launched = {name: os.environ.pop(name) for name in processes.LAUNCHED}
assert processes.crew() is None
distributed.init_process_group("gloo", init_method=f"file://{folder}/group", rank=crew.rank, world_size=2)
crew = processes.crew()
tell(own_group=[crew.rank, crew.size, share()])
distributed.destroy_process_group()

os.environ.update(launched)
crew = processes.crew()
tell(stopped=error_of(share, before=lambda: crew.rank or os.kill(os.getpid(), signal.SIGSTOP), silence=2))
if crew.rank == 1:
    os.kill(json.loads((folder / "0.json").read_text())["process"], signal.SIGCONT)
    tell(failed=error_of(share, before=lambda: fail(0, MemoryError("trial 4"))), ended=error_of(share))
else:
    tell(failed=error_of(share, before=lambda: fail(0, MemoryError("trial 4"))))
    os._exit(1)  # sooner than Python ends by itself
"""
    launched = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    ranks = [start(tmp_path, script, sys.executable, **launched, RANK=str(rank)) for rank in (0, 1)]
    printed = output(*ranks)
    told = [told_by(tmp_path, rank) for rank in (0, 1)]
    assert [facts["opened"] for facts in told] == [5, 5], printed
    assert [facts["own_group"] for facts in told] == [[0, 2, 5], [1, 2, 5]], printed
    no_store = "RankError: rank 0 or its launcher ended, or its machine is out of reach"
    assert told[1]["stopped"] == f"{no_store} (no answer for 2 s): {LOOK_AND_GO_ON}"
    gone = f"RankError: rank 1 died (no sign of life for 2 s): {LOOK_AND_GO_ON}"
    assert told[0]["stopped"] in (gone, None), "rank 1 may have given its results before the stop"
    assert told[1]["failed"] == "RankError: rank 0 ended with MemoryError: trial 4"
    assert re.fullmatch(rf"{no_store} \(.+\): {LOOK_AND_GO_ON}", str(told[1]["ended"]))
    assert [rank.returncode for rank in ranks] == [1, 0], printed


def test_a_plain_process_is_on_its_own_and_imports_no_torch():
    code = "import sys; from captionbias.attackers.ranks import crew; print(crew(), 'torch' in sys.modules)"
    environment = {name: value for name, value in os.environ.items() if name not in processes.LAUNCHED}
    environment["PYTHONPATH"] = str(SOURCE)
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["None", "False"]


def test_several_processes_without_torch_are_told_the_way_out():
    code = """
import sys
sys.modules["torch"] = None
from captionbias.attackers.ranks import crew
with crew().sharing("digest"):
    pass
"""
    environment = os.environ | {"PYTHONPATH": str(SOURCE), "RANK": "0", "WORLD_SIZE": "2"}
    environment |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert ran.stderr.splitlines()[-1] == (
        "ValueError: several processes share the trials through torch and accelerate: "
        "pip install 'captionbias[torch]'; if only one process is to measure, pass distributed=False"
    )
