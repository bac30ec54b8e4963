"""Labels and captions for property tests, and bias amplification by its definition, one pair at a time."""

from fractions import Fraction
from itertools import product

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

DIRECTIONS = ("a_to_t", "t_to_a")
ARGUMENTS = ("attributes", "tasks", "predicted_attributes", "predicted_tasks")
VALUES, THINGS = frozenset({"female", "male"}), frozenset({"cake", "dog", "knife"})
WORDS = {"female": "a woman", "male": "a man", **{thing: f"a {thing}" for thing in THINGS}}
LEXICON = {thing: [thing] for thing in sorted(THINGS)}
CAPTION = st.frozensets(st.sampled_from(sorted(VALUES | THINGS)))
IMAGE = st.tuples(st.sampled_from(sorted(VALUES)), CAPTION, st.lists(CAPTION, min_size=1, max_size=4))


@st.composite
def label_tables(draw):
    """Flags of some images for every argument of `ARGUMENTS`."""
    images, values, tasks = draw(st.integers(1, 15)), draw(st.integers(1, 4)), draw(st.integers(1, 4))
    flags = [draw(arrays(bool, (images, width))) for width in (values, tasks, values, tasks)]
    assume(flags[0].any() and flags[1].any())
    return dict(zip(ARGUMENTS, flags, strict=True))


@st.composite
def tables_and_training(draw):
    """The same, and flags of the attributes and tasks of other images, or none."""
    table, images = draw(label_tables()), draw(st.integers(0, 12))
    if not images:
        return table, {}
    training = [draw(arrays(bool, (images, table[name].shape[1]))) for name in ("attributes", "tasks")]
    assume(all(flags.any() for flags in training))
    return table, dict(zip(("training_attributes", "training_tasks"), training, strict=True))


@st.composite
def captioned_images(draw):
    """Images with one to four human captions each: the value, what the model caption names, what each human one does.

    Images of both values, a human caption that names a thing, and a caption that names a value.
    """
    images = draw(st.lists(IMAGE, min_size=2, max_size=10))
    assume({value for value, _, _ in images} == VALUES)
    assume(any(named & THINGS for _, _, humans in images for named in humans))
    assume(any(named & VALUES for _, of_model, humans in images for named in (of_model, *humans)))
    return images


def sets_of(flags):
    return [frozenset(np.flatnonzero(row).tolist()) for row in flags]


def written(images):
    """The arguments of a metric for captioned images, which may be drawn as though they did not belong together."""

    def text(names):
        return " and ".join(WORDS[name] for name in sorted(names)) or "a room"

    return {
        "predictions": [text(named) for _, named, _ in images],
        "references": [[text(named) for named in humans] for _, _, humans in images],
        "attributes": [value for value, _, _ in images],
        "task_lexicon": LEXICON,
        "trust_rows": True,
    }


def rows_of_labels(table, training=None):
    """The rows of the data, of predictions and of what is known, in each direction: pairs (values, tasks) of sets."""
    values, tasks, predicted_values, predicted_tasks = (sets_of(table[name]) for name in ARGUMENTS)
    data = list(zip(values, tasks, strict=True))
    known = list(zip(*map(sets_of, training.values()), strict=True)) if training else data
    predicted = zip(values, predicted_tasks, strict=True), zip(predicted_values, tasks, strict=True)
    return {name: (data, list(rows), known) for name, rows in zip(DIRECTIONS, predicted, strict=True)}


def rows_of_captions(images, tasks=None):
    """The same; a row is a caption. A to T: the value of its image and what it names; T to A: the other way round.

    Without `tasks` an image shows what any of its human captions names.
    """
    shown = tasks or [frozenset().union(*humans) & THINGS for _, _, humans in images]
    captions = [], []
    for (value, named, humans), tasks_of_image in zip(images, shown, strict=True):
        captions[0].extend((value, tasks_of_image, one) for one in humans)
        captions[1].append((value, tasks_of_image, named))
    a_to_t = [[({value}, named & THINGS) for value, _, named in side] for side in captions]
    t_to_a = [[(named & VALUES, tasks_of_image) for _, tasks_of_image, named in side] for side in captions]
    return {"a_to_t": (*a_to_t, a_to_t[0]), "t_to_a": (*t_to_a, t_to_a[0])}


def share(rows):
    rows = list(rows)
    return Fraction(sum(rows), len(rows)) if rows else None


def amplified(direction, values, combinations, data, predicted, known, signed=True):
    """y * Delta of each value `a` and combination of tasks `t` (not `signed`: Delta); None where no row has what it is
    conditioned on.

    y = sign(P(a, t) - P(a) P(t)) over the known rows with any value or combination. Delta of A to T: P(t' | a) -
    P(t | a), of T to A: P(a' | t) - P(a | t).
    """
    condition, outcome = (0, 1) if direction == "a_to_t" else (1, 0)
    known = [row for row in known if row[0] or any(t <= row[1] for t in combinations)]
    parts = []
    for a, t in product(values, combinations):
        known_pairs, before, after = (
            [(a in row_values, t <= row_tasks) for row_values, row_tasks in rows] for rows in (known, data, predicted)
        )
        chance = share(one for one, _ in known_pairs) * share(other for _, other in known_pairs)
        together = share(one and other for one, other in known_pairs)
        y = (together > chance) - (together < chance)
        old, new = (share(pair[outcome] for pair in pairs if pair[condition]) for pairs in (before, after))
        parts.append(None if old is None or new is None else (y if signed else 1) * (new - old))
    return parts


def scores(result):
    return {key: value for key, value in result.items() if key not in ("signature", "details")}
