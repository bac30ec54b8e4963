"""The library's metrics as `evaluate` modules, and the way to make `evaluate` find them by name."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Sequence
from hashlib import sha256
from importlib.metadata import metadata
from pathlib import Path
from typing import Any

import datasets
import evaluate

from captionbias.bench.arguments import ARGUMENTS
from captionbias.captions.names import MEASURED, SIDES
from captionbias.captions.values import as_list, is_column, is_missing
from captionbias.io.files import written_whole
from captionbias.metrics import Metric
from captionbias.warnings import warn
from captionbias.wings import shipped

# `combine` passes whatever is listed here, so tasks, which are optional, are not.
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

    A subclass has the library's function as `metric`, whose docstring describes it. The citation is that of the card.
    """

    metric: Metric[Any]

    def __init__(self, *arguments: Any, num_process: int = 1, **options: Any) -> None:
        if num_process > 1:
            raise ValueError(
                "num_process: captions are not collected from processes; give all of them to one, as "
                "accelerate.utils.gather_object does, or with distributed=True to each"
            )
        self._added: dict[str, list[Any]] = {}  # columns of equal length
        super().__init__(*arguments, **options)

    def __len__(self) -> int:
        return len(self._added.get("attributes", []))

    def _info(self) -> evaluate.MetricInfo:
        project, card = metadata("captionbias"), shipped("metrics") / self.metric.name / "README.md"
        urls = dict(entry.split(", ", 1) for entry in project.get_all("Project-URL") or ())
        text = card.read_text(encoding="utf-8") if card.is_file() else ""
        return evaluate.MetricInfo(
            description=self.metric.summary,
            citation="".join(re.findall(r"```bibtex\n(.*?)```", text, re.DOTALL)),
            inputs_description=self.metric.inputs(*[name for name in self.metric.arguments if name != "captions"]),
            features=FEATURES,
            homepage=urls.get("Repository", ""),
            license=project["License-Expression"],
            reference_urls=re.findall(r"\]\((http[^)]+)\)", text.partition("## Further References")[2]),
        )

    def compute(self, **inputs: Any) -> dict[str, Any]:
        """Score captions together with those added before, or labels: whatever the metric takes, by its own names.

        `tasks`, `weights` and `scene` have one row for each image, those added before included, unless these came with
        theirs.
        Labels, without captions, come all at once, for metrics that take them.

        Raises:
            ValueError: on bad input, naming the argument and the first offending row. All rows are then forgotten.

        Warns:
            CaptionBiasWarning: options that only other metrics have, which `combine` passes to all, are left out.
        """
        others = ARGUMENTS.keys() - self.metric.options() - {*LABELS}
        for name in [name for name in inputs if name in others]:
            del inputs[name]
            message = f"{self.metric.name} has no {name}, which other metrics have: left out"
            warn(message)
        if unknown := [name for name in inputs if name not in self.metric.options()]:  # the rows are kept
            raise TypeError(f"{self.metric.name}.compute() got an unexpected keyword argument {unknown[0]!r}")
        try:
            if self._added:
                if labels := [name for name in LABELS if inputs.get(name) is not None]:
                    raise ValueError(f"{labels[0]}: labels do not go with captions added before: take a new module")
                last = {name: inputs.pop(name, None) for name in MEASURED if name in FEATURES or name in self._added}
                if any(column is not None for column in last.values()):
                    self.add_batch(**last)
                inputs |= self._added
            return self.metric(**inputs)
        finally:
            self._added.clear()

    def add_batch(self, *, attributes: Sequence[str] | None = None, **columns: Any) -> None:
        """Keep a batch of images for `compute`, of which one side's captions or both are given, and perhaps `tasks`,
        `weights` and `scene`: lists of equal length. `evaluate.combine` passes these three to `compute` only.

        Raises:
            ValueError: on anything but strings, or columns other than in earlier batches. The batch is then not kept.
        """
        if unknown := [name for name in columns if name not in MEASURED]:
            raise TypeError(f"add_batch() got an unexpected keyword argument {unknown[0]!r}")
        present = {name: column for name, column in columns.items() if column is not None} | {"attributes": attributes}
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
        """Keep one image for `compute`: its model and its human captions, which `evaluate.combine` calls `predictions`
        and `references`, and what else `add_batch` takes."""
        image = {"predictions": prediction, "references": reference, **image}
        self.add_batch(**{name: [value] for name, value in image.items() if value is not None})


def _rows(argument: str, column: Any) -> list[Any]:
    """A column, of texts or lists of texts but for weights and scenes; captions may be missing."""
    rows = as_list(argument, column)
    nested = argument in ("references", "tasks")
    for row, value in enumerate(rows if argument not in ("weights", "scene") else ()):
        may_lack = argument in SIDES
        texts = value if nested or (may_lack and is_column(value)) else [value]
        known = is_column(texts) and all(isinstance(text, str) or (may_lack and is_missing(text)) for text in texts)
        if not known and not (may_lack and is_missing(value)):
            wanted = "a list of strings" if nested else "a string"
            raise ValueError(f"{argument}[{row}] is {reprlib.repr(value)}: it must be {wanted}")
    return rows


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
    version.mkdir(parents=True, exist_ok=True)
    for package in (root, metrics.parent, metrics, versions, version):
        (package / "__init__.py").touch()
    with written_whole(version / script.name) as part:  # evaluate loads whichever version is newest
        part.write_bytes(script.read_bytes())
    return version / script.name
