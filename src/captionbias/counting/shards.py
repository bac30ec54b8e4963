"""Counting the captions of files: in bounded memory, on several processes, going on where it was killed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from hashlib import sha256
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from captionbias.captions.names import DRAWN_OF, USUAL_ID
from captionbias.captions.values import image_keys
from captionbias.counting.counts import (
    CAPTIONS,
    as_table,
    count,
    counts_of,
    digest_of,
    merge_counts,
    without_small_cells,
)
from captionbias.errors import InputError, few, within
from captionbias.hashes import hashes_of, mix
from captionbias.io.files import written_whole
from captionbias.progress import report_if_long

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = 16_384  # at a time
ENDINGS = (".parquet", ".jsonl", ".csv", ".jsonl.gz", ".csv.gz")


def count_file(path: str | Path, **options: Any) -> pa.Table:
    """The counts of a Parquet, JSONL or CSV file, as a task of any scheduler; `options`: of `count`."""
    counts, _ = _count_file(Path(path), 0, options)
    return counts


def count_files(
    shards: Sequence[str | Path],
    output: str | Path,
    *,
    sample: int = 0,
    min_cell: int = 0,
    processes: int = 1,
    **options: Any,
) -> None:
    """Count the captions of shards into a Parquet file, which `read_counts` reads.

    A shard that was counted is kept in `{output}.parts` until all are, so that a run that was killed goes on.

    Args:
        shards: files, or folders of such; in any order.
        output: the file.
        sample: how many images to keep with their captions, drawn by the hashes of their ids, for what does not add
            (words, A to T, LIC, DBAC), in a file beside the output, as `counts.sample.parquet`; 0 for none.
        min_cell: of how many images a count must be, before a file is published: see `without_small_cells`.
        processes: how many count at a time.
        **options: of `count`.
    """
    import pyarrow as pa

    files, output = [file for shard in shards for file in _files(Path(shard))], Path(output)
    parts = output.with_name(f"{output.name}.parts")
    named = {parts / _part_name(file, sample, options): file for file in files}
    waiting = [_Job(file, part, sample, options) for part, file in named.items() if not part.is_file()]
    with report_if_long("counting", "shards", at_once=True) as report:
        report(len(named) - len(waiting), len(named))
        for done, _ in enumerate(_counted(waiting, processes), len(named) - len(waiting) + 1):
            report(done, len(named))
    seen = dict[str, Path]()

    def counts() -> Iterator[pa.Table]:
        for part, file in named.items():
            table = _read(part)
            if (twin := seen.setdefault(digest_of(table, CAPTIONS), file)) != file:
                raise InputError("shards", f": {file} has the captions of {twin}: an image counts once")
            yield table

    merged = merge_counts(counts())
    if sample:
        images = _least([_read(_sample_of(part)) for part in named], sample, options)
        drawn_of = pa.repeat(counts_of(merged).images, len(images))
        _write(images.append_column(DRAWN_OF, drawn_of), output.with_suffix(".sample.parquet"))
    _write(without_small_cells(merged, min_cell) if min_cell else merged, output)
    for part in parts.iterdir():
        part.unlink()
    parts.rmdir()


class _Job(NamedTuple):
    file: Path
    part: Path
    sample: int
    options: dict[str, Any]


def _count_file(path: Path, sample: int, options: dict[str, Any]) -> tuple[pa.Table, pa.Table]:
    """The counts of a file, and the images of a sample."""
    images: list[pa.Table] = []

    def counts() -> Iterator[pa.Table]:
        for batch in map(as_table, _batches(path)):
            images[:] = [_least([*images, batch], sample, options)]
            yield count(batch, **options)
        if not images:
            raise InputError("shards", f": {path} has no row")

    return merge_counts(counts()), images[0]


def _least(tables: list[pa.Table], images: int, options: dict[str, Any]) -> pa.Table:
    """The images of the least hashes, in their order: those of all are among those of parts."""
    import pyarrow as pa

    table = pa.concat_tables(tables, promote_options="permissive")
    ids = image_keys("image_id", table[options.get("id_column", USUAL_ID)].to_pylist()) if images else []
    return table.take(np.argsort(mix(hashes_of(ids)), kind="stable")[:images])


def _files(shard: Path) -> list[Path]:
    files = sorted(file for file in shard.iterdir() if file.name.endswith(ENDINGS)) if shard.is_dir() else [shard]
    for file in files or [shard]:
        if not file.name.endswith(ENDINGS) or not file.is_file():
            raise InputError("shards", f": {file} is not a {few(ENDINGS, len(ENDINGS))} file, nor a folder of such")
    return files


def _part_name(file: Path, sample: int, options: dict[str, Any]) -> str:
    """A name that is another for another file or other options."""
    about, settings = file.stat(), json.dumps([sample, options], sort_keys=True, default=str)
    known = str(file.resolve()), about.st_size, about.st_mtime_ns, settings
    return f"{sha256(repr(known).encode()).hexdigest()[:16]}.parquet"


def _sample_of(part: Path) -> Path:
    return part.with_suffix(".sample.parquet")


def _counted(waiting: list[_Job], processes: int) -> Iterator[None]:
    if processes < 2 or len(waiting) < 2:
        yield from map(_count_part, waiting)
        return
    with ProcessPoolExecutor(min(processes, len(waiting)), get_context("spawn")) as pool:
        yield from pool.map(_count_part, waiting)


def _count_part(job: _Job) -> None:
    try:
        counts, images = _count_file(job.file, job.sample, job.options)
    except ValueError as error:
        raise within(str(job.file), error) from error
    job.part.parent.mkdir(parents=True, exist_ok=True)
    if job.sample:
        _write(images, _sample_of(job.part))
    _write(counts, job.part)


def _read(path: Path) -> pa.Table:
    import pyarrow.parquet as pq

    return pq.read_table(path)


def _write(table: pa.Table, path: Path) -> None:
    import pyarrow.parquet as pq

    with written_whole(path) as part:
        pq.write_table(table, part, compression="zstd")


def _batches(path: Path) -> Iterator[Any]:
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        yield from pq.ParquetFile(path).iter_batches(ROWS)
    elif ".csv" in path.name:
        import pandas as pd

        yield from pd.read_csv(path, chunksize=ROWS)
    else:
        import gzip

        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
            while batch := list(map(json.loads, islice(filter(str.strip, lines), ROWS))):
                yield {name: [row.get(name) for row in batch] for name in batch[0]}
