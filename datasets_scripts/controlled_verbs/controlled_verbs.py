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
        datasets.BuilderConfig("C1", description="Verbs 30 to 20."),
        datasets.BuilderConfig("C2", description="Verbs 35 to 15."),
        datasets.BuilderConfig("C3", description="Verbs 40 to 10."),
        datasets.BuilderConfig("C4", description="Verbs 45 to 5."),
    ]
