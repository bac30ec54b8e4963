"""Counting on engines, where they are installed, as docs/counting.md has it: the same bytes as in one process."""

import subprocess
import sys

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from captionbias.counting import count, merge_counts
from captionbias.counting.shards import count_file
from tests.counting.test_counts import parts, world

pytestmark = pytest.mark.slow


@pytest.fixture
def shards(tmp_path):
    """A folder of four files, and the counts of all."""
    folder = tmp_path / "shards"
    folder.mkdir()
    for number, part in enumerate(parts(world(400), 4)):
        pd.DataFrame(part)[["image_id", "caption", "gender"]].to_parquet(folder / f"{number}.parquet")
    return folder, count(world(400))


def test_ray_data_on_two_workers(shards):
    ray = pytest.importorskip("ray")
    folder, whole = shards
    ray.init(num_cpus=2, include_dashboard=False)
    try:
        counts = ray.data.read_parquet(str(folder)).map_batches(count, batch_format="pyarrow", batch_size=100)
        assert merge_counts(ray.get(counts.to_arrow_refs())).equals(whole)
    finally:
        ray.shutdown()


def test_dask_with_a_file_a_task(shards):
    dask = pytest.importorskip("dask")
    folder, whole = shards
    tables = dask.compute(*map(dask.delayed(count_file), sorted(folder.iterdir())), scheduler="processes")
    assert merge_counts(tables).equals(whole)


def test_spark_maps_in_arrow(shards, monkeypatch):
    sql = pytest.importorskip("pyspark.sql")
    folder, whole = shards
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    spark = sql.SparkSession.builder.master("local[2]").getOrCreate()

    def counted(batches):
        for batch in batches:
            yield from count(batch).to_batches()

    schema = "metric string, side byte, table string, width int, column int, `group` short, units long"
    try:
        table = spark.read.parquet(str(folder)).mapInArrow(counted, schema).toArrow()
    finally:
        spark.stop()
    assert merge_counts([table.cast(whole.schema)]).equals(whole)


def test_an_array_of_jobs_counts_a_shard_each_and_their_counts_are_measured_together(shards, tmp_path):
    """As a loop, in place of Slurm."""
    folder, whole = shards
    for number, shard in enumerate(sorted(folder.iterdir())):
        command = [sys.executable, "-m", "captionbias", "count", shard, "--output", tmp_path / f"{number}.parquet"]
        subprocess.run([*command, "--draws", "5"], check=True, capture_output=True)
    assert merge_counts(pq.read_table(tmp_path / f"{number}.parquet") for number in range(4)).equals(whole)
    assert isinstance(whole, pa.Table)
