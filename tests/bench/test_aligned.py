"""A captioner's own vocabulary."""

import json
import re

import pytest

from captionbias.metrics import dbac, lic

IMAGES = 40
CAPTIONS = {
    "predictions": ["a woman holds a cake", "a man holds a dog"] * (IMAGES // 2),
    "references": [["a woman quietly holds a cake", "here a woman holds a cake"], ["a man holds a dog"] * 2]
    * (IMAGES // 2),
    "attributes": ["female", "male"] * (IMAGES // 2),
}
FAST = {"preset": "fast", "trials": 1, "bootstrap": 0, "cache": False, "alignment": "constant", "details": True}
OWN = ["a", "holds", "cake", "dog", "quietly"]
both = pytest.mark.parametrize("metric", [lic, dbac], ids=["lic", "dbac"])


def replaced(result):
    """The human words that became `<unk>`, and how many: of the captions that the attribute is guessed from."""
    details = result["details"]
    return details.get("a_to_t", details)["alignment"]["replaced_unknown"]


@both
def test_human_captions_keep_the_words_of_the_vocabulary_and_no_others(metric, tmp_path):
    """'quietly' and 'here' are said of half of the images, and by no model caption."""
    of_predictions = metric(**CAPTIONS, **FAST)
    own = metric(**CAPTIONS, **FAST, vocabulary=OWN)
    none = metric(**CAPTIONS, **FAST, vocabulary=["a", "cake", "dog"])
    assert replaced(of_predictions) == 2 * IMAGES // 2
    assert replaced(own) == IMAGES // 2, "'here'"
    assert replaced(none) == 2 * IMAGES // 2 + 2 * IMAGES, "'holds', in every caption, though the captioner says it"
    assert re.search(r"\|align:constant(,names-kept)?,to-[0-9a-f]{8}\|", own["signature"])
    (tmp_path / "words.json").write_text(json.dumps(OWN))
    for given in (tmp_path / "words.json", OWN[::-1]):
        assert metric(**CAPTIONS, **FAST, vocabulary=given) == own
