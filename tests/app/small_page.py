"""A page of a few buttons on the real server below the page, with a limit small enough to reach; run by test_server."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gradio as gr

from captionbias.app import server
from captionbias.app.runs import Run, Runs


def build(runs: Runs) -> Any:
    def keep(report: str) -> str:
        path = Path(server.tempfile.gettempdir(), "scores.csv")
        path.write_text(report)
        result: Any = SimpleNamespace(report=report, files={path.name: path})
        return runs.keep(Run(result=result)).id

    def work() -> str:
        return runs.ask(Run(), "").id

    with gr.Blocks(analytics_enabled=False) as page:
        text, answer = gr.Textbox(label="Text"), gr.Textbox(label="Answer")
        gr.File(label="File")
        gr.Button("keep").click(keep, text, answer, api_name="keep")
        gr.Button("work").click(work, None, answer, api_name="work")
    page.queue()
    return page


def forever(run: Run, watch: Any) -> Iterator[Any]:
    while True:
        watch("working", 0.5)
        time.sleep(0.05)
        yield from ()


if __name__ == "__main__":
    server.UPLOAD, server.BODY = 1_000_000, 100_000
    server.serve(build, Runs(forever), port=int(sys.argv[1]))
