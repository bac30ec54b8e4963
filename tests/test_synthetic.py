"""Planted captions: each dial changes what it is for, by as much as it says, and nothing else."""

import numpy as np
import pytest

from benchmarks.planted_sway import swayed
from captionbias.metrics import sway
from captionbias.synthetic import ATTRIBUTES, LEAN, NAMES_PERSON, NAMES_TASK, PEOPLE, TASKS, VERBS, plant, plant_verbs
from tests.refusals import refuses

DIALS = [{"a_to_t": 0.5}, {"a_to_t": -0.5}, {"t_to_a": 0.5}, {"t_to_a": -0.5}, {"naming": 0.4}]
LEANS = {task: np.sign(lean - 0.5) for task, lean in zip(TASKS, LEAN, strict=True)}  # 1 to women, -1 to men
NOBODY = len(ATTRIBUTES)


def named(captions: list[str]) -> tuple[np.ndarray, list[str | None], list[str]]:
    """Whom and what each caption names, and the rest of it."""
    people, tasks, rests = [], [], []
    for caption in captions:
        number, name = next((row, name) for row, of in enumerate(PEOPLE) for name in of if caption.startswith(name))
        task = next((name for name in TASKS if f" with a {name} " in caption), None)
        people.append(number)
        tasks.append(task)
        rests.append(caption.removeprefix(name).replace(f" with a {task} ", " "))
    return np.array(people), tasks, rests


@pytest.mark.parametrize("dials", DIALS)
def test_a_dial_changes_what_it_is_for_and_nothing_else(dials):
    still, turned = plant(1000, seed=3), plant(1000, seed=3, **dials)
    assert vars(turned) == {**vars(still), "predictions": turned.predictions}
    (people, tasks, rests), (turned_people, turned_tasks, turned_rests) = map(
        named, (still.predictions, turned.predictions)
    )
    assert turned_rests == rests
    assert (turned_tasks == tasks) == ("t_to_a" in dials)
    assert np.array_equal(turned_people, people) == ("t_to_a" not in dials)
    assert np.array_equal(turned_people == NOBODY, people == NOBODY)  # other people, but in the same captions
    if "naming" in dials:  # some captions lose their task
        assert all(turned in (task, None) for turned, task in zip(turned_tasks, tasks, strict=True))
        assert turned_tasks.count(None) > tasks.count(None)
    else:
        assert [task is None for task in turned_tasks] == [task is None for task in tasks]


def test_everything_depends_on_the_seed():
    first, again, second = (vars(plant(100, seed=seed, a_to_t=0.3)) for seed in (1, 1, 2))
    assert first == again
    for name in ("predictions", "references", "tasks"):
        assert first[name] != second[name]


def test_without_a_dial_the_captions_name_what_the_image_shows():
    planted = plant(2000, seed=5, captions=2)
    references = [caption for row in planted.references for caption in row]
    for captions, repeats in ((planted.predictions, 1), (references, 2)):
        people, tasks, _ = named(captions)
        shown = np.repeat([ATTRIBUTES.index(value) for value in planted.attributes], repeats)
        assert ((people == shown) | (people == NOBODY)).all()
        assert np.mean(people != NOBODY) == pytest.approx(NAMES_PERSON, abs=0.04)
        assert np.mean([task is not None for task in tasks]) == pytest.approx(NAMES_TASK, abs=0.04)
        truth = [task for (task,) in planted.tasks for _ in range(repeats)]
        assert all(task in (None, true) for task, true in zip(tasks, truth, strict=True))


@pytest.mark.parametrize(
    ("dial", "bad", "low"),
    [("a_to_t", 1.01, -1), ("t_to_a", float("nan"), -1), ("naming", -0.1, 0), ("silence", 1.5, 0)],
)
def test_a_dial_beyond_its_range_is_refused(dial, bad, low):
    refuses(f"{dial} must be between {low} and 1, not {bad}", plant, 10, **{dial: bad})


def test_tasks_that_lean_to_nobody_go_with_nobody_in_the_shipped_table():
    for tasks in (None, plant().tasks):
        leans = sway(**vars(plant()) | {"tasks": tasks}, bootstrap=0, details=True)["details"]["leans"]
        goes_with = {row["task"]: {"female": 1, "male": -1}[row["goes_with"]] for row in leans}
        assert {task: goes_with.get(task, 0) for task in TASKS} == LEANS


@pytest.mark.parametrize(
    ("dials", "t_to_a", "lost", "a_to_t"),
    [
        # Of 100 images whose task leans to somebody, 30 (of four values 45) show another person than it leans to.
        ({}, 0, 0, 0),
        ({"t_to_a": 0.5}, 15, 15 * NAMES_PERSON, 0),
        ({"t_to_a": -0.5, "a_to_t": -1}, 0, 0, 0),
        ({"t_to_a": 1.0, "a_to_t": 1.0}, 30, 30 * NAMES_PERSON, 100 * NAMES_TASK),
        ({"t_to_a": 0.5, "values": 4}, 22.5, 22.5 * NAMES_PERSON, 0),
        ({"t_to_a": -0.8, "a_to_t": -0.8}, 0, 0, 0),
        ({"t_to_a": -0.8, "a_to_t": -0.8, "values": 4}, 0, 0, 0),
        ({"silence": 0.5}, 0, 15 * NAMES_PERSON, 0),
        ({"t_to_a": 1.0, "silence": 0.5}, 100 * 15 / 85, 30 * NAMES_PERSON, 0),
        ({"a_to_t": 0.4}, 0, 0, 40 * NAMES_TASK),
        ({"a_to_t": 0.4, "naming": 0.5, "values": 4}, 0, 0, 20 * NAMES_TASK),
    ],
)
def test_what_is_counted_is_what_the_dials_mean(dials, t_to_a, lost, a_to_t):
    counted = swayed(plant(20_000, captions=1, **dials))
    assert counted == pytest.approx({"t_to_a": t_to_a, "t_to_a_lost": lost, "a_to_t": a_to_t}, abs=1)


@pytest.mark.parametrize("share", [0.6, 0.9, 0.5, 0.0])
def test_verbs_lean_by_exactly_their_share_and_tasks_not_at_all(share):
    planted = plant_verbs(human=share, model=1 - share, images=300, captions=2)
    cells = [(task, label) for (task,), label in zip(planted.tasks, planted.attributes, strict=True)]
    assert {cells.count(cell) for cell in cells} == {50}
    sides = [([texts[column] for texts in planted.references], share) for column in range(2)]
    for captions, expected in [*sides, (planted.predictions, 1 - share)]:
        uses = {cell: [] for cell in cells}  # of the verbs that lean to men
        for caption, (task, label) in zip(captions, cells, strict=True):
            assert f" the {task} " in caption
            uses[task, label].append(any(f" {verb} the " in caption for verb in VERBS[task][0]))
        assert len(uses) == 2 * len(VERBS)
        for (_, label), found in uses.items():
            assert np.mean(found) == pytest.approx(expected if label == "male" else 1 - expected)
