"""Captions to put biases into. Benchmarks share functions as scripts do, by plain names."""

import sys
from pathlib import Path

import pytest

from captionbias.captions import check_captions
from captionbias.synthetic import plant

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
OTHERS = "a woman with a handbag", "a man with a tie"


def injected(injection, *texts, attributes=("female", "male")):
    """These captions with a bias put in, beside images of women with handbags and of men with ties."""
    from injections import describe, inject

    count = 30
    described = describe(
        check_captions(
            predictions=[*texts, *count * OTHERS],
            references=[*([text] for text in texts), *([text] for text in count * OTHERS)],
            attributes=[*attributes, *count * ("female", "male")],
            trust_rows=True,
        )
    )
    return inject(described, injection)[: len(texts)]


@pytest.fixture(scope="module")
def people():
    from injections import describe

    given = vars(plant(600))
    return describe(check_captions(**{name: given[name] for name in ("predictions", "references", "attributes")}))
