"""COCO captions whose only bias is in their verbs, C1 to C4 of the DBAC paper."""

from typing import ClassVar

import datasets

from captionbias.datasets.caption_dataset import CaptionDataset
from captionbias.datasets.controlled_verbs import ControlledVerbs as Source


class ControlledVerbs(CaptionDataset):
    """`data_dir` has COCO's captions; see the dataset card."""

    SOURCE = Source
    VERSION = datasets.Version("1.0.0")
    BUILDER_CONFIGS: ClassVar = [
        datasets.BuilderConfig("C1", description="30 captions with the more frequent verb, 20 with the other."),
        datasets.BuilderConfig("C2", description="35 captions with the more frequent verb, 15 with the other."),
        datasets.BuilderConfig("C3", description="40 captions with the more frequent verb, 10 with the other."),
        datasets.BuilderConfig("C4", description="45 captions with the more frequent verb, 5 with the other."),
    ]
