"""Files for the tests of captions in."""

import csv
import json
import warnings

import pandas as pd
import pytest


@pytest.fixture
def prediction_records():
    return [
        {"image_id": 42, "caption": "a man\u2028on a\x85bike"},  # which end no line of JSON
        {"image_id": 7, "caption": 'a woman, her dog\nand a "cat"'},
        {"image_id": 9223372036854775807, "caption": "NA 7"},
    ]


@pytest.fixture
def people_records():
    return [
        {"image_id": 7, "references": ["a woman", "a lady, a dog"], "attribute": "female", "tasks": ["dog", "cat"]},
        {"image_id": 9223372036854775807, "references": ["null", "None"], "attribute": "NA", "tasks": []},
        {"image_id": 42, "references": ["a man rides"], "attribute": "male", "tasks": ["bicycle"]},
    ]


@pytest.fixture(scope="session")
def write():
    return _write


@pytest.fixture(scope="session")
def fault():
    """The message of the ValueError that a call raises."""
    return _fault


@pytest.fixture
def predictions(tmp_path, prediction_records):
    return _write(tmp_path / "predictions.json", prediction_records)


@pytest.fixture
def people(tmp_path, people_records):
    return _write(tmp_path / "people.parquet", people_records)


@pytest.fixture
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def _write(path, records):
    """Write records, or columns, in the format of the path's extension; lists become JSON in CSV."""
    if isinstance(records, dict):
        records = [dict(zip(records, row, strict=True)) for row in zip(*records.values(), strict=True)]
    if path.suffix in (".csv", ".tsv"):
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",")
            writer.writerow(records[0])
            for record in records:
                writer.writerow([json.dumps(v) if isinstance(v, list) else v for v in record.values()])
    elif path.suffix == ".json":
        path.write_text(json.dumps(records), encoding="utf-8")
    elif path.suffix == ".jsonl":
        path.write_text("\n\n".join(json.dumps(r, ensure_ascii=False) for r in records), encoding="utf-8")
    else:
        pd.DataFrame(records).to_parquet(path)
    return path


def _fault(function, *arguments, **named):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match=r".") as raised:
            function(*arguments, **named)
    return str(raised.value)
