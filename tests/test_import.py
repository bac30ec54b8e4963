"""`import captionbias` imports nothing but the standard library: what is heavy is imported by those who use it. The
core works without its wings."""

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
MODULES = [
    "captionbias",
    "captionbias.synthetic",
    "captionbias.metrics",
    "captionbias.cli.main",
    "captionbias.hub.commands",
    "scipy",
]
# In one process: what each import adds to the top-level modules that are not of the standard library.
CODE = """
import json, sys
from importlib import import_module
from pathlib import Path
def foreign():
    return {name.partition(".")[0] for name in list(sys.modules)} - set(sys.stdlib_module_names)
found, before = {}, foreign()
for module in sys.argv[1:]:
    import_module(module)
    found[module] = sorted(foreign() - before)
print(json.dumps(found))
"""


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


def test_the_front_door_imports_no_package_and_metrics_and_the_command_line_nothing_heavy(tmp_path):
    """In a fresh process."""
    imported = {name: set(found) for name, found in json.loads(python("-c", CODE, *MODULES, folder=tmp_path)).items()}
    assert imported["captionbias"] == {"captionbias"}
    for module in MODULES[:-1]:
        assert not imported[module] & HEAVY, module
    assert "scipy" in imported["scipy"]  # what is heavy would be seen


LATE = """
import sys
import captionbias.cli.main
assert "captionbias.metrics" not in sys.modules
from captionbias.metrics import sway
from captionbias.synthetic import plant
assert sway(**vars(plant(300)))
print(*{"scipy.special", "scipy.stats", "sklearn", "torch"} & sys.modules.keys())
"""


def test_help_waits_for_no_metric_and_sway_for_nothing_that_takes_a_second_to_import(tmp_path):
    assert python("-W", "ignore", "-c", LATE, folder=tmp_path).split() == ["scipy.special"]


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


def commands(run):
    """What --help lists."""
    return commands_in(run("-m", "captionbias", "--help").stdout)


def commands_in(listed):
    return set(re.findall(r"^│ (\S+)", listed, re.MULTILINE))


def test_the_core_works_without_its_wings(copied):
    """With their folders gone it measures, compares and reports; the command line has the other commands."""
    package, run = copied
    for wing in ("app", "images", "hub", "datasets", "studies"):
        shutil.rmtree(package / wing)
    assert (measured := run("-c", CORE)).returncode == 0, measured.stderr
    assert {"measure", "report"} <= commands(run)
    assert not {"app", "audit", "card", "data", "reproduce"} & commands(run)


def test_without_one_wing_all_of_the_others_commands_are_there(copied):
    package, run = copied
    every = commands(run)
    shutil.rmtree(package / "hub")
    assert commands(run) == every - {"card", "publish", "install-metrics"}


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


WITHOUT_EXTRAS = """
import sys
sys.modules.update(dict.fromkeys(sys.argv[1:]))  # as if they were not installed
from captionbias.cli.main import app
app(["--help"], prog_name="captionbias")
"""


def test_without_the_packages_of_extras_all_commands_are_listed(copied):
    _, run = copied
    missing = run("-c", WITHOUT_EXTRAS, *HEAVY - {"pandas", "pyarrow", "scipy", "sklearn"}, "PIL", "jinja2", "openai")
    assert commands_in(missing.stdout) == commands(run) != set()


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
from captionbias.metrics import catalogue
assert list(catalogue.METRICS)[-2:] == ["added", "imagecaptioner2"]
assert "added" in captionbias.__all__
assert added(predictions=["a dog"] * 4, attributes=["a", "b"] * 2)["share"] == 0.5
"""


def test_a_metric_is_its_file_and_one_line(copied):
    package, run = copied
    (package / "metrics" / "added.py").write_text(ADDED, encoding="utf-8")
    listing = package / "metrics" / "__init__.py"
    after, text = "from captionbias.wings import wing\n", listing.read_text(encoding="utf-8")
    listing.write_text(text.replace(after, f"from captionbias.metrics.added import added as added\n{after}"))
    assert (found := run("-c", FOUND)).returncode == 0, found.stderr
    assert "added" in run("-m", "captionbias", "measure", "--help").stdout


@pytest.mark.parametrize("first", ["captionbias.metrics.gender_error", "captionbias.images.imagecaptioner2"])
def test_tables_have_metrics_in_the_order_of_their_list_whatever_is_imported_first(first, tmp_path):
    listed = re.findall(r"^from captionbias.metrics\.(\w+)", Path(metrics.__file__).read_text(), re.MULTILINE)
    code = f"import {first}; from captionbias.metrics import catalogue; print(*catalogue.METRICS)"
    assert python("-c", code, folder=tmp_path).split() == [*listed, "imagecaptioner2"]


LISTED = """
from captionbias.app.page import page
from captionbias.app.runs import Runs
from captionbias.images.judges import prompt_for
choices = {part["props"].get("label"): part["props"].get("choices") for part in page(Runs()).config["components"]}
assert ("hair", "hair") in map(tuple, choices["Attribute"]), choices
assert ("hats of heads", "hats") in map(tuple, choices["Task words"]), choices
assert prompt_for("hair") == "The hair looks"
"""


def test_a_lexicon_in_its_folder_is_listed_by_page_and_help_and_has_its_prompt(copied):
    package, run = copied
    hair = {"prompt": "The hair looks", "groups": {"red": ["red-haired"], "grey": ["grey-haired"]}}
    hats = {"title": "hats of heads", "groups": {"hat": ["hat", "hats"], "cap": ["cap"]}}
    for name, lexicon in (("hair", hair), ("hats", hats)):
        (package / "text" / "lexicons" / f"{name}.json").write_text(json.dumps(lexicon))
    assert (listed := run("-c", LISTED)).returncode == 0, listed.stderr
    helped = " ".join(re.sub("[^\\w, ]", "", run("-m", "captionbias", "measure", "sway", "--help").stdout).split())
    assert "emotion, hair, race" in helped
    assert "hats, objects365" in helped
