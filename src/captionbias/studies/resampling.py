"""Where a bias comes from, in words, and weights that take it out of the training images."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from captionbias.arrays import Flags, Floats, Integers
from captionbias.bench.catalogue import DIRECTIONS
from captionbias.bench.protocol import whole_number
from captionbias.captions import CaptionBiasWarning, Labels, check_labels
from captionbias.report.wording import FORMS, pair_name
from captionbias.scores.omega import number_sets

TOLERANCE, MOST_ROUNDS = 1e-6, 2000
SMALL_SHARE = 0.2


def in_words(row: Mapping[str, Any]) -> str:
    """One row of `dbac(..., details=True)["details"]["sources"]["a_to_t"]` (or `["t_to_a"]`) as a sentence.

    A pair that is named more often can still take from the score: omega also counts how sure an attacker is of these
    captions, and how frequent all of what they name is.

    >>> in_words({
    ...     "direction": "t_to_a", "attribute": "woman", "task": "knife", "named_m": 0.54, "named_h": 0.3,
    ...     "amplification": 0.021, "amplification_ci_low": 0.01, "amplification_ci_high": 0.03,
    ...     "amplification_matched": 0.019, "amplification_net": 0.017,
    ... })
    'knife -> woman (T to A): in 54.0% of captions, in 30.0% of human ones (1.8 times as often); adds +0.017 net,
    +0.019 matched, +0.021 [+0.010, +0.030] as published'
    """
    parts = "; ".join(filter(None, (_how_often(row), _how_much(row))))
    return f"{pair_name(row, '->')} ({DIRECTIONS[row['direction']]})" + (f": {parts}" if parts else "")


def _how_often(row: Mapping[str, Any]) -> str:
    model, human = row.get("named_m"), row.get("named_h")
    if model is not None and human is not None:
        times = f" ({model / human:.1f} times as often)" if human else ""
        return f"in {model:.1%} of captions, in {human:.1%} of human ones{times}"
    if model is not None:
        return f"in {model:.1%} of captions"
    return "" if human is None else f"in {human:.1%} of human captions"


def _how_much(row: Mapping[str, Any]) -> str:
    parts = []
    for quantity, form in FORMS.items():
        if row.get(quantity) is not None:
            low, high = row.get(f"{quantity}_ci_low"), row.get(f"{quantity}_ci_high")
            interval = "" if low is None or high is None else f" [{low:+.3f}, {high:+.3f}]"
            parts.append(f"{row[quantity]:+.3f}{interval} {form}")
    return f"adds {', '.join(parts)}" if parts else ""


def adding(rows: Sequence[Mapping[str, Any]], unclear: bool = False) -> list[Mapping[str, Any]]:
    """The rows that name both an attribute value and a task, and add to the net score: to the matched score without
    net, else to the published.

    Only those whose interval lies above 0, unless `unclear`.
    """

    def adds(row: Mapping[str, Any]) -> bool:
        key = next((key for key in FORMS if row.get(key) is not None), None)
        return key is not None and row[key] > 0 and (unclear or row.get(f"{key}_ci_low", 0.0) > 0)

    return [row for row in rows if None not in (row["attribute"], row["task"]) and adds(row)]


def resampling_weights(
    attributes: Any, tasks: Any, rows: Sequence[Mapping[str, Any]], *, top: int = 10, unclear: bool = False
) -> Floats:
    """Weights by which to draw training images, so that the attribute is independent of the tasks that are amplified.

    Drawn by the weights, each task of the `top` rows is as frequent with every attribute value; every attribute value
    and each of these tasks stay as frequent as they are. So images that go against an association, of women without
    knives, say, count more. Of all such weights these are the closest to equal ones (of smallest relative entropy).

    Args:
        attributes: `n` labels, one for each image.
        tasks: `n` lists of the tasks that the images show, under the names of the rows.
        rows: rows of one direction or both, from `dbac(..., details=True)["details"]["sources"]`. Their attribute
            values may have other names than `attributes`: those of T to A are the lexicon's.
        top: how many rows, from the first on, of those that add to the net score (without controls to the matched one)
            and name both an attribute value and a task.
        unclear: take also rows whose 95% interval holds 0, or that have none.

    Returns:
        Weights `(n,)` with mean 1: for `torch.utils.data.WeightedRandomSampler(weights, len(weights))`, or with
        `datasets` for `dataset.select(generator.choice(len(weights), len(weights), p=weights / weights.sum()))`.

    Source: Deming and Stephan 1940 (iterative proportional fitting); Kamiran and Calders 2012 (reweighing).

    >>> tasks = [["knife"], ["knife"], ["knife"], [], ["knife"], [], [], []]
    >>> row = {"attribute": "female", "task": "knife", "amplification": 0.1, "amplification_ci_low": 0.05}
    >>> resampling_weights(["female"] * 4 + ["male"] * 4, tasks, [row]).round(3).tolist()
    [0.667, 0.667, 0.667, 2.0, 2.0, 0.667, 0.667, 0.667]
    """
    shown = _checked(attributes, tasks)
    chosen = _chosen_tasks(rows, top, unclear, shown[1])
    classes, flags = shown[0].flags.argmax(axis=1), shown[1].flags[:, chosen]
    # Images with the same attribute value and the same of these tasks have the same weight.
    group, _ = number_sets(np.column_stack([shown[0].flags, flags]))
    _, first, count = np.unique(group, return_index=True, return_counts=True)
    names = [shown[1].names[task] for task in chosen]
    weights = _independent(classes[first], flags[first], count.astype(np.float64), shown[0].names, names)[group]
    effective = weights.sum() ** 2 / (weights**2).sum()
    if effective < SMALL_SHARE * len(weights):
        warnings.warn(
            f"weights: the {len(weights):,} images count as {effective:,.0f}; a few rare ones would be drawn again and "
            "again. Ask for fewer rows with top, or add images that go against the association",
            CaptionBiasWarning,
            stacklevel=2,
        )
    return weights


def predicted_effect(attributes: Any, tasks: Any, weights: Any) -> list[dict[str, Any]]:
    """The association of attribute and task among the images, as they are and drawn by weights.

    It describes the labels that a captioner would be trained on, and does not predict what that captioner names.

    Returns:
        One row a pair that some image shows: `attribute`, `task`, `images`, and `before` and `after`, the attribute
        value's share of the images with the task over its share of all images. 1 is independent, above 1 they go
        together. The farthest from 1 before come first.

    >>> tasks = [["knife"], ["knife"], ["knife"], [], ["knife"], [], [], []]
    >>> labels = ["female"] * 4 + ["male"] * 4
    >>> for row in predicted_effect(labels, tasks, [2 / 3, 2 / 3, 2 / 3, 2, 2, 2 / 3, 2 / 3, 2 / 3]):
    ...     print(row["attribute"], row["task"], row["images"], row["before"], round(row["after"], 3))
    female knife 3 1.5 1.0
    male knife 1 0.5 1.0
    """
    attribute, task = _checked(attributes, tasks)
    images, before = _together(attribute.flags, task.flags, np.ones(len(attribute)))
    after = _together(attribute.flags, task.flags, np.asarray(weights))[1]
    tables = {"images": images.astype(int), "before": before, "after": after}
    rows = [
        {"attribute": attribute.names[a], "task": task.names[t]}
        | {key: part[a, t].item() for key, part in tables.items()}
        for a, t in np.argwhere(images > 0)
    ]
    return sorted(rows, key=lambda row: -abs(row["before"] - 1))


def _checked(attributes: Any, tasks: Any) -> tuple[Labels, Labels]:
    attribute, task = check_labels("attributes", attributes), check_labels("tasks", tasks)
    if len(attribute) != len(task):
        raise ValueError(
            f"attributes has length {len(attribute):,} and tasks has length {len(task):,}: entry i of each belongs to "
            "image i, so give as many of one as of the other"
        )
    for row in np.flatnonzero(attribute.flags.sum(axis=1) != 1)[:1]:
        raise ValueError(f"attributes[{row}] must be one label: drop images that show none or several values")
    if len(attribute.names) < 2:
        raise ValueError(f"attributes has one value, {attribute.names[0]!r}, in all images: add images of another")
    return attribute, task


def _chosen_tasks(rows: Sequence[Mapping[str, Any]], top: int, unclear: bool, tasks: Labels) -> Integers:
    """The columns of the tasks of the first `top` rows that add, by `adding`."""
    chosen = [row["task"] for row in adding(rows, unclear)[: whole_number("top", top, least=1)]]
    if not chosen:
        also = "" if unclear else "; unclear=True takes pairs whose interval holds 0 as well"
        raise ValueError(
            "rows: no pair of an attribute value and a task clearly adds to the score, so there is nothing to take "
            f"out; give the rows of details['sources'] of a captioner measured with predictions and references{also}"
        )
    for task in chosen:
        if task not in tasks.names:
            raise ValueError(
                f"rows name task {task!r}, which no image has; give tasks under the names of the rows, or leave its "
                "rows out"
            )
    return np.unique([tasks.names.index(task) for task in chosen])


def _independent(classes: Integers, flags: Flags, count: Floats, values: Sequence[str], tasks: Sequence[str]) -> Floats:
    """Weights of groups of images, `(groups,)`, under which each task is independent of the class.

    `classes`: each group's class, `(groups,)`; `flags`: its tasks, `(groups, tasks)`; `count`: its images.
    """
    cells = [2 * classes + flags[:, task] for task in range(len(tasks))]
    per_class = np.bincount(classes, count, len(values))
    targets = []
    for task, cell in enumerate(cells):
        share = count[flags[:, task]].sum() / count.sum()
        target = np.outer(per_class, [1 - share, share])
        missing = np.argwhere((np.bincount(cell, count, target.size).reshape(target.shape) == 0) & (target > 0))
        for value, present in missing[:1]:
            raise ValueError(
                f"tasks: no image of attribute {values[value]!r} is {'with' if present else 'without'} task "
                f"{tasks[task]!r}, so no weights can make the two independent; add such images, or leave its rows out"
            )
        targets.append(target.reshape(-1))
    weights = np.ones(len(classes))
    for _ in range(MOST_ROUNDS):
        farthest = 0.0
        for cell, target in zip(cells, targets, strict=True):
            sums = np.bincount(cell, weights * count, len(target))
            factor = np.divide(target, sums, out=np.ones(len(target)), where=sums > 0)
            farthest = max(farthest, float(np.abs(factor - 1).max()))
            weights *= factor[cell]
        if farthest < TOLERANCE:
            return weights
    raise ValueError(
        f"tasks: no weights make {', '.join(tasks)} all independent of the attribute, since they occur together too "
        "often; ask for fewer rows with top"
    )


def _together(attribute: Flags, task: Flags, weights: Floats) -> tuple[Floats, Floats]:
    """Weighted images of each pair, and how many times as many they are as if the two were independent."""
    values = attribute * weights[:, None]
    both = values.T @ task.astype(np.float64)
    expected = np.outer(values.sum(axis=0), weights @ task) / weights.sum()
    return both, np.divide(both, expected, out=np.full(both.shape, np.nan), where=expected > 0)
