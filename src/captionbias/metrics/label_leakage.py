"""Leakage of labels: how well the attribute is read from predicted tasks, and from those that are shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from captionbias.arrays import Flags, Floats
from captionbias.attackers.base import Examples
from captionbias.bench.attacks import with_sides
from captionbias.bench.catalogue import SIGNED_PERCENT, Score
from captionbias.bench.label_attacks import LabelAttack, LabelQuestion, Sides, as_tokens, attack_labels
from captionbias.bench.measurement import Prepared, metric
from captionbias.bench.reading import TRAINING, Reading, takes
from captionbias.captions import Captions
from captionbias.errors import InputError
from captionbias.scores.captions import leakage


@metric(
    "Label leakage",
    "is the attribute guessed better from the tasks that captions name?",
    with_sides(
        Score(
            "label_leakage",
            "leakage of task labels x 100",
            1,
            SIGNED_PERCENT,
            "Above 0, the tasks that captions name give the attribute away more than those shown; below 0, less.",
            sense="amplification",
            judged=True,
            headline=True,
            against_a_person=True,
            claim="the {tasks} named give {attribute} away",
            task="label_leakage",
        ),
        "images",
        "Percentage of test images whose attribute is guessed right from their tasks.",
        on_cards=False,
        published=True,
    ),
    returns="`label_leakage_m` and `label_leakage_d`, percentage of test images whose attribute is guessed right "
    "from the predicted and from the true tasks; images are balanced, so chance is 50 with two values; "
    "`label_leakage`, their difference, with `..._human` and `..._excess`. Each with intervals as in `dpa`. And "
    "`signature`.",
)
@takes(attack_labels, without=("predicted_attributes", *TRAINING))
def label_leakage(captions: Captions | None = None, /, **options: Any) -> Prepared:
    """How much better predicted tasks give away the attribute than the tasks that images show, times 100.

    One attacker predicts the attribute from the model's predicted tasks, another from the true tasks. These are first
    made wrong at random, as often as the predictions are, so that bias is compared and not accuracy. Each set of
    attribute values is a class. It tells no directions.

    Source: Wang et al. 2019.

    >>> women, men = ["female"] * 100, ["male"] * 100
    >>> shown = ([["knife"]] * 6 + [["ball"]] * 4) * 10 + ([["knife"]] * 4 + [["ball"]] * 6) * 10
    >>> told = ([["knife"]] * 9 + [["ball"]]) * 10 + ([["knife"]] + [["ball"]] * 9) * 10
    >>> result = label_leakage(attributes=women + men, tasks=shown, predicted_tasks=told, trials=2)
    >>> result["label_leakage"] > 10
    True
    """

    def questions(reading: Reading) -> dict[str, LabelQuestion]:
        classes = reading.classes()
        outputs = int(classes.max()) + 1
        if outputs == 1:
            raise InputError(
                "attributes", "has the same value in all rows: an attacker needs two or more to tell apart"
            )

        def examples(tasks: Flags) -> Examples:
            return Examples(as_tokens(tasks), classes, outputs)

        return {"predicted_tasks": LabelQuestion(examples, reading.truth.tasks, reading.predictions.tasks)}

    def scores(means: Mapping[str, Sides]) -> dict[str, Floats]:
        [sides] = means.values()
        model, data = 100 * sides["m"], 100 * sides["h"]
        return {"label_leakage": model - data, "label_leakage_m": model, "label_leakage_d": data}

    attack = LabelAttack("label_leakage", questions, leakage, scores, balanced=True)
    return attack_labels(attack, captions, {}, **options)
