"""The `datasets` builder that all of these datasets share."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import datasets
import pyarrow as pa

from captionbias.datasets.original_files import OriginalFiles

ROWS_A_TABLE = 4096


class CaptionDataset(datasets.ArrowBasedBuilder):
    """Builds a dataset from a folder with its original files, `data_dir`.

    What it has built is found again as long as the files and the code that reads them are the same. Builders of several
    configurations may share `source`, the opened files, so that they are read once. A subclass names its `SOURCE` and
    has a BuilderConfig in `BUILDER_CONFIGS` for each of the source's configurations.
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
        """A name for the content of the original files and of the code that reads them, with its lists of words."""
        package = Path(__file__).parents[1]
        code = [path for part in ("captions", "datasets", "io", "text") for path in (package / part).rglob("*")]
        code = [path for path in code if path.is_file() and path.suffix != ".pyc"]
        total = hashlib.sha256()
        for path in (*self.source.files, *sorted(code), Path(inspect.getfile(type(self)))):
            content = hashlib.sha256()
            try:
                with path.open("rb") as file:
                    while part := file.read(1 << 20):
                        content.update(part)
            except OSError as error:
                raise ValueError(f"{path} cannot be read ({error.strerror or error}): put the file there") from error
            total.update(path.name.encode(errors="surrogateescape") + b"\0" + content.digest())
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
