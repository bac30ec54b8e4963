"""What all pages share: they read files, guess their columns, and let users correct these."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from captionbias.app import actions

QUEUE, HOUR = 32, 3600
# Runs wait for each other where they can be cancelled: in `Runs`.
WAITING: dict[str, Any] = {"concurrency_limit": QUEUE}
READING: dict[str, Any] = {"concurrency_limit": 2, "concurrency_id": "reading"}
# A part of another endpoint. It has a name, or it would take the name of its function from an endpoint.
UNNAMED: dict[str, Any] = {"api_visibility": "private", "api_name": "part"}
UPLOADS = ("predictions", "references", "attributes", "tasks")
COLUMNS = ("image_id", "prediction_columns", "reference_column", "attribute_column", "task_column", "keep")

Event = Any
After = Callable[..., Event]


def connect_data(
    given: Any, chosen: Any, data: dict[str, Any], then: Callable[[After], Event] = lambda after: None
) -> Event:
    """Reading and correcting.

    Args:
        given, chosen: the states with the data and their columns.
        data: the components for them.
        then: makes what follows when the data are others, by a method of the event that it follows.

    Returns:
        What `then` gives for example data.
    """
    dropdowns = [data[name] for name in COLUMNS]
    guessed = [given, chosen, data["read"], data["columns"], *dropdowns]
    uploads = [data[name] for name in UPLOADS]
    for number, upload in enumerate(uploads):
        named = UNNAMED if number else {"api_name": "read"}
        taken = upload.change(actions.read, uploads, guessed, **READING, **named)
        then(taken.success)
        # After a refused upload, the previous data must not be measured.
        then(taken.failure(lambda: actions.guessed(actions.NOTHING), None, guessed, **UNNAMED).then)
    for number, dropdown in enumerate(dropdowns):
        named = UNNAMED if number else {"api_name": "columns"}
        corrected = dropdown.input(actions.columns, [given, *dropdowns], [chosen, data["keep"]], **READING, **named)
        then(corrected.then)
    return then(data["example"].click(_example, None, guessed, **READING, api_name="example").then)


def _example() -> tuple[Any, ...]:
    from captionbias.app.example import example

    return actions.guessed(example())
