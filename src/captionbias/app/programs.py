"""The endpoints for programs: they do what the page does, plain values in, plain text out, errors instead of notes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import gradio as gr

from captionbias.app import changes, measuring, results
from captionbias.app.check_step import Check
from captionbias.app.data import Data
from captionbias.app.example import example
from captionbias.app.files_step import Files
from captionbias.app.measuring import Judging, Settings, Words
from captionbias.app.result_step import waiting
from captionbias.app.results import Result
from captionbias.app.runs import FAULTS, GONE, NOTHING, Run, Runs, State, read_files

TOLD = 0.2  # seconds between two looks at a run
# For gradio's page of the endpoints, of which each client has runs of its own.
READ = "Takes files (a list), finds out which is what, and guesses their columns."
ROLES = "Corrects what the files are, by their names: captioners (a list), people, labels, tasks."
COLUMNS = (
    "Corrects the columns of ids, captions (a list), people's captions, labels, tasks and weights, keeps only images "
    "with these labels, and corrects the language."
)
IMAGES = "Takes images or archives of them (a list), annotations, and whether the persons are masked already."
RESULTS = "Verdicts, scores, notes and signatures."


def endpoints(runs: Runs, new: Settings, files: Files, check: Check) -> None:
    """Add the endpoints; they take what the page's fields hold, in their order."""
    trigger, answer, text, several = gr.Button(), gr.JSON(), gr.Textbox(), gr.File(file_count="multiple")
    mine = gr.State("")  # the id of the client's run
    roles, columns, words, settings, judging = (
        list(fields.values()) for fields in (files.roles, check.columns, check.words, check.settings, check.judging)
    )

    def found(name: str, request: gr.Request) -> Run:
        if run := runs.find(name):
            return run
        if name:
            raise ValueError(GONE)
        return runs.keep(Run(request.session_hash or "", settings=new))

    def endpoint(name: str, act: Callable[..., Any], inputs: list[Any], outputs: list[Any], what: str) -> None:
        """`act` gives a run and the answers."""

        def called(name: str, request: gr.Request, *given: Any) -> Any:
            with plain_errors():
                run, *answers = act(found(name, request), *given)
            return run.id, *answers

        trigger.click(called, [mine, *inputs], [mine, *outputs], api_name=name, api_description=what)

    def was_read(run: Run, read: Callable[[], dict[str, Any]], **parts: Any) -> Run:
        draft = runs.read(run, run.owner, read, **parts)
        if draft.reading:
            draft.reading.result()
        if draft.told:
            raise ValueError(draft.told)
        return draft

    def read(run: Run, reading: Callable[[], dict[str, Any]]) -> Any:
        draft = was_read(run, reading, data=NOTHING, files={}, uploads=())
        return draft, changes.what_was_read(draft.data)

    def pictured(run: Run, *given: Any) -> Any:
        draft = was_read(run, partial(measuring.read_pictures, *given))
        return draft, draft.pictures_told, list(draft.pictures.previews) if draft.pictures else []

    def changed(change: Callable[..., Data]) -> Any:
        def act(run: Run, *given: Any) -> Any:
            made = runs.change(run, run.owner, data=change(run.data, *given))
            return made, changes.what_was_read(made.data)

        return act

    def measures(name: str, parts_of: Callable[..., dict[str, Any]], inputs: list[Any], what: str) -> None:
        async def run(name: str, request: gr.Request, *given: Any) -> AsyncIterator[Any]:
            with plain_errors():
                parts = parts_of(*given)
                run = found(name, request)
                run = runs.ask(runs.change(run, run.owner, **parts), run.owner, with_images="judging" in parts)
                while run.working:
                    runs.look(run)
                    yield run.id, waiting(runs.before(run)) if run.state == State.WAITING else run.left()
                    await asyncio.sleep(TOLD)
                result_of(run)
            yield run.id, "Done."

        trigger.click(run, [mine, *inputs], [mine, text], api_name=name, api_description=what, concurrency_limit=None)

    def settled(*given: Any) -> dict[str, Any]:
        metrics, *others = given[4:]
        return {"words": Words(*given[:4]), "settings": Settings(tuple(metrics), *others)}

    def judged(attribute: str, custom_attribute: str, *given: Any) -> dict[str, Any]:
        return {"words": Words(attribute, custom_attribute), "judging": Judging(*given)}

    def written(run: Run) -> Any:
        return run, list(map(str, result_of(run).files.values()))

    endpoint("read", lambda run, paths: read(run, partial(read_files, paths or [])), [files.uploads], [answer], READ)
    endpoint("example", lambda run: read(run, lambda: {"data": example()}), [], [answer], "Takes the example data.")
    endpoint("roles", changed(changes.roles), roles, [answer], ROLES)
    endpoint("columns", changed(changes.columns), columns, [answer], COLUMNS)
    endpoint(
        "preview",
        lambda run, *given: (run, measuring.look(run.data, Words(*given))),
        words,
        [answer],
        "What will be measured and masked.",
    )
    measures("measure", settled, [*words, *settings], "Measures; then there are results and files.")
    if check.images:
        endpoint("images", pictured, check.images, [text, gr.Gallery()], IMAGES)
        measures("measure_images", judged, [*words[:2], *judging], "Measures ImageCaptioner2 of these images.")
    told = {True: "Cancelled.", False: "There is no run to cancel."}
    endpoint("cancel", lambda run: (run, told[runs.cancel(run)]), [], [text], "Cancels the run of this client.")
    endpoint("results", lambda run: (run, results.overview(result_of(run))), [], [answer], RESULTS)
    endpoint("files", written, [], [several], "The report, the data, the tables.")


def result_of(run: Run) -> Result:
    """The whole result of a run."""
    if run.result is None or not run.result.whole:
        raise ValueError(run.told or "nothing has been measured yet: call /measure first")
    return run.result


@contextmanager
def plain_errors() -> Iterator[None]:
    """Tell programs in words what is wrong."""
    try:
        yield
    except FAULTS as error:
        raise gr.Error(str(error), print_exception=False) from None
