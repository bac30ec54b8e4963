"""Captioners measured by processes that share nothing but a cache: one table, equal to that of one process."""

from __future__ import annotations

import pandas as pd

from benchmarks.many import collected, planted_files, run_array

QUICK = ["--preset", "fast", "--trials", "2", "--bootstrap", "30"]


def test_an_array_of_processes_gives_the_table_of_one(tmp_path):
    files = planted_files(tmp_path, captioners=6, images=120)
    for name, processes in (("array", 2), ("one", 1)):
        run_array(tmp_path, files, processes, name, QUICK)
    array, one = (collected(tmp_path, name) for name in ("array", "one"))
    pd.testing.assert_frame_equal(array, one)
    assert sorted(set(one["captioner"])) == [file.stem for file in files]
    kept = [{path.name for path in (tmp_path / f"{name}-cache").glob("trial-*.npz")} for name in ("array", "one")]
    assert kept[0] == kept[1], "nothing was trained but what one process trains"
