"""The page of one metric is the same page: it measures as the library does, and calls scores by their names."""

from typing import Any

import gradio as gr
import pytest

from captionbias import metrics
from captionbias.app.data import CAPTIONER, as_said
from captionbias.app.measuring import PageSettings, measure
from captionbias.app.page import page
from captionbias.app.runs import Runs
from captionbias.captions.tables import table_from_memory
from captionbias.metrics import catalogue
from captionbias.synthetic import plant


@pytest.mark.parametrize("name", sorted(catalogue.of_captions()))
def test_every_page_measures_as_the_library_does(name: str) -> None:
    entry = catalogue.METRICS[name]
    few = plant(120, a_to_t=0.5)
    rows = {"caption": few.predictions, "references": few.references, "gender": few.attributes, "tasks": few.tasks}
    data = as_said([table_from_memory(rows, "nic")], {"nic": CAPTIONER})
    seen: list[float] = []
    *_, run = measure(data, PageSettings(metrics=(name,), trials=2), lambda step, done: seen.append(done))
    options: dict[str, Any] = {"preset": "fast"} if entry.presets else {}
    options |= metrics.find_metric(name).accepted({"trials": 2})
    expected = metrics.find_metric(name)(**vars(few), **options)
    measured = run.audit.measurement(name, "nic").flat()
    assert {key: measured[key] for key in expected} == expected
    assert (seen[0], seen[-1]) == (0.0, 1.0)


@pytest.mark.parametrize("name", ["lic", "dpa"])
@pytest.mark.filterwarnings("ignore")  # a page listens to warnings
def test_it_offers_its_metric_alone_and_the_example_only_where_it_has_it(name: str) -> None:
    served = page(Runs(), metrics=(name,))
    blocks = list(served.blocks.values())
    assert [tab.label for tab in blocks if isinstance(tab, gr.Tab)][-3:] == ["1. Files", "2. Check", "3. Result"]
    assert any(isinstance(tab, gr.Tab) and tab.id == "example" for tab in blocks) == (name == "lic")
    (offered,) = (one for one in blocks if isinstance(one, gr.CheckboxGroup))
    assert (offered.value, offered.visible) == ([name], False)
    titles = [block.value for block in blocks if isinstance(block, gr.Markdown)]
    assert titles[0].startswith(f"# {catalogue.METRICS[name].title}\n")
