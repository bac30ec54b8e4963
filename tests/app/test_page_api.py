"""What programs get from the page: the documented endpoints, each client its own results, refusals in plain words."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from gradio_client import Client, handle_file
from gradio_client.exceptions import AppError

from captionbias.app import pieces
from captionbias.app.uploads import image_wing
from captionbias.synthetic import plant
from tests.patience import PATIENCE

ALONE = {"id": range(80), "caption": plant(80).predictions, "gender": plant(80).attributes}


@pytest.fixture
def connect(served: Any, tmp_path: Path) -> Callable[[], Client]:
    """Makes another client, whose data and results are its own."""
    return lambda: Client(
        served.url, verbose=False, download_files=tmp_path / "downloads", httpx_kwargs={"timeout": PATIENCE}
    )


@pytest.fixture
def client(connect: Callable[[], Client]) -> Client:
    return connect()


def read(client: Client, *paths: Path) -> Any:
    return client.predict([handle_file(path) for path in paths], api_name="/read")


def look(client: Client) -> Any:
    return client.predict("gender", "", "coco_objects", "", api_name="/preview")


def measure(client: Client, metrics: tuple[str, ...] = ("lic",), seed: int = 0) -> dict[str, Any]:
    settings = ("gender", "", "coco_objects", "", list(metrics), "fast", 2, seed)
    assert client.predict(*settings, api_name="/measure") == "Done."
    found: dict[str, Any] = client.predict(api_name="/results")
    return found


def small(write: Callable[..., Path], name: str, images: int = 80, only_people: bool = False, **dials: float) -> Path:
    """One file with everything, or without a captioner."""
    planted = plant(images, captions=1, **dials)
    texts = [texts[0] for texts in planted.references]
    captioner = {} if only_people else {"caption": planted.predictions}
    return write(name, {"id": range(images), **captioner, "reference": texts, "gender": planted.attributes})


# What is documented


ENDPOINTS = {"/read", "/example", "/roles", "/columns", "/preview", "/measure", "/cancel", "/results", "/files"}


def test_every_endpoint_has_a_name_and_says_what_it_does(client):
    public = {endpoint.api_name for endpoint in client.endpoints.values() if endpoint.is_valid}
    assert public == ENDPOINTS | ({"/images", "/measure_images"} if image_wing() else set())
    assert all(client.view_api(return_format="dict")["named_endpoints"][name]["description"] for name in public)


def test_every_endpoint_answers_for_data_of_ones_own(client, files):
    guessed = read(client, files["people"], files["sat"], files["nic"])
    assert guessed == {
        "files": {
            **{"nic.csv": "a captioner's captions", "sat.csv": "a captioner's captions"},
            "people.csv": "people's captions",
        },
        "columns": {
            **{"id_column": "image_id", "prediction_column": ["caption"], "reference_column": "references"},
            **{"attribute_column": "gender", "task_column": "tasks", "weight_column": "", "keep": ["female", "male"]},
            "language": "en",
        },
        "labels": {"female": 120, "male": 120},
        "attribute": "gender",
    }
    found = look(client)
    assert (found["not_ready"], found["images"], found["captioners"]) == ("", 240, ["nic", "sat"])
    assert ["woman", "female"] in found["masked"]["attribute_lexicon"]
    assert ["cake", "cake"] in found["masked"]["task_lexicon"]
    found = measure(client, ("dbac", "lic"))
    assert (found["captioners"], found["images"], set(found["signatures"])) == (["nic", "sat"], 240, {"dbac", "lic"})
    scores = found["scores"]
    assert scores["sat"]["dbac_a_to_t_matched"] > scores["nic"]["dbac_a_to_t_matched"]
    assert found["verdicts"]["sat"].keys() <= scores["sat"].keys()
    paths = {Path(path).name: Path(path) for path in client.predict(api_name="/files")}
    assert set(paths) == {"report.html", "report.md", "everything.json", "scores.csv", "differences.csv"}
    assert json.loads(paths["everything.json"].read_text())["signatures"] == found["signatures"]
    assert "--predictions nic.csv" in paths["report.md"].read_text()


def test_results_before_a_run_are_told_plainly_and_captioners_alone_have_no_verdict(client, files, write):
    with pytest.raises(AppError, match="call /measure first"):
        client.predict(api_name="/results")
    with pytest.raises(AppError, match="nothing has been measured yet"):
        client.predict(api_name="/files")
    with pytest.raises(AppError, match="upload files, or take the example data"):
        measure(client)
    assert client.predict(api_name="/cancel") == "There is no run to cancel."
    read(client, write("alone.csv", ALONE))
    found = measure(client)
    assert not found["verdicts"]["alone"]
    assert found["scores"]["alone"]


# Several clients


def test_each_client_gets_its_own_results_and_notes(connect, write):
    biased = plant(90, captions=1, a_to_t=0.9)  # of fewer images than there are human captions: a warning
    leaning = write("leaning.csv", {"id": range(90), "caption": biased.predictions})
    people = small(write, "people.csv", only_people=True)
    files = {"even": [small(write, "even.csv", images=100)], "leaning": [leaning, people]}

    def results(name: str) -> dict[str, Any]:
        client = connect()
        read(client, *files[name])
        return measure(client)

    with ThreadPoolExecutor(4) as pool:
        at_once = list(pool.map(results, files))
    alone = [results(name) for name in files]
    assert at_once == alone
    assert alone[0]["scores"] != alone[1]["scores"]
    assert [found["captioners"] for found in alone] == [["even"], ["leaning"]]
    assert ["left out" in str(found["notes"]) for found in alone] == [False, True]


# What is refused


def call(served: Any, file: dict[str, Any]) -> str:
    """What the page answers to a file as a program may describe it: of the client's own it takes less."""
    data = {"data": [[file]]}
    begun = httpx.post(f"{served.url}gradio_api/call/read", json=data, timeout=PATIENCE)
    if begun.status_code != 200:
        return begun.text
    return httpx.get(f"{served.url}gradio_api/call/read/{begun.json()['event_id']}", timeout=PATIENCE).text


def test_files_of_the_machine_are_neither_read_nor_served(served):
    secret = served.folder / "secret.csv"
    secret.write_text("image_id,caption\n1,secret\n")
    for path in (Path("/etc/passwd"), secret, Path(pieces.__file__), served.folder / "log"):
        assert path.is_file()
        answer = call(served, {"path": str(path), "meta": {"_type": "gradio.FileData"}})
        assert "event: error" in answer
        assert "event: complete" not in answer
        for spelled in (str(path), f"{served.folder}/GRADIO_TEMP_DIR/../..{path}", f"..%2f..%2f..{path}"):
            response = httpx.get(f"{served.url}gradio_api/file={spelled}")
            assert response.status_code in (403, 404), spelled
