"""What programs get from the page: the documented endpoints, each client its own results, refusals in plain words."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from gradio_client import Client, handle_file
from gradio_client.exceptions import AppError
from gradio_client.utils import Status

from captionbias.app import components
from captionbias.app.uploads import MAX_BYTES
from captionbias.synthetic import plant
from tests.patience import PATIENCE

ALONE = {"id": range(80), "caption": plant(80).predictions, "gender": plant(80).attributes}
LEFT_BEHIND = 30_000_000  # bytes that ten runs may add


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


def test_the_endpoints_are_those_that_the_page_tells_of(client):
    public = {name for endpoint in client.endpoints.values() if endpoint.is_valid for name in [endpoint.api_name]}
    assert public == set(re.findall(r"`(/\w+)`", components.PROGRAM + components.IMAGES_PROGRAM * components.JUDGES))


def test_the_documented_lines_run_as_they_are(served, files, monkeypatch, capsys, tmp_path):
    lines = components.code(served.url)
    assert served.url in lines
    monkeypatch.chdir(files["nic"].parent)
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path))
    variables: dict[str, Any] = {}
    exec(lines, variables)
    printed = capsys.readouterr().out
    assert "DBAC A to T, matched" in printed
    assert "report.html" in printed
    variables["client"].close()


def test_every_endpoint_answers_for_data_of_ones_own(client, files):
    guessed = read(client, files["people"], files["sat"], files["nic"])
    assert guessed == {
        "files": {
            **{"nic.csv": "a captioner's captions", "sat.csv": "a captioner's captions"},
            "people.csv": "people's captions",
        },
        "columns": {
            **{"id_column": "image_id", "prediction_column": ["caption"], "reference_column": "references"},
            **{"attribute_column": ["gender"], "task_column": "tasks", "keep": ["female", "male"]},
        },
        "labels": {"female": 120, "male": 120},
        "attributes": ["gender"],
    }
    found = look(client)
    assert (found["not_ready"], found["images"], found["captioners"]) == ("", 240, ["nic", "sat"])
    assert ["woman", "female"] in found["masked"]["attribute_lexicon"]
    assert ["cake", "cake"] in found["masked"]["task_lexicon"]
    found = measure(client, ("dbac", "lic"))
    assert (found["captioners"], found["images"], set(found["signatures"])) == (["nic", "sat"], 240, {"dbac", "lic"})
    values = {(name, score): value for name, score, value, *_ in found["scores"]["data"]}
    assert values["sat", "DBAC A to T, matched"] > values["nic", "DBAC A to T, matched"]
    sources = found["sources"]["sat"]["a_to_t"]
    assert sources["headers"][0] == "pair"
    assert sources["data"]
    assert found["words"]["sat"]["data"]
    paths = {Path(path).name: Path(path) for path in client.predict(api_name="/files")}
    assert set(paths) == {
        *("report.html", "report.md", "everything.json", "scores.csv", "differences.csv"),
        *("sources-a-to-t.csv", "sources-t-to-a.csv"),
    }
    assert json.loads(paths["everything.json"].read_text())["signatures"] == found["signatures"]
    assert "--predictions nic.csv" in paths["report.md"].read_text()


def test_columns_are_corrected_and_labels_left_out(client, write):
    planted = plant(120, captions=1)
    labels = ["other" if number < 12 else label for number, label in enumerate(planted.attributes)]
    columns = {"id": range(120), "caption": ["a dog is seen"] * 120, "said": planted.predictions}
    guessed = read(client, write("one.csv", {**columns, "gender": labels}))
    assert guessed["columns"]["prediction_column"] == ["caption"]
    corrected = client.predict("id", ["said"], None, ["gender"], None, ["female", "male"], api_name="/columns")
    assert corrected["columns"]["prediction_column"] == ["said"]
    found = look(client)
    assert found["images"] == 108
    assert {label for _, label in found["masked"]["attribute_lexicon"]} == {None, "female", "male"}
    assert measure(client)["images"] == 108
    with pytest.raises(AppError, match="prediction_column is '<b>', and the columns are"):
        client.predict("id", ["<b>"], None, ["gender"], None, [], api_name="/columns")


def test_files_are_corrected_and_each_change_can_be_undone(client, files):
    """What was measured before goes with the data, and what changes nothing leaves it."""
    first = read(client, files["nic"], files["sat"], files["people"])
    measure(client)
    chosen = (["nic.csv", "sat.csv"], "people.csv", None, None)
    assert client.predict(*chosen, api_name="/roles") == first
    assert client.predict(api_name="/results")["captioners"] == ["nic", "sat"]
    fewer = client.predict(["sat.csv"], "people.csv", "", "", api_name="/roles")
    assert fewer["files"]["nic.csv"] == "not used"
    with pytest.raises(AppError, match="nothing has been measured yet: call /measure first"):
        client.predict(api_name="/results")
    assert measure(client)["captioners"] == ["sat"]
    assert client.predict(api_name="/undo") == first
    with pytest.raises(AppError, match="nothing has been measured yet: call /measure first"):
        client.predict(api_name="/results")
    with pytest.raises(AppError, match="there is nothing to undo"):
        client.predict(api_name="/undo")


def test_labels_of_several_columns_are_crossed_and_measured_alone_as_well(client, write):
    """The cells are counted before, those too small left out, and what is downloaded measures the same again."""
    planted = plant(240, captions=2)
    skin = ["unsure" if row < 6 else ("light", "dark", "dark")[row % 3] for row in range(240)]
    told = [
        f"{'white' if tone == 'light' else 'black'} {text}"
        for tone, text in zip(skin, planted.predictions, strict=True)
    ]
    rows = {"id": range(240), "caption": told, "references": map(json.dumps, planted.references)}
    read(client, write("one.csv", {**rows, "person": planted.attributes, "skin": skin}))
    chosen = ("id", ["caption"], "references", ["person", "skin"], None, [])
    corrected = client.predict(*chosen, api_name="/columns")
    kept, words = corrected["columns"]["keep"], corrected["attributes"]
    assert sorted(kept) == ["female, dark", "female, light", "male, dark", "male, light"]
    assert words == ["gender", "race"]
    shown = client.predict(words, "", "coco_objects", "", api_name="/preview")
    cells = shown["intersections"]
    assert [cell[:2] for cell in cells] == [label.split(", ") for label in sorted(kept)]
    assert "too few to split" in str(shown["notes"])
    assert {label for _, label in shown["masked"]["attribute_lexicon"]} == {None, "female", "male", "light", "dark"}
    assert client.predict(words, "", "coco_objects", "", ["lic"], "fast", 2, 0, api_name="/measure") == "Done."
    found = client.predict(api_name="/results")
    alone = {row[2]: row[3] for row in found["alone"]["data"] if row[1] == "LIC x 100"}
    assert list(alone) == ["gender", "race", "gender x race"]
    (crossed,) = (value for _, score, value, *_ in found["scores"]["data"] if score == "LIC x 100")
    assert alone["gender x race"] == crossed
    paths = {Path(path).name: Path(path) for path in client.predict(api_name="/files")}
    everything = json.loads(paths["everything.json"].read_text())
    assert [[*label.split(", "), count] for label, count in everything["attribute_counts"].items()] == cells
    assert {"alone.csv", "intersections.csv"} < set(paths)
    assert "--attribute gender --attribute race" in paths["report.md"].read_text()


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
    assert any("human captions" in line or "people" in line for line in (*found["summary"], *found["notes"]))


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
        at_once = list(pool.map(results, [*files, *files]))
    alone = [results(name) for name in files]
    assert at_once == [*alone, *alone]
    assert alone[0]["scores"] != alone[1]["scores"]
    assert [found["captioners"] for found in alone] == [["even"], ["leaning"]]
    assert ["left out" in str(found["notes"]) for found in alone] == [False, True]


def begin(client: Client) -> Any:
    """A long run, which has begun."""
    run = client.submit("gender", "", "coco_objects", "", ["dbac", "lic"], "fast", 20, 7, api_name="/measure")
    wait_until(lambda: run.status().code == Status.PROGRESS)
    return run


def wait_until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_run_is_cancelled_by_its_own_client_alone(connect, files):
    first, second = connect(), connect()
    read(first, files["nic"], files["people"])
    run = begin(first)
    assert second.predict(api_name="/cancel") == "There is no run to cancel."
    assert first.predict(api_name="/cancel") == "Cancelled."
    with pytest.raises(AppError, match="cancelled"):
        run.result(timeout=PATIENCE)
    assert measure(first)["captioners"] == ["nic"]


def test_runs_work_one_at_a_time(connect, files):
    first, second = connect(), connect()
    for client in (first, second):
        read(client, files["nic"], files["people"])
    working = begin(first)
    waiting = second.submit("gender", "", "coco_objects", "", ["lic"], "fast", 2, 7, api_name="/measure")
    wait_until(lambda: waiting.status().code == Status.IN_QUEUE)
    assert not working.done()
    assert first.predict(api_name="/cancel") == "Cancelled."
    assert waiting.result(timeout=PATIENCE) == "Done."


def test_many_runs_at_once_all_end_and_ten_more_leave_no_memory_behind(served, connect, write):
    path = small(write, "one.csv", images=60)
    clients = [connect() for _ in range(6)]
    for client in clients:
        read(client, path)

    def run(seed: int) -> str:
        return measure(clients[seed], seed=seed)["signatures"]["lic"]

    with ThreadPoolExecutor(len(clients)) as pool:
        signatures = list(pool.map(run, range(len(clients))))
    assert [int(signature.split("|seed:")[1].split("|")[0]) for signature in signatures] == list(range(len(clients)))
    server = psutil.Process(served.process.pid)
    before = server.memory_info().rss
    for seed in range(10, 20):
        measure(clients[0], seed=seed)
    assert server.memory_info().rss - before < LEFT_BEHIND


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
    for path in (Path("/etc/passwd"), secret, Path(components.__file__), served.folder / "log"):
        assert path.is_file()
        answer = call(served, {"path": str(path), "meta": {"_type": "gradio.FileData"}})
        assert "event: error" in answer
        assert "event: complete" not in answer
        for spelled in (str(path), f"{served.folder}/GRADIO_TEMP_DIR/../..{path}", f"..%2f..%2f..{path}"):
            response = httpx.get(f"{served.url}gradio_api/file={spelled}")
            assert response.status_code in (403, 404), spelled


def test_a_file_over_the_limit_is_refused(client, tmp_path):
    path = tmp_path / "huge.csv"
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1_000_000)
    with pytest.raises((AppError, ValueError, httpx.HTTPStatusError), match=r"(?i)413|maximum|size"):
        read(client, path)
