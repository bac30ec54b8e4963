"""Localized Narratives of COCO val2014 (Pont-Tuset et al. 2020): what people say of an image in several sentences."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from captionbias.captions.captioned import captioned_labels
from captionbias.datasets.attribute_labels import compared_rows
from captionbias.datasets.coco_caption_bias import CocoCaptionBias
from captionbias.datasets.json_records import read_records

ORIGIN = "https://google.github.io/localized-narratives"
_FILES = ("coco_{}_localized_narratives*.jsonl", "coco_{}_captions.jsonl")  # with traces and timings, and without
_CAPTIONS = "coco_captions"
_LEFT_TO_JOIN = ("gender", "skin", "age", "objects", "people")  # in coco_caption_bias, by image id


class CocoNarratives(CocoCaptionBias):
    """A reader of what `CocoCaptionBias` reads, and of narratives of train2017, val2017 or both, the same images.

    `captioned_gender` and `age` are labels that COCO's captions give, and narratives are other people's words; `gender`
    and `race` are annotators'.
    """

    CONFIGURATIONS: ClassVar[tuple[str, ...]] = ("captioned_gender", "age", "gender", "race")
    TERMS: ClassVar[dict[str, str]] = dict.fromkeys(("gender", "race"), "coco_caption_bias")

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        files = [[sorted(folder.glob(name.format(split))) for name in _FILES] for split in ("train", "val")]
        self._files = [path for with_traces, without in files for path in with_traces or without]
        if not self._files:
            raise ValueError(
                f"{folder} has none of {', '.join(name.format('val') for name in _FILES)}, nor of train: put one "
                f"there; they come from {ORIGIN}"
            )

    def schema(self, configuration: str) -> pa.Schema:
        kept = [column for column in super().schema(configuration) if column.name not in _LEFT_TO_JOIN]
        return pa.schema([*kept, pa.field(_CAPTIONS, pa.list_(pa.string()))])

    def rows(self, configuration: str) -> Iterator[dict[str, Any]]:
        self.check_labels(configuration)
        images, _ = self._images
        narratives, empty = self._narratives
        elsewhere = sum(map(len, narratives.values())) - sum(len(narratives[image["image_id"]]) for image in images)
        left_out = Counter({"empty narratives": empty, "narratives of images outside val2014": elsewhere})
        self.left_out[configuration] = left_out
        labels = captioned_labels([image["references"] for image in images])
        rows = (
            image
            | {_CAPTIONS: image["references"], "references": narratives[image["image_id"]], "captioned_gender": label}
            for image, label in zip(images, labels, strict=True)
        )
        yield from compared_rows(rows, configuration, left_out)

    @cached_property
    def _narratives(self) -> tuple[dict[int, list[str]], int]:
        """The narratives of each image, in the order of the files, and how many are empty."""
        narratives: dict[int, list[str]] = defaultdict(list)
        empty = 0
        for path in self._files:
            for record in read_records(path, "", {"image_id": (int, str), "caption": str}):
                if text := record["caption"].strip():
                    narratives[int(record["image_id"])].append(text)
                else:
                    empty += 1
        return narratives, empty
