"""The page of one metric, for a Space: captions in, scores with their intervals out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import gradio as gr

from captionbias.app import actions, components, server
from captionbias.app.components import HOUR, QUEUE, WAITING
from captionbias.app.runs import Runs, heard, listen
from captionbias.app.sessions import NOTHING, Sessions
from captionbias.app.upload_state import Data, captioners_of
from captionbias.metrics import Measurement, Metric
from captionbias.text.markdown import escaped

MAX_CAPTIONS = 20_000  # of all captioners together
SECONDS = 1800  # that one run may take
HEADERS = ["captioner", "score", "value", "low", "high"]
TYPES: Any = ["str", "str", "number", "number", "number"]  # text is never read as HTML

TABLE = """
Upload the captions of a captioner and human captions of the same images: CSV, TSV, JSON, JSONL, Parquet, COCO results
or COCO captions, with the label of each image (female or male, say) in one of them. Files are deleted within two hours.
"""
INTERVALS = "`low` and `high` are the ends of the 95% interval over images and attackers; not every score has one."


def metric_page(title: str, about: str, metric: Metric[Any], **options: Any) -> Any:
    """A gradio page that runs a metric on uploaded captions, for `launch(**captionbias.app.page.launch_options())`.

    Args:
        title, about: what the metric is called and what it asks.
        metric: from `captionbias.metrics`. `options`: of it, such that it is quick enough for a page.
    """
    listen()
    sessions = Sessions()
    runs = Runs(SECONDS)
    with gr.Blocks(title=title, analytics_enabled=False, delete_cache=(HOUR, HOUR)) as page:
        data = gr.State(NOTHING)
        gr.Markdown(f"# {title}\n{about}\n{TABLE}")
        attribute = components.attribute_choice()
        components.captions_section(data, attribute)
        gr.Markdown("## 2. Scores")
        attribute.render()
        button = gr.Button("Measure", variant="primary", elem_id="measure")
        notes = gr.Markdown(elem_id="notes")
        scores = gr.Dataframe(
            label="Scores", headers=HEADERS, datatype=TYPES, interactive=False, wrap=True, elem_id="scores-table"
        )
        gr.Markdown(INTERVALS)
        signature = gr.Code(language=None, label="Signature", interactive=False, elem_id="signature")
        with gr.Accordion("Everything, for programs", open=False):
            everything = gr.JSON(label="Results", show_label=False)

        def measure(
            data: Any,
            attributes: list[str],
            request: gr.Request,
            progress: gr.Progress = gr.Progress(),  # noqa: B008 (so gradio knows that it is wanted)
        ) -> tuple[Any, ...]:
            with actions.running(runs, sessions.of(request), progress) as watch, heard() as warned:
                words = actions.words_of(data, attributes)
                found = measure_each(data, metric, {**options, "attribute_lexicon": words}, watch)
            signatures = dict.fromkeys(measured.signature for measured in found.values())
            results = {name: measured.flat() for name, measured in found.items()}
            lines = "\n".join(f"- {escaped(note)}" for note in warned)
            return lines, rows(found), "\n".join(signatures), results

        outputs = [notes, scores, signature, everything]
        button.click(measure, [data, attribute], outputs, api_name="measure", **WAITING)
    page.queue(max_size=QUEUE)
    server.escape_errors(page)
    return page


def measure_each(
    data: Data, metric: Metric[Any], options: dict[str, Any], watch: Callable[[str, float], None]
) -> dict[str, Measurement]:
    """Measure each captioner on the images that all of them have. Nothing that was trained is kept.

    Raises:
        ValueError: as `captioners_of` and the metric, or when there are more than `MAX_CAPTIONS` captions.
    """
    watch("reading", 0.0)
    captioners = captioners_of(data)
    captions = sum(map(len, captioners.values()))
    if captions > MAX_CAPTIONS:
        raise ValueError(
            f"the captioners have {captions:,} captions in all, and this page takes {MAX_CAPTIONS:,} at most: give "
            "fewer images or captioners, or measure them on your machine with the command line"
        )
    found = {}
    for number, (name, predicted) in enumerate(captioners.items()):

        def show(finished: int, total: int, name: str = name, number: int = number) -> None:
            watch(f"measuring {name}", (number + finished / max(1, total)) / len(captioners))

        show(0, 1)
        extra = {"cache": False, "progress": show}
        taken = {option: value for option, value in extra.items() if option in metric.options()}
        found[name] = metric.measure(predicted, **options, **taken)
    return found


def rows(found: Mapping[str, Measurement]) -> list[list[Any]]:
    """Each captioner's scores and facts, scores with the ends of the interval over images and attackers."""
    return [
        row
        for name, measured in found.items()
        for row in (
            *([name, key, *map(_shown, estimate[:3])] for key, estimate in measured.estimates.items()),
            *([name, key, _shown(value), "", ""] for key, value in measured.facts.items()),
        )
    ]


def _shown(value: Any) -> Any:
    """
    >>> _shown(0.123456), _shown(12), _shown(None)
    (0.1235, 12, '')
    """
    return "" if value is None else float(f"{value:.4g}") if isinstance(value, float) else value
