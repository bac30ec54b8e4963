"""ArtEmis (Achlioptas et al. 2021; version 2: Mohamed et al. 2022): what people feel before paintings, and why."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from captionbias.captions.check import MAX_CHARACTERS
from captionbias.captions.tables import csv_rows
from captionbias.datasets.by_image import ByImage, as_lists
from captionbias.datasets.original_files import BLOCK
from captionbias.datasets.records import BLOCK as READ_AT_ONCE
from captionbias.datasets.records import Columns, file_name, short

if TYPE_CHECKING:
    import pyarrow as pa

ORIGIN = "https://www.artemisdataset.org and https://www.artemisdataset-v2.org"
EMOTIONS = (
    "amusement",
    "awe",
    "contentment",
    "excitement",
    "anger",
    "disgust",
    "fear",
    "sadness",
    "something else",
)
_COLUMNS = ("art_style", "painting", "emotion", "utterance")


class ArtemisEmotions:
    """Reads every CSV file of the folder, with the columns `art_style`, `painting`, `emotion` and `utterance`.

    `paintings`: a row for each painting, its emotion the one that most people felt, as ImageCaptioner2 votes (section
    5.1); paintings without a most frequent one are left out. `utterances`: a row for each utterance. Both go by the
    name of the painting, utterances in the order of the files.
    """

    CONFIGURATIONS: ClassVar[tuple[str, ...]] = ("paintings", "utterances")
    SPLIT: ClassVar[str] = "train"
    BENCHMARK: ClassVar[bool] = False
    captioners: tuple[str, ...] = ()

    def __init__(self, folder: Path) -> None:
        self.files = tuple(sorted(folder.glob("*.csv")))
        if not self.files:
            raise ValueError(f"{folder} has no CSV file: put those of one version there; they come from {ORIGIN}")
        self.left_out: dict[str, dict[str, int]] = {}

    def schema(self, configuration: str) -> pa.Schema:
        import pyarrow as pa

        words = {"image_id": pa.string(), "art_style": pa.string(), "painting": pa.string()}
        felt = {"emotions": pa.list_(pa.string())} if configuration == "paintings" else {}
        return pa.schema({**words, "references": pa.list_(pa.string()), "attribute": pa.string(), **felt})

    def tables(self, configuration: str) -> Iterator[pa.Table]:
        import pyarrow as pa

        left_out = Counter({"empty utterances": self._read.empty})
        for start in range(0, len(self._read.paintings), BLOCK):
            columns = getattr(self._read, f"{configuration}_table")(start, start + BLOCK, left_out)
            schema = self.schema(configuration)
            yield pa.table({name: columns[name] for name in schema.names}, schema=schema)
        self.left_out[configuration] = dict(left_out)

    @cached_property
    def _read(self) -> _Files:
        return _Files(self.files)


class _Files:
    """The names of the paintings in memory, the utterances in a scratch folder."""

    def __init__(self, files: Sequence[Path]) -> None:
        import pyarrow as pa

        self._scratch = tempfile.TemporaryDirectory(prefix="captionbias-", ignore_cleanup_errors=True)
        schema = pa.schema({"utterance": pa.string(), "emotion": pa.int8()})
        self._felt = ByImage(Path(self._scratch.name, "felt.arrow"), schema)
        self.empty = 0
        numbers: dict[tuple[str, str], int] = {}
        for path in files:
            self._add(path, numbers)
        self._felt.finish()
        self.paintings = sorted(numbers)
        self._numbers = np.array([numbers[painting] for painting in self.paintings], np.int64)

    def _add(self, path: Path, numbers: dict[tuple[str, str], int]) -> None:
        rows = csv_rows(path)
        header = next(rows)
        for column in _COLUMNS:
            if header.count(column) != 1:
                raise ValueError(f"{path.name} has no column {column!r}, or two: ArtEmis has {', '.join(_COLUMNS)}")
        places = [header.index(column) for column in _COLUMNS]
        known = {emotion: number for number, emotion in enumerate(EMOTIONS)}
        first = 0
        while block := list(islice(rows, READ_AT_ONCE)):
            styles, paintings, emotions, utterances = ([row[place] for row in block] for place in places)
            for column, values in (("art_style", styles), ("painting", paintings)):
                for value in dict.fromkeys(values):
                    if fault := file_name(value):
                        raise ValueError(f"{path.name}: {column}[{first + values.index(value)}] {fault}")
            for emotion in dict.fromkeys(emotions):
                if emotion in known:
                    continue
                raise ValueError(
                    f"{path.name}: emotion[{first + emotions.index(emotion)}] is {short(emotion)}: it must be one of "
                    f"{', '.join(EMOTIONS)}"
                )
            if max(map(len, utterances)) > MAX_CHARACTERS:
                row = next(row for row, words in enumerate(utterances) if len(words) > MAX_CHARACTERS)
                raise ValueError(f"{path.name}: utterance[{first + row}] has more than {MAX_CHARACTERS:,} characters")
            said = [row for row, words in enumerate(utterances) if words.strip()]
            self.empty += len(block) - len(said)
            shown = [numbers.setdefault((styles[row], paintings[row]), len(numbers)) for row in said]
            felt: Columns = {
                "utterance": [utterances[row] for row in said],
                "emotion": [known[emotions[row]] for row in said],
            }
            self._felt.add(np.array(shown, np.int64), felt)
            first += len(block)

    def paintings_table(self, start: int, end: int, left_out: Counter[str]) -> dict[str, Any]:
        """The paintings from number `start` on that have a most frequent emotion."""
        import pyarrow as pa

        names, offsets, felt = self._felt_before(start, end)
        owners, emotions = np.repeat(np.arange(len(names)), np.diff(offsets)), felt["emotion"].to_numpy()
        votes = np.zeros((len(names), len(EMOTIONS)), np.int64)
        np.add.at(votes, (owners, emotions), 1)
        clear = (votes == votes.max(1, keepdims=True)).sum(1) == 1
        left_out["without a most frequent emotion"] += int((~clear).sum())
        words = pa.array(EMOTIONS)
        columns = {
            **_names(names),
            "references": as_lists(offsets, felt["utterance"]),
            "attribute": words.take(pa.array(votes.argmax(1))),
            "emotions": as_lists(offsets, words.take(pa.array(emotions))),
        }
        return {name: column.filter(pa.array(clear)) for name, column in columns.items()}

    def utterances_table(self, start: int, end: int, left_out: Counter[str]) -> dict[str, Any]:
        """The utterances about the paintings from number `start` on."""
        import pyarrow as pa

        names, offsets, felt = self._felt_before(start, end)
        owners = pa.array(np.repeat(np.arange(len(names)), np.diff(offsets)))
        ones = pa.array(np.arange(len(felt) + 1), pa.int32())
        return {
            **{name: column.take(owners) for name, column in _names(names).items()},
            "references": as_lists(ones, felt["utterance"]),
            "attribute": pa.array(EMOTIONS).take(felt["emotion"].combine_chunks()),
        }

    def _felt_before(self, start: int, end: int) -> tuple[list[tuple[str, str]], pa.Array, pa.Table]:
        return self.paintings[start:end], *self._felt.of(self._numbers[start:end])


def _names(paintings: Sequence[tuple[str, str]]) -> dict[str, pa.Array]:
    import pyarrow as pa

    return {
        "image_id": pa.array([f"{style}/{painting}" for style, painting in paintings]),
        "art_style": pa.array([style for style, _ in paintings]),
        "painting": pa.array([painting for _, painting in paintings]),
    }
