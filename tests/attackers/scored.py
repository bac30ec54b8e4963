"""What tests of attackers share: scores to the bit, and trials of captions that are written out."""

from collections.abc import Sequence

import numpy as np

from captionbias.attackers.base import Examples, Trial, TrialScores
from captionbias.text import tokenize


def bits(*scores: TrialScores) -> list[tuple[bytes, bytes]]:
    return [(one.log_probability.tobytes(), one.correct.tobytes()) for one in scores]


def by_words(
    train: Sequence[str], targets: Sequence[int], test: Sequence[str], truth: Sequence[int], outputs: int = 2
) -> Trial:
    examples = Examples(tokenize([*train, *test]), np.array([*targets, *truth]), outputs)
    return Trial(examples, np.arange(len(train)), np.arange(len(train), len(train) + len(test)), 0)
