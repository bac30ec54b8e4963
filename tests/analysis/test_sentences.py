"""Captions of several sentences: the one that sways is found, and people's sentences read 0."""

from __future__ import annotations

from itertools import chain

import pytest

from captionbias.analysis.compare import compare
from captionbias.analysis.sentences import by_sentence, sentences
from captionbias.captions import check_captions
from captionbias.synthetic import plant

pytestmark = pytest.mark.filterwarnings(
    "ignore::captionbias.captions.CaptionBiasWarning"
)  # planted, and few replicates


@pytest.fixture(scope="module")
def captions():
    """First another person's caption, then a swayed captioner's, then nothing about people, for some images."""
    planted = vars(plant(1500, t_to_a=0.4, a_to_t=0.4, captions=4))
    people = [texts.pop() for texts in planted["references"]]
    told = [f"{person}. {swayed}!" for person, swayed in zip(people, planted["predictions"], strict=True)]
    told[::2] = [f"{text} The sky is blue. It is noon." for text in told[::2]]
    return check_captions(**planted | {"predictions": told})


def test_the_swayed_sentence_is_found_and_a_persons_is_not(captions):
    measured = compare(by_sentence(captions), bootstrap=100).measurements
    assert list(measured) == ["whole", "sentence 1", "sentence 2", "sentence 3 and on"]
    for score in ("sway_t_to_a", "sway_a_to_t"):
        first, second = (measured[f"sentence {number}"].estimates[score] for number in (1, 2))
        assert first.low < 0 < first.high
        assert second.low > 5
    last = measured["sentence 3 and on"].estimates
    assert "sway_t_to_a" not in last  # no sentence names anybody
    assert last["sway_a_to_t"].value == pytest.approx(0, abs=1e-9)


def test_sentences_have_all_that_is_said_once(captions):
    parts = by_sentence(captions, positions=2)
    assert list(parts) == ["whole", "sentence 1", "sentence 2 and on"]
    said = list(chain.from_iterable(parts[name].predictions for name in list(parts)[1:]))
    assert sorted(" ".join(said).split()) == sorted(" ".join(captions.predictions).split())
    assert by_sentence(captions).popitem()[1].predictions[:2] == ("The sky is blue. It is noon.", ".")


def test_sentences_end_at_marks_before_a_blank_and_with_lines():
    assert sentences("A man . Two?! ... \n\nno end") == ["A man .", "Two?!", "no end"]
    assert sentences("\u4e00\u4e2a \u4eba\u3002\u4e00\u53ea \u72d7") == [
        "\u4e00\u4e2a \u4eba\u3002",
        "\u4e00\u53ea \u72d7",
    ]


def test_what_has_no_sentences_to_tell_apart_is_refused(captions):
    with pytest.raises(ValueError, match="no caption of the captioner has two sentences"):
        by_sentence(check_captions(**vars(plant(20))))
    with pytest.raises(ValueError, match="positions must be 2 or more, not 1"):
        by_sentence(captions, positions=1)
