"""COCO val2014 captions, objects and people, with labels of gender, skin tone and age."""

from typing import ClassVar

import datasets

from captionbias.datasets.caption_dataset import CaptionDataset
from captionbias.datasets.coco_caption_bias import CocoCaptionBias as Source


class CocoCaptionBias(CaptionDataset):
    """`data_dir` has COCO's annotations and those of Zhao, Wang and Russakovsky (2021); see the dataset card."""

    SOURCE = Source
    VERSION = datasets.Version("1.0.0")
    BUILDER_CONFIGS: ClassVar = [
        datasets.BuilderConfig("gender", description="Images of people labelled female or male."),
        datasets.BuilderConfig("race", description="Images of people with light or dark skin."),
        datasets.BuilderConfig("age", description="Images whose human captions name a young person, or only adults."),
    ]
