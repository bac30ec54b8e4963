"""The cards say what the modules do: tables are those of the code, examples run, numbers are those measured."""

from __future__ import annotations

import doctest
import re
import runpy
from pathlib import Path
from typing import Any

import evaluate
import pytest

import captionbias
from captionbias import metrics
from captionbias.bench.catalogue import METRICS, YARDSTICK, scores_of
from captionbias.hub.modules import install_metrics
from captionbias.images.drawings import draw
from captionbias.metrics.sway.missing import GAP as MISSING
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
    worst = {score.key for score in scores_of(name) if score.minimised}
    not_here = {YARDSTICK, MISSING, *worst, *(key for key in known if key.startswith("meteor"))}  # without WordNet
    assert known.keys() - not_here <= measured.estimates.keys()
    assert worst <= measured.flat().keys(), "also where it is undefined"
    written = re.findall(r"`([\w<>]+)`", METRICS[name].returns)
    described = re.compile("|".join(written).replace("_s_d", "_[mh]_(a_to_t|t_to_a)").replace("<value>", r"\w+"))
    assert all(described.fullmatch(key) for key in measured.facts)
    for key, (value, low, high, *_) in measured.estimates.items():
        least, most = known[key]
        assert all(least <= number <= most for number in (value, low, high) if number is not None), key


NUMBER = re.compile("-?[0-9]+[.][0-9]+")


class ToTheLastDigit(doctest.OutputChecker):
    """Processors add up in other orders: what lies near the edge of a digit is rounded up on some, down on others."""

    def check_output(self, want: str, got: str, flags: int) -> bool:
        pairs = zip(NUMBER.findall(want), NUMBER.findall(got), strict=False)
        near = all(abs(float(one) - float(other)) < 1.5 * 0.1 ** len(one.split(".")[1]) for one, other in pairs)
        return near and NUMBER.sub("", want) == NUMBER.sub("", got)


@pytest.fixture(scope="module")
def installed(modules_cache: Path) -> None:
    assert [file.stem for file in install_metrics()] == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_the_examples_run_offline_and_print_what_they_show(
    name: str, installed: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a reader runs them once the modules are installed, from anywhere."""

    def refuse(*_: Any, **__: Any) -> None:
        raise OSError("this process has no network")

    for place in ("socket.socket.connect", "socket.create_connection", "socket.getaddrinfo"):
        monkeypatch.setattr(place, refuse)
    monkeypatch.setattr(evaluate.config, "HF_EVALUATE_OFFLINE", True)
    monkeypatch.chdir(tmp_path)
    shown = "\n".join(re.findall(r"```python\n(.*?)```", card(name), flags=re.DOTALL))
    text = re.sub(r"\|v:[\d.]+", f"|v:{captionbias.__version__}", shown)
    examples = doctest.DocTestParser().get_doctest(text, {}, name, None, None)
    assert examples.examples
    assert not doctest.DocTestRunner(ToTheLastDigit()).run(examples).failed


# Of each metric, the scores that rise with the dials A to T and T to A.
DIRECTED = ("directional_ba", "dpa", "multi_directional_ba", "sway")
DIALS = {name: (f"{name}_a_to_t", f"{name}_t_to_a") for name in DIRECTED}
DIALS |= {name: (name, name) for name in ("ba_mals", "label_leakage")}


@pytest.mark.parametrize("name", list(DIALS))
def test_the_table_of_planted_captions_is_measured(name: str) -> None:
    """The row where naming hides most: captions that amplify, and name half as many tasks."""
    [line] = re.findall(r"^ *\| 0\.5 \| 0\.5 \| (.*) \|$", card(name), re.MULTILINE)
    row = line.split(" | ")
    captioners = plant(images=3000, naming=0.5, a_to_t=0.5), plant(images=3000, naming=0.5, t_to_a=0.5)
    measured = [
        getattr(metrics, name)(**vars(captioner), **quick(name, trials=5), bootstrap=0)[key]
        for captioner, key in zip(captioners, DIALS[name], strict=True)
    ]
    half_a_digit = 0.5 * 10.0 ** -len(row[0].split(".")[1])
    assert [float(cell) for cell in row] == pytest.approx(measured, abs=3 * half_a_digit)
