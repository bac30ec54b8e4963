"""What is heavy is imported by those who use it, and the core works without its wings."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import captionbias
from captionbias import metrics
from tests.launch import python
from tests.patience import PATIENCE

HEAVY = {"torch", "accelerate", "pandas", "pyarrow", "gensim", "scipy", "sklearn", "datasets", "evaluate"}
HEAVY |= {"transformers", "gradio", "huggingface_hub", "yaml", "matplotlib", "nltk"}
# What is imported after each of these steps, in one fresh process.
IMPORTS = """
import json, sys
before, found = set(sys.modules), []
for step in (
    "import captionbias",
    "import captionbias.cli.main",
    "import captionbias.hub.commands, captionbias.metrics, captionbias.synthetic",
    "captionbias.metrics.sway(**vars(captionbias.synthetic.plant(300)))",
):
    exec(step)
    found.append(sorted(set(sys.modules) - before))
print(json.dumps(found))
"""


def test_the_front_door_imports_no_package_help_no_metric_and_sway_nothing_that_takes_a_second(tmp_path):
    imported = json.loads(python("-W", "ignore", "-c", IMPORTS, folder=tmp_path))
    door, command_line, all_metrics, by_sway = (set(names) for names in imported)
    packages = [{name.partition(".")[0] for name in names} - sys.stdlib_module_names for names in imported]
    assert packages[0] == {"captionbias"}
    assert not (packages[1] | packages[2]) & HEAVY
    assert "captionbias.metrics" not in door | command_line
    assert "captionbias.metrics" in all_metrics
    assert by_sway & {"scipy.special", "scipy.stats", "sklearn", "torch"} == {"scipy.special"}


def test_every_public_name_is_found_and_an_unknown_one_is_named():
    for name in captionbias.__all__:
        assert getattr(captionbias, name).__module__.startswith("captionbias"), name
    assert captionbias.dbac is metrics.dbac
    assert {*metrics.catalogue.METRICS, "compare"} < {*captionbias.__all__}
    assert set(captionbias.__all__) <= set(dir(captionbias))
    with pytest.raises(AttributeError, match="module 'captionbias' has no attribute 'bleu'"):
        _ = captionbias.bleu


@pytest.fixture
def copied(tmp_path):
    """A copy of the package, and what runs Python on it."""
    package = tmp_path / "captionbias"
    shutil.copytree(Path(captionbias.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "CAPTIONBIAS_CACHE": str(tmp_path / "cache")}

    def run(*arguments):
        command = [sys.executable, *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, cwd=tmp_path, env=environment)

    return package, run


def commands(helped):
    """What --help lists."""
    return set(re.findall(r"^│ (\S+)", helped.stdout, re.MULTILINE))


CORE = """
import captionbias
from captionbias.report.html import html_report
from captionbias.synthetic import plant
faithful, biased = (vars(plant(120, t_to_a=strength)) for strength in (0.0, 0.5))
people = {name: column for name, column in faithful.items() if name != "predictions"}
captioners = {"faithful": faithful["predictions"], "biased": biased["predictions"]}
options = {"trials": 2, "bootstrap": 20, "preset": "fast"}
assert captionbias.dbac(**faithful, **options)["signature"]
assert captionbias.compare(captioners, **people, metric="lic", **options).differences
assert html_report(captionbias.audit(captioners, **people, metrics=["sway"], bootstrap=20))
"""
WITHOUT_EXTRAS = """
import sys
sys.modules.update(dict.fromkeys(sys.argv[1:]))  # as if they were not installed
from captionbias.cli.main import app
app(["--help"], prog_name="captionbias")
"""


def test_the_core_works_without_its_wings_and_help_without_the_packages_of_extras(copied):
    """With the wings' folders gone it measures, compares and reports; the command line has the other commands."""
    package, run = copied
    every = commands(run("-m", "captionbias", "--help"))
    missing = HEAVY - {"pandas", "pyarrow", "scipy", "sklearn"} | {"PIL", "jinja2", "openai"}
    assert commands(run("-c", WITHOUT_EXTRAS, *missing)) == every
    shutil.rmtree(package / "hub")
    assert commands(run("-m", "captionbias", "--help")) == every - {"card", "publish", "install-metrics"}
    for wing in ("app", "images", "datasets", "studies", "harnesses"):
        shutil.rmtree(package / wing)
    assert (measured := run("-c", CORE)).returncode == 0, measured.stderr
    left = commands(run("-m", "captionbias", "--help"))
    assert {"measure", "report"} <= left < every - {"app", "audit", "card", "data", "harness", "reproduce"}


@pytest.mark.parametrize(
    ("module", "command"), [("images/commands/mask.py", []), ("images/imagecaptioner2.py", ["measure"])]
)
def test_an_import_in_a_wing_that_fails_is_an_error(copied, module, command):
    package, run = copied
    text = (package / module).read_text(encoding="utf-8")
    (package / module).write_text(text.replace("from captionbias.", "from captionbias.misspelt_", 1), encoding="utf-8")
    helped = run("-m", "captionbias", *command, "--help")
    assert helped.returncode
    assert "No module named 'captionbias.misspelt_" in helped.stderr


ADDED = """
from captionbias.bench.catalogue import SHARE, Score
from captionbias.bench.measurement import Prepared, Scores, metric


@metric("Added", "is it found?", [Score("added", "added", 1, SHARE)])
def added(captions, *, seed=0):
    \"\"\"Nothing.\"\"\"
    return Prepared({}, lambda: Scores({}, {"share": 0.5}))
"""
FOUND = """
import captionbias
from captionbias import added
from captionbias.app.page import page
from captionbias.app.runs import Runs
from captionbias.images.judges import prompt_for
from captionbias.metrics import catalogue
assert list(catalogue.METRICS)[-2:] == ["added", "imagecaptioner2"]
assert "added" in captionbias.__all__
assert added(predictions=["a dog"] * 4, attributes=["a", "b"] * 2)["share"] == 0.5
choices = {part["props"].get("label"): part["props"].get("choices") for part in page(Runs()).config["components"]}
assert ("hair", "hair") in map(tuple, choices["Attribute"]), choices
assert ("hats of heads", "hats") in map(tuple, choices["Task words"]), choices
assert prompt_for("hair") == "The hair looks"
"""


@pytest.mark.slow
def test_a_metric_is_its_file_and_one_line_and_a_lexicon_its_file(copied):
    package, run = copied
    (package / "metrics" / "added.py").write_text(ADDED, encoding="utf-8")
    listing = package / "metrics" / "__init__.py"
    after, text = "from captionbias.wings import wing\n", listing.read_text(encoding="utf-8")
    listing.write_text(text.replace(after, f"from captionbias.metrics.added import added as added\n{after}"))
    hair = {"prompt": "The hair looks", "groups": {"red": ["red-haired"], "grey": ["grey-haired"]}}
    hats = {"title": "hats of heads", "groups": {"hat": ["hat", "hats"], "cap": ["cap"]}}
    for name, lexicon in (("hair", hair), ("hats", hats)):
        (package / "text" / "lexicons" / f"{name}.json").write_text(json.dumps(lexicon))
    assert (found := run("-c", FOUND)).returncode == 0, found.stderr
    assert "added" in run("-m", "captionbias", "measure", "--help").stdout
    helped = " ".join(re.sub("[^\\w, ]", "", run("-m", "captionbias", "measure", "sway", "--help").stdout).split())
    assert "emotion, hair, race" in helped
    assert "hats, objects365" in helped
