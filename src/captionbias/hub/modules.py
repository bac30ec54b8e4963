"""The library's metrics as `evaluate` modules, and the way to make `evaluate` find them by name."""

from __future__ import annotations

import inspect
import reprlib
import shutil
import tempfile
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import datasets
import evaluate
from filelock import FileLock

import captionbias
from captionbias.captions import check_captions
from captionbias.captions.values import as_list, is_column

FEATURES = datasets.Features(
    {
        "predictions": datasets.Value("string"),
        "references": datasets.List(datasets.Value("string")),
        "attributes": datasets.Value("string"),
    }
)
# What the metrics that take labels have instead of captions, beside attributes and tasks.
LABELS = ("predicted_attributes", "predicted_tasks", "training_attributes", "training_tasks")


class CaptionMetric(evaluate.Metric):
    """Base of the metric modules: one schema, either side optional, the library's errors, no captions left on disk.

    Labels instead of captions are no part of the schema: they pass through `compute` to the library as they are.
    A subclass gives `_info`, with `features=FEATURES`, and `_score`, the library's function.
    """

    _score: Callable[..., dict[str, Any]]

    # What evaluate.Metric holds between the calls, and does not declare.
    writer: Any
    buf_writer: Any
    data: Any
    cache_file_name: str | None
    filelock: Any
    file_paths: list[str] | None
    filelocks: list[Any] | None

    _given_sides: list[str]  # of predictions and references, those that the rows in `writer` have

    def compute(
        self,
        *,
        predictions: Sequence[str] | None = None,
        references: Sequence[Sequence[str]] | None = None,
        attributes: Any = None,
        tasks: Any = None,
        **options: Any,
    ) -> dict[str, Any] | None:
        """Score the captions given here together with those added before, or labels.

        `tasks` have one row for each image, those added before included. With several processes each gives its own
        captions and process 0 the tasks of all, in the order of the processes; process 0 returns the result, the
        others None. Labels, without captions, are given all at once and in one process: lists of names or 0/1 arrays
        as `attributes`, `tasks` and those of `LABELS`, for metrics that take them.

        Raises:
            ValueError: on bad input, naming the argument and the first offending row. All rows are then forgotten.
        """
        self.file_paths = self.filelocks = None  # those of an earlier compute belong to whoever took them since
        captions: dict[str, Any] = {"predictions": predictions, "references": references, "attributes": attributes}
        labels = [name for name in LABELS if options.get(name) is not None]
        without_captions = predictions is None and references is None and attributes is not None
        try:
            if labels and self.num_process > 1:
                raise ValueError(
                    f"{labels[0]}: labels are not collected from {self.num_process} processes; gather them yourself "
                    "and compute in one process, with a module that was loaded without num_process"
                )
            if self.writer is None and self.num_process == 1 and (labels or without_captions):
                return self._score(**captions, tasks=tasks, **options)
            # Captions added before and labels: the library refuses them together, whatever `attributes` are.
            if not labels and any(column is not None for column in captions.values()):
                if self.writer is None and self.num_process == 1:
                    check_captions(**captions, tasks=tasks)
                self.add_batch(**captions)
            if self.writer is None:
                raise ValueError(
                    "there are no captions to score: give compute predictions, references and attributes, "
                    "or add them first with add_batch"
                )
            return super().compute(tasks=tasks, **options)  # type: ignore[no-any-return]
        except BaseException:
            self._forget_rows()
            raise

    def add_batch(
        self,
        *,
        predictions: Sequence[str] | None = None,
        references: Sequence[Sequence[str]] | None = None,
        attributes: Sequence[str] | None = None,
    ) -> None:
        """Keep a batch of images for `compute`; leave out predictions or references to score one side.

        Raises:
            ValueError: on anything but strings, naming the argument and the first offending row of this batch, or when
                a side is left out that earlier batches had, or the other way round. The batch is then not kept. What
                can only be judged over all images, `compute` checks.
        """
        sides: dict[str, Any] = {"predictions": predictions, "references": references}
        given = {name: column for name, column in sides.items() if column is not None}
        if self.writer is not None and list(given) != self._given_sides:
            raise ValueError(
                f"this batch has {' and '.join(given) or 'no captions'}, those before had "
                f"{' and '.join(self._given_sides)}: give the same arguments with every batch"
            )
        batch = {name: _rows(name, column) for name, column in {**given, "attributes": attributes}.items()}
        self._given_sides = list(given)
        # evaluate stores every column of the schema: placeholders stand for the side left out, until `_compute`.
        n = len(batch["attributes"])
        super().add_batch(**{"predictions": [""] * n, "references": [[]] * n, **batch})

    def add(
        self, *, prediction: str | None = None, reference: Sequence[str] | None = None, attributes: str | None = None
    ) -> None:
        """Keep one image for `compute`: its model caption, its human captions and its attribute label.

        Raises:
            ValueError: as `add_batch`.
        """
        self.add_batch(
            predictions=None if prediction is None else [prediction],
            references=None if reference is None else [reference],
            attributes=None if attributes is None else [attributes],
        )

    def _compute(
        self, *, predictions: list[str], references: list[list[str]], attributes: list[str], **options: Any
    ) -> dict[str, Any]:
        sides = {"predictions": predictions, "references": references}
        if self.num_process > 1 and "distributed" in inspect.signature(self._score).parameters:
            options.setdefault("distributed", False)  # evaluate has brought all captions here: this process measures
        return self._score(**{name: sides[name] for name in self._given_sides}, attributes=attributes, **options)

    def _forget_rows(self) -> None:
        """Close and delete what evaluate leaves open or on disk when `compute` fails."""
        if self.writer is not None:
            self.writer.close()
        self.writer = self.buf_writer = self.data = None
        # evaluate moves its own file and lock to the lists, beside those of other processes, once it has read them all.
        for path in self.file_paths or filter(None, [self.cache_file_name]):
            Path(path).unlink(missing_ok=True)
        for lock in self.filelocks or filter(None, [self.filelock]):
            lock.release()
        self.file_paths = self.filelocks = self.cache_file_name = self.filelock = None


def _rows(argument: str, column: Any) -> list[Any]:
    """A column as the schema has it; evaluate itself would turn None, numbers and lists into strings without a word."""
    nested = argument == "references"
    rows = as_list(argument, column)
    for row, value in enumerate(rows):
        texts = value if nested else [value]
        if not (is_column(texts) and all(isinstance(text, str) for text in texts)):
            wanted = "a list of strings" if nested else "a string"
            raise ValueError(f"{argument}[{row}] is {reprlib.repr(value)}: give {wanted}")
    return list(map(list, rows)) if nested else rows


def install_metrics(names: Sequence[str] | None = None, cache: Path | None = None) -> list[Path]:
    """Put metric modules where `evaluate` looks them up, so that `evaluate.load("lic")` works anywhere, also offline.

    A version installed before is replaced. Processes may call this at the same time.

    Args:
        names: the metrics; all of this package's when None.
        cache: the modules cache; evaluate's own (`HF_MODULES_CACHE`) when None.

    Returns:
        The installed files, one a metric.

    Raises:
        ValueError: for a name that this package does not have, or a cache that cannot be written.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as cache:
        ...     [file.name for file in install_metrics(["lic"], cache=Path(cache))]
        ['lic.py']
    """
    folders = metric_folders(names)
    root = Path(evaluate.config.HF_MODULES_CACHE if cache is None else cache)
    try:
        return [_install(folder / f"{folder.name}.py", root) for folder in folders]
    except OSError as error:
        raise ValueError(
            f"metric modules cannot be written to {root} ({error}): make that folder writable, "
            "or set HF_MODULES_CACHE to one that is, here and wherever the metrics are loaded"
        ) from error


def metric_folders(names: Sequence[str] | None = None) -> list[Path]:
    """The folders of these metrics, each ready to be a Space: of all of this package's when None.

    Raises:
        ValueError: for a name that this package does not have.

    Example:
        >>> [folder.name for folder in metric_folders(["lic"])]
        ['lic']
    """
    package = Path(captionbias.__file__).parent
    in_wheel = package / "_metrics"
    source = in_wheel if in_wheel.is_dir() else package.parents[1] / "metrics"
    available = sorted(folder.name for folder in source.iterdir() if (folder / f"{folder.name}.py").is_file())
    wanted = available if names is None else names
    for row, name in enumerate(wanted):
        if name not in available:
            raise ValueError(f"names[{row}] is {name!r}, which is no metric here: choose from {', '.join(available)}")
    return [source / name for name in wanted]


def _install(script: Path, root: Path) -> Path:
    code = script.read_bytes()
    metrics = root / "evaluate_modules" / "metrics"
    versions = metrics / f"evaluate-metric--{script.stem}"
    version = versions / sha256(code).hexdigest()
    installed = version / script.name
    versions.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{versions}.lock"):  # the lock that evaluate takes to write here
        for package in (root, metrics.parent, metrics, versions):
            (package / "__init__.py").touch()
        current = installed.is_file() and installed.read_bytes() == code
        # evaluate loads whichever version is newest and fails on a half-written one: whole folders move in and out.
        outgoing = [folder for folder in versions.iterdir() if len(folder.name) == 64]
        work = Path(tempfile.mkdtemp(dir=versions))
        try:
            for folder in outgoing:
                if not (current and folder == version):
                    folder.rename(work / folder.name)
            if not current:
                new = work / "new"
                new.mkdir()
                (new / "__init__.py").touch()
                (new / script.name).write_bytes(code)
                new.rename(version)
        finally:
            shutil.rmtree(work)
    return installed
