"""Where captions are in the logs of evaluation harnesses, and what is known of their images."""

from __future__ import annotations

from typing import IO, Any
from zipfile import ZipFile

MOST_BYTES = 2_000_000_000  # of a log's samples, unpacked
ZSTD, LENGTHS_AT = 93, 26  # a method of ZIP that Python reads from 3.14 on; of two lengths in a file's own header
MEDIA = "instance.input.multimedia_content.media_objects.0"
LOGS = (  # the caption, what people say, the image, and what else is known of it, by its own names
    ("output.completion", "target", "id", "metadata"),  # Inspect
    ("model_response.text", "doc.choices", "doc.id", "doc.specific"),  # lighteval
    ("sample_score.score.prediction", "target", "index", "sample_score.sample_metadata"),  # evalscope
    ("result.completions.0.text", "instance.references.*.output.text", f"{MEDIA}.location", "instance.id"),  # VHELM
)


def row_of_answer(record: dict[str, Any]) -> dict[str, Any] | None:
    """A record of a log as a row, with the model's text as `caption`; None of other records.

    >>> row_of_answer({"id": 7, "target": "", "metadata": {"gender": "male"}, "output": {"completion": "a man"}})
    {'id': 7, 'gender': 'male', 'caption': 'a man'}
    """
    for paths in LOGS:
        answer = ".".join(paths[0].split(".")[:2])  # is there where the model said nothing, too
        if {path.partition(".")[0] for path in paths} <= record.keys() and _at(record, answer) is not None:
            caption, people, image, others = (_at(record, path) for path in paths)
            if isinstance(caption, list) and len(caption) == 1:
                caption = caption[0]
            row = {"id": image} | ({"references": people} if people else {})
            return row | (others if isinstance(others, dict) else {}) | {"caption": caption}
    return None


def _at(value: Any, path: str) -> Any:
    """What objects and lists have below these names and numbers; a list of it for *."""
    name, _, rest = path.partition(".")
    if name == "*":
        return [_at(each, rest) for each in value] if isinstance(value, list) else None
    parts = {str(number): each for number, each in enumerate(value)} if isinstance(value, list) else value
    value = parts.get(name) if isinstance(parts, dict) else None
    return _at(value, rest) if rest else value


def samples_of(log: IO[bytes]) -> list[bytes]:
    """The samples of Inspect's .eval, each as JSON."""
    from pyarrow import decompress

    samples = []
    with ZipFile(log) as archive:
        files = [file for file in archive.infolist() if file.filename.startswith("samples/")]
        if sum(file.file_size for file in files) > MOST_BYTES:
            raise ValueError(f"the samples unpack to more than {MOST_BYTES / 1e6:,.0f} MB: give fewer")
        for file in files:
            if file.compress_type != ZSTD:
                samples.append(archive.read(file))
                continue
            log.seek(file.header_offset + LENGTHS_AT)
            log.seek(int.from_bytes(log.read(2), "little") + int.from_bytes(log.read(2), "little"), 1)
            samples.append(decompress(log.read(file.compress_size), file.file_size, codec="zstd", asbytes=True))
    return samples
