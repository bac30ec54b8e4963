"""The example is what its lines of Python make, and its columns are guessed right."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from captionbias.app.actions import guessed
from captionbias.app.example import CODE, IMAGES, example
from captionbias.app.upload_state import captioners_of


def test_the_lines_make_the_captions_that_the_page_shows():
    data, columns, *_ = guessed(example())
    shown = captioners_of(data, columns)
    made: dict[str, Any] = {}
    exec(CODE, made)
    for name, captions in shown.items():
        assert replace(captions, image_ids=None) == replace(made["captioners"][name], image_ids=None)
    assert len(shown["biased"]) == IMAGES
