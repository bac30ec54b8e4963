"""Bias in the log of a `transformers.Trainer`."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from transformers import TrainerCallback

from captionbias.attackers.ranks import on_rank_0
from captionbias.bench.protocol import whole_number
from captionbias.captions.entries import check_lengths
from captionbias.metrics import catalogue
from captionbias.training.captioning import caption_images
from captionbias.training.scores import BIAS, BiasSettings, TrainingBias

if TYPE_CHECKING:
    from typing_extensions import Unpack


class BiasCallback(TrainerCallback):
    """Captions images at each evaluation of a `Trainer` and logs how biased the captions are.

    The scores of `bias_scores` are logged under `eval_bias` and so on, and go to every logger of the Trainer. With
    `metric_for_best_model="eval_bias", greater_is_better=False` the least biased checkpoint is kept; where `bias` is
    left out, no model counts as better. The training stays as it would be without: see `caption_images`.

    With several processes each captions its share, the main one measures, and the log is written once.

    Args:
        trainer: the Trainer that this callback is then added to. Add an `EarlyStoppingCallback` on these scores later.
        images: the images to caption, see `caption_images`.
        references, attributes, tasks, weights: of these images, in their order; see `bias_scores`.
        processor: see `caption_images`; the Trainer's `processing_class` when None.
        tokenizer: likewise; the processor, when None.
        batch_size, generation: see `caption_images`.
        **settings: see `captionbias.training.scores.Settings`; `seed` is also that of captions that are drawn.

    Raises:
        ValueError: what is wrong with the arguments, before the training: the human captions are measured once, here;
            or another of the scores chooses the best model.

    Example:
        trainer = Trainer(model, args, train_dataset=train, eval_dataset=validation, processing_class=processor)
        trainer.add_callback(BiasCallback(trainer, validation["image"], references, attributes, tasks=tasks))
        trainer.train()
    """

    def __init__(
        self,
        trainer: Any,
        images: Any,
        references: Collection[Any],
        attributes: Collection[Any],
        *,
        tasks: Collection[Any] | None = None,
        weights: Collection[Any] | None = None,
        processor: Any = None,
        tokenizer: Any = None,
        batch_size: int = 32,
        generation: Mapping[str, Any] | None = None,
        **settings: Unpack[BiasSettings],
    ) -> None:
        _check_whole(trainer)
        self.bias = TrainingBias(references, attributes, tasks, weights, **settings)
        _check_best(trainer.args, self.bias.options)
        self.bias.prepare()
        check_lengths({"images": images, "references": self.bias.images})
        self.trainer = trainer
        self._caption = partial(
            caption_images,
            processor=trainer.processing_class if processor is None else processor,
            images=images,
            tokenizer=tokenizer,
            batch_size=whole_number("batch_size", batch_size, least=1),
            generation=generation,
            seed=settings.get("seed", 0),
            distributed=True,
        )

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Caption, measure and log; `metrics`, what `Trainer.evaluate` returns, gets the scores too."""
        metrics = kwargs["metrics"]
        captions = self._caption(self.trainer.model)
        measured = on_rank_0(partial(self.bias.measure, captions))
        scores = {f"eval_{name}": value for name, value in measured.items()}
        metrics.update(scores)
        self.trainer.log(scores)
        # The Trainer ends a training whose metric_for_best_model is missing. No number is better than nan, nor worse.
        if _best(args) == BIAS:
            metrics.setdefault(f"eval_{BIAS}", math.nan)


def _check_best(args: Any, metrics: Collection[str]) -> None:
    """Refuse scores that do not tell which model is best: most are as bad below 0 as above it."""
    best = _best(args)
    scores = [BIAS, "empty_captions", *(score.key for metric in metrics for score in catalogue.scores_of(metric))]
    right = best == BIAS and args.greater_is_better is False and "sway" in metrics
    if not right and any(best == key or best.startswith(f"{key}_") for key in scores):
        raise ValueError(
            f"trainer: metric_for_best_model={best!r}, greater_is_better={args.greater_is_better} does not keep the "
            'least biased model: write metric_for_best_model="eval_bias", greater_is_better=False in its arguments, '
            "and have sway among metrics"
        )


def _best(args: Any) -> str:
    return str(args.metric_for_best_model).removeprefix("eval_")


def _check_whole(trainer: Any) -> None:
    deepspeed = trainer.accelerator.state.deepspeed_plugin if trainer.is_deepspeed_enabled else None
    if trainer.is_fsdp_enabled or (deepspeed is not None and deepspeed.zero_stage == 3):
        raise ValueError(
            "trainer: each process holds a part of the model (FSDP or DeepSpeed ZeRO-3), and none can caption alone; "
            "use bias_scores as compute_metrics of a Seq2SeqTrainer that generates, see docs/training.md"
        )
