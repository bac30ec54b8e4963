"""Captions to put biases into. Benchmarks share functions as scripts do, by plain names."""

import sys
from pathlib import Path

import pytest

from captionbias.captions import check_captions
from captionbias.synthetic import plant

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
COUNT, OTHERS = 30, ("a woman with a handbag", "a man with a tie")


def described(texts, values, references=None, **lexicons):
    from injections import describe

    said = references or [[text] for text in texts]
    captions = check_captions(predictions=texts, references=said, attributes=values, trust_rows=True)
    return describe(captions, **lexicons)


def injected(injection, *texts, attributes=("female", "male")):
    """These captions with a bias put in, beside images of women with handbags and of men with ties."""
    from injections import inject

    people = described([*texts, *COUNT * OTHERS], [*attributes, *COUNT * ("female", "male")])
    return inject(people, injection)[: len(texts)]


@pytest.fixture(scope="module")
def people():
    given = plant(600)
    return described(given.predictions, given.attributes, given.references)
