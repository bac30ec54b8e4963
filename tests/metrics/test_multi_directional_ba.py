"""Multi-attribute bias amplification against its definition, one combination at a time."""

from __future__ import annotations

from fractions import Fraction
from importlib import import_module

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from captionbias.metrics.directional_ba import directional_ba
from captionbias.metrics.multi_directional_ba import multi_directional_ba

# By its path: the package has the function under the same name.
module = import_module("captionbias.metrics.multi_directional_ba")

DIRECTIONS = ("a_to_t", "t_to_a")


def share(rows):
    rows = list(rows)
    return Fraction(sum(map(int, rows)), len(rows)) if rows else None


def sets_of(flags):
    return [frozenset(np.flatnonzero(row).tolist()) for row in flags]


def by_definition(attributes, tasks, predicted_attributes, predicted_tasks, known=None, at_least=1):
    """Mean and variance of |y Delta| of each direction, the combinations, and the undefined pairs.

    A combination is the whole set of tasks of some image; an image has it if it has all of its tasks.
    """
    known_attributes, known_tasks = known or (attributes, tasks)
    shown, told, known_sets = map(sets_of, (tasks, predicted_tasks, known_tasks))
    combinations = {one for one in known_sets if one and known_sets.count(one) >= at_least}
    parts = {name: [] for name in DIRECTIONS}
    for combination in combinations:
        known_has = [combination <= own for own in known_sets]
        has, told_has = [combination <= own for own in shown], [combination <= own for own in told]
        for a in range(attributes.shape[1]):
            anything = [
                i
                for i, row in enumerate(known_attributes)
                if row.any() or any(m <= known_sets[i] for m in combinations)
            ]
            together = share(known_attributes[i][a] and known_has[i] for i in anything)
            apart = share(known_attributes[i][a] for i in anything) * share(known_has[i] for i in anything)
            with_a = np.flatnonzero(attributes[:, a])
            with_m = np.flatnonzero(has)
            before = share(has[i] for i in with_a), share(attributes[i][a] for i in with_m)
            after = share(told_has[i] for i in with_a), share(predicted_attributes[i][a] for i in with_m)
            for name, old, new in zip(DIRECTIONS, before, after, strict=True):
                parts[name].append(None if old is None else abs((new - old) if together != apart else 0))
    found = {"combinations": len(combinations)}
    for name, values in parts.items():
        defined = [value for value in values if value is not None]
        mean = sum(defined) / Fraction(len(defined))
        found[f"multi_directional_ba_{name}"] = float(mean)
        found[f"multi_directional_ba_{name}_variance"] = float(
            sum((value - mean) ** 2 for value in defined) / Fraction(len(defined))
        )
        found[f"undefined_pairs_{name}"] = values.count(None)
    return found


def flags(rows, width):
    return st.lists(st.lists(st.booleans(), min_size=width, max_size=width), min_size=rows, max_size=rows)


@st.composite
def labels(draw, most_tasks=3):
    images, values, tasks = draw(st.integers(1, 15)), draw(st.integers(1, 3)), draw(st.integers(1, most_tasks))
    found = [np.array(draw(flags(images, width))) for width in (values, tasks, values, tasks)]
    assume(found[0].any() and found[1].any())
    return dict(zip(("attributes", "tasks", "predicted_attributes", "predicted_tasks"), found, strict=True))


def measured(bootstrap=0, **given_labels):
    result = multi_directional_ba(**given_labels, bootstrap=bootstrap)
    del result["signature"]
    return result


@settings(deadline=None, max_examples=60)
@given(labels())
def test_it_is_the_definition(given_labels):
    assert measured(**given_labels) == pytest.approx(by_definition(**given_labels), abs=1e-12)


@settings(deadline=None, max_examples=60)
@given(labels(), st.integers(1, 3))
def test_at_least_leaves_out_rare_combinations(given_labels, at_least):
    sets = sets_of(given_labels["tasks"])
    assume(any(own and sets.count(own) >= at_least for own in sets))
    found = measured(**given_labels, at_least=at_least)
    assert found == pytest.approx(by_definition(**given_labels, at_least=at_least), abs=1e-12)


@settings(deadline=None, max_examples=60)
@given(labels(), st.data())
def test_training_labels_say_which_combinations_there_are_and_what_goes_together(given_labels, data):
    known = [np.array(data.draw(flags(8, given_labels[name].shape[1]))) for name in ("attributes", "tasks")]
    assume(all(array.any() for array in known))
    shown = sets_of(given_labels["tasks"])
    assume(any(one and one <= own for one in sets_of(known[1]) for own in shown))
    found = measured(**given_labels, training_attributes=known[0], training_tasks=known[1])
    assert found == pytest.approx(by_definition(**given_labels, known=known), abs=1e-12)


@settings(deadline=None, max_examples=40)
@given(labels())
def test_predictions_equal_to_the_labels_move_nothing(given_labels):
    true = {f"predicted_{name}": given_labels[name] for name in ("attributes", "tasks")}
    result = measured(**given_labels | true, bootstrap=20)
    assert {value for key, value in result.items() if key.startswith("multi")} == {0}


@settings(deadline=None, max_examples=40)
@given(labels(), st.randoms(use_true_random=False))
def test_the_order_of_images_and_of_labels_changes_nothing(given_labels, random):
    def shuffled(count):
        return random.sample(range(count), count)

    rows = shuffled(len(given_labels["tasks"]))
    columns = {kind: shuffled(given_labels[kind].shape[1]) for kind in ("attributes", "tasks")}
    other = {name: array[rows][:, columns[name.removeprefix("predicted_")]] for name, array in given_labels.items()}
    assert measured(**other) == pytest.approx(measured(**given_labels), abs=1e-12)


@settings(deadline=None, max_examples=40)
@given(labels(most_tasks=4), st.randoms(use_true_random=False))
def test_images_of_one_task_only_make_it_the_size_of_directional_ba_s_pairs(given_labels, random):
    tasks = given_labels["tasks"].shape[1]
    given_labels["tasks"] = np.eye(tasks, dtype=bool)[[random.randrange(tasks) for _ in given_labels["tasks"]]]
    found = measured(**given_labels)
    shown = given_labels["tasks"].any(axis=0)
    for name in ("tasks", "predicted_tasks"):
        given_labels[name] = given_labels[name][:, shown]
    of_pairs = directional_ba(**given_labels, bootstrap=0, details=True)["details"]["pairs"]
    for name, table in of_pairs.items():
        shares = [abs(row["share"]) for row in table if row["share"] is not None]
        assert found[f"multi_directional_ba_{name}"] == pytest.approx(sum(shares), abs=1e-12)


@settings(deadline=None, max_examples=40)
@given(labels())
def test_everything_is_within_bounds_and_the_variance_of_equal_parts_is_0(given_labels):
    result = multi_directional_ba(**given_labels, bootstrap=20, details=True)
    for key, value in result.items():
        if key.startswith("multi"):
            assert 0 <= value <= 1
    for name, table in result["details"]["pairs"].items():
        shares = [row["share"] for row in table if row["share"] is not None]
        assert sum(map(abs, shares)) == pytest.approx(result[f"multi_directional_ba_{name}"], abs=1e-12)
        if len({round(abs(value), 12) for value in shares}) == 1:
            assert result[f"multi_directional_ba_{name}_variance"] == pytest.approx(0, abs=1e-12)


def test_what_is_amplified_and_what_is_mitigated_do_not_cancel():
    people = ["f"] * 4 + ["m"] * 4
    shown = [["knife"]] * 3 + [[]] + [["knife"]] + [[]] * 3
    told = [["knife"]] * 6 + [[]] * 2
    given_labels = {"attributes": people, "tasks": shown, "predicted_tasks": told, "bootstrap": 0}
    assert directional_ba(**given_labels)["directional_ba_a_to_t"] == 0
    assert multi_directional_ba(**given_labels)["multi_directional_ba_a_to_t"] == 0.25


def test_a_combination_is_named_by_its_tasks_and_found_in_those_who_have_more():
    result = multi_directional_ba(
        attributes=["f", "f", "m"],
        tasks=[["cake", "knife"], ["cake", "knife", "dog"], ["dog"]],
        predicted_tasks=[["cake", "knife"], ["cake"], ["dog"]],
        bootstrap=0,
        details=True,
    )
    table = {(row["attribute"], row["task"]): row for row in result["details"]["pairs"]["a_to_t"]}
    assert {task for _, task in table} == {"cake + knife", "cake + dog + knife", "dog"}
    assert table["f", "cake + knife"]["both"] == 2
    assert table["f", "cake + knife"]["predicted_both"] == 1
    assert table["f", "cake + dog + knife"]["both"] == 1
    assert {row["given"] for (value, _), row in table.items() if value == "f"} == {2}


# --- captions ---

VALUES, THINGS = ("female", "male"), ("cake", "dog", "knife")
WORDS = {"female": "a woman", "male": "a man", **{thing: f"a {thing}" for thing in THINGS}}


def told_by_captions(images, at_least):
    """Mean and variance of |y Delta|, pair by pair and caption by caption; combinations are those of human captions.

    `images`: the attribute, what the model caption names and what each human caption names.
    """
    shown = [frozenset().union(*humans) & set(THINGS) for _, _, humans in images]
    model = [(value, tasks, told) for (value, told, _), tasks in zip(images, shown, strict=True)]
    human = [(value, tasks, told) for (value, _, rows), tasks in zip(images, shown, strict=True) for told in rows]
    sets = [told & set(THINGS) for _, _, told in human]
    combinations = {one for one in sets if one and sets.count(one) >= at_least}

    def events(name, a, m, rows):
        if name == "a_to_t":
            return [(value == a, m <= told) for value, _, told in rows]
        return [(m <= tasks, a in told) for _, tasks, told in rows]

    found = {"combinations": len(combinations)}
    for name in DIRECTIONS:
        sizes = []
        counted = [
            row
            for row in human
            if name == "a_to_t" or row[2] & set(VALUES) or any(one <= row[1] for one in combinations)
        ]
        for a in {value for value, _, _ in images}:
            for m in combinations:
                known = events(name, a, m, counted)
                chance = share(one for one, _ in known) * share(other for _, other in known)
                together = share(one and other for one, other in known)
                before, after = (
                    share(other for one, other in events(name, a, m, rows) if one) for rows in (human, model)
                )
                sizes.append(abs(after - before) if together != chance else Fraction(0))
        mean = sum(sizes) / Fraction(len(sizes))
        found[f"multi_directional_ba_{name}"] = float(mean)
        found[f"multi_directional_ba_{name}_variance"] = float(
            sum((size - mean) ** 2 for size in sizes) / Fraction(len(sizes))
        )
        found[f"undefined_pairs_{name}"] = 0
    return found


def written(names):
    return " and ".join(WORDS[name] for name in sorted(names)) or "a room"


CAPTION = st.frozensets(st.sampled_from([*VALUES, *THINGS]))
IMAGE = st.tuples(st.sampled_from(VALUES), CAPTION, st.lists(CAPTION, min_size=1, max_size=4))


@settings(deadline=None, max_examples=80)
@given(st.lists(IMAGE, min_size=2, max_size=10), st.integers(1, 2))
def test_of_captions_it_is_the_definition_whatever_the_number_of_human_captions(images, at_least):
    assume({value for value, _, _ in images} == set(VALUES))
    named = [told & set(THINGS) for _, _, humans in images for told in humans]
    assume(any(one and named.count(one) >= at_least for one in named))
    found = measured(
        predictions=[written(told) for _, told, _ in images],
        references=[[written(told) for told in humans] for _, _, humans in images],
        attributes=[value for value, _, _ in images],
        task_lexicon={thing: [thing] for thing in THINGS},
        at_least=at_least,
    )
    assert found == pytest.approx(told_by_captions(images, at_least), abs=1e-12)


def test_combinations_are_those_of_human_captions_and_images_that_show_them_in_several():
    """A cake in one caption and a knife in the next is no combination; the image shows the one that another has."""
    result = multi_directional_ba(
        predictions=["a woman and a cake", "a man and a cake and a knife"],
        references=[["a woman and a cake", "a woman and a knife"], ["a man and a cake and a knife"]],
        attributes=["female", "male"],
        bootstrap=0,
        details=True,
    )
    table = {(row["attribute"], row["task"]): row for row in result["details"]["pairs"]["t_to_a"]}
    assert {task for _, task in table} == {"cake", "knife", "knife + cake"}, "in the order of the lexicon"
    both = table["female", "knife + cake"]
    assert (both["given"], both["both"], both["predicted_given"], both["predicted_both"]) == (3, 2, 2, 1)
    alone = multi_directional_ba(
        predictions=["a woman and a cake"] * 2,
        references=[["a woman and a cake", "a woman and a knife"], ["a man"]],
        attributes=["female", "male"],
        bootstrap=0,
    )
    assert alone["combinations"] == 2


# --- many combinations ---


def test_more_combinations_than_can_be_compared_are_refused_with_a_way_out(monkeypatch):
    monkeypatch.setattr(module, "MOST_COMBINATIONS", 3)
    tasks = [["a"], ["b"], ["c"], ["a", "b"], ["a"], ["b"]]
    given_labels = {"attributes": ["f", "m"] * 3, "tasks": tasks, "predicted_tasks": tasks}
    with pytest.raises(
        ValueError, match=r"^tasks: 4 sets .* of 1 or more images.* more than 3 .*give a larger at_least"
    ):
        multi_directional_ba(**given_labels)
    assert multi_directional_ba(**given_labels, at_least=2)["combinations"] == 2


def test_at_least_more_than_any_set_has_is_refused():
    tasks = [["a"], ["b"], ["a"], []]
    with pytest.raises(
        ValueError, match=r"^at_least: no set of tasks is shared by 3 images or captions; give a smaller "
    ):
        multi_directional_ba(attributes=[*"fmfm"], tasks=tasks, predicted_tasks=tasks, at_least=3)


def test_combinations_of_the_training_images_that_no_image_has_are_refused():
    given_labels = {"attributes": ["f", "m"], "tasks": [["a"], ["b"]]}
    training = {"training_attributes": ["f", "m"], "training_tasks": [["a", "b"], ["a", "b"]]}
    with pytest.raises(
        ValueError, match=r"^tasks: no image shows any of the combinations of training_tasks, so t_to_a is"
    ):
        multi_directional_ba(**given_labels, **training, predicted_attributes=["f", "m"])
    result = multi_directional_ba(**given_labels, **training, predicted_tasks=[["a", "b"], []], bootstrap=0)
    assert result["multi_directional_ba_a_to_t"] == 0  # both have them in training, so they do not go with anybody


def test_with_many_combinations_there_are_fewer_groups_and_the_score_is_the_same(monkeypatch):
    random = np.random.default_rng(0)
    given_labels = {
        "attributes": random.random((400, 2)) < 0.5,
        "tasks": random.random((400, 6)) < 0.4,
        "predicted_tasks": random.random((400, 6)) < 0.4,
    }
    whole = measured(**given_labels, bootstrap=300)
    monkeypatch.setattr(module, "MOST_NUMBERS", 100 * 3 * (whole["combinations"] + 1))
    grouped = measured(**given_labels, bootstrap=300)
    ends = [f"multi_directional_ba_a_to_t_ci_{end}" for end in ("low", "high")]
    assert {key: value for key, value in grouped.items() if "_ci_" not in key} == {
        key: value for key, value in whole.items() if "_ci_" not in key
    }
    assert grouped[ends[0]] != whole[ends[0]]
    assert grouped[ends[1]] - grouped[ends[0]] == pytest.approx(whole[ends[1]] - whole[ends[0]], rel=0.35)
