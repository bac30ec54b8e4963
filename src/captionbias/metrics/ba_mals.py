"""BA (MALS): do predictions strengthen each task's lean to its likelier attribute value?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from captionbias.arrays import Flags, Floats, Integers
from captionbias.captions import check_captions
from captionbias.metrics.frequent_words import frequent_words
from captionbias.metrics.label_inputs import Labelled, read_labels
from captionbias.metrics.pair_counts import PairCounts, random_groups, with_intervals
from captionbias.metrics.protocol import signature, whole_number
from captionbias.scores.cooccurrence import mals, shares
from captionbias.text import LexiconSource, load_lexicon

Counts = Callable[[Floats | None], Floats]


def ba_mals(
    *,
    predictions: Any = None,
    references: Any = None,
    attributes: Any = None,
    tasks: Any = None,
    predicted_attributes: Any = None,
    predicted_tasks: Any = None,
    training_attributes: Any = None,
    training_tasks: Any = None,
    attribute_lexicon: LexiconSource = "gender",
    task_lexicon: LexiconSource = "coco_objects",
    words: bool = False,
    most_frequent: int = 1000,
    at_least: int = 100,
    tokenizer: str = "words",
    seed: int = 0,
    bootstrap: int = 1000,
    details: bool = False,
) -> dict[str, Any]:
    """Bias amplification as the growth of each task's share of its likelier attribute value.

    `b(a, t)` is the share of attribute value `a` among what names task `t` and any value: captions, or images. The
    score is the mean over tasks of what predictions add to it for the values above `1 / |A|` in the human captions. It
    tells no directions, and a task that leans to nobody cannot count.

    Args:
        predictions: `n` model captions.
        references: `n` lists of human captions, each of which counts.
        attributes: `n` labels, `n` lists of labels, or a 0/1 array `(n, values)`; with captions they are checked, and
            what captions name counts.
        tasks: without captions, the same of the tasks that images show; with captions not used.
        predicted_attributes: without captions, the predicted values; `attributes` when None.
        predicted_tasks: without captions, the predicted tasks; `tasks` when None.
        training_attributes: without captions, the labels of the images whose lean is amplified; `attributes` when None.
        training_tasks: the tasks of those images.
        attribute_lexicon: the words that name attribute values, see `captionbias.text.load_lexicon`.
        task_lexicon: the words that name tasks, likewise.
        words: take for tasks the frequent words of the human captions, as LIC's paper does, instead of `task_lexicon`.
        most_frequent: with `words`, how many of the most frequent nouns, verbs, adjectives and adverbs.
        at_least: with `words`, in how many human captions a word stands with each attribute value.
        tokenizer: `words` or `whitespace`.
        seed: seed of the bootstrap.
        bootstrap: replicates of the bootstrap over images; 0 for none.
        details: add the nested entry `details`, with each pair's counts, shares and part in the score.

    Returns:
        `ba_mals` in [-1, 1], above 0 when predictions amplify, with `ba_mals_ci_low/high` (95%, over images);
        `tasks_ba_mals`: how many tasks count; `undefined_pairs_ba_mals`: pairs whose task stands with no value, in the
        data or the predictions; `signature`.

    Raises:
        ValueError: input that cannot be measured; the message names the argument, the first bad row and the way out.

    Source: Zhao et al. 2017, Eq. 2; `words`: Hirota et al. 2022, supplement.

    >>> tasks = [["knife"]] * 4
    >>> result = ba_mals(
    ...     attributes=["female", "female", "female", "male"], tasks=tasks, predicted_attributes=["female"] * 4
    ... )
    >>> result["ba_mals"]
    0.25
    """
    seed, bootstrap = whole_number("seed", seed, least=0), whole_number("bootstrap", bootstrap, least=0)
    lexicon: LexiconSource = task_lexicon
    if words:
        if references is None:
            raise ValueError("references is missing: words=True takes the frequent words of human captions; give them")
        lexicon = frequent_words(
            check_captions(predictions=predictions, references=references, attributes=attributes),
            load_lexicon(attribute_lexicon),
            tokenizer,
            whole_number("most_frequent", most_frequent, least=1),
            whole_number("at_least", at_least, least=0),
        )
    of_labels = predictions is None and references is None
    if of_labels and (predicted_attributes is not None or predicted_tasks is not None):
        predicted_attributes = attributes if predicted_attributes is None else predicted_attributes
        predicted_tasks = tasks if predicted_tasks is None else predicted_tasks
    elif not of_labels and references is None:
        raise ValueError("references is missing: BA compares what model captions name with what human captions name")
    labels = read_labels(
        predictions=predictions,
        references=references,
        attributes=attributes,
        tasks=tasks if of_labels else None,
        predicted_attributes=predicted_attributes,
        predicted_tasks=predicted_tasks,
        training_attributes=training_attributes,
        training_tasks=training_tasks,
        attribute_lexicon=attribute_lexicon,
        task_lexicon=lexicon,
        tokenizer=tokenizer,
    )
    groups = random_groups(labels.images, seed)
    known, predicted, images = _counts(labels, groups)

    def score(multiplicity: Floats | None) -> dict[str, Floats]:
        return {"ba_mals": _mean_over_tasks(mals(known(multiplicity), predicted(multiplicity)))}

    parts = mals(known(None), predicted(None))
    counted = int(_defined_tasks(parts).sum())
    if not counted:
        raise ValueError(
            "tasks: none stands with an attribute value in the data and in the predictions, so there is nothing to "
            "compare; give more images, or the words that these captions use as lexicons"
        )
    result: dict[str, Any] = with_intervals(score, (-1.0, 1.0), groups, bootstrap, seed)
    result |= {"tasks_ba_mals": counted, "undefined_pairs_ba_mals": int(np.isnan(parts).sum())}
    sources = labels.sources | ({"task": f"frequent,{most_frequent},{at_least}"} if words else {})
    result["signature"] = signature({"metric": "ba_mals", **sources, "seed": seed, "bootstrap": bootstrap})
    if details:
        result["details"] = {
            "images": labels.images,
            "attribute_counts": dict(zip(labels.attributes, images, strict=True)),
            "pairs": _table(labels, known(None), predicted(None), parts / counted),
            "warnings": labels.notes,
        }
    return result


def _counts(labels: Labelled, groups: Integers) -> tuple[Counts, Counts, list[int]]:
    """Pairs in the data and in the predictions, `(values, tasks, replicates)` for multiplicities of groups.

    And how many images have each attribute value.
    """
    known, predicted = (PairCounts(groups, len(labels.attributes), len(labels.tasks)) for _ in range(2))
    images = np.zeros(len(labels.attributes), np.int64)
    for block in labels.blocks():
        images += block.shown.attributes.sum(axis=0)
        rows = block.shown if block.human is None else block.human
        known.add(rows.image, rows.attributes, rows.tasks)
        assert block.predicted_attributes is not None
        assert block.predicted_tasks is not None
        predicted.add(block.shown.image, block.predicted_attributes, block.predicted_tasks)
    if labels.training is None:
        return known.of, predicted.of, images.tolist()
    training = PairCounts(np.zeros(1, np.int64), len(labels.attributes), len(labels.tasks))
    training.add(np.zeros(len(labels.training.image), np.int64), labels.training.attributes, labels.training.tasks)
    counts = training.of(None)
    return lambda _: counts, predicted.of, images.tolist()


def _defined_tasks(parts: Floats) -> Flags:
    return np.asarray(~np.isnan(parts).any(axis=0))


def _mean_over_tasks(parts: Floats) -> Floats:
    """The sum over values, its mean over tasks: `(replicates,)` of `(values, tasks, replicates)`."""
    defined = _defined_tasks(parts)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(defined, parts, 0.0).sum(axis=(0, 1)) / defined.sum(axis=0))


def _table(labels: Labelled, known: Floats, predicted: Floats, parts: Floats) -> list[dict[str, Any]]:
    """One row a pair that occurs in the data, the largest parts of the score first; what is undefined is None."""
    kept = np.flatnonzero(known.sum(axis=(0, 2)))
    known, predicted, parts = (table[:, kept, 0] for table in (known, predicted, parts))
    shares_known, shares_predicted = shares(known), shares(predicted)
    order = np.argsort(-np.nan_to_num(np.abs(parts), nan=-1.0), axis=None, kind="stable")
    return [
        {
            "attribute": labels.attributes[value],
            "task": labels.tasks[kept[task]],
            "count": int(known[value, task]),
            "predicted_count": int(predicted[value, task]),
            "probability": float(shares_known[value, task]),
            "predicted_probability": _number(shares_predicted[value, task]),
            "share": _number(parts[value, task]),
        }
        for value, task in zip(*np.unravel_index(order, parts.shape), strict=True)
    ]


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
