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
from captionbias.app.components import OWN
from captionbias.app.custom_lexicon import own_words
from captionbias.app.heard_warnings import heard
from captionbias.app.preview import PreviewRow, preview
from captionbias.app.results import Run
from captionbias.app.runs import CancelledError
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
PREVIEWED = 4  # images
UNCHOSEN = Columns()
# The user's words do not go into the settings: the files that hold them, and their names in commands.
OWN_FILES = {"attribute": reproduce.WORDS, "task": reproduce.TASK_WORDS}


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


def read(
    predictions: list[str] | None, references: str | None, attributes: str | None, tasks: str | None
) -> tuple[Any, ...]:
    """The files as tables, a guess of their columns, and the possible choices."""
    with plain_errors():
        return guessed(read_uploads(predictions or [], references, attributes, tasks))


def guessed(data: Data) -> tuple[Any, ...]:
    """Data with the columns they seem to have."""
    if not data:
        return NOTHING, UNCHOSEN, "", gr.update(visible=False), *[gr.skip()] * 6
    found = guess_columns(**data.first())
    guess = {role: column or NO_COLUMN for role, (column, _) in found.items()}
    counts = count_labels(data, guess["attribute_column"])
    predictions = tuple(filter(None, [guess.pop("prediction_column")]))
    chosen = Columns(**guess, prediction_column=predictions, keep=tuple(kept_at_first(counts)))
    dropdowns = []
    for role, (column, choices) in found.items():
        optional = [NONE] if role in ("reference_column", "task_column") else []
        value = list(predictions) if role == "prediction_column" else column or (NO_COLUMN if optional else None)
        dropdowns.append(gr.update(choices=[*optional, *choices], value=value))
    return data, chosen, "", gr.update(visible=True), *dropdowns, _kept(counts, chosen.keep)


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
    chosen = Columns(
        image_id or NO_COLUMN,
        tuple(predictions),
        references or NO_COLUMN,
        attributes or NO_COLUMN,
        tasks or NO_COLUMN,
        tuple(kept),
    )
    return chosen, _kept(counts, kept)


def _kept(counts: dict[str, int], kept: Sequence[str]) -> Any:
    listed = counts if len(counts) <= MAX_LABELS else {}
    return gr.update(choices=[(f"{label} ({count:,})", label) for label, count in listed.items()], value=list(kept))


def look(
    data: Data, chosen: Columns, attribute: str, own_attribute: str, task_words: str, own_task: str
) -> tuple[Any, ...]:
    """The number of images, and the first of them with the words marked that will be masked."""
    if not data:
        return "", gr.update(visible=False), [], []
    hidden = gr.update(visible=False)
    try:
        lexicons = _lexicon(attribute, own_attribute), _lexicon(task_words, own_task)
        with heard() as notes:
            (captions,) = captions_of(data, chosen, first_only=True).values()
        spans = [_spans(preview(captions, lexicon, rows=PREVIEWED)) for lexicon in lexicons]
    except ValueError as error:
        return f"**Not ready yet:** {escaped(str(error))}", hidden, [], []
    names = ", ".join(map(escaped, captioner_columns(list(data.predictions), chosen.prediction_column)))
    lines = [f"**{len(captions):,} images**, captioners: {names}."]
    if captions.references is None:
        lines.append("Without human captions only the bias of the captioner is measured, not whether it is amplified.")
    lines += [
        f"Note: {escaped(note)}."
        for note in (*notes, left_out(count_labels(data, chosen.attribute_column), chosen.keep))
        if note
    ]
    return "\n\n".join(lines), gr.update(visible=True), *spans


def _spans(rows: Sequence[PreviewRow]) -> list[tuple[str, str | None]]:
    spans: list[tuple[str, str | None]] = []
    for row in rows:
        spans.append((f"{row.image} ({row.attribute})\n", None))
        if row.model is not None:
            spans += [("captioner: ", None), *row.model, ("\n", None)]
        for caption in row.human[:1]:
            spans += [("human: ", None), *caption, ("\n", None)]
        spans.append(("\n", None))
    return spans


def _lexicon(name: str, own: str) -> Lexicon:
    if name != OWN:
        return load_lexicon(name)
    words = own_words(own or "")
    if words is None:
        raise ValueError("write your own words first: a line for each value, such as 'female: woman, lady, girl'")
    return words


def measure(
    data: Data,
    chosen: Columns,
    attribute: str,
    own_attribute: str,
    task_words: str,
    own_task: str,
    metrics: list[str],
    preset: str,
    trials: int,
    seed: int | None,
    watch: Callable[[str, float], None],
) -> Run:
    """Measure the data by the columns and settings that are chosen."""
    if not metrics:
        raise ValueError("choose at least one metric")
    if seed is None:
        raise ValueError("seed is empty: give a whole number, such as 0")
    lexicons = {"attribute": _lexicon(attribute, own_attribute), "task": _lexicon(task_words, own_task)}
    typed = {"attribute": own_attribute if attribute == OWN else "", "task": own_task if task_words == OWN else ""}
    for kind in filter(typed.get, typed):  # called as their files are, for a run on these to have the same signature
        lexicons[kind] = replace(lexicons[kind], name=OWN_FILES[kind].removesuffix(".json"))
    watch("reading", 0.0)
    with heard() as notes:
        found = audit(
            captioners_of(data, chosen),
            metrics=metrics,
            preset=preset,
            trials=int(trials),
            seed=int(seed),
            attribute_lexicon=lexicons["attribute"] if typed["attribute"] else attribute,
            task_lexicon=lexicons["task"] if typed["task"] else task_words,
            watch=watch,
        )
    of_metrics = {note for name in found.captioners for note in found.notes(name)}
    own = {OWN_FILES[kind]: _words(lexicons[kind]) for kind, text in typed.items() if text}
    files = {kind: OWN_FILES[kind] for kind, text in typed.items() if text}
    return Run(
        found,
        tuple(
            note
            for note in (*notes, left_out(count_labels(data, chosen.attribute_column), chosen.keep))
            if note and not any(other.endswith(note) for other in of_metrics)
        ),
        reproduce.command(data, chosen, found.settings, files),
        reproduce.python(data, chosen, found.settings, files),
        own,
        TemporaryDirectory(prefix="captionbias-app-"),
    )


def _words(lexicon: Lexicon) -> dict[str, Any]:
    return {"groups": {value: list(words) for value, words in lexicon.groups.items()}, "mask": lexicon.mask}


def show(run: Run) -> tuple[Any, ...]:
    """Everything that does not depend on one captioner; then the choices for what does."""
    found = run.audit
    several, scored = len(found.captioners) > 1, bool(found.quality)
    notes = results.notes(run)
    captioners = gr.update(choices=list(found.captioners), value=found.captioners[0])
    explained = gr.update(choices=list(found.words), value=next(iter(found.words), None))
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
        gr.update(visible=scored),
        plots.tradeoff_plot(found) if scored else None,
        _frame(views.quality(found)),
        _frame(views.certainty(found)),
        _frame(views.leaks(found)),
        gr.update(visible="dbac" in found.comparisons),
        captioners,
        explained,
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


def _known(run: Run, captioner: str | None) -> str:
    if captioner not in run.audit.captioners:
        raise ValueError(f"captioner {captioner!r} was not measured: choose one of {', '.join(run.audit.captioners)}")
    return captioner


def _frame(grid: Grid) -> Any:
    return gr.update(value=results.frame(grid), datatype=results.datatypes(grid), visible=bool(grid.rows))
