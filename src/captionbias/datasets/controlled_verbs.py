"""The controlled captions C1 to C4 of DBAC's section 5.1: gender and task balanced, verbs more and more one-sided."""

from __future__ import annotations

import hashlib
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from captionbias.arrays import Flags
from captionbias.datasets.coco import read_captions, read_images
from captionbias.datasets.coco_caption_bias import COCO
from captionbias.datasets.labels import has_word
from captionbias.datasets.original_files import BLOCK, find_file
from captionbias.text import find_mentions, load_lexicon, named_labels, tokenize

if TYPE_CHECKING:
    import pyarrow as pa


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


MOST = max(map(max, COUNTS.values()))
_TASK_WORDS = [word for task in SUBSETS for word in (task, f"{task}s")]

Cell: TypeAlias = tuple[str, str, str]  # task, gender, verb


class Candidate(NamedTuple):
    """A caption that qualifies; those of a cell are drawn by ascending `order`."""

    order: bytes
    cell: Cell
    id: int
    image: int
    text: str


class ControlledVerbs:
    """Reads COCO's captions, of train2014, val2014 or both; they come from COCO's annotations.

    A caption qualifies for a subset if it names one gender (lexicon `gender`), the subset's task, and just one of its
    verbs. Which of them are drawn depends on their ids alone. The paper drew by hand, and not these captions.
    """

    CONFIGURATIONS: ClassVar[tuple[str, ...]] = tuple(COUNTS)
    SPLIT: ClassVar[str] = "train"
    BENCHMARK: ClassVar[bool] = False
    captioners: tuple[str, ...] = ()

    def __init__(self, folder: Path) -> None:
        self.files = tuple(path for name in _FILES if (path := find_file(folder, name)))
        if not self.files:
            raise ValueError(f"{folder} has neither {' nor '.join(_FILES)}: put one there; they come from {COCO}")
        self.left_out: dict[str, dict[str, int]] = {}

    def schema(self, configuration: str) -> pa.Schema:
        import pyarrow as pa

        word, words = pa.string(), pa.list_(pa.string())
        ids = {"caption_id": pa.int64(), "image_id": pa.int64()}
        return pa.schema({**ids, "references": words, "attribute": word, "tasks": words, "verb": word})

    def tables(self, configuration: str) -> Iterator[pa.Table]:
        import pyarrow as pa

        rows = []
        for task, verbs in SUBSETS.items():
            for gender in GENDERS:
                counts = COUNTS[configuration] if gender == "male" else COUNTS[configuration][::-1]
                for verb, count in zip(verbs, counts, strict=True):
                    rows += self._drawn(task, gender, verb, count)
        self.left_out[configuration] = {"not drawn": self._read.captions - len(rows)}
        yield pa.Table.from_pylist(rows, schema=self.schema(configuration))

    def _drawn(self, task: str, gender: str, verb: str, count: int) -> list[dict[str, Any]]:
        found = self._read.candidates[task, gender, verb]
        if len(found) < count:
            files = " and ".join(path.name for path in self.files)
            raise ValueError(
                f"{files}: {len(found)} captions name {task}, one of {', '.join(FORMS[verb])} and a {gender} person, "
                f"and {count} are needed: use both {' and '.join(_FILES)}"
            )
        own = {"attribute": gender, "tasks": [task], "verb": verb}
        return [
            {"caption_id": caption.id, "image_id": caption.image, "references": [caption.text], **own}
            for caption in found[:count]
        ]

    @cached_property
    def _read(self) -> _Candidates:
        return _Candidates(self.files)


class _Candidates:
    """Captions that qualify, by task, gender and verb, in the order in which they are drawn; one an image at most.

    Attributes:
        candidates: those of each cell, no more than are ever drawn.
        captions: how many captions the files have.
    """

    def __init__(self, files: Sequence[Path]) -> None:
        import pyarrow as pa

        found: list[Candidate] = []
        self.captions = 0
        for path in files:
            with tempfile.TemporaryDirectory(prefix="captionbias-") as scratch:
                images = read_images(path).ids
                captions, empty = read_captions(path, images, Path(scratch))
                self.captions += empty
                for start in range(0, len(images), BLOCK):
                    offsets, rows = captions.of(images[start : start + BLOCK])
                    self.captions += len(rows)
                    owners = pa.array(np.repeat(images[start : start + BLOCK], np.diff(offsets)))
                    rows = rows.append_column("image", owners).filter(has_word(rows["caption"], _TASK_WORDS))
                    columns = (rows[name].to_pylist() for name in ("id", "image", "caption"))
                    found += _first(_qualified(*columns))
                del captions  # lets go of its file before the folder goes
        self.candidates: dict[Cell, list[Candidate]] = defaultdict(list)
        for candidate in _first(found):
            self.candidates[candidate.cell].append(candidate)


def _first(found: Sequence[Candidate]) -> list[Candidate]:
    """One candidate an image, and of each cell no more than are ever drawn, in the order in which they are."""
    images: set[int] = set()
    counts: Counter[Cell] = Counter()
    kept = []
    for candidate in sorted(found):
        if candidate.image in images:
            continue
        images.add(candidate.image)
        counts[candidate.cell] += 1
        if counts[candidate.cell] <= MOST:
            kept.append(candidate)
    return kept


def _qualified(ids: Sequence[int], images: Sequence[int], captions: Sequence[str]) -> list[Candidate]:
    """The captions of one gender, one of the tasks and one of its verbs."""
    tokens = tokenize(captions)

    def named(words: Mapping[str, Sequence[str]]) -> Flags:
        lexicon = load_lexicon(words)
        return named_labels(tokens, find_mentions(tokens, lexicon), len(lexicon.labels))

    lexicon = load_lexicon("gender")
    genders = named({gender: lexicon.groups[gender] for gender in GENDERS})
    tasks = named({task: (task, f"{task}s") for task in SUBSETS})
    verbs = named(FORMS)
    found = []
    for number, (task, pair) in enumerate(SUBSETS.items()):
        said = verbs[:, [list(FORMS).index(verb) for verb in pair]]
        fits = tasks[:, number] & (genders.sum(1) == 1) & (said.sum(1) == 1)
        for row in np.flatnonzero(fits).tolist():
            cell = (task, GENDERS[genders[row].argmax()], pair[said[row].argmax()])
            order = hashlib.sha256(str(ids[row]).encode()).digest()
            found.append(Candidate(order, cell, ids[row], images[row], captions[row]))
    return found
