"""A command that a scheduler or a user ends leaves nothing behind but what the next run goes on from."""

import os
import signal
import subprocess
import sys
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from captionbias.synthetic import plant
from tests import signals
from tests.patience import PATIENCE

IMAGES = 1500
LONG = " on a day that is long" * 40  # an array of a megabyte travels to workers as a file


@pytest.fixture
def started(tmp_path):
    """LIC with a small network in two worker processes, which read the captions from files in the temporary folder."""
    planted = plant(IMAGES, captions=1)
    references = [[text + LONG for text in texts] for texts in planted.references]
    predictions = [text + LONG for text in planted.predictions]
    table = {"image_id": list(range(IMAGES)), "caption": predictions, "references": references}
    pq.write_table(pa.table(table | {"gender": planted.attributes}), tmp_path / "nic.parquet")
    (tmp_path / "temporary").mkdir()
    environment = {"TMPDIR": tmp_path / "temporary", "CAPTIONBIAS_CACHE": tmp_path / "cache", "LOKY_MAX_CPU_COUNT": "2"}
    files = ["--predictions", "nic.parquet", "--references", "nic.parquet", "--reference-column", "references"]
    chosen = ["--encoder", "dense", "--trials", "40", "--bootstrap", "0", "--output", "result.json"]
    process = subprocess.Popen(
        [sys.executable, "-m", "captionbias", "measure", "lic", *files, *chosen],
        cwd=tmp_path,
        env=os.environ | {name: str(value) for name, value in environment.items()},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=signals.restore,
    )
    yield process
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


@pytest.mark.parametrize("sent", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_signal_leaves_no_temporary_files_and_keeps_finished_trials(started, tmp_path, sent):
    cache, temporary, deadline = tmp_path / "cache", tmp_path / "temporary", time.monotonic() + PATIENCE
    while not (kept := {*cache.glob("trial-*.npz")}) and started.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    assert started.poll() is None, started.communicate()[1]
    assert kept
    assert list(temporary.glob("joblib*/*")), "workers read no files"
    # As a terminal sends Control-C: to the workers too.
    os.killpg(started.pid, sent) if sent == signal.SIGINT else started.send_signal(sent)
    _, complaints = started.communicate(timeout=PATIENCE)  # the workers hold its pipes, so they have ended as well
    assert started.returncode == 128 + sent
    assert "Traceback" not in complaints
    if sent == signal.SIGINT:
        told = "stopped: finished trials are kept: run the same command again to continue from there"
        assert complaints.splitlines()[-1] == told, complaints
    assert not list(temporary.glob("joblib*/*"))
    assert kept <= {*cache.glob("trial-*.npz")}
    assert {path.name for path in tmp_path.iterdir()} == {"nic.parquet", "temporary", "cache"}
    assert not list(cache.glob(".captionbias-*.part"))
