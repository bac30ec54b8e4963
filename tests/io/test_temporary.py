"""Folders of dead processes are swept; those in use, those just made, and whatever else there is stay."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from captionbias.io.temporary import LOCK, NEW, own_folder, sweep

PREFIX = "captionbias-test-"
LEAVE = f"""
import os
from captionbias.io.temporary import own_folder
folder, lock, swept = own_folder({PREFIX!r})
print(os.getpid(), folder, swept, flush=True)
os._exit(1)
"""


def test_what_a_dead_process_left_goes_with_the_next_folder_and_one_in_use_stays(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    used, lock, swept = own_folder(PREFIX)
    assert (swept, used.stat().st_mode & 0o777) == ([], 0o700)
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    died = subprocess.run([sys.executable, "-c", LEAVE], env=environment, capture_output=True, text=True, check=False)
    dead, left, found = died.stdout.split(maxsplit=2)
    assert found == "[]\n"
    assert sorted(map(str, tmp_path.iterdir())) == sorted([str(used), left])
    mine, _, swept = own_folder(PREFIX)
    assert swept == [int(dead)]
    assert sorted(tmp_path.iterdir()) == sorted([used, mine])
    lock.release()
    assert sweep(tmp_path, PREFIX) == [os.getpid()]


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
    assert sweep(tmp_path, PREFIX) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([f"{PREFIX}link", *(path.name for path in kept)])
