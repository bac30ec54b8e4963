"""The page of a metric, as its Space serves it: scores of uploaded captions, plain words for what it cannot take."""

from __future__ import annotations

import runpy
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from gradio_client import Client, handle_file
from gradio_client.exceptions import AppError

from captionbias import metrics
from captionbias.app import metric_page
from captionbias.app.components import QUEUE
from captionbias.app.page import launch_options
from captionbias.app.upload_state import Columns, Data
from captionbias.captions.tables import table_from_memory
from captionbias.metrics.catalogue import METRICS, OF_CAPTIONS
from captionbias.synthetic import plant
from tests.app.conftest import write_csv
from tests.patience import PATIENCE

FOLDER = Path(__file__).parents[2] / "metrics"


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    """A client of the page of LIC."""
    with warnings.catch_warnings():  # the page listens to these
        page = runpy.run_path(str(FOLDER / "lic" / "app.py"))["demo"]
        _, url, _ = page.launch(**launch_options(), prevent_thread_lock=True, quiet=True)
        yield Client(url, verbose=False, download_files=tmp_path, httpx_kwargs={"timeout": PATIENCE})
        page.close()


def read(client: Client, predictions: Path, references: Path | None = None) -> list[Any]:
    """What the page takes each column for."""
    people = handle_file(references) if references else None
    answer = client.predict([handle_file(predictions)], people, None, None, api_name="/read")
    return [part["value"] for part in answer[-7:-1]]


def test_captions_become_scores_with_intervals_and_what_is_wrong_is_told(client: Client, tmp_path: Path) -> None:
    endpoints = client.view_api(return_format="dict", print_info=False)
    assert set(endpoints["named_endpoints"]) == {"/read", "/columns", "/example", "/measure"}
    assert not endpoints["unnamed_endpoints"]
    planted, ids = plant(240, captions=1, a_to_t=0.5), [f"<b>{row}</b>" for row in range(240)]
    nic = write_csv(tmp_path / "nic.csv", {"image_id": ids, "caption": planted.predictions})
    read(client, nic)
    with pytest.raises(AppError, match="no attribute is chosen: choose the column"):
        client.predict("gender", api_name="/measure")
    references = [text for [text] in planted.references]
    people = {"image_id": ids, "references": references, "gender": ["a", "b"] * 120, "person": planted.attributes}
    first = {name: column[:200] for name, column in people.items()}
    guessed = read(client, nic, write_csv(tmp_path / "people.csv", first))
    assert guessed[:4] == ["image_id", ["caption"], "references", ["gender"]]
    client.predict(*guessed[:3], "person", None, [], api_name="/columns")
    notes, scores, signature, everything = client.predict("gender", api_name="/measure")
    expected = metrics.lic(
        predictions=planted.predictions[:200],
        references=planted.references[:200],
        attributes=planted.attributes[:200],
        preset="fast",
    )
    assert (everything, signature) == ({"nic": expected}, expected["signature"])
    assert scores["headers"] == ["captioner", "score", "value", "low", "high"]
    (numbers,) = (numbers for _, key, *numbers in scores["data"] if key == "lic")
    assert numbers == pytest.approx([expected[f"lic{end}"] for end in ("", "_ci_low", "_ci_high")], rel=1e-3)
    assert "40 " in notes
    assert "<b>" not in notes


@pytest.mark.parametrize("name", sorted(OF_CAPTIONS))
@pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # 120 images are few
def test_every_page_measures_as_the_library_does_and_keeps_nothing(
    name: str, monkeypatch: pytest.MonkeyPatch, own_cache: Path
) -> None:
    built = Mock(wraps=metric_page.metric_page)
    monkeypatch.setattr(metric_page, "metric_page", built)
    page = runpy.run_path(str(FOLDER / name / "app.py"))["demo"]
    (event,) = (event for event in page.fns.values() if event.api_name == "measure")
    assert event.concurrency_limit == QUEUE  # runs wait for each other where they can be cancelled
    [((title, about, metric), options)] = built.call_args_list
    assert title
    assert about
    assert metric is metrics.find_metric(name)
    few = plant(120, a_to_t=0.5)
    rows = {"caption": few.predictions, "references": few.references, "gender": few.attributes, "tasks": few.tasks}
    columns = Columns("", ("caption",), "references", ("gender",), "tasks")
    data = Data({"nic": table_from_memory(rows), "sat": table_from_memory(rows)}, columns=columns)
    quick = {"trials": 2} if METRICS[name].trained else {}
    seen: list[float] = []
    found = metric_page.measure_each(
        data,
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
    rows = {"caption": ["a man"] * 8, "gender": ["male", "female"] * 4}
    data = Data({"nic": table_from_memory(rows)}, columns=Columns("", ("caption",), "", ("gender",)))
    with pytest.raises(ValueError, match="8 captions in all, and this page takes 7 at most: give fewer"):
        metric_page.measure_each(data, metrics.gender_error, {}, lambda *_: None)
