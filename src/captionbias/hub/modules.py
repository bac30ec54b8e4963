"""The library's metrics as `evaluate` modules, and the way to make `evaluate` find them by name."""

from __future__ import annotations

import inspect
import reprlib
from collections.abc import Callable, Sequence
from hashlib import sha256
from importlib.metadata import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import datasets
import evaluate
from filelock import FileLock

import captionbias
from captionbias.captions.values import as_list, is_column

FEATURES = datasets.Features(
    {
        "predictions": datasets.Value("string"),
        "references": datasets.List(datasets.Value("string")),
        "attributes": datasets.Value("string"),
    }
)
# As evaluate's files have it between processes. `combine` passes whatever FEATURES lists, so tasks, which are optional,
# are not there.
WITH_TASKS = datasets.Features({**FEATURES, "tasks": datasets.List(datasets.Value("string"))})
# What the metrics that take labels have instead of captions, beside attributes and tasks.
LABELS = ("predicted_attributes", "predicted_tasks", "training_attributes", "training_tasks")
ARGUMENTS = """\
Args:
    predictions (list of str): one model caption for each image.
    references (list of list of str): one or more human captions for each image.
    attributes (list of str): the label of the protected attribute for each image, of two or more values.
    tasks (list of list of str, optional): the objects or activities in each image. When they are
        left out, metrics that use tasks take those that human captions of the image name.
    details (bool): whether to add nested tables under "details".
    Further options as in `captionbias.metrics.{metric}`.
"""


class CaptionMetric(evaluate.Metric):
    """Base of the metric modules: one schema, either side optional, the library's errors, no captions left on disk.

    A subclass has the library's function as `_score`, the `_citation` of the paper and its `_url`. Its docstring says
    what it measures, and under "Args:" and the titles after it what is not in `ARGUMENTS`.
    """

    _score: Callable[..., dict[str, Any]]
    _citation: str
    _url: str

    # What evaluate.Metric has and does not declare.
    writer: Any
    cache_file_name: str | None
    filelock: Any

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._added: dict[str, list[Any]] = {}  # columns of equal length
        super().__init__(*arguments, **options)

    def __len__(self) -> int:
        return len(self._added.get("attributes", []))

    def _info(self) -> evaluate.MetricInfo:
        project = metadata("captionbias")
        pairs = (entry.split(", ", 1) for entry in project.get_all("Project-URL") or ())
        urls = {label.lower(): url for label, url in pairs}
        description, _, usage = inspect.cleandoc(self.__doc__ or "").partition("\n\nArgs:\n")
        return evaluate.MetricInfo(
            description=description,
            citation=self._citation,
            inputs_description=ARGUMENTS.format(metric=self._score.__name__) + usage,
            features=FEATURES,
            homepage=urls.get("homepage") or urls.get("repository", ""),
            license=project.json.get("license_expression", ""),
            codebase_urls=[urls["repository"]] if "repository" in urls else [],
            reference_urls=[self._url],
        )

    def compute(
        self,
        *,
        predictions: Sequence[str] | None = None,
        references: Sequence[Sequence[str]] | None = None,
        attributes: Any = None,
        tasks: Any = None,
        **options: Any,
    ) -> dict[str, Any] | None:
        """Score these captions together with those added before, or labels.

        `tasks` have one row for each image, those added before included, unless these came with their tasks. With
        several processes each passes its captions and process 0 the tasks of all, in the order of the processes, or
        each adds its own with `add_batch`; process 0 returns the result, the others None. Labels, without captions,
        come all at once and in one process: lists of names or 0/1 arrays as `attributes`, `tasks` and those of
        `LABELS`, for metrics that take them.

        Raises:
            ValueError: on bad input, naming the argument and the first offending row. All rows are then forgotten.
        """
        captions: dict[str, Any] = {"predictions": predictions, "references": references, "attributes": attributes}
        several = self.num_process > 1
        try:
            labels = [name for name in LABELS if options.get(name) is not None]
            if labels and (several or self._added):
                raise ValueError(
                    f"{labels[0]}: labels do not go with captions added before, or with several processes: gather them "
                    "yourself, and compute in one process with a new module"
                )
            if several or self._added:
                if "tasks" in self._added:
                    captions, tasks = {**captions, "tasks": tasks}, None
                if any(column is not None for column in captions.values()):
                    self.add_batch(**captions)
                captions = {**self._added}
            if several:
                return self._compute_together(captions, all_tasks=tasks, **options)
            return self._score(**{"tasks": tasks, **captions}, **options)
        finally:
            self._added.clear()

    def add_batch(
        self,
        *,
        predictions: Sequence[str] | None = None,
        references: Sequence[Sequence[str]] | None = None,
        attributes: Sequence[str] | None = None,
        tasks: Sequence[Sequence[str]] | None = None,
    ) -> None:
        """Keep a batch of images for `compute`; leave out predictions or references to score one side.

        `evaluate.combine` passes no tasks on: give its `compute` those of all images.

        Raises:
            ValueError: on anything but strings, naming the argument and the first offending row of this batch; on
                columns that differ in length, or others than in earlier batches. The batch is then not kept.
        """
        optional = {"predictions": predictions, "references": references, "tasks": tasks}
        present = {name: column for name, column in optional.items() if column is not None} | {"attributes": attributes}
        if self._added and present.keys() != self._added.keys():
            raise ValueError(
                f"this batch has {' and '.join(present)}, those before had {' and '.join(self._added)}: "
                "give the same arguments with every batch"
            )
        batch = {name: _rows(name, column) for name, column in present.items()}
        for name, rows in batch.items():
            if len(rows) != len(batch["attributes"]):
                raise ValueError(f"{name} has {len(rows)} rows and attributes has {len(batch['attributes'])} rows")
        for name, rows in batch.items():
            self._added.setdefault(name, []).extend(rows)

    def add(
        self,
        *,
        prediction: str | None = None,
        reference: Sequence[str] | None = None,
        attributes: str | None = None,
        tasks: Sequence[str] | None = None,
        predictions: str | None = None,
        references: Sequence[str] | None = None,
    ) -> None:
        """Keep one image for `compute`, as `add_batch`: its model caption, its human captions, its label and its tasks.

        `predictions` and `references` are what `evaluate.combine` calls the image's `prediction` and `reference`.
        """
        image = {
            "predictions": prediction if predictions is None else predictions,
            "references": reference if references is None else references,
            "attributes": attributes,
            "tasks": tasks,
        }
        self.add_batch(**{name: None if value is None else [value] for name, value in image.items()})  # type: ignore[arg-type]

    def _compute_together(self, captions: dict[str, Any], **options: Any) -> dict[str, Any] | None:
        """Bring the captions of all processes to process 0, through evaluate's files, and score them there."""
        if not captions:
            raise ValueError("there are no captions to score: every process gives some, to add_batch or compute")
        self.file_paths = self.filelocks = None  # those of an earlier compute belong to whoever took them since
        self.info.features = WITH_TASKS
        try:
            # evaluate stores every column of the schema: placeholders stand for the side left out, until `_compute`.
            n = len(captions["attributes"])
            super().add_batch(**{"predictions": [""] * n, "references": [[]] * n, "tasks": [None] * n, **captions})
            return super().compute(columns=[*captions], **options)  # type: ignore[no-any-return]
        except BaseException:
            self._remove_files()
            raise
        finally:
            self.info.features = FEATURES

    def _compute(self, *, columns: list[str], all_tasks: Any, tasks: Any, **options: Any) -> dict[str, Any]:
        if "distributed" in inspect.signature(self._score).parameters:
            options.setdefault("distributed", False)  # evaluate has brought all captions here: this process measures
        if "tasks" not in columns and any(row is not None for row in tasks):
            raise ValueError("tasks: another process added some and process 0 none; add them in every process")
        captions = {name: value for name, value in options.items() if name in columns or name not in FEATURES}
        return self._score(**captions, tasks=tasks if "tasks" in columns else all_tasks)

    def _remove_files(self) -> None:
        """Close and delete what evaluate leaves open or on disk when `compute` fails."""
        if self.writer is not None:
            self.writer.close()
        self.writer = self.data = None
        # evaluate moves its own file and lock to the lists, beside those of other processes, once it has read them all.
        for path in self.file_paths or filter(None, [self.cache_file_name]):
            Path(path).unlink(missing_ok=True)
        for lock in self.filelocks or filter(None, [self.filelock]):
            lock.release()
        self.file_paths = self.filelocks = self.cache_file_name = self.filelock = None


def _rows(argument: str, column: Any) -> list[Any]:
    """A column as the schema has it; evaluate would silently turn None, numbers and lists into strings."""
    nested = argument in ("references", "tasks")
    rows = as_list(argument, column)
    for row, value in enumerate(rows):
        texts = value if nested else [value]
        if not (is_column(texts) and all(isinstance(text, str) for text in texts)):
            wanted = "a list of strings" if nested else "a string"
            raise ValueError(f"{argument}[{row}] is {reprlib.repr(value)}: it must be {wanted}")
    return list(map(list, rows)) if nested else rows


def install_metrics(names: Sequence[str] | None = None, cache: Path | None = None) -> list[Path]:
    """Put metric modules where `evaluate` looks them up, so that `evaluate.load("lic")` works anywhere, also offline.

    Returns the installed files, one a metric. A version installed before is replaced. Several processes may call this
    at once.

    Args:
        names: the metrics; all of this package's when None.
        cache: the modules cache; evaluate's own (`HF_MODULES_CACHE`) when None.

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
            raise ValueError(f"names[{row}] is {name!r}, not a metric: choose from {', '.join(available)}")
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
        with TemporaryDirectory(dir=versions) as scratch:
            for folder in versions.iterdir():
                if len(folder.name) == 64 and not (current and folder == version):
                    folder.rename(Path(scratch, folder.name))
            if not current:
                new = Path(scratch, "new")
                new.mkdir()
                (new / "__init__.py").touch()
                (new / script.name).write_bytes(code)
                new.rename(version)
    return installed
