"""ArtEmis: what people feel when they see paintings, and how they explain it."""

from typing import ClassVar

import datasets

from captionbias.datasets.artemis_emotions import ArtemisEmotions as Source
from captionbias.datasets.caption_dataset import CaptionDataset


class ArtemisEmotions(CaptionDataset):
    """`data_dir` has ArtEmis's CSV files; see the dataset card."""

    SOURCE = Source
    VERSION = datasets.Version("1.0.0")
    BUILDER_CONFIGS: ClassVar = [
        datasets.BuilderConfig(
            "paintings", description="One row for each painting, with the emotion that most people felt."
        ),
        datasets.BuilderConfig("utterances", description="One row for each utterance, with its emotion."),
    ]
