"""Captions that are longer than people's, or shorter: attackers read more from more words, and a note says so."""

import pytest

from captionbias.metrics import dbac, lic
from captionbias.synthetic import plant

QUICK = {"preset": "fast", "trials": 1, "bootstrap": 0, "cache": False}
each = pytest.mark.parametrize("metric", [lic, dbac])


def length_notes(metric, **captions):
    return [text for text in metric.measure(**captions, **QUICK).notes if "words on average" in text]


@each
def test_lengths_that_differ_by_half_are_noted_either_way(metric):
    given = vars(plant(60, captions=2)) | {"predictions": ["a man or a girl"] * 60}

    def noted(words):
        return length_notes(
            metric, **given | {"references": [[" ".join(["a"] * (words - 2) + ["man", "cake"])] * 2] * 60}
        )

    assert noted(4) == noted(7) == []
    (longer,) = noted(3)
    assert longer.startswith("predictions have 5.0 words on average and references 3.0, and longer captions give more")
    assert longer.endswith("; give human captions as long")
    (shorter,) = noted(8)
    assert shorter.startswith("predictions have 5.0 words on average and references 8.0")
    assert shorter.endswith("; give human captions as short")
