"""Single values: ids that are one image are one key, and others are not."""

import numpy as np

from captionbias.captions.values import image_keys


def test_whole_numbers_are_one_image_however_they_are_written_and_fractions_are_their_own():
    ids = [42, 42.0, "42", "42.0", np.int64(42), "COCO_val2014_000000000042.jpg"]
    assert set(image_keys("image_ids", ids)) == {"42"}
    assert image_keys("image_ids", [42.5, 42.25, np.float32(1.5), "42.5"]) == ["42.5", "42.25", "1.5", "42.5"]
