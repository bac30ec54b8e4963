"""Plots, with plotly; each is one HTML file that needs no network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from captionbias.report import SCORE_NAMES, write_text

if TYPE_CHECKING:
    from captionbias.consistency import Study

try:
    from plotly import graph_objects
    from plotly.subplots import make_subplots
except ImportError as error:
    raise ValueError("plots need plotly: pip install 'captionbias[plots]'") from error

PANEL_HEIGHT = 320
# Okabe and Ito's colours, which colour-blind people tell apart.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442", "#000000")


def consistency_plot(study: Study) -> Any:
    """A panel for each score: captioners side by side, a mark for each encoder, and zero."""
    names = [SCORE_NAMES.get(name, name) for name in study.scores]
    figure = make_subplots(rows=len(names), cols=1, subplot_titles=names, vertical_spacing=0.25 / len(names))
    for panel, values in enumerate(study.scores.values(), 1):
        for number, encoder in enumerate(study.encoders):
            marks = graph_objects.Scatter(
                x=study.captioners,
                y=values[:, number],
                name=encoder,
                legendgroup=encoder,
                showlegend=panel == 1,
                mode="markers",
                marker={"size": 10, "symbol": number, "color": COLOURS[number % len(COLOURS)]},
            )
            figure.add_trace(marks, row=panel, col=1)
        figure.add_hline(y=0, line_width=1, line_color="gray", row=panel, col=1)
    figure.update_layout(
        title="Above 0 the captioner amplifies its data's bias",
        height=120 + PANEL_HEIGHT * len(names),
        template="plotly_white",
    )
    return figure


def write_html(figure: Any, path: Path) -> None:
    """Write a plot as one HTML file, the library that draws it included.

    Raises:
        ValueError: the path cannot be written.
    """
    write_text(figure.to_html(include_plotlyjs=True, full_html=True), path)
