"""Example data: two captioners whose bias is known, because it was planted."""

from __future__ import annotations

from typing import Any

from captionbias.app.given import Given
from captionbias.captions.tables import Table, table_from_memory
from captionbias.planted import plant

IMAGES, CAPTIONS = 2000, 3
# What the second captioner does: half of the tasks it names are ones that lean to the person's gender.
BIASED = 0.5
AGAIN = f"""\
from captionbias.planted import plant

faithful, biased = plant({IMAGES}, captions={CAPTIONS}), plant({IMAGES}, captions={CAPTIONS}, a_to_t={BIASED})
captioners = {{"faithful": faithful.predictions, "biased": biased.predictions}}
people = {{"references": faithful.references, "attributes": faithful.attributes, "tasks": faithful.tasks}}
"""


def example() -> Given:
    """A faithful and a biased captioner on the same planted images.

    >>> list(example().predictions)
    ['faithful', 'biased']
    """
    faithful, biased = plant(IMAGES, captions=CAPTIONS), plant(IMAGES, captions=CAPTIONS, a_to_t=BIASED)
    ids = list(range(IMAGES))
    people = {"references": faithful.references, "gender": faithful.attributes, "tasks": faithful.tasks}
    return Given(
        {
            name: _table(name, ids, {"caption": one.predictions})
            for name, one in (("faithful", faithful), ("biased", biased))
        },
        references=_table("people", ids, people),
        again=AGAIN,
    )


def _table(name: str, ids: list[int], columns: dict[str, Any]) -> Table:
    return table_from_memory({"image_id": ids, **columns})._replace(name=name)
