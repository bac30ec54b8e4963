"""What would sway have seen on these images? Known biases, put into people's own captions."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from captionbias.bench.measurement import Measurement
from captionbias.bench.person import captioner_and_person
from captionbias.bench.verdicts import LESS, MORE
from captionbias.captions import Captions, as_captions
from captionbias.metrics import catalogue, sway
from captionbias.progress import Watch
from captionbias.report.grid import Cell, Grid, columns
from captionbias.report.wording import fixed, interval
from captionbias.statistics.samples import Estimate
from captionbias.studies.injections import BIASES, describe, inject
from captionbias.text import LexiconSource

# The scores that are about each bias.
SCORES = {
    "value follows tasks": ("sway_t_to_a", "sway_t_to_a_lost"),
    "silent where tasks go against": ("sway_t_to_a_lost",),
    "task of the value added": ("sway_a_to_t",),
    "tasks of the rarest value dropped": ("sway_a_to_t",),
}
SHARES = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)


@dataclass(frozen=True)
class Seen:
    """A bias as a score sees it.

    `share`: the smallest share of captions changed, of those tried, that has a verdict; None if none has, 0 if the
    unchanged captions have one. `possible`: how many can be changed. `estimate`: what is read at `share`, else at
    `possible`.
    """

    bias: str
    score: str
    share: float | None
    possible: float
    estimate: Estimate | None


@dataclass(frozen=True)
class Power:
    """An entry for each bias and each score that is about it, the number of images, and sway's signature."""

    seen: list[Seen]
    images: int
    signature: str

    def as_dict(self) -> dict[str, Any]:
        return {
            "images": self.images,
            "signature": self.signature,
            "seen": [
                asdict(seen) | {"estimate": seen.estimate and seen.estimate.flat(seen.score)} for seen in self.seen
            ],
        }


def power(
    captions: Captions | None = None,
    /,
    *,
    references: Any = None,
    attributes: Any = None,
    tasks: Any = None,
    trust_rows: bool = False,
    attribute_lexicon: LexiconSource = "gender",
    task_lexicon: LexiconSource = "coco_objects",
    tokenizer: str = "words",
    seed: int = 0,
    watch: Watch | None = None,
    **options: Any,
) -> Power:
    """The smallest share of captions with a bias that sway would tell from none, on these images.

    One human caption of each image stands in the captioner's place and is changed: the value named becomes the one that
    the tasks suggest; no value is named where the tasks go against it; a task that goes with the value is added; no
    task is named where the image has the rarest value.

    Args:
        captions: from `check_captions` or `read_captions`, whose predictions play no part; or the next three arguments.
        references: `n` lists of human captions, two or more of an image.
        attributes, tasks, trust_rows, attribute_lexicon, task_lexicon, tokenizer: as of `sway`.
        seed: of which caption stands in the captioner's place, of which are changed, and of `sway`.
        watch: called before each bias is put in, with its name and the share of the work that is done, in [0, 1].
        options: others of `sway`, such as `lean`, `draws` or `bootstrap`.

    >>> from captionbias.synthetic import plant
    >>> planted = plant(200)
    >>> curves = power(references=planted.references, attributes=planted.attributes, draws=2, bootstrap=100)
    >>> curves.seen[0].score, curves.seen[0].share
    ('sway_t_to_a', 0.075)
    """
    columns = {"references": references, "attributes": attributes, "tasks": tasks}
    captions = as_captions(captions, **columns, **({"trust_rows": trust_rows} if captions is None else {}))
    words: dict[str, Any] = {"attribute_lexicon": attribute_lexicon, "task_lexicon": task_lexicon}
    words["tokenizer"] = tokenizer
    person = _person(captions, seed)
    described = describe(person, **words)
    unchanged = sway.measure(person, **words, seed=seed, **options)

    @cache
    def measured(bias: str, share: float) -> Measurement:
        if not share:
            return unchanged
        changed = inject(described, BIASES[bias], share, seed)
        return sway.measure(person.saying(changed), **words, seed=seed, **options)

    seen = []
    for number, (bias, scores) in enumerate(SCORES.items()):
        if watch:
            watch(bias, number / len(SCORES))
        possible = described.changed(inject(described, BIASES[bias], seed=seed))
        shares = [0.0, *(share for share in SHARES if share < possible), possible]
        for score in scores:

            def has_verdict(share: float) -> bool:
                estimate = measured(bias, share).estimates.get(score)  # noqa: B023
                return estimate is not None and estimate.verdict in (MORE, LESS)

            place = bisect_left(shares, True, key=has_verdict)
            share = shares[place] if place < len(shares) else None
            estimate = measured(bias, possible if share is None else share).estimates.get(score)
            seen.append(Seen(bias, score, share, possible, estimate))
    return Power(seen, len(person), unchanged.signature)


def _person(captions: Captions, seed: int) -> Captions:
    """One human caption of each image in the captioner's place."""
    if captions.references is None:
        raise ValueError("references is missing: biases are put into human captions; give two or more of each image")
    pair = captioner_and_person(captions.saying(texts[0] for texts in captions.references), seed)
    if pair is None:
        raise ValueError(
            "references: no image has two human captions (one is changed, the others say what the image shows); give "
            "more of them"
        )
    return pair[1]


def power_table(curves: Power) -> Grid:
    """A table of the share of captions from which on each bias is seen, and of what is read there."""
    rows: list[list[Cell]] = []
    for entry in curves.seen:
        score = catalogue.SCORES[entry.score]
        seen = f"not at {_percent(entry.possible)}" if entry.share is None else _percent(entry.share)
        rows.append([entry.bias, score.label, seen, interval(entry.estimate, score.digits)])
    return Grid(
        "What would sway have seen on these images? [95% interval]",
        columns("put into people's captions", "score", "seen from", "reads there"),
        rows,
        "One human caption of each image stands in the captioner's place and is changed. Seen from: the "
        "smallest share of captions changed, of those tried, that gets a verdict. Not at: as many as can be changed.",
    )


def _percent(share: float) -> str:
    return f"{fixed(100 * share, 1)}%"
