"""The third step: how far a run is, what it found, and the runs before it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import gradio as gr

from captionbias.app.compared import clock
from captionbias.app.pieces import alert, choice, frame, table
from captionbias.app.results import RunResult
from captionbias.app.runs import Run, State
from captionbias.metrics import catalogue


class Outcome:
    def __init__(self) -> None:
        self.frame = gr.HTML(elem_id="result-frame", padding=False)
        with gr.Column(elem_id="state"):  # below what it is of, which stays where it is as the rest comes
            self.status = gr.HTML(elem_id="status", padding=False)
            self.progress = gr.HTML(elem_id="progress", padding=False)
            self.cancel = gr.Button("Cancel", size="sm", visible=False, elem_id="cancel")
            self.again = gr.Button("Measure again", variant="primary", visible=False, elem_id="again")
        self.downloads = gr.HTML(elem_id="downloads", visible=False)

    def show(self, run: Run) -> dict[Any, Any]:
        whole = run.result is not None and run.result.whole
        return {
            self.status: f'<div role="status" class="{"heard" * run.working}">{status(run)}</div>' if run.asked else "",
            self.cancel: gr.update(visible=run.working),
            self.again: gr.update(visible=run.state in (State.FAILED, State.CANCELLED) and not run.told),
            self.frame: report(run),
            self.downloads: gr.update(visible=whole, value=downloads(run)),
        }

    def follow(self, run: Run, before: int) -> dict[Any, Any]:
        """What changes all the time while a run is on its way, after so many others; screen readers are not told."""
        if run.state == State.WAITING:
            return {self.progress: f"<p>{waiting(before)}</p>"}
        if run.state == State.RUNNING:
            share = f'<progress value="{run.done:.3f}" aria-label="Progress"></progress>'
            what = "The rest is being measured, and may change verdicts" if run.result else "Measuring"
            return {self.progress: f"{share}<p>{what}: {escape(run.left())}.</p>"}
        return {self.progress: ""}


def waiting(before: int) -> str:
    if not before:
        return "Waiting until an earlier run has ended."
    return f"Waiting: {before} run{'s' if before > 1 else ''} before this one."


def status(run: Run) -> str:
    """What a run is at, and how much of it there is."""
    part = ""
    if isinstance(run.result, RunResult) and not run.result.whole:
        titles = ", ".join(catalogue.METRICS[name].title for name in run.result.audit.comparisons)
        rest = "still being measured, and may change verdicts" if run.working else "not measured"
        part = f"<p><strong>This result is not whole</strong>: it is {titles} alone; the rest is {rest}.</p>"
    if run.state == State.DONE:
        return '<p class="heard">Done.</p>'
    if run.state == State.FAILED:
        return alert(run.message) + part
    return f"<p>{escape(run.message) if run.state == State.CANCELLED else 'Measuring.'}</p>{part}"


def report(run: Run) -> str:
    """The run's report, as far as it goes."""
    if not run.result:
        return ""
    whole = run.result.whole
    link = f'<a href="run/{run.id}/report" target="_blank" rel="noopener">Open the result on a page of its own</a>'
    # In another element the frame is another one: a new address in the same would be a step of the back button.
    tag = "div" if whole else "section"
    framed = frame(f"run/{run.id}/report?part={'whole' if whole else 'first'}", "The result")
    return f"<{tag}>{framed}{f'<p>{link}</p>' if whole else ''}</{tag}>"


def downloads(run: Run) -> str:
    if run.result is None or not run.result.whole:
        return ""
    links = (f'<li><a href="run/{run.id}/files/{name}" download="{name}">{name}</a></li>' for name in run.result.files)
    return f"<h3>Report, data and tables</h3><p>Of {of_files(run)}.</p><ul>{''.join(links)}</ul>"


def of_files(run: Run) -> str:
    """The names of a run's files as HTML, with the beginning of what tells those of one name apart."""
    names = [table.name for table in run.data.tables]
    digests = [f" <small>({run.files[name][:6]})</small>" if name in run.files else "" for name in names]
    return ", ".join(f"{escape(name)}{digest}" for name, digest in zip(names, digests, strict=True))


class History:
    """The components below the steps: what the owner of this browser asked for before."""

    def __init__(self) -> None:
        with gr.Column(visible=False, elem_id="history") as self.group:
            gr.Markdown("## Runs of this session")
            self.listed = gr.HTML(elem_id="runs")
            self.status = gr.HTML(elem_id="compared")
            with gr.Row(visible=False) as self.comparing:
                self.earlier = choice("An earlier run")
                self.compare = gr.Button("Compare this run with it", elem_id="compare")

    def show(self, run: Run, runs: Sequence[Run]) -> dict[Any, Any]:
        others = [
            (f"{len(runs) - place}: {', '.join(one.data.captioners)}, {clock(one.asked)}", one.id)
            for place, one in enumerate(runs)
            if one is not run
        ]
        return {
            **self.follow(run, runs),
            self.status: "",
            self.comparing: gr.update(visible=bool(others) and run.ready),
            self.earlier: gr.update(choices=others, value=None),
        }

    def follow(self, run: Run, runs: Sequence[Run]) -> dict[Any, Any]:
        """What changes while runs are on their way."""
        rows = [
            (
                str(len(runs) - place),
                escape(", ".join(one.data.captioners)),
                of_files(one),
                clock(one.asked),
                one.state.value,
                "this one" if one is run else f'<a href="run/{one.id}">show it</a>',
            )
            for place, one in enumerate(runs)
        ]
        heads = ("run", "captioners", "files", "asked for", "state", "")
        return {self.group: gr.update(visible=bool(runs)), self.listed: table(heads, rows)}
