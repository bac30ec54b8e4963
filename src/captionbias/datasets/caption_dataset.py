"""What a dataset is made of, original files in and rows out, and the `datasets` builder that all datasets share."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterator
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import datasets
import pyarrow as pa

import captionbias

ROWS_A_TABLE = 4096


class OriginalFiles:
    """The original files of one dataset. A subclass finds them in a folder and reads their rows.

    Attributes:
        SPLIT: the name of the one split.
        BENCHMARK: whether captioners are measured on it, so that their results on the Hub may name it.
        folder: where the files are.
        files: every file that is read.
        captioners: names of the columns with captioners' captions.
        left_out: for each configuration that was read, why rows were left out, and how many for each reason.
    """

    SPLIT: ClassVar[str] = "validation"
    BENCHMARK: ClassVar[bool] = True
    files: tuple[Path, ...]
    captioners: tuple[str, ...] = ()

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.left_out: dict[str, Counter[str]] = {}

    def schema(self, configuration: str) -> pa.Schema:
        """The columns of a configuration."""
        raise NotImplementedError

    def rows(self, configuration: str) -> Iterator[dict[str, Any]]:
        """The rows of a configuration, in an order that depends on nothing but the files."""
        raise NotImplementedError


class CaptionDataset(datasets.ArrowBasedBuilder):
    """Builds a dataset from a folder with its original files, `data_dir`.

    What it has built is found again as long as the files and the version of this library are the same. Builders of
    several configurations may share `source`, the opened files, so that they are read once. A subclass names its
    `SOURCE` and has a BuilderConfig in `BUILDER_CONFIGS` for each of the source's configurations.
    """

    SOURCE: ClassVar[type[OriginalFiles]]

    def __init__(
        self, *args: Any, data_dir: str, source: OriginalFiles | None = None, hash: str | None = None, **options: Any
    ) -> None:
        folder = Path(data_dir).expanduser()
        if not folder.is_dir():
            raise ValueError(f"{data_dir} is not a folder: name the one with the original files")
        self.source = source or self.SOURCE(folder)
        super().__init__(*args, data_dir=str(folder), hash=hash or self.fingerprint, **options)

    @cached_property
    def fingerprint(self) -> str:
        """A name for the content of the original files and the version of the code that reads them."""
        total = hashlib.sha256(captionbias.__version__.encode())
        for path in self.source.files:
            try:
                content = hashlib.sha256(path.read_bytes()).digest()
            except OSError as error:
                raise ValueError(f"{path} cannot be read ({error.strerror or error}): put the file there") from error
            total.update(path.name.encode(errors="surrogateescape") + b"\0" + content)
        return total.hexdigest()[:32]

    def _info(self) -> datasets.DatasetInfo:
        schema = self.source.schema(self.config.name)
        return datasets.DatasetInfo(features=datasets.Features.from_arrow_schema(schema))

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        return [datasets.SplitGenerator(self.source.SPLIT, {})]

    def _generate_tables(self) -> Iterator[tuple[tuple[int, int], pa.Table]]:
        schema = self.source.schema(self.config.name)
        rows = self.source.rows(self.config.name)
        number = 0
        while block := list(islice(rows, ROWS_A_TABLE)):
            yield (0, number), pa.Table.from_pylist(block, schema)
            number += 1


def find_file(folder: Path, *names: str) -> Path | None:
    """The first of these files that is there, in the folder itself or in a folder `annotations` in it."""
    places = (place / name for name in names for place in (folder, folder / "annotations"))
    return next((path for path in places if path.is_file()), None)


def need_file(folder: Path, name: str, origin: str) -> Path:
    """As `find_file`; raises ValueError, with where the file comes from, when it is not there."""
    path = find_file(folder, name)
    if path is None:
        raise ValueError(f"{folder} has no {name}: put it there; it comes from {origin}")
    return path


def check_column(name: str, file: Path, taken: Collection[str]) -> None:
    """Raise ValueError if a captioner's column would have a name that is `taken`, in whatever case."""
    if name.lower() in map(str.lower, taken):
        raise ValueError(f"{file.name} names a column {name!r}, and there is another one: rename the file")
