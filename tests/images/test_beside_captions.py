"""Images and captions are joined by ids wherever these say how."""

import pytest

from captionbias.captions import check_captions
from captionbias.images.beside_captions import images_of

CAPTIONS = {"predictions": ["a dog", "a cat"], "attributes": ["female", "male"]}


def test_images_are_those_of_the_captions_ids_or_in_their_order():
    named = check_captions(**CAPTIONS, image_ids=["2", "1"])
    files = ["1.png", "2.png"]
    for images in (files, {"image": ["a.png", "b.png"], "image_id": [1, 2]}):
        assert list(images_of(named, images)[1]) == [1, 0]
    assert list(images_of(check_captions(**CAPTIONS), files)[1]) == [0, 1]
    assert list(images_of(named, ["a.png", "b.png"])[1]) == [0, 1]
    with pytest.raises(ValueError, match=r"there is none with the id '2' \(2 of 2 captions"):
        images_of(named, {"image": files, "image_id": [7, 8]})
