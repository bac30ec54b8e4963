"""Tests of networks draw the same values every time, in one thread, as trainings do."""

import pytest
import torch

from captionbias.attackers.workers import threads


@pytest.fixture(autouse=True)
def _seeded_in_one_thread():
    torch.manual_seed(0)
    with threads(1):
        yield
