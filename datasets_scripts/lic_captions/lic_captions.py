"""Captions of people and of nine captioners, as the LIC study publishes them."""

from typing import ClassVar

import datasets

from captionbias.datasets.caption_dataset import CaptionDataset
from captionbias.datasets.lic_captions import LicCaptions as Source


class LicCaptions(CaptionDataset):
    """`data_dir` has the pickled entries that the LIC study publishes; see the dataset card."""

    SOURCE = Source
    VERSION = datasets.Version("1.0.0")
    BUILDER_CONFIGS: ClassVar = [
        datasets.BuilderConfig("gender", description="Images of women or of men."),
        datasets.BuilderConfig("race", description="Images of people with light skin, or with dark."),
    ]
