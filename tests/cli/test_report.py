"""`captionbias report`: from files to one page, the same numbers as the library."""

import html
import json
import re
import shlex
import sys

from captionbias.analysis.audit import audit
from captionbias.captions import check_captioners
from captionbias.io.formats import json_text
from captionbias.report.markdown import markdown_report
from tests.cli.conftest import IMAGES, invoke
from tests.report.conftest import data_of

QUICK = ["--trials", "2", "--bootstrap", "20", "--no-cache"]


def test_page_markdown_and_json_are_the_library_s_audit(files, planted, tmp_path):
    page, markdown, data = (tmp_path / f"all.{ending}" for ending in ("html", "md", "json"))
    title = ["--title", "Two <captioners>"]
    shown = invoke("report", *files, *QUICK, *title, "--output", page, "--markdown", markdown, "--json", data)
    people = {name: column for name, column in vars(planted["nic"]).items() if name != "predictions"}
    captioners = {name: one.predictions for name, one in planted.items()}
    captioners = check_captioners(captioners, **people, image_ids=list(range(IMAGES)))
    expected = audit(captioners, trials=2, bootstrap=20, cache=False)
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
    invoke("report", *given[2:], "--output", "report.md")
    assert (tmp_path / "report.md").read_text().startswith("## "), "the ending is the format"
    page.unlink()
    monkeypatch.chdir(folder)
    invoke("report", *arguments[2:], "--output", page)
    assert page.read_text() == before
