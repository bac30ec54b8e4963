"""Where captions are in the logs of evaluation harnesses, and what is known of their images."""

from __future__ import annotations

from typing import IO, Any
from zipfile import ZipFile

import pyarrow as pa

MOST_BYTES = 2_000_000_000  # of a log's samples, unpacked
ZSTD, NAME_AT = 93, 26  # a method of ZIP that Python reads from 3.14 on; where a file's own header has two lengths
OTHERS = "others"  # what else is known of the image, by its own names
SAMPLE_SCORE, MEDIA = "sample_score.", "instance.input.multimedia_content.media_objects.0."
LOGS: tuple[dict[str, str], ...] = (
    {"caption": "output.completion", "references": "target", "id": "id", OTHERS: "metadata"},  # Inspect
    {
        "caption": "model_response.text",
        "references": "doc.choices",
        "id": "doc.id",
        OTHERS: "doc.specific",
    },  # lighteval
    {
        "caption": f"{SAMPLE_SCORE}score.prediction",  # evalscope
        **{"references": "target", "id": f"{SAMPLE_SCORE}sample_id", OTHERS: f"{SAMPLE_SCORE}sample_metadata"},
    },
    {
        "caption": "result.completions.0.text",  # VHELM
        **{"references": "instance.references.*.output.text", "id": "instance.id", "file_name": f"{MEDIA}location"},
    },
)
OF_PARQUET = LOGS[1]


def row_of_answer(record: dict[str, Any]) -> dict[str, Any] | None:
    """A record of a log as a row, with the model's text as `caption`; None of other records.

    >>> row_of_answer({"id": 7, "target": "", "metadata": {"gender": "male"}, "output": {"completion": "a man"}})
    {'id': 7, 'gender': 'male', 'caption': 'a man'}
    """
    for places in LOGS:
        answer = ".".join(places["caption"].split(".")[:2])  # which is there where the model said nothing, too
        if {path.partition(".")[0] for path in places.values()} <= record.keys() and _at(record, answer) is not None:
            row = {name: value for name, path in places.items() if (value := _at(record, path)) not in (None, "", [])}
            others = row.pop(OTHERS, None)
            return row | (others if isinstance(others, dict) else {}) | {"caption": row.get("caption")}
    return None


def _at(value: Any, path: str) -> Any:
    """What objects and lists have below these names and numbers; a list of it for *."""
    name, _, rest = path.partition(".")
    if name == "*":
        return [_at(each, rest) for each in value] if isinstance(value, list) else None
    inner = {str(number): each for number, each in enumerate(value)} if isinstance(value, list) else value
    value = inner.get(name) if isinstance(inner, dict) else None
    return _at(value, rest) if rest else value


def samples_of(log: IO[bytes]) -> list[bytes]:
    """The samples of Inspect's .eval, each as JSON."""
    with ZipFile(log) as archive:
        files = [file for file in archive.infolist() if file.filename.startswith("samples/")]
        if sum(file.file_size for file in files) > MOST_BYTES:
            raise ValueError(f"the samples unpack to more than {MOST_BYTES / 1e6:,.0f} MB: give fewer")
        samples = []
        for file in files:
            if file.compress_type != ZSTD:
                samples.append(archive.read(file))
                continue
            log.seek(file.header_offset + NAME_AT)
            log.seek(sum(int.from_bytes(log.read(2), "little") for _ in range(2)), 1)
            samples.append(pa.decompress(log.read(file.compress_size), file.file_size, codec="zstd", asbytes=True))
    return samples
