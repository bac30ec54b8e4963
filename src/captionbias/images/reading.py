"""Images from folders, files, shards, addresses, datasets and memory, seen alike: ids, and RGB pictures decoded when
needed."""

from __future__ import annotations

import io
import os
import tarfile
from abc import abstractmethod
from base64 import b64encode
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from captionbias.arrays import Array
from captionbias.attackers.workers import cores
from captionbias.captions.sources import Remote, is_url, load_rows
from captionbias.captions.tables import READERS, Table, names_dataset, no_column, table_from_file, table_from_memory
from captionbias.captions.values import coco_number, image_keys, is_column
from captionbias.images import need_images
from captionbias.io.files import user_path

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_PIXELS = 100_000_000  # an image with more is refused before it is decoded
THUMBNAIL = 320  # pixels of the longer side
AHEAD = 64  # images that are opened before they are used
# Formats of photographs. Pillow knows more, and starts other programs for some.
FORMATS = {"AVIF", "BMP", "GIF", "JPEG", "JPEG2000", "MPO", "PNG", "PPM", "TIFF", "WEBP"}
PATHS = ("image_path", "file_name", "filename", "path", "filepath", "file")
IMAGE_COLUMNS = ("image", *PATHS, "image_url", "coco_url", "url")
SHARD = ".tar"
ID_COLUMNS = ("image_id", "imgid", "img_id", "id")
T = TypeVar("T")


class Lazy(Sequence[T]):
    """Entries that are made when they are asked for, and not kept."""

    @abstractmethod
    def make(self, position: int) -> T:
        """The entry at a position, from 0 on."""

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        places = range(len(self))[index]
        return [self.make(place) for place in places] if isinstance(places, range) else self.make(places)


@dataclass(frozen=True, eq=False)
class Images(Lazy["Image"]):
    """Images by position.

    Attributes:
        ids: one for each image, all different.
        sources: what `open_image` takes, one for each image.

    >>> images = Images(("a", "b"), [np.zeros((2, 3), np.uint8), np.ones((4, 5, 3))])
    >>> images[1].size, len(images[:2]), images.select([1]).ids
    ((5, 4), 2, ('b',))
    """

    ids: tuple[str, ...]
    sources: Sequence[Any]

    def __len__(self) -> int:
        return len(self.ids)

    def make(self, position: int) -> Image:
        return open_image(self.sources[position], f"image {self.ids[position]}")

    def select(self, indices: Iterable[int]) -> Images:
        """The images at these positions, in this order."""
        positions = [int(index) for index in indices]
        return Images(tuple(self.ids[position] for position in positions), selected(self.sources, positions))


@dataclass(frozen=True, eq=False)
class Made(Lazy[T]):
    """Entries that a function makes of their positions."""

    function: Callable[[int], T]
    length: int

    def __len__(self) -> int:
        return self.length

    def make(self, position: int) -> T:
        return self.function(position)


def selected(entries: Sequence[T], positions: Sequence[int]) -> Sequence[T]:
    """The entries at these positions, each looked up when it is asked for."""
    return Made(lambda place: entries[positions[place]], len(positions))


def decode_all(images: Sequence[Any]) -> Iterator[Any]:
    """The images one after the other, decoded on all cores, some ahead of their use."""
    batches = (range(start, min(start + AHEAD, len(images))) for start in range(0, len(images), AHEAD))
    return chain.from_iterable(read_ahead(images.__getitem__, batches))


def read_ahead(read: Callable[[int], T], batches: Iterable[Sequence[int]]) -> Generator[list[T], None, None]:
    """The entries of each batch, read on all cores while the batch before is used."""
    with ThreadPoolExecutor(cores()) as threads:
        coming = ([threads.submit(read, row) for row in batch] for batch in batches)
        for batch, _ in pairwise(chain(coming, [[]])):  # asks for the next batch before it gives this one
            yield [future.result() for future in batch]


@dataclass(frozen=True)
class Member:
    """A file in a tar archive that is not compressed, as webdataset writes them; read when it is needed."""

    archive: Path
    name: str
    start: int
    size: int

    def __str__(self) -> str:
        return f"{self.archive}/{self.name}"

    def open(self, _: str) -> io.BytesIO:
        with self.archive.open("rb") as file:
            file.seek(self.start)
            return io.BytesIO(file.read(self.size))


FILES = (Path, Remote, Member)


# One image


def open_image(source: Any, name: str = "image") -> Image:
    """An image as RGB, upright as its EXIF orientation says, and white where it is transparent; `name` is for messages.

    `source`: a path, an address that fsspec knows, a `Member`, a PIL image, a file's bytes, `{"bytes", "path"}` as in
    datasets, or pixels `(H, W)`, `(H, W, 3)` or `(H, W, 4)`, uint8 or numbers with a fraction in [0, 1].
    """
    with _readable(source, name):
        from PIL import Image

        image = _opened(source)
        image.load()
        pixels, orientation = _rgb(image), _orientation(image)  # now: Pillow has turned a TIFF, and says so
        return pixels if orientation == 1 else Image.fromarray(turned(np.asarray(pixels), orientation))


def stored_size(source: Any, name: str = "image") -> tuple[int, int, int]:
    """The height and width of an image as stored, and its EXIF orientation, 1 to 8; nothing is decoded."""
    with _readable(source, name):
        image = _opened(source)
        orientation = _orientation(image)
        height, width = image.height, image.width
    if image.format == "TIFF" and orientation >= 5:  # Pillow gives the size that it will have when it is turned
        height, width = width, height
    if image is not source:
        image.close()
    return height, width, orientation


def turned(pixels: Array, orientation: int) -> Array:
    """Pixels `(H, W, ...)` as stored, made upright by an EXIF orientation."""
    if orientation >= 5:
        pixels = np.swapaxes(pixels, 0, 1)
    if orientation in (3, 4, 7, 8):
        pixels = pixels[::-1]
    return pixels[:, ::-1] if orientation in (2, 3, 6, 7) else pixels


@contextmanager
def _readable(source: Any, name: str) -> Iterator[None]:
    """Errors of decoders and file systems as a ValueError that names the image."""
    need_images("PIL")
    try:
        yield
    except Exception as error:
        message = f"{_where(source, name)} cannot be read as an image ({error}): replace it, or leave it out"
        raise ValueError(message) from error


def _opened(source: Any) -> Image:
    """The image, its pixels not decoded yet."""
    from PIL import Image

    if isinstance(source, dict):  # a dataset's entry
        source = source.get("bytes") or source.get("path")
    if isinstance(source, (str, Path)):
        source = Remote(str(source)) if is_url(source) else user_path(source, "images")
    if isinstance(source, Image.Image):
        image = source
    elif isinstance(source, (*FILES, bytes)):
        Image.init()  # or formats that were not used yet are unknown
        if isinstance(source, (Remote, Member)):
            with source.open("rb") as opened:
                source = opened.read()
        file = io.BytesIO(source) if isinstance(source, bytes) else source
        image = Image.open(file, formats=sorted(FORMATS & Image.OPEN.keys()))
    else:
        image = Image.fromarray(_bytes_of_pixels(np.asarray(source)))
    if image.width * image.height > MAX_PIXELS:
        raise ValueError(f"{image.width:,} x {image.height:,} pixels are more than {MAX_PIXELS:,}")
    return image


def _where(source: Any, name: str) -> str:
    path = source.get("path") if isinstance(source, dict) else source
    return f"{name} ({path})" if isinstance(path, (str, *FILES)) else name


def _orientation(image: Image) -> int:
    """The EXIF orientation, 1 where there is none, or none that can be read."""
    from PIL.ExifTags import Base

    try:
        orientation = image.getexif().get(Base.Orientation, 1)
    except Exception:  # damaged metadata is not a damaged picture
        return 1
    return orientation if isinstance(orientation, int) and 1 <= orientation <= 8 else 1


def _rgb(image: Image) -> Image:
    from PIL import Image

    if image.mode == "RGB" and "transparency" not in image.info:
        return image
    if image.mode[0] in "IF":  # 16-bit grey, which Pillow would cut off at 255, and fractions
        image = Image.fromarray(_bytes_of_pixels(np.asarray(image) / (1 if image.mode == "F" else 65535)))
    if image.has_transparency_data:
        rgba = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", rgba.size, "white"), rgba).convert("RGB")
    return image.convert("RGB")


def _bytes_of_pixels(pixels: Array) -> Array:
    if pixels.dtype == np.uint8:
        return pixels
    if not (pixels.min() >= 0 and pixels.max() <= 1):
        raise ValueError("numbers outside [0, 1]; divide pixels by their largest possible value, or give uint8")
    return np.round(pixels * 255).astype(np.uint8)


# Many images


def read_images(source: Any, *, image_column: str | None = None, id_column: str | None = None) -> Images:
    """Images with ids, from wherever they are. Nothing is decoded yet.

    Args:
        source: a folder (with its subfolders) of images or of webdataset's shards (.tar), an image file, a shard, a
            table (.csv, .tsv, .json, .jsonl, .parquet) with a column of paths relative to the file, of addresses or of
            images, `owner/dataset`, `owner/dataset:configuration:split`, a folder that datasets wrote, a
            `datasets.Dataset`, a DataFrame or mapping with a column of what `open_image` takes, or a sequence of that.
        image_column: of a table or dataset; default: its column of images, else the first of `IMAGE_COLUMNS`.
        id_column: of a table or dataset; default: the first of `ID_COLUMNS`.

    Returns:
        The images in the order of the source; of a folder, by path. Without a column of ids, the id is the file's name
        without its suffix, of COCO's files the number alone ("42" of COCO_val2014_000000000042.jpg), and "row 0" and so
        on for images without a name.

    >>> read_images(["photos/COCO_val2014_000000000042.jpg", np.zeros((2, 2))]).ids
    ('42', 'row 1')
    """
    if isinstance(source, Images):
        return source
    columns = image_column, id_column
    if hasattr(source, "cast_column"):
        return _from_dataset(source, "images", *columns)
    if is_column(source):
        return _images("images", source)
    if isinstance(source, Mapping) or hasattr(source, "columns"):
        return _from_columns(table_from_memory(source, "images"), Path(), *columns)
    path = user_path(source, "images")
    suffix = path.suffix.lower()
    if path.is_dir():
        return _from_folder(path, *columns)
    if suffix in READERS:
        return _from_columns(table_from_file(path), path.parent, *columns)
    if path.is_file():
        return _images(str(path), _named_as_images(_members(path)) if suffix == SHARD else [path])
    if names_dataset(source):
        return _from_dataset(load_rows(str(source)), str(source), *columns)
    raise ValueError(f"{source} does not exist: give a folder or file of images, or owner/dataset:configuration:split")


def _from_folder(path: Path, image_column: str | None, id_column: str | None) -> Images:
    """A folder that datasets wrote, one of images, or one of shards."""
    saved = any((path / name).exists() for name in ("state.json", "dataset_dict.json"))
    files = [] if saved else _named_as_images(sorted(file for file in path.rglob("*") if file.is_file()))
    if saved or (not files and next(path.rglob("*.parquet"), None)):
        return _from_dataset(load_rows(path), str(path), image_column, id_column)
    shards = [] if files else sorted(path.rglob(f"*{SHARD}"))
    return _images(str(path), files or [member for shard in shards for member in _named_as_images(_members(shard))])


def _named_as_images(files: Iterable[Any]) -> list[Any]:
    need_images("PIL")
    from PIL import Image

    suffixes = {suffix for suffix, kind in Image.registered_extensions().items() if kind in FORMATS}
    return [file for file in files if Path(str(file)).suffix.lower() in suffixes]


def _members(shard: Path) -> list[Member]:
    try:
        with tarfile.open(shard, "r:") as archive:
            return [Member(shard, member.name, member.offset_data, member.size) for member in archive if member.isreg()]
    except (tarfile.TarError, EOFError, OSError) as error:
        raise ValueError(f"{shard} cannot be read as a tar archive ({error}): unpack it, or fetch it again") from error


def _from_columns(table: Table, folder: Path, image_column: str | None, id_column: str | None) -> Images:
    column = _column(table, image_column, IMAGE_COLUMNS)
    sources = [
        folder / os.path.expanduser(entry) if isinstance(entry, str) and not is_url(entry) else entry
        for entry in table.column(column)
    ]
    return _images(table.name, sources, _ids(table, id_column))


def _from_dataset(dataset: Any, where: str, image_column: str | None, id_column: str | None) -> Images:
    need_images("datasets")
    from datasets import Dataset, Image

    if not isinstance(dataset, Dataset):
        raise ValueError(f"{where} is a {type(dataset).__name__}: give one split of it, and not streamed")
    table = Table(where, tuple(dataset.column_names), lambda column: list(dataset.with_format(None)[column][:]))
    typed = [column for column, kind in dataset.features.items() if isinstance(kind, Image)]
    column = _column(table, image_column, (*typed, *IMAGE_COLUMNS))
    images = dataset.select_columns([column]).with_format(None)
    if column in typed:
        images = images.cast_column(column, Image(decode=False))
    ids = _ids(table, id_column)
    return _images(where, images[column], _names(_paths(images, column)) if ids is None else ids)


def _paths(dataset: Any, column: str) -> Iterable[Any]:
    """The names of a dataset's files, without their bytes."""
    for batch in dataset.with_format("arrow").iter(1000):
        entries = batch[column].combine_chunks()
        yield from (entries.field("path") if hasattr(entries, "field") else entries).to_pylist()


def _column(table: Table, chosen: str | None, usual: Iterable[str]) -> str:
    column = next((column for column in usual if column in table.columns), None) if chosen is None else chosen
    if column not in table.columns:
        raise no_column(chosen or IMAGE_COLUMNS[0], [table], "name its column of images")
    return column


def _ids(table: Table, chosen: str | None) -> list[str] | None:
    column = chosen or next((usual for usual in ID_COLUMNS if usual in table.columns), None)
    return None if column is None else image_keys(f"'{column}' of {table.name}", table.column(column))


def _names(entries: Iterable[Any]) -> list[str]:
    """The ids of images by their files' names, or by their rows."""
    paths = [entry.get("path") if isinstance(entry, dict) else entry for entry in entries]
    return [
        coco_name(str(path).partition("?")[0] if is_url(path) else str(path))
        if isinstance(path, (str, *FILES)) and path
        else f"row {row}"
        for row, path in enumerate(paths)
    ]


def thumbnails(images: Images) -> Callable[[str], str]:
    """A function that gives the data URL of an image, made small, by its id; a smaller one is enlarged, its pixels
    whole."""
    from PIL import Image, ImageOps

    rows = {image: row for row, image in enumerate(images.ids)}

    def picture_of(image: str) -> str:
        picture = images[rows[image]]
        way = Image.Resampling.NEAREST if max(picture.size) < THUMBNAIL else Image.Resampling.BICUBIC
        return data_url(ImageOps.contain(picture, (THUMBNAIL, THUMBNAIL), way), "webp")

    return picture_of


def data_url(picture: Image, kind: str = "png") -> str:
    """A picture as an address that holds its pixels.

    >>> from PIL import Image
    >>> data_url(Image.new("RGB", (1, 1)))[:29]
    'data:image/png;base64,iVBORw0'
    """
    file = io.BytesIO()
    picture.save(file, kind)
    return f"data:image/{kind};base64,{b64encode(file.getvalue()).decode()}"


def coco_name(path: str | Path) -> str:
    """The id in a file's name: the name without its suffix, of COCO's files the number alone.

    >>> coco_name("val2014/COCO_val2014_000000000042.jpg"), coco_name("007.png")
    ('42', '007')
    """
    stem = Path(path).stem
    return coco_number(stem) or stem


def _images(where: str, sources: Sequence[Any], ids: Sequence[str] | None = None) -> Images:
    """The images with these ids, or those that their names give, if there are any and no two have the same id."""
    ids = _names(sources) if ids is None else ids
    if not ids:
        raise ValueError(f"{where} has no images: check that it is the right one")
    rows: dict[str, int] = {}
    for row, image in enumerate(ids):
        if rows.setdefault(image, row) != row:
            first, second = (_where(sources[at], f"row {at}") for at in (rows[image], row))
            raise ValueError(
                f"{where}: {first} and {second} have the same id {image!r}: remove one, or give a table with a column "
                "of ids"
            )
    return Images(tuple(ids), sources)
