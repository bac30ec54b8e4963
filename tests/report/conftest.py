"""Small audits that several tests of reports read: of two captioners with people, and of the same without."""

from __future__ import annotations

import pytest

from captionbias.analysis.audit import audit
from captionbias.synthetic import plant

IMAGES = 240
QUICK = {"trials": 2, "bootstrap": 60, "cache": False}


@pytest.fixture(scope="session")
def planted():
    return {"nic": plant(IMAGES, captions=2), "sat": plant(IMAGES, captions=2, a_to_t=0.9)}


@pytest.fixture(scope="session")
def two(planted):
    """Captioners `nic`, faithful, and `sat`, biased."""
    given = planted["nic"]
    return audit(
        {name: one.predictions for name, one in planted.items()},
        references=[[f"{text} slowly" for text in texts] for texts in given.references],  # a word to align
        attributes=given.attributes,
        tasks=given.tasks,
        **QUICK,
    )


@pytest.fixture(scope="session")
def alone(planted):
    """The same captioners without human captions."""
    captioners = {name: one.predictions for name, one in planted.items()}
    return audit(captioners, attributes=planted["nic"].attributes, **QUICK)
