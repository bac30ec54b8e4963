"""The page: its sections, and its runs."""

from __future__ import annotations

from typing import Any

import gradio as gr

from captionbias.app import actions, components, image_actions, server
from captionbias.app.components import HOUR, QUEUE, UNNAMED, WAITING
from captionbias.app.runs import Runs, listen
from captionbias.app.sessions import NOTHING, Sessions

# Wide tables are scrolled by themselves: without the second rule they would widen the whole page on a phone.
CSS = """
.gradio-container { max-width: 76rem !important; margin: 0 auto; }
.gradio-container main, .gradio-container .main, .gradio-container .wrap { min-width: 0; max-width: 100vw; }
#status { min-height: 3.5rem; }
"""


def page(sessions: Sessions, seconds: float | None = None) -> Any:
    """The app as a gradio page, for `captionbias.app.server.serve`.

    Args:
        sessions: what each user has.
        seconds: how long one run may take; None for as long as it needs.
    """
    listen()
    runs = Runs(seconds, sessions.here)
    with gr.Blocks(title="captionbias", analytics_enabled=False, delete_cache=(HOUR, HOUR)) as app:
        data, run = (gr.State(value, time_to_live=HOUR) for value in (NOTHING, None))
        gr.Markdown(components.ABOUT)
        attribute = components.attribute_choice(actions.CUSTOM)
        about, example, example_read = components.captions_section(data, attribute)
        words = components.words_section(data, about, attribute)
        with gr.Tabs():
            with gr.Tab("Captions: DBAC and LIC"):
                settings, measure = components.settings_section()
            with gr.Tab("With images: ImageCaptioner2"):
                if components.JUDGES:
                    of_images, measure_images = components.images_section()
                else:
                    gr.Markdown(components.IMAGES_NEED)
        cancel = gr.Button("Cancel", variant="stop", visible=False, elem_id="cancel")
        status = gr.Markdown(elem_id="status")
        found = components.results_section(run)
        code = components.program_section()
        buttons = [cancel, measure, example, *([measure_images] if components.JUDGES else [])]
        measuring = []

        def measures(event: Any, action: Any, inputs: list[Any], **name: Any) -> None:
            begun = event(_begin_in(runs, sessions, len(buttons)), None, [*buttons, found, status], **UNNAMED)
            measured = begun.then(action, inputs, [run, status], show_progress_on=status, **WAITING, **name)
            for ended in (measured.success, measured.failure):
                ended(_idle_of(len(buttons)), None, buttons, **UNNAMED)
            measuring.append(measured)

        measures(measure.click, _measure_in(runs, sessions), [data, *words, *settings], api_name="measure")
        measures(example_read.then, _measure_in(runs, sessions), [data, *words, *settings], **UNNAMED)
        if components.JUDGES:
            pictures, *judging = of_images
            inputs = [pictures, data, *words[:2], *judging]
            measures(measure_images.click, _measure_images_in(runs, sessions), inputs, api_name="measure_images")

        def stop(request: gr.Request) -> tuple[Any, ...]:
            cancelled = runs.cancel(sessions.of(request))
            return "Cancelled." if cancelled else "There is no run to cancel.", *_idle_of(len(buttons))()

        def at_this_address(request: gr.Request) -> str:
            served = request.request
            return components.code(str(served.base_url).rstrip("/") if served else components.ADDRESS)

        cancel.click(stop, None, [status, *buttons], cancels=measuring, queue=False, api_name="cancel")
        app.load(at_this_address, None, code, **UNNAMED)
    app.queue(max_size=QUEUE)
    server.escape_errors(app)
    return app


def look() -> dict[str, Any]:
    """For `launch`: fonts that every machine has."""
    theme = gr.themes.Default(
        primary_hue="blue", font=["system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"]
    )
    return {"theme": theme, "css": CSS}


def launch_options() -> dict[str, Any]:
    """What `launch` needs."""
    return server.launch_options(Sessions()) | look()


def _measure_in(runs: Runs, sessions: Sessions) -> Any:
    def measure(
        data: Any,
        attributes: list[str],
        custom_attribute: str,
        task_words: str,
        custom_tasks: str,
        metrics: list[str],
        preset: str,
        trials: int,
        seed: int,
        request: gr.Request,
        progress: gr.Progress = gr.Progress(),  # noqa: B008 (so gradio knows that it is wanted)
    ) -> tuple[Any, str]:
        settings = (attributes, custom_attribute, task_words, custom_tasks, metrics, preset, trials, seed)
        session = sessions.of(request)
        with actions.running(runs, session, progress) as watch:
            run = actions.measure(data, *settings, watch=watch)
        sessions.finish(session, run)
        return run, "Done."

    return measure


def _measure_images_in(runs: Runs, sessions: Sessions) -> Any:
    def measure_images(
        pictures: Any,
        data: Any,
        attributes: list[str],
        custom_attribute: str,
        trials: int,
        epochs: int,
        prompt: str,
        seed: int,
        request: gr.Request,
        progress: gr.Progress = gr.Progress(),  # noqa: B008 (so gradio knows that it is wanted)
    ) -> tuple[Any, str]:
        settings = (attributes, custom_attribute, trials, epochs, prompt, seed)
        session = sessions.of(request)
        with actions.running(runs, session, progress) as watch:
            run = image_actions.measure(pictures, data, *settings, watch=watch)
        sessions.finish(session, run)
        return run, "Done."

    return measure_images


def _begin_in(runs: Runs, sessions: Sessions, buttons: int) -> Any:
    def begin(request: gr.Request) -> tuple[Any, ...]:
        """Cancel comes, nothing else can begin a run, and what was found before goes."""
        runs.request(sessions.of(request))
        waits = [gr.update(interactive=False)] * (buttons - 1)
        return gr.update(visible=True), *waits, gr.update(visible=False), ""

    return begin


def _idle_of(buttons: int) -> Any:
    def idle() -> tuple[Any, ...]:
        """Cancel goes, and what begins a run can be pressed again."""
        return gr.update(visible=False), *[gr.update(interactive=True)] * (buttons - 1)

    return idle
