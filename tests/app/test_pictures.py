"""Images that strangers upload are masked and shrunk as the judge does it, or refused with a reason; never here."""

from __future__ import annotations

import io
import json
import stat
import struct
import zipfile
import zlib
from contextlib import ExitStack

import numpy as np
import pytest
from PIL import Image

from captionbias.app import uploads
from captionbias.app.uploads import open_pictures
from captionbias.images.judges import small_pixels
from captionbias.images.masks import masked
from captionbias.images.reading import Images, thumbnail
from captionbias.synthetic import draw, plant
from tests.app.conftest import annotated, packed, picture


@pytest.fixture
def read(tmp_path):
    """What becomes of uploaded files, by what the child process does, in this one."""

    def read_here(*paths, annotations=None):
        asked = {"pictures": map(str, paths), "annotations": annotations and str(annotations), "folder": tmp_path}
        with ExitStack() as opened:
            return uploads._pictures(asked, opened)

    return read_here


def test_images_come_as_the_judge_sees_them_and_the_server_needs_the_uploads_no_more(tmp_path):
    """Persons are masked at full size, then shrunk; what is not an image or shows nobody is left out by its name."""
    images, persons = draw(plant(6, captions=1), size=96)
    names = [f"COCO_val2014_{number:012}.png" for number in range(6)]
    files = {f"val/{name}": picture(image) for name, image in zip(names, images, strict=True)}
    files |= {"val/readme.txt": b"x", "val/broken.jpg": b"x", "val/unknown.png": picture(images[0]), "__MACOSX/x": b""}
    archive = packed(tmp_path / "photos.zip", files)
    annotations = annotated(tmp_path / "instances.json", names, persons, without=[5])
    found = open_pictures([archive], annotations)
    archive.unlink()
    assert (found.ids, found.side) == (("0", "1", "2", "3", "4"), 64)
    expected = small_pixels(masked(Images(tuple("01234"), images[:5]), persons[:5]))
    assert np.array_equal(found.pixels(), expected)
    *_, left_out = found.notes
    for reason in (
        "readme.txt is not an image",
        "(broken.jpg) cannot be read as an image",
        "image unknown is not in instances",
    ):
        assert reason in left_out
    assert "4 files are left out" in left_out
    assert [caption for _, caption in found.previews[:3]] == ["0, before", "0, masked", "1, before"]
    before, after = (np.asarray(Image.open(file)) for file, _ in found.previews[:2])
    assert np.array_equal(before, images[0])
    assert not np.array_equal(after, images[0])
    small = found.small()
    assert small("0") == small(names[0]) == thumbnail(Image.fromarray(images[0]))
    assert small("unknown") == ""


def test_a_bomb_is_not_decoded_and_what_takes_too_long_is_stopped(tmp_path, monkeypatch):
    image = tmp_path / "huge.png"
    small = picture(np.zeros((1, 1), np.uint8))
    header = b"IHDR" + struct.pack(">II", 90_000, 90_000) + small[24:29]  # 8,100 million pixels
    image.write_bytes(small[:12] + header + struct.pack(">I", zlib.crc32(header)) + small[33:])
    with pytest.raises(
        ValueError, match=r"no image is left: .*huge\.png\) cannot be read as an image .*exceeds limit"
    ) as refused:
        open_pictures([image], None)
    assert str(tmp_path) not in str(refused.value)
    monkeypatch.setattr(uploads, "PICTURE_SECONDS", 0.01)
    with pytest.raises(ValueError, match=r"the upload takes more than 0\.01 seconds to read"):
        open_pictures([image], None)


def test_an_archive_is_read_and_never_unpacked_whatever_paths_it_holds(read, tmp_path):
    archive, pixel = tmp_path / "photos.zip", picture(draw(plant(2, captions=1))[0][0])
    link = zipfile.ZipInfo("link.png")
    link.external_attr, link.create_system = (stat.S_IFLNK | 0o777) << 16, 3
    with zipfile.ZipFile(archive, "w") as packing:
        for name in ("../../1.png", "/etc/2.png", "C:\\3.png", "..\\..\\4.png"):
            packing.writestr(name, pixel)
        packing.writestr(link, "/etc/passwd")
        packing.writestr("more.ZIP", b"x")
    answer = read(archive)
    assert answer["ids"] == ["1", "2", "3", "4"]
    assert "2 files are left out: more.ZIP is not an image, " in answer["notes"][0]
    made = {path.name for path in tmp_path.iterdir()}
    assert made == {"photos.zip", "pixels", *(f"{n}.{of}" for n in range(4) for of in ("png", "url"))}
    assert not list(tmp_path.parent.glob("*.png"))


def test_limits_of_files_and_of_bytes_count_what_is_packed(read, tmp_path, monkeypatch):
    archive = packed(tmp_path / "photos.zip", {f"{name}.png": bytes(100_000) for name in "abc"})
    assert archive.stat().st_size < 2_000
    for name, limit, reason in [
        ("MAX_PICTURES", 2, "there are 3 files, and this page takes 2 images: give fewer"),
        ("MAX_TOTAL", 200_000, "the files have 0 MB together, and this page takes 0 MB at most"),
    ]:
        with monkeypatch.context() as patch:
            patch.setattr(uploads, name, limit)
            with pytest.raises(ValueError, match=reason):
                read(archive)


def test_an_archive_that_lies_about_its_sizes_is_damaged_and_read_no_further(read, tmp_path):
    """It says that a file has ten bytes, which unpack to ten million."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.png", bytes(10_000_000))
    lie = content.getvalue().replace((10_000_000).to_bytes(4, "little"), (10).to_bytes(4, "little"))
    (tmp_path / "photos.zip").write_bytes(lie)
    with pytest.raises(ValueError, match=r"no image is left: a\.png is damaged or locked with a password"):
        read(tmp_path / "photos.zip")


def test_files_that_cannot_be_told_apart_or_opened_are_told_by_name(read, tmp_path):
    one = picture(draw(plant(2, captions=1))[0][0])
    archive = packed(tmp_path / "photos.zip", {"a/7.png": one, "b/7.PNG": one})
    with pytest.raises(ValueError, match=r"7\.png and 7\.PNG have the same id '7': remove or rename one"):
        read(archive)
    broken = tmp_path / "broken.zip"
    broken.write_bytes(b"PK\x03\x04")
    with pytest.raises(ValueError, match=r"broken\.zip is not a zip archive, or is damaged"):
        read(broken)
    (tmp_path / "a.svg").write_text("<svg/>")
    with pytest.raises(ValueError, match=r"a\.svg has the ending '\.svg': give a file that ends with one of \.zip"):
        open_pictures([tmp_path / "a.svg"], None)
    with pytest.raises(
        ValueError, match=r"photos\.zip has the ending '\.zip': give a file that ends with one of \.json"
    ):
        open_pictures([archive], archive)
    (tmp_path / "bad.json").write_text(json.dumps({"images": []}))
    archive = packed(tmp_path / "one.zip", {"7.png": one})
    with pytest.raises(ValueError, match=r"bad\.json"):
        read(archive, annotations=tmp_path / "bad.json")
