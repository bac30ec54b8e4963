"""How long `preset="fast"` takes on as many images as the papers have, and in a training loop; and the import.

usage: python benchmarks/fast.py [--images 10780] [--shared FOLDER]

Planted captions have few different words. With the published captions, `--shared`, the same is measured on those.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from published import Shared

from captionbias.metrics import dbac, lic
from captionbias.synthetic import plant
from captionbias.training import bias_scores, human_vectors

IN_LOOP = 5000  # images


def main(
    images: Annotated[int, typer.Option(help="planted images, five human captions each")] = 10_780,
    shared: Annotated[Path, typer.Option(help="folder with the published captions")] = Path("../shared"),
) -> None:
    """Print seconds and the largest memory held."""
    warnings.simplefilter("ignore")
    timed("import captionbias, in a new process", lambda: subprocess.run([sys.executable, "-c", "import captionbias"]))
    measure("planted", vars(plant(images)))
    if (shared / "data" / "gender").is_dir():
        published = Shared(shared).images("sat", human=True)
        del published["attribute_lexicon"]
        measure("published", published)
    else:
        print(f"no published captions at {shared}: planted ones alone; pass --shared FOLDER")
    print(f"largest memory held: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


def measure(kind: str, given: dict[str, Any]) -> None:
    """Both metrics by themselves, then as a training loop calls them; no trial is taken from the cache."""
    about = f"{len(given['predictions']):,} {kind} images"
    timed(f"DBAC, both directions, 5 trials, {about}", lambda: dbac(**given, preset="fast", cache=False))
    timed(f"LIC, 5 trials, {about}", lambda: lic(**given, preset="fast", cache=False))
    part = {name: column[:IN_LOOP] for name, column in given.items()}
    about = f"{len(part['predictions']):,} {kind} images"
    vectors = timed(f"word vectors, once a training, {about}", lambda: human_vectors(part["references"]))
    timed(f"an evaluation in a training, {about}", lambda: bias_scores(**part, vectors=vectors, cache=False))


def timed(what: str, work: Callable[[], Any]) -> Any:
    started, before = time.perf_counter(), sum(os.times()[:4])
    result = work()
    processor = sum(os.times()[:4]) - before
    print(f"{what}: {time.perf_counter() - started:.2f} s, {processor:.2f} s of processor time", flush=True)
    return result


if __name__ == "__main__":
    typer.run(main)
