"""How long the report of the six published captioners takes with the fast preset, step by step.

usage: python benchmarks/report.py [--shared FOLDER]

No trial is kept from an earlier run, so everything is trained. Needs the published captions.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from pathlib import Path
from typing import Annotated

import typer
from published import CAPTIONERS, Shared
from rich.console import Console
from rich.table import Table

from captionbias.analysis.audit import audit
from captionbias.report.html import write_report
from captionbias.report.markdown import markdown_report

LIMIT = 120  # seconds


def main(
    shared: Annotated[Path, typer.Option(help="folder with the published captions")] = Path("../shared"),
    trials: Annotated[int | None, typer.Option(help="the preset's when left out")] = None,
) -> None:
    """Print seconds of each step and in all."""
    warnings.simplefilter("ignore")
    if not (shared / "data" / "gender").is_dir():
        raise SystemExit(f"{shared} has no data/gender: name the folder with the published captions with --shared")
    people: dict[str, object] = {}
    captioners = {}
    for name in CAPTIONERS:
        people = Shared(shared).images(name, human=True)
        captioners[name] = people.pop("predictions")
    steps: dict[str, float] = {}
    last = [time.perf_counter(), "start"]
    started = last[0]

    def watch(step: str, done: float) -> None:
        now = time.perf_counter()
        kind = last[1].split(" of ")[0].split(":")[0]
        steps[kind] = steps.get(kind, 0.0) + now - last[0]
        last[:] = [now, step]

    with tempfile.TemporaryDirectory() as folder:
        found = audit(captioners, **people, trials=trials, cache=False, watch=watch)
        measured = time.perf_counter()
        report = Path(folder, "report.html")
        write_report(found, report)
        markdown = markdown_report(found)
        steps["pages"] = time.perf_counter() - measured
        size = report.stat().st_size
    table = Table("step", "seconds", title=f"{len(captioners)} captioners, {found.images:,} images, preset fast")
    for step, seconds in steps.items():
        table.add_row(step, f"{seconds:.1f}")
    table.add_row("in all", f"{time.perf_counter() - started:.1f} (wanted: under {LIMIT})")
    Console().print(table)
    print(f"the page has {size / 1e6:.1f} MB, the Markdown {len(markdown):,} characters")


if __name__ == "__main__":
    typer.run(main)
