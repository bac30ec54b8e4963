"""How well alignment keeps what people said, on captions and vectors made by hand."""

from __future__ import annotations

import numpy as np
import pytest
from gensim.models import KeyedVectors

from benchmarks.alignment_quality import alignment_quality
from captionbias.analysis.caption_quality import meteor

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")

SAID = ["a chair in a room", "a dog on a chair"]
HUMAN = [["a seat in a room", "a chair in a room"], ["a hound on a seat"]]


def vectors_of(**angles):
    """Words on a circle, by their angle in degrees."""
    vectors = KeyedVectors(2)
    radians = np.radians(list(angles.values()))
    vectors.add_vectors(list(angles), np.column_stack((np.cos(radians), np.sin(radians))))
    return vectors


NEAR = vectors_of(chair=0, seat=10, dog=90, hound=110)
FAR = vectors_of(chair=0, seat=100, dog=200, hound=300)


def study(**options):
    return alignment_quality(predictions=SAID, references=HUMAN, **{"vectors": NEAR} | options)


def test_constant_substitution_is_scored_against_the_captions_as_they_were():
    before = [text.split() for texts in HUMAN for text in texts]
    after = ["a <unk> in a room", "a chair in a room", "a <unk> on a <unk>"]
    expected = meteor([text.split() for text in after], [[words] for words in before]).mean()
    assert study()["constant"] == pytest.approx(expected)


def test_near_words_are_replaced_and_far_ones_are_not():
    near, far = study()["report"], study(vectors=FAR)["report"]
    assert (near.share_contextual, far.share_contextual) == (1, 0)
    assert {pair.word: pair.replacement for pair in near.pairs} == {"seat": "chair", "hound": "dog"}


def test_as_many_captions_as_wanted_are_drawn_and_the_signature_says_so():
    result = study(captions=2, seed=3)
    assert result["captions"] == 2
    assert "captions:2|seed:3" in result["signature"]
    assert study(captions=2, seed=3) == result


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"captions": 0}, "captions must be a whole number of 1 or more"),
        ({"delta": 3}, "delta is 3"),
        ({"references": [["a dog"], ["a chair"]]}, "references: every word is one of the captioner's"),
        ({"predictions": ["a dog"]}, "predictions has length 1 and references has length 2"),
    ],
)
def test_bad_arguments_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        alignment_quality(**{"predictions": SAID, "references": HUMAN, "vectors": NEAR, **options})
