"""DBAC by its definition, one caption after the other, of captions whose attacker is known.

A clue gives the attribute away, wrongly in one caption of five; other clues give the tasks away, always.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import NamedTuple

import numpy as np
import pytest

from captionbias.attackers.base import stratified_split
from captionbias.captions.texts import canonical_order
from captionbias.metrics.dbac_direction import PAIRINGS
from captionbias.statistics.intervals import resamples
from tests.whole import dbac, whole

PEOPLE = {"female": "woman", "male": "man", None: "someone"}
CLUES = {"female": "indoors", "male": "outdoors"}
OTHER = {"female": "male", "male": "female"}
TASKS = {"ball": "round", "bench": "long"}  # and their clues
FILLERS = [f"word{number}" for number in range(20)]
DIRECTIONS = ("a_to_t", "t_to_a")
IMAGES, REPLICATE = 400, 2
KNOWN = {"preset": "fast", "trials": 3, "bootstrap": 20, "alignment": "constant", "quality": "accuracy", "cache": False}


class Told(NamedTuple):
    """One caption: its image, whom and what it names, what its clue says the attribute is."""

    image: int
    person: str | None
    tasks: frozenset[str]
    clue: str
    text: str


class Known:
    """One model caption and three human captions of each image; the captioner names more tasks for women."""

    def __init__(self):
        random = np.random.default_rng(0)
        self.attributes = ["female" if image % 2 else "male" for image in range(IMAGES)]
        self.tasks = [frozenset(task for task in TASKS if random.random() < 0.5) for _ in self.attributes]
        self.told = {"m": [], "h": []}
        for image, (attribute, shown) in enumerate(zip(self.attributes, self.tasks, strict=True)):
            for side, number in (("m", 0), ("h", 0), ("h", 1), ("h", 2)):
                likely = 0.8 if attribute == "female" and side == "m" else 0.6
                # Two human captions name every task: tasks that are not given are found, whichever caption is scored.
                every = side == "h" and number < 2
                tasks = [task for task in TASKS if task in shown and (every or random.random() < likely)]
                person = attribute if random.random() < 0.8 else None
                clue = OTHER[attribute] if random.random() < 0.2 else attribute
                fillers = random.choice(FILLERS, size=2) if random.random() < 0.5 else []
                words = ["a", PEOPLE[person], *(TASKS[task] for task in TASKS if task in shown), CLUES[clue]]
                words += [*(f"a {task}" for task in tasks), *fillers]
                self.told[side].append(Told(image, person, frozenset(tasks), clue, " ".join(words)))
        by_image = [self.told["h"][start : start + 3] for start in range(0, 3 * IMAGES, 3)]
        order = canonical_order([[one.text for one in told] for told in by_image], once=False)
        self.told["h"] = [
            one
            for told, texts in zip(by_image, order, strict=True)
            for one in sorted(told, key=lambda one: texts.index(one.text))
        ]
        classes = np.array([attribute == "male" for attribute in self.attributes], np.int64)
        self.tested = [
            set(stratified_split(classes, 0.2, 0, part=trial)[1].tolist()) for trial in range(KNOWN["trials"])
        ]

    def arguments(self):
        human = [told.text for told in self.told["h"]]
        return {
            "predictions": [told.text for told in self.told["m"]],
            "references": [human[start : start + 3] for start in range(0, len(human), 3)],
            "attributes": self.attributes,
            "task_lexicon": {task: [task] for task in TASKS},
        }

    def compared(self, drawn):
        """The captions of each trial: of the human ones those drawn, or all of them."""
        if drawn is None:
            return [self.told] * KNOWN["trials"]
        return [
            {"m": self.told["m"], "h": [self.told["h"][3 * image + number] for image, number in enumerate(numbers)]}
            for numbers in drawn
        ]

    def weighed(self, direction, drawn, times=None):
        """In each trial, of each side, all captions and those tested, each with its quality and both of its weights.

        `times`: how often each image is there.
        """
        shows = self.attributes if direction == "a_to_t" else self.tasks
        times = [1] * IMAGES if times is None else times.astype(int).tolist()
        of_shown = Counter(one for one, count in zip(shows, times, strict=True) for _ in range(count))

        def named(one):
            return one.tasks if direction == "a_to_t" else one.person

        for images, told in zip(self.tested, self.compared(drawn), strict=True):
            share = {}
            for side in "mh":
                names = Counter(named(one) for one in told[side] for _ in range(times[one.image]))
                share[side] = {name: count / names.total() for name, count in names.items()}
            both = share["m"].keys() & share["h"].keys()
            pi = {
                name: share["h"][name] if drawn is None else (share["m"][name] + share["h"][name]) / 2 for name in both
            }

            def weights(side, one, share=share, pi=pi):
                right = direction == "t_to_a" or one.clue == self.attributes[one.image]
                per_shown, name = of_shown.total() / of_shown[shows[one.image]], named(one)
                matched = pi[name] / share[side][name] * per_shown if name in pi else 0.0
                return one, float(right), share[side].get(name, 0.0) * per_shown, matched

            yield {
                side: [
                    [weights(side, one) for one in captions for _ in range(times[one.image])]
                    for captions in (told[side], [one for one in told[side] if one.image in images])
                ]
                for side in "mh"
            }

    def by_hand(self, *given, **options):
        """All forms, trial by trial."""
        found = defaultdict(list)
        for trial in self.weighed(*given, **options):
            for side, (every, tested) in trial.items():
                q, w, v = map(np.array, zip(*(row[1:] for row in tested), strict=True))
                found[f"prior_{side}"].append(np.mean([weight for _, _, weight, _ in every]))
                found[f"omega_{side}"].append((q * w).mean())
                found[f"omega_{side}_matched"].append((q * v).sum() / v.sum())
                found[f"quality_{side}"].append(q.mean())
        of = {name: np.array(values) for name, values in found.items()}
        return of | {
            "dbac": difference(of["omega_m"], of["omega_h"]),
            "dbac_matched": difference(of["omega_m_matched"], of["omega_h_matched"]),
            "dbac_prior": difference(of["prior_m"], of["prior_h"]),
        }


def difference(model, human):
    return (model - human) / (model + human)


def means(values):
    return pytest.approx({name: np.mean(of) for name, of in values.items()}, abs=5e-6)  # of six digits


@pytest.fixture(scope="module")
def known():
    return Known()


@pytest.fixture(scope="module", autouse=True)
def attacker_that_goes_by_the_clue():
    """A strong penalty leaves the clue in these few captions and takes out what their other words say by chance."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("captionbias.attackers.convex.L2", 20.0)
        yield


@pytest.fixture(scope="module", params=PAIRINGS)
def measured(request, known):
    tasks = [sorted(tasks) for tasks in known.tasks]
    options = KNOWN | {"pairing": request.param, "controls": True, "details": True}
    return dbac.measure(**known.arguments(), tasks=tasks, **options)


each_way = pytest.mark.parametrize("direction", DIRECTIONS)


@each_way
def test_every_score_follows_from_the_captions(direction, known, measured):
    """The clues are neither attribute nor task words, so that blind attackers say the same."""
    result, hand = whole(measured), known.by_hand(direction, measured.details["drawn"])
    expected = {f"dbac_{direction}{form}": hand[f"dbac{form}"] for form in ("", "_matched", "_prior")}
    expected |= {f"dbac_{direction}_blind": hand["dbac_matched"], f"dbac_{direction}_net": 0.0}
    for side in "mh":
        expected |= {f"omega_{side}_{direction}{form}": hand[f"omega_{side}{form}"] for form in ("", "_matched")}
        expected |= {f"mean_quality_{side}_{direction}": hand[f"quality_{side}"], f"coverage_{side}_{direction}": 1.0}
    assert {key: result[key] for key in expected} == means(expected)
    rows = measured.details[direction]["trials"]
    for form in ("", "_matched"):
        assert [row[f"dbac{form}"] for row in rows] == pytest.approx(hand[f"dbac{form}"], abs=1e-6)


@each_way
def test_a_replicate_is_the_score_of_images_repeated(direction, known, measured):
    overlap = 0.25 if measured.settings["pairing"] == "held-out" else 0.0
    times, trials = next(resamples(IMAGES, KNOWN["trials"], KNOWN["bootstrap"], 0, overlap))
    times, trials = times[:, REPLICATE], trials[:, REPLICATE]
    hand = known.by_hand(direction, measured.details["drawn"], times=times)
    for form in ("", "_matched"):
        found = measured.samples[f"dbac_{direction}{form}"].replicates[REPLICATE]
        assert found == pytest.approx(trials @ hand[f"dbac{form}"])


def test_without_weights_omega_of_accuracy_is_the_accuracy(known):
    result = dbac(**known.arguments(), **KNOWN, bayes=False, details=True)
    for direction in DIRECTIONS:
        hand = known.by_hand(direction, result["details"]["drawn"])
        for side in "mh":
            assert result[f"omega_{side}_{direction}"] == pytest.approx(hand[f"quality_{side}"].mean(), abs=1e-6)
            assert result[f"mean_weight_{side}_{direction}"] == 1
        assert result[f"dbac_{direction}_matched"] == pytest.approx(hand["dbac_matched"].mean(), abs=1e-6)


def test_tasks_are_those_given_or_those_that_the_human_captions_name(known):
    """Only T to A asks what an image shows."""
    tasks = [sorted(tasks) for tasks in known.tasks]
    other = [["bench"] if image % 2 else [] for image in range(IMAGES)]
    given, named, others = (
        dbac(**known.arguments(), **KNOWN, tasks=column, details=True) for column in (tasks, None, other)
    )
    counts = [result.pop("details")["task_counts"] for result in (given, named, others)]
    assert counts == [*[dict(Counter(task for row in tasks for task in row))] * 2, {"bench": IMAGES // 2}]
    signatures = [result.pop("signature") for result in (given, named, others)]
    assert ["tasks:named" in signature for signature in signatures] == [False, True, False]
    people = ("_noise", "_detectable")  # of whom other tasks are known where they are not given
    assert [item for item in given.items() if not item[0].endswith(people)] == [
        item for item in named.items() if not item[0].endswith(people)
    ]
    assert [others[key] for key in given if "a_to_t" in key] == [given[key] for key in given if "a_to_t" in key]
    assert others["dbac_t_to_a_prior"] != given["dbac_t_to_a_prior"]
