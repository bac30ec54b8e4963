"""Bias as `compute_metrics` of a `Seq2SeqTrainer` that generates captions when it evaluates."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from captionbias.attackers.ranks import on_rank_0
from captionbias.training.scores import Settings, TrainingBias

if TYPE_CHECKING:
    from typing_extensions import Unpack


def bias_metrics(
    tokenizer: Any,
    *,
    references: Collection[Any],
    attributes: Collection[Any],
    tasks: Collection[Any] | None = None,
    **settings: Unpack[Settings],
) -> Callable[[Any], dict[str, float]]:
    """`compute_metrics` for `Seq2SeqTrainer(args=Seq2SeqTrainingArguments(predict_with_generate=True, ...))`.

    A training with `metric_for_best_model` stops where that score is undefined; `BiasCallback` sees to that.

    Args:
        tokenizer: the captioner's tokenizer or processor, with `batch_decode`.
        references, attributes, tasks: of the evaluation images, in the order of the evaluation dataset.
        **settings: see `captionbias.training.scores.Settings`.

    Returns:
        A function of an `EvalPrediction` that gives the floats of `bias_scores`; the Trainer puts its prefix before
        them. With several processes the main one measures, and each has the result.

    Raises:
        ValueError: as `bias_scores`, before the training. The function: predictions that are not generated tokens, or
            not one for each list of references.

    Example:
        compute_metrics = bias_metrics(tokenizer, references=references, attributes=attributes)
        trainer = Seq2SeqTrainer(model, args, train_dataset=..., eval_dataset=..., compute_metrics=compute_metrics)
    """
    if not hasattr(tokenizer, "batch_decode"):
        raise ValueError(f"tokenizer: {type(tokenizer).__name__} has no batch_decode; give the captioner's tokenizer")
    bias = TrainingBias(references, attributes, tasks, **settings).prepare()
    count = len(bias.people)

    def compute(predicted: Any) -> dict[str, float]:
        tokens = generated_tokens(predicted.predictions)
        if len(tokens) > count and _repeats(predicted.label_ids, count):
            tokens = tokens[:count]
        if len(tokens) != count:
            raise ValueError(
                f"predictions has length {len(tokens):,} and references has length {count:,}: give the references of "
                "eval_dataset, one list an image and in its order"
            )
        captions = [text.strip() for text in tokenizer.batch_decode(tokens, skip_special_tokens=True)]
        return on_rank_0(partial(bias.measure, captions))

    return compute


def _repeats(labels: Any, count: int) -> bool:
    """Whether the rows after the first `count` are those from the start again, with which a Seq2SeqTrainer of several
    processes fills the last batches up."""
    from accelerate import PartialState

    if PartialState().num_processes == 1 or not isinstance(labels, np.ndarray):
        return False
    return np.array_equal(labels[count:], labels[np.arange(count, len(labels)) % count])


def generated_tokens(predictions: Any) -> list[list[int]]:
    """Each caption's tokens, without the -100 that the Trainer fills rows up with."""
    table = np.asarray(predictions[0] if isinstance(predictions, tuple) else predictions)
    if table.ndim != 2 or not np.issubdtype(table.dtype, np.integer):
        raise ValueError(
            f"predictions are of shape {table.shape} and type {table.dtype}, not generated tokens: the most likely "
            "words after those of a human caption are not a caption of the model. Use a Seq2SeqTrainer with "
            "predict_with_generate=True, or BiasCallback with any Trainer"
        )
    return [row[row >= 0].tolist() for row in table]
