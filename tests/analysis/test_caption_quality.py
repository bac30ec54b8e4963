"""The quality of captions, and what METEOR does without WordNet."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from captionbias.analysis import caption_quality as quality
from captionbias.analysis.caption_quality import caption_quality, meteor
from captionbias.captions import CaptionBiasWarning
from captionbias.scores import quality as scores_of
from captionbias.synthetic import plant


def scores(result):
    return {name: value for name, value in result.items() if name != "signature"}


def test_a_captioner_that_says_what_people_say_is_as_good_as_can_be():
    texts = plant(60).predictions
    result = caption_quality(predictions=texts, references=[[text] for text in texts])
    assert result["bleu_4"] == pytest.approx(1)
    assert result["rouge_l"] == pytest.approx(1)
    assert result["cider"] == pytest.approx(10, abs=0.1)  # short captions have no four words in a row
    assert result["meteor_without_synonyms" if "meteor" not in result else "meteor"] > 0.98


def test_worse_captions_score_lower_others_nothing_and_punctuation_and_case_do_not_count():
    good = plant(200, seed=1)
    worse = [" ".join(text.split()[::-1]) if row % 2 else text for row, text in enumerate(good.predictions)]
    better, lower = (
        scores(caption_quality(predictions=texts, references=good.references)) for texts in (good.predictions, worse)
    )
    assert all(lower[name] < better[name] for name in better)
    nothing = caption_quality(predictions=["sky blue", "green tree"], references=[["a dog runs"], ["one cat sits"]])
    assert all(value == pytest.approx(0, abs=1e-6) for value in scores(nothing).values())
    dressed = [f"{text.capitalize()} ." for text in good.predictions]
    assert scores(caption_quality(predictions=dressed, references=good.references)) == better


def test_drawn_images_are_measured_as_though_they_were_all(monkeypatch):
    captions, measured = plant(80), []
    monkeypatch.setattr(quality, "meteor", lambda words, wanted: measured.append((words, wanted)) or np.zeros(1))
    texts = [f"{text} {image}" for image, text in enumerate(captions.predictions)]
    references = [[f"{text} {image}" for text in row] for image, row in enumerate(captions.references)]
    found = caption_quality(predictions=texts, references=references, images=20, seed=3)
    (words, wanted) = measured[0]
    rows = [int(text[-1]) for text in words]
    assert len(rows) == 20
    assert rows == sorted(set(rows)) == [int(row[0][-1]) for row in wanted], "captions stay with their images"
    alone = caption_quality(predictions=[texts[row] for row in rows], references=[references[row] for row in rows])
    assert scores(alone) == scores(found)
    assert "|images:20|seed:3|" in found["signature"]


def test_meteor_by_hand():
    """Six of six words match in one chunk of the hypothesis; then in reverse, in six chunks (alpha 0.9, gamma 0.5)."""
    reference = ["the", "cat", "sat", "on", "that", "mat"]
    forwards, backwards = meteor([reference, reference[::-1]], [[reference], [reference]])
    assert forwards == pytest.approx(1 - 0.5 * (1 / 6) ** 3)
    assert backwards == pytest.approx(1 - 0.5)


def test_without_wordnet_the_score_has_another_name_and_a_warning_and_with_it_synonyms_match(monkeypatch):
    [monkeypatch.setattr(module, "wordnet", lambda: None) for module in (quality, scores_of)]
    said = {"predictions": ["dog"], "references": [["hound"]]}
    with pytest.warns(CaptionBiasWarning, match="WordNet is not installed; get it with python -m nltk.downloader"):
        result = caption_quality(**said)
    assert "meteor" not in result
    signed = "metric:caption_quality|tok:words|rows:#|meteor:meteor_without_synonyms|by:pycocoevalcap #,nltk #|v:"
    assert re.sub(r"(?<=[: ])([0-9a-f]{8}|[\d.]+)(?=[|,])", "#", result["signature"]).startswith(signed)
    hound = SimpleNamespace(lemmas=lambda: [SimpleNamespace(name=lambda: "hound")])
    wordnet = SimpleNamespace(synsets=lambda word: [hound] if word == "dog" else [], get_version=lambda: "3.1")
    [monkeypatch.setattr(module, "wordnet", lambda: wordnet) for module in (quality, scores_of)]
    known = caption_quality(**said)
    assert result["meteor_without_synonyms"] == 0 < known["meteor"]
    assert ",wordnet 3.1|" in known["signature"]


def test_other_captions_words_and_libraries_have_another_signature(monkeypatch):
    captions = plant(30)
    said = {"predictions": captions.predictions, "references": captions.references}
    changes = [{}, {"predictions": captions.predictions[::-1]}, {"references": plant(30, seed=1).references}]
    changes += [
        {"tokenizer": lambda text, least=least: [word for word in text.split() if len(word) > least]}
        for least in (1, 3)
    ]
    signatures = [caption_quality(**said | change)["signature"] for change in changes]
    monkeypatch.setattr(quality, "version", lambda package: "9")
    assert len({*signatures, caption_quality(**said)["signature"]}) == len(changes) + 1
