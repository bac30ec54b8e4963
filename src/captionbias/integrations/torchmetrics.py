"""The metrics for torchmetrics: captions batch by batch, from every process of a distributed evaluation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from captionbias.captions.names import MEASURED
from captionbias.captions.values import as_list
from captionbias.metrics import Metric, find_metric

try:
    import torch
    from torchmetrics import Metric as TorchMetric
    from torchmetrics.utilities import dim_zero_cat
except ImportError as error:
    raise ImportError(
        "captionbias.integrations.torchmetrics needs torchmetrics: pip install 'captionbias[torchmetrics]'"
    ) from error

NOTHING = torch.zeros(0, dtype=torch.uint8)


class CaptionBias(TorchMetric):
    """Any of this library's metrics as a `torchmetrics.Metric`.

    `update` keeps captions; `compute` scores all of them, those of every process. Each process computes the same, and
    they share the trials. `forward` would score each batch on its own, for which a batch is too small: call `update`.
    `signature` is what `compute` last gave its scores by: everything that changes them, and "" before.

    Args:
        metric: the name of one of `captionbias.metrics`.
        **options: of that metric, such as `preset` or `trials`; or of `torchmetrics.Metric`, such as `sync_on_compute`.

    >>> bias = CaptionBias("gender_error", bootstrap=0)
    >>> bias.update(["a man", "a man with a dog"], attributes=["male", "female"])
    >>> bias.compute()["error"]
    tensor(50.)
    >>> bias
    CaptionBias('gender_error', bootstrap=0)
    >>> bias.signature.partition("|")[0]
    'metric:gender_error'
    """

    is_differentiable = False
    full_state_update = False
    rows: Any  # uint8 tensors of JSON, a line an image, as strings do not travel between processes

    def __init__(self, metric: str = "sway", **options: Any) -> None:
        self.metric: Metric[Any] = find_metric(metric)
        known = self.metric.options()
        self.options = {name: options.pop(name) for name in list(options) if name in known}
        self.signature = ""
        super().__init__(**options)
        self.add_state("rows", default=[], dist_reduce_fx="cat")

    def update(
        self,
        preds: Sequence[str] | Sequence[Sequence[str]] | None = None,
        target: Sequence[Sequence[str]] | None = None,
        attributes: Any = None,
        tasks: Any = None,
        weights: Any = None,
        scene: Any = None,
    ) -> None:
        """Keep a batch of images.

        Args:
            preds: a model caption for each image, or a list of several; left out in every batch to score the human
                captions alone.
            target: a list of human captions for each image; likewise.
            attributes: the label of the protected attribute for each image.
            tasks: the tasks that each image shows; likewise optional, see the metric.
            weights: how much each image counts; likewise.
            scene: the name or number of each image's scene; likewise.
        """
        columns = dict(zip(MEASURED, (preds, target, attributes, tasks, weights, scene), strict=True))
        batch = {name: as_list(name, column) for name, column in columns.items() if column is not None}
        if len(set(map(len, batch.values()))) > 1:
            raise ValueError(f"lengths differ: {', '.join(f'{len(rows)} {name}' for name, rows in batch.items())}")
        if "weights" in batch:
            batch["weights"] = [float(weight) for weight in batch["weights"]]  # of numpy and torch, too
        lines = [json.dumps(dict(zip(batch, row, strict=True))) for row in zip(*batch.values(), strict=True)]
        text = "".join(f"{line}\n" for line in lines).encode()
        self.rows.append(torch.frombuffer(bytearray(text), dtype=torch.uint8).to(self.device) if text else NOTHING)

    def compute(self) -> dict[str, torch.Tensor]:
        """Every number of the metric's flat result, for `log_dict`: 0-dimensional, in the default floating type."""
        known = dim_zero_cat(self.rows) if len(self.rows) else NOTHING
        images = [json.loads(line) for line in bytes(known.to(torch.uint8).cpu().numpy()).decode().splitlines()]
        names = dict.fromkeys(name for image in images for name in image)
        scores = self.metric(**{name: [image.get(name) for image in images] for name in names}, **self.options)
        self.signature = str(scores["signature"])
        return {name: torch.tensor(float(value)) for name, value in scores.items() if isinstance(value, (int, float))}

    def extra_repr(self) -> str:
        return ", ".join([repr(self.metric.name), *(f"{name}={value!r}" for name, value in self.options.items())])
