"""Drawings of planted captions: the person where it is said, the task outside; a scene's differ in the person alone."""

import numpy as np
import pytest

from captionbias.images.drawings import draw
from captionbias.synthetic import TASKS, plant


@pytest.mark.parametrize("size", [32, 48])
def test_drawings_show_the_person_in_the_region_and_the_task_outside_it(size):
    planted = plant(images=400)
    images, persons = draw(planted, size)
    women = np.array(planted.attributes) == "female"
    means = np.array([image[person].mean(axis=0) for image, person in zip(images, persons, strict=True)])
    assert (means[women, 0] > means[women, 2]).all()
    assert (means[~women, 0] < means[~women, 2]).all()
    rest = np.where(persons[..., None], 128, images)  # the person is hidden
    assert np.ptp(np.median(rest, axis=(1, 2, 3))) < 10
    black = (rest == 0).all(axis=3)
    by_task = {task: black[[[task] == shown for shown in planted.tasks]].sum(axis=(1, 2)) for task in TASKS}
    assert min(counts.min() for counts in by_task.values()) > 0
    assert all(np.ptp(counts) == 0 for counts in by_task.values()) == (size == 32)


def test_drawings_of_a_scene_differ_in_the_colour_of_the_person_alone():
    planted = plant(images=40, scenes=True)
    images, persons = draw(planted)
    women, men = (np.flatnonzero(np.array(planted.attributes) == value) for value in ("female", "male"))
    assert [planted.scene[image] for image in women] == [planted.scene[image] for image in men]
    assert (persons[women] == persons[men]).all()
    assert ((images[women] != images[men]).any(axis=3) == persons[women]).all()
    assert len({image.tobytes() for image in images}) == 40
