"""Attackers by name: what each is called, trained in, known by, and refused for."""

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import captionbias
from captionbias.attackers import convex
from captionbias.attackers import registry as module
from captionbias.attackers.neural.fitting import epochs
from captionbias.attackers.pretrained.models import KNOWN
from captionbias.attackers.recipes import RECIPES
from captionbias.attackers.registry import BERTS, ENCODERS, computes_bf16, find_attacker
from captionbias.bench.arguments import ARGUMENTS
from captionbias.explain.contributions import check_explained
from tests.refusals import refuses

GUIDE = (Path(__file__).parents[2] / "docs" / "attackers.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [*ENCODERS, *BERTS, *KNOWN])
def test_an_encoder_is_in_the_help_and_in_the_guide(name: str) -> None:
    assert re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", ARGUMENTS["encoder"].about)
    assert f"`{name}`" in GUIDE


@pytest.mark.parametrize("encoder", ["bow", "linear"])
def test_a_convex_attacker_has_no_precision_and_trains_in_threads(class_trial, encoder):
    found, trial = find_attacker(encoder), class_trial(n=60, test=20)
    assert (found.precision, found.placement, found.explained) == (None, "threads", "coefficients")
    assert found.signature([trial]) == {"attacker": encoder}
    pairs = convex.fit(trial, pairs=encoder == "bow").test_scores
    assert found.fit(trial).test_scores.log_probability.tolist() == pairs.log_probability.tolist()
    refuses("cannot be explained; measure with another", check_explained, replace(found, explained=None))


def test_without_a_precision_it_is_what_the_processor_computes_natively():
    flags = Path("/proc/cpuinfo").read_text().split() if Path("/proc/cpuinfo").exists() else []
    native = "avx512_bf16" in flags or "amx_bf16" in flags
    if "flags" in flags and hasattr(torch.cpu, "get_capabilities"):  # of an x86 processor, by another hand than torch's
        assert computes_bf16(torch.device("cpu")) == native
    assert not computes_bf16(torch.device("mps"))
    assert find_attacker("rnn").precision == ("bf16" if computes_bf16(module.device()) else "fp32")
    assert find_attacker("rnn").identity == find_attacker("rnn", find_attacker("rnn").precision).identity


@pytest.mark.parametrize(
    ("place", "encoder", "placement"),
    [
        ("cpu", "lstm-dbac", "processes"),
        ("cuda", "lstm-dbac", "stacked"),
        ("cuda", "dense", "stacked"),
        ("cuda", "rnn", "stacked"),
        ("cuda", "transformer-1h", "plain"),
    ],
)
def test_networks_have_a_core_each_or_the_gpu_together_and_identities_that_stay(monkeypatch, place, encoder, placement):
    monkeypatch.setattr(module, "device", lambda: torch.device(place))
    assert find_attacker(encoder, "fp32").placement == placement
    first, again = ([find_attacker(name).identity for name in ENCODERS] for _ in range(2))
    assert len(set(first)) == len(ENCODERS)
    assert again == first


@pytest.mark.parametrize(("native", "precision"), [(True, "bf16"), (False, "fp16")])
def test_a_gpu_has_16_bits_of_the_kind_that_it_computes(monkeypatch, native, precision):
    monkeypatch.setattr(module, "device", lambda: torch.device("cuda"))
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: native)
    assert find_attacker("lstm-lic").precision == precision
    assert find_attacker("lstm-lic", "fp16").precision == "fp16"


@pytest.mark.parametrize(
    ("encoder", "precision", "message"),
    [
        ("gru", None, r"encoder 'gru' is unknown; choose one of bow, linear, lstm-dbac, .*lstm-lic.* pretrained one"),
        ("rnn", "fp8", "precision 'fp8' is unknown; choose one of fp32, bf16, fp16"),
        ("rnn", "fp16", "precision 'fp16' is for a CUDA GPU; here choose one of fp32, bf16"),
        ("linear", "fp32", "precision 'fp32': encoder 'linear' has no choice of precision; leave it out"),
    ],
)
def test_an_unknown_encoder_or_precision_is_refused_with_those_there_are(encoder, precision, message):
    refuses(message, find_attacker, encoder, precision)


def test_without_torch_a_script_measures_with_the_convex_attacker_and_hears_of_the_others():
    code = """
import sys
from importlib.machinery import PathFinder

class WithoutTorch(PathFinder):
    def find_spec(self, name, *rest):
        return None if name in ("torch", "accelerate") else PathFinder.find_spec(name, *rest)

sys.meta_path[sys.meta_path.index(PathFinder)] = WithoutTorch()
from captionbias.metrics import lic

captions = ["a woman cooks food", "a lady cooks dinner", "a man rides waves", "a man surfs"] * 5
labels = ["female", "female", "male", "male"] * 5
quick = {"preset": "fast", "trials": 2, "bootstrap": 0, "distributed": True}  # of one process, which needs no torch
print(lic(predictions=captions, attributes=labels, **quick)["leakage_m"])
try:
    lic(predictions=captions, attributes=labels)
except ValueError as error:
    print(error)
"""
    source = {"PYTHONPATH": str(Path(captionbias.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, env=source)
    leakage, message = done.stdout.splitlines()
    assert (leakage, done.stderr) == ("100.0", "")
    assert "pip install '.[torch]'" in message


@pytest.mark.parametrize("encoder", ["lstm-dbac", "dense", "lstm-lic"])
def test_a_small_set_is_gone_over_until_the_least_steps_and_the_signature_says_so(class_trial, encoder):
    schedule, attacker = RECIPES[encoder].schedule, find_attacker(encoder, "fp32")
    small, ours = class_trial(n=200, test=20), encoder != "lstm-lic"  # whose epochs are those of its paper
    steps = len(list(epochs(small, schedule)))  # two an epoch, and three of the paper's
    assert schedule.least_steps <= steps < schedule.least_steps + 2 if ours else steps == 3 * 20
    assert attacker.signature([small]).get("steps") == (f"{schedule.least_steps}+" if ours else None)
    assert schedule.epochs_of(5400) == schedule.epochs, "6,000 images less the tenth that is scored"
    assert "steps" not in attacker.signature([replace(small, train=np.arange(5400))])
