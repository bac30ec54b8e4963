"""Which pairs of an attribute value and a task carry a score: the parts are its parts, and planted pairs come first."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from functools import cache
from itertools import product

import numpy as np
import pytest

from captionbias.metrics import dbac
from captionbias.metrics import dbac_sources as module
from captionbias.metrics.dbac_direction import Answers, Design, Direction, DirectionAnswers
from captionbias.metrics.dbac_sources import Sources
from captionbias.metrics.measurement import bootstrap_samples
from captionbias.metrics.pairing import Pairing
from captionbias.scores import Side, number_sets
from captionbias.scores import Tested as Answered
from captionbias.synthetic import LEAN, TASKS, plant

FAST = {"preset": "fast", "trials": 3, "alignment": "constant", "cache": False, "details": True}
FORMS = ("", "_matched", "_net")
SUMS = ("omega_m", "omega_h", "omega_m_matched", "omega_h_matched", *(f"amplification{form}" for form in FORMS))


@pytest.fixture(autouse=True)
def intervals_of_a_few_images(monkeypatch):
    monkeypatch.setattr("captionbias.metrics.measurement.LEAST_IMAGES", 1)


few_images = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")


def whole(result, quantity, direction):
    """The entry of a result that the parts of a quantity sum to."""
    form = next(form for form in reversed(FORMS) if quantity.endswith(form))
    return result[f"{quantity.removesuffix(form).replace('amplification', 'dbac')}_{direction}{form}"]


def answered(
    shown, named, tested, name="a_to_t", labels=("fm", ["knife", "fork"]), kind="confidence", bayes=True, held_out=True
):
    """Answers as a run leaves them. `shown`: a set of labels for each image. `named`: for each side a list of (image,
    set of labels). `tested`: for each side and trial a list of (caption, quality), or of (caption, quality, that of
    the blind attacker). `labels`: of what is shown, named. `held_out`: each trial has a design of its own.
    """
    shown_labels, named_labels = (
        tuple(names[: 1 + max((max(s, default=0) for s in sets), default=0)])
        for names, sets in zip(labels, (shown, _all(named)), strict=True)
    )
    shown_flags, named_flags = _flags(shown, len(shown_labels)), _flags(_all(named), len(named_labels))
    (shown_numbers,), (named_numbers,) = number_sets([shown_flags]), number_sets([named_flags])
    ends = np.cumsum([len(captions) for captions in named.values()])[:-1]
    captions = {
        side: Side(np.array([image for image, _ in named[side]]), numbers)
        for side, numbers in zip(named, np.split(named_numbers, ends), strict=True)
    }
    sets = [
        f[np.unique(n, return_index=True)[1]] for f, n in ((shown_flags, shown_numbers), (named_flags, named_numbers))
    ]

    def answers_of(columns):
        row, quality, *blind = (np.array(column) for column in zip(*columns, strict=True))
        return Answered(row, quality, *blind)

    trials = {side: [answers_of(columns) for columns in of_side] for side, of_side in tested.items()}
    count = len(trials["h"])
    chosen = [slice(number, number + 1) for number in range(count)] if held_out else [slice(0, count)]
    rows = {side: np.arange(len(of_side.image)) for side, of_side in captions.items()}
    designs = [
        Design(Pairing(range(count)[part], rows["h"], held_out), rows, captions, shown_numbers, shown_numbers, sets[0])
        for part in chosen
    ]
    direction = Direction(name, tuple("fm"), shown_labels, sets[1], named_labels, designs)
    return DirectionAnswers(
        direction,
        [
            Answers(direction, design, {side: of_side[part] for side, of_side in trials.items()}, kind, bayes)
            for design, part in zip(designs, chosen, strict=True)
        ],
    )


def images_of(answers):
    return len(answers.direction.designs[0].shown)


def _all(named):
    return [labels for captions in named.values() for _, labels in captions]


def _flags(sets, labels):
    return np.array([[label in one for label in range(labels)] for one in sets], bool)


def rows_of(answers, seed=0, bootstrap=0):
    sources = Sources.of(answers)
    bootstrap_samples(sources.quantities, images_of(answers), answers.trials, bootstrap, seed)
    return sources.rows()


def table(rows):
    return {(row["attribute"], row["task"]): row for row in rows}


# One task, four images and one caption of each side; every caption is tested and every answer right.


@pytest.mark.parametrize("held_out", [True, False])
@pytest.mark.parametrize(("bayes", "seed"), [(True, 0), (True, 1), (False, 2)])
def test_equals_the_definition_caption_by_caption(bayes, seed, held_out):
    """Sets of four labels over sets of three, two human captions and one model caption an image, two trials."""
    random = np.random.default_rng(seed)

    def draw(labels):
        return set(np.flatnonzero(random.random(labels) < 0.4).tolist())

    shown = [draw(3) for _ in range(60)] + [{2}]
    named = {"m": [(i, draw(4)) for i in range(60)], "h": [(i // 2, draw(4)) for i in range(120)] + [(60, {3})]}
    tested = {
        side: [
            [(row, random.random(), random.random()) for row in range(len(named[side])) if random.random() < 0.5]
            for _ in range(2)
        ]
        for side in named
    }
    rows = table(rows_of(answered(shown, named, tested, "t_to_a", ("xyz", "abcd"), bayes=bayes, held_out=held_out)))

    of_image = Counter(map(frozenset, shown))
    of_side = {side: Counter(frozenset(labels) for _, labels in captions) for side, captions in named.items()}
    share = {side: {k: count / len(named[side]) for k, count in of_side[side].items()} for side in "mh"}
    both = set(of_side["m"]) & set(of_side["h"])
    pi = {k: (share["m"][k] + share["h"][k]) / 2 if held_out else share["h"][k] for k in both}
    forms = ("", "_matched", "_blind")
    omega = {key: defaultdict(lambda: np.zeros(2)) for key in product("mh", forms)}
    for side, trial in product("mh", range(2)):
        parts = {form: [] for form in forms}
        for caption, quality, blind in tested[side][trial]:
            image, k = named[side][caption][0], frozenset(named[side][caption][1])
            per_shown = len(shown) / of_image[frozenset(shown[image])]
            weight = share[side][k] * per_shown if bayes else 1.0
            v = pi[k] / share[side][k] * per_shown if k in both else 0.0
            pairs = list(product(sorted(k) or [None], sorted(shown[image]) or [None]))
            parts[""].append((pairs, quality * weight, 1.0))
            parts["_matched"].append((pairs, quality * v, v))
            parts["_blind"].append((pairs, blind * v, v))
        for form, captions in parts.items():
            for pairs, value, _ in captions:
                for pair in pairs:
                    omega[side, form][pair][trial] += value / len(pairs) / sum(count for *_, count in captions)
    totals = {form: sum(sum(omega[side, form].values()) for side in "mh") for form in forms}
    for pair in set().union(*omega.values()):
        row = rows[None if pair[0] is None else "abcd"[pair[0]], None if pair[1] is None else "xyz"[pair[1]]]
        m, h = ({form: omega[side, form][pair] for form in forms} for side in "mh")
        expected = {form: (m[form] - h[form]) / totals[form] for form in forms}
        expected["_net"] = expected["_matched"] - expected.pop("_blind")
        for form, of_trials in expected.items():
            assert row[f"amplification{form}"] == pytest.approx(of_trials.mean(), abs=1e-12)
        for form in ("", "_matched"):
            assert row[f"omega_m{form}"] == pytest.approx(m[form].mean(), abs=1e-12)
            assert row[f"omega_h{form}"] == pytest.approx(h[form].mean(), abs=1e-12)


def test_without_a_name_on_both_sides_the_published_parts_make_the_order():
    """The captioner names knives alone and people forks alone, so no matched score is defined."""
    named = {"m": [(image, {0}) for image in range(4)], "h": [(image, {1}) for image in range(4)]}
    qualities = {"m": [0.2, 0.3, 0.8, 0.9], "h": [0.5, 0.4, 0.3, 0.3]}
    tested = {side: [list(enumerate(of_side))] for side, of_side in qualities.items()}
    rows = rows_of(answered([{0}, {0}, {1}, {1}], named, tested), bootstrap=20)
    assert not any("amplification_matched" in row for row in rows)
    assert [(row["attribute"], row["task"]) for row in rows] == [
        *(("m", "knife"), ("f", "fork")),
        *(("m", "fork"), ("f", "knife")),
    ]
    assert all("amplification_ci_low" in row for row in rows)


def test_the_pairs_with_the_largest_net_parts_have_the_intervals(monkeypatch):
    """Where tasks are seldom named, the largest matched and published parts are others."""
    monkeypatch.setattr(module, "MOST_INTERVALS", 5)
    rows = measured(0, 1500, bootstrap=20, naming=0.5, a_to_t=0.5)["details"]["sources"]["a_to_t"]
    published, matched, net = (sorted(rows, key=lambda row: -abs(row[f"amplification{form}"]))[:5] for form in FORMS)
    ends = [f"amplification{form}_ci_{end}" for form in FORMS for end in ("low", "high")]
    assert [row for row in rows if any(end in row for end in ends)] == net
    assert net not in (matched, published)
    assert all(end in row for row in net for end in ends)


@few_images
def test_without_controls_the_matched_parts_make_the_order():
    rows = dbac(**vars(plant(300, captions=1)), **FAST, bootstrap=0, controls=False)["details"]["sources"]["a_to_t"]
    sizes = [abs(row["amplification_matched"]) for row in rows]
    assert sizes == sorted(sizes, reverse=True)
    assert not any("net" in key for row in rows for key in row)


# Measured from captions.


def lean(row):
    """1 for a pair that the planted bias adds to, -1 for one that it takes from, 0 for one that it leaves alone."""
    if row["attribute"] is None or row["task"] is None:
        return 0
    women = np.sign(LEAN[TASKS.index(row["task"])] - 0.5)
    return women if row["attribute"] == "female" else -women


@cache
def measured(seed, images=3000, bootstrap=0, **dials):
    return dbac(**vars(plant(images, captions=2, seed=seed, **dials)), **FAST, bootstrap=bootstrap)


@pytest.fixture(scope="module")
def strong():
    return measured(0, bootstrap=200, a_to_t=0.6, t_to_a=0.6)


@few_images
@pytest.mark.parametrize("options", [{}, {"quality": "accuracy"}, {"bayes": False}, {"seed": 3}])
@pytest.mark.parametrize("direction", ["a_to_t", "t_to_a"])
def test_parts_sum_to_the_whole(direction, options):
    """Captions that name several people and tasks or none, about images that show several tasks or none."""
    planted = vars(plant(images=300, captions=2, a_to_t=0.4, t_to_a=0.4))
    planted["predictions"] = [
        f"{text} and a man" if i % 7 == 0 else text for i, text in enumerate(planted["predictions"])
    ]
    planted["references"] = [[f"{texts[0]} and a dog", *texts[1:]] for texts in planted["references"]]
    planted["tasks"] = [[*tasks, "dog"] if i % 3 else [] for i, tasks in enumerate(planted["tasks"])]
    result = dbac(**planted, **FAST | {"bootstrap": 0} | options, directions=[direction])
    rows = result["details"]["sources"][direction]
    assert {row["attribute"] for row in rows} >= {"female", "male"}
    assert None in {row["task"] for row in rows}
    for quantity in SUMS:
        assert abs(sum(row[quantity] for row in rows) - whole(result, quantity, direction)) < 1e-12


@few_images
def test_details_go_into_a_file_and_say_why_a_table_is_empty():
    planted = vars(plant(images=200, captions=1))
    result = dbac(**planted, **FAST | {"bootstrap": 0}, quality="inverse_cross_entropy")
    assert result["details"]["sources"] == {"a_to_t": [], "t_to_a": []}
    assert sum("no table of sources" in note for note in result["details"]["warnings"]) == 2
    assert json.loads(json.dumps(result["details"]))["sources"]["a_to_t"] == []


@pytest.mark.parametrize("dial", [0.3, 0.6])
@pytest.mark.parametrize("direction", ["a_to_t", "t_to_a"])
def test_planted_pairs_come_first(direction, dial):
    """Of the five largest, 0.8 are planted and have the sign they were planted with; by chance 0.25 to 0.33 would."""
    for form in FORMS:
        right = []
        for seed in range(3):
            rows = measured(seed, **{direction: dial})["details"]["sources"][direction]
            first = sorted(rows, key=lambda row: -abs(row[f"amplification{form}"]))[:5]
            right += [lean(row) * row[f"amplification{form}"] > 0 for row in first]
        assert np.mean(right) >= 0.8


def test_intervals_of_planted_pairs_do_not_hold_0(strong):
    for rows in strong["details"]["sources"].values():
        for row in rows:
            for part in (f"amplification{form}" for form in FORMS):
                assert row[f"{part}_ci_low"] <= row[part] <= row[f"{part}_ci_high"]
        for row in rows[:4]:
            assert lean(row) * row["amplification_net"] > 0
            assert row["amplification_net_ci_low"] > 0 or row["amplification_net_ci_high"] < 0


def test_intervals_of_a_faithful_captioner_hold_0():
    rows = [row for d in measured(1, bootstrap=200)["details"]["sources"].values() for row in d]
    for form in FORMS:
        low, high = (np.array([row[f"amplification{form}_ci_{end}"] for row in rows]) for end in ("low", "high"))
        assert np.mean((low <= 0) & (high >= 0)) >= 0.8
        assert (low < high).all()
