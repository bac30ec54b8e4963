"""What commands do with the terminal: results on it, errors and notes beside them."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from captionbias._version import __version__
from captionbias.errors import Wording, explained_memory, render
from captionbias.progress import Watch, show_steps
from captionbias.wings import wing

if TYPE_CHECKING:
    from captionbias.report.grid import Grid

RESULT_FILES = (".json", ".csv", ".md")

console = Console()
complaints = Console(stderr=True)


def read_captioners(
    predictions: Sequence[str] | None, prediction_column: list[str] | None, counts: Sequence[str] = (), **files: Any
) -> dict[str, Any]:
    """Each captioner's captions of the images that all of them have, with their labels from `files`; or its counts."""
    if counts:
        return {name: wing("counting").read_counts(path) for name, path in named(counts, "predictions").items()}
    from captionbias.captions import on_the_same_images
    from captionbias.captions import read_captioners as read_all

    read = read_all(named(predictions or (), "predictions"), prediction_column=prediction_column or None, **files)
    return on_the_same_images(read)


def named(values: Sequence[str], option: str) -> dict[str, str]:
    """Each `name=what` by its name; a file or folder alone is named after itself."""
    named: dict[str, str] = {}
    for value in values:
        name, equals, what = value.partition("=")
        if not equals or "://" in name or Path(value).exists():
            path = Path(value)
            name, what = (path.stem if option == "predictions" and path.suffix else path.name), value
        if not name:
            raise ValueError(f"--{option} {value} has no name before the =; write it as in --{option} nic={what}")
        if name in named:
            raise ValueError(
                f"--{option}: two are called {name!r}; give them different names, as in --{option} other={what}"
            )
        named[name] = what
    return named


def say(text: str) -> None:
    """A line on standard output, as it is."""
    console.print(text, highlight=False, markup=False, soft_wrap=True)


def show(tables: Iterable[Grid]) -> None:
    """Tables on standard output; what is in brackets is text."""
    for table in tables:
        console.print(table, markup=False)


def note(text: str, style: str | None = None) -> None:
    """A line on standard error, as it is."""
    complaints.print(text, style=style, highlight=False, markup=False, soft_wrap=True)


@contextmanager
def results_to(output: Path | None, json: bool) -> Iterator[Callable[[dict[str, Any]], None]]:
    """A function to call with everything that was measured: it writes --output by its suffix, and JSON with --json.

    With --json all that is printed meanwhile goes to standard error.
    """
    from captionbias.io.files import write_text
    from captionbias.io.formats import csv_text, json_text
    from captionbias.report.rows import Row, rows_markdown, rows_of

    suffix = output.suffix.lower() if output else ""
    if output and suffix not in RESULT_FILES:
        raise ValueError(f"--output {output} must end in {', '.join(RESULT_FILES)}; --json prints to standard output")

    def write(content: dict[str, Any]) -> None:
        if console.quiet:
            return
        if json:
            typer.echo(json_text({"version": __version__, **content}, indent=2))
        if output and suffix == ".json":
            write_result(content, output)
        elif output:
            rows = rows_of(content)
            write_text(csv_text(Row._fields, rows) if suffix == ".csv" else rows_markdown(rows), output)
            say(f"the scores are in {output}")

    console.stderr = json
    try:
        yield write
    finally:
        console.stderr = False


def write_result(content: dict[str, Any], output: Path | None) -> None:
    """Write everything that was measured to the file with --output."""
    from captionbias.io.formats import write_json

    if output and not console.quiet:
        write_json({"version": __version__, **content}, output)
        say(f"everything is in {output}")


def check_outputs(outputs: Mapping[str, Path], inputs: Iterable[Any]) -> None:
    """Refuse, before the work, a file that cannot be written, that two options name, or that is read, by any path."""
    from captionbias.io.files import check_writable

    flat_inputs = chain.from_iterable(value if isinstance(value, list) else [value] for value in inputs)
    texts = [str(value) for value in flat_inputs if isinstance(value, (str, Path))]
    files = [file for text in texts for file in (text, text.partition("=")[2]) if os.path.isfile(file)]
    written: dict[str, str] = {}
    for option, path in outputs.items():
        other = written.setdefault(os.path.realpath(path), option)
        if other != option:
            raise ValueError(f"{other} and {option} name the same file; name two files")
        check_writable(path)
        for file in files:
            if path.exists() and path.samefile(file):
                raise ValueError(f"{option} would overwrite {file}, which is an input; name another file")


def step_lines() -> Watch | None:
    """A function to call with each step and the share done, which it prints."""
    return None if console.quiet else lambda step, done: note(f"{done:.0%} done: {step}")


@contextmanager
def steps() -> Iterator[Watch | None]:
    """A progress bar on standard error that names the step, as a function to call with it and the share done."""
    if not complaints.is_terminal or console.quiet:
        yield None
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()
    with show_steps(False), Progress(*columns, console=complaints, transient=True) as progress:
        task = progress.add_task("", total=1.0)
        yield lambda step, done: progress.update(task, description=step, completed=done)


@contextmanager
def needs(extra: str) -> Iterator[None]:
    """Turn a failed import of a missing package into an error that says how to install it."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ValueError(f"{error}: pip install '.[{extra}]' in a clone first") from error


@contextmanager
def plain_errors(words: Wording = str) -> Iterator[None]:
    """Print errors of the input as one line, with exit status 2; warnings as notes, each once; Ctrl-C as a line."""
    from captionbias.attackers.ranks import RankError
    from captionbias.attackers.workers import WorkerKilledError
    from captionbias.captions import CaptionBiasWarning

    noted: set[str] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        if str(message) not in noted and not console.quiet:
            noted.add(str(message))
            note(f"note: {render(message, words)}")

    with warnings.catch_warnings():
        warnings.simplefilter("always", CaptionBiasWarning)
        warnings.showwarning = show
        try:
            with explained_memory():
                yield
        except (ValueError, OSError, RankError, WorkerKilledError) as error:
            note(f"error: {render(error, words)}", style="red")
            raise typer.Exit(2) from error
        except KeyboardInterrupt as interrupt:
            if not console.quiet:
                note(": ".join(["stopped", *map(str, interrupt.args)]))
            raise typer.Exit(128 + signal.SIGINT) from interrupt
