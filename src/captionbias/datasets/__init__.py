"""Datasets from the original files of the studies: checked, documented, written as Parquet with a card."""

from __future__ import annotations

from captionbias.datasets.build import Built, build_dataset, dataset_names, original_card

__all__ = ["Built", "build_dataset", "dataset_names", "original_card"]
