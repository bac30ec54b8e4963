"""No code that comes with a model is run, whatever the user answers."""

import shutil

import numpy as np
import pytest

from captionbias.images.captioning import caption
from captionbias.images.detectors import detect_regions
from captionbias.images.features import find_image_encoder, picture_features
from captionbias.images.reading import read_images
from tests.trap import runs_its_code

IMAGES = read_images([np.zeros((32, 32, 3), np.uint8)] * 4)

USES = {
    "captioner": lambda model: caption(model, IMAGES, cache=False),
    "detector": lambda model: detect_regions(model, IMAGES, form="box"),
    "encoder": lambda model: picture_features(list(IMAGES), find_image_encoder(model), None),
}
CAPTIONERS = ("blip", "encoder_decoder")
CONFIGURATIONS = ("config.json", "tokenizer_config.json", "preprocessor_config.json", "processor_config.json")


@pytest.mark.parametrize(
    ("use", "kind"),
    [("detector", "tiny_detector"), ("encoder", "resnet"), *(("captioner", f"tiny_{one}") for one in CAPTIONERS)],
)
def test_of_a_model_that_looks_at_images(request, tmp_path, use, kind):
    for file in CONFIGURATIONS:
        folder = tmp_path / file.removesuffix(".json") / "mine"
        shutil.copytree(request.getfixturevalue(kind), folder)
        if (folder / file).exists():
            assert not runs_its_code(folder, file, lambda folder=folder: USES[use](str(folder))), file
