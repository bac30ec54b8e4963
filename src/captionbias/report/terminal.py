"""Results as tables for a terminal, with what an interval says in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from rich import box
from rich.table import Table

if TYPE_CHECKING:
    from captionbias.analysis.compare import Comparison
    from captionbias.analysis.consistency import Study

SCORES = {
    "lic": "LIC\nright, and how sure",
    "leakage": "leakage\nhow often right",
    "confidence": "confidence\nhow sure",
}
DIRECTIONS = {
    "a_to_t": "A to T\ndoes the attribute\nshape the tasks?",
    "t_to_a": "T to A\ndo the tasks\nshape the attribute?",
}
DIRECTION_NAMES = {"a_to_t": "A to T", "t_to_a": "T to A"}
NOTHING = "-"
UNCLEAR = "no clear change"
LEANS = "cannot tell"


SCORE_NAMES = {
    "lic": "LIC x 100",
    "dbac_a_to_t": "DBAC A to T, as published",
    "dbac_a_to_t_matched": "DBAC A to T, matched",
    "dbac_t_to_a": "DBAC T to A, as published",
    "dbac_t_to_a_matched": "DBAC T to A, matched",
}


class Row(NamedTuple):
    """A score in a table of scores; `judged` if above 0 means amplified."""

    label: str
    key: str
    digits: int
    judged: bool = False


ROWS = {
    "lic": [
        Row("LIC x 100", "lic", 1, True),
        Row("  captioner", "lic_m", 1),
        Row("  human captions", "lic_d", 1),
        Row("leakage x 100", "leakage", 1, True),
        Row("confidence x 100", "confidence", 1, True),
    ],
    "dbac": [
        Row("DBAC A to T, matched", "dbac_a_to_t_matched", 3, True),
        Row("  as published", "dbac_a_to_t", 3),
        Row("DBAC T to A, matched", "dbac_t_to_a_matched", 3, True),
        Row("  as published", "dbac_t_to_a", 3),
        Row("omega A to T, captioner", "omega_m_a_to_t", 3),
        Row("omega A to T, human captions", "omega_h_a_to_t", 3),
        Row("omega T to A, captioner", "omega_m_t_to_a", 3),
        Row("omega T to A, human captions", "omega_h_t_to_a", 3),
    ],
    "directional_ba": [
        Row("directional BA A to T", "directional_ba_a_to_t", 4),
        Row("directional BA T to A", "directional_ba_t_to_a", 4),
        Row("directional BA A to T, human captions", "directional_ba_h_a_to_t", 4),
        Row("directional BA T to A, human captions", "directional_ba_h_t_to_a", 4),
    ],
    "multi_directional_ba": [
        Row("multi-attribute BA A to T", "multi_directional_ba_a_to_t", 4),
        Row("  variance", "multi_directional_ba_a_to_t_variance", 5),
        Row("multi-attribute BA T to A", "multi_directional_ba_t_to_a", 4),
        Row("  variance", "multi_directional_ba_t_to_a_variance", 5),
    ],
    "ba_mals": [Row("BA (MALS)", "ba_mals", 4, True)],
    "dpa": [Row("DPA A to T", "dpa_a_to_t", 3, True), Row("DPA T to A", "dpa_t_to_a", 3, True)],
    "label_leakage": [
        Row("leakage of task labels x 100", "label_leakage", 1, True),
        Row("  captioner", "label_leakage_m", 1),
        Row("  images", "label_leakage_d", 1),
    ],
    "gender_error": [
        Row("captions: second label to first", "ratio", 2),
        Row("  with the wrong label, %", "error", 1),
    ],
}

# What faithful planted captioners read, at most, with a few thousand images: attackers learn from more human captions
# than model captions, which no interval knows of.
SMALL_DBAC = 0.01


def interval(result: Mapping[str, Any], key: str, digits: int) -> str:
    """A score with its 95% interval over images and trials.

    >>> interval({"lic": 1.234, "lic_ci_low": 0.5, "lic_ci_high": 2.0}, "lic", 1)
    '1.2 [0.5, 2.0]'
    """
    if key not in result:
        return NOTHING
    score = _fixed(result[key], digits)
    if f"{key}_ci_low" not in result:
        return score
    return f"{score} [{_fixed(result[f'{key}_ci_low'], digits)}, {_fixed(result[f'{key}_ci_high'], digits)}]"


def verdict(result: Mapping[str, Any], key: str) -> str:
    """What a score and its interval say about 0, in words; a matched DBAC below `SMALL_DBAC` says nothing.

    T to A with tasks that human captions name leans below 0 whatever the captioner does: being there says nothing.

    >>> verdict({"lic": 1.2, "lic_ci_low": 0.5, "lic_ci_high": 2.0}, "lic")
    'amplifies'
    """
    if f"{key}_ci_low" not in result:
        return NOTHING
    if key.endswith("_matched") and abs(result[key]) < SMALL_DBAC:
        return UNCLEAR
    if result[f"{key}_ci_low"] > 0:
        return "amplifies"
    if result[f"{key}_ci_high"] >= 0:
        return UNCLEAR
    leans = key == "dbac_t_to_a_matched" and "|tasks:named|" in result.get("signature", "")
    return LEANS if leans else "mitigates"


def lic_table(result: Mapping[str, Any], labels: int) -> Table:
    """LIC, leakage and confidence of each side, what chance gives, and the difference with its verdict.

    `labels`: how many values the attribute has.
    """
    sides = [side for side in ("m", "d") if f"lic_{side}" in result]
    meaning = "An attacker reads the attribute from captions whose attribute words are masked."
    if len(sides) == 2:
        meaning += " A difference above 0: the captioner's give it away more than people's (amplifies)."
    table = plain_table("LIC x 100 [95% interval]", "", *SCORES.values(), meaning=meaning)
    for side in sides:
        name = "captioner" if side == "m" else "human captions"
        table.add_row(name, *(interval(result, f"{score}_{side}", 1) for score in SCORES))
    chance = 100 / labels
    # An attacker that learned nothing may still be sure of itself, which LIC rewards and confidence does not.
    table.add_row("chance", f"{chance / labels:.1f} or more", f"{chance:.1f}", f"{chance:.1f}")
    if len(sides) == 2:
        table.add_section()
        table.add_row("difference", *(interval(result, score, 1) for score in SCORES), style="bold")
        table.add_row("  verdict", *(verdict(result, score) for score in SCORES))
    return table


def dbac_table(result: Mapping[str, Any]) -> Table:
    """DBAC of each direction: matched with its verdict, published, and the parts they are made of."""
    measured = [direction for direction in DIRECTIONS if any(key.endswith(direction) for key in result)]
    both = any(key.startswith("dbac_") for key in result)
    meaning = "Omega is how surely an attacker tells what the captions hide, each caption by its weight."
    if both:
        meaning = (
            "Above 0 the captioner amplifies its data's bias, below 0 it mitigates it. As published, the score also "
            "moves with how often captions name anything at all; matched to the same naming, it does not. " + meaning
        )
    table = plain_table("DBAC [95% interval]", "", *(DIRECTIONS[d] for d in measured), meaning=meaning)
    if both:
        table.add_row("DBAC, matched", *(interval(result, f"dbac_{d}_matched", 3) for d in measured), style="bold")
        table.add_row("  verdict", *(verdict(result, f"dbac_{d}_matched") for d in measured))
        table.add_row("DBAC, as published", *(interval(result, f"dbac_{d}", 3) for d in measured))
        table.add_row("  its weights alone", *(interval(result, f"dbac_{d}_prior", 3) for d in measured))
    for side, name in (("m", "captioner"), ("h", "human captions")):
        if any(f"omega_{side}_{d}" in result for d in measured):
            table.add_section()
            for label, cells in _omega_rows(result, side, name, measured).items():
                table.add_row(label, *cells)
    return table


def _omega_rows(result: Mapping[str, Any], side: str, name: str, measured: list[str]) -> dict[str, list[str]]:
    """An omega and what it is made of, by the label of the row."""
    rows = {
        f"omega, {name}": [interval(result, f"omega_{side}_{d}", 3) for d in measured],
        "  attacker's mean quality": [_number(result[f"mean_quality_{side}_{d}"]) for d in measured],
        "  mean weight": [_number(result[f"mean_weight_{side}_{d}"]) for d in measured],
        "  test captions": [f"{result[f'test_captions_{side}_{d}']:,.0f}" for d in measured],
        "  effective sample": [f"{result[f'effective_sample_{side}_{d}']:,.0f}" for d in measured],
    }
    if f"coverage_{side}_{measured[0]}" in result:
        rows["    when matched"] = [f"{result[f'effective_sample_matched_{side}_{d}']:,.0f}" for d in measured]
        rows["  named on both sides"] = [f"{result[f'coverage_{side}_{d}']:.0%}" for d in measured]
    return rows


def score_table(results: Mapping[str, Mapping[str, Any]]) -> Table:
    """A row for each score of each metric: its value with the interval, and the verdict where it has one.

    `results`: flat results by the name of their metric.
    """
    table = plain_table(
        "[95% interval]",
        "",
        "score",
        "verdict",
        meaning="Amplifies: the captioner makes its data's bias worse. DBAC as published and directional BA also move "
        "with how often captions name anything at all, so they get no verdict; matched DBAC and DPA do not.",
    )
    for metric, result in results.items():
        rows = [row for row in ROWS[metric] if row.key in result]
        if rows:
            table.add_section()
        for row in rows:
            judged = verdict(result, row.key) if row.judged else ""
            table.add_row(
                row.label, interval(result, row.key, row.digits), judged, style="bold" if row.judged else None
            )
    return table


def comparison_tables(comparison: Comparison) -> Iterator[Table]:
    """The captioners' scores with their intervals and p-values; then every difference with its own."""
    digits = {score: 1 if score.startswith(("lic", "leakage", "confidence")) else 3 for score in comparison.scores}
    table = plain_table(
        "Scores [95% interval]",
        "captioner",
        "score",
        "",
        "p",
        meaning="p: how often chance alone would bring a score this far from 0.",
    )
    for name, result in comparison.results.items():
        table.add_section()
        for number, score in enumerate(comparison.scores):
            p = comparison.p_values[name].get(score)
            table.add_row(
                "" if number else name,
                SCORE_NAMES.get(score, score),
                interval(result, score, digits[score]),
                NOTHING if p is None else p_text(p),
            )
    yield table
    table = plain_table(
        "Differences [95% interval]",
        "",
        "score",
        "difference",
        "p",
        "p, corrected",
        meaning="The first captioner less the second, on the same images, splits and replicates. Corrected: by Holm's "
        f"procedure for {_all_differences(len(comparison.differences))}. In bold: below 0.05.",
    )
    before = None
    for one in comparison.differences:
        pair = f"{one.first} - {one.second}"
        if pair != before:
            table.add_section()
        shown = {"d": one.difference}
        if not math.isnan(one.ci_low):
            shown |= {"d_ci_low": one.ci_low, "d_ci_high": one.ci_high}
        table.add_row(
            "" if pair == before else pair,
            SCORE_NAMES.get(one.score, one.score),
            interval(shown, "d", digits[one.score]),
            p_text(one.p),
            p_text(one.p_holm),
            style="bold" if one.p_holm < 0.05 else None,
        )
        before = pair
    yield table


def _all_differences(count: int) -> str:
    return "the one difference" if count == 1 else f"all {count:,} differences"


def p_text(p: float) -> str:
    """A p-value with three digits behind the point.

    >>> p_text(0.0421), p_text(0.0002), p_text(float("nan"))
    ('0.042', '<0.001', '-')
    """
    if math.isnan(p):
        return NOTHING
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def consistency_tables(study: Study) -> Iterator[Table]:
    """For each score the captioners by encoders, each encoder's ranking in parentheses; then how far encoders agree."""
    agreement = study.consistency()
    for name, values in study.scores.items():
        columns = (*study.encoders, "variation")
        table = plain_table(SCORE_NAMES.get(name, name), "captioner", *columns, meaning="(rank, 1: least bias)")
        ranks = np.argsort(np.argsort(values, axis=0, kind="stable"), axis=0, kind="stable") + 1
        digits = 1 if name == "lic" else 3
        for row, captioner in enumerate(study.captioners):
            variation = agreement[name]["coefficient_of_variation"][captioner]
            cells = (
                NOTHING if math.isnan(value) else f"{_fixed(value, digits)} ({rank})"
                for value, rank in zip(values[row].tolist(), ranks[row].tolist(), strict=True)
            )
            table.add_row(captioner, *cells, NOTHING if math.isnan(variation) else f"{variation:.2f}")
        yield table
    yield _variation_table(study, agreement)
    table = plain_table(
        "Do encoders agree?",
        "score",
        "coefficient of\nvariation",
        "conflicts",
        "correlation",
        meaning="Coefficient of variation: the spread over encoders relative to the mean, averaged over captioners. "
        "Conflicts: how often two encoders disagree on who amplifies. Correlation: Pearson's, of two encoders' scores.",
    )
    for name, found in agreement.items():
        table.add_row(
            SCORE_NAMES.get(name, name),
            _defined(found["mean_coefficient_of_variation"], "{:.2f}"),
            _defined(found["conflict_score"], "{:.0%}"),
            _defined(found["ranking_consistency"], "{:.2f}"),
        )
    yield table


def _variation_table(study: Study, agreement: Mapping[str, Mapping[str, Any]]) -> Table:
    """The coefficient of variation of each captioner and score, and how much smaller than LIC's it is."""
    beside = [name for name in agreement if name != "lic"] if "lic" in agreement else []
    table = plain_table(
        "Coefficient of variation over encoders (below: percent less than LIC's)"
        if beside
        else "Coefficient of variation",
        "captioner",
        *(SCORE_NAMES.get(name, name).replace(", ", ",\n") for name in agreement),
        meaning="",
    )
    rows = {name: found["coefficient_of_variation"] for name, found in agreement.items()}
    means = {name: found["mean_coefficient_of_variation"] for name, found in agreement.items()}
    for captioner in (*study.captioners, "mean"):
        values = {name: means[name] if captioner == "mean" else rows[name][captioner] for name in agreement}
        less = [
            f"\n{_defined(100 * (1 - values[name] / values['lic']), '{:.0f}%')}"
            if name in beside and values["lic"]
            else ""
            for name in agreement
        ]
        table.add_row(
            captioner, *(_defined(values[name], "{:.2f}") + text for name, text in zip(values, less, strict=True))
        )
    return table


def _defined(value: float, form: str) -> str:
    return NOTHING if math.isnan(value) else form.format(value)


def plain_table(title: str, *columns: str, meaning: str) -> Table:
    """A table that fits 80 columns where one with frames would fold its intervals; `meaning` stands below it."""
    return Table(
        *columns,
        title=title,
        title_justify="left",
        caption=f"\n{meaning}" if meaning else None,
        caption_justify="left",
        caption_style="none",
        box=box.SIMPLE,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )


def _fixed(number: float, digits: int) -> str:
    return f"{round(number, digits) + 0.0:.{digits}f}"  # adding 0 takes the sign off -0


def _number(value: float) -> str:
    """Three digits behind the point below 10, none from 1,000 on."""
    return f"{value:,.{3 if value < 10 else 1 if value < 1000 else 0}f}"
