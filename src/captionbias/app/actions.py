"""What each event of the page does: values of components in, values of components out."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from tempfile import TemporaryDirectory
from typing import Any

import gradio as gr

from captionbias.analysis.audit import audit
from captionbias.app import reproduce, results
from captionbias.app.custom_lexicon import custom_lexicon
from captionbias.app.example import example
from captionbias.app.preview import preview
from captionbias.app.results import Run
from captionbias.app.runs import CancelledError, Runs, heard
from captionbias.app.upload_state import (
    MAX_LABELS,
    Columns,
    Data,
    captioners_of,
    captions_of,
    count_labels,
    kept_at_first,
    left_out,
    read_uploads,
)
from captionbias.attackers.ranks import RankError
from captionbias.attackers.workers import WorkerKilledError
from captionbias.captions import guess_columns
from captionbias.captions.captioners import captioner_columns
from captionbias.report import plots, views
from captionbias.report.views import Grid
from captionbias.text import Lexicon, load_lexicon
from captionbias.text.markdown import escaped

NOTHING = Data({})
NO_COLUMN = ""
NONE = ("(none)", NO_COLUMN)
CUSTOM = "custom words"


@contextmanager
def plain_errors() -> Iterator[None]:
    """Errors of the input as the page shows them; the text is never read as HTML."""
    try:
        yield
    except CancelledError:
        raise gr.Error("The run was cancelled.", title="Cancelled", print_exception=False) from None
    except (ValueError, RankError, WorkerKilledError) as error:
        raise gr.Error(
            html.escape(str(error), quote=False), duration=None, title="Cannot be measured", print_exception=False
        ) from None


@contextmanager
def running(runs: Runs, request: gr.Request, progress: gr.Progress) -> Iterator[Callable[[str, float], None]]:
    """A run of this session, as the function to call at every step, which shows it."""
    with (
        plain_errors(),
        runs.begun(str(request.session_hash), lambda done, step: progress(done, desc=step)) as watch,
    ):
        yield watch


def read(
    predictions: list[str] | None, references: str | None, attributes: str | None, tasks: str | None
) -> tuple[Any, ...]:
    """The files as tables, a guess of their columns, and the possible choices."""
    with plain_errors():
        return guessed(read_uploads(predictions or [], references, attributes, tasks))


def read_example() -> tuple[Any, ...]:
    """Two captioners of known bias, as if their files had been uploaded."""
    return guessed(example())


def read_nothing() -> tuple[Any, ...]:
    """After a refused upload: the previous data must not be measured."""
    return guessed(NOTHING)


def guessed(data: Data) -> tuple[Any, ...]:
    """Data with the columns they seem to have."""
    if not data:
        return NOTHING, "", gr.update(visible=False), *[gr.skip()] * 6
    found = guess_columns(**data.first())
    guess = {role: column or NO_COLUMN for role, (column, _) in found.items()}
    counts = count_labels(data, guess["attribute_column"])
    predictions = tuple(filter(None, [guess.pop("prediction_column")]))
    columns = Columns(**guess, prediction_column=predictions, keep=tuple(kept_at_first(counts)))
    dropdowns = []
    for role, (column, choices) in found.items():
        optional = [NONE] if role in ("reference_column", "task_column") else []
        value = list(predictions) if role == "prediction_column" else column or (NO_COLUMN if optional else None)
        dropdowns.append(gr.update(choices=[*optional, *choices], value=value))
    return replace(data, columns=columns), "", gr.update(visible=True), *dropdowns, _kept(counts, columns.keep)


def columns(
    data: Data,
    image_id: str | None,
    predictions: list[str],
    references: str | None,
    attributes: str | None,
    tasks: str | None,
    keep: list[str],
) -> tuple[Any, ...]:
    """The columns as the user corrects them; other labels when the label column changes."""
    counts = count_labels(data, attributes or NO_COLUMN)
    kept = [label for label in keep if label in counts] or kept_at_first(counts)
    image_id, references, attributes, tasks = (name or NO_COLUMN for name in (image_id, references, attributes, tasks))
    chosen = Columns(image_id, tuple(predictions), references, attributes, tasks, tuple(kept))
    return replace(data, columns=chosen), _kept(counts, kept)


def _kept(counts: dict[str, int], kept: Sequence[str]) -> Any:
    listed = counts if len(counts) <= MAX_LABELS else {}
    return gr.update(choices=[(f"{label} ({count:,})", label) for label, count in listed.items()], value=list(kept))


def look(data: Data, attribute: str, custom_attribute: str, task_words: str, custom_tasks: str) -> tuple[Any, ...]:
    """The number of images, and the first of them with the words marked that will be masked."""
    hidden = gr.update(visible=False)
    if not data:
        return "", hidden, [], []
    try:
        lexicons = _lexicons(attribute, custom_attribute, task_words, custom_tasks)
        with heard() as notes:
            (captions,) = captions_of(data, first_only=True).values()
    except ValueError as error:
        return f"**Not ready yet:** {escaped(str(error))}", hidden, [], []
    names = ", ".join(map(escaped, captioner_columns(list(data.predictions), data.columns.prediction_column)))
    lines = [f"**{len(captions):,} images**, captioners: {names}."]
    if captions.references is None:
        lines.append("Without human captions only the bias of the captioner is measured, not whether it is amplified.")
    lines += [f"Note: {escaped(note)}." for note in _with_left_out(notes, data)]
    marked = [preview(captions, load_lexicon(lexicon)) for lexicon in lexicons.values()]
    return "\n\n".join(lines), gr.update(visible=True), *marked


def _with_left_out(notes: Sequence[str], data: Data) -> list[str]:
    counts = count_labels(data, data.columns.attribute_column)
    return list(filter(None, [*notes, left_out(counts, data.columns.keep)]))


def _lexicons(attribute: str, custom_attribute: str, task_words: str, custom_tasks: str) -> dict[str, str | Lexicon]:
    """The chosen words by setting; custom ones are called like their file, so that the signature names it."""
    return {
        "attribute_lexicon": custom_lexicon(custom_attribute, "attribute-words") if attribute == CUSTOM else attribute,
        "task_lexicon": custom_lexicon(custom_tasks, "task-words") if task_words == CUSTOM else task_words,
    }


def measure(
    data: Data,
    attribute: str,
    custom_attribute: str,
    task_words: str,
    custom_tasks: str,
    metrics: list[str],
    preset: str,
    trials: int,
    seed: int | None,
    watch: Callable[[str, float], None],
) -> Run:
    """Measure the data by the settings that are chosen."""
    if not metrics:
        raise ValueError("choose at least one metric")
    if seed is None:
        raise ValueError("seed is empty: give a whole number, such as 0")
    lexicons = _lexicons(attribute, custom_attribute, task_words, custom_tasks)
    watch("reading", 0.0)
    with heard() as notes:
        found = audit(
            captioners_of(data),
            metrics=metrics,
            preset=preset,
            trials=int(trials),
            seed=int(seed),
            attribute_lexicon=lexicons["attribute_lexicon"],
            task_lexicon=lexicons["task_lexicon"],
            watch=watch,
        )
    of_metrics = {note for name in found.captioners for note in found.notes(name)}
    custom = {name: lexicon for name, lexicon in lexicons.items() if isinstance(lexicon, Lexicon)}
    files = {name: f"{lexicon.name}.json" for name, lexicon in custom.items()}
    return Run(
        found,
        tuple(note for note in _with_left_out(notes, data) if not any(other.endswith(note) for other in of_metrics)),
        reproduce.command(data, found.settings, files),
        reproduce.python(data, found.settings, files),
        tuple(custom.values()),
        TemporaryDirectory(prefix="captionbias-app-"),
    )


def show(run: Run) -> tuple[Any, ...]:
    """Everything that does not depend on one captioner; then the choices for what does."""
    found = run.audit
    several, scored = len(found.captioners) > 1, bool(found.quality)
    notes = results.notes(run)
    return (
        gr.update(visible=True),
        results.summary(run),
        gr.update(visible=bool(notes)),
        notes,
        plots.scores_plot(found),
        _frame(views.scores(found)),
        gr.update(visible=several),
        plots.differences_plot(found) if several else None,
        _frame(views.differences(found)),
        gr.update(visible="dbac" in found.comparisons),
        gr.update(choices=list(found.captioners), value=found.captioners[0]),
        gr.update(choices=list(found.words), value=next(iter(found.words), None)),
        gr.update(visible=scored),
        plots.tradeoff_plot(found) if scored else None,
        _frame(views.quality(found)),
        _frame(views.certainty(found)),
        _frame(views.leaks(found)),
        run.command or "# the data are not files of different names: see the Python below",
        run.python,
    )


def sources(run: Run | None, captioner: str | None, direction: str) -> tuple[Any, ...]:
    """What one direction of a captioner's DBAC is made of, and what alignment replaced."""
    if run is None or "dbac" not in run.audit.comparisons:
        return None, gr.skip(), gr.skip()
    with plain_errors():
        name = _known(run, captioner)
        rows = run.audit.details("dbac", name)["sources"].get(direction, [])
        return (
            plots.sources_plot(rows) if rows else None,
            _frame(views.sources(run.audit, name, direction)),
            _frame(views.alignment(run.audit, name, direction)),
        )


def words(run: Run | None, captioner: str | None) -> tuple[Any, ...]:
    """The words of a captioner that give the attribute away, and captions with each word's part."""
    if run is None or not run.audit.words:
        return [], gr.skip()
    with plain_errors():
        name = _known(run, captioner)
        if name not in run.audit.words:
            raise ValueError(f"the words of {name} could not be explained; the notes say why")
        return results.coloured(run.audit, name), _frame(views.words(run.audit, name))


def _known(run: Run, captioner: str | None) -> str:
    if captioner not in run.audit.captioners:
        raise ValueError(f"captioner {captioner!r} was not measured: choose one of {', '.join(run.audit.captioners)}")
    return captioner


def _frame(grid: Grid) -> Any:
    types = ["number" if column.form else "str" for column in grid.columns]  # text is never read as HTML or Markdown
    return gr.update(value=results.frame(grid), datatype=types, visible=bool(grid.rows))


def files(run: Run | None) -> list[str]:
    """Everything to download."""
    with plain_errors():
        if run is None:
            raise ValueError("nothing has been measured yet")
        return results.files(run)


def overview(run: Run | None) -> dict[str, Any]:
    """For programs: verdicts, notes and all scores."""
    with plain_errors():
        if run is None:
            raise ValueError("nothing has been measured yet: call /measure first")
        found = run.audit
        return {
            "captioners": list(found.captioners),
            "images": found.images,
            "summary": results.summary(run),
            "notes": results.notes(run),
            "scores": results.frame(views.scores(found)),
            "differences": results.frame(views.differences(found)),
            "signatures": found.signatures,
        }
