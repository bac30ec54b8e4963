"""ArtEmis: what people feel before paintings, and what they say about it."""

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
            "paintings", description="A row for each painting, with the emotion that most people felt."
        ),
        datasets.BuilderConfig("utterances", description="A row for each utterance, with its own emotion."),
    ]
