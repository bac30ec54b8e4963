"""Example data: two captioners whose bias is known, because it was planted, and their result."""

from __future__ import annotations

from functools import cache
from threading import Lock
from typing import Any

from captionbias.analysis.audit import audit
from captionbias.app.data import Data, as_said, captions_of, roles_of
from captionbias.captions.tables import table_from_memory
from captionbias.report.html import html_report
from captionbias.synthetic import plant

IMAGES, CAPTIONS = 3000, 2
TRIALS = 5  # of the page: they test every image once
# What the second captioner does: some of the tasks it names lean to the gender, some of the genders to the task.
BIASED: dict[str, Any] = {"a_to_t": 0.5, "t_to_a": 0.3}

_measuring = Lock()


def example() -> Data:
    faithful, biased = plant(IMAGES, captions=CAPTIONS), plant(IMAGES, captions=CAPTIONS, **BIASED)
    captions = {"faithful": faithful.predictions, "biased": biased.predictions}
    people = {"references": faithful.references, "gender": faithful.attributes, "tasks": faithful.tasks}
    ids = {"image_id": list(range(IMAGES))}
    tables = {name: table_from_memory(ids | {"caption": texts}, name) for name, texts in captions.items()}
    tables["people"] = table_from_memory(ids | people, "people")
    return as_said([*tables.values()], roles_of([*tables.values()]))


def result() -> str:
    """The report of the example, measured as the page measures by default, when it is first asked for."""
    with _measuring:
        return _result()


@cache
def _result() -> str:
    measured = audit(captions_of(example()), task_lexicon="coco_objects", trials=TRIALS, cache=False)
    return html_report(measured, title="An example with a planted bias")
