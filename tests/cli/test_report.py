"""`captionbias report`: from files to one page, the same numbers as the library, and errors before the work."""

from __future__ import annotations

import html
import json
import re
import shlex
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from captionbias.analysis.audit import audit
from captionbias.cli import app
from captionbias.io.formats import json_text
from captionbias.report.markdown import markdown_report
from captionbias.synthetic import plant

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # few images, no WordNet

IMAGES = 120
QUICK = ["--trials", "2", "--bootstrap", "60", "--no-cache"]


def invoke(*arguments, status=0):
    result = CliRunner().invoke(app, ["report", *map(str, arguments)], env={"COLUMNS": "200"})
    assert result.exit_code == status, result.output
    return result.stdout if status == 0 else result.stderr


def data_of(page):
    """What the page holds of the audit."""
    start = page.index('id="audit-data">') + len('id="audit-data">')
    return json.loads(page[start : page.index("</script>", start)])


@pytest.fixture(scope="module")
def planted():
    return {"nic": plant(IMAGES, captions=2), "sat": plant(IMAGES, captions=2, a_to_t=0.9)}


@pytest.fixture(scope="module")
def folder(planted, tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    ids = list(range(IMAGES))
    for name, given in planted.items():
        pq.write_table(pa.table({"image_id": ids, "caption": given.predictions}), folder / f"{name}.parquet")
    given = planted["nic"]
    people = {"image_id": ids, "references": given.references, "gender": given.attributes, "tasks": given.tasks}
    pq.write_table(pa.table(people), folder / "people.parquet")
    return folder


@pytest.fixture
def files(folder):
    people = folder / "people.parquet"
    two = ["--predictions", folder / "nic.parquet", "--predictions", folder / "sat.parquet"]
    return [*two, "--references", people, "--tasks", people]


def audited(planted, **options):
    people = {name: column for name, column in vars(planted["nic"]).items() if name != "predictions"}
    captioners = {name: one.predictions for name, one in planted.items()}
    return audit(captioners, **people, trials=2, bootstrap=60, cache=False, **options)


def test_page_markdown_and_json_are_the_library_s_audit(files, planted, tmp_path):
    page, markdown, data = tmp_path / "all.html", tmp_path / "all.md", tmp_path / "all.json"
    title = ["--title", "Two <captioners>"]
    shown = invoke(*files, *QUICK, *title, "--output", page, "--markdown", markdown, "--json", data)
    expected = audited(planted)
    assert json.loads(data.read_text()) == data_of(page.read_text()) == json.loads(json_text(expected.as_dict()))
    text = markdown.read_text()
    assert text.startswith(markdown_report(expected).rpartition("\n</details>")[0].rstrip())
    assert "<title>Two &lt;captioners&gt;</title>" in page.read_text()
    assert 'id="in-plain-words"' in page.read_text()
    for path in (page, markdown, data):
        assert str(path) in shown


def test_chosen_metrics_alone_with_another_seed(files, planted, tmp_path):
    chosen = ["--metric", "lic", "--metric", "gender_error", "--seed", "3"]
    invoke(*files, *QUICK, *chosen, "--output", tmp_path / "lic.html")
    found = data_of((tmp_path / "lic.html").read_text())
    assert found == json.loads(json_text(audited(planted, metrics=["lic", "gender_error"], seed=3).as_dict()))
    assert list(found["comparisons"]) == ["lic", "gender_error"]
    assert [path.name for path in tmp_path.iterdir()] == ["lic.html"]


def test_the_command_in_the_page_measures_the_same_again(folder, tmp_path, monkeypatch):
    """The page is called report.html, in the folder that the command was given in."""
    given = ["--predictions", f"my nic={folder / 'nic.parquet'}", "--references", str(folder / "people.parquet")]
    given = ["captionbias", "report", *given, "--metric", "lic", *QUICK]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", given)
    assert "the report is in report.html" in invoke(*given[2:])
    page = tmp_path / "report.html"
    before = page.read_text()
    (shown,) = re.findall(r"captionbias report --predictions [^<]*", before.partition('id="audit-data"')[0])
    arguments = shlex.split(html.unescape(shown))
    assert arguments == given
    page.unlink()
    invoke(*arguments[2:])
    assert page.read_text() == before


@pytest.mark.parametrize("option", ["--output", "--markdown", "--json"])
def test_what_cannot_be_written_is_refused_before_any_file_is_read(option, tmp_path):
    gone = ["--predictions", tmp_path / "no.parquet"]
    others = ["--output", tmp_path / "report.html"] if option != "--output" else []
    error = invoke(*gone, *others, option, tmp_path / "no" / "file", status=2)
    assert f"error: {tmp_path / 'no' / 'file'} cannot be written" in error
    assert "no.parquet" not in error
    if others:
        error = invoke(*gone, *others, option, tmp_path / "b" / ".." / "report.html", status=2)
        assert f"--output and {option} name the same file" in error
    assert list(tmp_path.iterdir()) == []


def test_a_bad_file_is_one_line_that_names_it_and_leaves_no_report(files, tmp_path):
    bad = tmp_path / "bad.parquet"
    given = ["--predictions", files[1], "--predictions", bad, *files[4:], *QUICK, "--output", tmp_path / "report.html"]
    assert "bad.parquet" in one_error(given)
    bad.write_bytes(b"PAR1 and no more")
    assert "bad.parquet" in one_error(given)
    pq.write_table(pa.table({"image_id": [0, 1], "caption": ["a man", None]}), bad)
    assert re.search(r"predictions.*1", one_error(given))
    assert not (tmp_path / "report.html").exists()


def one_error(given):
    (line,) = [line for line in invoke(*given, status=2).splitlines() if line.startswith("error: ")]
    return line


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--metric", "cider"], "metrics must list one or more of dbac, lic"),
        (["--preset", "slow"], "preset 'slow' is unknown; choose one of fast, papers"),
        (["--attribute", "height"], "height"),
        (["--keep", "tall"], "tall"),
    ],
)
def test_what_cannot_be_measured_is_one_line(arguments, message, files, tmp_path):
    assert message in one_error([*files, *QUICK, *arguments, "--output", tmp_path / "report.html"])
    assert list(tmp_path.iterdir()) == []


def test_without_people_the_page_is_made_too(files, folder, planted, tmp_path):
    labels = tmp_path / "labels.parquet"
    pq.write_table(pa.table({"image_id": list(range(IMAGES)), "gender": planted["nic"].attributes}), labels)
    page = tmp_path / "report.html"
    invoke(*files[:2], "--attributes", labels, *QUICK, "--output", page)
    found = data_of(page.read_text())
    assert "lic_m" in found["comparisons"]["lic"]["results"]["nic"]
    assert 'id="in-plain-words"' not in page.read_text()  # nothing to judge


def test_help_names_every_option():
    shown = invoke("--help")
    options = ("--predictions", "--references", "--metric", "--preset", "--output", "--markdown", "--json", "--title")
    assert [option for option in options if option not in shown] == []
