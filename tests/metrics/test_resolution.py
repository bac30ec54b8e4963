"""Resolution: the planted accuracy of each occupation is read, from captions, answers and labels, of one and of two."""

import numpy as np
import pytest

from captionbias.metrics import resolution

NOUNS = {"female": ("woman", "her"), "male": ("man", "his")}
OTHER = {"female": "male", "male": "female"}
# Of 20 pictures of each gender how many are resolved rightly.
RIGHT = {"doctor": (20, 18), "teacher": (20, 10), "clerk": (18, 18)}
WAYS = {
    "pronouns": lambda task, said: f"The {task} and {NOUNS[said][1]} client",
    "nouns": lambda task, said: f"a {NOUNS[said][0]} who works as a {task}",
    "before": lambda task, said: f"a {NOUNS[OTHER[said]][0]} beside a {said} {task}",  # two people, who differ
    "his or her": lambda task, said: NOUNS[said][1].title(),
    "noun": lambda task, said: f"{NOUNS[said][0]}.",
}


def rows():
    """The label, the occupation and what is said of each picture."""
    return [
        (label, task, label if number < right else OTHER[label])
        for task, of_task in RIGHT.items()
        for label, right in zip(NOUNS, of_task, strict=True)
        for number in range(20)
    ]


def measured(way=None, silent=0, **options):
    labels, tasks, said = zip(*rows(), strict=True)
    given = {"attributes": labels, "tasks": [[task] for task in tasks]}
    if way is None:
        given["predicted_attributes"] = [[one] if row >= silent else [] for row, one in enumerate(said)]
    else:
        texts = [WAYS[way](task, one) if row >= silent else f"a {task}" for row, (_, task, one) in enumerate(rows())]
        given["predictions"] = texts
    return resolution.measure(**given, details=True, **options)


@pytest.mark.parametrize("way", [None, *WAYS])
def test_what_was_planted_is_read(way):
    found = measured(way, bootstrap=100)
    accuracy = {task: [5.0 * right for right in of] for task, of in RIGHT.items()}
    for row in found.details["occupations"]:
        assert [of["accuracy"] for of in row["by_attribute"]] == pytest.approx(accuracy[row["task"]])
        assert row["bias"] == pytest.approx(np.subtract(*accuracy[row["task"]]))
        assert row["bias_ci_low"] <= row["bias"] <= row["bias_ci_high"]
    assert len(found.details["occupations"]) == 3
    bias, every = (found.estimates[f"resolution_{what}"] for what in ("bias", "accuracy"))
    assert bias.value == pytest.approx((10 + 50 + 0) / 3)
    assert 0 < bias.low < bias.value < bias.high
    assert every.value == pytest.approx(100 * sum(sum(of) for of in RIGHT.values()) / 120)
    assert found.estimates["resolution_unresolved"].value == 0


@pytest.mark.parametrize("way", [None, "pronouns"])
def test_who_is_silent_is_unresolved_and_neither_right_nor_wrong(way):
    found = measured(way, silent=8, bootstrap=0)
    assert found.estimates["resolution_unresolved"].value == pytest.approx(100 * 8 / 120)
    assert found.facts["resolution_accuracy_female"] == pytest.approx(100 * (12 + 20 + 18) / 52)
    assert found.facts["resolution_accuracy_male"] == pytest.approx(100 * (18 + 10 + 18) / 60)


@pytest.mark.parametrize(
    ("caption", "value"),
    [
        ("A man is examined by a female doctor.", "female"),
        ("A woman talks to a male doctor", "male"),
        ("The doctor treats his patient", "male"),
        ("A doctor, a woman, with a man", "female"),
        ("A doctor examines a man", None),
        ("two doctors", None),
        ("a male doctor and a female doctor", None),
    ],
)
def test_the_word_is_that_of_the_person_at_work(caption, value):
    found = resolution.measure(
        predictions=[caption, "her"], attributes=["female", "male"], tasks=[["doctor"]] * 2, bootstrap=0
    )
    resolved = 100 - found.estimates["resolution_unresolved"].value
    assert (resolved, found.facts.get("resolution_accuracy_female")) == (
        (50, None) if value is None else (100, 100.0 if value == "female" else 0.0)
    )


def test_without_occupations_it_is_of_all_images_and_a_person_reads_0():
    labels, _, said = zip(*rows(), strict=True)
    texts = [f"the {NOUNS[one][0]}" for one in said]
    people = [[text, text, text] for text in texts]
    result = resolution(predictions=texts, references=people, attributes=labels, trust_rows=True)
    assert result["resolution_bias"] == pytest.approx(100 * (58 - 46) / 60)
    assert result["resolution_bias_excess"] == result["resolution_accuracy_excess"] == 0
