"""How fast attackers train: beside the reference loop and a plain torch loop, over cores, on a GPU; and a whole DBAC.

usage: python benchmarks/speed.py lic|frozen|encoders|cores|dbac   (--help after one of them: its options)
       python benchmarks/speed.py --device cuda   (60 trainings of LIC's LSTM, stacked and one by one)

No trial comes from the cache. What is paid once, imports and the start of worker processes, is told apart. Ratios hold
on a machine that is free: other work slows loops of several threads down most.
lic trains 10 attackers in each of two programs, 20 epochs each: over an hour on two cores. The others take minutes.
"""

from __future__ import annotations

import itertools
import os
import platform
import re
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import psutil
import torch
import typer
from joblib.externals.loky import get_reusable_executor
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence

from captionbias.attackers.base import (
    Examples,
    Trial,
    TrialScores,
    balanced_split,
    score_classes,
    score_tasks,
    stratified_split,
)
from captionbias.attackers.engine import run_trials
from captionbias.attackers.neural.fitting import PADDING_ROW, outputs, vocabulary
from captionbias.attackers.neural.networks import positions
from captionbias.attackers.recipes import RECIPES, Recipe, Recurrent
from captionbias.attackers.registry import Attacker, find_attacker
from captionbias.attackers.workers import cores
from captionbias.metrics import dbac as measure_dbac
from captionbias.scores.captions import lic as lic_of_captions
from captionbias.synthetic import TASKS, plant
from captionbias.text import Tokens, find_mentions, load_lexicon, mask_mentions, tokenize

PLACEMENTS = ("plain", "threads", "processes")
ENCODERS = ("bow", *(name for name in RECIPES if name != "dense"))  # dense attacks labels
NO_THREADS = set(RECIPES)  # networks would share torch's random numbers
BOW_TRIALS = 25  # in the time of one of lstm
REFERENCE_LINE = re.compile(r"seed (\d+): LIC ([\d.]+) .* ([\d.]+) s\)")
MEMORY_LINE = re.compile(r"^(Pss|Pss_Anon): +(\d+) kB", re.MULTILINE)

app = typer.Typer(add_completion=False, no_args_is_help=True)
console = Console(width=150)


# What it was measured on


def machine(precision: str | None = None) -> str:
    load, _, _ = os.getloadavg()
    numbers = f", {precision}" if precision else ""
    return f"{cores()} cores, {processor()}, load {load:.1f}, torch {torch.__version__}{numbers}"


def processor() -> str:
    named = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return named[1] if named else platform.machine()


def show(title: str, rows: Sequence[dict[str, str]], precision: str | None = None) -> None:
    table = Table(*rows[0])
    for row in rows:
        table.add_row(*row.values())
    console.print(f"\n{title}\n{machine(precision)}", highlight=False)
    console.print(table)


def timed(work: Callable[..., Any], *given: Any, **named: Any) -> tuple[float, Any]:
    started = time.perf_counter()
    result = work(*given, **named)
    return time.perf_counter() - started, result


def family() -> list[psutil.Process]:
    """This process and its children."""
    this = psutil.Process()
    return [this, *this.children(recursive=True)]


def processor_seconds() -> float:
    """What the family has computed for: other work on the machine adds far less to it than to the time that passes."""
    spent = 0.0
    for process in family():
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            spent += times.user + times.system + times.children_user + times.children_system
    return spent


def held_memory() -> Counter[str]:
    """MB of the family: `Pss`, pages that they share counted once, and `Pss_Anon`, without mapped files."""
    held: Counter[str] = Counter()
    for process in family():
        with suppress(OSError):  # it has ended
            found = MEMORY_LINE.findall(Path(f"/proc/{process.pid}/smaps_rollup").read_text())
            held.update({name: int(kilobytes) / 1024 for name, kilobytes in found})
    return held


@contextmanager
def peak_memory() -> Iterator[Counter[str]]:
    """The most that `held_memory` gives meanwhile, sampled by a thread that takes a tenth of one core at most."""
    peak, over = held_memory(), threading.Event()

    def sample() -> None:
        while not over.is_set():
            seconds, held = timed(held_memory)
            peak.update({name: max(0, held[name] - peak[name]) for name in held})
            over.wait(max(0.01, 9 * seconds))

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        over.set()
        thread.join()


# What attackers are trained on


def masked(captions: Sequence[str], lexicon: str) -> Tokens:
    tokens, words = tokenize(captions), load_lexicon(lexicon)
    return mask_mentions(tokens, (find_mentions(tokens, words), words.mask))


def classes_of(attributes: Sequence[str]) -> Any:
    return np.unique(attributes, return_inverse=True)[1].astype(np.int64)


def planted_questions(captions: int) -> dict[str, Examples]:
    """What attackers are asked of planted model captions."""
    planted = plant(captions, captions=1)
    shown = np.array([tasks[0] for tasks in planted.tasks])[:, None] == np.array(TASKS)
    return {
        "attribute": Examples(masked(planted.predictions, "gender"), classes_of(planted.attributes), 2),
        "tasks": Examples(masked(planted.predictions, "coco_objects"), shown, len(TASKS)),
    }


def trials_of(examples: Examples, trials: int) -> list[Trial]:
    halves = np.arange(len(examples.tokens)) % 2
    return [Trial(examples, *stratified_split(halves, 0.2, seed), seed) for seed in range(trials)]


def lic_trials(captions: Sequence[str], attributes: Sequence[str], trials: int) -> list[Trial]:
    """Those that `lic-2022` trains on these captions."""
    classes = classes_of(attributes)
    examples = Examples(masked(captions, "gender"), classes, 2)
    return [Trial(examples, *balanced_split(classes, 0.1, seed), seed) for seed in range(trials)]


def with_epochs(attacker: Attacker, epochs: int) -> Attacker:
    recipe = RECIPES[attacker.name]
    schedule = replace(recipe.schedule, epochs=epochs)
    together = partial(attacker.fit_together, recipe=replace(recipe, schedule=schedule))
    return replace(attacker, fit=partial(attacker.fit, schedule=schedule), fit_together=together)


def train(trials: Sequence[Trial], attacker: Attacker, placement: str | None = None) -> list[TrialScores]:
    return run_trials(trials, replace(attacker, placement=placement or attacker.placement), cache=False)


def start(attacker: Attacker, placement: str | None = None) -> float:
    """Seconds of the first trainings, which import what they need and start the workers: small ones, one a core."""
    small = trials_of(planted_questions(200)["attribute"], cores())
    seconds, _ = timed(train, small, attacker, placement)
    return seconds


def end_workers() -> None:
    get_reusable_executor(reuse=True).shutdown(wait=True)


# The plain loop


class PlainNetwork(nn.Module):
    """An attacker of torch's own layers."""

    def __init__(self, recipe: Recipe, words: int, outputs: int, longest: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, recipe.embedding, padding_idx=PADDING_ROW)
        self.dropout = nn.Dropout(recipe.dropout)
        self.recurrent = isinstance(recipe.encoder, Recurrent)
        if isinstance(recipe.encoder, Recurrent):
            encoder, kinds = recipe.encoder, {"lstm": nn.LSTM, "rnn": nn.RNN}
            between = recipe.dropout if encoder.layers > 1 else 0.0
            self.encoder = kinds[encoder.cell](
                recipe.embedding, encoder.hidden, encoder.layers, bidirectional=encoder.bidirectional, dropout=between
            )
            self.directions = 1 + encoder.bidirectional
            width = encoder.hidden * self.directions
        else:
            width, encoder = recipe.embedding, recipe.encoder
            self.encoder = nn.TransformerEncoderLayer(
                width, encoder.heads, encoder.hidden, recipe.dropout, batch_first=True
            )
            self.register_buffer("places", positions(torch.arange(longest), width))
        *hidden, last = itertools.pairwise([width, *recipe.head, outputs])
        layers = [layer for widths in hidden for layer in (nn.Linear(*widths), nn.ReLU())]
        self.head = nn.Sequential(*layers, nn.Linear(*last))

    def forward(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Logits `(captions, outputs)` of `tokens` `(captions, longest)`."""
        words = self.embedding(tokens)
        features = self._last_states(words, lengths) if self.recurrent else self._mean(words, tokens != PADDING_ROW)
        return self.head(self.dropout(features))

    def _last_states(self, words: Tensor, lengths: Tensor) -> Tensor:
        packed = pack_padded_sequence(self.dropout(words), lengths, batch_first=True, enforce_sorted=False)
        state = self.encoder(packed)[1]
        last = state[0] if isinstance(state, tuple) else state
        return torch.cat(tuple(last[-self.directions :]), 1)

    def _mean(self, words: Tensor, real: Tensor) -> Tensor:
        words = self.dropout(words + self.places[: words.shape[1]])
        found = self.encoder(words, src_key_padding_mask=~real) * real[..., None]
        return found.sum(1) / real.sum(1, keepdim=True)


def plain_loop(trial: Trial, attacker: Attacker) -> TrialScores:
    """The trial as one would write it down: torch's layers, its Adam, padded batches, as many threads as it takes."""
    recipe = replace(RECIPES[attacker.name], schedule=attacker.fit.keywords["schedule"])
    torch.manual_seed(trial.seed)
    tokens = trial.examples.tokens
    numbers, rows = vocabulary(trial)
    sequences = [torch.from_numpy(numbers[ids]).long() for ids in np.split(tokens.ids, tokens.offsets[1:-1])]
    targets = torch.from_numpy(trial.examples.targets)
    model = PlainNetwork(recipe, rows, outputs(trial), int(tokens.lengths.max()))
    optimizer = torch.optim.Adam(model.parameters(), lr=recipe.schedule.learning_rate)

    def logits(chosen: Tensor) -> Tensor:
        captions = [sequences[row] for row in chosen.tolist()]
        padded = pad_sequence(captions, batch_first=True, padding_value=PADDING_ROW)
        return model(padded, torch.tensor([len(caption) for caption in captions]))

    for _ in range(recipe.schedule.epochs):
        for chosen in plain_batches(torch.from_numpy(trial.train), tokens.lengths, recipe):
            optimizer.zero_grad()
            plain_loss(logits(chosen), targets[chosen]).backward()
            optimizer.step()
    model.eval()
    with torch.no_grad():
        found = torch.cat([logits(chosen) for chosen in torch.from_numpy(trial.test).split(512)]).double()
    truth = trial.examples.targets[trial.test]
    if trial.examples.multilabel:
        return score_tasks(found.numpy(), truth)
    return score_classes(torch.log_softmax(functional.pad(found, (1, 0)), 1).numpy(), truth)


def plain_batches(rows: Tensor, lengths: Any, recipe: Recipe) -> list[Tensor]:
    shuffled = rows[torch.randperm(len(rows))]
    size = recipe.schedule.batch
    if not recipe.schedule.bucketed:
        return list(shuffled.split(size))
    pools = (pool[np.argsort(lengths[pool.numpy()])] for pool in shuffled.split(100 * size))
    found = [batch for pool in pools for batch in pool.split(size)]
    return [found[number] for number in torch.randperm(len(found)).tolist()]


def plain_loss(logits: Tensor, targets: Tensor) -> Tensor:
    wanted = targets.float().view(len(targets), -1)
    return functional.binary_cross_entropy_with_logits(logits, wanted, reduction="sum") / len(targets)


def plain_bow(trial: Trial, attacker: Attacker) -> TrialScores:
    """The same of scikit-learn: counts of words and word pairs, a logistic regression a task."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    texts = np.array(trial.examples.tokens.texts(), dtype=object)
    counter = CountVectorizer(ngram_range=(1, 2), binary=True, token_pattern=r"\S+", lowercase=False)
    known, found = counter.fit_transform(texts[trial.train]), counter.transform(texts[trial.test])
    truth = trial.examples.targets[trial.test]
    one = LogisticRegression(max_iter=1000)
    if not trial.examples.multilabel:
        model = one.fit(known, trial.examples.targets[trial.train])
        return score_classes(model.predict_log_proba(found), truth)
    model = OneVsRestClassifier(one).fit(known, trial.examples.targets[trial.train])
    share = model.predict_proba(found)
    return score_tasks(np.log(share / (1 - share)), truth)


# The parts


@app.command("lic")
def beside_reference(
    trials: Annotated[int, typer.Option(min=1, help="attackers that we train")] = 10,
    reference_trials: Annotated[int | None, typer.Option(min=1, help="that the reference trains; as many")] = None,
    epochs: Annotated[int, typer.Option(min=1, help="epochs of either; fewer for a quick ratio")] = 20,
    shared: Annotated[Path, typer.Option(help="folder with the published captions and the loop")] = Path("../shared"),
) -> None:
    """LIC's LSTM on captioner nic, gender, beside the reference loop; and bow."""
    data, loop = shared / "data" / "gender", shared / "baselines" / "reference_lic.py"
    if not (data.is_dir() and loop.is_file()):
        sys.exit(f"no published captions or no reference loop at {shared}: this part needs both; pass --shared FOLDER")
    before = processor_seconds()
    reference = run_reference(loop, data, reference_trials or trials, epochs)
    spent = processor_seconds() - before  # some seconds of imports among them
    people = pd.read_parquet(data / "people.parquet")
    table = people.merge(pd.read_parquet(data / "predictions" / "nic.parquet"), on="image_id")
    plan = lic_trials(list(table.caption), list(table.gender), trials)

    paired = min(trials, len(reference))
    theirs, seconds = (np.array(column) for column in zip(*reference, strict=True))
    row = {
        "attacker": f"reference loop, {torch.get_num_threads()} threads",
        "trials": str(len(reference)),
        "s a trial": f"{seconds.mean():.2f}",
        "ratio": "1",
        "processor s": f"{spent / len(reference):.2f}",
        "their ratio": "1",
        f"LIC, {paired} seeds": f"{theirs[:paired].mean():.2f}",
        "sd": spread(theirs[:paired]),
        "difference": "",
        "start, s": "",
    }
    rows = [row]
    lstm = with_epochs(find_attacker("lstm-lic"), epochs)
    for attacker in (lstm, find_attacker("bow")):
        started, before = start(attacker), processor_seconds()
        wall, scores = timed(train, plan, attacker)
        own = processor_seconds() - before
        ours = np.array([100 * lic_of_captions(each.log_probability, each.correct).mean() for each in scores[:paired]])
        cells = [
            f"{attacker.name}, {attacker.placement}",
            str(trials),
            f"{wall / trials:.2f}",
            f"{seconds.mean() * trials / wall:.2f}",
            f"{own / trials:.2f}",
            f"{spent / len(reference) * trials / own:.2f}",
            f"{ours.mean():.2f}",
            spread(ours),
            f"{ours.mean() - theirs[:paired].mean():+.2f}",
            f"{started:.1f}",
        ]
        rows.append(dict(zip(row, cells, strict=True)))
    show(f"LIC_M of nic, epochs: {epochs}, seeds from 0, each program's own splits", rows, lstm.precision)


def run_reference(loop: Path, data: Path, trials: int, epochs: int) -> list[tuple[float, float]]:
    """LIC and seconds of each seed, as the loop prints them; its imports are not in the seconds."""
    seeds = ",".join(map(str, range(trials)))
    command = [sys.executable, "-u", str(loop), str(data), "nic", seeds, "M", str(epochs)]
    found = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        for line in running.stdout or ():
            console.print(line.rstrip(), highlight=False)
            if said := REFERENCE_LINE.search(line):
                found.append((float(said[2]), float(said[3])))
    if running.returncode or len(found) != trials:
        sys.exit(f"the reference loop ended with {running.returncode} after {len(found)} of {trials} trials")
    return found


def spread(values: Any) -> str:
    return f"{values.std(ddof=1):.2f}" if len(values) > 1 else "-"


@app.command()
def frozen(
    model: Annotated[str, typer.Option(help="a sentence encoder, by name or folder")] = "all-MiniLM-L6-v2",
    trials: Annotated[int, typer.Option(min=1, help="heads that are trained: a row of LIC has 60")] = 60,
    epochs: Annotated[int, typer.Option(min=1, help="of the one reference attacker; its time counts for 20")] = 2,
    shared: Annotated[Path, typer.Option(help="folder with the published captions and the loop")] = Path("../shared"),
) -> None:
    """A row of LIC on a frozen encoder beside one of LSTMs in the reference loop."""
    data, loop = shared / "data" / "gender", shared / "baselines" / "reference_lic.py"
    if not (data.is_dir() and loop.is_file()):
        sys.exit(f"no published captions or no reference loop at {shared}: this part needs both; pass --shared FOLDER")
    people = pd.read_parquet(data / "people.parquet")
    table = people.merge(pd.read_parquet(data / "predictions" / "nic.parquet"), on="image_id")
    plan = lic_trials(list(table.caption), list(table.gender), trials)
    with tempfile.TemporaryDirectory() as store:
        attacker = find_attacker("bert-frozen", model=model, cache=store)
        first, _ = timed(train, plan[:1], attacker)
        wall, scores = timed(train, plan, attacker)
    ((_, theirs),) = run_reference(loop, data, 1, epochs)
    reference = theirs * 20 / epochs
    lics = np.array([100 * lic_of_captions(each.log_probability, each.correct).mean() for each in scores])
    distinct = len(np.unique(plan[0].examples.tokens.fingerprints()))
    row = {
        "frozen encoder": attacker.name,
        "trials": str(trials),
        "s a trial": f"{wall / trials:.2f}",
        "LSTM of the reference, s": f"{reference:.0f}",
        "ratio": f"{reference * trials / wall:.0f}",
        f"encoding {distinct:,} captions and one trial, s": f"{first:.0f}",
        "ratio with encoding": f"{reference * trials / (wall + first):.0f}",
        "LIC_M": f"{lics.mean():.2f}",
        "sd": spread(lics),
    }
    show("LIC_M of nic, heads on kept embeddings", [row], attacker.precision)


@app.command()
def encoders(
    names: Annotated[list[str] | None, typer.Argument(help="which encoders; all when none is named")] = None,
    captions: Annotated[int, typer.Option(help="planted captions, four fifths to train on")] = 6000,
    trials: Annotated[int, typer.Option(min=1, help="of each encoder, in each placement")] = 4,
    lic_epochs: Annotated[int, typer.Option(min=1, help="epochs of lstm-lic; in full it has 20")] = 1,
) -> None:
    """Every encoder in every placement, and the same trials in a plain loop."""
    rows = []
    for name in names or ENCODERS:
        attacker = find_attacker(name)
        if name == "lstm-lic":
            attacker = with_epochs(attacker, lic_epochs)
        for question in ("attribute", "tasks"):
            rows.append(encoder_row(attacker, question, captions, trials))
            console.print(*rows[-1].values(), sep=" | ", style="dim", highlight=False)
    precisions = {find_attacker(name).precision for name in names or ENCODERS} - {None}
    show(
        f"seconds a trial (times as fast as the faster loop; *: default), {trials} trials of {captions:,} captions; "
        f"lstm-lic: {lic_epochs} of its 20 epochs",
        rows,
        "/".join(map(str, precisions)),
    )


def encoder_row(attacker: Attacker, question: str, captions: int, trials: int) -> dict[str, str]:
    loop = plain_bow if attacker.name == "bow" else plain_loop
    row, loops = {"encoder": attacker.name, "question": question}, []
    for column, threads in (("plain loop", None), ("on one thread", 1)):
        with threadpool_limits(threads):
            loop(trials_of(planted_questions(200)[question], 1)[0], attacker)
            plan = trials_of(planted_questions(captions)[question], trials)
            seconds, loop_scores = timed(lambda plan=plan: [loop(trial, attacker) for trial in plan])
        row[column] = f"{seconds / trials:.2f}"
        loops.append(seconds)
    for placement in PLACEMENTS:
        if placement == "threads" and attacker.name in NO_THREADS:
            row[placement] = "-"
            continue
        start(attacker, placement)
        # New examples: what an attacker remembers of them is part of the work.
        plan = trials_of(planted_questions(captions)[question], trials)
        seconds, scores = timed(train, plan, attacker, placement)
        default = " *" if placement == attacker.placement else ""
        row[placement] = f"{seconds / trials:.2f} ({min(loops) / seconds:.1f}){default}"
    return row | {"quality": quality(scores), "of the loop": quality(loop_scores)}


def quality(scores: Sequence[TrialScores]) -> str:
    """The mean probability of the truth: that the loop learns the same."""
    return f"{np.exp(np.concatenate([each.log_probability for each in scores])).mean():.3f}"


@app.command("cores")
def over_cores(
    captions: Annotated[int, typer.Option(help="planted captions, four fifths to train on")] = 6000,
    trials: Annotated[int, typer.Option(min=1, help="of lstm, for each core in use; of bow 25 times as many")] = 8,
) -> None:
    """Trials a minute over the number of cores."""
    available, rows = cores(), []
    used = [*itertools.takewhile(lambda count: count < available, (2**power for power in itertools.count())), available]
    for name in ("lstm-dbac", "bow"):
        attacker, alone = find_attacker(name), 0.0
        many = trials * (1 if name == "lstm-dbac" else BOW_TRIALS)
        for count in used:
            os.environ["LOKY_MAX_CPU_COUNT"] = str(count)
            end_workers()
            started = start(attacker)
            seconds, _ = timed(train, trials_of(planted_questions(captions)["attribute"], many * count), attacker)
            speed = 60 * many * count / seconds
            alone = alone or speed
            rows.append(
                {
                    "encoder": name,
                    "placement": attacker.placement,
                    "cores": str(count),
                    "trials a minute": f"{speed:.0f}",
                    "gain": f"{speed / alone:.2f}",
                    "start, s": f"{started:.1f}",
                }
            )
    os.environ.pop("LOKY_MAX_CPU_COUNT", None)
    show(f"A to T, {captions:,} captions", rows, find_attacker("lstm-dbac").precision)


@app.command("dbac")
def whole_dbac(
    images: Annotated[int, typer.Option(help="planted images, five human captions each")] = 10_780,
    trials: Annotated[int, typer.Option(min=1, help="of each side and direction")] = 10,
) -> None:
    """Seconds and memory of `dbac-2026` in both directions."""
    given = vars(plant(images))
    before = processor_seconds()
    with peak_memory() as peak:
        seconds, _ = timed(measure_dbac, **given, preset="dbac-2026", trials=trials, cache=False, progress=True)
    row = {
        "seconds": f"{seconds:.0f}",
        "target": "300",
        "processor seconds": f"{processor_seconds() - before:.0f}",
        "peak memory, MB": f"{peak['Pss']:.0f}",
        "its target": "2048",
    }
    title = f"dbac-2026, both directions, {trials} trials, {images:,} images, five human captions each"
    show(title, [row], find_attacker("lstm-dbac").precision)


@app.callback(invoke_without_command=True)
def stacked(
    context: typer.Context,
    device: Annotated[str, typer.Option(help="cuda or cpu")] = "cuda",
    trials: Annotated[
        int, typer.Option(min=1, help="how many: 60 are ten seeds of one model and five human columns")
    ] = 60,
    alone: Annotated[int, typer.Option(min=1, help="how many of them one by one, whose time counts for all")] = 6,
    captions: Annotated[
        int, typer.Option(help="planted captions; 6,628 are left of the published after balancing")
    ] = 6628,
    epochs: Annotated[int, typer.Option(min=1, help="in full it has 20")] = 20,
) -> None:
    """LIC's LSTM in many trials, stacked and one by one; what is measured without the name of a part."""
    if context.invoked_subcommand:
        return
    if device == "cuda" and not torch.cuda.is_available():
        sys.exit("there is no GPU: pass --device cpu, and few --trials, --captions and --epochs")
    os.environ["ACCELERATE_USE_CPU"] = str(device == "cpu").lower()
    attacker = with_epochs(find_attacker("lstm-lic"), epochs)
    planted = plant(captions, captions=1)
    plan, few = lic_trials(planted.predictions, planted.attributes, trials), min(alone, trials)
    started = start(attacker, "stacked")
    together, scores = timed(train, plan, attacker, "stacked")
    peak = torch.cuda.max_memory_allocated() / 1e9 if device == "cuda" else float("nan")
    one_by_one, few_scores = timed(train, plan[:few], attacker, "plain")
    row = {
        "trials": str(trials),
        "stacked, s": f"{together:.1f}",
        f"one by one, s (of {few})": f"{one_by_one * trials / few:.1f}",
        "ratio": f"{one_by_one * trials / few / together:.1f}",
        "quality": quality(scores[:few]),
        "one by one": quality(few_scores),
        "start, s": f"{started:.1f}",
        "peak memory of the GPU, GB": f"{peak:.1f}",
    }
    where = torch.cuda.get_device_name() if device == "cuda" else "a CPU"
    show(f"lstm-lic on {where}, {epochs} epochs, {captions:,} captions", [row], attacker.precision)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    app()
