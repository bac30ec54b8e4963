"""DPA: directional predictability amplification, on labels."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from captionbias.arrays import Floats
from captionbias.attackers.base import Examples, Trial, stratified_split
from captionbias.attackers.registry import find_attacker
from captionbias.captions import Captions
from captionbias.metrics.catalogue import DIRECTIONS, POSITIVE, SIGNED, Score
from captionbias.metrics.label_attacks import TEST_SHARE, as_tokens, attack_labels, both_sides
from captionbias.metrics.label_inputs import LabelInputs, read_labels, takes
from captionbias.metrics.measurement import Scores, metric
from captionbias.metrics.person import against_a_person
from captionbias.progress import Progress
from captionbias.scores import QUALITIES, normalized_difference
from captionbias.statistics.samples import bootstrap_samples

if TYPE_CHECKING:
    from torch import nn
    from typing_extensions import Unpack


def _dpa(direction: str, more: str, claim: str) -> Iterable[Score]:
    name = DIRECTIONS[direction]
    yield Score(
        f"dpa_{direction}",
        f"DPA {name}",
        3,
        SIGNED,
        f"Above 0 {more}, below 0 harder.",
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
            POSITIVE,
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
    trained=True,
)
@against_a_person
@takes(LabelInputs)
def dpa(
    captions: Captions | None = None,
    /,
    *,
    encoder: str | type[nn.Module] = "linear",
    precision: str | None = None,
    quality: str = "inverse_cross_entropy",
    equalize: bool = True,
    trials: int = 10,
    controls: bool = True,
    seed: int = 0,
    bootstrap: int = 1000,
    cache: bool | str | Path = True,
    distributed: bool = True,
    details: bool = False,
    progress: Progress = None,
    **inputs: Unpack[LabelInputs],
) -> Scores:
    """Directional predictability amplification: do predictions let tasks or attributes be guessed better?

    A to T: one attacker predicts the model's predicted tasks from the true attributes, another the true tasks. T to A:
    predicted and true attributes, from the true tasks. True labels are first made wrong as often as the predictions
    are, at random, so that it is bias that is compared and not accuracy.

    Args:
        captions: from `check_captions` or `read_captions`; or the next four arguments.
        **inputs: captions or labels, as `read_labels` takes them.
        encoder: `linear`, `dense` (a small network, needs torch), or your own `torch.nn.Module`.
        quality: `inverse_cross_entropy`, `accuracy` (of the whole set of labels) or `confidence`.
        equalize: False compares with the true labels as they are.
        trials: attackers trained a side and direction; trial `t` splits and trains with seed `seed + t`.
        controls: as `directional_ba` takes it.
        details: add the nested entry `details`.
        precision, seed, bootstrap, cache, distributed, progress: as `lic` takes them.

    Returns:
        `dpa_a_to_t` and `dpa_t_to_a` in [-1, 1], above 0 when predictions amplify; for each `..._human` of one more
        person and `..._excess`, in [-2, 2], the captioner's beyond that; `predictability_m_d` and
        `predictability_d_d` for each direction `d`, of the model's labels and of the data's. Each with `..._std` over
        trials, `..._trial_ci_low/high` (95%, over trials) and `..._ci_low/high` (95%, over images and trials). And
        `signature`. A direction without predictions is absent.

    Source: Tokas, Nair and Kerner 2025.

    >>> women, men = ["female"] * 100, ["male"] * 100
    >>> shown = ([["knife"]] * 6 + [["ball"]] * 4) * 10 + ([["knife"]] * 4 + [["ball"]] * 6) * 10
    >>> told = ([["knife"]] * 9 + [["ball"]]) * 10 + ([["knife"]] + [["ball"]] * 9) * 10
    >>> result = dpa(attributes=women + men, tasks=shown, predicted_tasks=told, trials=2)
    >>> result["dpa_a_to_t"] > 0.1
    True
    """
    if quality not in QUALITIES:
        raise ValueError(f"quality {quality!r} is unknown; choose one of {', '.join(QUALITIES)}")
    attacker = find_attacker(encoder, precision, cache=cache)
    labels = read_labels(captions, **inputs).occurring()
    seeds = range(seed, seed + trials)
    classes = labels.classes()
    splits = {number: stratified_split(classes, TEST_SHARE, number, labels.copies) for number in seeds}
    values, shown = labels.shown.attributes, labels.shown.tasks
    asked = {"a_to_t": (values, shown, labels.predicted_tasks), "t_to_a": (shown, values, labels.predicted_attributes)}
    plans: dict[str, list[Trial]] = {}
    for name, (known, truth, predicted) in asked.items():
        if predicted is not None:
            examples = partial(Examples, as_tokens(known), outputs=truth.shape[1])
            trials_of = both_sides(name, examples, truth, predicted, splits, equalize)
            plans |= {f"{side}_{name}": of_side for side, of_side in trials_of.items()}
    groups = labels.groups(seed)
    scored = attack_labels(
        plans, attacker, QUALITIES[quality], groups, cache=cache, distributed=distributed, progress=progress
    )

    def quantities(multiplicity: Floats, _: Floats | None) -> dict[str, Floats]:
        means = {f"predictability_{key}": one.means("", multiplicity) for key, one in scored.items()}
        if quality == "inverse_cross_entropy":
            with np.errstate(divide="ignore"):
                means = {key: np.asarray(1 / mean) for key, mean in means.items()}
        scores = {
            f"dpa_{name}": normalized_difference(means[f"predictability_m_{name}"], means[f"predictability_d_{name}"])
            for name in DIRECTIONS
            if f"m_{name}" in plans
        }
        return scores | means

    return Scores(
        bootstrap_samples(quantities, int(groups.max()) + 1, trials, bootstrap, seed),
        {},
        dict(
            **attacker.signature(),
            quality=quality,
            equalized=equalize,
            **labels.sources,
            trials=trials,
            split=f"{TEST_SHARE:g}",
            seed=seed,
            bootstrap=bootstrap,
        ),
        labels.notes,
        labels.image_counts() if details else None,
    )
