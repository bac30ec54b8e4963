"""The command in this process, and the files of two planted captioners."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click import unstyle
from typer.testing import CliRunner

from captionbias.cli.main import app
from captionbias.synthetic import plant

IMAGES = 120


def ran(*arguments, status=0, columns="200"):
    """The command's standard output and standard error."""
    result = CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": columns})
    assert result.exit_code == status, result.output
    return unstyle(result.stdout), unstyle(result.stderr)


def invoke(*arguments):
    return ran(*arguments)[0]


def refused(*arguments):
    """The one line of an error; what ends without a result must end with status 2 and no traceback."""
    shown, complaint = ran(*arguments, status=2)
    *notes, error = complaint.splitlines()
    assert all(note.startswith("note: ") for note in notes)
    assert error.startswith("error: ")
    assert shown == ""
    return error.removeprefix("error: ")


def write_sides(folder, planted, first=0, **columns):
    """Files of a captioner and of people, with ids from `first` on; the options that name them."""
    ids = range(first, first + len(planted.predictions))
    pq.write_table(pa.table({"image_id": ids, "caption": planted.predictions}), folder / "nic.parquet")
    people = {"image_id": ids, "references": planted.references, "gender": planted.attributes}
    pq.write_table(pa.table(people | columns), folder / "people.parquet")
    return ["--predictions", folder / "nic.parquet", "--references", folder / "people.parquet"]


@pytest.fixture(scope="session")
def planted():
    return {"nic": plant(IMAGES, captions=2), "sat": plant(IMAGES, captions=2, a_to_t=0.9)}


@pytest.fixture(scope="session")
def folder(planted, tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    write_sides(folder, planted["nic"], tasks=planted["nic"].tasks)
    sat = {"image_id": range(IMAGES), "caption": planted["sat"].predictions}
    pq.write_table(pa.table(sat), folder / "sat.parquet")
    return folder


@pytest.fixture
def files(folder):
    people = folder / "people.parquet"
    two = ["--predictions", folder / "nic.parquet", "--predictions", folder / "sat.parquet"]
    return [*two, "--references", people, "--tasks", people]
