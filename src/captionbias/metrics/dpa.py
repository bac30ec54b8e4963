"""DPA: directional predictability amplification, on labels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np

from captionbias.arrays import Flags, Floats
from captionbias.attackers.base import Examples
from captionbias.bench.catalogue import DIRECTIONS, NORMALIZED, RATIO, Score
from captionbias.bench.label_attacks import LabelAttack, LabelQuestion, Sides, as_tokens, attack_labels
from captionbias.bench.measurement import Prepared, metric
from captionbias.bench.reading import ATTRIBUTES, TASKS, TRAINING, Reading, takes
from captionbias.captions import Captions
from captionbias.errors import unknown
from captionbias.scores.captions import QUALITIES
from captionbias.scores.omega import normalized_difference


def _dpa(direction: str, more: str, claim: str) -> Iterable[Score]:
    name = DIRECTIONS[direction]
    yield Score(
        f"dpa_{direction}",
        f"DPA {name}",
        3,
        NORMALIZED,
        f"Above 0, {more}; below 0, harder.",
        direction=direction,
        sense="amplification",
        judged=True,
        headline=True,
        against_a_person=True,
        claim=claim,
        task=f"dpa_{direction}",
    )
    for side, who in (("m", "predicted labels"), ("d", "labels of the images")):
        yield Score(
            f"predictability_{side}_{direction}",
            f"predictability {name}, {who}",
            3,
            RATIO,
            "How well an attacker guesses one from the other.",
            direction=direction,
            in_tables=False,
            on_cards=False,
        )


@metric(
    "DPA",
    "do captions let tasks be guessed from attributes (A to T), or attributes from tasks (T to A)?",
    [
        *_dpa(
            "a_to_t",
            "the tasks that captions name are easier to guess from the attribute than those shown",
            "the {tasks} named follow from {attribute}",
        ),
        *_dpa(
            "t_to_a",
            "the attribute that captions name is easier to guess from the tasks than the true one",
            "{tasks} predict which {value} is named",
        ),
    ],
    about={
        "quality": "how the attacker is scored: `inverse_cross_entropy`, `accuracy` (of the whole set of labels) or "
        "`confidence`"
    },
    returns="`dpa_a_to_t` and `dpa_t_to_a` in [-1, 1], if there are predictions for them, with `..._human` and "
    "`..._excess`; `predictability_m_d` and `predictability_d_d` for each direction `d`, from the captioner's labels "
    "and from the data's. The main scores have `..._verdict` and `..._ci_low/high` over images and trials (95%). And "
    "`signature`.",
)
@takes(attack_labels, without=TRAINING)
def dpa(captions: Captions | None = None, /, *, quality: str = "inverse_cross_entropy", **options: Any) -> Prepared:
    """Directional predictability amplification: do predictions let tasks or attributes be guessed better?

    A to T: one attacker predicts the model's predicted tasks from the true attributes, another the true tasks. T to A:
    predicted and true attributes, from the true tasks. True labels are first made wrong at random, as often as the
    predictions are, so that bias is compared and not accuracy.

    Source: Tokas, Nair and Kerner 2025.

    >>> women, men = ["female"] * 100, ["male"] * 100
    >>> shown = ([["knife"]] * 6 + [["ball"]] * 4) * 10 + ([["knife"]] * 4 + [["ball"]] * 6) * 10
    >>> told = ([["knife"]] * 9 + [["ball"]]) * 10 + ([["knife"]] + [["ball"]] * 9) * 10
    >>> result = dpa(attributes=women + men, tasks=shown, predicted_tasks=told, trials=2)
    >>> result["dpa_a_to_t"] > 0.1
    True
    """
    if quality not in QUALITIES:
        raise unknown("quality", quality, QUALITIES)

    def questions(reading: Reading) -> dict[str, LabelQuestion]:
        values, tasks, predictions = reading.truth.values, reading.truth.tasks, reading.predictions
        by_direction = {
            "a_to_t": (TASKS, LabelQuestion(_guessed(values, tasks), tasks, predictions.tasks)),
            "t_to_a": (ATTRIBUTES, LabelQuestion(_guessed(tasks, values), values, predictions.values)),
        }
        return {
            name: question for name, (predicted, question) in by_direction.items() if predicted in reading.predicted
        }

    def scores(means: Mapping[str, Sides]) -> dict[str, Floats]:
        of_captions: dict[str, Floats] = {}
        predictability: dict[str, Floats] = {}
        for name, of_sides in means.items():
            model, data = of_sides["m"], of_sides["h"]
            if quality == "inverse_cross_entropy":
                with np.errstate(divide="ignore"):
                    model, data = np.asarray(1 / model), np.asarray(1 / data)
            of_captions[f"dpa_{name}"] = normalized_difference(model, data)
            predictability |= {f"predictability_m_{name}": model, f"predictability_d_{name}": data}
        return of_captions | predictability

    attack = LabelAttack("dpa", questions, QUALITIES[quality], scores, balanced=False)
    return attack_labels(attack, captions, {"quality": quality}, **options)


def _guessed(known: Flags, truth: Flags) -> Callable[[Flags], Examples]:
    return partial(Examples, as_tokens(known), outputs=truth.shape[1])
