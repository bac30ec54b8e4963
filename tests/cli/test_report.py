"""`captionbias report`: from files to one page, the same numbers as the library, and errors before the work."""

import html
import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from captionbias.analysis.audit import audit
from captionbias.captions import check_captioners
from captionbias.io.formats import json_text
from captionbias.report.markdown import markdown_report
from tests.cli.conftest import IMAGES, invoke, refused
from tests.report.conftest import data_of

QUICK = ["--trials", "2", "--bootstrap", "60", "--no-cache"]


def test_page_markdown_and_json_are_the_library_s_audit(files, planted, tmp_path):
    page, markdown, data = tmp_path / "all.html", tmp_path / "all.md", tmp_path / "all.json"
    title = ["--title", "Two <captioners>"]
    shown = invoke("report", *files, *QUICK, *title, "--output", page, "--markdown", markdown, "--json", data)
    people = {name: column for name, column in vars(planted["nic"]).items() if name != "predictions"}
    captioners = {name: one.predictions for name, one in planted.items()}
    captioners = check_captioners(captioners, **people, image_ids=list(range(IMAGES)))
    expected = audit(captioners, trials=2, bootstrap=60, cache=False)
    written = json.loads(data.read_text())
    assert written == data_of(page.read_text())
    of_lists = json.loads(json_text(expected.as_dict()))
    assert written == of_lists | {"image_set": written["image_set"]}  # lists have no ids
    text = markdown.read_text()
    assert text.startswith(markdown_report(expected, data="people.parquet").rpartition("\n</details>")[0].rstrip())
    assert "<title>Two &lt;captioners&gt;</title>" in page.read_text()
    assert 'id="answer"' in page.read_text()
    for path in (page, markdown, data):
        assert str(path) in shown


def test_the_command_in_the_page_measures_the_same_again(folder, tmp_path, monkeypatch):
    """It names files without the folders of this machine."""
    given = ["--predictions", f"my nic={folder / 'nic.parquet'}", "--references", str(folder / "people.parquet")]
    given = ["captionbias", "report", *given, "--metric", "lic", "--seed", "3", *QUICK]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", given)
    assert "the report is in report.html" in invoke("report", *given[2:])
    page = tmp_path / "report.html"
    before = page.read_text()
    assert data_of(before)["settings"]["seed"] == 3
    (shown,) = re.findall(r"captionbias report --predictions [^<]*", before.partition('id="audit-data"')[0])
    arguments = shlex.split(html.unescape(shown))
    assert arguments == [word.replace(f"{folder}/", "") for word in given]
    page.unlink()
    monkeypatch.chdir(folder)
    invoke("report", *arguments[2:], "--output", page)
    assert page.read_text() == before


def test_a_report_is_written_in_the_format_of_its_ending(files, tmp_path):
    invoke("report", *files, *QUICK, "--metric", "lic", "--output", tmp_path / "r.md")
    assert (tmp_path / "r.md").read_text().startswith("## ")
    error = refused("report", *files, "--output", tmp_path / "r.txt")
    assert error == f"{tmp_path / 'r.txt'} does not end in .html or .htm or .md: name a file that does"


@pytest.mark.parametrize("option", ["--markdown", "--json"])
def test_what_cannot_be_written_is_refused_before_any_file_is_read(option, tmp_path):
    files = ["--predictions", tmp_path / "no.parquet", "--output", tmp_path / "report.html"]
    error = refused("report", *files, option, tmp_path / "no" / "file")
    assert error.startswith(f"{tmp_path / 'no' / 'file'} cannot be written")
    error = refused("report", *files, option, tmp_path / "b" / ".." / "report.html")
    assert f"--output and {option} name the same file" in error
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("report", ["--output"]),
        ("report", ["--output", "r.html", "--json"]),
        ("compare", ["--output"]),
        ("measure lic", ["--output"]),
    ],
)
@pytest.mark.parametrize("other_path", ["a link", "a hard link", "another spelling"])
def test_no_command_overwrites_what_it_reads(command, output, other_path, files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people = tmp_path / "people.parquet"
    people.write_bytes(files[-1].read_bytes())
    before = people.read_bytes()
    if other_path == "another spelling":
        named = Path("..", tmp_path.name, "people.parquet")
    else:
        named = tmp_path / "link.parquet"
        (named.symlink_to if other_path == "a link" else named.hardlink_to)(people)
    captioners = files[: 2 if command == "measure lic" else 4]
    error = refused(*command.split(), *captioners, "--references", people, *output, named)
    assert error == f"{output[-1]} would overwrite {people}, which is an input; name another file"
    assert people.read_bytes() == before
    assert not (tmp_path / "r.html").exists()
