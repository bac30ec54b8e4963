"""ArtEmis (Achlioptas et al. 2021; version 2: Mohamed et al. 2022): what people feel before paintings, and why."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from reprlib import repr as short
from typing import Any, ClassVar

import pyarrow as pa

from captionbias.captions.tables import table_from_file
from captionbias.datasets.original_files import OriginalFiles

ORIGIN = "https://www.artemisdataset.org and https://www.artemisdataset-v2.org"
EMOTIONS = ("amusement", "awe", "contentment", "excitement", "anger", "disgust", "fear", "sadness", "something else")
_COLUMNS = ("art_style", "painting", "emotion", "utterance")


class ArtemisEmotions(OriginalFiles):
    """A reader of every CSV file of the folder, with the columns `art_style`, `painting`, `emotion` and `utterance`.

    `paintings` have the emotion that most people felt, as ImageCaptioner2 votes (section 5.1); `utterances` are rows.
    """

    CONFIGURATIONS: ClassVar[tuple[str, ...]] = ("paintings", "utterances")
    SPLIT: ClassVar[str] = "train"
    BENCHMARK: ClassVar[bool] = False

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._files = tuple(sorted(folder.glob("*.csv")))
        if not self._files:
            raise ValueError(f"{folder} has no CSV file: put those of one version there; they come from {ORIGIN}")

    def schema(self, configuration: str) -> pa.Schema:
        names = {"image_id": pa.string(), "art_style": pa.string(), "painting": pa.string()}
        felt = {"emotions": pa.list_(pa.string())} if configuration == "paintings" else {}
        return pa.schema({**names, "references": pa.list_(pa.string()), "attribute": pa.string(), **felt})

    def rows(self, configuration: str) -> Iterator[dict[str, Any]]:
        left_out = self.left_out[configuration] = Counter()
        for (style, painting), rows in self._paintings.items():
            felt = [(emotion, utterance) for emotion, utterance in rows if utterance and utterance.strip()]
            left_out["empty utterances"] += len(rows) - len(felt)
            names = {"image_id": f"{style}/{painting}", "art_style": style, "painting": painting}
            if configuration == "utterances":
                yield from ({**names, "references": [utterance], "attribute": emotion} for emotion, utterance in felt)
                continue
            emotions = [emotion for emotion, _ in felt]
            ranked = Counter(emotions).most_common(2)
            if len(ranked) == 2 and ranked[0][1] == ranked[1][1]:
                left_out["without a most frequent emotion"] += 1
            elif felt:
                references = [utterance for _, utterance in felt]
                yield {**names, "references": references, "attribute": ranked[0][0], "emotions": emotions}

    @cached_property
    def _paintings(self) -> dict[tuple[str, str], list[tuple[str, str | None]]]:
        """The emotion and utterance of each row, by art style and painting."""
        paintings = defaultdict(list)
        for path in self._files:
            table = table_from_file(path)
            for row, (style, painting, emotion, utterance) in enumerate(zip(*map(table.column, _COLUMNS), strict=True)):
                if emotion not in EMOTIONS:
                    allowed = ", ".join(EMOTIONS)
                    raise ValueError(f"{path.name}: emotion[{row}] must be one of {allowed}, not {short(emotion)}")
                paintings[style, painting].append((emotion, utterance))
        return dict(sorted(paintings.items()))
