"""The cards say what the modules do: their examples run, and each key, argument, range and value is as described."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

import captionbias
from captionbias import metrics
from captionbias.metrics.catalogue import METRICS
from captionbias.synthetic import draw, plant

FOLDER = Path(__file__).parents[2] / "metrics"
NAMES = sorted(METRICS)
BLANKS = {"<direction>": "(a_to_t|t_to_a)", "<side>": "(m|h)"}
DRAWN_BY_CHANCE = ("_std", "_trial_ci_low", "_trial_ci_high", "_detectable")  # not cut off at the range

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # a few images suffice here


def quick(name: str, trials: int = 2) -> dict[str, Any]:
    """The options of a quick measurement that this metric has."""
    options = {"preset": "fast", "trials": trials, "epochs": 1}
    return {option: value for option, value in options.items() if option in getattr(metrics, name).options()}


def card(name: str) -> str:
    return (FOLDER / name / "README.md").read_text(encoding="utf-8")


def section(name: str, title: str) -> str:
    """The text under a title, up to the next title of any level."""
    return re.split(r"^#+ .*\n", card(name).split(f"# {title}\n")[1], flags=re.MULTILINE)[0]


def rows(text: str) -> list[list[str]]:
    """The cells of all table rows."""
    return [[cell.strip() for cell in line.strip(" |").split(" | ")] for line in text.splitlines() if "| " in line]


@cache
def result(name: str) -> dict[str, Any]:
    """A real one, with both sides, two trials and a bootstrap, so that no key is left out."""
    planted = plant(images=300, captions=2)
    images = dict(zip(("images", "masks"), draw(planted), strict=True)) if METRICS[name].of_images else {}
    return dict(getattr(metrics, name)(**vars(planted), **images, **quick(name), bootstrap=20))


@cache
def described(name: str) -> dict[str, str]:
    """The range of each key pattern in the card, and of each ending."""
    table = rows(section(name, "Output Values"))
    return {key: cells[1] for cells in table for key in re.findall(r"`([\w.<>]+)`", cells[0])}


def meant(pattern: str, key: str) -> bool:
    for blank, values in BLANKS.items():
        pattern = pattern.replace(blank, values)
    return re.fullmatch(pattern, key) is not None


@pytest.mark.parametrize("name", NAMES)
def test_the_front_matter_makes_a_space(name: str) -> None:
    _, front, _ = card(name).split("---\n", 2)
    matter = yaml.safe_load(front)
    assert (matter["sdk"], matter["license"], matter["tags"]) == ("gradio", "apache-2.0", ["evaluate", "metric"])
    assert "_".join(re.findall(r"\w+", matter["title"].lower())) == name
    assert (FOLDER / name / matter["app_file"]).is_file()


@pytest.mark.parametrize("name", NAMES)
def test_every_argument_is_described(name: str) -> None:
    table = rows(section(name, "Inputs"))[2:]
    arguments = [argument for cells in table for argument in re.findall(r"`(\w+)`", cells[0])]
    assert sorted(arguments) == sorted(getattr(metrics, name).options())


@pytest.mark.parametrize("name", NAMES)
def test_every_key_is_described_and_every_described_key_is_there(name: str) -> None:
    patterns = [pattern for pattern in described(name) if not pattern.startswith("...")]
    endings = [pattern.removeprefix("...") for pattern in described(name) if pattern.startswith("...")]
    keys = list(result(name))
    bare = {
        key: next((key.removesuffix(end) for end in sorted(endings, key=len, reverse=True) if key.endswith(end)), key)
        for key in keys
    }
    assert [key for key in keys if not any(meant(pattern, bare[key]) for pattern in patterns)] == []
    assert [pattern for pattern in patterns if not any(meant(pattern, key) for key in keys)] == []
    assert [end for end in endings if not any(key.endswith(end) for key in keys)] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_value_lies_in_its_range(name: str) -> None:
    for key, value in result(name).items():
        if key.endswith(DRAWN_BY_CHANCE):
            continue
        bare = key.removesuffix("_ci_low").removesuffix("_ci_high")
        [limits] = [limits for pattern, limits in described(name).items() if meant(pattern, bare)]
        if limits == "text":
            assert isinstance(value, str)
        else:
            low, high = map(float, limits.strip("[]()").split(", "))
            assert low <= value <= high, key


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
    for shown in (module.inputs_description, card):
        examples = doctest.DocTestParser().get_doctest(shown, {}, name, None, None)
        assert examples.examples
        failed += doctest.DocTestRunner(ToTheLastDigit()).run(examples).failed
sys.exit(failed)
"""


def test_the_examples_of_cards_and_modules_run_and_print_what_they_show(tmp_path: Path) -> None:
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
    [row] = [cells for cells in rows(section(name, "Limitations and Bias")) if cells[:2] == ["0.5", "0.5"]]
    captioners = plant(images=3000, naming=0.5, a_to_t=0.5), plant(images=3000, naming=0.5, t_to_a=0.5)
    measured = [
        getattr(metrics, name)(**vars(captioner), **quick(name, trials=5), bootstrap=0)[key]
        for captioner, key in zip(captioners, DIALS[name], strict=True)
    ]
    half_a_digit = 0.5 * 10.0 ** -len(row[2].split(".")[1])
    assert [float(cell) for cell in row[2:]] == pytest.approx(measured, abs=3 * half_a_digit)
