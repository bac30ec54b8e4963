"""Plots, with plotly: intervals are always drawn, and zero is marked."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from captionbias.analysis.resampling import pair_name
from captionbias.analysis.sensitivity import label as choice_label
from captionbias.io.files import write_text
from captionbias.metrics import catalogue
from captionbias.metrics.catalogue import DIRECTIONS, Score
from captionbias.metrics.measurement import Estimate
from captionbias.metrics.verdicts import AMPLIFIES, MITIGATES
from captionbias.report.views import main_part

if TYPE_CHECKING:
    from captionbias.analysis.alignment_quality import AlignmentStudy
    from captionbias.analysis.audit import Audit
    from captionbias.analysis.consistency import Study
    from captionbias.analysis.masking import MaskingStudy
    from captionbias.analysis.sensitivity import Sensitivity
    from captionbias.report.rows import Row

try:
    from plotly import graph_objects
    from plotly.subplots import make_subplots
except ImportError as error:
    raise ValueError("plots need plotly: pip install 'captionbias[plots]'") from error

PANEL_HEIGHT = 320
CURVE_HEIGHT, DOT_HEIGHT = 220, 18
LEADERBOARD_ROW_HEIGHT = 18
ROW_HEIGHT, PANEL_MARGIN, NAMED_AXIS_MARGIN, TITLE_HEIGHT = 34, 66, 96, 60
# Okabe and Ito's colours, which colour-blind people can distinguish.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442", "#000000")
ADDS, TAKES = COLOURS[3], COLOURS[0]
SAID = {AMPLIFIES: ADDS, MITIGATES: TAKES}
ZERO = {"line_width": 1, "line_color": "gray"}
# Legible on white and on black: a plot does not know the page that shows it.
INK, GRID = "#777e87", "rgba(128,128,128,0.25)"
AXIS = {"gridcolor": GRID, "zerolinecolor": GRID, "linecolor": GRID, "automargin": True}
TEMPLATE = {"layout": {"xaxis": AXIS, "yaxis": AXIS}}
BELOW = {"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom"}  # the legend


def scores_plot(audit: Audit) -> Any:
    """A panel for each score: a mark with its interval for each captioner, and zero."""
    scores = _shown_scores(audit)
    figure = _panels([score.label for score in scores], ROW_HEIGHT * len(audit.captioners))
    for panel, score in enumerate(scores, 1):
        estimates = [_estimate(audit, name, score) for name in audit.captioners]
        _add_intervals(figure, panel, audit.captioners, estimates, zero=score.bounds[0] < 0)
    return figure


def estimates_plot(estimates: Mapping[str, Estimate]) -> Any:
    """A panel for each range that scores have: a mark with its interval for each score, and zero."""
    by_range: dict[tuple[float, float], dict[str, Estimate]] = {}
    for key, estimate in estimates.items():
        by_range.setdefault(catalogue.bounds(key), {})[catalogue.label(key)] = estimate
    titles = [f"{low:g} to {high:g}" if math.isfinite(high) else f"{low:g} or more" for low, high in by_range]
    figure = _panels(titles, ROW_HEIGHT * max(map(len, by_range.values()), default=1))
    for panel, ((low, _), found) in enumerate(by_range.items(), 1):
        _add_intervals(figure, panel, list(found), list(found.values()), zero=low < 0)
    return figure


def differences_plot(audit: Audit) -> Any:
    """A panel for each score: the difference of every pair of captioners with its interval, and zero."""
    found = [one for comparison in audit.comparisons.values() for one in comparison.differences]
    keys = list(dict.fromkeys(one.score for one in found))
    pairs = len({(one.first, one.second) for one in found})
    figure = _panels([catalogue.label(key) for key in keys], ROW_HEIGHT * pairs)
    for panel, key in enumerate(keys, 1):
        estimates = {f"{one.first} less {one.second}": one.estimate for one in found if one.score == key}
        _add_intervals(figure, panel, list(estimates), list(estimates.values()), zero=True)
    return figure


def sources_plot(rows: Sequence[Mapping[str, Any]], top: int = 12) -> Any:
    """The pairs of attribute value and task that add or take most, with their intervals.

    `rows`: of `dbac(..., details=True)["details"]["sources"]`, of one direction.
    """
    part = main_part(rows)
    largest = sorted((row for row in rows if part in row), key=lambda row: -abs(row[part]))[:top]
    values = [row[part] for row in largest]
    estimates = [Estimate(row[part], row.get(f"{part}_ci_low"), row.get(f"{part}_ci_high")) for row in largest]
    names = [literal(pair_name(row)) for row in largest]
    bars = graph_objects.Bar(
        x=values,
        y=names,
        orientation="h",
        marker={"color": [ADDS if value > 0 else TAKES for value in values]},
        error_x=_errors(estimates) | {"color": INK},
        hovertemplate="%{y}: %{x:+.4f}<extra></extra>",
    )
    figure = graph_objects.Figure(bars)
    figure.add_vline(x=0, **ZERO)
    title = (
        "omega"
        if part.startswith("omega")
        else "adds to the score" + (", net" if "net" in part else ", matched" if "matched" in part else "")
    )
    figure.update_layout(_layout(PANEL_MARGIN + 26 * len(largest)), xaxis_title=title)
    figure.update_yaxes(autorange="reversed")
    return figure


def tradeoff_plot(audit: Audit) -> Any:
    """Bias over CIDEr, a mark for each captioner: is the better captioner the more biased one?

    Source: Türk et al. 2023, whose conclusion is drawn from such a plot.
    """
    scores = [score for score in _shown_scores(audit) if score.judged] or _shown_scores(audit)
    figure = _panels([score.label for score in scores], PANEL_HEIGHT, NAMED_AXIS_MARGIN)
    for panel, score in enumerate(scores, 1):
        for number, name in enumerate(audit.captioners):
            quality, estimate = audit.quality[name]["cider"], _estimate(audit, name, score)
            marks = {"x": [quality], "y": [estimate and estimate.value], "error_y": _errors([estimate])}
            _add_marks(figure, panel, number, name, **marks)
        if score.bounds[0] < 0:
            figure.add_hline(y=0, **ZERO, row=panel, col=1)
    figure.update_xaxes(title_text="CIDEr")
    return figure.update_layout(legend=BELOW)


def alignment_plot(audit: Audit) -> Any:
    """The share of contextual substitutions over delta, a panel a direction, with the elbow of each captioner."""
    directions = [d for d in DIRECTIONS if any(_by_delta(audit, name, d) for name in audit.captioners)]
    masked = {"a_to_t": "Attribute words masked (A to T)", "t_to_a": "Task words masked (T to A)"}
    figure = _panels([masked[direction] for direction in directions], PANEL_HEIGHT, NAMED_AXIS_MARGIN)
    for panel, direction in enumerate(directions, 1):
        for number, name in enumerate(audit.captioners):
            found = _by_delta(audit, name, direction)
            if found:
                line = _shares_line(found["deltas"], found["shares"], found["elbow"], name, number)
                figure.add_trace(line.update(showlegend=panel == 1), row=panel, col=1)
    return _with_delta_axes(figure)


def vectors_plot(study: AlignmentStudy) -> Any:
    """The share of contextual substitutions over delta with each word vectors, and where each curve bends most.

    Source: the DBAC paper, section 5.4, which recommends to look at several word vectors.
    """
    figure = _panels(
        ["Share of replaced words that became a word and not &lt;unk&gt;"], PANEL_HEIGHT, NAMED_AXIS_MARGIN
    )
    for number, (name, quality) in enumerate(study.vectors.items()):
        deltas, shares = quality.deltas.tolist(), quality.shares.tolist()
        figure.add_trace(_shares_line(deltas, shares, quality.elbow, name, number))
    return _with_delta_axes(figure)


def consistency_plot(study: Study) -> Any:
    """A panel for each score: captioners side by side, a mark for each encoder, and zero."""
    figure = _panels([catalogue.label(name) for name in study.scores], PANEL_HEIGHT)
    for panel, values in enumerate(study.scores.values(), 1):
        for number, encoder in enumerate(study.encoders):
            captioners = [literal(name) for name in study.captioners]
            _add_marks(figure, panel, number, encoder, x=captioners, y=values[:, number])
        figure.add_hline(y=0, **ZERO, row=panel, col=1)
    figure.update_xaxes(type="category")
    figure.update_layout(title="Above 0 the captioner amplifies its data's bias", margin_t=90, showlegend=True)
    return figure


def masking_plot(study: MaskingStudy) -> Any:
    """A panel for each score: a mark with its interval for each version of the images, and zero."""
    measured = {score: found for found in study.comparisons.values() for score in found.scores}
    versions = list(study.captions)
    titles = [catalogue.label(score) for score in measured]
    if study.attributions:
        titles.append("attribution outside the person")
    figure = _panels(titles, ROW_HEIGHT * len(versions))
    for panel, (score, found) in enumerate(measured.items(), 1):
        estimates = [found.measurements[version].estimates.get(score) for version in versions]
        _add_intervals(figure, panel, versions, estimates, zero=catalogue.SCORES[score].bounds[0] < 0)
    if study.attributions:
        shares = [study.attributions[name].mean if name in study.attributions else None for name in versions]
        _add_intervals(figure, len(titles), versions, shares, zero=False)
    return figure


def leaderboard_plot(rows: Sequence[Row]) -> Any:
    """A panel for each main score: captioners from the best to the most biased, with their intervals, and zero."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.score, []).append(row)
    chosen: list[Score] = []
    for metric in dict.fromkeys(row.metric for row in rows):
        scores = [score for score in catalogue.scores_of(metric) if score.key in found]
        chosen += [score for score in scores if score.headline] or [score for score in scores if score.alone]
    largest = max((len(found[score.key]) for score in chosen), default=0)
    figure = _panels([score.label for score in chosen], LEADERBOARD_ROW_HEIGHT * largest)
    for panel, score in enumerate(chosen, 1):
        ranked = sorted(found[score.key], key=lambda row: row.value)
        estimates = [Estimate(row.value, row.low, row.high) for row in ranked]
        _add_intervals(figure, panel, [row.captioner for row in ranked], estimates, zero=score.bounds[0] < 0)
    return figure


def specification_curve(found: Sensitivity, captioners: Sequence[str] = ()) -> Any:
    """For each captioner and judged score: its estimates, ascending, and below each the choices that it was made with.

    Source: Simonsohn, Simmons and Nelson 2020.
    """
    scores = [key for key in found.scores if catalogue.SCORES[key].judged] or found.scores
    blocks = [(name, key) for name in captioners or found.captioners for key in scores]
    values = [(choice, value) for choice, tried in found.varied.items() for value in tried]
    names = [literal(f"{choice_label(choice)} {value}") for choice, value in values]
    heights = [CURVE_HEIGHT, 30 + DOT_HEIGHT * len(values), PANEL_MARGIN]  # the last is empty
    total = sum(heights) * len(blocks)
    figure = make_subplots(
        rows=3 * len(blocks),
        cols=1,
        row_heights=heights * len(blocks),
        specs=[[{}], [{}], [None]] * len(blocks),
        vertical_spacing=4 / total,
        subplot_titles=[title for name, key in blocks for title in (literal(f"{name}: {catalogue.label(key)}"), "")],
    )
    for block, (name, key) in enumerate(blocks):
        curve, dots = {"row": 3 * block + 1, "col": 1}, {"row": 3 * block + 2, "col": 1}
        defined = [one for one in found.of(name) if key in one.estimates]
        ordered = sorted(defined, key=lambda one: one.estimates[key].value)
        estimates = [one.estimates[key] for one in ordered]
        marks = graph_objects.Scatter(
            x=list(range(len(ordered))),
            y=[estimate.value for estimate in estimates],
            error_y=_errors(estimates) | {"color": INK},
            text=[literal(found.label(one)) for one in ordered],
            mode="markers",
            marker={
                "size": [12 if one.choices == found.base else 8 for one in ordered],
                "symbol": ["diamond" if one.choices == found.base else "circle" for one in ordered],
                "color": [SAID.get(one.verdicts.get(key, ""), INK) for one in ordered],
            },
            hovertemplate="%{text}: %{y:.3f}<extra></extra>",
        )
        figure.add_trace(marks, **curve)
        figure.add_hline(y=0, **ZERO, **curve)
        made = [
            (place, text)
            for text, (choice, value) in zip(names, values, strict=True)
            for place, one in enumerate(ordered)
            if one.choices[choice] == value
        ]
        marks = graph_objects.Scatter(
            x=[place for place, _ in made],
            y=[text for _, text in made],
            mode="markers",
            marker={"size": 6, "color": INK},
            hoverinfo="skip",
        )
        figure.add_trace(marks, **dots)
        figure.update_yaxes(type="category", categoryarray=names, range=[len(names) - 0.5, -0.5], dtick=1, **dots)
    figure.update_xaxes(
        range=[-0.5, len(found.of(blocks[0][0])) - 0.5], showticklabels=False, showgrid=False, zeroline=False
    )
    figure.update_layout(_layout(total + TITLE_HEIGHT), showlegend=False)
    figure.update_annotations(x=0, xanchor="left")
    meaning = "Orange amplifies, blue mitigates; the diamond is the base"
    figure.update_layout(title={"text": meaning, "font": {"size": 13}}, margin_t=90)
    return figure


def write_html(figure: Any, path: Path) -> None:
    """Write a plot as one HTML file, the library that draws it included.

    Raises:
        ValueError: the path cannot be written.
    """
    write_text(figure.to_html(include_plotlyjs=True, full_html=True), path)


def literal(text: str) -> str:
    """A user's text for a plot, which would read tags in it.

    >>> literal("<b>nic</b>")
    '&lt;b&gt;nic&lt;/b&gt;'
    """
    return html.escape(text, quote=False)


def _shown_scores(audit: Audit) -> list[Score]:
    """The main scores of what was measured, or without human captions those of the captioner alone."""
    found: list[Score] = []
    for metric, comparison in audit.comparisons.items():
        measured = {key for one in comparison.measurements.values() for key in one.estimates}
        scores = [score for score in catalogue.scores_of(metric) if score.key in measured]
        found += [score for score in scores if score.headline] or [score for score in scores if score.alone]
    return found


def _estimate(audit: Audit, captioner: str, score: Score) -> Estimate | None:
    return audit.measurement(score.metric, captioner).estimates.get(score.key)


def _panels(titles: Sequence[str], height: int, margin: int = PANEL_MARGIN) -> Any:
    """Panels below each other, so many pixels high and apart."""
    whole = height + margin
    total = max(1, len(titles)) * whole
    figure = make_subplots(
        rows=max(1, len(titles)), cols=1, subplot_titles=list(titles), vertical_spacing=margin / total
    )
    figure.update_layout(_layout(total + TITLE_HEIGHT))
    figure.update_annotations(x=0, xanchor="left")
    return figure


def _layout(height: int) -> dict[str, Any]:
    return {
        "height": height,
        "template": TEMPLATE,
        "margin": {"l": 8, "r": 16, "t": 40, "b": 60},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"size": 13, "color": INK},
    }


def _add_intervals(
    figure: Any, panel: int, names: Sequence[str], estimates: Sequence[Estimate | None], zero: bool
) -> None:
    """A row for each name: its mark and its interval."""
    marks = graph_objects.Scatter(
        x=[estimate and estimate.value for estimate in estimates],
        y=[literal(name) for name in names],
        error_x=_errors(estimates),
        mode="markers",
        showlegend=False,
        marker={"size": 10, "color": COLOURS[0]},
        hovertemplate="%{y}: %{x:.3f}<extra></extra>",
    )
    figure.add_trace(marks, row=panel, col=1)
    figure.update_yaxes(type="category", range=[len(names) - 0.5, -0.5], row=panel, col=1)  # 2021 may be a name
    if zero:
        figure.add_vline(x=0, **ZERO, row=panel, col=1)


def _add_marks(figure: Any, panel: int, number: int, name: str, **options: Any) -> None:
    """The marks of one captioner or encoder, in all panels of the same look."""
    marks = graph_objects.Scatter(
        name=literal(name),
        legendgroup=name,
        showlegend=panel == 1,
        mode="markers",
        marker={"size": 10, "symbol": number, "color": COLOURS[number % len(COLOURS)]},
        **options,
    )
    figure.add_trace(marks, row=panel, col=1)


def _errors(estimates: Iterable[Estimate | None]) -> dict[str, Any]:
    """Error bars from the estimate to the ends of its interval; none where there is no interval."""
    ends = [estimate[:3] if estimate else (None, None, None) for estimate in estimates]
    value, low, high = np.array(ends, np.float64).reshape(-1, 3).T  # None becomes nan
    # As arrays: nan in a list becomes null, which plotly draws as a bar of no length with caps, as if all were certain.
    return {"type": "data", "array": high - value, "arrayminus": value - low, "thickness": 1.5, "width": 4}


def _shares_line(deltas: Sequence[float], shares: Sequence[float], elbow: float | None, name: str, number: int) -> Any:
    return graph_objects.Scatter(
        x=deltas,
        y=shares,
        name=literal(name),
        legendgroup=name,
        mode="lines+markers",
        line={"color": COLOURS[number % len(COLOURS)]},
        marker={"size": [11 if delta == elbow else 4 for delta in deltas]},
    )


def _with_delta_axes(figure: Any) -> Any:
    figure.update_xaxes(title_text="delta (large mark: where the curve bends most)")
    figure.update_yaxes(title_text="share", tickformat=".0%", rangemode="tozero")
    return figure.update_layout(legend=BELOW, showlegend=True)


def _by_delta(audit: Audit, captioner: str, direction: str) -> dict[str, Any] | None:
    if "dbac" not in audit.comparisons:
        return None
    report = audit.details("dbac", captioner).get(direction, {}).get("alignment")
    return report["by_delta"] if report else None
