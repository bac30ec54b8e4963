"""The page: its components, and which event does what."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from threading import Thread
from typing import Any

import gradio as gr

from captionbias.app import actions, components
from captionbias.app.components import OWN
from captionbias.app.heard_warnings import listen
from captionbias.app.runs import Runs
from captionbias.app.uploads import MAX_BYTES
from captionbias.app.wiring import HOUR, QUEUE, READING, UNNAMED, WAITING, connect_data

SESSIONS = 64
RUNS_NEED = (
    *("gensim.models", "scipy.sparse", "sklearn.linear_model", "plotly.graph_objects"),
    *("nltk.translate.meteor_score", "pycocoevalcap.bleu.bleu", "pycocoevalcap.cider.cider"),
)
WORDS = ("attribute", "own_attribute", "task_words", "own_task")
SETTINGS = (*WORDS, "metrics", "preset", "trials", "seed")
SHOWN = (
    *("all", "summary", "noted", "notes", "scores_plot", "scores", "compare", "differences_plot", "differences"),
    *("good", "tradeoff", "quality", "certainty", "leaks", "origin", "source_captioner", "word_captioner"),
    *("command", "python"),
)
OF_SOURCES, OF_WORDS = ("sources_plot", "sources", "alignment"), ("captions", "words")
# Wide tables are scrolled by themselves: without the second rule they would widen the whole page on a phone.
CSS = """
.gradio-container { max-width: 76rem !important; margin: 0 auto; }
.gradio-container main, .gradio-container .main, .gradio-container .wrap { min-width: 0; max-width: 100vw; }
#status { min-height: 3.5rem; }
"""


def page(seconds: float | None = None) -> Any:
    """The app as a gradio page, for `launch(**launch_options())`.

    Args:
        seconds: how long one run may take; None for as long as it needs.
    """
    listen()
    Thread(target=_import_ahead, daemon=True).start()
    runs = Runs(seconds)
    with gr.Blocks(title="captionbias", analytics_enabled=False, delete_cache=(HOUR, HOUR)) as app:
        given, chosen = (gr.State(value, time_to_live=HOUR) for value in (actions.NOTHING, actions.UNCHOSEN))
        run = gr.State(None, time_to_live=HOUR)
        gr.Markdown(components.ABOUT)
        data, choice = components.data(), components.choice()
        with gr.Row():
            measure = gr.Button("Measure", variant="primary", elem_id="measure")
            cancel = gr.Button("Cancel", variant="stop", visible=False, elem_id="cancel")
        status = gr.Markdown(elem_id="status")
        found = components.results()
        code = components.program()
        ready = _connect_data(given, chosen, data, choice)
        start = {
            "given": given,
            "chosen": chosen,
            "run": run,
            "measure": measure,
            "cancel": cancel,
            "status": status,
            "example": data["example"],
        }
        _connect_run(runs, start, choice, found, ready)
        _connect_results(run, found)

        def left(request: gr.Request) -> None:
            runs.cancel(_session(request))

        def at_this_address(request: gr.Request) -> str:
            served = request.request
            return components.code(str(served.base_url).rstrip("/") if served else components.ADDRESS)

        app.unload(left)
        app.load(at_this_address, None, code, **UNNAMED)
    app.queue(max_size=QUEUE)
    return app


def _import_ahead() -> None:
    """Import what runs need while users look at the page: otherwise the first run waits some seconds for it."""
    for name in RUNS_NEED:
        with suppress(ImportError):
            import_module(name)


def launch_options() -> dict[str, Any]:
    """What `launch` needs: limits, and fonts that every machine has."""
    theme = gr.themes.Default(
        primary_hue="blue", font=["system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"]
    )
    return {
        "theme": theme,
        "css": CSS,
        "max_file_size": MAX_BYTES,
        "state_session_capacity": SESSIONS,
        "footer_links": ["api", "settings"],
    }


def _connect_data(given: Any, chosen: Any, data: dict[str, Any], choice: dict[str, Any]) -> Any:
    """Reading, correcting and looking; gives the event after which example data are ready."""
    preview: dict[str, Any] = {
        "fn": actions.look,
        "inputs": [given, chosen, *(choice[name] for name in WORDS)],
        "outputs": [data["read"], choice["masked"], choice["masked_a_to_t"], choice["masked_t_to_a"]],
        "show_progress": "hidden",
        **READING,
    }
    ready = connect_data(given, chosen, data, lambda after: after(**preview, **UNNAMED))
    choice["attribute"].input(**preview, api_name="preview")
    choice["task_words"].input(**preview, **UNNAMED)
    for own in (choice["own_attribute"], choice["own_task"]):
        own.blur(**preview, **UNNAMED)
    for chosen_words, own in (("attribute", "own_attribute"), ("task_words", "own_task")):
        choice[chosen_words].change(
            lambda words: gr.update(visible=words == OWN), choice[chosen_words], choice[own], **UNNAMED
        )
    return ready


def _connect_run(runs: Runs, start: dict[str, Any], choice: dict[str, Any], found: dict[str, Any], ready: Any) -> None:
    """Measuring, by the button or with example data, and cancelling."""
    run, status = start["run"], start["status"]

    def begin(
        given: Any,
        chosen: Any,
        attribute: str,
        own_attribute: str,
        task_words: str,
        own_task: str,
        metrics: list[str],
        preset: str,
        trials: int,
        seed: int,
        request: gr.Request,
        progress: gr.Progress = gr.Progress(),  # noqa: B008 (so gradio knows that it is wanted)
    ) -> tuple[Any, str]:
        settings = (given, chosen, attribute, own_attribute, task_words, own_task, metrics, preset, trials, seed)
        with (
            actions.plain_errors(),
            runs.begun(_session(request), lambda done, step: progress(done, desc=step)) as watch,
        ):
            return actions.measure(*settings, watch=watch), "Done."

    def stop(request: gr.Request) -> tuple[Any, ...]:
        message = "Cancelled." if runs.cancel(_session(request)) else "Nothing was running yet."
        return message, *_idle()

    buttons = [start["cancel"], start["measure"], start["example"]]
    of_captioner = [found["source_captioner"], found["direction"]]
    running = []
    for number, event in enumerate((start["measure"].click, ready.then)):
        begun = event(
            lambda: (gr.update(visible=True), *[gr.update(interactive=False)] * 2, gr.update(visible=False), "", None),
            None,
            [*buttons, found["all"], status, run],
            **UNNAMED,
        )
        measured = begun.then(
            begin,
            [start["given"], start["chosen"], *(choice[name] for name in SETTINGS)],
            [run, status],
            show_progress_on=status,
            **WAITING,
            **(UNNAMED if number else {"api_name": "measure"}),
        )
        measured.success(_idle, None, buttons, **UNNAMED)
        measured.failure(_idle, None, buttons, **UNNAMED)
        shown = measured.success(actions.show, run, [found[name] for name in SHOWN], show_progress="hidden", **UNNAMED)
        # The captioner may have the name of the last run's: then nothing changes that would show the new sources.
        shown.then(actions.sources, [run, *of_captioner], [found[name] for name in OF_SOURCES], **UNNAMED)
        shown.then(actions.words, [run, found["word_captioner"]], [found[name] for name in OF_WORDS], **UNNAMED)
        shown.then(actions.files, run, found["files"], **UNNAMED)
        running.append(measured)
    start["cancel"].click(stop, None, [status, *buttons], cancels=running, queue=False, api_name="cancel")


def _idle() -> tuple[Any, ...]:
    """Cancel goes, and what begins a run can be pressed again."""
    return gr.update(visible=False), gr.update(interactive=True), gr.update(interactive=True)


def _connect_results(run: Any, found: dict[str, Any]) -> None:
    """What depends on the selected captioner, and what only programs request."""
    of_sources, of_words = ([found[name] for name in names] for names in (OF_SOURCES, OF_WORDS))
    for changed in (found["source_captioner"], found["direction"]):
        changed.change(actions.sources, [run, found["source_captioner"], found["direction"]], of_sources, **UNNAMED)
    found["word_captioner"].change(actions.words, [run, found["word_captioner"]], of_words, **UNNAMED)
    # A dropdown takes what it offers, and offers captioners only to whom results were shown.
    captioner, trigger = gr.Textbox(visible=False), gr.Button(visible=False)
    answer, paths = gr.JSON(visible=False), gr.File(visible=False, file_count="multiple")
    trigger.click(actions.sources, [run, captioner, found["direction"]], of_sources, api_name="sources")
    trigger.click(actions.words, [run, captioner], of_words, api_name="words")
    trigger.click(actions.overview, run, answer, api_name="results")
    trigger.click(actions.files, run, paths, api_name="files")


def _session(request: gr.Request) -> str:
    return str(request.session_hash)
