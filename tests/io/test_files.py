"""Files that people name: written whole or not at all, refused before the work where they cannot be."""

import os
import re
import stat

import pytest

from captionbias.io.files import check_writable, replacing, write_text


@pytest.mark.skipif(os.name != "posix", reason="pipes")
@pytest.mark.parametrize("place", ["missing/result.json", "file/result.json", "folder", "pipe", "x" * 300])
@pytest.mark.parametrize("call", [check_writable, lambda path: write_text("new", path)], ids=["check", "write"])
def test_a_place_that_cannot_be_written_is_named_and_left_as_it_was(place, tmp_path, call):
    (tmp_path / "file").write_text("a file")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match=re.escape(str(tmp_path / place)) + r" cannot be written \(.+\): name a file"):
        call(tmp_path / place)
    assert sorted(file.name for file in tmp_path.rglob("*")) == ["file", "folder", "pipe"]
    assert (tmp_path / "pipe").is_fifo()


def test_the_old_file_stays_until_all_is_written_and_two_writers_do_not_write_into_each_other(tmp_path):
    path = tmp_path / "result.json"
    check_writable(path)
    assert not list(tmp_path.iterdir())
    path.write_text("old")
    check_writable(path)
    with pytest.raises(UnicodeEncodeError):
        write_text("new \ud800", path)
    with replacing(path) as one, replacing(path) as other:
        one.write_text("one")
        other.write_text("other")
        assert path.read_text() == "old"
    assert path.read_text() == "one"
    assert os.listdir(tmp_path) == ["result.json"]


@pytest.mark.skipif(os.name != "posix", reason="modes and links")
def test_a_link_stays_and_the_file_behind_it_keeps_its_mode(tmp_path):
    behind, link = tmp_path / "behind.json", tmp_path / "link.json"
    behind.write_text("old")
    behind.chmod(0o640)
    link.symlink_to(behind)
    write_text("new", link)
    assert link.is_symlink()
    assert behind.read_text() == "new"
    assert stat.S_IMODE(behind.stat().st_mode) == 0o640
