"""The page of one metric, for a Space of its own: captions in, scores with their intervals out."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import gradio as gr

from captionbias.app import actions, components
from captionbias.app.heard_warnings import heard, listen
from captionbias.app.runs import Runs
from captionbias.app.upload_state import Columns, Data, captioners_of
from captionbias.app.wiring import HOUR, QUEUE, WAITING, connect_data
from captionbias.text.markdown import escaped

MAX_CAPTIONS = 20_000  # of all captioners together
SECONDS = 1800  # that one run may take
HEADERS = ["captioner", "score", "value", "low", "high"]
TYPES: Any = ["str", "str", "number", "number", "number"]  # text is never read as HTML
ATTRIBUTES = [name for name in components.ATTRIBUTES if name != components.OWN]

Result: TypeAlias = dict[str, Any]

TABLE = """
Upload what a captioner says, and what people say about the same images: CSV, TSV, JSON, JSONL, Parquet, COCO results or
COCO captions, with the label of each image (female or male, say) in one of them. Files are deleted within two hours.
"""
INTERVALS = "`low` and `high` are the ends of the 95% interval over images and attackers; not every score has one."


def metric_page(title: str, about: str, score: Callable[..., Result]) -> Any:
    """A gradio page that runs a metric on uploaded captions, for `launch(**captionbias.app.page.launch_options())`.

    Args:
        title, about: what the metric is called and what it asks.
        score: the metric as it is to be run, with options bound that make it quick enough for a page.
    """
    listen()
    runs = Runs(SECONDS)
    with gr.Blocks(title=title, analytics_enabled=False, delete_cache=(HOUR, HOUR)) as page:
        given, chosen = gr.State(actions.NOTHING), gr.State(actions.UNCHOSEN)
        gr.Markdown(f"# {title}\n{about}\n{TABLE}")
        data = components.data()
        gr.Markdown("## 2. Scores")
        attribute = gr.Dropdown(ATTRIBUTES, value=ATTRIBUTES[0], label="Words of which attribute")
        button = gr.Button("Measure", variant="primary", elem_id="measure")
        notes = gr.Markdown(elem_id="notes")
        scores = gr.Dataframe(
            label="Scores", headers=HEADERS, datatype=TYPES, interactive=False, wrap=True, elem_id="scores-table"
        )
        gr.Markdown(INTERVALS)
        signature = gr.Code(language=None, label="Signature", interactive=False, elem_id="signature")
        with gr.Accordion("Everything, for programs", open=False):
            everything = gr.JSON(label="Results", show_label=False)
        connect_data(given, chosen, data)

        def measure(
            given: Any,
            chosen: Any,
            attribute: str,
            request: gr.Request,
            progress: gr.Progress = gr.Progress(),  # noqa: B008 (so gradio knows that it is wanted)
        ) -> tuple[Any, ...]:
            session = str(request.session_hash)
            with (
                actions.plain_errors(),
                runs.begun(session, lambda done, step: progress(done, desc=step)) as watch,
                heard() as told,
            ):
                results = measured(given, chosen, score, attribute, watch)
            signatures = dict.fromkeys(result["signature"] for result in results.values())
            lines = "\n".join(f"- {escaped(note)}" for note in told)
            return lines, rows(results), "\n".join(signatures), results

        def left(request: gr.Request) -> None:
            runs.cancel(str(request.session_hash))

        outputs = [notes, scores, signature, everything]
        button.click(measure, [given, chosen, attribute], outputs, api_name="measure", **WAITING)
        page.unload(left)
    page.queue(max_size=QUEUE)
    return page


def measured(
    data: Data,
    columns: Columns,
    score: Callable[..., Result],
    attribute: str,
    watch: Callable[[str, float], None],
) -> dict[str, Result]:
    """The result of each captioner, on the images that all of them have. Nothing that was trained is kept.

    Raises:
        ValueError: as `captioners_of` and the metric, or when there are more than `MAX_CAPTIONS` captions.
    """
    watch("reading", 0.0)
    together = captioners_of(data, columns)
    captioners, options = together.predictions, inspect.signature(score).parameters
    captions = sum(map(len, captioners.values()))
    if captions > MAX_CAPTIONS:
        raise ValueError(
            f"the captioners have {captions:,} captions in all, and this page takes {MAX_CAPTIONS:,} at most: give "
            "fewer images or captioners, or measure them on a machine of your own with the command line"
        )
    bound: dict[str, Any] = {"attribute_lexicon": attribute}
    if "cache" in options:
        bound["cache"] = False
    found = {}
    for number, (name, predictions) in enumerate(captioners.items()):
        watch(f"measuring {name}", number / len(captioners))
        if "progress" in options:
            bound["progress"] = _progress(watch, name, number, len(captioners))
        found[name] = score(predictions=predictions, **together.people, **bound)
    return found


def _progress(watch: Callable[[str, float], None], name: str, number: int, count: int) -> Callable[[int, int], None]:
    def tell(finished: int, total: int) -> None:
        watch(f"measuring {name}", (number + finished / max(1, total)) / count)

    return tell


def rows(results: Mapping[str, Result]) -> list[list[Any]]:
    """Each captioner's scores, with the ends of the interval over images and attackers where there is one.

    Spreads and intervals over attackers alone are left out: they stand in the results.

    >>> rows({"nic": {"lic": 1.23456, "lic_std": 0.1, "lic_ci_low": 1.0, "lic_ci_high": 1.5, "signature": "..."}})
    [['nic', 'lic', 1.235, 1.0, 1.5]]
    """
    return [
        [name, key, _shown(value), _shown(result.get(f"{key}_ci_low", "")), _shown(result.get(f"{key}_ci_high", ""))]
        for name, result in results.items()
        for key, value in result.items()
        if key != "signature" and not key.endswith(("_ci_low", "_ci_high", "_std"))
    ]


def _shown(value: Any) -> Any:
    """
    >>> _shown(0.123456), _shown(12), _shown(float("nan")), _shown("")
    (0.1235, 12, 'undefined', '')
    """
    if isinstance(value, float):
        return "undefined" if value != value else float(f"{value:.4g}")
    return value
