"""Every encoder of the registry is named where people look for one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from captionbias.attackers.pretrained.models import KNOWN
from captionbias.attackers.registry import BERTS, ENCODERS
from captionbias.bench.arguments import ARGUMENTS

ATTACKERS = (Path(__file__).parents[2] / "docs" / "attackers.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [*ENCODERS, *BERTS, *KNOWN])
def test_an_encoder_is_in_the_help_and_in_the_guide(name: str) -> None:
    assert re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", ARGUMENTS["encoder"])
    assert f"`{name}`" in ATTACKERS
