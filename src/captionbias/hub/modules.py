"""The library's metrics as `evaluate` modules, and the way to make `evaluate` find them by name."""

from __future__ import annotations

import inspect
import json
import re
import reprlib
import warnings
from collections.abc import Sequence
from hashlib import sha256
from importlib.metadata import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import datasets
import evaluate
from filelock import FileLock

from captionbias.captions.values import as_list, is_column
from captionbias.metrics import Metric, find_metric
from captionbias.metrics.catalogue import METRICS
from captionbias.warnings import CaptionBiasWarning
from captionbias.wings import shipped

# `combine` passes whatever is listed here, so tasks, which are optional, are not.
FEATURES = datasets.Features(
    {
        "predictions": datasets.Value("string"),
        "references": datasets.List(datasets.Value("string")),
        "attributes": datasets.Value("string"),
    }
)
SHARED = datasets.Features({"columns": datasets.Value("string")})  # between processes: JSON, a row each
# What the metrics that take labels have instead of captions, beside attributes and tasks.
LABELS = ("predicted_attributes", "predicted_tasks", "training_attributes", "training_tasks")
_CAPTIONS = re.compile(r"^    captions: .*\n(?:     .*\n)*", re.MULTILINE)  # an argument of the function alone


class CaptionMetric(evaluate.Metric):
    """Base of the metric modules: one schema, either side optional, the library's errors, no captions left on disk.

    A subclass has the library's function as `metric`, whose docstring describes it. The citation is that of the card.
    """

    metric: Metric[Any]

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
        project, card = metadata("captionbias"), shipped("metrics") / self.metric.name / "README.md"
        urls = dict(entry.split(", ", 1) for entry in project.get_all("Project-URL") or ())
        description, _, arguments = (inspect.getdoc(self.metric) or "").partition("\n\nArgs:\n")
        text = card.read_text(encoding="utf-8") if card.is_file() else ""
        return evaluate.MetricInfo(
            description=description,
            citation="".join(re.findall(r"```bibtex\n(.*?)```", text, re.DOTALL)),
            inputs_description="Args:\n" + _CAPTIONS.sub("", arguments),
            features=FEATURES,
            homepage=urls.get("Repository", ""),
            license=project["License-Expression"],
            reference_urls=re.findall(r"\]\((http[^)]+)\)", text.partition("## Further References")[2]),
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
        `LABELS`, for metrics that take them. Options that only other metrics have, which `combine` passes to all, are
        left out with a warning.

        Raises:
            ValueError: on bad input, naming the argument and the first offending row. All rows are then forgotten.
        """
        captions: dict[str, Any] = {"predictions": predictions, "references": references, "attributes": attributes}
        several = self.num_process > 1
        others = frozenset[str]().union(*(find_metric(name).options() for name in METRICS)) - {*LABELS}
        for name in [name for name in options if name in others - self.metric.options()]:
            del options[name]
            message = f"{self.metric.name} has no {name}, which other metrics have: left out"
            warnings.warn(message, CaptionBiasWarning, stacklevel=2)
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
            return self.metric(**{"tasks": tasks, **captions}, **options)
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

    def add(self, *, prediction: str | None = None, reference: Sequence[str] | None = None, **image: Any) -> None:
        """Keep one image for `compute`, as `add_batch`: its model caption, its human captions, `attributes`, `tasks`.

        `evaluate.combine` calls the first two `predictions` and `references`.
        """
        image = {"predictions": prediction, "references": reference, **image}
        self.add_batch(**{name: [value] for name, value in image.items() if value is not None})

    def _compute_together(self, captions: dict[str, Any], **options: Any) -> dict[str, Any] | None:
        """Bring the captions of all processes to process 0, through evaluate's files, and score them there."""
        self.file_paths = self.filelocks = None  # those of an earlier compute belong to whoever took them since
        self.info.features = SHARED
        try:
            super().add_batch(columns=[json.dumps(captions)])
            return super().compute(**options)  # type: ignore[no-any-return]
        except BaseException:
            self._remove_files()
            raise
        finally:
            self.info.features = FEATURES

    def _compute(self, *, columns: list[str], all_tasks: Any, **options: Any) -> dict[str, Any]:
        parts = [part for part in map(json.loads, columns) if part]
        names = {name: None for part in parts for name in part}
        if any(part.keys() != names.keys() for part in parts):
            raise ValueError(f"processes have added different columns, of {', '.join(names)}: add the same in each")
        captions = {name: [row for part in parts for row in part[name]] for name in names}
        if "distributed" in self.metric.options():
            options.setdefault("distributed", False)  # evaluate has brought all captions here: this process measures
        return self.metric(**{"tasks": all_tasks, **captions}, **options)

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

    A version installed before is replaced. Several processes may call this at once.
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
    """The folders of these metrics, each ready to be a Space: of all of this package's when None."""
    source = shipped("metrics")
    available = sorted(folder.name for folder in source.iterdir() if (folder / f"{folder.name}.py").is_file())
    wanted = available if names is None else names
    for row, name in enumerate(wanted):
        if name not in available:
            raise ValueError(f"names[{row}] is {name!r}, not a metric: choose from {', '.join(available)}")
    return [source / name for name in wanted]


def _install(script: Path, root: Path) -> Path:
    metrics = root / "evaluate_modules" / "metrics"
    versions = metrics / f"evaluate-metric--{script.stem}"
    version = versions / sha256(script.read_bytes()).hexdigest()
    versions.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{versions}.lock"), TemporaryDirectory(dir=versions) as scratch:  # evaluate takes the same lock
        for package in (root, metrics.parent, metrics, versions):
            (package / "__init__.py").touch()
        # evaluate loads whichever version is newest and fails on a half-written one: whole folders move in and out.
        new = Path(scratch, "new")
        new.mkdir()
        (new / "__init__.py").touch()
        (new / script.name).write_bytes(script.read_bytes())
        if version.exists():
            version.rename(Path(scratch, "old"))
        new.rename(version)
    return version / script.name
