"""Options in a file: what was saved is what is done again, and the command line has the last word."""

from __future__ import annotations

import json
import sys

import pytest

from captionbias.cli.settings import _toml
from tests.cli.conftest import invoke, ran, refused

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # 120 images are few


@pytest.fixture
def sides(folder):
    return ["--predictions", folder / "nic.parquet", "--references", folder / "people.parquet"]


QUICK = ["--preset", "fast", "--trials", "2", "--bootstrap", "0"]


def test_saved_options_do_the_same_again(sides, tmp_path):
    saved, output = tmp_path / "lic.toml", tmp_path / "result.json"
    shown = invoke("measure", "lic", *sides, *QUICK, "--unseen-only", "--no-cache", "--save-config", saved)
    assert tomllib.loads(saved.read_text()) == {
        "predictions": [str(sides[1])],
        "references": str(sides[3]),
        "preset": "fast",
        "trials": 2,
        "bootstrap": 0,
        "unseen-only": True,
        "cache": False,
    }
    again = invoke("measure", "lic", "--config", saved, "--output", output)
    signature = json.loads(output.read_text())["scores"]["signature"]
    assert f"signature {signature}" in shown
    assert f"signature {signature}" in again


def test_options_of_the_command_line_win(sides, tmp_path):
    (tmp_path / "c.toml").write_text('trials = 3\npreset = "fast"\nattribute = "gender"\nbootstrap = 0\n')
    shown = invoke("measure", "lic", *sides, "--config", tmp_path / "c.toml", "--trials", "2")
    assert "|trials:2|" in shown
    assert "|trials:3|" in invoke("measure", "lic", *sides, "--config", tmp_path / "c.toml")


def test_required_options_arguments_and_lists_may_be_in_the_file(folder, tmp_path):
    files = [str(folder / name) for name in ("nic.parquet", "sat.parquet")]
    lines = [f"predictions = {json.dumps(files)}", f"references = {json.dumps(str(folder / 'people.parquet'))}"]
    (tmp_path / "c.toml").write_text("\n".join([*lines, 'metric = "gender_error"', "bootstrap = 0"]))
    shown, notes = ran("compare", "--config", tmp_path / "c.toml", "--save-config", tmp_path / "saved.toml")
    assert "nic - sat" in shown
    assert "2 left: nic" in notes
    loaded = [tomllib.loads((tmp_path / name).read_text()) for name in ("c.toml", "saved.toml")]
    assert loaded[0] == loaded[1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("trails = 3\npresets = 'fast'", "has trails, presets, which lic does not take; choose from "),
        ("trials = ", "is not TOML ("),
        ("trials = [1, 2]", "trials must be one value, not [1, 2]"),
    ],
)
def test_what_is_no_option_is_named(text, message, sides, tmp_path):
    (tmp_path / "c.toml").write_text(text)
    error = refused("measure", "lic", *sides, "--config", tmp_path / "c.toml")
    assert error.startswith(f"--config {tmp_path / 'c.toml'}")
    assert message in error


def test_a_file_is_not_written_over_the_one_that_is_read(sides, tmp_path):
    (tmp_path / "c.toml").write_text("trials = 2\n")
    both = ["--config", tmp_path / "c.toml", "--save-config", tmp_path / "c.toml"]
    assert "--save-config would overwrite" in refused("measure", "lic", *sides, *both)
    assert (tmp_path / "c.toml").read_text() == "trials = 2\n"


@pytest.mark.parametrize("value", ['a "quoted"\\ path', "tab\tand\nline\x7f", "ü 字", ["a", "b"], True, 3, 0.25, 1e-7])
def test_what_is_written_is_read_again(value):
    assert tomllib.loads(f"value = {_toml(value)}")["value"] == value
