"""Beside the package of DPA's and DBAC's authors, `bias-amplification`: scores, processor time and memory.

    python -m venv /tmp/theirs
    /tmp/theirs/bin/pip install torch==2.13.0 bias-amplification==0.2.1
    python benchmarks/beside_authors.py --theirs /tmp/theirs/bin/python [--shared FOLDER]

It has an environment of its own, so that neither changes what the other has. Each measurement has a process of its own,
with one thread; `--shared` is the folder with the recorded cases of `cooccurrence.py`, left out where it is missing.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import resource
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

SIDES = ("attributes", "tasks", "predicted_tasks", "predicted_attributes")
TRIALS = 10
COUNTING = {"ba_mals": "BA_MALS", "directional_ba": "DBA", "multi_directional_ba": "MDBA"}
RECORDED = {  # of each metric: the file of its cases, and what its two directions are called there
    "directional_ba": ("directional_ba_cases.json", ("ba_a_to_t", "ba_t_to_a")),
    "multi_directional_ba": ("multi_ba_cases.json", ("a_to_t", "t_to_a")),
}
KEYS = {  # of each metric: our scores, in the order of theirs
    **{name: (f"{name}_a_to_t", f"{name}_t_to_a") for name in (*RECORDED, "dpa")},
    **{name: (name,) for name in ("ba_mals", "label_leakage")},
}


def labels(images: int, tasks: int, several: bool) -> dict[str, Any]:
    """Labels whose tasks lean to an attribute value, and predictions that lean more; one task an image or several."""
    generator = np.random.default_rng(0)
    women = generator.random(images) < 0.5
    lean = np.linspace(-1, 1, tasks)

    def drawn(strength: float) -> Any:
        weight = np.exp(strength * np.where(women[:, None], lean, -lean))
        if several:
            return generator.random((images, tasks)) < 0.1 * weight
        return np.eye(tasks)[(weight.cumsum(1) / weight.sum(1, keepdims=True) < generator.random((images, 1))).sum(1)]

    flipped = women ^ (generator.random(images) < 0.1)
    sides = (np.stack([women, ~women], 1), drawn(0.5), drawn(1.0), np.stack([flipped, ~flipped], 1))
    return dict(zip(SIDES, (side.astype(int) for side in sides), strict=True))


def ours(metric: str, given: dict[str, Any], bootstrap: int = 1000) -> list[list[float]]:
    """Scores with their intervals."""
    from captionbias.metrics import find_metric

    trained = {"trials": TRIALS, "cache": False} if metric in ("dpa", "label_leakage") else {}
    if metric == "label_leakage":
        given = {side: flags for side, flags in given.items() if side != "predicted_attributes"}
    found = find_metric(metric)(**given, **trained, bootstrap=bootstrap)
    scale = 0.01 if metric == "label_leakage" else 1
    return [[scale * found.get(f"{key}{end}", np.nan) for end in ("", "_ci_low", "_ci_high")] for key in KEYS[metric]]


def theirs(metric: str, given: dict[str, Any]) -> list[list[float]]:
    """Scores, by the calls of their README; of attackers with the deviation over trials."""
    import torch
    from bias_amplification import metrics
    from bias_amplification.attacker_models import simpleDenseModel

    torch.set_num_threads(1)
    torch.manual_seed(0)
    known, shown, told, named = (torch.tensor(given[side], dtype=torch.float) for side in SIDES)
    if metric == "ba_mals":
        return [[float(metrics.BA_MALS().computeBiasAmp(known, shown, told)[0])]]
    if metric in COUNTING:
        both = getattr(metrics, COUNTING[metric])().computeBiasAmpBidirectional(known, named, shown, told)
        return [[float(both[way][0])] for way in ("AtoT", "TtoA")]
    settings = {"learning_rate": 0.01, "loss_function": "bce", "epochs": 100, "batch_size": 64}
    attackers = [simpleDenseModel(1, 1, 1, numFirst=1, activations=["sigmoid"]) for _ in range(2)]
    known, shown, told, named = (side[:, :1] for side in (known, shown, told, named))  # of more columns it raises
    with contextlib.redirect_stdout(io.StringIO()):  # it prints every trial
        if metric == "label_leakage":
            leakage = metrics.Leakage(attackers[0], settings, eval_metric="accuracy")
            said = [leakage.computeBiasAmp(known, shown, told, num_trials=TRIALS)]
        else:
            dpa = metrics.DPA(*attackers, settings, eval_metric="bce", threshold=False)
            said = [
                dpa.computeBiasAmp(known, shown, told, "AtoT", num_trials=TRIALS),
                dpa.computeBiasAmp(shown, known, named, "TtoA", num_trials=TRIALS),
            ]
    return [[float(number) for number in text.split(" ± ")] for text in said]


def one(library: str, metric: str, *paths: str) -> None:
    """Measure in this process and print scores, processor seconds and the MB that it added at its peak."""
    cases = [dict(np.load(path)) for path in paths]
    measure = {"ours": ours, "theirs": theirs, "ours without intervals": partial(ours, bootstrap=0)}[library]
    measure(metric, {side: flags[:200] for side, flags in cases[0].items()})  # imports
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    scores = [measure(metric, case) for case in cases]
    took, after = time.process_time() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"scores": scores, "seconds": took, "mb": (after - before) / 1024}))


def measured(python: str, library: str, metric: str, *cases: dict[str, Any]) -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        paths = [f"{folder}/{number}.npz" for number in range(len(cases))]
        for path, case in zip(paths, cases, strict=True):
            np.savez(path, **{side: np.asarray(case[side]) for side in SIDES})
        words = [python, "-W", "ignore", __file__, "--one", library, metric, *paths]
        threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        done = subprocess.run(words, capture_output=True, text=True, env=os.environ | threads)
    if done.returncode:
        raise SystemExit(f"{library}, {metric}: {done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def text(numbers: list[float]) -> str:
    value, *rest = numbers
    spread = f" [{rest[0]:.3f}, {rest[1]:.3f}]" if len(rest) == 2 else f" ± {rest[0]:.3f}" if rest else ""
    return f"{value:.3f}{spread}"


def agreement(pythons: list[tuple[str, str]], shared: Path) -> None:
    """How far both are from the scores that the code of each metric's paper gave, kept with the cases."""
    print("\n| from the original code | cases | theirs, A to T | ours, A to T | theirs, T to A | ours, T to A |")
    print("| --- | --- | --- | --- | --- | --- |")
    for metric, (file, ways) in RECORDED.items():
        cases = json.loads((shared / "reference" / file).read_text())["cases"]
        cases = [case for case in cases if "training_tasks" not in case and all(map(case.get, (*SIDES, *ways)))]
        both = [measured(python, library, metric, *cases)["scores"] for python, library in pythons]
        cells = []
        for way, name in enumerate(ways):
            for scores in both:
                off = [abs(score[way][0] - case[name]) for score, case in zip(scores, cases, strict=True)]
                cells.append(f"{min(off):.0e} to {max(off):.0e}")
        print(f"| {metric} | {len(cases)} | {' | '.join(cells)} |")


def main(theirs_python: str, shared: Path) -> None:
    """Print both tables."""
    there = Path(theirs_python).is_file() and subprocess.run([theirs_python, "-c", "import bias_amplification"])
    if not there or there.returncode:
        raise SystemExit(f"{theirs_python} has no bias-amplification; set it up as this file says: {__file__}")
    rows = [(metric, 20_000, 10, several) for several in (False, True) for metric in KEYS if metric in COUNTING]
    rows += [(metric, 5_000, 2, False) for metric in ("label_leakage", "dpa")]
    pythons = [(theirs_python, "theirs"), (sys.executable, "ours"), (sys.executable, "ours without intervals")]
    print("| score | images x tasks | theirs | ours [95% interval] | seconds: theirs | ours | no intervals", end="")
    print(" | MB: theirs | ours |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for metric, images, tasks, several in rows:
        given = labels(images, tasks, several)
        sides = [measured(python, library, metric, given) for python, library in pythons]
        costs = [f"{side['seconds']:.2f}" for side in sides] + [f"{side['mb']:.0f}" for side in sides[:2]]
        for row, key in enumerate(KEYS[metric]):
            scores = " | ".join(text(side["scores"][0][row]) for side in sides[:2])
            kind = f"{images:,} x {tasks}, {'several' if several else 'one'} an image"
            print(f"| {key} | {kind} | {scores} | {' | '.join([''] * 5 if row else costs)} |", flush=True)
    if (shared / "reference").is_dir():
        agreement(pythons[:2], shared)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--theirs", default="/tmp/theirs/bin/python", help="the Python that has bias-amplification")
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--one", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    one(*arguments.one) if arguments.one else main(arguments.theirs, arguments.shared)
