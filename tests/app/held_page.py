"""`captionbias app` at a port, in the working folder: small limits, few trials, and no run whole before a file `go` is
there; while a file `brief` is there, a run is cancelled that no page shows for two seconds."""

import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gradio as gr

from captionbias.app import measuring, page, server
from captionbias.app.runs import UNSEEN, Run, Runs
from captionbias.cli.main import run as captionbias

TRIALS = measuring.PageSettings().trials


def held(run: Run, watch: Any) -> Iterator[Any]:
    while not run.data:  # asked for by `work`, for ever
        watch("working", 0.5)
        time.sleep(0.05)
    RUNS._unseen = UNSEEN
    settings = run.settings if run.settings.trials != TRIALS else replace(run.settings, trials=2)
    for result in measuring.measure(run.data, settings, watch):
        while result.whole and not Path("go").exists():
            RUNS._unseen = 2.0 if Path("brief").exists() else UNSEEN
            watch("held", 0.5)
            time.sleep(0.02)
        yield result


def keep(report: str) -> str:
    path = Path(server.tempfile.gettempdir(), "scores.csv")
    path.write_text(report)
    result: Any = SimpleNamespace(report=report, files={path.name: path})
    return RUNS.keep(Run(result=result)).id


def work() -> str:
    return RUNS.ask(Run(), "").id


def with_events(runs: Runs) -> Any:
    with build(runs) as app:
        gr.api(keep, api_name="keep")
        gr.api(work, api_name="work")
    return app


if __name__ == "__main__":
    RUNS, build = Runs(held), page.page
    server.Runs, page.page = lambda: RUNS, with_events
    server.UPLOAD, server.BODY = 1_000_000, 100_000
    sys.argv = ["captionbias", "app", "--no-open", "--port", sys.argv[1]]
    captionbias()
