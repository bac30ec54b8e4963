"""Counting the captions of files: in bounded memory, on several processes, going on where it was killed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from hashlib import sha256
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from captionbias.captions.answers import SAMPLE
from captionbias.captions.check import JUDGED, Filters
from captionbias.captions.names import DRAWN_OF
from captionbias.counting.counts import (
    count,
    counts_of,
    draw_images,
    learn_filters,
    merge_counts,
    read_each,
    table_of,
    without_small_cells,
)
from captionbias.errors import InputError, few, within
from captionbias.io.files import written_whole
from captionbias.progress import report_if_long

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")
R = TypeVar("R")
ROWS = 16_384  # at a time
USUAL = {"id_column": "image_id", "attribute_column": "gender", "prediction_column": "caption", "reference_column": ""}
ENDINGS = (".parquet", ".jsonl", ".csv", ".jsonl.gz", ".csv.gz")


def count_file(path: str | Path, **options: Any) -> pa.Table:
    """The counts of a Parquet, JSONL or CSV file, as a task of any scheduler; `options`: of `count`."""
    counts, _ = _count_file(Path(path), 0, {"filters": _filters_of([Path(path)], 1, options), **options})
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
    options["filters"] = _filters_of(files, processes, options)
    parts = output.with_name(f"{output.name}.parts")
    named = {parts / _part_name(file, sample, options): file for file in files}
    waiting = [_Job(file, part, sample, options) for part, file in named.items() if not part.is_file()]
    with report_if_long("counting", "shards", at_once=True) as report:
        report(len(named) - len(waiting), len(named))
        for done, _ in enumerate(_mapped(_count_part, waiting, processes), len(named) - len(waiting) + 1):
            report(done, len(named))
    merged = merge_counts(read_each("shards", named.items()))
    if sample:
        images = _draw([_read(_sample_of(part)) for part in named], sample, options)
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
    import pyarrow as pa

    images: list[pa.Table] = []

    def counts() -> Iterator[pa.Table]:
        batches: Iterable[pa.Table] = (table_of(batch, ()) for batch in _batches(path))
        if options.get("scene_column"):  # images of a scene are counted together
            batches = [pa.concat_tables(batches, promote_options="permissive")]
        for batch in batches:
            images[:] = [_draw([*images, batch], sample, options)]
            yield count(batch, **options)

    return merge_counts(counts()), images[0]


def _draw(tables: list[pa.Table], images: int, options: Mapping[str, Any]) -> pa.Table:
    import pyarrow as pa

    columns = {name: options[name] for name in ("id_column", "attribute_column") if name in options}
    return draw_images(pa.concat_tables(tables, promote_options="permissive"), images, **columns)


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


def _mapped(function: Callable[[T], R], waiting: Sequence[T], processes: int) -> Iterator[R]:
    if processes < 2 or len(waiting) < 2:
        yield from map(function, waiting)
        return
    with ProcessPoolExecutor(min(processes, len(waiting)), get_context("spawn")) as pool:
        yield from pool.map(function, waiting)


def _filters_of(files: Sequence[Path], processes: int, options: Mapping[str, Any]) -> Filters:
    """What is no caption of the images of all files, see `learn_filters`."""
    drawn: list[pa.Table] = []
    for table in _mapped(partial(_drawn_of_file, options=options), files, processes):
        drawn = [_draw([*drawn, table], JUDGED, options)]
    return learn_filters(drawn[0], **options)


def _drawn_of_file(path: Path, options: Mapping[str, Any]) -> pa.Table:
    """Of the images of which filters are learned, those of a file."""
    names = list(filter(None, (options.get(name, usual) for name, usual in USUAL.items())))
    images = JUDGED if len(names) == len(USUAL) else SAMPLE
    drawn: list[pa.Table] = []
    try:
        for batch in _batches(path):
            table = table_of(batch, names).select(names)
            ids = table[names[0]].cast("string")
            drawn = [_draw([*drawn, table.set_column(0, names[0], ids)], images, options)]
    except ValueError as error:
        raise within(str(path), error) from error
    if not drawn:
        raise InputError("shards", f": {path} has no row")
    return drawn[0]


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
