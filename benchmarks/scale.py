"""How time and memory grow with the number of captions, and with the number of trials.

usage: python benchmarks/scale.py captions [--sizes 10000,30000,100000,300000,1000000]
       python benchmarks/scale.py trials [--captions 30000]
       python benchmarks/scale.py files [--captions 200000]

Memory is that of a process and its children, pages that they share counted once. Each size, each training and each
number of trials has a process of its own, so that one's peak is not another's.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, NamedTuple

import joblib
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import typer
from rich.progress import track
from speed import (
    end_workers,
    held_memory,
    peak_memory,
    planted_questions,
    processor_seconds,
    show,
    start,
    timed,
    train,
    trials_of,
    with_epochs,
)

from captionbias.alignment.align import align
from captionbias.alignment.vectors import load_vectors
from captionbias.attackers.base import Examples
from captionbias.attackers.registry import Attacker, find_attacker
from captionbias.attackers.stored_trials import trial_key
from captionbias.captions import check_captions
from captionbias.synthetic import plant
from captionbias.text import find_mentions, load_lexicon

ATTACKERS = ("bow", "lstm-dbac")
CAPTIONS_AN_IMAGE = 6  # one of the model, five human ones
SMALL = 600
PLANTED = "planted captions, five in six of them human; a training on four fifths of the human ones, lstm 1 epoch"
# Digits, and the least value that counts for an exponent: below it, what does not grow stands out.
SHOWN = {"seconds": (2, 0.05), "memory": (0, 8), "own_memory": (0, 8)}

app = typer.Typer(add_completion=False, no_args_is_help=True)


class Cost(NamedTuple):
    """Seconds; those of processors; MB at the peak above what was held before; the same without mapped files."""

    seconds: float
    computed: float
    memory: float
    own_memory: float


def cost(work: Callable[..., Any], *given: Any) -> tuple[Cost, Any]:
    gc.collect()
    before, computed = held_memory(), processor_seconds()
    with peak_memory() as peak:
        seconds, result = timed(work, *given)
    computed = processor_seconds() - computed
    return Cost(seconds, computed, *(peak[name] - before[name] for name in ("Pss", "Pss_Anon"))), result


def alone(work: Callable[..., Any], *given: Any) -> Any:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *given).result()


def attacker_of_one_epoch(name: str) -> Attacker:
    attacker = find_attacker(name)
    return attacker if name == "bow" else with_epochs(attacker, 1)


# Captions


@app.command()
def captions(
    sizes: Annotated[str, typer.Option(help="numbers of captions")] = "10000,30000,100000,300000,1000000",
) -> None:
    """From captions to a trained attacker, step by step."""
    costs: dict[int, dict[str, Cost]] = {}
    with TemporaryDirectory(prefix="captionbias-") as folder:
        for size in track([int(size) for size in sizes.split(",")], "measuring", transient=True):
            costs[size], table = alone(prepare, size, Path(folder))
            costs[size] |= {f"train {name}": alone(train_on, table, name) for name in ATTACKERS}
            table.unlink()
    precision = find_attacker("lstm-dbac").precision
    steps = list(next(iter(costs.values())))
    show(f"seconds; {PLANTED}", [growth(costs, step, "seconds") for step in steps], precision)
    show(f"MB added to what was held before; {PLANTED}", [growth(costs, step, "memory") for step in steps], precision)
    rows = [growth(costs, f"train {name}", "own_memory") for name in ATTACKERS]
    show("MB added, without pages of mapped files", rows, precision)


def growth(costs: dict[int, dict[str, Cost]], step: str, quantity: str) -> dict[str, str]:
    """One row; its `exponent` is the slope of log(value) over log(size), 1 for what doubles with the captions."""
    digits, least = SHOWN[quantity]
    values = np.array([max(0.0, getattr(found[step], quantity)) for found in costs.values()])
    cells = {f"{size:,}": f"{value:.{digits}f}" for size, value in zip(costs, values, strict=True)}
    return {"step": step} | cells | {"exponent": exponent(list(costs), values, least)}


def exponent(sizes: Sequence[int], values: Any, least: float) -> str:
    grown = np.flatnonzero(values >= least)
    if len(grown) < 2:
        return "-"
    return f"{np.polyfit(np.log(np.array(sizes)[grown]), np.log(values[grown]), 1)[0]:.2f}"


def prepare(size: int, folder: Path) -> tuple[dict[str, Cost], Path]:
    """What each step costs that comes before training, and the table that it ends with."""
    _prepare(SMALL, folder)  # imports
    together, (costs, table) = cost(_prepare, size, folder)
    seconds = sum(step.seconds for step in costs.values())  # without the measuring of memory between them
    return costs | {"all before training": together._replace(seconds=seconds)}, table


def _prepare(size: int, folder: Path) -> tuple[dict[str, Cost], Path]:
    costs: dict[str, Cost] = {}

    def step(name: str, work: Callable[..., Any], *given: Any) -> Any:
        costs[name], result = cost(work, *given)
        return result

    attribute, task = load_lexicon("gender"), load_lexicon("coco_objects")
    planted = step("plant", plant, size // CAPTIONS_AN_IMAGE)
    checked = step("check", partial(check_captions, **vars(planted)))
    words = step("split into words", checked.words, "words")
    mentions = step("find attribute words", find_mentions, words.tokens, attribute, "words")
    tasks = step("find tasks", find_mentions, words.tokens, task, "words")
    step("tasks of each caption", tasks.named, words.tokens, len(task.labels))
    masked = step("mask attribute words", words.mask, (mentions, attribute.mask))
    vectors = step("train word vectors", load_vectors, "captions", words.tokens)
    human, _ = step("align", align, masked.human, masked.model.present(), frozenset([attribute.mask]), vectors)
    classes = np.arange(len(checked)) % 2
    examples = Examples(human, classes[words.human_image], 2)
    step("key of a trial", trial_key, trials_of(examples, 1)[0], "")
    table = folder / f"{size}.joblib"  # as workers get it
    step("write captions", joblib.dump, examples, table)
    step("open captions", joblib.load, table, "r")
    return costs, table


def train_on(table: Path, name: str) -> Cost:
    attacker = attacker_of_one_epoch(name)
    start(attacker, "plain")
    found, _ = cost(attacker.fit, trials_of(joblib.load(table, "r"), 1)[0])
    return found


# Trials


@app.command()
def trials(
    numbers: Annotated[str, typer.Option(help="numbers of trials")] = "2,4,8,16",
    captions: Annotated[int, typer.Option(help="planted captions, four fifths to train on")] = 30_000,
) -> None:
    """Many trials of one table, each attacker in its own placement."""
    rows = []
    for name in ATTACKERS:
        for number in map(int, numbers.split(",")):
            found = alone(train_many, captions, name, number)
            rows.append(
                {
                    "encoder": name,
                    "placement": find_attacker(name).placement,
                    "trials": str(number),
                    "seconds": f"{found.seconds:.1f}",
                    "a trial": f"{found.seconds / number:.2f}",
                    "processor s a trial": f"{found.computed / number:.2f}",
                    "MB added": f"{found.memory:.0f}",
                    "no mapped file": f"{found.own_memory:.0f}",
                }
            )
    show(f"{captions:,} planted captions, lstm 1 epoch", rows, find_attacker("lstm-dbac").precision)


def train_many(captions: int, name: str, number: int) -> Cost:
    attacker = attacker_of_one_epoch(name)
    start(attacker)
    plan = trials_of(planted_questions(captions)["attribute"], number)
    found, _ = cost(train, plan, attacker)
    end_workers()  # or this process would wait for them at its end
    return found


# Files

# From a small process: a command begins with the peak of the one that starts it.
MEASURED = """
import json, resource, subprocess, sys, time
began, quiet = time.monotonic(), subprocess.DEVNULL
status = subprocess.run(sys.argv[1:], stdout=quiet, stderr=quiet).returncode
print(json.dumps([status, time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss]))
"""


@app.command()
def files(
    captions: Annotated[int, typer.Option(help="distinct captions, five in six of them human")] = 200_000,
) -> None:
    """The command line on many distinct captions, and on a small Parquet file that unpacks to 1.8 GB."""
    rows = []
    with TemporaryDirectory(prefix="captionbias-") as folder:
        path = Path(folder)
        pq.write_table(distinct_captions(captions // CAPTIONS_AN_IMAGE), path / "distinct.parquet")
        pq.write_table(packed(2_000_000), path / "packed.parquet", compression="zstd")
        for file, metric, *more in (
            ("distinct", "gender_error"),
            ("distinct", "lic", "--preset", "fast", "--no-cache"),
            ("distinct", "dbac", "--preset", "fast", "--no-cache"),
            ("packed", "gender_error"),
        ):
            both = [word for side in ("predictions", "references") for word in (f"--{side}", path / f"{file}.parquet")]
            command = [sys.executable, "-m", "captionbias", "measure", metric, *both[: 4 if file == "distinct" else 2]]
            status, seconds, peak = json.loads(
                subprocess.run([sys.executable, "-c", MEASURED, *command, *more], stdout=subprocess.PIPE).stdout
            )
            rows.append(
                {
                    "file": f"{file}, {(path / f'{file}.parquet').stat().st_size / 1e6:.1f} MB",
                    "metric": metric,
                    "seconds": f"{seconds:.0f}",
                    "MB": f"{peak / 1024:.0f}",
                    "exit": str(status),
                }
            )
    show(f"{captions:,} distinct captions of 10,000 words", rows, find_attacker("bow").precision)


def distinct_captions(images: int) -> pa.Table:
    """Captions of twelve words, as frequent as words are, beside one that names the gender."""
    generator = np.random.default_rng(0)
    share = np.arange(1, 10_001) ** -0.75
    words = np.array([f"w{number}" for number in range(10_000)], dtype=object)
    objects = load_lexicon("coco_objects").labels
    words[10 : 10 + 20 * len(objects) : 20] = objects
    drawn = generator.choice(words, (images, CAPTIONS_AN_IMAGE, 12), p=share / share.sum())
    gender = ["woman" if image % 2 else "man" for image in range(images)]
    texts = [
        [f"a {who} {' '.join(row)}" for row in of_image] for who, of_image in zip(gender, drawn.tolist(), strict=True)
    ]
    table = {"image_id": range(images), "caption": [first for first, *_ in texts]}
    table |= {"references": [rest for _, *rest in texts]}
    return pa.table(table | {"gender": ["female" if who == "woman" else "male" for who in gender]})


def packed(rows: int) -> pa.Table:
    """One text of 900 characters in every row."""
    text, labels = ["a woman rides a long brown horse on the beach " * 20], ["female", "male"]
    first, second = pa.array(np.zeros(rows, np.int32)), pa.array(np.arange(rows, dtype=np.int32) % 2)
    columns = {"caption": (first, text), "gender": (second, labels)}
    packed = {name: pa.DictionaryArray.from_arrays(places, texts) for name, (places, texts) in columns.items()}
    return pa.table({"image_id": np.arange(rows), **packed})


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    app()
