"""A page of a few buttons on the real server below the page, with limits small enough to reach; run by test_server."""

from __future__ import annotations

import sys
import time
from types import SimpleNamespace
from typing import Any

import gradio as gr

from captionbias.app import line, server, sessions
from captionbias.app.page import plain_errors, running
from captionbias.app.runs import Runs
from captionbias.app.sessions import Sessions
from captionbias.app.upload_state import Data
from captionbias.captions.tables import Table


def build(found: Sessions) -> Any:
    runs = Runs(here=found.here)
    worked: list[str] = []

    def keep(name: str, request: gr.Request) -> str:
        session = found.of(request)
        found.keep(session, Data({name: Table(name, (), lambda column: [])}))
        return session.token

    def adopt(token: str, request: gr.Request) -> str:
        found.adopt(request, token)
        return ", ".join(found.of(request).data.predictions)

    def finish(report: str, request: gr.Request) -> str:
        run: Any = SimpleNamespace(report=report, size=0)
        return found.finish(found.of(request), run)

    def work(name: str, seconds: float, request: gr.Request, progress: gr.Progress = gr.Progress()) -> str:  # noqa: B008
        with plain_errors(), running(runs, found.of(request), progress) as watch:
            worked.append(name)
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                watch("working", 0.5)
                time.sleep(0.05)
        worked.append(f"{name} done")
        return ", ".join(worked)

    def told() -> str:
        return ", ".join(worked)

    def fail(text: str) -> None:
        with plain_errors():
            raise ValueError(text)

    def fail_as_gradio(text: str) -> None:
        raise gr.Error(text)

    with gr.Blocks(analytics_enabled=False) as page:
        text, number, answer = gr.Textbox(label="Text"), gr.Number(), gr.Textbox(label="Answer")
        gr.File(label="File")
        for action in (keep, adopt, finish, fail, fail_as_gradio):
            button = gr.Button(action.__name__, elem_id=action.__name__)
            button.click(action, text, answer, api_name=action.__name__)
        gr.Button("work").click(work, [text, number], answer, api_name="work", concurrency_limit=None)
        gr.Button("told").click(told, None, answer, api_name="told")
    page.queue()
    server.escape_errors(page)
    return page


if __name__ == "__main__":
    server.UPLOADED, server.BODY, server.STALLED, sessions.GRACE = 3_000_000, 100_000, 2, 2
    line.OF_ADDRESS = 4
    server.serve(build, port=int(sys.argv[1]))
