"""Captions that are on another file system, in a folder that datasets reads, or on the Hub."""

import datasets
import fsspec
import pytest

from captionbias.captions import read_captioners, read_captions

IMAGES = {"image_id": [7, 9], "caption": ["a man", "a girl"], "gender": ["male", "female"]}
PEOPLE = {"image_id": [9, 7], "references": [["a girl"], ["a guy"]]}
EXPECTED = (("a man", "a girl"), ("male", "female"), (("a guy",), ("a girl",)))


@pytest.fixture(autouse=True)
def own_datasets_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


def seen(captions):
    return captions.predictions, captions.attributes, captions.references


def test_a_file_of_any_file_system_is_read_as_one_here_and_what_is_not_there_named_by_its_url(tmp_path, write, fault):
    memory = fsspec.filesystem("memory")
    for name, columns in {**dict.fromkeys(("nic.parquet", "nic.csv", "nic.json"), IMAGES), "of.jsonl": PEOPLE}.items():
        memory.put_file(write(tmp_path / name, columns), f"/captions/{name}")
    memory.put_file(tmp_path / "nic.csv", "/captions/nic.doc")
    people = "memory://captions/of.jsonl"
    for ending in ("parquet", "csv", "json"):
        nic = f"memory://captions/nic.{ending}"
        captions = read_captions(predictions=nic, references=people, attributes=nic, attribute="gender")
        assert seen(captions) == EXPECTED
    for message in (
        "memory://captions/gone.csv does not exist: check the path",
        "memory://captions/nic.doc has the unknown extension '.doc'",
        "nowhere://a/nic.csv cannot be opened (Protocol not known: nowhere)",
        "reference://x cannot be opened (ReferenceFileSystem",
    ):
        assert fault(read_captions, predictions=message.split()[0]).startswith(message)
    memory.rm("/captions", recursive=True)


def test_a_built_folder_is_read_by_configuration_and_split_which_are_asked_for(tmp_path, write, fault):
    """As `data build` writes one: two configurations, of which one has a split."""
    configurations = ""
    for name, rows in (("gender", IMAGES), ("people", PEOPLE)):
        (tmp_path / name).mkdir()
        write(tmp_path / name / "validation-00000-of-00001.parquet", rows)
        files = f"  data_files:\n  - split: validation\n    path: {name}/validation-*\n"
        configurations += f"- config_name: {name}\n{files}"
    (tmp_path / "README.md").write_text(f"---\nconfigs:\n{configurations}---\n")
    gender, people = f"{tmp_path}:gender:validation", f"{tmp_path}:people"
    assert seen(read_captions(predictions=gender, references=people, attribute="gender")) == EXPECTED
    assert "gender" in fault(read_captions, predictions=tmp_path)
    assert "has the splits validation: name one" in fault(read_captions, predictions=f"{tmp_path}:gender:train")


def test_a_folder_of_one_configuration_needs_no_more_than_its_path(tmp_path):
    datasets.Dataset.from_dict(IMAGES | {"references": [["a guy"], ["a girl"]]}).save_to_disk(tmp_path / "saved")
    assert seen(read_captions(tmp_path / "saved", attribute="gender")) == EXPECTED
    both = {"nic": str(tmp_path / "saved"), "sat": str(tmp_path / "saved")}
    assert list(read_captioners(both, attribute="gender", reference_column="")) == ["nic", "sat"]


def test_a_dataset_of_the_hub_is_asked_for_by_its_name(monkeypatch):
    asked = []
    test = datasets.DatasetDict({"test": datasets.Dataset.from_dict(IMAGES)})
    monkeypatch.setattr(datasets, "load_dataset", lambda *names: asked.append(names) or test)
    assert read_captions("someone/captions:gender:test", attribute="gender").predictions == ("a man", "a girl")
    assert asked == [("someone/captions", "gender")]
