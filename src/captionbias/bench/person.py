"""One more person as the yardstick of a caption metric: what it reads for a human caption in the captioner's place."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ParamSpec, cast

import numpy as np

from captionbias.bench.catalogue import EXCESS, HUMAN, scores_of
from captionbias.bench.measurement import Scores
from captionbias.bench.pairing import drawn_captions
from captionbias.captions import Captions
from captionbias.statistics.samples import Sample
from captionbias.warnings import note

P = ParamSpec("P")


def against_a_person(measure: Callable[P, Scores]) -> Callable[P, Scores]:
    """A metric of captions that also scores one more person, unless its option `controls` is False. Of each image with
    two human captions or more one is drawn; against the others both the captioner and the drawn captions are scored, on
    the same trials and replicates: `<key>_human`, and `<key>_excess`, the captioner's minus the person's."""
    score: Callable[..., Scores] = measure

    @functools.wraps(measure)
    def measured(captions: Captions | None, /, **options: Any) -> Scores:
        compared = captions is not None and options.get("controls", True)
        pair = captioner_and_person(captions, options.get("seed", 0)) if captions and compared else None
        if pair is None:
            return score(captions, **options)
        watch = options.get("progress")

        def run(number: int, captions: Captions | None, options: dict[str, Any]) -> Scores:
            """One of the three, of which a caller's `progress` is told as of one."""
            if callable(watch):
                options = options | {"progress": lambda done, total: watch(number * total + done, 3 * total)}
            return score(captions, **options)

        scores = run(0, captions, options)
        rest = options | {"controls": False, "details": False}
        try:
            captioner, person = (run(number, side, rest).samples for number, side in enumerate(pair, start=1))
        except ValueError as error:
            note(scores.notes, f"not compared with one more person: {error}")
            return scores
        return replace(scores, samples=scores.samples | beyond_a_person(measure.__name__, captioner, person))

    return cast("Callable[P, Scores]", measured)


def captioner_and_person(captions: Captions, seed: int) -> tuple[Captions, Captions] | None:
    """The captioner's captions and one human caption of each image, both with the others, if there are any."""
    if captions.predictions is None or captions.references is None:
        return None
    counts = np.fromiter(map(len, captions.references), np.int64, len(captions))
    rows = np.flatnonzero(counts > 1)
    if not len(rows):
        return None
    drawn = drawn_captions(np.repeat(np.arange(len(counts)), counts), len(counts), seed) - (np.cumsum(counts) - counts)
    others = tuple(
        (*captions.references[row][: drawn[row]], *captions.references[row][drawn[row] + 1 :]) for row in rows
    )
    captioner = captions.select(rows, references=others)
    person = captioner.with_predictions([captions.references[row][drawn[row]] for row in rows])
    if captions.copies is not None:  # which the others alone may be too few to tell
        copies = np.unique(captions.copies[rows], return_inverse=True)[1]
        for side in (captioner, person):
            vars(side)["copies"] = copies
    return captioner, person


def beyond_a_person(metric: str, captioner: Mapping[str, Sample], person: Mapping[str, Sample]) -> dict[str, Sample]:
    """What one more person scores on the images of both, and the captioner beyond it, of the metric's scores that are
    compared with a person's."""
    keys = [score.key for score in scores_of(metric) if score.against_a_person and score.key in person]
    beyond = {f"{key}{EXCESS}": captioner[key] - person[key] for key in keys if key in captioner}
    return {f"{key}{HUMAN}": person[key] for key in keys} | beyond
