"""Every score and every written file, recorded: shows that a change of the code changes none of them.

usage: python benchmarks/golden.py record FILE [--fast-only] [--planted-only] [--some PATTERN] [--shared FOLDER]
       python benchmarks/golden.py compare OLD NEW [--keys FILE] [--some PATTERN]

Only public functions and the command line are called, on planted captions and on the published ones. Two numbers are
equal if all their digits are, so both files must come from one machine: another processor adds up in another order.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import torch
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import captionbias
from captionbias import metrics
from captionbias.analysis.caption_quality import caption_quality
from captionbias.explain import explain
from captionbias.synthetic import plant

ROOT = Path(captionbias.__file__).parents[2]
SETTINGS = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS", "NUMEXPR")}
SETTINGS |= {"CUDA_VISIBLE_DEVICES": "", "COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"}
SETTINGS |= {"HF_ENDPOINT": "http://127.0.0.1:9"}  # nothing answers there: a dry run lists all that it would send
DIALS = {"faithful": {}, "a_to_t": {"a_to_t": 0.5}, "t_to_a": {"t_to_a": 0.4, "naming": 0.7}}
IMAGES, SAMPLE = 1000, 800  # planted; published
FEW, FEWER = 400, 240  # of either: for commands; for neural attackers, which take two human captions of each
DRAWN = {"bootstrap": 60, "details": True}
TRAINED = {**DRAWN, "trials": 3, "cache": False}
FAST = {**TRAINED, "preset": "fast"}
BASES = {"dbac": FAST, "lic": FAST, "dpa": TRAINED, "label_leakage": TRAINED}
METRICS = (*BASES, "ba_mals", "directional_ba", "gender_error", "multi_directional_ba")
BOW, TASKS = {"encoder": "bow", "trials": 2}, {"directions": ["t_to_a"], "alignment": "constant"}
CARDS = {"model": "license: mit", "data": "configs:\n- config_name: all\n  data_files: people.parquet"}
SHOWN = 60  # differences

Given = dict[str, Any]  # arguments of a metric
Cases = Iterator[tuple[str, Callable[[], Any]]]

app = typer.Typer(add_completion=False)
console = Console(width=160, highlight=False)


def planted(images: int, dials: dict[str, float]) -> Given:
    captions = plant(images, **dials)
    return {side: list(getattr(captions, side)) for side in ("predictions", "references", "attributes", "tasks")}


def published(
    shared: Path, captioner: str, images: int | None = None, attribute: str = "gender", captions: int | None = None
) -> Given:
    """The published captions of all images that have human captions, or of so many of these."""
    data = shared / "data" / attribute
    table = pd.read_parquet(data / "people.parquet")
    table = table.merge(pd.read_parquet(data / "predictions" / f"{captioner}.parquet"), on="image_id")
    table["label"] = table.skin if attribute == "race" else table.gender
    table = table[(table.references.map(len) > 0) & table.label.isin(["Female", "Male", "Light", "Dark"])]
    table = table.sample(images, random_state=0) if images else table
    references = [list(row)[:captions] for row in table.references]
    return {"predictions": list(table.caption), "references": references, "attributes": list(table.label)}


def labels(images: int, seed: int) -> Given:
    """0/1 arrays of what images show, and of what a classifier predicts that errs in a fifth of the entries."""
    draws = np.random.default_rng(seed)
    value, tasks, wrong = (draws.random((images, columns)) < share for columns, share in ((1, 0.5), (4, 0.5), (5, 0.2)))
    tasks[:, :1] |= value
    shown = {"attributes": np.hstack([value, ~value]), "tasks": tasks}
    predicted = value ^ wrong[:, 4:]
    shown |= {"predicted_attributes": np.hstack([predicted, ~predicted]), "predicted_tasks": tasks ^ wrong[:, :4]}
    return {side: flags.astype(int) for side, flags in shown.items()}


def score(group: str, metric: str, given: Given, *variants: Given, without: str = "") -> Cases:
    """The metric with each variant of its options, and perhaps without one of its arguments."""
    given = {side: values for side, values in given.items() if side != without}
    for options in variants or ({},):
        arguments = {**given, **BASES.get(metric, DRAWN), **options}
        changes = [*(f"{key}={value}" for key, value in options.items()), *([f"without {without}"] if without else [])]
        yield (
            " ".join([f"{group}: {metric}", *changes]),
            lambda arguments=arguments: getattr(metrics, metric)(**arguments),
        )


def variants(group: str, given: Given) -> Cases:
    """Other options with quick attackers, and one side alone."""
    constant, far = {"alignment": "constant"}, {"alignment": "contextual", "vectors": "captions", "delta": 0.6}
    common = [constant, far, {"tokenizer": "whitespace"}, {"seed": 5}]
    qualities = [{"quality": quality} for quality in ("accuracy", "inverse_cross_entropy", "confidence")]
    paper = {"preset": "dbac-2026-published", "encoder": "bow", "vectors": "captions"}
    yield from score(group, "lic", given, *common, {"unseen_only": True})
    yield from score(group, "dbac", given, *common, *qualities, {"bayes": False}, {"directions": ["t_to_a"]}, paper)
    for side in ("predictions", "references"):
        yield from score(group, "lic", given, without=side)
        yield from score(group, "dbac", given, {"directions": ["a_to_t"]}, without=side)
    yield from score(group, "dpa", given, *qualities, {"equalize": False}, {"tokenizer": "whitespace"})
    yield from score(group, "label_leakage", given, {"equalize": False}, {"seed": 5})
    yield from score(group, "multi_directional_ba", given, {}, {"at_least": 3})
    yield from score(group, "ba_mals", given, {"words": True, "at_least": 5, "most_frequent": 200}, {"seed": 5})
    if "tasks" in given:
        yield from score(group, "directional_ba", given, {"tokenizer": "whitespace"}, without="predictions")
    yield from score(group, "gender_error", given, without="references")


def of_labels() -> Cases:
    """Labels instead of captions: arrays, names, and arrays with those of other images beside them."""
    arrays, others = labels(500, 0), labels(700, 1)
    training = {f"training_{side}": others[side] for side in ("attributes", "tasks")}
    names = {
        side: [[f"{side[-4:]}{n}" for n in np.flatnonzero(row)] for row in flags] for side, flags in arrays.items()
    }
    for metric in ("directional_ba", "multi_directional_ba", "ba_mals"):
        yield from score("arrays", metric, arrays)
        yield from score("names", metric, names)
        yield from score("arrays with training", metric, arrays | training)
    yield from score("arrays", "dpa", arrays, {}, {"equalize": False})
    yield from score("arrays", "dpa", arrays, without="predicted_attributes")
    arrays.pop("predicted_attributes")
    yield from score("arrays", "label_leakage", arrays)


def neural(group: str, given: Given) -> Cases:
    """The papers' protocols, with their LSTMs, and other networks."""
    one, paper = {"trials": 1}, {"preset": "dbac-2026-published", "vectors": "captions", "trials": 1}
    yield from score(group, "lic", given, {"preset": "lic-2022", "trials": 2}, one | {"encoder": "birnn"})
    yield from score(group, "dbac", given, one | {"preset": "dbac-2026"}, paper, one | {"encoder": "transformer-1h"})
    yield from score(group, "dpa", given, one | {"encoder": "dense"})
    yield from words(group, given, {"encoder": "lstm-dbac"}, {"encoder": "lstm-dbac"} | TASKS)


def words(group: str, given: Given, *variants: Given) -> Cases:
    """Which words give the attribute or the tasks away."""

    def explained(options: Given) -> Given:
        kept = {"trials": 1, "bootstrap": 0, "keep_attackers": 2, "cache": False} | options
        if "directions" in options:
            found = explain(metrics.dbac.measure(**given, **kept), "t_to_a")
        else:
            sides = {side: given[side] for side in ("predictions", "attributes")}
            found = explain(metrics.lic.measure(**sides, **kept))
        entries = ("classes", "scores", "truth", "rows", "signature")
        values = {"by_class": found.by_class(), "by_word": found.by_word(), "first": found.of(int(found.rows[0]))}
        return values | {name: getattr(found, name) for name in entries}

    for options in variants:
        yield f"{group}: words {' '.join(map(str, options.values()))}", lambda options=options: explained(options)


def qualities(group: str, given: Given) -> Cases:
    """How good captions are."""
    sides = {side: given[side] for side in ("predictions", "references")}

    def quality(**options: Any) -> Given:
        return caption_quality(**sides, **options)

    yield f"{group}: caption quality", quality
    yield f"{group}: caption quality of 100", lambda: quality(images=100, tokenizer="whitespace", seed=1)


def commands(group: str, captioners: dict[str, Given], folder: Path) -> Cases:
    """What the commands print and write, one after the other in one folder."""
    for card, text in CARDS.items():
        (folder / card).mkdir(parents=True)
        (folder / card / "README.md").write_text(f"---\n{text}\n---\n# Its title\n\nIts text.\n")
    for name, given in captioners.items():
        people = pd.DataFrame({side: values for side, values in given.items() if side != "predictions"})
        people = people.rename(columns={"attributes": "gender"}).rename_axis("image_id").reset_index()
        people[["image_id"]].assign(caption=given["predictions"]).to_parquet(folder / f"{name}.parquet")
    people.to_parquet(folder / "people.parquet")
    people.to_parquet(folder / "data/people.parquet")
    draws = "--references people.parquet --trials 2 --bootstrap 500 --no-cache"
    one = f"--predictions {name}.parquet {draws}"
    every = " ".join(f"--predictions {name}.parquet" for name in captioners) + f" {draws}"
    lines = [
        f"report {every} --output report.html --markdown report.md --json report.json",
        f"compare {every} --preset fast --output compare.json",
        f"compare {every} --preset fast --metric lic --output compare-lic.json",
        f"measure all {one} --output all.json",
        f"measure dbac {one} --preset fast --output dbac.json",
        "card model model --results all.json --dataset someone/captions",
        "card model model --results dbac.json --dataset someone/captions",
        "card model new.md --results all.json --dataset someone/captions",
        "card dataset data --results all.json",
        "publish metric --to someone --dry-run",
        f"publish space {ROOT}/spaces/captionbias --to someone/captionbias --dry-run",
        "publish dataset data --to someone/captions --dry-run",
    ]
    for number, line in enumerate(lines):
        yield f"{group}: {plain(line).partition(' --')[0]} ({number})", lambda line=line: run(line.split(), folder)


def run(arguments: list[str], folder: Path) -> Given:
    """What the command prints, its notes, and the files that it makes or changes."""
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    command = [sys.executable, "-m", "captionbias", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr}")
    notes = [line for line in done.stderr.splitlines() if line.startswith("note:")]
    after = {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
    changed = {path.relative_to(folder): text.decode() for path, text in after.items() if text != before.get(path)}
    found = plain({"printed": done.stdout, "notes": notes, "files": changed}, str(folder))
    return found | {
        "sha256": {name: hashlib.sha256(text.encode()).hexdigest() for name, text in found["files"].items()}
    }


def plain(value: Any, folder: str = "<folder>") -> Any:
    """The value as JSON has it; without what may be different: folders, dates, the version, a page's packed data."""
    if isinstance(value, dict):
        return {str(key): plain(item, folder) for key, item in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(item, folder) for item in value]
    if isinstance(value, str):
        for text, name in {folder: "<folder>", str(ROOT): "<root>"}.items():
            value = value.replace(text, name)
        value = value.replace(captionbias.__version__, "<version>")
        value = re.sub(r'(id="audit-data">)[^<]*', r"\1<data>", value)  # written as JSON beside the page
        return re.sub(r"\b20\d\d-\d\d-\d\d\b", "<date>", value)
    value = value.item() if isinstance(value, np.generic) else value
    if not isinstance(value, (bool, int, float, type(None))):
        raise TypeError(f"{type(value)} has no place in JSON")
    return value


def cases(folder: Path, shared: Path | None, fast_only: bool) -> Cases:
    """Everything that is measured, by its name."""
    dialled = {name: planted(IMAGES, dials) for name, dials in DIALS.items()}
    few = {"planted": {name: planted(FEW, dials) for name, dials in DIALS.items()}}
    if shared:
        nic = published(shared, "nic", SAMPLE)
        few["published"] = {name: published(shared, name, FEW) for name in ("sat", "nic")}
    yield from of_labels()
    for name, given in dialled.items():
        for metric in METRICS:
            yield from score(name, metric, given)
    yield from variants("a_to_t", dialled["a_to_t"])
    yield from words("a_to_t", dialled["a_to_t"], BOW, BOW | TASKS, BOW | {"tokenizer": "whitespace"})
    yield from qualities("a_to_t", dialled["a_to_t"])
    yield from commands("planted", few["planted"], folder / "planted")
    if shared:
        for metric in METRICS[:-1]:
            yield from score("nic", metric, nic)
        yield from words("nic", nic, BOW)
        yield from qualities("nic", nic)
        race = published(shared, "nic", SAMPLE, "race")
        for metric in ("lic", "directional_ba", "dpa"):
            yield from score("race", metric, race, {"attribute_lexicon": "race"})
    if shared and not fast_only:  # with 80 tasks, or all images, each takes up to a minute
        for metric in ("lic", "dbac", "dpa", "label_leakage"):
            yield from score("all of sat", metric, published(shared, "sat"))
        yield from score("race", "dbac", race, {"attribute_lexicon": "race"})
        yield from variants("nic", nic)
        yield from words("nic", nic, BOW | TASKS)
        yield from commands("published", few["published"], folder / "published")
    if not fast_only:
        two = {name: planted(FEWER, DIALS[name] | {"captions": 2}) for name in ("faithful", "a_to_t")}
        yield from neural("neural a_to_t", two["a_to_t"])
        if shared:
            yield from neural("neural nic", published(shared, "nic", FEWER, captions=2))


@app.command()
def record(
    file: Path,
    fast_only: Annotated[bool, typer.Option("--fast-only", help="without LSTMs: two minutes")] = False,
    planted_only: Annotated[bool, typer.Option("--planted-only", help="without the published captions")] = False,
    some: Annotated[str, typer.Option(help="only cases whose names have this regular expression")] = "",
    shared: Annotated[Path, typer.Option(help="folder with the published captions")] = Path("../shared"),
) -> None:
    """Measure everything and write it to FILE."""
    if not os.environ.items() >= SETTINGS.items():
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | SETTINGS)  # before any library reads them
    if not planted_only and not (shared / "data/gender").is_dir():
        raise SystemExit(f"no published captions at {shared}: name their folder with --shared, or say --planted-only")
    warnings.simplefilter("ignore")
    found, seconds = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CAPTIONBIAS_CACHE"] = f"{folder}/cache"
        for name, measure in cases(Path(folder), None if planted_only else shared, fast_only):
            if re.search(some, name):
                started = time.perf_counter()
                try:
                    found[name] = plain(measure())
                except Exception as error:  # the others are measured all the same
                    found[name] = {"raised": repr(error)}
                    console.print(f"[red]{escape(f'{name} raised {error!r}')}")
                seconds[name] = round(time.perf_counter() - started, 1)
                console.print(f"{seconds[name]:7.1f} s  {name}", markup=False)
    machine = {"cpu": torch.backends.cpu.get_cpu_capability(), "python": sys.version, "torch": str(torch.__version__)}
    machine |= {"numpy": np.__version__, "pandas": pd.__version__}
    file.write_text(json.dumps({"machine": machine, "seconds": seconds, "cases": found}, indent=1))
    console.print(f"{len(found)} cases in {sum(seconds.values()):.0f} s are in {file}", markup=False)


@app.command()
def compare(
    old: Path,
    new: Path,
    keys: Annotated[
        Path | None,
        typer.Option(help="JSON of renames that do not count: regular expressions in OLD and what they became"),
    ] = None,
    some: Annotated[str, typer.Option(help="only cases whose names have this regular expression")] = "",
) -> None:
    """Print what differs; the exit status is 1 if anything does."""
    renames = json.loads(keys.read_text()) if keys else {}
    before, after = (json.loads(file.read_text()) for file in (old, new))
    if before["machine"] != after["machine"]:
        console.print(f"[yellow]two machines, digits may differ: {before['machine']}, {after['machine']}")
    was, now = {}, {}
    for found, values, changed in ((before, was, renames), (after, now, {})):
        for name, case in found["cases"].items():
            for path, value in leaves(case) if re.search(some, name) else ():
                values[f"{name} > {renamed(path, changed)}"] = renamed(value, changed)
    equal, rows = 0, []
    for path in dict.fromkeys([*was, *now]):
        changes = list(differences(was.get(path, "(absent)"), now.get(path, "(absent)")))
        equal += not changes
        rows += [(path, *change) for change in changes]
    table = Table(title=f"{min(SHOWN, len(rows))} of {len(rows):,} differences")
    for column in ("where", "old", "new", "relative"):
        table.add_column(column, overflow="fold")
    for row in rows[:SHOWN]:
        table.add_row(*map(escape, row))
    for name, count in Counter(path.partition(" > ")[0] for path, *_ in rows).items():
        console.print(f"{count:7,} in {name}", markup=False)
    if rows:
        console.print(table)
    console.print(f"{equal:,} values are equal, {len(rows):,} differ")
    raise typer.Exit(bool(rows))


def renamed(value: Any, renames: dict[str, str]) -> Any:
    for pattern, name in renames.items() if isinstance(value, str) else ():
        value = re.sub(pattern, name, value)
    return value


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every number and text with the way to it; of a JSON file what it holds. The digests say nothing more."""
    if isinstance(value, str) and path.endswith(".json"):
        value = json.loads(value)
    if isinstance(value, (dict, list)) and value:
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            if key != "sha256":
                yield from leaves(item, f"{path} > {key}" if path else key)
    else:
        yield path, value


def differences(old: Any, new: Any) -> Iterator[tuple[str, str, str]]:
    """Old, new and their relative difference; of texts each run of lines that changed."""
    if repr(old) == repr(new):  # so NaN is NaN, -0.0 is not 0.0, and 1 is not 1.0
        return
    if isinstance(old, str) and isinstance(new, str):
        one, other = old.splitlines(), new.splitlines()
        for kind, *(start, end, low, high) in difflib.SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
            if kind != "equal":
                yield *excerpts("\n".join(one[start:end]), "\n".join(other[low:high])), ""
    elif isinstance(old, (int, float)) and isinstance(new, (int, float)):
        yield repr(old), repr(new), f"{abs(new - old) / max(abs(old), abs(new), 1e-300):.1e}"
    else:
        yield *excerpts(str(old), str(new)), ""


def excerpts(old: str, new: str, most: int = 120) -> list[str]:
    """Both from shortly before the first character that differs."""
    same = next((place for place, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), 0)
    return [text[max(same - 30, 0) :][:most] for text in (old, new)]


if __name__ == "__main__":
    app()
