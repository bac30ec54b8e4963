"""What each event of the page does: values of components in, values of components out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from math import prod
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
from captionbias.app.sessions import NOTHING, Session, address_of
from captionbias.app.upload_state import (
    MAX_LABELS,
    Columns,
    Data,
    captioners_of,
    captions_of,
    count_labels,
    guess_words,
    kept_at_first,
    left_out,
    read_uploads,
)
from captionbias.attackers.ranks import RankError
from captionbias.attackers.splits import SMALLEST_CLASS
from captionbias.attackers.workers import WorkerKilledError
from captionbias.captions import Captions, count_cells, guess_columns, uncross
from captionbias.captions.captioners import captioner_columns
from captionbias.metrics.inputs import other_labels
from captionbias.report import plots, views
from captionbias.report.views import Grid
from captionbias.text import Lexicon, load_lexicon
from captionbias.text.markdown import escaped

NO_COLUMN = ""
NONE = ("(none)", NO_COLUMN)
CUSTOM = "custom words"
SHOWN_LABELS = 5
SEVERAL = ("prediction_column", "attribute_column")  # roles that several columns can have


@contextmanager
def plain_errors() -> Iterator[None]:
    """Errors of the input as the page shows them; `captionbias.app.server.escape_errors` makes them text."""
    try:
        yield
    except CancelledError:
        raise gr.Error("The run was cancelled.", title="Cancelled", print_exception=False) from None
    except (ValueError, RankError, WorkerKilledError) as error:
        raise gr.Error(str(error), duration=None, title="Cannot be measured", print_exception=False) from None


@contextmanager
def running(runs: Runs, session: Session, progress: gr.Progress) -> Iterator[Callable[[str, float], None]]:
    """A run of this session, as the function to call at every step, which shows it."""
    with (
        plain_errors(),
        runs.begun(session, lambda done, step: progress(done, desc=step)) as watch,
    ):
        yield watch


def read(
    predictions: list[str] | None,
    references: str | None,
    attributes: str | None,
    tasks: str | None,
    request: gr.Request,
) -> tuple[Any, ...]:
    """The files as tables, a guess of their columns, and the possible choices."""
    with plain_errors():
        return guessed(read_uploads(predictions or [], references, attributes, tasks, address_of(request)))


def read_example() -> tuple[Any, ...]:
    """Two captioners of known bias, as if their files had been uploaded."""
    return guessed(example())


def read_nothing() -> tuple[Any, ...]:
    """After a refused upload: the previous data must not be measured."""
    return guessed(NOTHING)


def guessed(data: Data) -> tuple[Any, ...]:
    """Data with the columns they seem to have, and the words that their labels seem to need."""
    if not data:
        return NOTHING, "", gr.update(visible=False), *[gr.skip()] * 7
    found = guess_columns(**data.first())
    guess: dict[str, Any] = {role: column or NO_COLUMN for role, (column, _) in found.items()}
    guess |= {role: tuple(filter(None, [guess[role]])) for role in SEVERAL}
    counts = count_labels(data, guess["attribute_column"])
    columns = Columns(**guess, keep=tuple(kept_at_first(counts)))
    dropdowns = []
    for role, (column, choices) in found.items():
        optional = [NONE] if role in ("reference_column", "task_column") else []
        value = list(guess[role]) if role in SEVERAL else column or (NO_COLUMN if optional else None)
        dropdowns.append(gr.update(choices=[*optional, *choices], value=value))
    dropdowns += [_kept(counts, columns.keep), gr.update(value=guess_words(data, columns.attribute_column))]
    return replace(data, columns=columns), "", gr.update(visible=True), *dropdowns


def columns(
    data: Data,
    image_id: str | None,
    predictions: list[str],
    references: str | None,
    attributes: list[str] | str | None,
    tasks: str | None,
    keep: list[str],
) -> tuple[Any, ...]:
    """The columns as the user corrects them; other labels and words when the label columns change."""
    labels = listed(attributes)
    counts = count_labels(data, labels)
    kept = [label for label in keep if label in counts] or kept_at_first(counts)
    image_id, references, tasks = (name or NO_COLUMN for name in (image_id, references, tasks))
    chosen = Columns(image_id, tuple(predictions), references, tuple(labels), tasks, tuple(kept))
    as_before = chosen.attribute_column == data.columns.attribute_column
    words = gr.skip() if as_before else gr.update(value=guess_words(data, labels))
    return replace(data, columns=chosen), _kept(counts, kept), words


def fitted(data: Data, attributes: list[str]) -> list[str]:
    """As many attributes as there are label columns, those that were chosen last: of one column another replaces it."""
    return listed(attributes)[-max(1, len(data.columns.attribute_column)) :]


def listed(chosen: list[str] | str | None) -> list[str]:
    """One or several of a choice: programs may give one as it is."""
    return list(filter(None, [chosen] if isinstance(chosen, str) else chosen or []))


def _kept(counts: dict[str, int], kept: Sequence[str]) -> Any:
    listed = counts if len(counts) <= MAX_LABELS else {}
    return gr.update(choices=[(f"{label} ({count:,})", label) for label, count in listed.items()], value=list(kept))


def look(
    data: Data, attributes: list[str], custom_attribute: str, task_words: str, custom_tasks: str
) -> tuple[Any, ...]:
    """The number of images, and the first of them with the words marked that will be masked."""
    hidden = gr.update(visible=False)
    if not data:
        return "", hidden, [], []
    try:
        lexicons = _lexicons(data, attributes, custom_attribute, task_words, custom_tasks)
        with heard() as notes:
            (captions,) = captions_of(data, first_only=True).values()
        loaded = {kind: load_lexicon(lexicon) for kind, lexicon in lexicons.items()}
    except ValueError as error:
        return f"**Not ready yet:** {escaped(str(error))}", hidden, [], []
    names = ", ".join(map(escaped, captioner_columns(list(data.predictions), data.columns.prediction_column)))
    lines = [f"**{len(captions):,} images**, captioners: {names}."]
    if captions.references is None:
        lines.append("Without human captions only the bias of the captioner is measured, not whether it is amplified.")
    lines += _cells(captions, data.columns.attribute_column)
    notes = [*_with_left_out(notes, data), other_labels(captions, loaded["attribute_lexicon"])]
    lines += [f"Note: {escaped(note)}." for note in filter(None, notes)]
    marked = [preview(captions, lexicon) for lexicon in loaded.values()]
    return "\n\n".join(lines), gr.update(visible=True), *marked


def _cells(captions: Captions, columns: Sequence[str]) -> Iterator[str]:
    """How many images there are at each intersection of crossed labels, and which labels have too few."""
    values = [len(set(labels)) for labels in uncross(captions.attributes, len(columns))] if len(columns) > 1 else []
    if prod(values) > MAX_LABELS:
        yield f"There are {prod(values):,} intersections: leave labels out, or choose other columns."
    elif values:
        lines = [[*map(escaped, columns), "images"], [*[":---"] * len(columns), "---:"]]
        cells = count_cells(captions.attributes, len(columns))
        lines += [[*map(escaped, labels), f"{count:,}"] for labels, count in cells.items()]
        yield "\n".join(f"| {' | '.join(line)} |" for line in lines)
    counts = sorted(Counter(captions.attributes).items())
    if few := [f"{label!r} ({count})" for label, count in counts if count < SMALLEST_CLASS]:
        listed = escaped(", ".join(few[:SHOWN_LABELS])) + (", ..." if len(few) > SHOWN_LABELS else "")
        yield (
            f"**Not ready yet:** labels with too few images to split: {listed}. An attacker needs {SMALLEST_CLASS} of "
            "each: leave these labels out, or add images."
        )


def _with_left_out(notes: Sequence[str], data: Data) -> list[str]:
    counts = count_labels(data, data.columns.attribute_column)
    return list(filter(None, [*notes, left_out(counts, data.columns.keep)]))


def words_of(data: Data, attributes: list[str] | str | None, custom: Lexicon | None = None) -> Any:
    """The words of each label column, as a metric's `attribute_lexicon`: one lexicon, or a list of several to cross.

    Raises:
        ValueError: there are more or fewer of them than label columns.
    """
    chosen, columns = listed(attributes), data.columns.attribute_column
    if not chosen or (columns and len(chosen) != len(columns)):
        raise ValueError(
            f"the columns of labels are {', '.join(columns) or 'none'}, and the words are of "
            f"{', '.join(chosen) or 'none'}: choose the attribute of each column, in the same order"
        )
    lexicons = [custom if attribute == CUSTOM else attribute for attribute in chosen]
    return lexicons if len(lexicons) > 1 else lexicons[0]


def _lexicons(
    data: Data, attributes: list[str], custom_attribute: str, task_words: str, custom_tasks: str
) -> dict[str, Any]:
    """The chosen words by setting; custom ones are called like their file, so that the signature names it."""
    custom = custom_lexicon(custom_attribute, "attribute-words") if CUSTOM in listed(attributes) else None
    return {
        "attribute_lexicon": words_of(data, attributes, custom),
        "task_lexicon": custom_lexicon(custom_tasks, "task-words") if task_words == CUSTOM else task_words,
    }


def measure(
    data: Data,
    attributes: list[str],
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
    lexicons = _lexicons(data, attributes, custom_attribute, task_words, custom_tasks)
    watch("reading", 0.0)
    with heard() as notes:
        found = audit(
            captioners_of(data),
            metrics=metrics,
            preset=preset,
            trials=int(trials),
            seed=int(seed),
            **lexicons,
            watch=watch,
        )
    of_metrics = {note for name in found.captioners for note in found.notes(name)}
    every = chain.from_iterable(one if isinstance(one, list) else [one] for one in lexicons.values())
    return Run(
        found,
        tuple(note for note in _with_left_out(notes, data) if not any(other.endswith(note) for other in of_metrics)),
        reproduce.command(data, found.settings, lexicons),
        reproduce.python(data, found.settings, lexicons),
        tuple(lexicon for lexicon in every if isinstance(lexicon, Lexicon)),
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
        _frame(views.alone(found)),
        _frame(views.cells(found)),
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
            "alone": results.frame(views.alone(found)),
            "differences": results.frame(views.differences(found)),
            "signatures": found.signatures,
        }
