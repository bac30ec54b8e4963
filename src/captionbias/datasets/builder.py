"""The `datasets` builder that all of these datasets share."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import datasets
import pyarrow as pa

from captionbias.datasets.original_files import Source, fingerprint


class CaptionDataset(datasets.ArrowBasedBuilder):
    """Builds a dataset from a folder with its original files, `data_dir`.

    What it has built is found again as long as the files, and the code that reads them, are the same. Builders of
    several configurations may share an opened `source`, so that the files are read once. A subclass names its `SOURCE`
    and gives `BUILDER_CONFIGS`, one for each of the source's configurations.
    """

    SOURCE: ClassVar[type[Source]]

    def __init__(
        self, *args: Any, data_dir: str, source: Source | None = None, hash: str | None = None, **options: Any
    ) -> None:
        folder = Path(data_dir).expanduser()
        if not folder.is_dir():
            raise ValueError(f"{data_dir} is no folder: name the one with the original files")
        self.source = source or self.SOURCE(folder)
        super().__init__(*args, data_dir=str(folder), hash=hash or self.fingerprint, **options)

    @cached_property
    def fingerprint(self) -> str:
        """Names the content of the files and of the code, with its lists of words."""
        package = Path(__file__).parents[1]
        read_by = [path for part in ("captions", "data", "text") for path in (package / part).rglob("*")]
        code = [path for path in read_by if path.is_file() and path.suffix != ".pyc"]
        return fingerprint(self.source.files, [*code, Path(inspect.getfile(type(self)))])

    def _info(self) -> datasets.DatasetInfo:
        schema = self.source.schema(self.config.name)
        return datasets.DatasetInfo(features=datasets.Features.from_arrow_schema(schema))

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        return [datasets.SplitGenerator(self.source.SPLIT, {})]

    def _generate_tables(self) -> Iterator[tuple[tuple[int, int], pa.Table]]:
        for number, table in enumerate(self.source.tables(self.config.name)):
            yield (0, number), table
