"""Sway of published captioners, of persons, of two captioners compared, of fewer images, and what a training minimises;
its time and memory.

usage: python benchmarks/sway.py captioners|people|debiased|subsets|worst|scale [--shared FOLDER]

All need the published captions. `objects` are COCO's annotations as tasks, of the images that have them. `expected` is
what a prototype of the metric read; a few tenths move with the seed of draws and folds.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from injections import COUNTERPARTS, NEUTRAL
from published import Shared
from rich.progress import track
from scale import Cost, alone, cost, exponent
from speed import show

from captionbias import compare
from captionbias.metrics import sway
from captionbias.statistics.samples import Estimate

# T to A, least, lost and A to T from captions; T to A and A to T with objects.
EXPECTED = {
    "nic": (6.8, 5.5, 5.4, 6.3, 5.4, 0.4),
    "nic_official": (5.4, None, None, 7.8, 4.5, 4.3),
    "nic_plus": (5.1, 4.2, 4.2, 5.0, 3.7, 0.4),
    "fc": (3.9, None, None, 4.7, 3.6, 3.4),
    "sat": (2.9, 2.2, 2.6, 1.6, 2.8, -0.9),
    "att2in": (1.2, None, None, 3.4, 0.8, 1.1),
    "transformer": (0.7, 0.4, 0.2, 2.2, 0.6, 0.5),
    "sat_masked_seg_person": (7.4, None, None, 1.5, 5.4, 0.6),
    "confident": (3.8, 3.6, 4.0, 10.5, 2.4, 4.0),
    "confusion": (None, None, None, None, 4.1, -0.8),
}
SHOWN = {
    False: ("t_to_a", "t_to_a_least", "t_to_a_lost", "a_to_t", "a_to_t_low", "a_to_t_high"),
    True: ("t_to_a", "a_to_t"),
}
PUT_ASIDE = {"a_to_t_low", "a_to_t_high"}  # the prototype's are not written down
COSTS = {"seconds": ("seconds", 0.05), "computed": ("processor seconds", 0.05), "own_memory": ("MB added", 8)}

app = typer.Typer(add_completion=False, no_args_is_help=True)
Folder = Annotated[Path, typer.Option("--shared", help="folder with data/gender")]
SHARED = Path("../shared")


def written(estimate: Estimate | None) -> str:
    if estimate is None:
        return "-"
    return f"{estimate.value:.1f} [{estimate.low:.1f}, {estimate.high:.1f}]"


@app.command()
def captioners(shared: Folder = SHARED) -> None:
    """Every captioner of the table, from captions and with objects."""
    for objects, keys in SHOWN.items():
        rows = []
        for name, expected in track(EXPECTED.items(), "captioners", transient=True):
            before = iter(expected[4:] if objects else expected[:4])
            found = sway.measure(**Shared(shared).images(name, human=True, objects=objects)).estimates
            row = {"captioner": name}
            for key in keys:
                value = None if key in PUT_ASIDE else next(before)
                row[key] = written(found.get(f"sway_{key}")) + ("" if value is None else f" ({value:.1f})")
            rows.append(row)
        show(f"{'with objects' if objects else 'from captions'} (expected)", rows)


@app.command()
def people(shared: Folder = SHARED, draws: Annotated[int, typer.Option(help="persons")] = 20) -> None:
    """One human caption an image in the captioner's place, the others as references: what reads 0?"""
    rows = []
    for objects in SHOWN:
        images = Shared(shared).images("nic", human=True, objects=objects)
        found = [person(images, seed) for seed in track(range(draws), "people", transient=True)]
        for key in ("t_to_a", "t_to_a_least", "t_to_a_lost", "a_to_t"):
            of_key = [one[f"sway_{key}"] for one in found]
            values, ends = np.array([one.value for one in of_key]), [(one.low, one.high) for one in of_key]
            own = np.mean([(high - low) / (2 * 1.96) for low, high in ends])
            rows.append(
                {
                    "score": f"sway_{key}" + (", objects" if objects else ""),
                    "mean": f"{values.mean():.2f}",
                    "least to most": f"{values.min():.1f} to {values.max():.1f}",
                    "spread": f"{values.std(ddof=1):.2f}",
                    "intervals' own": f"{own:.2f}",
                    "intervals that hold 0": f"{np.mean([low <= 0 <= high for low, high in ends]):.0%}",
                }
            )
    show(f"{draws} persons", rows)


def person(images: dict[str, Any], seed: int) -> dict[str, Estimate]:
    return sway.measure(**images_of_person(images, seed), seed=seed).estimates


def images_of_person(images: dict[str, Any], seed: int) -> dict[str, Any]:
    drawn = np.random.default_rng(seed).integers([len(row) for row in images["references"]])
    both = list(zip(images["references"], drawn.tolist(), strict=True))
    said = {"predictions": [row[at] for row, at in both], "references": [row[:at] + row[at + 1 :] for row, at in both]}
    return images | said


@app.command()
def debiased(shared: Folder = SHARED) -> None:
    """nic_plus, debiased by a loss of confidence, less nic_plus: the same images, draws and replicates."""
    rows = []
    for objects, keys in SHOWN.items():
        given = {name: Shared(shared).images(name, human=True, objects=objects) for name in ("confident", "nic_plus")}
        said = {name: images.pop("predictions") for name, images in given.items()}
        found = compare(said, **given["nic_plus"], metric="sway", scores=[f"sway_{key}" for key in keys])
        for one in found.differences:
            values = [found.measurements[name].estimates[one.score].value for name in said]
            rows.append(
                {
                    "score": one.score + (", objects" if objects else ""),
                    **{name: f"{value:.1f}" for name, value in zip(said, values, strict=True)},
                    "difference": written(one.estimate),
                    "p (Holm)": f"{one.p_holm:.3f}",
                }
            )
    show("confident less nic_plus", rows)


@app.command()
def subsets(
    shared: Folder = SHARED, times: Annotated[int, typer.Option(help="random subsets of each size")] = 20
) -> None:
    """Do fewer images read what all of them read?"""
    rows = []
    for name in ("nic", "transformer"):
        images = Shared(shared).images(name, human=True)
        whole = sway(**images, bootstrap=0)
        for size in (500, 1000, 2000):
            found = [
                sway(**of_rows(images, generator.choice(len(images["predictions"]), size, replace=False)), bootstrap=0)
                for generator in track([np.random.default_rng(n) for n in range(times)], name, transient=True)
            ]
            row = {"captioner": name, "images": f"{size:,}"}
            for key in ("sway_t_to_a", "sway_a_to_t"):
                values = [one[key] for one in found]
                row[key] = f"{np.mean(values):.1f} (spread {np.std(values, ddof=1):.1f})"
                row[f"{key}, all"] = f"{whole[key]:.1f}"
            rows.append(row)
    show(f"mean of {times} random subsets", rows)


def of_rows(images: dict[str, Any], chosen: Iterable[int]) -> dict[str, Any]:
    chosen = list(chosen)
    return {key: [of[row] for row in chosen] if isinstance(of, list) else of for key, of in images.items()}


@app.command()
def worst(shared: Folder = SHARED, draws: Annotated[int, typer.Option(help="persons")] = 10) -> None:
    """`sway_worst` of persons on so many images, and of each with a bias put into the captions of women."""
    whole = Shared(shared).images("nic", human=True)
    rows = []
    for size in (900, 3000):
        values: dict[str, list[float]] = {name: [] for name in WITH_BIAS}
        for seed in track(range(draws), f"{size:,} images", transient=True):
            chosen = np.random.default_rng(seed).choice(len(whole["predictions"]), size, replace=False)
            images = images_of_person(of_rows(whole, chosen), seed)
            for name, change in WITH_BIAS.items():
                both = enumerate(zip(images["predictions"], images["attributes"], strict=True))
                said = [change(text, label, row) for row, (text, label) in both]
                values[name].append(sway(**images | {"predictions": said})["sway_worst"])
        for name, of in values.items():
            ends = f"{np.min(of):.2f} to {np.max(of):.2f}"
            row = {"images": f"{size:,}", "captions": name, "mean": f"{np.mean(of):.2f}", "least to most": ends}
            rows.append(row | {"nan": str(np.isnan(of).sum())})
    show(f"{draws} persons, with and without a bias", rows)


def of_women(change: Callable[[str], str], every: int = 1) -> Callable[[str, str, int], str]:
    """The change in each so many captions of women."""
    return lambda text, label, row: change(text) if label.lower() == "female" and row % every == 0 else text


def replaced(words: dict[str, str]) -> Callable[[str], str]:
    return lambda text: re.sub(r"\w+", lambda word: words.get(word[0].lower(), word[0]), text)


WITH_BIAS: dict[str, Callable[[str, str, int], str]] = {
    "a person's": lambda text, *_: text,
    "women are sexy": of_women(
        replaced({word: f"sexy {word}" for word in ("woman", "women", "lady", "ladies", "girl", "girls", "female")})
    ),
    "20% of women are men": of_women(replaced(COUNTERPARTS), 5),
    "20% of women are persons": of_women(replaced(NEUTRAL), 5),
    "a man, a woman": lambda _, label, __: {"female": "a woman", "male": "a man"}[label.lower()],
}


@app.command()
def scale(
    shared: Folder = SHARED, sizes: Annotated[str, typer.Option(help="images")] = "7038,25000,70000,200000"
) -> None:
    """Seconds, and MB added, of sway with 1,000 replicates on the published captions, repeated."""
    numbers = [int(size) for size in sizes.split(",")]
    rows = []
    for objects in SHOWN:
        costs = [alone(measure, shared, objects, size) for size in track(numbers, "measuring", transient=True)]
        for field, (of, least) in COSTS.items():
            values = np.array([getattr(one, field) for one in costs])
            cells = {f"{size:,}": f"{value:.1f}" for size, value in zip(numbers, values, strict=True)}
            of_what = "with objects" if objects else "from captions"
            rows.append({"": of_what, "of": of} | cells | {"exponent": exponent(numbers, values, least)})
    show("nic's captions of COCO, repeated", rows)


def measure(shared: Path, objects: bool, size: int) -> Cost:
    """From lists to scores, once everything is imported."""
    images = Shared(shared).images("nic", human=True, objects=objects)
    sway(**of_rows(images, range(200)))
    repeated = of_rows(images, np.arange(size) % len(images["predictions"]))
    found, _ = cost(partial(sway, **repeated))
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    app()
