"""The page, and what its events do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib import resources
from typing import Any

import gradio as gr

from captionbias.app import measuring
from captionbias.app.check_step import Check
from captionbias.app.data import with_columns, with_roles
from captionbias.app.example import example
from captionbias.app.files_step import Files, given_after
from captionbias.app.measuring import PageSettings
from captionbias.app.pieces import alert, frame
from captionbias.app.result_step import History, Outcome
from captionbias.app.runs import FAULTS, GONE, Run, Runs, State, read_files
from captionbias.errors import message_of
from captionbias.metrics import catalogue

METRICS = catalogue.REPORTED
QUEUE, AT_ONCE, HOUR, TICK = 32, 8, 3600, 1.0
# What the page asks for is not an endpoint that gradio lists.
UNNAMED: dict[str, Any] = {"api_visibility": "private", "api_name": "part", "show_progress": "hidden"}
Act = Callable[[Run, str, Mapping[Any, Any]], Run]
ABOUT = "Does an image captioner make the bias of its data worse? In which direction, and how certain is that?"
EXAMPLE = "**An example**: two made-up captioners, one with a planted bias."
# Of gradio's own, those that are too faint to be read are replaced.
COLOURS = {
    "body_text_color_subdued": "#5a5a63",
    "body_text_color_subdued_dark": "#b8b8c0",
    "block_info_text_color": "#5a5a63",
    "block_info_text_color_dark": "#b8b8c0",
    "link_text_color_dark": "#6cb8f0",
    "button_primary_background_fill": "#1d4ed8",
    "button_primary_background_fill_dark": "#1d4ed8",
    "button_cancel_background_fill": "#b3261e",
    "button_cancel_background_fill_dark": "#b3261e",
}


def page(runs: Runs, metrics: Sequence[str] = METRICS) -> Any:
    """The app as a gradio page, for `captionbias.app.server.serve`."""
    measuring.listen()
    with gr.Blocks(title="captionbias", analytics_enabled=False, delete_cache=(HOUR, HOUR), fill_width=True) as app:
        Page(app, runs, metrics)
    app.queue(max_size=QUEUE, default_concurrency_limit=AT_ONCE)
    return app


def look() -> dict[str, Any]:
    """The look of the page, for `launch`: style, script, words, and fonts that every machine has."""
    theme = gr.themes.Default(
        primary_hue="blue", font=["system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"]
    ).set(**COLOURS)
    files = resources.files("captionbias.app")
    script = files.joinpath("page.js").read_text(encoding="utf-8")
    return {
        "theme": theme,
        "css": files.joinpath("page.css").read_text(encoding="utf-8"),
        "head": f"<script>{script}</script>",
        "i18n": gr.I18n(en={"common.upload": "Upload"}),  # which gradio has no words for
    }


class Page:
    """One run in three steps. The page itself says which run it shows, and whose it is: the server keeps no pages."""

    def __init__(self, app: Any, runs: Runs, metrics: Sequence[str]) -> None:
        self.runs, self.new = runs, PageSettings(metrics=tuple(metrics))
        self._layout(metrics)
        self.outputs = [*self.show(self._nothing(""), ""), self.owner, self.steps]
        self._events(app)

    def _layout(self, metrics: Sequence[str]) -> None:
        entry = catalogue.METRICS[metrics[0]]
        title, question = entry.title, f"{entry.question[0].upper()}{entry.question[1:]}"
        if tuple(metrics) == METRICS:
            title, question = "captionbias", ABOUT
        gr.Markdown(f"# {title}\n{question}", elem_id="about")
        with gr.Tabs(elem_id="steps", overflow_behavior="wrap") as self.steps:
            if set(metrics) <= set(METRICS):
                with gr.Tab("Example", id="example"):
                    with gr.Row(elem_id="example-about"):
                        gr.Markdown(EXAMPLE)
                        gr.Button("Measure your own captions", variant="primary", elem_id="own", scale=0)
                    gr.HTML(frame("example", "The example's result"), padding=False)
            with gr.Tab("1. Files", id="files"):
                self.files = Files()
            with gr.Tab("2. Check", id="check", interactive=False) as self.check_tab:
                self.check = Check(metrics)
            with gr.Tab("3. Result", id="result", interactive=False) as self.result_tab:
                self.outcome = Outcome()
        self.history = History()
        self.run = gr.Textbox(visible="hidden", elem_id="run")
        self.owner = gr.Textbox(visible="hidden")
        self.edition = gr.Number(visible="hidden")
        self.timer = gr.Timer(TICK, active=False)

    def show(self, run: Run, owner: str, values: Mapping[Any, Any] | None = None, fault: str = "") -> dict[Any, Any]:
        """What all components hold for a run, without what those of `values` hold already: more may have been
        chosen since."""
        message = fault or ("" if run.asked else run.message)
        updates = {
            self.run: run.id if self.runs.find(run.id) else "",
            self.check_tab: gr.update(interactive=bool(run.data) or run.state == State.READING),
            **self.files.show(run, message),
            **self.check.show(run, message),
            **self._show_outcome(run, owner),
            **self.history.show(run, self.runs.of(owner)),
        }
        return {part: _without(update, (values or {}).get(part, ...)) for part, update in updates.items()}

    def _show_outcome(self, run: Run, owner: str) -> dict[Any, Any]:
        return {
            self.edition: run.edition,
            self.result_tab: gr.update(interactive=run.asked > 0),
            **self.outcome.show(run),
            **self._follow(run, owner),
        }

    def _follow(self, run: Run, owner: str) -> dict[Any, Any]:
        """What changes while the run, or another one of the owner's, is on its way."""
        runs = self.runs.of(owner)
        on_its_way = run.state == State.READING or any(one.working for one in (run, *runs))
        return {
            self.timer: gr.update(active=on_its_way),
            **self.outcome.follow(run, self.runs.before(run)),
            **self.history.follow(run, runs),
        }

    # Events

    def _events(self, app: Any) -> None:
        files, check, outcome, on = self.files, self.check, self.outcome, self._on
        shown = [self.run, self.owner]
        loaded = app.load(self._loaded, shown, self.outputs, js="() => captionbias.opened()", **UNNAMED)
        loaded.then(None, js="() => captionbias.ready()", **UNNAMED)
        self.run.change(None, self.run, None, js="(run) => captionbias.shows(run)", **UNNAMED)
        self.timer.tick(self._tick, [*shown, self.edition], self.outputs, queue=False, **UNNAMED)
        given = partial(gr.on, [files.uploads.upload, files.uploads.delete, files.uploads.clear])
        readings = [on(given, self._give, [files.uploads]), on(files.example.click, self._take_example)]
        for begun in readings:  # what is read is read, whatever becomes of the page, which waits for it
            begun.then(self._read, shown, self.outputs, concurrency_limit=None, **UNNAMED)
        for act, fields in ((self._say, [*files.roles.values()]), (self._choose, check.fields)):
            on(partial(gr.on, _choosing(fields)), act, fields, trigger_mode="always_last")
        for button in (check.measure, outcome.again):
            on(button.click, self._measure, check.fields, select="result")
        on(outcome.cancel.click, self._cancel, queue=False)
        compare, earlier, told = self.history.compare, self.history.earlier, self.history.status
        on(compare.click, self._compare, [earlier], select="check", told=told)

    def _on(
        self, event: Any, act: Act, fields: Sequence[Any] = (), select: str = "", told: Any = None, **options: Any
    ) -> Any:
        """Let an event show the run that `act` makes of the one that is shown, the owner and what fields hold, and go
        to a step; what goes wrong is told where people look: in the steps, or in `told`."""

        def handle(given: dict[Any, Any], request: gr.Request) -> dict[Any, Any]:
            owner = given[self.owner]
            self.runs.comes(owner, request.client.host if request.client else "")
            run = self.runs.find(given[self.run], owner)
            if given[self.run] and run is None:
                return self.show(self._nothing(owner), owner, fault=GONE)
            run = run or self._nothing(owner)
            try:
                made = act(run, owner, given)
            except FAULTS as error:
                if told is None:
                    return self.show(run, owner, given, message_of(error))
                return {**self.show(run, owner, given), told: alert(error)}
            made.page = request.session_hash or ""
            selected = {self.steps: gr.Tabs(selected=select)} if select else {}
            return {**self.show(made, owner, given), **selected}

        return event(handle, {self.run, self.owner, *fields}, self.outputs, **{**UNNAMED, **options})

    def _nothing(self, owner: str) -> Run:
        return Run(owner, settings=self.new)

    def _loaded(self, name: str, owner: str) -> dict[Any, Any]:
        """What a page shows that is opened at an address, or has its connection back."""
        run = self.runs.find(name, owner)
        if not name:  # something may have begun meanwhile
            return {self.owner: owner, **self.history.show(self._nothing(owner), self.runs.of(owner))}
        if run is None:
            shown, step = self.show(self._nothing(owner), owner, fault=GONE), "files"
        else:
            self.runs.look(run, owner)
            shown, step = self.show(run, owner), "result" if run.asked else "check" if run.data else "files"
        return {**shown, self.owner: owner, self.steps: gr.Tabs(selected=step)}

    def _tick(self, name: str, owner: str, edition: int, request: gr.Request) -> Any:
        """What is new of a run that is on its way; what is chosen in the other steps stays."""
        run = self.runs.find(name) if name else self._nothing(owner)
        if run is None:
            return self.show(self._nothing(owner), owner, fault=GONE)
        self.runs.look(run, owner)
        if run.edition == edition or not name:
            return self._follow(run, owner)
        return self._show_outcome(run, owner) if run.asked else self._show_latest(run, owner, request)

    def _read(self, name: str, owner: str, request: gr.Request) -> Any:
        """What was read; nothing if other files were given on this page meanwhile, for which it waits as well."""
        run = self.runs.find(name)
        if run is None or run.reading is None:
            return gr.skip()
        run.reading.result()
        return self._show_latest(run, owner, request)

    def _show_latest(self, run: Run, owner: str, request: gr.Request) -> Any:
        """What all components hold for a run, if this page made no other one since: answers may come late."""
        return self.show(run, owner) if self.runs.latest(request.session_hash or "") in (None, run) else gr.skip()

    # What they make of the run that is shown

    def _give(self, run: Run, owner: str, given: Mapping[Any, Any]) -> Run:
        paths = given_after(run.uploads, list(map(str, given[self.files.uploads] or ())))
        return self.runs.read(run, owner, partial(read_files, paths), paths)

    def _take_example(self, run: Run, owner: str, given: Mapping[Any, Any]) -> Run:
        return self.runs.read(run, owner, lambda: (example(), {}))

    def _say(self, run: Run, owner: str, given: Mapping[Any, Any]) -> Run:
        if run.state == State.READING or run.told:
            return run
        data = with_roles(run.data, _named(given, self.files.roles))
        return self.runs.change(run, owner, data, run.settings if data is run.data else run.settings.fitting(data))

    def _choose(self, run: Run, owner: str, given: Mapping[Any, Any]) -> Run:
        if run.state == State.READING or run.told:
            return run
        data, chosen = with_columns(run.data, _named(given, self.check.columns)), _named(given, self.check.settings)
        settings = PageSettings(**{**chosen, "metrics": tuple(chosen["metrics"])})
        for column, words in (("attribute_column", "attribute"), ("task_column", "task_words")):
            if getattr(data.columns, column) != getattr(run.data.columns, column):
                settings = replace(settings, **{words: getattr(settings.fitting(data), words)})
        return self.runs.change(run, owner, data, settings)

    def _measure(self, run: Run, owner: str, given: Mapping[Any, Any]) -> Run:
        return self.runs.ask(self._choose(run, owner, given), owner)

    def _compare(self, run: Run, owner: str, given: Mapping[Any, Any]) -> Run:
        earlier = self.runs.find(given[self.history.earlier] or "")
        if earlier is None:
            raise ValueError("choose the earlier run to compare with")
        return self.runs.compare(run, owner, earlier)

    def _cancel(self, run: Run, owner: str, given: Mapping[Any, Any]) -> Run:
        self.runs.cancel(run)
        return run


def _named(given: Mapping[Any, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: given[field] for name, field in fields.items()}


def _without(update: Any, held: Any) -> Any:
    """An update without the value that a component holds already."""
    if isinstance(update, dict) and held is not ... and (update.get("value") or None) == (held or None):
        return {name: value for name, value in update.items() if name != "value"}
    return update


def _choosing(fields: Sequence[Any]) -> list[Any]:
    """The events of a user changing any of these fields; gradio tells of a backspace when a choice is left."""
    events = []
    for field in fields:
        if isinstance(field, gr.Slider):
            events.append(field.release)
        elif isinstance(field, gr.Number):
            events.append(field.blur)
        else:
            events += [field.input, *([field.blur] if getattr(field, "multiselect", False) else [])]
    return events
