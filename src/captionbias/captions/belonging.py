"""Whether predictions, human captions and tasks belong together: what one says of an image, another must say of it more
often than of other images."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from captionbias.arrays import sparse
from captionbias.captions.texts import words_of
from captionbias.errors import InputError, naming
from captionbias.text import Lexicon, find_mentions, load_lexicon

if TYPE_CHECKING:
    from captionbias.captions.check import Captions

LEAST_AGREEMENT = 0.1  # beyond chance, as Cohen's kappa; of ten captioners of COCO 0.2 to 0.7, one row off 0.0
COMMON = 0.5  # of the images
COPIED, LEAST_IMAGES = 0.95, 20  # of the images; how many these must be
SURE = 0.999


class Agreement(NamedTuple):
    """Of so many `cases`, in how many what is said of an image is `right`, and in how many it would be by chance."""

    cases: float
    right: float
    chance: float

    @property
    def is_chance(self) -> bool:
        """Whether it is hardly more often right than by chance, for sure."""
        by_chance = self.chance / max(self.cases, 1)
        return self._most - by_chance < LEAST_AGREEMENT * (1 - by_chance)

    @property
    def is_contradicted(self) -> bool:
        """Whether it is wrong in most cases, for sure."""
        return self._most < 0.5

    @property
    def _most(self) -> float:
        """The upper end of the share that may be right (Clopper and Pearson 1934)."""
        from scipy.special import betaincinv

        return 1.0 if self.right >= self.cases else float(betaincinv(self.right + 1, self.cases - self.right, SURE))

    def __str__(self) -> str:
        of_100 = (100 / max(self.cases, 1) * number for number in (self.right, self.chance))
        return "in {:.0f} of 100 cases, as often as by chance ({:.0f})".format(*of_100)


def agreement(said: Any, shown: Any) -> Agreement:
    """Of the flags of what is said of images, `(images, things)`, how many are also in `shown`. What none of these has,
    or more than half of the images on a side, is no case."""
    share, often = (np.asarray(side.mean(axis=0)).ravel() for side in (shown, said))
    telling = (share > 0) & (share <= COMMON) & (often <= COMMON)
    said, shown, share = said[:, telling], shown[:, telling], share[telling]
    cases = np.asarray(said.sum(axis=0)).ravel()
    return Agreement(float(cases.sum()), float((said * shown).sum()), float(cases @ share))


def strangers(captions: Captions) -> list[InputError]:
    """What does not belong together, each as an error: predictions that are the human captions; predictions, or tasks,
    of other images than the human captions."""
    trust = naming("measure them all the same, with {trust_rows}", trust_rows=True)
    ways = "check that the rows, or the image ids, belong together", trust
    errors: list[InputError] = []
    if len(captions) < LEAST_IMAGES:
        return errors
    if captions.predictions and captions.references and _copied(captions):
        fault = naming(": nearly every one is also among the {references} of its image:")
        errors.append(InputError("predictions", fault, "give what people said, not what the captioner says", trust))
    for argument, what, found in (
        ("predictions", "what they say is in the human captions", _by_words(captions)),
        ("tasks", "what captions name is among those", _by_tasks(captions)),
    ):
        if found and found.is_chance:
            of_others = f": {what} of the same image {found}, so they may be of other images:"
            errors.append(InputError(argument, of_others, *ways))
    return errors


def _copied(captions: Captions) -> bool:
    pairs = zip(captions.predictions or (), captions.references or (), strict=True)
    others = (1 for said, people in pairs if words_of(said) not in map(words_of, people))
    most = int((1 - COPIED) * len(captions))
    return sum(islice(others, most + 1)) <= most


def _by_words(captions: Captions) -> Agreement | None:
    if captions.predictions is None or captions.references is None:
        return None
    words, images = captions.words(), len(captions)
    sides = (words.model, words.model_image), (words.human, words.human_image)
    said, shown = (_flags(image[of.rows], of.ids, (images, len(of.words))) for of, image in sides)
    return agreement(said, shown)


def _by_tasks(captions: Captions) -> Agreement | None:
    """By human captions, else by predictions, those of a task's own name where no lexicon has it."""
    if captions.tasks is None:
        return None
    known = load_lexicon(f"coco_objects-{captions.language}" if captions.language else "coco_objects").groups
    names = sorted({*chain.from_iterable(captions.tasks)})
    lexicon = Lexicon("tasks", "<tasks>", {name: known.get(name, (name.lower(),)) for name in names})
    words = captions.words()
    people = captions.references is not None
    tokens, image = (words.human, words.human_image) if people else (words.model, words.model_image)
    mentions = find_mentions(tokens, lexicon, captions.language or "words")
    shape, number = (len(captions), len(names)), {name: place for place, name in enumerate(names)}
    rows = np.repeat(np.arange(len(captions)), list(map(len, captions.tasks)))
    shown = _flags(rows, np.array([number[name] for name in chain.from_iterable(captions.tasks)]), shape)
    return agreement(_flags(image[tokens.rows[mentions.starts]], mentions.labels, shape), shown)


def _flags(rows: Any, columns: Any, shape: tuple[int, int]) -> Any:
    return (sparse(np.ones(len(rows)), (rows, columns), shape) > 0).astype(np.float64)
