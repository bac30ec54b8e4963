"""Example data: two captioners whose bias is known, because it was planted, and their result as the page ships it.

usage: python -m captionbias.app.example
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from captionbias.analysis.audit import audit
from captionbias.app.data import Data, as_said, captioners_of, roles_of
from captionbias.captions.tables import table_from_memory
from captionbias.io.files import write_text
from captionbias.report.html import html_report
from captionbias.synthetic import plant

IMAGES, CAPTIONS = 3000, 2
TRIALS = 5  # of the page: in half the time of ten, with intervals about a quarter wider
# What the second captioner does: some of the tasks it names lean to the gender, some of the genders to the task.
BIASED: dict[str, Any] = {"a_to_t": 0.5, "t_to_a": 0.3}


def example() -> Data:
    """A faithful and a biased captioner on the same planted images."""
    faithful, biased = plant(IMAGES, captions=CAPTIONS), plant(IMAGES, captions=CAPTIONS, **BIASED)
    captions = {"faithful": faithful.predictions, "biased": biased.predictions}
    people = {"references": faithful.references, "gender": faithful.attributes, "tasks": faithful.tasks}
    ids = {"image_id": list(range(IMAGES))}
    tables = {name: table_from_memory(ids | {"caption": texts}, name) for name, texts in captions.items()}
    tables["people"] = table_from_memory(ids | people, "people")
    return as_said([*tables.values()], roles_of([*tables.values()]))


def result() -> str:
    """The report of the example, measured as the page measures by default."""
    measured = audit(captioners_of(example()), task_lexicon="coco_objects", trials=TRIALS)
    return html_report(measured, title="An example with a planted bias")


if __name__ == "__main__":
    write_text(result(), Path(__file__).with_name("example.html"))
