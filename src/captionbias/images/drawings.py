"""Drawings of what planted captions describe."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from captionbias.arrays import Flags
from captionbias.synthetic import TASKS, Planted, PlantedScenes

GRID = 32  # cells on a side of a drawing
COLOURS = {"female": (0.9, 0.4, 0.1), "male": (0.1, 0.4, 0.9)}


def draw(planted: Planted | PlantedScenes, size: int = 32, seed: int = 0) -> tuple[npt.NDArray[np.uint8], Flags]:
    """Drawings of what captions describe: on the left a figure whose colour is the person's attribute, on the right one
    black form a task, and noise. Those of a scene differ in that colour alone.

    Args:
        planted: from `plant`, of women and men.
        size: pixels on a side, 32 or more.
        seed: of the noise, and of where figures and forms stand.

    Returns:
        Images, `(n, size, size, 3)`, and the pixels of each that show the person, `(n, size, size)`.

    >>> from captionbias.synthetic import plant
    >>> images, persons = draw(plant(images=4), size=64)
    >>> images.shape, persons.shape, bool(persons[0, :, :32].any()), bool(persons[0, :, 32:].any())
    ((4, 64, 64, 3), (4, 64, 64), True, False)
    """
    generator = np.random.default_rng([seed, 30])
    images = len(planted.attributes)
    scene = planted.scene if isinstance(planted, PlantedScenes) else range(images)
    person, form = np.zeros((2, images, GRID, GRID), bool)
    top, left, low = (generator.integers(*ends, size=images)[scene] for ends in ((0, 6), (17, 21), (2, 20)))
    forms = _forms()
    for image, tasks in enumerate(planted.tasks):
        person[image, top[image] + 2 : top[image] + 7, 5:11] = True  # head
        person[image, top[image] + 8 : top[image] + 24, 3:13] = True  # body
        for task in tasks:
            form[image, low[image] : low[image] + 10, left[image] : left[image] + 10] |= forms[TASKS.index(task)]
    cell = np.arange(size) * GRID // size
    person, form = (drawn[:, cell[:, None], cell] for drawn in (person, form))
    pictures = generator.normal(0.5, 0.05, (images, size, size, 3)).astype(np.float32)[scene]
    colours = np.array([COLOURS[attribute] for attribute in planted.attributes], np.float32)
    pictures = np.where(person[..., None], colours[:, None, None], pictures)
    pictures[form] = 0
    return np.rint(255 * pictures.clip(0, 1)).astype(np.uint8), person


def _forms() -> list[Flags]:
    """One form a task, as flags of shape `(10, 10)`."""
    y, x = np.mgrid[-4.5:5.5, -4.5:5.5]
    far = np.maximum(abs(x), abs(y))
    disc = x**2 + y**2 < 23
    return [far < 5, disc, y > 0, x > 0, abs(x) < 2, abs(y) < 2, disc & (x**2 + y**2 > 9), (abs(x) < 2) | (abs(y) < 2)]
