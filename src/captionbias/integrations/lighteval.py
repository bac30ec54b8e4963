"""The metrics for lighteval: corpus metrics of tasks whose model captions images."""

from __future__ import annotations

from typing import Any

from captionbias.captions.names import MEASURED
from captionbias.metrics import Metric, find_metric

try:
    from lighteval.metrics.metrics_corpus import CorpusLevelComputation
    from lighteval.metrics.sample_preparator import Preparator
    from lighteval.metrics.utils.metric_utils import CorpusLevelMetric
    from lighteval.tasks.requests import SamplingMethod
except ImportError as error:
    raise ImportError(
        "captionbias.integrations.lighteval needs lighteval: pip install 'captionbias[lighteval]'"
    ) from error


def caption_bias(metric: str = "dbac", **options: Any) -> CorpusLevelMetric:
    """One of this library's metrics for a lighteval task's `metrics`.

    The task's documents have the human captions as their golds, and in `specific` the `attribute`, the label of the
    protected attribute, and optionally the `tasks` that the image shows, its `weight` and its `scene`. The model's
    texts, one or more, are its captions of the image. The result has every number of the metric's flat result, its own
    intervals among them: lighteval adds no standard errors, for which it would train all attackers a thousand times.
    Lower is better, save of sway's gaps, which are as bad below 0 as above it.

    Args:
        metric: the name of one of `captionbias.metrics`.
        **options: of that metric, such as `preset` or `trials`.

    >>> caption_bias("lic", preset="fast").metric_name
    'lic'
    """
    chosen = find_metric(metric)
    return CorpusLevelMetric(
        metric_name=chosen.name,
        higher_is_better=False,
        category=SamplingMethod.GENERATIVE,
        sample_level_fn=Images(),
        corpus_level_fn=Corpus(chosen, options),
    )


class Images(Preparator):
    """A document and the model's answer as an image's columns."""

    def prepare(self, doc: Any, model_response: Any, **_: Any) -> dict[str, Any]:
        image = doc.specific or {}
        if "attribute" not in image:
            raise ValueError(f"document {doc.id!r}: specific has no 'attribute'; give it the image's label")
        known = image["attribute"], image.get("tasks"), image.get("weight"), image.get("scene")
        return dict(zip(MEASURED, (model_response.final_text, doc.get_golds() or None, *known), strict=True))


class Corpus(CorpusLevelComputation):
    """All images' columns, scored together."""

    def __init__(self, metric: Metric[Any], options: dict[str, Any]) -> None:
        self.metric = metric
        self.options = options

    def compute_corpus(self, items: list[dict[str, Any]]) -> dict[str, float]:
        columns = {name: [image[name] for image in items] for name in items[0]}
        columns = {name: column for name, column in columns.items() if any(entry is not None for entry in column)}
        scores = self.metric(**columns, **self.options)
        return {name: float(value) for name, value in scores.items() if isinstance(value, (int, float))}

    def __str__(self) -> str:
        return f"{self.metric.name}({', '.join(f'{name}={value}' for name, value in self.options.items())})"
