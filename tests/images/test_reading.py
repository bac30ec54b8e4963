"""Images: every kind of file and source gives the same upright RGB pictures, and what is no picture is named."""

import io
import json
import tarfile
from base64 import b64decode

import datasets
import fsspec
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image, ImageOps

from captionbias.images.reading import open_image, read_images, stored_size, thumbnails, turned
from tests.refusals import refuses

SIZE = (6, 4)  # width, height
NAMES = ["COCO_val2014_000000000042.png", "more/000000000007.PNG"]


@pytest.fixture
def pixels():
    return np.random.default_rng(0).integers(256, size=(SIZE[1], SIZE[0], 3)).astype(np.uint8)


@pytest.fixture
def folder(tmp_path, pixels):
    """Three images, one in a subfolder, one named as COCO's are."""
    (tmp_path / "more").mkdir()
    Image.fromarray(pixels).save(tmp_path / "COCO_val2014_000000000042.png")
    Image.fromarray(pixels[::-1]).save(tmp_path / "more" / "000000000007.PNG")
    Image.fromarray(pixels // 2).save(tmp_path / "street 1.bmp")
    (tmp_path / "notes.md").write_text("not an image")
    return tmp_path


def encoded(image, kind="PNG", **options):
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def test_paths_bytes_pictures_pixels_and_entries_of_datasets_are_one_image(tmp_path, pixels):
    picture, path = Image.fromarray(pixels), tmp_path / "a.png"
    picture.save(path)
    content = path.read_bytes()
    entries = [{"bytes": content, "path": None}, {"bytes": None, "path": str(path)}, {"bytes": content, "path": "gone"}]
    for source in [path, str(path), picture, pixels, pixels / 255, content, *entries]:
        opened = open_image(source)
        assert opened.mode == "RGB"
        np.testing.assert_array_equal(opened, pixels)
        assert stored_size(source) == (*pixels.shape[:2], 1)


def test_grey_16_bit_palette_transparent_and_cmyk_images_become_rgb(tmp_path):
    grey = np.array([[0, 100, 255]], np.uint8)
    as_rgb = np.repeat(grey[..., None], 3, axis=2)
    deep = Image.fromarray(grey.astype(np.uint16) * 257)
    alpha = np.array([[0, 255, 128]], np.uint8)
    over_white = [[[255] * 3, [100] * 3, [255] * 3]]
    cases = {
        "grey": (encoded(Image.fromarray(grey)), as_rgb),
        "16 bit": (encoded(deep), as_rgb),
        "16 bit TIFF": (encoded(deep, "TIFF"), as_rgb),
        "fractions": (encoded(Image.fromarray((grey / 255).astype(np.float32)), "TIFF"), as_rgb),
        "palette": (encoded(Image.fromarray(as_rgb).quantize(3)), as_rgb),
        "CMYK": (encoded(Image.fromarray(as_rgb).convert("CMYK"), "TIFF"), as_rgb),
        "RGBA": (encoded(Image.fromarray(np.dstack([as_rgb, alpha]))), over_white),
        "pixels with alpha": (np.dstack([as_rgb, alpha]), over_white),
        "grey with alpha": (encoded(Image.fromarray(np.dstack([grey, alpha]), "LA")), over_white),
        "transparent colour": (encoded(Image.fromarray(as_rgb), transparency=(0, 0, 0)), [[[255] * 3, *as_rgb[0, 1:]]]),
    }
    for name, (source, expected) in cases.items():
        opened = open_image(source)
        assert opened.mode == "RGB", name
        np.testing.assert_allclose(np.asarray(opened, int), expected, atol=1, err_msg=name)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_the_exif_orientation_turns_the_image_and_arrays_alike(orientation, pixels):
    exif = Image.Exif()
    exif[0x0112] = orientation
    for kind, options in {"PNG": {}, "TIFF": {}, "WEBP": {"lossless": True}}.items():
        content = encoded(Image.fromarray(pixels), kind, exif=exif, **options)
        expected = np.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(content))))
        for found in (open_image(content), open_image(Image.open(io.BytesIO(content))), turned(pixels, orientation)):
            np.testing.assert_array_equal(found, expected)
        assert stored_size(content) == (*pixels.shape[:2], orientation)


@pytest.mark.filterwarnings("ignore:Corrupt EXIF data")
def test_damaged_exif_is_no_damaged_picture(pixels):
    content = encoded(Image.fromarray(pixels), "PNG", exif=b"Exif\x00\x00II*\x00\xff\xff\xff\xff")
    np.testing.assert_array_equal(open_image(content), pixels)


def test_what_is_no_image_is_named_with_the_way_out(tmp_path, pixels):
    whole = encoded(Image.fromarray(np.tile(pixels, (20, 20, 1))), "JPEG")
    (tmp_path / "cut.jpg").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text.jpg").write_text("hello")
    (tmp_path / "drawing.eps").write_text("%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\n")
    for source, message in [
        (tmp_path / "gone.jpg", r"image 7 \(.*gone.jpg\) cannot be read as an image \(.*No such file"),
        (tmp_path / "cut.jpg", r"image 7 \(.*cut.jpg\) cannot be read as an image \(.*truncated.*: replace it"),
        (tmp_path / "text.jpg", r"image 7 \(.*text.jpg\) cannot be read .*cannot identify"),
        (tmp_path / "drawing.eps", "cannot identify"),  # Pillow would start Ghostscript
        (b"", "image 7 cannot be read as an image"),
        ({"bytes": None, "path": None}, "image 7 cannot be read"),
        (np.zeros((3, 4, 4, 3), np.uint8), "image 7 cannot be read"),
        (np.full((2, 2), 2.0), r"image 7 cannot be read as an image \(numbers outside \[0, 1\]; divide"),
        (np.full((2, 2), np.nan), r"numbers outside \[0, 1\]"),
    ]:
        refuses(message, open_image, source, "image 7")


def test_a_bomb_is_refused_before_it_is_decoded(tmp_path, monkeypatch):
    Image.new("1", (10_500, 10_500)).save(tmp_path / "bomb.png")  # which Pillow opens with a warning
    monkeypatch.setattr("PIL.PngImagePlugin.PngImageFile.load", None)
    for look in (open_image, stored_size):
        refuses("10,500 x 10,500 pixels are more than 100,000,000", look, tmp_path / "bomb.png")


def test_a_folder_is_read_with_its_subfolders_in_order_and_nothing_is_decoded_before_it_is_asked_for(folder, pixels):
    images = read_images(folder)
    assert images.ids == ("42", "7", "street 1")
    assert [image.size for image in images] == [SIZE] * 3
    np.testing.assert_array_equal(images[-1], pixels // 2)
    assert images.select([2, 0]).ids == ("street 1", "42")
    np.testing.assert_array_equal(images.select([2, 0])[1], pixels)
    assert [len(images[:2]), len(images[::-1]), len(images[5:])] == [2, 3, 0]
    assert read_images(images) is images
    assert read_images(folder / "street 1.bmp").ids == ("street 1",)
    assert images[0] is not images[0], "nothing is kept"
    (folder / "broken.jpg").write_text("hello")
    refuses(r"image broken \(.*broken.jpg\) cannot be read", read_images(folder).__getitem__, 1)


def test_tables_and_lists_name_paths_beside_them(folder, pixels):
    pq.write_table(pa.table({"image": NAMES, "image_id": [5, 6]}), folder / "t.parquet")
    (folder / "t.csv").write_text("\n".join(["image_id,file_name", *(f"{5 + n},{x}" for n, x in enumerate(NAMES))]))
    (folder / "t.json").write_text(json.dumps([{"file_name": name} for name in NAMES]))
    for name, ids in [("parquet", ("5", "6")), ("csv", ("5", "6")), ("json", ("42", "7"))]:
        images = read_images(folder / f"t.{name}")
        assert images.ids == ids
        np.testing.assert_array_equal(images[1], pixels[::-1])
    assert read_images(folder / "t.csv", id_column="file_name").ids == ("42", "7")
    lacks = r"t.csv has no column 'picture': it has 'image_id', 'file_name'; name its"
    refuses(lacks, read_images, folder / "t.csv", image_column="picture")


def test_datasets_are_read_from_memory_folders_and_parquet_without_decoding(folder, pixels, tmp_path):
    rows = {"image": [str(folder / name) for name in NAMES], "image_id": [5, 6]}
    features = datasets.Features({"image": datasets.Image(), "image_id": datasets.Value("int64")})
    dataset = datasets.Dataset.from_dict(rows, features)
    dataset.save_to_disk(tmp_path / "saved")
    built = tmp_path / "built"
    built.mkdir()
    dataset.to_parquet(built / "test.parquet")
    for source in [dataset, tmp_path / "saved", built, f"{built}::test", built / "test.parquet"]:
        images = read_images(source)
        assert images.ids == ("5", "6"), source
        assert set(images.sources[1]) == {"bytes", "path"}
        np.testing.assert_array_equal(images[1], pixels[::-1])
    named = read_images(dataset.select([1, 0]).remove_columns("image_id"))
    assert named.ids == ("7", "42")
    np.testing.assert_array_equal(named[1], pixels)


def test_members_of_shards_are_images(folder, pixels, tmp_path_factory):
    shards = tmp_path_factory.mktemp("shards")
    for shard, name in (("0.tar", "street 1.bmp"), ("1.tar", "more/000000000007.PNG")):
        with tarfile.open(shards / shard, "w") as archive:
            archive.add(folder / "notes.md", "notes.md")
            archive.add(folder / name, name)
    images = read_images(shards)
    assert images.ids == ("street 1", "7")
    np.testing.assert_array_equal(images[1], pixels[::-1])
    assert read_images(shards / "0.tar").ids == ("street 1",)
    (shards / "0.tar").write_bytes(b"no archive" * 100)
    refuses(r"0.tar cannot be read as a tar archive \(.*\): unpack it", read_images, shards)


def test_addresses_in_a_table_are_fetched(folder, pixels):
    fsspec.filesystem("memory").pipe("memory://host/a.png", (folder / NAMES[0]).read_bytes())
    (folder / "t.csv").write_text("image_url\nmemory://host/a.png\nmemory://host/gone.png\n")
    images = read_images(folder / "t.csv")
    assert images.ids == ("a", "gone")
    np.testing.assert_array_equal(images[0], pixels)
    assert stored_size(images.sources[0])[:2] == pixels.shape[:2]
    refuses(r"image gone \(memory://host/gone.png\) cannot be read as an image", images.__getitem__, 1)


def test_sequences_tables_in_memory_and_datasets_with_one_split_are_images(pixels, tmp_path):
    pictures = [Image.fromarray(pixels), pixels]
    assert read_images([tmp_path / "street 1.bmp", *pictures]).ids == ("street 1", "row 1", "row 2")
    assert read_images(np.stack([pixels, pixels]))[1].size == SIZE
    table = {"image": pictures, "image_id": [5, 6]}
    for source in (table, pd.DataFrame(table)):
        images = read_images(source)
        assert images.ids == ("5", "6")
        np.testing.assert_array_equal(images[1], pixels)
    dataset = datasets.Dataset.from_dict({"image": pictures[:1], "id": [7]}).cast_column("image", datasets.Image())
    assert read_images(dataset).ids == ("7",)
    for source in (datasets.DatasetDict(test=dataset), dataset.to_iterable_dataset()):
        refuses(r"images is a \w*Dataset\w*: give one split of it, and not streamed", read_images, source)


def test_what_has_no_images_or_one_id_twice_is_refused(tmp_path):
    for source, message in [
        (tmp_path, "has no images: check that it is the right one"),
        (tmp_path / "gone", "does not exist: give a folder or file of images, or owner/dataset"),
        ([], "images has no images"),
        (["a.png", tmp_path / "a.jpg"], r"row 0 \(.*\) and row 1 \(.*\) have the same id 'a': remove one"),
    ]:
        refuses(message, read_images, source)


def test_a_thumbnail_is_the_image_made_small(tmp_path):
    Image.new("RGB", (640, 320), (200, 10, 10)).save(tmp_path / "COCO_val2014_000000000042.png")
    url = thumbnails(read_images(tmp_path))("42")
    head, _, content = url.partition(",")
    small = Image.open(io.BytesIO(b64decode(content)))
    assert (head, small.size) == ("data:image/webp;base64", (320, 160))
    assert np.allclose(small.getpixel((5, 5)), (200, 10, 10), atol=5)
