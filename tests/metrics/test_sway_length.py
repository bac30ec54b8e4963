"""How much is said of whom: what is put in is read, people read 0, who says as much of everybody is not found."""

import numpy as np
import pytest

from captionbias.bench.verdicts import CANNOT_TELL, DIFFERS, LIKE, MORE
from captionbias.metrics import sway
from captionbias.synthetic import plant

KEY = "sway_length_gap"
FURTHER = " wooden yellow huge"


def given(images=1000, **changes):
    return vars(plant(images, captions=4, seed=1)) | changes


def longer(captions, value, share):
    """Three more content words in this share of the captions of one value."""
    rows = enumerate(zip(captions["predictions"], captions["attributes"], strict=True))
    return [text + FURTHER * (label == value and row % 100 < 100 * share) for row, (text, label) in rows]


def measured(captions, **options):
    return sway.measure(**captions, bootstrap=200, details=True, **options)


@pytest.mark.parametrize("value", ["female", "male"])
def test_more_said_of_one_value_is_read_with_its_sign_and_size(value):
    captions = given()
    plain, more = (measured(captions | {"predictions": longer(captions, value, share)}) for share in (0, 0.5))
    before, after = ({row["attribute"]: row for row in one.details["length"]} for one in (plain, more))
    other = {"female": "male", "male": "female"}[value]
    ratio = after[value]["captioner"] / before[value]["captioner"]
    assert after[other]["captioner"] == before[other]["captioner"]
    assert 1 + after[value]["gap"] / 100 == pytest.approx((1 + before[value]["gap"] / 100) * ratio)
    assert more.estimates[KEY].verdict == MORE
    assert (more.estimates[KEY].value > 0) == (value == "female")  # the first of the lexicon


def test_it_is_content_words_of_captions_by_hand():
    captions = {
        "predictions": ["a woman with a red dog", "a man with a dog", "a woman", "a man with a dog"] * 10,
        "references": [["a woman with a dog", "a woman"], ["a man with a dog"] * 2] * 20,
        "attributes": ["female", "male"] * 20,
    }
    for weights, of_women in (([1] * 40, 2), ([1, 1, 2, 1] * 10, 5 / 3)):
        rows = measured(captions | {"weights": weights, "trust_rows": True}).details["length"]
        assert [row["captioner"] for row in rows] == pytest.approx([of_women, 2])
        assert [row["person"] for row in rows] == pytest.approx([1.5, 2])
        assert rows[0]["gap"] == pytest.approx(100 * (of_women / 1.5 - 1))


def test_a_person_reads_nothing_and_who_says_as_much_of_all_only_lacks_what_people_do():
    """People say more of women here, and the captioner the same of everybody."""
    captions = given(3000)
    *others, person = zip(*captions["references"], strict=True)
    references = [list(texts) for texts in zip(*others, strict=True)]
    assert measured(captions | {"references": references, "predictions": person}).estimates[KEY].verdict == LIKE
    said = [
        [text + FURTHER * (label == "female") for text in texts]
        for texts, label in zip(references, captions["attributes"], strict=True)
    ]
    lacking = measured(captions | {"references": said})
    assert lacking.estimates[KEY].high < -2
    assert lacking.estimates[KEY].verdict == CANNOT_TELL


def test_of_several_values_each_is_compared_with_the_others():
    words = {"old": ["elder"], "adult": ["adult"], "child": ["child"]}
    labels = np.random.default_rng(0).choice(list(words), 600).tolist()
    texts = [f"one {words[label][0]} with a dog on a street" for label in labels]
    said = longer({"predictions": texts, "attributes": labels}, "child", 1)
    people = {"references": [[text, text] for text in texts], "attributes": labels, "attribute_lexicon": words}
    result = measured(people | {"predictions": said, "trust_rows": True})
    gaps = {row["attribute"]: row["gap"] for row in result.details["length"]}
    assert max(gaps, key=gaps.get) == "child"
    assert result.estimates[KEY].value == gaps["child"]
    assert min(gaps.values()) < 0


def test_within_scenes_it_is_beyond_0_and_without_people_or_scenes_it_is_not_asked():
    captions = given(references=None, tasks=None)
    captions["attributes"] = ["female", "male"] * 500
    scenes = captions | {"scene": [row // 2 for row in range(1000)], "trust_rows": True}
    estimates = measured(scenes | {"predictions": longer(scenes, "male", 1)}).estimates
    assert estimates[KEY].verdict == DIFFERS
    assert KEY not in measured(captions | {"trust_rows": True}).estimates
