"""A folder of Parquet files with their dataset card, from the original files."""

from __future__ import annotations

import importlib.util
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import captionbias
from captionbias.datasets.card import CONTENTS, benchmark, dataset_card, mark, reasons

if TYPE_CHECKING:
    from captionbias.datasets.caption_dataset import CaptionDataset

CARD = "README.md"
_WRITTEN = re.compile(r"README\.md|eval\.yaml|\w+/\w+-\d{5}-of-\d{5}\.parquet")


@dataclass(frozen=True)
class Built:
    """A dataset that was written.

    Attributes:
        folder: where it is; `load_dataset(folder)` reads it.
        rows: how many rows each configuration has.
        left_out: for each configuration why rows of the original files were left out, and how many.
    """

    folder: Path
    rows: Mapping[str, int]
    left_out: Mapping[str, Mapping[str, int]]


def dataset_names() -> list[str]:
    """Names of the datasets that `build_dataset` builds.

    >>> dataset_names()
    ['artemis_emotions', 'coco_caption_bias', 'controlled_verbs', 'lic_captions']
    """
    return sorted(path.name for path in _scripts().iterdir() if (path / f"{path.name}.py").is_file())


def original_card(name: str) -> str:
    """The card of the dataset `name` before it is built: its original files, where they come from, fields and terms.

    >>> original_card("controlled_verbs").splitlines()[0]
    '# Captions whose only bias is in their verbs'

    Raises:
        ValueError: an unknown name.
    """
    _check_name(name)
    text = (_scripts() / name / CARD).read_text(encoding="utf-8").partition("\n---\n")[2]
    return text.replace(f"## Contents\n\n{CONTENTS}\n\n", "").strip()


def build_dataset(name: str, source: Path | str, to: Path | str, configurations: Sequence[str] | None = None) -> Built:
    """Write the dataset `name` from its original files in the folder `source` to the folder `to`.

    The folder appears whole or not at all: Parquet files, a folder for each configuration; README.md, the dataset card;
    and eval.yaml, if captioners are measured on the dataset. It replaces an earlier build. The same files give the same
    bytes.

    Args:
        name: one of `dataset_names()`; its card says which files it needs and where they come from.
        source: the folder with the original files.
        to: the folder to write: a new or empty one, or an earlier build of this dataset.
        configurations: those to write; all by default.

    Raises:
        ValueError: an unknown name; a file that is missing, cut off or malformed, with its first bad row; a
            configuration without rows; a folder that has other files, or cannot be written to.
    """
    builder = _builder(name)
    chosen = _chosen(builder, name, configurations)
    with _plain_errors(source, to):
        folder = Path(to).expanduser().resolve()
        _check_replaceable(folder, name)
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".captionbias-", dir=folder.parent) as work:
            new = Path(work, "new")
            rows, left_out = _write(builder, name, Path(source), new, chosen, Path(work, "cache"))
            _swap(new, folder, Path(work, "old"))
    return Built(folder, rows, left_out)


@contextmanager
def _plain_errors(source: Path | str, to: Path | str) -> Iterator[None]:
    """What `datasets` and the disk raise, as ValueError."""
    from datasets.exceptions import DatasetGenerationError

    try:
        yield
    except (DatasetGenerationError, OSError, RuntimeError) as error:  # RuntimeError: links in a circle, ~nobody
        cause = error.__cause__ if isinstance(error, DatasetGenerationError) else error
        if isinstance(cause, ValueError):
            raise cause from None
        if isinstance(cause, (OSError, RuntimeError)):
            reason = getattr(cause, "strerror", None) or cause
            raise ValueError(f"{to} cannot be written ({reason}): name a folder that can") from error
        raise ValueError(f"the files in {source} are not as published ({cause!r}): fetch them again") from error


def _scripts() -> Path:
    package = Path(captionbias.__file__).parent
    in_wheel = package / "_datasets_scripts"
    return in_wheel if in_wheel.is_dir() else package.parents[1] / "datasets_scripts"


def _check_name(name: str) -> None:
    if name not in dataset_names():
        raise ValueError(f"there is no dataset {name!r}: choose from {', '.join(dataset_names())}")


def _builder(name: str) -> type[CaptionDataset]:
    """The builder class in the script of this name."""
    from captionbias.datasets.caption_dataset import CaptionDataset

    _check_name(name)
    spec = importlib.util.spec_from_file_location(
        f"captionbias._datasets_scripts.{name}", _scripts() / name / f"{name}.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # datasets names the dataset after its module
    spec.loader.exec_module(module)
    classes = (found for found in vars(module).values() if isinstance(found, type))
    return next(found for found in classes if issubclass(found, CaptionDataset) and found is not CaptionDataset)


def _chosen(builder: type[CaptionDataset], name: str, configurations: Sequence[str] | None) -> Sequence[str]:
    known = [config.name for config in builder.BUILDER_CONFIGS]
    for row, configuration in enumerate(configurations or ()):
        if configuration not in known:
            raise ValueError(
                f"configurations[{row}] must be one of {', '.join(known)} for {name}, not {configuration!r}"
            )
    return list(dict.fromkeys(configurations or known))


def _check_replaceable(folder: Path, name: str) -> None:
    """Raise unless the folder is new, empty or an earlier build: nothing that anyone else put there is ever removed."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise ValueError(f"{folder} is a file: name a folder")
    card = folder / CARD
    ours = card.is_file() and mark(name) in card.read_text(encoding="utf-8", errors="replace")
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder).as_posix()
        written = path.is_dir() or (path.is_file() and _WRITTEN.fullmatch(place))
        if not (ours and written):
            raise ValueError(f"{folder} has {place}, which no earlier build of {name} wrote: name another folder")


def _write(
    builder: type[CaptionDataset], name: str, source: Path, new: Path, configurations: Sequence[str], cache: Path
) -> tuple[dict[str, int], Mapping[str, Mapping[str, int]]]:
    """Write the whole folder `new`; returns the numbers of rows, and of those left out with the reasons."""
    infos = {}
    opened = None
    for configuration in configurations:
        built = builder(data_dir=str(source), source=opened, config_name=configuration, cache_dir=str(cache))
        opened = built.source
        built.download_and_prepare(str(cache / configuration), file_format="parquet")
        files = sorted((cache / configuration).glob("*.parquet"))
        if not built.info.splits[opened.SPLIT].num_examples:
            raise ValueError(
                f"the configuration {configuration!r} of {name} has no rows: {reasons(opened.left_out[configuration])} "
                "were left out; check the files, or name the configurations to write"
            )
        (new / configuration).mkdir(parents=True)
        for number, file in enumerate(files):
            file.rename(new / configuration / f"{opened.SPLIT}-{number:05d}-of-{len(files):05d}.parquet")
        built.info.download_size = sum(path.stat().st_size for path in (new / configuration).iterdir())
        infos[configuration] = built.info
    assert opened is not None
    template = (_scripts() / name / CARD).read_text(encoding="utf-8")
    (new / CARD).write_text(dataset_card(template, name, infos, opened, new), encoding="utf-8")
    if opened.BENCHMARK:
        (new / "eval.yaml").write_text(benchmark(template), encoding="utf-8")
    return {key: info.splits[opened.SPLIT].num_examples for key, info in infos.items()}, opened.left_out


def _swap(new: Path, folder: Path, old: Path) -> None:
    """Put the new folder in the place of the old one."""
    try:
        if folder.exists():
            folder.rename(old)
        new.rename(folder)
    except BaseException:  # Ctrl-C too
        if old.exists() and not folder.exists():
            old.rename(folder)
        raise
