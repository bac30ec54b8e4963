"""A page of a few buttons on the real server below the page, with a limit small enough to reach; run by test_server."""

from __future__ import annotations

import sys
import time
from types import SimpleNamespace
from typing import Any

import gradio as gr

from captionbias.app import server
from captionbias.app.data import Data
from captionbias.app.page import MEASURING
from captionbias.app.sessions import Sessions
from captionbias.captions.tables import Table


def build(found: Sessions) -> Any:
    worked: list[str] = []

    def keep(name: str, request: gr.Request) -> str:
        session = found.of(request)
        found.keep(session, Data({name: Table(name, (), lambda column: [])}))
        return session.token

    def finish(report: str, request: gr.Request) -> str:
        run: Any = SimpleNamespace(report=report)
        return found.finish(found.of(request), run)

    def work(name: str, seconds: float, request: gr.Request) -> str:
        session = found.of(request)
        session.ask(request.session_hash)
        with found.running(session, lambda done, desc: None) as watch:
            worked.append(name)
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                watch("working", 0.5)
                time.sleep(0.05)
        worked.append(f"{name} done")
        return ", ".join(worked)

    def told() -> str:
        return ", ".join(worked)

    def left(request: gr.Request) -> None:
        found.leave(request)

    with gr.Blocks(analytics_enabled=False) as page:
        text, number, answer = gr.Textbox(label="Text"), gr.Number(), gr.Textbox(label="Answer")
        gr.File(label="File")
        for action in (keep, finish):
            gr.Button(action.__name__).click(action, text, answer, api_name=action.__name__)
        gr.Button("work").click(work, [text, number], answer, api_name="work", **MEASURING)
        gr.Button("told").click(told, None, answer, api_name="told")
        page.unload(left)
    page.queue()
    return page


if __name__ == "__main__":
    server.UPLOAD, server.BODY = 1_000_000, 100_000
    server.serve(build, port=int(sys.argv[1]))
