"""The example is what its lines of Python make, and its columns are guessed right."""

from __future__ import annotations

from typing import Any

from captionbias.app.actions import guessed
from captionbias.app.example import AGAIN, IMAGES, example
from captionbias.app.upload_state import captioners_of


def test_the_lines_make_the_captions_that_the_page_shows():
    given, chosen, *_ = guessed(example())
    together = captioners_of(given, chosen)
    made: dict[str, Any] = {}
    exec(AGAIN, made)
    assert {name: list(texts) for name, texts in together.predictions.items()} == made["captioners"]
    assert list(together.people["attributes"]) == made["people"]["attributes"]
    assert [list(texts) for texts in together.people["references"]] == made["people"]["references"]
    assert len(made["captioners"]["biased"]) == IMAGES
