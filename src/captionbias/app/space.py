"""The page as a Space on the Hugging Face Hub."""

from __future__ import annotations

from functools import partial

from captionbias.app.page import METRICS, look, page
from captionbias.app.runs import Runs
from captionbias.app.server import serve

LONGEST_RUN = 30 * 60  # seconds: others wait meanwhile


def serve_space(*metrics: str) -> None:
    """Serve the page of these metrics, of all that it has when none is named."""
    serve(partial(page, metrics=metrics or METRICS), Runs(seconds=LONGEST_RUN), **look())
