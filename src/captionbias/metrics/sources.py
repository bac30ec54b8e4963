"""Where a DBAC comes from: what each attribute value with each task adds to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from captionbias.metrics.directions import SIDES, UNBOUNDED, Answers
from captionbias.scores import Parts, amplification_part, normalized_difference, occurrences
from captionbias.statistics import Floats, bootstrap_interval, resamples
from captionbias.text.tokens import Integers

FORMS = ("", "_matched")
MOST_INTERVALS = 300  # replicates are kept for the largest pairs alone: lists of thousands of tasks fit into memory


def sources(
    name: str,
    answers: Answers,
    shown_labels: Sequence[str],
    named_labels: Sequence[str],
    seed: int,
    bootstrap: int,
    notes: list[str],
) -> list[dict[str, Any]]:
    """The omegas and the score of one direction, divided among pairs of an attribute value and a task.

    A test caption's part of omega, its quality times its weight over the number of test captions, goes to what its
    image shows with what it names. A to T: the attribute value of the image with each task that the caption names. T to
    A: each task of the image with each attribute value that the caption names. Several share it equally; what is not
    there (a caption that names nothing, an image without tasks) is None.

    Args:
        name: `a_to_t` or `t_to_a`.
        shown_labels: what images can show; `named_labels`: what captions can name.
        seed: of the bootstrap, as of the score's.
        bootstrap: replicates over images and trials.
        notes: gets a note where a quality has no parts.

    Returns:
        One row a pair that occurs, those that add or take most first: `direction`, `attribute`, `task`; `omega_m` and
        `omega_h`, its parts of either omega; `amplification`, its part of the score, and `difference`, the normalized
        difference of its own two parts; these four also with `..._matched`; `named_m` and `named_h`, the share of all
        captions of images that show the one which name the other; `test_captions_m` and `test_captions_h`, a trial's
        captions with both. `amplification_ci_low/high` (and `..._matched_ci_...`): 95%, over images and trials, of the
        300 largest pairs. Over all rows the parts sum to the omegas and the amplifications to the scores. With one
        side only its omega's parts, with their intervals. No rows for `inverse_cross_entropy`: it is the inverse of a
        mean, and no sum over captions.
    """
    if answers.kind == "inverse_cross_entropy":
        notes.append(f"{name}: quality inverse_cross_entropy is no sum over captions, so there is no table of sources")
        return []
    images = len(answers.direction.shown)
    trials = len(next(iter(answers.tested.values())))
    counts, named = _counts(answers)
    pairs = np.flatnonzero(np.any([of_side > 0 for of_side in counts.values()], axis=0))
    found = _mean_over_trials(_values(answers, np.ones((images, 1)), pairs), np.ones((trials, 1)))
    estimate = {quantity: values[:, 0] for quantity, values in found.items()}

    ranked = "amplification" if len(counts) == 2 else next(iter(estimate))
    order = np.argsort(-np.abs(estimate[ranked]), kind="stable")
    pairs, estimate = pairs[order], {quantity: values[order] for quantity, values in estimate.items()}
    if len(counts) == 2:
        estimate |= {
            f"difference{form}": normalized_difference(estimate[f"omega_m{form}"], estimate[f"omega_h{form}"])
            for form in FORMS
        }
    for side in counts:
        estimate |= {f"named_{side}": named[side][pairs], f"test_captions_{side}": counts[side][pairs]}
    intervals = _intervals(answers, pairs[:MOST_INTERVALS], estimate, ranked, seed, bootstrap)

    shown_label, named_label = np.divmod(pairs, len(named_labels) + 1)
    shown_names, named_names = [*shown_labels, None], [*named_labels, None]
    shown_kind, named_kind = ("attribute", "task") if name == "a_to_t" else ("task", "attribute")
    rows = []
    for number in range(len(pairs)):
        labels = {shown_kind: shown_names[shown_label[number]], named_kind: named_names[named_label[number]]}
        quantities = {quantity: float(values[number]) for quantity, values in estimate.items()}
        quantities |= intervals[number] if number < len(intervals) else {}
        rows.append(
            {"direction": name, "attribute": labels["attribute"], "task": labels["task"]}
            | {quantity: value for quantity, value in quantities.items() if not np.isnan(value)}
        )
    return rows


def _counts(answers: Answers) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Of every pair and each side: test captions with it, a trial; the share that names the one where the other is."""
    direction = answers.direction
    sets = direction.shown_sets, direction.named_sets
    counts, shares = {}, {}
    for side, captions in direction.captions.items():
        of_trials = [occurrences(captions, direction.shown, tested.rows, *sets)[0] for tested in answers.tested[side]]
        counts[side] = np.mean(of_trials, axis=0)
        both, base = occurrences(captions, direction.shown, np.arange(len(captions.image)), *sets)
        shares[side] = np.divide(both, base, out=np.full(len(base), np.nan), where=base > 0)
    return counts, shares


def _values(answers: Answers, multiplicity: Floats, pairs: Integers) -> Iterator[dict[str, Floats]]:
    """Each trial's parts of the omegas and of the score, of shape `(pairs, replicates)`."""
    found = answers.parts(multiplicity, pairs)
    for of_trial in zip(*found.values(), strict=True):
        sides: dict[str, Parts] = dict(zip(found, of_trial, strict=True))
        values = {f"omega_{side}": sides[side].published for side in SIDES if side in sides}
        if len(sides) == 2:
            m, h = sides["m"], sides["h"]
            values |= {f"omega_{side}_matched": sides[side].matched for side in SIDES}
            values["amplification"] = amplification_part(m.published, h.published, m.omega.published, h.omega.published)
            values["amplification_matched"] = amplification_part(m.matched, h.matched, m.omega.matched, h.omega.matched)
        yield values


def _mean_over_trials(found: Iterable[dict[str, Floats]], weights: Floats) -> dict[str, Floats]:
    """The means over trials of weights `(trials, replicates)`; a trial is left out where it is undefined."""
    sums: dict[str, Floats] = {}
    counted: dict[str, Floats] = {}
    for values, weight in zip(found, weights, strict=True):
        for quantity, of_trial in values.items():
            known = ~np.isnan(of_trial)
            sums[quantity] = sums.get(quantity, 0.0) + weight * np.where(known, of_trial, 0.0)
            counted[quantity] = counted.get(quantity, 0.0) + weight * known
    with np.errstate(invalid="ignore"):
        return {quantity: np.asarray(sums[quantity] / counted[quantity]) for quantity in sums}


def _intervals(
    answers: Answers, pairs: Integers, estimate: dict[str, Floats], ranked: str, seed: int, bootstrap: int
) -> list[dict[str, float]]:
    """The intervals of each pair, from the replicates that the score's interval stands on."""
    if bootstrap < 2:
        return []
    quantities = [quantity for quantity in estimate if quantity.startswith(ranked)]
    images = len(answers.direction.shown)
    trials = len(next(iter(answers.tested.values())))
    replicates: dict[str, list[Floats]] = {quantity: [] for quantity in quantities}
    for multiplicity, weights in resamples(images, trials, bootstrap, seed):
        found = _mean_over_trials(_values(answers, multiplicity, pairs), weights)
        for quantity in quantities:
            replicates[quantity].append(found[quantity])
    bounds = (-1.0, 1.0) if ranked == "amplification" else UNBOUNDED
    intervals: list[dict[str, float]] = [{} for _ in pairs]
    for quantity in quantities:
        for number, drawn in enumerate(np.concatenate(replicates[quantity], axis=1)):
            low, high = bootstrap_interval(float(estimate[quantity][number]), drawn, bounds)
            intervals[number] |= {f"{quantity}_ci_low": low, f"{quantity}_ci_high": high}
    return intervals
