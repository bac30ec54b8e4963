"""The finished example that the page shows first is today's: its numbers, its style and its script."""

from __future__ import annotations

import base64
import gzip
import json
import re
from importlib import resources
from typing import Any

import pytest

from captionbias.app import example


def data_of(page: str) -> Any:
    packed = page.partition('id="audit-data">')[2].partition("</script>")[0]
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def test_the_shipped_example_is_what_measuring_it_gives():
    shipped = resources.files("captionbias.app").joinpath("example.html").read_text(encoding="utf-8")
    made = example.result()
    assert re.findall(r"<style>.*?</style>", shipped, re.DOTALL) == re.findall(r"<style>.*?</style>", made, re.DOTALL)
    scripts = [re.findall(r"<script>.*?</script>", page, re.DOTALL) for page in (shipped, made)]
    assert scripts[0] == scripts[1] != []
    before, now = map(data_of, (shipped, made))
    assert before["captioners"] == now["captioners"] == ["faithful", "biased"]
    for metric in ("dbac", "lic"):
        for name in now["captioners"]:
            scores = now["comparisons"][metric]["results"][name]
            numbers = {key: value for key, value in scores.items() if isinstance(value, float)}
            shown = before["comparisons"][metric]["results"][name]
            assert {key: shown[key] for key in numbers} == pytest.approx(numbers, rel=1e-3, abs=1e-3)
