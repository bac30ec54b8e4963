"""Human captions and those of nine captioners, as published with the LIC study."""

from typing import ClassVar

import datasets

from captionbias.datasets.caption_dataset import CaptionDataset
from captionbias.datasets.lic_captions import LicCaptions as Source


class LicCaptions(CaptionDataset):
    """`data_dir` has the pickled entries that the LIC study publishes; see the dataset card."""

    SOURCE = Source
    VERSION = datasets.Version("1.0.0")
    BUILDER_CONFIGS: ClassVar = [
        datasets.BuilderConfig("gender", description="Images of people labelled female or male."),
        datasets.BuilderConfig("race", description="Images of people with light or dark skin."),
    ]
