"""Captions that are on another file system, in a folder that datasets reads, or on the Hub."""

import datasets
import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from captionbias.captions import read_captioners, read_captions

IMAGES = {"image_id": [7, 9], "caption": ["a man", "a girl"], "gender": ["male", "female"]}
PEOPLE = {"image_id": [9, 7], "references": [["a girl"], ["a guy"]]}
EXPECTED = (("a man", "a girl"), ("male", "female"), (("a guy",), ("a girl",)))


@pytest.fixture(autouse=True)
def own_datasets_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


@pytest.fixture
def put(tmp_path, write):
    """Writes columns to a file of fsspec's file system in memory, and gives its address."""
    memory = fsspec.filesystem("memory")

    def put(name, columns):
        memory.put_file(write(tmp_path / name, columns), f"/captions/{name}")
        return f"memory://captions/{name}"

    yield put
    memory.rm("/captions", recursive=True)


def seen(captions):
    return captions.predictions, captions.attributes, captions.references


@pytest.mark.parametrize("ending", ["parquet", "csv", "json", "jsonl"])
def test_a_file_of_any_file_system_is_read_as_one_here(ending, put):
    predictions, people = put(f"nic.{ending}", IMAGES), put("people.parquet", PEOPLE)
    captions = read_captions(predictions=predictions, references=people, attributes=predictions, attribute="gender")
    assert seen(captions) == EXPECTED


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("memory://captions/gone.csv", "memory://captions/gone.csv does not exist: check the path"),
        ("memory://captions/nic.doc", "memory://captions/nic.doc has the unknown extension '.doc'"),
        ("nowhere://a/nic.csv", "nowhere://a/nic.csv cannot be opened (Protocol not known: nowhere)"),
    ],
)
def test_what_is_not_there_is_named_by_its_url(place, message, put, fault):
    put("nic.doc", IMAGES)
    assert fault(read_captions, predictions=place).startswith(message)


@pytest.fixture
def folder(tmp_path):
    """As `data build` writes one: two configurations, of which one has a split."""
    folder = tmp_path / "built"
    for name, rows in (("gender", IMAGES), ("people", PEOPLE)):
        (folder / name).mkdir(parents=True)
        pq.write_table(pa.table(rows), folder / name / "validation-00000-of-00001.parquet")
    configurations = "".join(
        f"- config_name: {name}\n  data_files:\n  - split: validation\n    path: {name}/validation-*\n"
        for name in ("gender", "people")
    )
    (folder / "README.md").write_text(f"---\nconfigs:\n{configurations}---\n")
    return folder


def test_a_built_folder_is_read_by_configuration_and_split_which_are_asked_for(folder, fault):
    captions = read_captions(
        predictions=f"{folder}:gender:validation", references=f"{folder}:people", attribute="gender"
    )
    assert seen(captions) == EXPECTED
    assert "gender" in fault(read_captions, predictions=folder)
    assert "has the splits validation: name one" in fault(read_captions, predictions=f"{folder}:gender:train")


def test_a_folder_of_one_configuration_needs_no_more_than_its_path(tmp_path):
    datasets.Dataset.from_dict(IMAGES | {"references": [["a guy"], ["a girl"]]}).save_to_disk(tmp_path / "saved")
    assert seen(read_captions(tmp_path / "saved", attribute="gender")) == EXPECTED
    both = {"nic": str(tmp_path / "saved"), "sat": str(tmp_path / "saved")}
    assert list(read_captioners(both, attribute="gender", reference_column="")) == ["nic", "sat"]


def test_a_dataset_of_the_hub_is_asked_for_by_its_name(monkeypatch):
    asked = []

    def load(name, configuration):
        asked.append((name, configuration))
        return datasets.DatasetDict({"test": datasets.Dataset.from_dict(IMAGES)})

    monkeypatch.setattr(datasets, "load_dataset", load)
    captions = read_captions("someone/captions:gender:test", attribute="gender")
    assert captions.predictions == ("a man", "a girl")
    assert asked == [("someone/captions", "gender")]
