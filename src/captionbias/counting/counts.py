"""Counts as tables of whole numbers: made of a batch of images, added up, and measured.

A row says how many units of an image (720,720 are one) a column of a metric's table counts in a group of images. There
are neither captions nor ids in it. Rows of side -1 are settings and facts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from captionbias._version import __version__
from captionbias.arrays import Integers, sparse
from captionbias.bench import reading as readings
from captionbias.bench.measurement import Counted, Counts
from captionbias.captions.check import JUDGED, Filters, check_people, stray_texts
from captionbias.captions.entries import repeated
from captionbias.captions.values import image_keys, is_missing
from captionbias.errors import InputError, few
from captionbias.hashes import Hashes, hashes_of, mix
from captionbias.metrics import find_metric
from captionbias.statistics.groups import GROUPS, SCENE_NAMES, UNIT, NamedUnits, totals

if TYPE_CHECKING:
    import pyarrow as pa

COUNTED = ("sway", "gender_error")
OF_SETS = "multi_directional_ba"  # whose columns are sets of tasks, most of them rare
WITH_PEOPLE = ("ba_mals", "directional_ba", OF_SETS)
TYPES = {"metric": "string", "side": "int8", "table": "string", "width": "int32", "column": "int32", "group": "int16"}
TYPES |= {"units": "int64"}
WHERE = [*TYPES][:-1]
SETTINGS, IMAGES, CAPTIONS = "settings ", "images", "captions"  # tables of side -1: settings, and two digests
LITTLE = 0.001
LIMBS = 4  # of 16 bits each, of which no engine's sum overflows


def count(
    batch: Any,
    *,
    metrics: Sequence[str] | None = None,
    id_column: str = "image_id",
    prediction_column: str = "caption",
    attribute_column: str = "gender",
    reference_column: str | None = None,
    task_column: str | None = None,
    weight_column: str | None = None,
    scene_column: str | None = None,
    frequency_column: str | None = None,
    language: str | None = None,
    filters: Filters | None = None,
    **options: Any,
) -> pa.Table:
    """Count the captions of some images.

    Args:
        batch: a pyarrow Table or RecordBatch, a pandas DataFrame, or a mapping of columns; a row an image. Of fewer
            than some 10,000 rows there are more counts than rows.
        metrics: any of `sway` (its first, second, fourth and sixth question), `gender_error`, `ba_mals`,
            `directional_ba` and `multi_directional_ba`; by default the first two, and with `reference_column` all.
        id_column: of images; each counts once.
        prediction_column: the captioner's caption, or a list of several.
        attribute_column: labels of the metrics' `attribute_lexicon`. Images without one are left out.
        reference_column: lists of human captions; None without people.
        task_column: lists of all tasks that images show; None for those that people name.
        weight_column: how many images each is, a number above 0, in units of 1 / 720,720.
        scene_column: the scene of each image; sway compares the images of one, which then belong in one batch.
        frequency_column: of how many images a row stands: whole numbers of 1 or more.
        language: see `captionbias.captions.check_captions`.
        filters: what is no caption, see `learn_filters`. None: what nearly all captions of these images begin and end
            with, which then is to be the same in every part.
        **options: those of the metrics, such as `attribute_lexicon` and `draws`.

    Returns:
        A table with the columns `metric`, `side`, `table`, `width`, `column`, `group` and `units`, of which the last
        adds up where the others are the same: `merge_counts`, or the group-by of any engine.

    >>> from captionbias.synthetic import plant
    >>> planted = vars(plant(60))
    >>> images = {"image_id": range(60), "caption": planted["predictions"], "gender": planted["attributes"]}
    >>> halves = [{name: column[start::2] for name, column in images.items()} for start in (0, 1)]
    >>> merge_counts(map(count, halves)) == merge_counts([count(images)])
    True
    """
    columns = {
        "image_ids": id_column,
        "predictions": prediction_column,
        "attributes": attribute_column,
        "references": reference_column,
        "tasks": task_column,
        "weights": weight_column,
        "scene": scene_column,
        "frequencies": frequency_column,
    }
    table = table_of(batch, list(filter(None, columns.values())))
    lists = {argument: table[name].to_pylist() for argument, name in columns.items() if name}
    if times := lists.pop("frequencies", None):
        times = [1 if is_missing(label) else of for label, of in zip(lists["attributes"], times, strict=True)]
        lists = repeated(lists, "frequency_column", times)
    labelled = [row for row, label in enumerate(lists["attributes"]) if not is_missing(label)]
    if len(labelled) < len(lists["attributes"]):
        lists = {argument: [column[row] for row in labelled] for argument, column in lists.items()}
    people = check_people(
        **{argument: column for argument, column in lists.items() if argument != "predictions"},
        language=language,
        part=True,
    )
    captions = people.with_predictions(lists["predictions"], filters=filters)
    metrics = metrics or (COUNTED + WITH_PEOPLE if reference_column else COUNTED)
    if others := sorted({*metrics} - {*COUNTED, *WITH_PEOPLE}):
        raise InputError("metrics", f": counts of {others[0]} do not add up over parts: measure it on a sample")
    of_metrics = {name: find_metric(name) for name in metrics}
    if unknown := options.keys() - {name for metric in of_metrics.values() for name in metric.options()}:
        raise InputError(min(unknown), f"is no option of {', '.join(metrics)}")
    counts = {name: metric.units(captions, **metric.accepted(options)) for name, metric in of_metrics.items()}
    said = _numbers(lists.pop("predictions"))
    images = np.sum([_numbers(column) * np.uint64(place) for place, column in enumerate(lists.values(), 1)], axis=0)
    digests = {IMAGES: images, CAPTIONS: images ^ mix(said)}
    learnt = {} if captions.filters == Filters() else {"filters": captions.filters}
    return _table_of(counts, {what: int(mix(rows).sum(dtype=np.uint64)) for what, rows in digests.items()}, learnt)


def draw_images(
    batch: Any, images: int = JUDGED, id_column: str = "image_id", attribute_column: str = "gender"
) -> pa.Table:
    """The labelled images of the least hashes of their ids, in this order, each once: those of all are among those of
    parts."""
    import pyarrow.compute as pc

    table = table_of(batch, [id_column, attribute_column])
    table = table.filter(pc.is_valid(table[attribute_column]))
    ids = image_keys("image_id", table[id_column].to_pylist()) if images else []
    _, rows = np.unique(mix(hashes_of(ids)), return_index=True)
    return table.take(rows[:images])


def learn_filters(
    batch: Any,
    *,
    id_column: str = "image_id",
    prediction_column: str = "caption",
    attribute_column: str = "gender",
    reference_column: str | None = None,
    language: str | None = None,
    **_: Any,
) -> Filters:
    """What nearly all captions begin and end with, and the one that many images have without fitting them, as
    `check_captions` takes off and leaves out: of all images, whose `draw_images` these are, for `count(filters=)`."""
    columns = {"image_ids": id_column, "attributes": attribute_column, "references": reference_column}
    table = table_of(batch, [prediction_column, *filter(None, columns.values())])
    lists = {argument: table[name].to_pylist() for argument, name in columns.items() if name}
    people = check_people(**lists, language=language, part=True)
    captions = people.with_predictions(table[prediction_column].to_pylist())
    frame = (captions.filters or Filters()).frame
    return Filters(frame, stray_texts(captions, people.ids) if captions.references else ())


def merge_counts(tables: Iterable[pa.Table]) -> pa.Table:
    """The counts of all images, of those of parts: the same bytes, however the images were divided. Of any number of
    tables, those that were not added yet are in memory, as many rows as their sums have."""
    held: list[pa.Table] = []
    for table in tables:
        held.append(table)
        if sum(map(len, held[1:])) > len(held[0]):
            held = [_sums_of(held)]
    return _sums_of(held)


def _sums_of(tables: Sequence[pa.Table]) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc
    from pandas import factorize

    rows = pa.concat_tables(tables).combine_chunks()
    metric, table = (_ranks(rows[name].chunk(0)) for name in ("metric", "table"))
    side, width, column, group = (np.asarray(rows[name]).astype(np.int64) for name in WHERE if TYPES[name] != "string")
    number, _ = factorize(((metric * 4 + side + 1) * (table.max() + 1) + table << 32) + width, sort=True)
    cell = (column << 13) + group
    order = np.lexsort((cell, number))
    first = np.flatnonzero(np.diff(number[order], prepend=-1) | np.diff(cell[order], prepend=-1))
    units = np.add.reduceat(np.asarray(rows["units"])[order], first)
    summed = rows.take(order[first])
    settings = np.asarray(pc.starts_with(summed["table"], SETTINGS))
    units[settings] = 1
    if settings.sum() > len(set(summed.filter(settings)["metric"].to_pylist())):
        ways = "count them anew", "with the same filters, if captions begin alike: see learn_filters"
        raise InputError("tables", "were counted with other settings, or by other versions:", *ways)
    if (units[np.asarray(pc.starts_with(summed["table"], f'"{SCENE_NAMES}'))] > 1).any():
        raise InputError(
            "tables", ": images of one scene were counted apart: put those of a scene into one file or batch"
        )
    for what in (IMAGES, CAPTIONS):
        limbs = np.flatnonzero(pc.equal(summed["table"], what))
        total = sum(int(units[row]) << 16 * limb for limb, row in enumerate(limbs.tolist()))
        units[limbs] = [total >> 16 * limb & 0xFFFF for limb in range(len(limbs))]
    return summed.set_column(summed.column_names.index("units"), "units", pa.array(units))


def _ranks(texts: pa.Array) -> Integers:
    """The place of each text among those that there are, in order."""
    encoded = texts.dictionary_encode()
    ranks: Integers = np.argsort(np.argsort(encoded.dictionary.to_pylist()))[encoded.indices]
    return ranks


def read_counts(*paths: str | Path) -> Counted:
    """The counts of files, or of folders of files, that `captionbias count` wrote, each of other images, as in
    `sway(read_counts(path))`."""
    given = map(Path, paths)
    files = [file for path in given for file in (sorted(path.glob("*.parquet")) if path.is_dir() else [path])]
    if lacking := [file for file in files if not file.is_file()]:
        raise InputError("counts", f": {lacking[0]} does not exist: check the path")
    return counts_of(merge_counts(read_each("counts", zip(files, files, strict=True))))


def read_each(argument: str, counted: Iterable[tuple[Path, Path]]) -> Iterator[pa.Table]:
    """The counts in files, each beside what it counts; InputError if two are of the same captions."""
    import pyarrow.parquet as pq

    seen = dict[str, Path]()
    for file, shard in counted:
        table = pq.read_table(file)
        if twin := seen.get(digest := digest_of(table, CAPTIONS)):
            raise InputError(argument, f": {shard} has the captions of {twin}: an image counts once")
        seen[digest] = shard
        yield table


def without_small_cells(table: pa.Table, least: int) -> pa.Table:
    """The counts in as few groups, 32 or more, as it takes for a thousandth of what is counted to be in counts of fewer
    images than `least`; and without these. Scores move by as little, and intervals are of fewer groups. Of
    `multi_directional_ba`, most of whose sets of tasks are rare, nothing is left."""
    import pyarrow as pa

    table = table.filter(np.asarray(table["metric"]) != OF_SETS)
    counted, group = np.asarray(table["side"]) >= 0, np.asarray(table["group"])
    for groups in (GROUPS >> halved for halved in range(8)):
        folded = pa.array(np.where(counted, group % groups, group))
        fewer = merge_counts([table.set_column(WHERE.index("group"), "group", folded)])
        units = np.where(np.asarray(fewer["side"]) < 0, 0, np.asarray(fewer["units"]))
        small = (units > 0) & (units < least * UNIT)
        if units[small].sum() < LITTLE * units.sum():
            return fewer.filter(~small)
    raise InputError(
        "min_cell", f": counts are of fewer than {least} images too often: count more images, or other metrics"
    )


def counts_of(table: pa.Table) -> Counted:
    """What metrics take in the place of captions."""
    columns = {name: np.asarray(table[name]) for name in table.column_names}
    images, said = (digest_of(table, name) for name in (IMAGES, CAPTIONS))
    metrics: dict[str, Counts] = {}
    for metric, name in zip(columns["metric"].tolist(), columns["table"].tolist(), strict=True):
        if name.startswith(SETTINGS):
            settings = json.loads(name.removeprefix(SETTINGS))
            signed = settings["signed"] | {"rows": f"{images},{said}"}
            frame, strays = settings.get("filters", Filters())
            notes = [f"predictions: {text!r:.60} is taken off or left out" for text in (*frame, *strays) if text]
            metrics[metric] = Counts(settings["options"], signed, _sides(columns, columns["metric"] == metric), notes)
    first = next(iter(metrics.values())).sides[0]
    return Counted(metrics, round(totals(first)[readings.IMAGES][0, 0]), images)


def digest_of(table: pa.Table, what: str) -> str:
    """A digest of the images that were counted, or of what the captioner says of them, in any order."""
    limbs = table.filter((np.asarray(table["side"]) < 0) & (np.asarray(table["table"]) == what))["units"].to_pylist()
    return f"{sum(units << 16 * limb for limb, units in enumerate(limbs)) % 2**64:016x}"


def _sides(columns: Mapping[str, Any], of_metric: Any) -> list[dict[Any, Any]]:
    sides: list[dict[Any, Any]] = []
    for side in range(int(columns["side"][of_metric].max()) + 1):
        of_side = of_metric & (columns["side"] == side)
        texts, number = np.unique(columns["table"][of_side], return_inverse=True)
        place, group, units, width = (columns[name][of_side] for name in ("column", "group", "units", "width"))
        parsed = list(map(json.JSONDecoder().raw_decode, texts.tolist()))
        sides.append({})
        for name, numbered in groupby(range(len(parsed)), key=lambda text: parsed[text][0]):
            first, *others = numbered
            own = (number >= first) & (number <= first + len(others))
            named = not width[own][0]
            rows, shape = (number[own] - first, len(others) + 1) if named else (place[own], int(width[own][0]))
            table = sparse(units[own].astype(np.float64), (rows, group[own]), (shape, GROUPS))
            if named:  # the first has no name
                table = NamedUnits([texts[text][parsed[text][1] :] for text in others], table[1:])
            sides[-1][tuple(name) if isinstance(name, list) else name] = table
    return sides


def _table_of(counts: Mapping[str, Counts], digests: Mapping[str, int], also: Mapping[str, Any]) -> pa.Table:
    import pyarrow as pa

    def rows(column: Any, group: Any, units: Any, *alike: Any) -> pa.Table:
        """Cells of one table, of which `alike` are the metric, the side, the table and its width."""
        numbers = {"column": column, "group": group, "units": units}
        arrays = {
            name: value if isinstance(value, pa.Array) else pa.repeat(value, len(units))
            for name, value in zip(WHERE, alike, strict=False)
        }
        return pa.table({name: pa.array((arrays | numbers)[name]).cast(kind) for name, kind in TYPES.items()})

    limbs, none = np.arange(LIMBS), np.zeros(1, np.int64)
    parts = [
        rows(limbs, limbs * 0, digest >> 16 * limbs.astype(object) & 0xFFFF, "", -1, what, LIMBS)
        for what, digest in digests.items()
    ]
    for metric, of_metric in counts.items():
        settings = {"options": dict(of_metric.options), "signed": dict(of_metric.signed), "v": __version__, **also}
        about = f"{SETTINGS}{json.dumps(settings, sort_keys=True, default=str)}"
        parts.append(rows(none, none, none + 1, metric, -1, about, 0))
        for side, tables in enumerate(of_metric.sides):
            for name, units in tables.items():
                names = units.names if isinstance(units, NamedUnits) else ()
                table, text = (units.units if names else units).tocoo(), json.dumps(name)
                column, group, cells = (np.append(0, of) for of in (*table.coords, table.data))  # a row, whatever
                if names:
                    texts = pa.array([text, *(text + column for column in names)]).take(np.append(0, column[1:] + 1))
                    parts.append(rows(column * 0, group, cells, metric, side, texts, 0))
                else:
                    parts.append(rows(column, group, cells, metric, side, text, table.shape[0]))
    return _sums_of(parts)


def _numbers(column: Sequence[Any]) -> Hashes:
    """A number for what each row of a column has."""
    return mix(hashes_of([entry if isinstance(entry, str) else repr(entry) for entry in column]))


def table_of(batch: Any, names: Sequence[str]) -> pa.Table:
    """A batch as a table; InputError if it lacks one of these columns."""
    import pyarrow as pa

    if isinstance(batch, pa.RecordBatch):
        table = pa.Table.from_batches([batch])
    elif isinstance(batch, Mapping):
        table = pa.table({name: pa.array(list(column)) for name, column in batch.items()})
    else:
        table = batch if isinstance(batch, pa.Table) else pa.Table.from_pandas(batch, preserve_index=False)
    if lacking := [name for name in names if name not in table.column_names]:
        raise InputError("batch", f"has no column {lacking[0]!r}; it has {few(table.column_names)}")
    return table
