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
from captionbias.errors import InputError
from captionbias.metrics import catalogue
from captionbias.training.captioning import caption_images, find_processors
from captionbias.training.scores import BIAS, WORST, BiasSettings, TrainingBias

if TYPE_CHECKING:
    from typing_extensions import Unpack


class BiasCallback(TrainerCallback):
    """Captions images at each evaluation of a `Trainer` and logs how biased the captions are.

    The scores of `bias_scores` are logged under `eval_sway_worst` and so on, and go to every logger of the Trainer.
    With `metric_for_best_model="eval_sway_worst", greater_is_better=False`, the least biased checkpoint is kept. If the
    score is nan, it is not logged, and that checkpoint is never kept. `eval_bias` is the same number. The callback does
    not change the training: see `caption_images`.

    With several processes, each captions its share, the main process measures, and the log is written once.

    Args:
        trainer: the Trainer that this callback is then added to. Add an `EarlyStoppingCallback` on these scores later.
        images: the images to caption, see `caption_images`.
        references, attributes, tasks, weights: for these images, in their order; see `bias_scores`.
        processor, tokenizer: see `caption_images`; when None, the Trainer's `processing_class`, as far as it reads
            images and writes text, and otherwise those in the model's folder or repository.
        batch_size, generation: see `caption_images`.
        **settings: see `captionbias.training.scores.Settings`; `seed` is also the seed of sampled captions.

    Raises:
        ValueError: what is wrong with the arguments, before the training, because the human captions are measured once
            and one image is captioned here; or that another of the scores chooses the best model.

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
        processor, tokenizer = find_processors(trainer.model, trainer.processing_class, processor, tokenizer)
        self._caption = partial(
            caption_images,
            processor=processor,
            tokenizer=tokenizer,
            batch_size=whole_number("batch_size", batch_size, least=1),
            generation=generation,
            seed=settings.get("seed", 0),
            distributed=True,
        )
        self._images = images
        try:
            self._caption(trainer.model, images=images[:1])
        except Exception as error:
            reason = f"and tokenizer cannot caption the first image ({type(error).__name__}: {error})"
            raise InputError("processor", reason, "give those of this model") from error

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Caption, measure and log; `metrics`, what `Trainer.evaluate` returns, gets the scores too."""
        metrics = kwargs["metrics"]
        captions = self._caption(self.trainer.model, images=self._images)
        measured = on_rank_0(partial(self.bias.measure, captions))
        scores = {f"eval_{name}": value for name, value in measured.items()}
        metrics.update(scores)  # no number is better than nan, nor worse
        self.trainer.log({name: value for name, value in scores.items() if not math.isnan(value)})  # in JSON, too


def _check_best(args: Any, metrics: Collection[str]) -> None:
    """Refuse scores that do not tell which model is best: most are as bad below 0 as above it."""
    best = str(args.metric_for_best_model).removeprefix("eval_")
    scores = [
        BIAS,
        WORST,
        "empty_captions",
        *(score.key for metric in metrics for score in catalogue.scores_of(metric)),
    ]
    right = best in (BIAS, WORST) and args.greater_is_better is False and "sway" in metrics
    if not right and any(best == key or best.startswith(f"{key}_") for key in scores):
        raise ValueError(
            f"trainer: metric_for_best_model={best!r}, greater_is_better={args.greater_is_better} does not keep the "
            'least biased model: write metric_for_best_model="eval_sway_worst", greater_is_better=False in its '
            "arguments, and have sway among metrics"
        )


def _check_whole(trainer: Any) -> None:
    deepspeed = trainer.accelerator.state.deepspeed_plugin if trainer.is_deepspeed_enabled else None
    if trainer.is_fsdp_enabled or (deepspeed is not None and deepspeed.zero_stage == 3):
        raise ValueError(
            "trainer: each process holds a part of the model (FSDP or DeepSpeed ZeRO-3), and none can caption alone; "
            "use bias_scores as compute_metrics of a Seq2SeqTrainer that generates, see docs/training.md"
        )
