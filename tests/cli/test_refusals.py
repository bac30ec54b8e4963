"""What cannot be done is one line and status 2, before the work, and leaves the files that are there as they were."""

import shlex
import shutil
import socket
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import IMAGES, ran, refused

SIDES = "--predictions nic.parquet --references people.parquet"
BOTH = "--predictions nic.parquet --predictions sat.parquet --references people.parquet"
CROSSED = f"{SIDES} --attribute gender --attribute skin"
AGES = "--predictions nic.parquet --attributes ages.csv --attribute age"


@pytest.fixture(scope="module")
def inputs(folder, tmp_path_factory):
    """The planted captioners, with light, dark and a few tan skins, and tables of labels that are no values."""
    inputs = tmp_path_factory.mktemp("inputs") / "files"
    shutil.copytree(folder, inputs)
    people = pq.read_table(inputs / "people.parquet")
    skin = [["light", "dark", "tan"][n] for n in np.random.default_rng(0).choice(3, IMAGES, p=[0.4, 0.5, 0.1])]
    pq.write_table(people.append_column("skin", [skin]), inputs / "people.parquet")
    for name, column, labels in (
        ("numbers.csv", "gender", ["0", "1", "0"]),
        ("words.csv", "gender", ["female", "man", "non-binary"]),
        ("ages.csv", "age", ["big", "small"]),
    ):
        rows = [f"{image},{labels[image % len(labels)]}" for image in range(IMAGES)]
        (inputs / name).write_text("\n".join([f"image_id,{column}", *rows]))
    return inputs


@pytest.fixture
def here(inputs, tmp_path, monkeypatch):
    """A folder with these files, and an earlier result."""
    shutil.copytree(inputs, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    Path("result.json").write_text("earlier")
    return tmp_path / "here"


def state(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


ENDINGS = "must end in .json, .csv, .md; --json prints to standard output"
NO_INTERVAL = "there is no interval to judge by"
REFUSED = [
    ("measure lic --predictions gone.parquet", "gone.parquet does not exist"),
    (f"measure lic {SIDES} --preset fast --encoder gru", "encoder 'gru' is unknown; choose one of bow, linear, lstm"),
    (f"measure lic {SIDES} --attribute height", "'height'"),
    (f"measure lic {SIDES} --keep women", "keep names 'women', which is not a label in 'gender' of people.parquet: it"),
    (f"measure dbac {SIDES} --preset fast --vectors gone.txt", "gone.txt"),
    ("measure lic", "predictions and references are both missing"),
    ("measure lic --predictions =p.parquet", "--predictions =p.parquet has no name before the =; "),
    (
        f"measure lic {SIDES} --attributes gender",
        "--attributes names a file of labels; to name the attribute, use --attribute",
    ),
    (f"measure lic {SIDES} --preset fast --seeds 12,x", "--seeds must be a whole number of 0 or more, not 'x'"),
    (f"measure lic {SIDES} --preset fast --seeds 12,0 --trials 2", "--seeds: each is a trial; leave out --trials"),
    (f"measure all {AGES}", "'big', 'small' are not labels of --attribute 'age'"),
    *(
        (f"{command} {SIDES} --attributes {table}", told)
        for command in ("measure all", "report --output report.html")
        for table, told in (
            ("numbers.csv", "as in --label 0=... --label 1=... where they are read"),
            ("words.csv", "40 of 120 images have it: leave these out, with --keep female --keep man"),
        )
    ),
    (f"measure lic {CROSSED}", "attributes: 'female, tan', 'male, tan' are not labels of --attribute 'gender+ra"),
    (f"measure gender_error {CROSSED}", "--attribute 'gender+race' has 8 labels"),
    (f"measure lic {SIDES} --attribute gender --attribute gender", "--attribute-column: two attributes are both 'gend"),
    (f"measure lic {CROSSED} --attribute-column sex", "--attribute-column names 1 columns for 2"),
    *(
        (f"{command} {BOTH} --output {name}", f"--output {name} {ENDINGS}")
        for command in ("measure lic", "measure all", "compare")
        for name in ("result.html", "result", "result.jsonl")
    ),
    (f"compare {BOTH} --metric cider", "metric 'cider' is unknown; choose one of sway, dbac, lic"),
    (f"compare {BOTH} --metric lic --direction a_to_t", "--direction is for DBAC"),
    (f"report {BOTH} --output r.txt", "r.txt does not end in .html or .htm or .md: name a file that does"),
    *(
        (f"report --predictions no.parquet --output r.html {option} {file}", told)
        for option in ("--markdown", "--json")
        for file, told in (
            ("no/file", "no/file cannot be written"),
            ("../here/r.html", f"--output and {option} name the same file"),
        )
    ),
    (f"gate {SIDES}", "nothing is asked: give --at-most, as in --at-most sway_t_to_a=1, or --portrait"),
    (f"gate {SIDES} --at-most sway_t_a=1", "--at-most sway_t_a: no metric of captions has that score; there are sway_"),
    (f"gate {SIDES} --at-most sway_t_to_a", "--at-most sway_t_to_a: give a score and a number, as in sway_t_to_a=1"),
    (f"gate {SIDES} --at-most sway_t_to_a=nan", "--at-most sway_t_to_a=nan: give a score and a number"),
    (f"gate {SIDES} --at-most sway_t_to_a=1 --bootstrap 0", f"--at-most sway_t_to_a: {NO_INTERVAL}"),
    (f"gate {SIDES} --portrait --bootstrap 0", f"--portrait: {NO_INTERVAL}"),
    (
        f"gate {SIDES} --at-most sway_t_to_a_detectable=1",
        '--at-most sway_t_to_a_detectable is in details["scores"], with details=True: give the score itself, sway_',
    ),
]


@pytest.mark.parametrize(("command", "message"), REFUSED)
def test_what_cannot_be_done_is_one_line_and_leaves_every_file_as_it_was(command, message, here):
    before = state(here)
    output = ["--output", "result.json"] if command.startswith("measure") and "--output" not in command else []
    assert message in refused(*shlex.split(command), *output)
    assert state(here) == before


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("report", ["--output"]),
        ("report", ["--output", "r.html", "--json"]),
        ("compare", ["--output"]),
        ("measure lic", ["--output"]),
    ],
)
def test_no_command_overwrites_what_it_reads(command, output, here):
    Path("link.parquet").symlink_to("people.parquet")
    Path("hard.parquet").hardlink_to("people.parquet")
    before = state(here)
    for other in ("link.parquet", "hard.parquet", Path("..", here.name, "people.parquet")):
        error = refused(*command.split(), *shlex.split(SIDES if "measure" in command else BOTH), *output, other)
        assert error == f"{output[-1]} would overwrite people.parquet, which is an input; name another file"
        assert state(here) == before


def test_a_command_that_is_gone_says_what_to_do_instead():
    _, complaint = ran("power", "--references", "people.parquet", status=2)
    assert "power was removed: captionbias gate --references people.parquet prints how many images" in complaint


def test_a_port_of_the_page_that_is_taken_is_a_plain_error():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        _, complaint = ran("app", "--no-open", "--port", port, status=2)
    assert f"error: Cannot find empty port in range: {port}-{port}" in complaint
    assert "Traceback" not in complaint
