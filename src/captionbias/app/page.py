"""The page: what its events do, for people and for programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import resources
from typing import Any

import gradio as gr

from captionbias.app import actions, components, results
from captionbias.app.data import Data, guess_words
from captionbias.app.example import example
from captionbias.app.sessions import NOTHING, CancelledError, Session, Sessions
from captionbias.attackers.ranks import RankError
from captionbias.attackers.workers import WorkerKilledError
from captionbias.errors import message_of

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
# Of gradio's page of the endpoints, of which each client has data and results of its own.
READ = "Takes files (a list), finds out which is what, and guesses their columns."
ROLES = "Corrects what the files are, by their names: captioners (a list), people, labels, tasks."
COLUMNS = (
    "Corrects the columns of ids, captions (a list), people's captions, labels, tasks and weights, and keeps only "
    "images with these labels."
)
IMAGES = "Takes images or archives of them (a list), annotations, and whether the persons are masked already."
RESULTS = "Verdicts, scores, notes and signatures."
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
    """The app as a gradio page, for `captionbias.app.server.serve`; no run takes more seconds."""
    actions.listen()
    with gr.Blocks(title="captionbias", analytics_enabled=False, delete_cache=(HOUR, HOUR)) as app:
        parts = components.sections(metrics)
        everything = [*components.contents(parts, Session(), ["", "", "", ""])]
        _changes_by_people(parts, sessions, everything)
        runs = _runs_of_people(parts, sessions, seconds, everything)
        with gr.Column(visible=False):
            _for_programs(parts, sessions, seconds)

        def stop(request: gr.Request) -> dict[Any, Any]:
            session = sessions.of(request)
            answer = components.result(parts, session, f"<p>{_cancelled(session)}</p>")
            return {**answer, parts.measure: gr.update(interactive=True)}

        def left(request: gr.Request) -> None:
            sessions.leave(request)

        def restored(token: str, request: gr.Request) -> dict[Any, Any]:
            """What a page had before it was loaded again."""
            sessions.adopt(request, token)
            session = sessions.of(request)
            words = [guess_words(session.data), "", parts.tasks.value, ""]
            return components.contents(parts, session, words)

        parts.cancel.click(stop, None, everything, cancels=runs, queue=False, **UNNAMED)
        parts.token.submit(restored, parts.token, everything, show_progress="hidden", **UNNAMED)
        app.unload(left)
    app.queue(max_size=QUEUE, default_concurrency_limit=AT_ONCE)
    return app


def look() -> dict[str, Any]:
    """The look of the page, for `launch`: style, script, and fonts that every machine has."""
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


# What people do


def _changes_by_people(parts: Any, sessions: Sessions, everything: list[Any]) -> None:
    """What people change about their data."""

    def on(event: Any, action: Callable[..., Any], inputs: list[Any], **options: Any) -> None:
        options = {"show_progress": "hidden", **LAST, **UNNAMED, **options}
        event(_changed(parts, sessions, action), [*inputs, *parts.words], everything, **options)

    def wait() -> list[Any]:
        """Let nothing begin that takes the data before they are read."""
        return [gr.update(interactive=False)] * 3

    files = parts.files
    given = [files.upload, files.delete, files.clear]
    begun = gr.on(given, wait, None, [parts.next, parts.check, parts.measure], queue=False, **UNNAMED)
    on(begun.then, actions.read, [files], show_progress="full", show_progress_on=parts.read, **READING)
    taken = parts.example.click(lambda: None, None, files, queue=False, **UNNAMED)
    on(taken.then, lambda session: example(), [])
    on(_choosing(*parts.roles), actions.roles, parts.roles)
    on(_choosing(*parts.columns), actions.columns, parts.columns)
    on(parts.undo.click, sessions.undo, [])
    on(_choosing(parts.attribute, parts.tasks, *parts.custom), lambda session: session.data, [])
    if parts.images:
        outputs = [parts.images_told, parts.previews_group, parts.previews, parts.measure_images]
        changes = [field.change for field in parts.images]
        gr.on(changes, _pictures_of_people(parts, sessions), parts.images, outputs, **LAST, **READING, **UNNAMED)


def _changed(parts: Any, sessions: Sessions, action: Callable[..., Data]) -> Callable[..., dict[Any, Any]]:
    """The event that changes a session's data; what goes wrong is told where people look."""

    def change(request: gr.Request, *given: Any) -> dict[Any, Any]:
        session = sessions.of(request)
        with session.changing:
            return changed(session, list(given[-4:]), given[:-4])

    def changed(session: Session, words: list[Any], values: tuple[Any, ...]) -> dict[Any, Any]:
        before, fault = session.data, ""
        try:
            _change(sessions, session, action, *values)
        except FAULTS as error:
            fault = message_of(error)
            if action is actions.read and session.data:  # what was there before must not be measured in its place
                sessions.keep(session, NOTHING)
        if session.data.columns.attribute_column != before.columns.attribute_column:
            words[0] = guess_words(session.data)
        # Gradio tells of one choice several times: what was chosen since must not be set back.
        again = session.data is before and not fault and action in (actions.roles, actions.columns)
        if again and session.look:
            words = list(session.look[0][1:])
        contents = components.contents(parts, session, words, fault)
        return {part: contents[part] for part in (parts.read, parts.summary)} if again else contents

    return change


def _pictures_of_people(parts: Any, sessions: Sessions) -> Callable[..., dict[Any, Any]]:
    def read(request: gr.Request, *given: Any) -> dict[Any, Any]:
        session = sessions.of(request)
        try:
            session.pictures, text, previews = actions.read_pictures(*given)
        except ValueError as error:
            session.pictures, text, previews = None, str(error), []
        return {
            parts.images_told: components.paragraphs(text),
            parts.previews_group: gr.update(visible=bool(previews)),
            parts.previews: previews,
            parts.measure_images: gr.update(interactive=bool(session.pictures and session.data)),
        }

    return read


def _runs_of_people(parts: Any, sessions: Sessions, seconds: float | None, everything: list[Any]) -> list[Any]:
    """What the buttons that measure do: the page goes to the result and shows the progress there."""

    def begin(request: gr.Request) -> dict[Any, Any]:
        session = sessions.of(request)
        session.ask(request.session_hash)
        session.run, session.result = None, ""
        return {
            **components.result(parts, session),
            parts.steps: gr.Tabs(selected="result"),
            parts.measure: gr.update(interactive=False),
        }

    def images(watch: Any, session: Session, *settings: Any) -> Iterator[results.Run]:
        return actions.measure_pictures(watch, session, *settings[:2], *settings[4:])

    buttons: list[Any] = [([parts.measure.click, parts.again.click], actions.measure, parts.settings)]
    if parts.images:
        buttons.append(([parts.measure_images.click], images, parts.judging))
    runs = []
    for clicks, action, settings in buttons:
        begun = gr.on(clicks, begin, None, [*everything, parts.steps], queue=False, **UNNAMED)
        inputs = [*parts.columns, *parts.words, *settings]
        options = {"show_progress_on": parts.status, **MEASURING, **UNNAMED}
        runs.append(begun.then(_running(parts, sessions, seconds, action), inputs, everything, **options))
    return runs


def _running(
    parts: Any, sessions: Sessions, seconds: float | None, action: Callable[..., Iterator[results.Run]]
) -> Any:
    """The event that measures, and shows each result as soon as it is there."""

    def run(request: gr.Request, progress: gr.Progress = PROGRESS, *given: Any) -> Iterator[dict[Any, Any]]:
        session, end = sessions.of(request), '<p class="heard">Done.</p>'
        columns, settings = given[: len(parts.columns)], given[len(parts.columns) :]
        words = settings[:4]
        try:
            with sessions.running(session, progress, seconds) as watch:
                _change(sessions, session, actions.columns, *columns)  # should their event be still on its way
                for measured in action(watch, session, *settings):
                    sessions.finish(session, measured)
                    yield components.result(parts, session)
        except CancelledError:
            end = "<p>Cancelled.</p>"
        except FAULTS as error:
            end = components.alert(error)
        yield components.contents(parts, session, words, progress=end)

    return run


# What programs do


def _for_programs(parts: Any, sessions: Sessions, seconds: float | None) -> None:
    """Endpoints that do the same: plain values in, plain text out, errors instead of notes."""
    trigger, answer, text, files = gr.Button(), gr.JSON(), gr.Textbox(), gr.File(file_count="multiple")

    def changes(action: Callable[..., Data]) -> Any:
        def change(session: Session, *given: Any) -> dict[str, Any]:
            _change(sessions, session, action, *given)
            return actions.what_was_read(session.data)

        return change

    def images(session: Session, *given: Any) -> tuple[str, Any]:
        session.pictures, message, previews = actions.read_pictures(*given)
        return message, previews

    def endpoint(name: str, action: Any, inputs: list[Any], output: Any, what: str, **options: Any) -> None:
        def called(request: gr.Request, *given: Any) -> Any:
            with plain_errors():
                return action(sessions.of(request), *given)

        trigger.click(called, inputs, output, api_name=name, api_description=what, **options)

    def measures(name: str, action: Any, inputs: list[Any], what: str) -> None:
        def run(request: gr.Request, progress: gr.Progress = PROGRESS, *given: Any) -> str:
            session = sessions.of(request)
            session.ask(request.session_hash)
            with plain_errors(), sessions.running(session, progress, seconds) as watch:
                *_, measured = action(watch, session, *given)
                sessions.finish(session, measured)
            return "Done."

        trigger.click(run, inputs, text, api_name=name, api_description=what, **MEASURING)

    endpoint("read", changes(actions.read), [parts.files], answer, READ, **READING)
    endpoint("example", changes(lambda session: example()), [], answer, "Takes the example data.")
    endpoint("roles", changes(actions.roles), parts.roles, answer, ROLES)
    endpoint("columns", changes(actions.columns), parts.columns, answer, COLUMNS)
    endpoint("undo", changes(sessions.undo), [], answer, "Takes back the last of these changes.")
    endpoint(
        "preview",
        lambda session, *words: actions.look(session.data, *words),
        parts.words,
        answer,
        "What will be measured and masked.",
    )
    measures("measure", actions.measure, [*parts.words, *parts.settings], "Measures; then there are results and files.")
    if parts.images:
        endpoint("images", images, parts.images, [text, gr.Gallery()], IMAGES, **READING)
        judged = [*parts.words[:2], *parts.judging]
        measures("measure_images", actions.measure_pictures, judged, "Measures ImageCaptioner2 of these images.")
    endpoint("cancel", _cancelled, [], text, "Cancels the run of this client.", queue=False)
    endpoint("results", lambda session: results.overview(_finished(session)), [], answer, RESULTS)
    endpoint("files", lambda session: results.files(_finished(session)), [], files, "The report, the data, the tables.")


def _finished(session: Session) -> results.Run:
    if session.run is None:
        raise ValueError(session.gone or "nothing has been measured yet: call /measure first")
    return session.run


def _change(sessions: Sessions, session: Session, action: Callable[..., Data], *values: Any) -> None:
    """Take the data that an action makes; what changes nothing leaves the result."""
    if (data := action(session, *values)) is not session.data:
        sessions.keep(session, data)


def _cancelled(session: Session) -> str:
    return "Cancelled." if session.cancel() else "There is no run to cancel."


def _choosing(*fields: Any) -> Any:
    """The event of a user changing any of these fields; gradio tells of a backspace when the field is left."""
    typed = [field for field in fields if isinstance(field, gr.Textbox) or field.multiselect]
    events = [field.blur for field in typed] + [field.input for field in fields if not isinstance(field, gr.Textbox)]
    return lambda action, inputs, outputs, **options: gr.on(events, action, inputs, outputs, **options)


@contextmanager
def plain_errors() -> Iterator[None]:
    """Tell programs in words what is wrong."""
    try:
        yield
    except CancelledError:
        raise gr.Error("The run was cancelled.", print_exception=False) from None
    except FAULTS as error:
        raise gr.Error(str(error), print_exception=False) from None
