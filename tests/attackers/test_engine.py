"""The engine: trials in, scores out, each trial by itself."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from captionbias.attackers import lstm as lstm_module
from captionbias.attackers.engine import ATTACKERS, run_trials
from captionbias.attackers.trials import Trial, TrialScores


@pytest.fixture
def small_networks(monkeypatch):
    monkeypatch.setattr(lstm_module, "LIC", replace(lstm_module.LIC, embedding=8, hidden=8, batch=16, epochs=1))
    monkeypatch.setattr(
        lstm_module, "DBAC", replace(lstm_module.DBAC, embedding=8, hidden=8, head=(8, 8), batch=16, epochs=1)
    )


@pytest.fixture
def trials(class_trial, task_trial) -> list[Trial]:
    """Of both kinds, of different sizes, two on the same examples and two of the same seed."""
    first = class_trial(n=70, test=20, seed=1)
    return [
        first,
        task_trial(n=80, test=30, seed=1),
        replace(first, train=first.train[10:], seed=2),
        class_trial(n=60, classes=3, test=10, seed=3),
        first,
    ]


def bits(scores: TrialScores) -> tuple[bytes, bytes]:
    return scores.log_probability.tobytes(), scores.correct.tobytes()


@pytest.mark.parametrize("attacker", list(ATTACKERS))
def test_a_trial_alone_is_the_trial_among_others_bit_for_bit(small_networks, trials, attacker):
    together = run_trials(trials, attacker)
    assert [len(scores.correct) for scores in together] == [20, 30, 20, 10, 20]
    for trial, scores in zip(trials, together, strict=True):
        assert bits(run_trials([trial], attacker)[0]) == bits(scores)
    assert list(map(bits, run_trials(trials[::-1], attacker))) == list(map(bits, together[::-1]))
    assert bits(together[0]) == bits(together[4])
    assert bits(together[0]) != bits(together[2])


def test_attackers_differ(small_networks, trials):
    assert len({bits(run_trials(trials[:1], attacker)[0]) for attacker in ATTACKERS}) == len(ATTACKERS)


def test_progress_changes_no_score_and_stays_off_standard_output(trials, capsys):
    shown = run_trials(trials, "bow", progress=True)
    assert list(map(bits, shown)) == list(map(bits, run_trials(trials, "bow")))
    assert capsys.readouterr().out == ""


def test_no_trials_have_no_scores():
    assert run_trials([], "bow") == []


def test_an_unknown_encoder_is_refused_with_those_there_are():
    with pytest.raises(ValueError, match=r"encoder 'gru' is unknown; choose one of bow, lstm, lstm-lic"):
        run_trials([], "gru")


@pytest.mark.parametrize("absent", ["torch", "accelerate"])
@pytest.mark.parametrize("attacker", ["lstm", "lstm-lic"])
def test_without_torch_the_message_names_the_way_out(monkeypatch, trials, absent, attacker):
    import accelerate  # noqa: F401  # so that its own import does not fail half-way
    import torch  # noqa: F401

    monkeypatch.setitem(sys.modules, absent, None)
    with pytest.raises(ValueError, match=r"needs torch and accelerate: pip install 'captionbias\[torch\]'.*'fast'"):
        run_trials(trials, attacker)


def test_without_torch_all_but_the_networks_can_be_imported():
    code = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name.split('.')[0] in ('torch', 'accelerate'): raise ImportError(name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        "from captionbias.attackers.engine import run_trials\n"
        "try:\n"
        "    run_trials([None], 'lstm')\n"
        "except ValueError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "pip install 'captionbias[torch]'" in done.stdout
