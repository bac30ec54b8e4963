"""Directional BA against its definition, one pair at a time in fractions, and what must not change it."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from captionbias import metrics
from captionbias.captions import CaptionBiasWarning
from captionbias.metrics import pair_counts as counts
from captionbias.metrics.directional_ba import directional_ba
from captionbias.synthetic import TASKS, plant

DIRECTIONS = ("a_to_t", "t_to_a")


def share(rows):
    rows = list(rows)
    return Fraction(sum(map(int, rows)), len(rows)) if rows else None


def by_definition(attributes, tasks, predicted_attributes, predicted_tasks, known_attributes=None, known_tasks=None):
    """The score and the number of undefined pairs of each direction.

    y = sign(P(a, t) - P(a) P(t)) over images with any attribute value or task; A to T: y (P(T' | A) - P(T | A)), T to
    A: y (P(A' | T) - P(A | T)); the mean over pairs.
    """
    known_attributes = attributes if known_attributes is None else known_attributes
    known_tasks = tasks if known_tasks is None else known_tasks
    with_any = [(a, t) for a, t in zip(known_attributes, known_tasks, strict=True) if any(a) or any(t)]
    parts = {name: [] for name in DIRECTIONS}
    for a in range(len(attributes[0])):
        for t in range(len(tasks[0])):
            together = share(values[a] and shown[t] for values, shown in with_any)
            apart = share(values[a] for values, _ in with_any) * share(shown[t] for _, shown in with_any)
            y = (together > apart) - (together < apart)
            with_a = [image for image in range(len(attributes)) if attributes[image][a]]
            with_t = [image for image in range(len(tasks)) if tasks[image][t]]
            told, true = share(predicted_tasks[i][t] for i in with_a), share(tasks[i][t] for i in with_a)
            parts["a_to_t"].append(None if told is None else y * (told - true))
            told, true = share(predicted_attributes[i][a] for i in with_t), share(attributes[i][a] for i in with_t)
            parts["t_to_a"].append(None if told is None else y * (told - true))
    defined = {name: [part for part in of_direction if part is not None] for name, of_direction in parts.items()}
    return {name: (float(sum(found) / len(found)), parts[name].count(None)) for name, found in defined.items()}


def flags(rows, width):
    return st.lists(st.lists(st.booleans(), min_size=width, max_size=width), min_size=rows, max_size=rows)


@st.composite
def labels(draw, most_images=20):
    """Attributes, tasks, predicted attributes and predicted tasks of some images."""
    images, values, tasks = draw(st.integers(1, most_images)), draw(st.integers(1, 4)), draw(st.integers(1, 4))
    found = [np.array(draw(flags(images, width))) for width in (values, tasks, values, tasks)]
    assume(found[0].any() and found[1].any())
    return dict(zip(("attributes", "tasks", "predicted_attributes", "predicted_tasks"), found, strict=True))


def measured(bootstrap=0, **given_labels):
    return directional_ba(**given_labels, bootstrap=bootstrap)


def scores(result):
    return {key: value for key, value in result.items() if key not in ("signature", "details")}


# --- the definition ---


@settings(deadline=None, max_examples=60)
@given(labels())
def test_it_is_the_definition(given_labels):
    result = measured(**given_labels)
    for name, (score, undefined) in by_definition(**given_labels).items():
        assert result[f"directional_ba_{name}"] == pytest.approx(score, abs=1e-12)
        assert result[f"undefined_pairs_{name}"] == undefined


@settings(deadline=None, max_examples=60)
@given(labels(), st.data())
def test_it_is_the_definition_with_training_labels_of_other_images(given_labels, data):
    images = data.draw(st.integers(1, 12))
    known = [np.array(data.draw(flags(images, given_labels[name].shape[1]))) for name in ("attributes", "tasks")]
    assume(all(array.any() for array in known))
    result = measured(**given_labels, training_attributes=known[0], training_tasks=known[1])
    for name, (score, undefined) in by_definition(
        **given_labels, known_attributes=known[0], known_tasks=known[1]
    ).items():
        assert result[f"directional_ba_{name}"] == pytest.approx(score, abs=1e-12)
        assert result[f"undefined_pairs_{name}"] == undefined


def test_the_images_themselves_as_training_labels_change_nothing_but_the_signature():
    given_labels = {"attributes": ["f", "f", "m"], "tasks": [["a"], ["b"], ["a", "b"]], "predicted_tasks": [["a"]] * 3}
    own = {"training_attributes": given_labels["attributes"], "training_tasks": given_labels["tasks"]}
    result, again = measured(**given_labels), measured(**given_labels, **own)
    assert scores(again) == scores(result)
    assert again["signature"] != result["signature"]


WOMEN_AND_MEN = ["f"] * 4 + ["m"] * 4
KNIVES = [["knife"]] * 3 + [[]] + [["knife"]] + [[]] * 3


def test_a_to_t_by_hand():
    """P(knife) is 3/4 for women and 1/4 for men. Predicted 4/4 and 0/4: each moves by 1/4 its own way."""
    told = [["knife"]] * 4 + [[]] * 4
    assert measured(attributes=WOMEN_AND_MEN, tasks=KNIVES, predicted_tasks=told)["directional_ba_a_to_t"] == 0.25
    # 2/4 and 2/4: each a quarter back.
    told = [["knife"]] * 2 + [[]] * 2 + [["knife"]] * 2 + [[]] * 2
    assert measured(attributes=WOMEN_AND_MEN, tasks=KNIVES, predicted_tasks=told)["directional_ba_a_to_t"] == -0.25
    # 4/4 and 2/4: amplified for women, mitigated for men.
    told = [["knife"]] * 6 + [[]] * 2
    assert measured(attributes=WOMEN_AND_MEN, tasks=KNIVES, predicted_tasks=told)["directional_ba_a_to_t"] == 0


def test_t_to_a_by_hand():
    """Of four knives three are with women. Predicted: all four; the rest of the images play no part."""
    told = ["f"] * 5 + ["f", "m", "m"]
    result = measured(attributes=WOMEN_AND_MEN, tasks=KNIVES, predicted_attributes=told)
    assert result["directional_ba_t_to_a"] == 0.25
    assert set(result) == {"directional_ba_t_to_a", "undefined_pairs_t_to_a", "signature"}


def test_images_that_show_nothing_do_not_count_for_what_goes_together():
    """Each knife is with a woman, each woman has one: without empty images that is chance, and with them it is not."""
    shown = {"attributes": [["f"]] * 2, "tasks": [["knife"]] * 2, "predicted_tasks": [["knife"], []]}
    assert measured(**shown)["directional_ba_a_to_t"] == 0
    empty = {name: [*rows, [], []] for name, rows in shown.items()}
    assert measured(**empty)["directional_ba_a_to_t"] == 0
    with_ball = {
        "attributes": [["f"]] * 2 + [["m"]],
        "tasks": [["knife"]] * 2 + [[]],
        "predicted_tasks": [["knife"], [], []],
    }
    assert measured(**with_ball)["directional_ba_a_to_t"] == -0.25


# --- what changes nothing ---


@settings(deadline=None, max_examples=40)
@given(labels())
def test_predictions_equal_to_the_labels_amplify_nothing(given_labels):
    true = {f"predicted_{name}": given_labels[name] for name in ("attributes", "tasks")}
    result = measured(**given_labels | true, bootstrap=20)
    for name in DIRECTIONS:
        assert [result[f"directional_ba_{name}{end}"] for end in ("", "_ci_low", "_ci_high")] == [0, 0, 0]


@settings(deadline=None, max_examples=40)
@given(labels(), st.randoms(use_true_random=False))
def test_the_order_of_images_and_of_labels_changes_nothing(given_labels, random):
    rows = random.sample(range(len(given_labels["tasks"])), len(given_labels["tasks"]))
    columns = {
        kind: random.sample(range(given_labels[kind].shape[1]), given_labels[kind].shape[1])
        for kind in ("attributes", "tasks")
    }
    shuffled = {name: array[rows][:, columns[name.removeprefix("predicted_")]] for name, array in given_labels.items()}
    assert scores(measured(**shuffled)) == pytest.approx(scores(measured(**given_labels)), abs=1e-12)


@settings(deadline=None, max_examples=40)
@given(labels())
def test_attributes_and_tasks_in_each_other_s_place_swap_the_directions(given_labels):
    swapped = {
        ("predicted_" * name.startswith("predicted_")) + ("tasks" if "attributes" in name else "attributes"): array
        for name, array in given_labels.items()
    }
    one, other = measured(**given_labels), measured(**swapped)
    for name, opposite in (DIRECTIONS, DIRECTIONS[::-1]):
        assert one[f"directional_ba_{name}"] == pytest.approx(other[f"directional_ba_{opposite}"], abs=1e-12)
        assert one[f"undefined_pairs_{name}"] == other[f"undefined_pairs_{opposite}"]


@settings(deadline=None, max_examples=40)
@given(labels(), st.integers(2, 3))
def test_every_image_several_times_is_every_image_once(given_labels, times):
    repeated = {name: np.repeat(array, times, axis=0) for name, array in given_labels.items()}
    assert scores(measured(**repeated)) == pytest.approx(scores(measured(**given_labels)), abs=1e-12)


@settings(deadline=None, max_examples=40)
@given(labels())
def test_either_direction_is_the_same_without_the_other(given_labels):
    both = scores(measured(**given_labels))
    alone = {}
    for left_out in ("predicted_attributes", "predicted_tasks"):
        alone |= scores(measured(**{name: array for name, array in given_labels.items() if name != left_out}))
    assert alone == both


@settings(deadline=None, max_examples=40)
@given(labels())
def test_it_is_a_number_within_its_bounds_and_no_more_than_the_worst_pair(given_labels):
    result = directional_ba(**given_labels, bootstrap=20, details=True)
    for name in DIRECTIONS:
        values = [result[f"directional_ba_{name}{end}"] for end in ("_ci_low", "", "_ci_high")]
        assert values[0] >= -1
        assert values[2] <= 1
        assert all(map(math.isfinite, values))


# --- what is undefined, and the table ---


def test_pairs_of_what_no_image_shows_are_left_out_and_counted():
    """Nobody is x, and nothing shows a spoon."""
    attributes = np.array([[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 1, 0]])
    tasks = np.array([[1, 0], [0, 0], [1, 0], [1, 0]])
    told = {"predicted_tasks": np.array([[1, 0], [0, 0], [1, 0], [0, 0]]), "predicted_attributes": attributes}
    result = directional_ba(attributes=attributes, tasks=tasks, **told, bootstrap=0, details=True)
    assert (result["undefined_pairs_a_to_t"], result["undefined_pairs_t_to_a"]) == (2, 3)
    # Four pairs are defined: two of the knife, each a half or nothing, and two of a spoon that is not there.
    assert result["directional_ba_a_to_t"] == pytest.approx((0.5 + 0) / 4)
    pairs = result["details"]["pairs"]["a_to_t"]
    undefined = [row for row in pairs if row["attribute"] == "2"]
    assert [(row["share"], row["probability"], row["predicted_probability"]) for row in undefined] == [(None,) * 3] * 2
    assert pairs[-2:] == undefined, "last"


@settings(deadline=None, max_examples=40)
@given(labels())
def test_shares_of_the_table_sum_to_the_score_the_largest_first(given_labels):
    result = directional_ba(**given_labels, bootstrap=0, details=True)
    images, values = given_labels["attributes"].shape
    assert result["details"]["images"] == images
    assert result["details"]["attribute_counts"] == {
        str(value): int(count) for value, count in enumerate(given_labels["attributes"].sum(axis=0))
    }
    for name, table in result["details"]["pairs"].items():
        assert len(table) == values * given_labels["tasks"].shape[1]
        shares = [row["share"] for row in table if row["share"] is not None]
        assert sum(shares) == pytest.approx(result[f"directional_ba_{name}"], abs=1e-12)
        assert len(table) - len(shares) == result[f"undefined_pairs_{name}"]
        sizes = [round(abs(value), 12) for value in shares]
        assert sizes == sorted(sizes, reverse=True)
        for row in table:
            shown = given_labels["attributes"][:, int(row["attribute"])], given_labels["tasks"][:, int(row["task"])]
            given_ = shown[0] if name == "a_to_t" else shown[1]
            assert row["given"] == row["predicted_given"] == given_.sum()
            assert row["both"] == (shown[0] & shown[1]).sum()
            kind, number = ("tasks", row["task"]) if name == "a_to_t" else ("attributes", row["attribute"])
            told = given_labels[f"predicted_{kind}"][:, int(number)] & given_
            assert row["predicted_both"] == told.sum()
            if given_.any():
                assert row["predicted_probability"] == pytest.approx(told.sum() / given_.sum())
                assert row["probability"] == pytest.approx((shown[0] & shown[1]).sum() / given_.sum())


# --- captions ---

VALUES, THINGS = ("female", "male"), ("cake", "dog", "knife")
WORDS = {"female": "a woman", "male": "a man", **{thing: f"a {thing}" for thing in THINGS}}
LEXICON = {"task_lexicon": {thing: [thing] for thing in THINGS}}


def told_by_captions(images, given_tasks=None):
    """The score and the number of undefined pairs of each direction, pair by pair and caption by caption.

    `images`: the attribute, what the model caption names and what each human caption names. A to T: of captions of
    images with the value, those that name the task. T to A: of captions of images with the task, those that name the
    value. y = sign(P(a, t) - P(a) P(t)) over human captions with any of the values or tasks in question.
    """
    shown = given_tasks or [frozenset().union(*humans) & set(THINGS) for _, _, humans in images]
    model = [(value, tasks, told) for (value, told, _), tasks in zip(images, shown, strict=True)]
    human = [(value, tasks, told) for (value, _, rows), tasks in zip(images, shown, strict=True) for told in rows]

    def events(name, a, t, rows):
        if name == "a_to_t":
            return [(value == a, t in told) for value, _, told in rows]
        return [(t in tasks, a in told) for _, tasks, told in rows]

    found = {}
    for name in DIRECTIONS:
        parts = []
        counts_ = [row for row in human if name == "a_to_t" or row[1] or row[2] & set(VALUES)]
        for a in sorted({value for value, _, _ in images}):
            for t in sorted(frozenset().union(*shown)):
                known = events(name, a, t, counts_)
                chance = share(one for one, _ in known) * share(other for _, other in known)
                together = share(one and other for one, other in known)
                y = (together > chance) - (together < chance)
                before, after = (
                    share(other for one, other in events(name, a, t, rows) if one) for rows in (human, model)
                )
                parts.append(None if before is None or after is None else y * (after - before))
        defined = [part for part in parts if part is not None]
        found[name] = float(sum(defined) / len(defined)), parts.count(None)
    return found


@st.composite
def captioned(draw):
    """Images with one to four human captions each."""
    caption = st.frozensets(st.sampled_from([*VALUES, *THINGS]))
    image = st.tuples(st.sampled_from(VALUES), caption, st.lists(caption, min_size=1, max_size=4))
    images = draw(st.lists(image, min_size=2, max_size=10))
    assume({value for value, _, _ in images} == set(VALUES))
    return images


def written(names):
    return " and ".join(WORDS[name] for name in sorted(names)) or "a room"


def of_captions(images, given_tasks=None, bootstrap=0, **options):
    captions = {
        "predictions": [written(told) for _, told, _ in images],
        "references": [[written(told) for told in humans] for _, _, humans in images],
        "attributes": [value for value, _, _ in images],
        "tasks": None if given_tasks is None else [sorted(tasks) for tasks in given_tasks],
    }
    return directional_ba(**captions, **LEXICON, bootstrap=bootstrap, **options)


def is_by_captions(result, images, given_tasks=None):
    for name, (score, undefined) in told_by_captions(images, given_tasks).items():
        assert result[f"directional_ba_{name}"] == pytest.approx(score, abs=1e-12)
        assert result[f"undefined_pairs_{name}"] == undefined


@settings(deadline=None, max_examples=80)
@given(captioned())
def test_of_captions_it_is_the_definition_whatever_the_number_of_human_captions(images):
    assume(any(told & set(THINGS) for _, _, humans in images for told in humans))
    is_by_captions(of_captions(images), images)


@settings(deadline=None, max_examples=80)
@given(captioned(), st.data())
def test_of_captions_it_is_the_definition_with_tasks_that_are_given(images, data):
    tasks = data.draw(st.lists(st.frozensets(st.sampled_from(THINGS)), min_size=len(images), max_size=len(images)))
    assume(any(tasks))
    is_by_captions(of_captions(images, tasks), images, tasks)


def test_of_captions_by_hand():
    """Images of women have three human captions, of men one; 3 of 6 of women name a knife, and 0 of 2 of men."""
    woman, knife, nothing = frozenset({"female"}), frozenset({"female", "knife"}), frozenset()
    images = [
        ("female", knife, [knife, knife, woman]),
        ("female", knife, [knife, nothing, nothing]),
        ("male", frozenset({"knife"}), [frozenset({"male"})]),
        ("male", nothing, [frozenset({"male"})]),
    ]
    is_by_captions(result := of_captions(images), images)
    # Women: from 3/6 to 2/2, with y = 1. Men: from 0/2 to 1/2, with y = -1.
    assert result["directional_ba_a_to_t"] == pytest.approx((0.5 - 0.5) / 2)
    # Two images show a knife. Of their six human captions four name a woman and none a man; both model captions do.
    assert result["directional_ba_t_to_a"] == pytest.approx((2 / 2 - 4 / 6 + 0) / 2)


@settings(deadline=None, max_examples=30)
@given(captioned(), st.integers(2, 3))
def test_every_human_caption_several_times_is_every_one_once_intervals_included(images, times):
    assume(any(told & set(THINGS) for _, _, humans in images for told in humans))
    repeated = [(value, told, humans * times) for value, told, humans in images]
    one, other = (scores(of_captions(rows, bootstrap=30)) for rows in (images, repeated))
    assert other == pytest.approx(one, abs=1e-12)


def test_a_captioner_that_repeats_a_human_caption_of_each_image_amplifies_nothing():
    """Against what images show it would mitigate: one caption names less than all captions of an image together."""
    given_captions = vars(plant(images=3000, captions=3, seed=4))
    draw = np.random.default_rng(0)
    repeats = [humans[draw.integers(len(humans))] for humans in given_captions["references"]]
    shown = [
        sorted({name for name in TASKS if any(f"a {name}" in text for text in humans)})
        for humans in given_captions["references"]
    ]
    captions = {"predictions": repeats, "attributes": given_captions["attributes"], "bootstrap": 200}
    found = directional_ba(**captions, references=given_captions["references"])
    against_images = directional_ba(**captions, tasks=shown)
    for name, within in (("a_to_t", 0.003), ("t_to_a", 0.02)):
        assert abs(found[f"directional_ba_{name}"]) < within
        low, high = interval(found, name)
        assert low < 0 < high
        assert interval(against_images, name)[1] < 0


# --- intervals ---


@pytest.fixture(scope="module")
def planted():
    return vars(plant(images=900, captions=1, a_to_t=0.3, t_to_a=0.3))


def interval(result, name):
    return result[f"directional_ba_{name}_ci_low"], result[f"directional_ba_{name}_ci_high"]


def test_a_bias_that_was_planted_is_outside_the_interval_of_none(planted):
    faithful = directional_ba(**vars(plant(images=900, captions=1, naming=1.0)), bootstrap=200)
    amplified = directional_ba(**planted, bootstrap=200)
    for name in DIRECTIONS:
        assert interval(amplified, name)[0] > faithful[f"directional_ba_{name}"]


def test_human_captions_alone_are_compared_with_the_labels_of_their_images():
    planted = plant(images=300, captions=3)
    every = [text for texts in planted.references for text in texts]
    given = {"predictions": every}
    for side, labels in (("attributes", planted.attributes), ("tasks", planted.tasks)):
        given[side] = [label for label in labels for _ in range(3)]
    alone = directional_ba(
        references=planted.references, attributes=planted.attributes, tasks=planted.tasks, details=True
    )
    as_predictions = directional_ba(**given)
    for name in ("a_to_t", "t_to_a"):
        assert alone[f"directional_ba_h_{name}"] == as_predictions[f"directional_ba_{name}"]
        # An image is drawn with all of its captions: captions drawn one by one would seem to know more.
        wide, narrow = (
            result[f"{key}_ci_high"] - result[f"{key}_ci_low"]
            for result, key in ((alone, f"directional_ba_h_{name}"), (as_predictions, f"directional_ba_{name}"))
        )
        assert wide > narrow
    assert "directional_ba_a_to_t" not in alone
    assert alone["details"]["images"] == 300
    assert sum(alone["details"]["attribute_counts"].values()) == 300
    assert "captions:human|data:images" in alone["signature"]


def test_human_captions_alone_need_tasks():
    with pytest.raises(ValueError, match="tasks is missing: without predictions human captions are compared with"):
        directional_ba(references=[["a man"], ["a woman"]], attributes=["male", "female"])


def test_the_seed_draws_the_interval_and_nothing_else(planted):
    first, again, other = (directional_ba(**planted, bootstrap=50, seed=seed) for seed in (1, 1, 2))
    assert first == again
    for name in DIRECTIONS:
        assert interval(first, name) != interval(other, name)
        assert first[f"directional_ba_{name}"] == other[f"directional_ba_{name}"]
    assert first["signature"] != other["signature"]


@pytest.mark.parametrize("bootstrap", [0, 1])
def test_without_replicates_there_is_no_interval(planted, bootstrap):
    assert not [key for key in directional_ba(**planted, bootstrap=bootstrap) if "_ci_" in key]


def test_intervals_of_groups_are_about_those_of_single_images(planted, monkeypatch):
    """Their ends vary by 1 / sqrt(2 x 300) of the spread for the groups, and about as much for the replicates."""
    single = directional_ba(**planted, bootstrap=1000)
    original = counts.random_groups.__defaults__
    monkeypatch.setattr(counts.random_groups, "__defaults__", (300,))
    assert original == (counts.GROUPS,)
    grouped = directional_ba(**planted, bootstrap=1000)
    for name in DIRECTIONS:
        assert grouped[f"directional_ba_{name}"] == single[f"directional_ba_{name}"]
        assert interval(grouped, name) != interval(single, name)
        wide, narrow = (high - low for low, high in (interval(grouped, name), interval(single, name)))
        assert wide / narrow == pytest.approx(1, abs=0.25)


def test_the_interval_is_about_that_of_whole_resamples_of_images():
    random = np.random.default_rng(0)
    attributes = random.random((300, 2)) < 0.5
    tasks = random.random((300, 2)) < np.where(attributes[:, :1], 0.6, 0.4)
    told = np.where(random.random((300, 2)) < 0.3, attributes[:, :1], tasks)
    result = directional_ba(attributes=attributes, tasks=tasks, predicted_tasks=told, bootstrap=1000)
    drawn = []
    for _ in range(300):
        rows = random.integers(300, size=300)
        drawn.append(
            measured(attributes=attributes[rows], tasks=tasks[rows], predicted_tasks=told[rows])[
                "directional_ba_a_to_t"
            ]
        )
    low, high = interval(result, "a_to_t")
    assert high - low == pytest.approx(2 * 1.96 * np.std(drawn), rel=0.2)


@pytest.mark.parametrize("metric", [metrics.directional_ba, metrics.multi_directional_ba])
def test_captions_that_name_nothing_are_warned_of(metric):
    sides = {"references": [["a woman with a dog"], ["a man with a cake"]] * 5, "attributes": ["female", "male"] * 5}
    with pytest.warns(CaptionBiasWarning, match="no task is predicted for any image"):
        result = metric(predictions=["una persona"] * 10, **sides, bootstrap=0, details=True)
    assert any("no attribute value is predicted" in warning for warning in result["details"]["warnings"])
