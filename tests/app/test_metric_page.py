"""The page of a metric, as its Space serves it: scores of what is given to it, plain words for what it cannot take."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import httpx
import pytest
from gradio_client import Client, handle_file
from gradio_client.exceptions import AppError

import captionbias
from captionbias import metrics
from captionbias.app import metric_page
from captionbias.app.upload_state import Columns, Data
from captionbias.app.wiring import QUEUE
from captionbias.captions.tables import table_from_memory
from captionbias.metrics.catalogue import METRICS
from captionbias.synthetic import plant
from tests.app.conftest import write_csv
from tests.patience import PATIENCE

FOLDER = Path(__file__).parents[2] / "metrics"
NAMES = sorted(METRICS)
SERVED = ("directional_ba", "lic")
SERVER = """
import runpy, sys
from captionbias.app import example
from captionbias.app.page import launch_options
example.IMAGES = 400
for app in sys.argv[1:]:
    demo = runpy.run_path(app)["demo"]
    _, url, _ = demo.launch(**launch_options(), prevent_thread_lock=True, quiet=True)
    print(url, flush=True)
sys.stdin.read()
"""
PLANTED = plant(240, a_to_t=0.5)
COLUMNS = ("image_id", "prediction_columns", "reference_column", "attribute_column", "task_column", "keep")


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Client]]:
    """Clients of the pages of a metric of labels and of one of captions, served from a process of their own."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(captionbias.__file__).parents[1]),
        "GRADIO_TEMP_DIR": str(tmp_path_factory.mktemp("uploads")),
    }
    command = [sys.executable, "-c", SERVER, *(str(FOLDER / name / "app.py") for name in SERVED)]
    with Popen(command, env=environment, stdin=PIPE, stdout=PIPE, text=True) as server:
        try:
            urls = [server.stdout.readline().strip() for _ in SERVED]
            downloads = tmp_path_factory.mktemp("downloads")
            yield {
                name: Client(url, verbose=False, download_files=downloads, httpx_kwargs={"timeout": PATIENCE})
                for name, url in zip(SERVED, urls, strict=True)
            }
        finally:
            server.kill()


@pytest.fixture
def nic(tmp_path: Path) -> Path:
    """A table with everything, in which two columns could be the label."""
    return write_csv(
        tmp_path / "nic.csv",
        {
            "image_id": range(240),
            "caption": PLANTED.predictions,
            "references": [captions[0] for captions in PLANTED.references],
            "gender": ["a", "b"] * 120,
            "person": PLANTED.attributes,
            "tasks": [shown[0] for shown in PLANTED.tasks],
        },
    )


def read(client: Client, predictions: Any, references: Any = None) -> dict[str, str]:
    """What the page takes each column for."""
    answer = client.predict([predictions], references, None, None, api_name="/read")
    return dict(zip(COLUMNS, (part["value"] for part in answer[-len(COLUMNS) :]), strict=True))


def scores(answer: Any) -> dict[tuple[str, str], list[Any]]:
    assert answer[1]["headers"] == ["captioner", "score", "value", "low", "high"]
    return {(captioner, score): numbers for captioner, score, *numbers in answer[1]["data"]}


@pytest.mark.parametrize("name", SERVED)
def test_example_data_give_the_planted_verdict_with_intervals(clients: dict[str, Client], name: str) -> None:
    client = clients[name]
    client.predict(api_name="/example")
    answer = client.predict("gender", api_name="/measure")
    found, score = scores(answer), {"directional_ba": "directional_ba_a_to_t"}.get(name, name)
    biased, faithful = found["biased", score], found["faithful", score]
    assert biased[1] < biased[0] < biased[2]
    assert biased[1] > faithful[0]
    assert answer[2].startswith(f"metric:{name}|")
    assert answer[3]["biased"]["signature"] == answer[2]
    assert not any(key.endswith(("_low", "_high", "_std")) for _, key in found)


def test_a_column_that_was_guessed_wrong_can_be_corrected(clients: dict[str, Client], nic: Path) -> None:
    client = clients["directional_ba"]
    guessed = read(client, handle_file(nic))
    assert guessed["attribute_column"] == "gender"
    with pytest.raises(AppError, match="attributes"):
        client.predict("gender", api_name="/measure")
    client.predict(*(guessed | {"attribute_column": "person", "keep": []}).values(), api_name="/columns")
    found = scores(client.predict("gender", api_name="/measure"))
    expected = metrics.directional_ba(
        predictions=PLANTED.predictions,
        references=[captions[:1] for captions in PLANTED.references],
        attributes=PLANTED.attributes,
        tasks=PLANTED.tasks,
    )
    low, high = (expected[f"directional_ba_a_to_t_ci_{end}"] for end in ("low", "high"))
    assert found["nic", "directional_ba_a_to_t"] == pytest.approx(
        [expected["directional_ba_a_to_t"], low, high], rel=1e-3
    )


def test_people_may_have_a_file_of_their_own_and_warnings_are_shown(clients: dict[str, Client], tmp_path: Path) -> None:
    ids = [f"<b>{row}</b>" for row in range(240)]
    mine = write_csv(tmp_path / "mine.csv", {"image_id": ids, "caption": PLANTED.predictions})
    people = {
        "image_id": ids[:200],
        "references": [captions[0] for captions in PLANTED.references[:200]],
        "gender": PLANTED.attributes[:200],
    }
    client = clients["lic"]
    read(client, handle_file(mine), handle_file(write_csv(tmp_path / "people.csv", people)))
    answer = client.predict("gender", api_name="/measure")
    assert {captioner for captioner, _ in scores(answer)} == {"mine"}
    assert "40 " in answer[0]
    assert "<b>" not in answer[0]


def test_what_cannot_be_measured_is_told_in_plain_words_that_are_no_html(
    clients: dict[str, Client], tmp_path: Path
) -> None:
    client = clients["directional_ba"]
    rows = {"caption": ["a man", "<img src=x onerror=alert(1)>"] * 5, "references": ["a man"] * 10}
    read(client, handle_file(write_csv(tmp_path / "<b>x.csv", rows)))
    with pytest.raises(AppError, match="no attribute is chosen: choose the column"):
        client.predict("gender", api_name="/measure")
    label = {"gender": ["<img src=x onerror=alert(1)>", "female"] * 5}
    read(client, handle_file(write_csv(tmp_path / "y.csv", rows | label)))
    with pytest.raises(AppError) as told:
        client.predict("gender", api_name="/measure")
    assert "<img" not in str(told.value)
    assert "Traceback" not in str(told.value)


def test_a_web_page_named_csv_and_an_address_are_refused(clients: dict[str, Client], tmp_path: Path) -> None:
    page = tmp_path / "saved.csv"
    page.write_text("<!DOCTYPE html><html><script>alert(1)</script></html>")
    with pytest.raises(AppError, match=r"^saved\.csv is a web page \(HTML\): download the file itself"):
        read(clients["lic"], handle_file(page))
    for address in ("http://127.0.0.1:9/captions.csv", "https://example.org/captions.csv"):
        with pytest.raises(AppError, match="An address is not a file"):
            read(clients["lic"], {"path": address, "meta": {"_type": "gradio.FileData"}})


@pytest.mark.parametrize("path", ["/etc/passwd", "file:///etc/passwd", "nic.csv"])
def test_a_path_on_the_server_is_not_opened(clients: dict[str, Client], path: str, nic: Path) -> None:
    """Not even a table that the page could read; asked for past the client, which would upload its own file."""
    asked = {"path": str(nic) if path == nic.name else path, "meta": {"_type": "gradio.FileData"}}
    url = f"{clients['lic'].src}gradio_api/call/read"
    event = httpx.post(url, json={"data": [[asked], None, None, None]}).json()["event_id"]
    answer = httpx.get(f"{url}/{event}").text
    assert answer.startswith("event: error")
    assert "root:" not in answer
    assert "caption" not in answer


@pytest.mark.parametrize("name", SERVED)
def test_programs_see_four_endpoints_with_names(clients: dict[str, Client], name: str) -> None:
    endpoints = clients[name].view_api(return_format="dict", print_info=False)
    assert set(endpoints["named_endpoints"]) == {"/read", "/columns", "/example", "/measure"}
    assert not endpoints["unnamed_endpoints"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # 120 images are few
def test_every_page_measures_as_the_library_does_and_keeps_nothing(
    name: str, monkeypatch: pytest.MonkeyPatch, own_cache: Path
) -> None:
    calls: list[Any] = []
    build = metric_page.metric_page

    def noted(*arguments: Any, **options: Any) -> Any:
        calls.append((arguments, options))
        return build(*arguments, **options)

    monkeypatch.setattr(metric_page, "metric_page", noted)
    page = runpy.run_path(str(FOLDER / name / "app.py"))["demo"]
    (event,) = (event for event in page.fns.values() if event.api_name == "measure")
    assert event.concurrency_limit == QUEUE  # runs wait for each other where they can be cancelled
    [((title, about, metric), options)] = calls
    assert title
    assert about
    assert metric is metrics.find_metric(name)
    few = plant(120, a_to_t=0.5)
    rows = {"caption": few.predictions, "references": few.references, "gender": few.attributes, "tasks": few.tasks}
    tables = Data({"nic": table_from_memory(rows), "sat": table_from_memory(rows)})
    quick = {"trials": 2} if METRICS[name].trained else {}
    seen: list[float] = []
    found = metric_page.measure_each(
        tables,
        Columns("", ("caption",), "references", "gender", "tasks"),
        metric,
        {**options, **quick, "attribute_lexicon": "gender"},
        lambda step, done: seen.append(done),
    )
    assert not own_cache.exists()
    preset = {"preset": "fast"} if METRICS[name].presets else {}
    assert found["nic"].flat() == found["sat"].flat() == metric(**vars(few), **quick, **preset)
    assert {(captioner, key) for captioner, key, *_ in metric_page.rows(found)} == {
        (captioner, key) for captioner in found for key in (*found["nic"].estimates, *found["nic"].facts)
    }
    assert seen[0] == 0
    assert max(seen) == (1 if METRICS[name].trained else 0.5)


def test_more_captions_than_a_page_can_measure_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metric_page, "MAX_CAPTIONS", 7)
    rows = {"caption": ["a man"] * 4, "gender": ["male", "female"] * 2}
    tables = Data({"nic": table_from_memory(rows), "sat": table_from_memory(rows)})
    chosen = Columns("", ("caption",), "", "gender")
    with pytest.raises(ValueError, match="8 captions in all, and this page takes 7 at most: give fewer"):
        metric_page.measure_each(tables, chosen, metrics.gender_error, {}, lambda *_: None)
