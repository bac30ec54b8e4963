"""Folders of dead processes are swept; those in use, those just made, and whatever else there is stay."""

from __future__ import annotations

import os
import time

from captionbias.app.server import LOCK, NEW, own_folder, sweep
from tests.launch import python

PREFIX = "captionbias-test-"
LEAVE = f"""
import os
from captionbias.app.server import own_folder
folder, lock = own_folder({PREFIX!r})
print(folder, flush=True)
os._exit(0)
"""


def test_what_a_dead_process_left_goes_with_the_next_folder_and_one_in_use_stays(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    used, lock = own_folder(PREFIX)
    assert used.stat().st_mode & 0o777 == 0o700
    died = python("-c", LEAVE, folder=tmp_path, TMPDIR=tmp_path)
    assert sorted(map(str, tmp_path.iterdir())) == sorted([str(used), died.strip()])
    mine, _ = own_folder(PREFIX)
    assert sorted(tmp_path.iterdir()) == sorted([used, mine])
    lock.release()
    sweep(tmp_path, PREFIX)
    assert list(tmp_path.iterdir()) == [mine]


def test_a_folder_that_is_just_made_and_links_and_other_folders_stay(tmp_path):
    other = tmp_path / "other"
    kept = [tmp_path / f"{PREFIX}new", other, tmp_path / "mine"]
    for path in kept:
        path.mkdir()
    (other / LOCK).touch()
    (tmp_path / f"{PREFIX}link").symlink_to(other)
    old = tmp_path / f"{PREFIX}old"
    old.mkdir()
    os.utime(old, (time.time() - NEW - 1,) * 2)
    sweep(tmp_path, PREFIX)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([f"{PREFIX}link", *(path.name for path in kept)])
