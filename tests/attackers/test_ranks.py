"""Ranks share trials: real processes, with arrays made up in place of training."""

import json
import re
from typing import Any

import accelerate
import pytest
from torch import distributed

from captionbias.attackers.ranks import ONE_PROCESS
from captionbias.metrics import lic
from captionbias.synthetic import plant
from tests.launch import free_port, launched

SCRIPT = """
import json, os, sys, time
from pathlib import Path
import accelerate
import numpy as np
from captionbias.attackers import ranks
from captionbias.metrics import lic
from captionbias.synthetic import plant

folder, (rank, size), facts = Path(sys.argv[1]), ranks.rank_and_size(), {}

def report(**found):
    facts.update(found)
    (folder / f"{rank}.json").write_text(json.dumps(facts))

def made_up(number, length):
    values = np.random.default_rng(number).normal(size=length)
    values[0] = [-np.inf, np.nan, -0.0][number % 3]
    return values

def share(total=5, length=3, data="the same", seconds=0, killed=False):
    "How many results all ranks have, bit for bit those of one process."

    def train(positions):
        assert list(positions) == list(range(total))[rank :: size]
        time.sleep(seconds)
        if killed and rank:
            os.kill(os.getpid(), 9)
        yield from ((position, made_up(position, length)) for position in positions)

    results = ranks.share([f"{data} {number}" for number in range(total)], train, distributed=True)
    assert [values.tobytes() for values in results] == [made_up(number, length).tobytes() for number in range(total)]
    return len(results)

def error_of(**options):
    try:
        return share(**options)
    except Exception as error:
        return f"{type(error).__name__}: {error}"

if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    share()
    share(killed=True)
    (folder / "over").touch()
report(calls=[share(), share(), share(total=1), share(total=0)], device=str(ranks.device()))
report(rank_0=ranks.on_rank_0(os.getpid) == os.getpid())
report(slow=share(total=2, length=3 << 20, seconds=1.0 * rank))
report(different=error_of(data=f"data {rank}"))

accelerator = accelerate.Accelerator(mixed_precision="no")
report(accelerator=[accelerator.device.type, accelerator.num_processes, accelerator.process_index])
progress = []
options = {"preset": "fast", "trials": 5, "bootstrap": 0, "progress": lambda *numbers: progress.append(numbers)}
options |= {**vars(plant(100, captions=1)), "cache": False}
if accelerator.is_main_process:
    report(alone=lic(**options))
    progress.clear()
report(lic=lic(**options, distributed=True), progress=progress)
kept = lic.measure(**options | {"progress": False}, distributed=True, keep_attackers=2)
report(kept=[kept.flat(), len(kept.artefacts.plans["lic"].fitted)])
accelerator.wait_for_everyone()
ranks.MEETING_SECONDS = 0.5
if rank == 0:
    report(left_alone=error_of())
accelerator.end_training()
report(after_its_end=error_of())
"""


@pytest.fixture(scope="module")
def facts(tmp_path_factory) -> list[dict[str, Any]]:
    """Two ranks that make calls one after the other, started again after one was killed."""
    folder = tmp_path_factory.mktemp("launch")
    (folder / "script.py").write_text(SCRIPT)
    options = "--rdzv_backend", "c10d", "--max_restarts", "1", folder / "script.py", folder
    # Else ranks that are started again may read the addresses of those before them.
    variables = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1", "PET_RDZV_ENDPOINT": f"127.0.0.1:{free_port()}"}
    _, printed = launched(options, folder, **variables)
    found = [json.loads(file.read_text()) for file in sorted(folder.glob("?.json"))]
    assert ["after_its_end" in one for one in found] == [True, True], printed
    assert not (folder / "over").exists(), "the launcher ends all ranks when one is killed"
    return found


def test_every_rank_has_all_results_call_after_call(facts):
    """A rank without trials too, after a restart by the launcher, from a slow rank and 25 MB from each."""
    assert [one["calls"] for one in facts] == [[5, 5, 1, 0]] * 2
    assert [one["rank_0"] for one in facts] == [True, False]
    assert [one["slow"] for one in facts] == [2, 2]


def test_a_metric_gives_each_rank_the_scores_of_one_process_and_rank_0_alone_reports_progress(facts):
    alone = lic(**vars(plant(100, captions=1)), preset="fast", trials=5, bootstrap=0, cache=False)
    alone = json.loads(json.dumps(alone))
    assert [one["lic"] for one in facts] == [alone] * 2
    assert [one.get("alone") for one in facts] == [alone, None], "what one calls ends there"
    assert [one["progress"] for one in facts] == [[[finished, 5] for finished in range(6)], []]
    assert [one["kept"] for one in facts] == [[alone, 2]] * 2, "each trains those it keeps"


def test_the_script_may_start_a_process_group_but_not_end_it_before_it_measures(facts):
    """The device is that of an Accelerator made afterwards."""
    assert [(one["device"], one["accelerator"]) for one in facts] == [("cpu", ["cpu", 2, rank]) for rank in range(2)]
    for one in facts:
        assert one["after_its_end"].startswith("ValueError: distributed: this script has ended its process group")


def test_ranks_with_other_data_and_ranks_that_do_not_come_are_told_of(facts):
    for rank, one in enumerate(facts):
        made = f"rank {1 - rank} made this call with other captions or arguments than rank {rank}"
        assert one["different"] == f"ValueError: {made}: use the same ones on every rank; {ONE_PROCESS}"
    told = r"RankError: another rank is gone, or did not make the same call within 0.5 s \(.*\): .*"
    assert re.fullmatch(told + re.escape(ONE_PROCESS), facts[0]["left_alone"])


@pytest.mark.slow
def test_a_launched_process_that_measures_alone_waits_for_no_other(monkeypatch):
    """On rank 0 of two alone, with an attacker that asks for the device."""
    options = {**vars(plant(100, captions=1)), "encoder": "dense", "trials": 1, "bootstrap": 0, "cache": False}
    alone = lic(**options)
    launcher = {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "9"}
    for name, value in (launcher | {"ACCELERATE_USE_CPU": "0"}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(accelerate, "PartialState", None)  # which would wait
    assert lic(**options) == alone
    assert not distributed.is_initialized()
