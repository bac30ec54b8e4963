"""The page: what its events do, for people and for programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import resources
from typing import Any

import gradio as gr

from captionbias.app import actions, components, image_actions, results
from captionbias.app.data import Data, guess_words
from captionbias.app.sessions import NOTHING, CancelledError, Session, Sessions
from captionbias.attackers.ranks import RankError
from captionbias.attackers.workers import WorkerKilledError

QUEUE, AT_ONCE, HOUR = 32, 8, 3600
# Who measures or reads waits in one queue with all others who do.
MEASURING: dict[str, Any] = {"concurrency_id": "measure", "concurrency_limit": 1}
READING: dict[str, Any] = {"concurrency_id": "read", "concurrency_limit": 2}
# What changes during a reading is read after it: an older reading never ends last.
LAST: dict[str, Any] = {"trigger_mode": "always_last"}
# A part of the page. It has a name, or it would take the name of its function from an endpoint.
UNNAMED: dict[str, Any] = {"api_visibility": "private", "api_name": "part"}
PROGRESS = gr.Progress()  # as a default it tells gradio that it is wanted
FAULTS = (ValueError, RankError, WorkerKilledError)
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


def page(sessions: Sessions, seconds: float | None = None, metrics: tuple[str, ...] = components.METRICS) -> Any:
    """The app as a gradio page, for `captionbias.app.server.serve`.

    Args:
        sessions: what each user has.
        seconds: how long one run may take; None for as long as it needs.
        metrics: that are measured, of `captionbias.metrics`.
    """
    actions.listen()
    with gr.Blocks(title="captionbias", analytics_enabled=False, delete_cache=(HOUR, HOUR)) as app:
        of = components.sections(metrics)
        code = components.program_section(metrics)
        everything = [*components.holding(of, Session(), ["", "", "", ""])]
        _changes_by_people(of, sessions, everything)
        measure = _measure(sessions, seconds)
        measuring = _runs_of_people(of, sessions, measure, everything)
        with gr.Column(visible=False):
            _for_programs(of, sessions, measure)

        def stop(request: gr.Request) -> dict[Any, Any]:
            said = f"<p>{_cancelled(sessions.of(request))}</p>"
            return {**components.result(of, Session(), said), of.measure: gr.update(interactive=True)}

        def left(request: gr.Request) -> None:
            sessions.leave(request)

        def at_this_address(request: gr.Request) -> str:
            served = request.request
            return components.code(str(served.base_url).rstrip("/") if served else components.ADDRESS, metrics)

        def restored(token: str, request: gr.Request) -> dict[Any, Any]:
            """What a page had before it was loaded again."""
            sessions.adopt(request, token)
            session = sessions.of(request)
            words = guess_words(session.data, session.data.columns.attribute_column)
            return components.holding(of, session, [words, "", components.TASK_WORDS[0], ""])

        of.cancel.click(stop, None, everything, cancels=measuring, queue=False, **UNNAMED)
        app.load(at_this_address, None, code, **UNNAMED)
        of.token.submit(restored, of.token, everything, show_progress="hidden", **UNNAMED)
        app.unload(left)
    app.queue(max_size=QUEUE, default_concurrency_limit=AT_ONCE)
    return app


def look() -> dict[str, Any]:
    """For `launch`: style, script, and fonts that every machine has."""
    theme = gr.themes.Default(
        primary_hue="blue", font=["system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"]
    ).set(**COLOURS)
    files = resources.files("captionbias.app")
    script = files.joinpath("page.js").read_text(encoding="utf-8")
    return {
        "theme": theme,
        "css": files.joinpath("page.css").read_text(encoding="utf-8"),
        "head": f"<script>{script}</script>",
    }


def _changes_by_people(of: Any, sessions: Sessions, everything: list[Any]) -> None:
    """What people change about their data; what goes wrong is told where they look."""

    def changed(action: Callable[..., Any], *, keeps: bool = True) -> Any:
        def change(request: gr.Request, *given: Any) -> dict[Any, Any]:
            session = sessions.of(request)
            words, values, fault = list(given[-4:]), given[:-4], ""
            before = session.data
            try:
                _change(sessions, session, action, *values)
            except FAULTS as error:
                fault = str(error)
                if not keeps and session.data:  # what was there before must not be measured in its place
                    sessions.keep(session, NOTHING)
            if session.data is before and not fault and action in (actions.roles, actions.columns):
                # Gradio tells of one choice several times: what was chosen since must not be set back.
                told = components.holding(of, session, words)
                return {part: told[part] for part in (of.read, of.told)}
            labels = session.data.columns.attribute_column
            if labels != before.columns.attribute_column:
                words[0] = guess_words(session.data, labels)
            words[0] = actions.fitted(session.data, words[0])
            return components.holding(of, session, words, fault)

        return change

    def on(event: Any, action: Callable[..., Any], inputs: list[Any], **options: Any) -> None:
        options = {"show_progress": "hidden", **LAST, **UNNAMED, **options}
        event(action, [*inputs, *of.words], everything, **options)

    def reading() -> list[Any]:
        """Nothing that takes the data can begin before they are read."""
        return [gr.update(interactive=False)] * 3

    files = of.files
    begun = gr.on(
        [files.upload, files.delete, files.clear],
        reading,
        None,
        [of.next, of.check, of.measure],
        queue=False,
        **UNNAMED,
    )
    on(
        begun.then,
        changed(actions.read, keeps=False),
        [files],
        show_progress="full",
        show_progress_on=of.read,
        **READING,
    )
    taken = of.example.click(lambda: None, None, files, queue=False, **UNNAMED)
    on(taken.then, changed(actions.read_example), [])
    on(_choosing(*of.roles), changed(actions.roles), of.roles)
    on(_choosing(*of.columns), changed(actions.columns), of.columns)
    on(of.undo.click, changed(sessions.undo), [])
    on(_choosing(of.attribute, of.tasks, *of.custom), changed(_same), [])
    if hasattr(of, "measure_images"):

        def pictures(request: gr.Request, *given: Any) -> dict[Any, Any]:
            session = sessions.of(request)
            try:
                found, told, previews = image_actions.read(*given)
            except ValueError as error:
                found, told, previews = None, str(error), []
            session.pictures = found
            ready = bool(found and session.data)
            return {
                of.images_told: components.paragraphs(told),
                of.previews_group: gr.update(visible=bool(previews)),
                of.previews: previews,
                of.measure_images: gr.update(interactive=ready),
            }

        shown = [of.images_told, of.previews_group, of.previews, of.measure_images]
        gr.on([one.change for one in of.images], pictures, of.images, shown, **LAST, **READING, **UNNAMED)


def _measure(sessions: Sessions, seconds: float | None) -> Callable[..., None]:
    """What measures for a session, and shows each step."""

    def measure(session: Session, progress: gr.Progress, action: Callable[..., results.Run], *given: Any) -> None:
        with sessions.running(session, lambda done, step: progress(done, desc=step), seconds) as watch:
            found = action(watch, session, *given)
        sessions.finish(session, found)

    return measure


def _runs_of_people(of: Any, sessions: Sessions, measure: Callable[..., None], everything: list[Any]) -> list[Any]:
    """What the buttons that measure do: the page goes to the result and shows the progress there."""

    def begin(request: gr.Request) -> dict[Any, Any]:
        session = sessions.of(request)
        session.ask(request.session_hash)
        session.run, session.result = None, ""
        return {
            **components.result(of, session, '<p class="working"></p>'),
            of.cancel: gr.update(visible=True),
            of.again: gr.update(visible=False),
            of.steps: gr.Tabs(selected="result"),
            of.measure: gr.update(interactive=False),
        }

    def runs_by(action: Callable[..., Any]) -> Any:
        def corrected(watch: Any, session: Session, *given: Any) -> results.Run:
            _change(sessions, session, actions.columns, *given[:6])  # should their event be still on its way
            found: results.Run = action(watch, session, *given[6:])
            return found

        def run(request: gr.Request, progress: gr.Progress = PROGRESS, *given: Any) -> dict[Any, Any]:
            session, said = sessions.of(request), '<p class="heard">Done.</p>'
            try:
                measure(session, progress, corrected, *given)
            except CancelledError:
                said = "<p>Cancelled.</p>"
            except FAULTS as error:
                said = components.alert(str(error))
            return {**components.holding(of, session, given[6:10]), **components.result(of, session, said)}

        return run

    def images(watch: Any, session: Session, *settings: Any) -> results.Run:
        return image_actions.measure(watch, session, *settings[:2], *settings[4:])

    measuring = []
    buttons: list[Any] = [([of.measure, of.again], actions.measure, of.settings)]
    if hasattr(of, "measure_images"):
        buttons.append(([of.measure_images], images, of.judging))
    for pressed, action, settings in buttons:
        begun = gr.on(
            [button.click for button in pressed], begin, None, [*everything, of.steps], queue=False, **UNNAMED
        )
        inputs = [*of.columns, *of.words, *settings]
        shown = {"show_progress_on": of.status, **MEASURING, **UNNAMED}
        measuring.append(begun.then(runs_by(action), inputs, everything, **shown))
    return measuring


def _for_programs(of: Any, sessions: Sessions, measure: Callable[..., None]) -> None:
    """The same as endpoints: plain values in, plain text out, errors instead of notes."""
    trigger, answer = gr.Button(), gr.JSON()

    def changed(action: Callable[..., Any]) -> Any:
        def change(request: gr.Request, *given: Any) -> dict[str, Any]:
            session = sessions.of(request)
            with plain_errors():
                _change(sessions, session, action, *given)
                return actions.told(session.data)

        return change

    def finished(request: gr.Request) -> Any:
        session = sessions.of(request)
        with plain_errors():
            if session.run is None:
                raise ValueError(session.gone or "nothing has been measured yet: call /measure first")
        return session.run

    def overview(request: gr.Request) -> dict[str, Any]:
        return results.overview(finished(request))

    def downloads(request: gr.Request) -> list[str]:
        return results.files(finished(request))

    def preview(request: gr.Request, *words: Any) -> dict[str, Any]:
        return actions.look(sessions.of(request).data, *words)

    def measures(action: Callable[..., Any]) -> Any:
        def run(request: gr.Request, progress: gr.Progress = PROGRESS, *settings: Any) -> str:
            session = sessions.of(request)
            session.ask(request.session_hash)
            with plain_errors():
                measure(session, progress, action, *settings)
            return "Done."

        return run

    def images(request: gr.Request, *given: Any) -> tuple[str, Any]:
        session = sessions.of(request)
        with plain_errors():
            session.pictures, told, previews = image_actions.read(*given)
        return told, previews

    def cancel(request: gr.Request) -> str:
        return _cancelled(sessions.of(request))

    def endpoint(name: str, action: Any, inputs: list[Any], output: Any = answer, **options: Any) -> None:
        trigger.click(action, inputs, output, api_name=name, **options)

    said, files = gr.Textbox(), gr.File(file_count="multiple")
    endpoint("read", changed(actions.read), [of.files], **READING)
    endpoint("example", changed(actions.read_example), [])
    endpoint("roles", changed(actions.roles), of.roles)
    endpoint("columns", changed(actions.columns), of.columns)
    endpoint("undo", changed(sessions.undo), [])
    endpoint("preview", preview, of.words)
    endpoint("measure", measures(actions.measure), [*of.words, *of.settings], said, **MEASURING)
    if hasattr(of, "measure_images"):
        endpoint("images", images, of.images, [said, gr.Gallery()], **READING)
        endpoint("measure_images", measures(image_actions.measure), [*of.words[:2], *of.judging], said, **MEASURING)
    endpoint("cancel", cancel, [], said, queue=False)
    endpoint("results", overview, [])
    endpoint("files", downloads, [], files)


def _change(sessions: Sessions, session: Session, action: Callable[..., Data], *values: Any) -> None:
    """Take the data that an action makes; what changes nothing leaves the result."""
    if (data := action(session, *values)) is not session.data:
        sessions.keep(session, data)


def _same(session: Session) -> Data:
    return session.data


def _cancelled(session: Session) -> str:
    return "Cancelled." if session.cancel() else "There is no run to cancel."


def _choosing(*components: Any) -> Any:
    """That a user changed one of these. Of what a backspace removes gradio tells when the field is left."""
    typed = [one for one in components if isinstance(one, gr.Textbox) or one.multiselect]
    events = [one.blur for one in typed] + [one.input for one in components if not isinstance(one, gr.Textbox)]
    return lambda action, inputs, outputs, **options: gr.on(events, action, inputs, outputs, **options)


@contextmanager
def plain_errors() -> Iterator[None]:
    """What is wrong, in words for programs."""
    try:
        yield
    except CancelledError:
        raise gr.Error("The run was cancelled.", print_exception=False) from None
    except FAULTS as error:
        raise gr.Error(str(error), print_exception=False) from None
