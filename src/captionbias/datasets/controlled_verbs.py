"""The controlled captions C1 to C4 of DBAC's section 5.1: gender and task balanced, verbs more and more one-sided."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import numpy as np
import pyarrow as pa

from captionbias.arrays import Flags
from captionbias.datasets.coco_caption_bias import COCO
from captionbias.datasets.coco_files import Caption, read_captions, read_images
from captionbias.datasets.original_files import OriginalFiles, find_file
from captionbias.text import find_mentions, load_lexicon, tokenize

# Table 2: each subset's task, and the verb that its captions of men have more often, and the one of women.
SUBSETS = {"bed": ("lay", "sit"), "frisbee": ("throw", "play"), "umbrella": ("hold", "walk")}
FORMS = {
    "lay": ("lay", "lays", "laying", "laid", "lie", "lies", "lying"),
    "sit": ("sit", "sits", "sitting", "sat"),
    "throw": ("throw", "throws", "throwing", "threw", "thrown"),
    "play": ("play", "plays", "playing", "played"),
    "hold": ("hold", "holds", "holding", "held"),
    "walk": ("walk", "walks", "walking", "walked"),
}
COUNTS = {"C1": (30, 20), "C2": (35, 15), "C3": (40, 10), "C4": (45, 5)}  # of 50 captions of each gender and task
GENDERS = ("male", "female")
_FILES = ("captions_train2014.json", "captions_val2014.json")

Cell: TypeAlias = tuple[str, str, str]  # task, gender, verb


class ControlledVerbs(OriginalFiles):
    """A reader of COCO's captions of train2014, val2014 or both, that name one gender, a subset's task and its verb.

    Which of them are drawn depends on their ids alone. The paper drew by hand, and not these captions.
    """

    CONFIGURATIONS: ClassVar[tuple[str, ...]] = tuple(COUNTS)
    SPLIT: ClassVar[str] = "train"
    BENCHMARK: ClassVar[bool] = False

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._files = tuple(path for name in _FILES if (path := find_file(folder, name)))
        if not self._files:
            raise ValueError(f"{folder} has neither {' nor '.join(_FILES)}: put one there; they come from {COCO}")

    def schema(self, configuration: str) -> pa.Schema:
        word, words = pa.string(), pa.list_(pa.string())
        ids = {"caption_id": pa.int64(), "image_id": pa.int64()}
        return pa.schema({**ids, "references": words, "attribute": word, "tasks": words, "verb": word})

    def rows(self, configuration: str) -> Iterator[dict[str, Any]]:
        candidates, captions = self._candidates
        left_out = self.left_out[configuration] = Counter({"not drawn": captions})
        for task, verbs in SUBSETS.items():
            for gender in GENDERS:
                counts = COUNTS[configuration] if gender == "male" else COUNTS[configuration][::-1]
                for verb, count in zip(verbs, counts, strict=True):
                    qualified = candidates[task, gender, verb]
                    if len(qualified) < count:
                        files = " and ".join(path.name for path in self._files)
                        raise ValueError(
                            f"{files}: {len(qualified)} captions name {task}, one of {', '.join(FORMS[verb])} and a "
                            f"{gender} person, and {count} are needed: use both {' and '.join(_FILES)}"
                        )
                    left_out["not drawn"] -= count
                    for caption in qualified[:count]:
                        ids = {"caption_id": caption.id, "image_id": caption.image}
                        labels = {"attribute": gender, "tasks": [task], "verb": verb}
                        yield {**ids, "references": [caption.text], **labels}

    @cached_property
    def _candidates(self) -> tuple[Mapping[Cell, Sequence[Caption]], int]:
        """The captions that qualify, by cell, in the order in which they are drawn; and how many captions there are."""
        captions = [caption for path in self._files for caption in read_captions(path, read_images(path))]
        candidates: dict[Cell, list[Caption]] = defaultdict(list)
        images = set()
        by_order = sorted(_qualified(captions), key=lambda row: hashlib.sha256(str(row[1].id).encode()).digest())
        for cell, caption in by_order:
            if caption.image not in images:
                images.add(caption.image)
                candidates[cell].append(caption)
        return candidates, len(captions)


def _qualified(captions: Sequence[Caption]) -> Iterator[tuple[Cell, Caption]]:
    """The captions of one gender, one of the tasks and one of its verbs."""
    captions = [caption for caption in captions if any(task in caption.text.lower() for task in SUBSETS)]
    tokens = tokenize([caption.text for caption in captions])

    def named(words: Mapping[str, Sequence[str]]) -> Flags:
        lexicon = load_lexicon(words)
        return find_mentions(tokens, lexicon).named(tokens, len(lexicon.labels))

    lexicon = load_lexicon("gender")
    genders = named({gender: lexicon.groups[gender] for gender in GENDERS})
    tasks = named({task: (task, f"{task}s") for task in SUBSETS})
    verbs = named(FORMS)
    for number, (task, pair) in enumerate(SUBSETS.items()):
        used = verbs[:, [list(FORMS).index(verb) for verb in pair]]
        fits = tasks[:, number] & (genders.sum(1) == 1) & (used.sum(1) == 1)
        for row in np.flatnonzero(fits).tolist():
            yield (task, GENDERS[genders[row].argmax()], pair[used[row].argmax()]), captions[row]
