"""How long `preset="fast"` takes on as many images as the papers have, and how long the package takes to import.

usage: python benchmarks/fast.py [--images 10780]
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
import warnings
from typing import Annotated

import typer

from captionbias.metrics import dbac, lic
from captionbias.planted import plant


def main(images: Annotated[int, typer.Option(help="planted images, five human captions each")] = 10_780) -> None:
    """Print seconds and the largest memory held."""
    warnings.simplefilter("ignore")
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import captionbias"], check=True)
    print(f"import captionbias, in a new process: {time.perf_counter() - started:.2f} s")
    given = vars(plant(images))
    for name, metric in (("DBAC, both directions", dbac), ("LIC", lic)):
        started = time.perf_counter()
        metric(**given, preset="fast")
        print(f"{name}, preset fast, 10 trials, {images:,} images: {time.perf_counter() - started:.1f} s")
    print(f"largest memory held: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    typer.run(main)
