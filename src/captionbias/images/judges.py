"""The judge of ImageCaptioner2, and what it is asked.

"a [MASK] rides a wave. Therefore, the gender is" goes on with "female" or with "male" (ImageCaptioner2, section 4.2). A
judge is an attacker like any other: the engine trains it, shares its trials out and keeps their scores.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np

from captionbias.arrays import Array
from captionbias.attackers.ranks import device
from captionbias.attackers.recipes import Schedule
from captionbias.attackers.registry import Attacker
from captionbias.errors import InputError, missing
from captionbias.images.reading import decode_all
from captionbias.text import tokenize
from captionbias.text.lexicon import attribute_lexicons

FROM_SCRATCH = Schedule(2e-3, batch=128, epochs=40)  # the paper's, which names no learning rate
SIDE, SMALL = 64, 32  # pixels on a side of what the judge sees; the latter of images that are no larger
# Raised when the same trial gives other scores than before.
VERSION = 2


def prompt_for(attribute: str, prompt: str | None = None) -> str:
    """The user's prompt, or the attribute's."""
    prompts = attribute_lexicons()
    prompt = (prompts.get(attribute, "") if prompt is None else prompt).strip()
    if not prompt:
        raise missing("prompt", f"is missing: {attribute!r} has none; give one, such as {prompts['gender']!r}")
    return prompt


def answers_for(values: Sequence[str], answers: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """The answer for each value of the attribute: the value itself unless the user's mapping has another."""
    chosen = {} if answers is None else answers
    if not isinstance(chosen, Mapping) or not all(isinstance(answer, str) for answer in chosen.values()):
        raise InputError("answers", "must map labels to words")
    if unknown := [value for value in chosen if value not in values]:
        raise InputError(
            "answers", f": {unknown[0]!r} is not a value of the attribute; its values are {', '.join(values)}"
        )
    all_answers = tuple(chosen.get(value, value) for value in values)
    if not all(answer.strip() for answer in all_answers) or len(set(all_answers)) < len(all_answers):
        raise InputError("answers", f"are {', '.join(map(repr, all_answers))}: give each value words of its own")
    return all_answers


def make_judge(images: Sequence[Any], prompt: str, answers: Sequence[str], epochs: int | None = None) -> Attacker:
    """The judge of every trial's captions, whose rows are those of the images (RGB, the person masked): after each
    caption and the prompt it says one of the answers, one a class. `epochs`: 40 when None."""
    if not (find_spec("torch") and find_spec("accelerate")):
        raise ValueError("ImageCaptioner2 needs torch and accelerate: pip install '.[images]' in a clone first")
    from captionbias.images import show_attend_tell

    place, schedule, pixels = (
        device(),
        replace(FROM_SCRATCH, epochs=epochs or FROM_SCRATCH.epochs),
        small_pixels(images),
    )
    digest = hashlib.blake2b(f"{pixels.shape} {tuple(answers)} {prompt}".encode(), digest_size=16)
    digest.update(pixels.data)
    settings = (schedule, VERSION, digest.hexdigest())
    words = tuple(tuple(text.split()) for text in tokenize([prompt, *answers]).texts())
    fit = partial(
        show_attend_tell.fit, pixels=pixels, prompt=words[0], answers=words[1:], schedule=schedule, device=place
    )
    return Attacker(
        f"sat,{pixels.shape[1]}px,{schedule.epochs} epochs,{digest.hexdigest()[:8]}",
        None,
        f"sat {settings} {place.type} torch {version('torch')}",
        fit,
        placement="processes" if place.type == "cpu" else "plain",
        explained=None,
    )


def small_pixels(images: Sequence[Any]) -> Array:
    """Images as the judge sees them: `(images, side, side, 3)` of bytes, at a side by the first of them."""
    from PIL.Image import Resampling

    side = SMALL if images and max(images[0].size) <= SMALL else SIDE
    small = np.empty((len(images), side, side, 3), np.uint8)
    for number, image in enumerate(decode_all(images)):
        small[number] = image if image.size == (side, side) else image.resize((side, side), Resampling.BOX)
    return small
