"""One more person as the yardstick: what the captioner is compared with."""

import pytest

from captionbias.bench.catalogue import METRICS
from captionbias.bench.reading import captions_of_a_person
from captionbias.captions import CaptionBiasWarning, check_captions
from captionbias.synthetic import plant
from tests.whole import directional_ba, gender_error, label_leakage

SCORES = {name: [one.key for one in entry.scores if one.against_a_person] for name, entry in METRICS.items()}
each = pytest.mark.parametrize("metric", [directional_ba, gender_error, label_leakage], ids=lambda one: one.name)


def options(metric):
    return {"bootstrap": 100} | metric.accepted({"trials": 2, "cache": False})


@pytest.fixture(scope="module")
def captions():
    """Three human captions of each image, but one of every tenth: those images have nobody to compare with."""
    planted = vars(plant(images=300, captions=3, a_to_t=0.5, t_to_a=0.3))
    planted["weights"] = [1 + row % 3 / 2 for row in range(300)]
    planted["references"] = [texts[: 3 if row % 10 else 1] for row, texts in enumerate(planted["references"])]
    return check_captions(**planted)


@each
def test_the_person_is_scored_as_a_captioner_is_and_the_excess_is_the_difference_of_both(metric, captions):
    result = metric(captions, **options(metric), seed=3)
    person = captions_of_a_person(captions, seed=3)
    assert len(person) == 270
    described = [row for row, texts in enumerate(captions.references) if len(texts) > 1]
    captioner = captions.select(described, references=person.references)
    alone, human = (metric(one, **options(metric), seed=3, controls=False) for one in (captioner, person))
    for key in SCORES[metric.name]:
        for end in ("", "_ci_low", "_ci_high"):
            assert result[f"{key}_human{end}"] == human[f"{key}{end}"]
        assert result[f"{key}_excess"] == pytest.approx(alone[key] - human[key])
        assert result[f"{key}_excess_ci_low"] <= result[f"{key}_excess"] <= result[f"{key}_excess_ci_high"]
    said = dict(zip(described, person.predictions, strict=True))
    same = captions.with_predictions([said.get(row, text) for row, text in enumerate(captions.predictions)])
    result = metric(same, **options(metric), seed=3)  # the same images are drawn for both, in each replicate
    for key in SCORES[metric.name]:
        assert result[f"{key}_excess"] == result[f"{key}_excess_ci_low"] + result[f"{key}_excess_ci_high"] == 0


def test_one_more_person_reads_0_within_the_interval_and_planted_bias_does_not():
    planted = vars(plant(images=2000, captions=4, seed=2))
    given = planted | {"references": [texts[:-1] for texts in planted["references"]]}
    person = given | {"predictions": [texts[-1] for texts in planted["references"]]}
    biased = given | {"predictions": plant(images=2000, captions=4, seed=2, a_to_t=0.5, t_to_a=0.5).predictions}
    for metric, key in ((directional_ba, "directional_ba_a_to_t"), (gender_error, "error")):
        found, worse = (metric(**one, bootstrap=200) for one in (person, biased))
        assert found[f"{key}_excess_ci_low"] <= 0 <= found[f"{key}_excess_ci_high"]
        assert worse[f"{key}_excess_ci_low"] > 0


def test_a_person_that_cannot_be_scored_is_a_note():
    """No image with a second human caption shows a task."""
    references = [["a man", "a boy"], ["a woman and a dog"]] * 20
    people = {"references": references, "attributes": ["male", "female"] * 20}
    with pytest.warns(CaptionBiasWarning, match="not compared with one more person: "):
        found = directional_ba(**people, predictions=["a man and a dog", "a woman"] * 20, bootstrap=0)
    assert "directional_ba_a_to_t_human" not in found


def test_copies_of_a_picture_stay_copies_where_the_other_captions_alone_are_too_few_to_tell():
    """Of two captions of 20 words one is left; both rows of a picture get the same person."""
    texts = [
        [f"a man with {' '.join(f'{word}{k}{row}' for word in 'abcdefghijklmnopq')}" for k in "xy"] for row in range(20)
    ]
    people = {"references": texts * 2, "attributes": ["male", "female"] * 20}
    captions = check_captions(**people, predictions=["a man", "a woman"] * 20)
    person = captions_of_a_person(captions, seed=1)
    assert person.copies.tolist() == [*range(20)] * 2
    assert person.predictions[:20] == person.predictions[20:]


def test_progress_goes_on_through_all_three_runs_and_can_end_the_last(captions):
    trials = {"trials": 2, "cache": False, "bootstrap": 0}
    told = []

    def stop_late(finished: int, total: int) -> None:
        told.append((finished, total))
        if finished == total - 1:
            raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        label_leakage(captions, **trials, progress=stop_late)
    assert told == sorted(told)
    assert told[-1] == (11, 12)
