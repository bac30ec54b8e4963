"""Bias while a captioner is trained: in a `Trainer`, in a custom loop."""

from __future__ import annotations

try:
    import transformers  # noqa: F401
except ImportError as error:
    raise ImportError("captionbias.training needs transformers: pip install '.[pretrained]' in a clone") from error

from captionbias.training.callback import BiasCallback
from captionbias.training.captioning import caption_images
from captionbias.training.scores import bias_scores, human_vectors

__all__ = ["BiasCallback", "bias_scores", "caption_images", "human_vectors"]
