"""Where tables are, beside files on this machine: file systems that fsspec knows, and datasets."""

from __future__ import annotations

import gzip
import io
import os
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any

PACKED = ".gz"
MOST_BYTES = 500_000_000  # of what is unpacked, from a file that may be small
_URL = re.compile(r"[a-z][a-z0-9+.-]*(::|://)")


def is_url(source: object) -> bool:
    """Whether this is a path of a file system that fsspec knows."""
    return isinstance(source, str) and bool(_URL.match(source))


@dataclass(frozen=True)
class Remote:
    """A file of any file system that fsspec knows, packed by gzip or not, with what is used here of a `Path`."""

    url: str

    def __str__(self) -> str:
        return self.url

    @property
    def suffix(self) -> str:
        return PurePosixPath(self.url.partition("?")[0].removesuffix(PACKED)).suffix

    def exists(self) -> bool:
        file_system, path = self._place()
        return bool(file_system.exists(path))

    def open(self, mode: str = "r", encoding: str | None = None, newline: str | None = None) -> IO[Any]:
        file_system, path = self._place()
        file: IO[Any] = file_system.open(path, "rb")
        if path.endswith(PACKED):
            with file, gzip.open(file) as packed:
                file = io.BytesIO(packed.read(MOST_BYTES + 1))
            if file.getbuffer().nbytes > MOST_BYTES:
                raise ValueError(f"{self} unpacks to more than {MOST_BYTES / 1e6:,.0f} MB: give fewer rows")
        return file if "b" in mode else io.TextIOWrapper(file, encoding=encoding, newline=newline)

    def _place(self) -> tuple[Any, str]:
        import fsspec

        try:
            file_system, path = fsspec.url_to_fs(self.url)
            return file_system, path
        except (ImportError, ValueError, TypeError) as error:  # of some file systems the address does not say enough
            raise ValueError(
                f"{self.url} cannot be opened ({error}): install what it needs, or copy the file"
            ) from error


def load_rows(source: str | Path) -> Any:
    """The `datasets.Dataset` of `owner/dataset:configuration:split`, or of a folder, FOLDER:configuration:split."""
    from datasets import Dataset, load_dataset, load_from_disk

    name, _, rest = (str(source), "", "") if os.path.isdir(os.path.expanduser(source)) else str(source).partition(":")
    configuration, _, split = rest.partition(":")
    folder = Path(os.path.expanduser(name))
    try:
        if (folder / "state.json").exists() or (folder / "dataset_dict.json").exists():
            dataset = load_from_disk(str(folder))
        else:
            dataset = load_dataset(str(folder) if folder.is_dir() else name, configuration or None)
    except Exception as error:  # datasets, the Hub's client and the system raise many kinds
        reason = " ".join((str(error).strip() or type(error).__name__).splitlines()[:2])
        absent = "" if folder.is_dir() else "does not exist here and "
        raise ValueError(
            f"{name} {absent}cannot be loaded as a dataset ({reason}): check the path, or the name and configuration"
        ) from error
    if isinstance(dataset, Dataset):
        return dataset
    split = split or (next(iter(dataset)) if len(dataset) == 1 else "")
    if split not in dataset:
        raise ValueError(f"{name} has the splits {', '.join(dataset)}: name one, as in {name}:{configuration}:NAME")
    return dataset[split]
