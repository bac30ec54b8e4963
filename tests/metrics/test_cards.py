"""The cards say what the modules do: tables are those of the code, examples run, numbers are those measured."""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import captionbias
from captionbias import metrics
from captionbias.bench.catalogue import METRICS, YARDSTICK, scores_of
from captionbias.images.drawings import draw
from captionbias.metrics.sway.misnaming import CAPTIONED
from captionbias.synthetic import plant

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "metrics"
NAMES = sorted(METRICS)
CARDS = runpy.run_path(str(ROOT / "docs" / "cards.py"))


def quick(name: str, trials: int = 2) -> dict[str, Any]:
    """The options of a quick measurement that this metric has."""
    return getattr(metrics, name).accepted({"preset": "fast", "trials": trials, "epochs": 1})


def card(name: str) -> str:
    return (FOLDER / name / "README.md").read_text(encoding="utf-8")


def limitations(name: str) -> str:
    return card(name).partition("## Limitations and Bias\n")[2].partition("\n## ")[0]


def rows(text: str) -> list[list[str]]:
    """The cells of all table rows."""
    return [[cell.strip() for cell in line.strip(" |").split(" | ")] for line in text.splitlines() if "| " in line]


@pytest.mark.parametrize("name", NAMES)
def test_tables_modules_and_spaces_are_made_from_the_code(name: str) -> None:
    """If not: python docs/cards.py."""
    made = CARDS["files"](name)
    assert {file: (FOLDER / name / file).read_text(encoding="utf-8") for file in made} == made


@pytest.mark.parametrize("name", NAMES)
def test_every_key_of_a_result_is_described_and_lies_in_its_range(name: str) -> None:
    planted = plant(images=2000 if name == "sway" else 300, captions=2)  # from which on sway has the size of words
    images = dict(zip(("images", "masks"), draw(planted), strict=True)) if METRICS[name].of_images else {}
    measured = getattr(metrics, name).measure(**vars(planted), **images, **quick(name), bootstrap=20)
    known = {score.key: score.scale[:2] for score in scores_of(name)}
    assert known.keys() - {YARDSTICK, CAPTIONED} <= measured.estimates.keys()
    written = re.findall(r"`([\w<>]+)`", METRICS[name].returns)
    described = re.compile("|".join(written).replace("_s_d", "_[mh]_(a_to_t|t_to_a)").replace("<value>", r"\w+"))
    assert all(described.fullmatch(key) for key in measured.facts)
    for key, (value, low, high, *_) in measured.estimates.items():
        least, most = known[key]
        assert all(least <= number <= most for number in (value, low, high) if number is not None), key


EXAMPLES = """
import doctest
import json
import re
import socket
import sys


def refuse(*arguments):
    raise OSError("this process has no network")


socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse

import evaluate

from captionbias.hub.modules import install_metrics

NUMBER = re.compile("-?[0-9]+[.][0-9]+")


class ToTheLastDigit(doctest.OutputChecker):
    # Processors add up in different orders: what lies near the edge of a digit is rounded up on some, down on others.
    def check_output(self, want, got, flags):
        pairs = zip(NUMBER.findall(want), NUMBER.findall(got))
        near = all(abs(float(one) - float(other)) < 1.5 * 0.1 ** len(one.split(".")[1]) for one, other in pairs)
        return near and NUMBER.sub("", want) == NUMBER.sub("", got)


cards = json.load(sys.stdin)
assert [file.stem for file in install_metrics()] == list(cards)
failed = 0
for name, card in cards.items():
    module = evaluate.load(name)
    evaluate.config.HF_EVALUATE_OFFLINE = True  # with HF_HUB_OFFLINE alone each look-up takes seconds
    examples = doctest.DocTestParser().get_doctest(card, {}, name, None, None)
    assert examples.examples
    failed += doctest.DocTestRunner(ToTheLastDigit()).run(examples).failed
sys.exit(failed)
"""


def test_the_examples_run_and_print_what_they_show(tmp_path: Path) -> None:
    """As a reader runs them: in a process of their own, from anywhere, once the modules are installed, and offline."""
    shown = {name: "\n".join(re.findall(r"```python\n(.*?)```", card(name), flags=re.DOTALL)) for name in NAMES}
    environment = {
        **os.environ,
        "HF_MODULES_CACHE": str(tmp_path / "modules"),
        "HF_EVALUATE_CACHE": str(tmp_path / "cache"),
        "HF_HUB_OFFLINE": "1",
        "PYTHONPATH": str(Path(captionbias.__file__).parents[1]),
    }
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", EXAMPLES],
        input=re.sub(r"\|v:[\d.]+", f"|v:{captionbias.__version__}", json.dumps(shown)),
        cwd=tmp_path,
        env=environment,
        text=True,
        capture_output=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


DIALS = {
    "ba_mals": ["ba_mals", "ba_mals"],
    "directional_ba": ["directional_ba_a_to_t", "directional_ba_t_to_a"],
    "dpa": ["dpa_a_to_t", "dpa_t_to_a"],
    "label_leakage": ["label_leakage", "label_leakage"],
    "multi_directional_ba": ["multi_directional_ba_a_to_t", "multi_directional_ba_t_to_a"],
    "sway": ["sway_a_to_t", "sway_t_to_a"],
}


@pytest.mark.parametrize("name", list(DIALS))
def test_the_table_of_planted_captions_is_measured(name: str) -> None:
    """The row where naming hides most: captions that amplify, and name half as many tasks."""
    [row] = [cells for cells in rows(limitations(name)) if cells[:2] == ["0.5", "0.5"]]
    captioners = plant(images=3000, naming=0.5, a_to_t=0.5), plant(images=3000, naming=0.5, t_to_a=0.5)
    measured = [
        getattr(metrics, name)(**vars(captioner), **quick(name, trials=5), bootstrap=0)[key]
        for captioner, key in zip(captioners, DIALS[name], strict=True)
    ]
    half_a_digit = 0.5 * 10.0 ** -len(row[2].split(".")[1])
    assert [float(cell) for cell in row[2:]] == pytest.approx(measured, abs=3 * half_a_digit)
