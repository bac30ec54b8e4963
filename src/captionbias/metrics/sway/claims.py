"""What a captioner of which sway says more does."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from captionbias.bench.sentence import group
from captionbias.metrics.sway.misnaming import KEYS
from captionbias.metrics.sway.questions import LEANS, NAMES, QUESTIONS


def claims(result: Mapping[str, Any], more: Collection[str], called: Mapping[str, str]) -> list[dict[str, str]]:
    """See `captionbias.bench.sentence.claims_of`: whom it names wrong, before what else it does."""
    kinds = {gap: kind for kind, gap in KEYS.items()}
    told: list[dict[str, str]] = [{}, {}]
    for question in sorted(QUESTIONS, key=lambda one: one.takes != LEANS):
        for part in question.parts:
            says = part.key in more and not (part.implied and question.key in more)
            does = part.does.format(**called) or gap_claim(_details(result), kinds[part.key], called["value"])
            told[question.view != NAMES][part.key] = does if says else ""
    return told


def _details(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """The details, or of two values the gaps alone, by their sign."""
    values = [key.removeprefix("wrong_") for key in result if key.startswith("wrong_")]
    sizes = {f"{kind}_gap": result[gap] for kind, gap in KEYS.items() if result.get(gap) is not None}
    pairs = zip(values, (1, -1), strict=True) if len(values) == 2 else ()
    rows = [{"attribute": value, **{kind: sign * size for kind, size in sizes.items()}} for value, sign in pairs]
    return result.get("details") or {"gaps": rows, "level": rows}


def gap_claim(details: Mapping[str, Any], kind: str, value: str) -> str:
    """Who is named wrong, or left out, more often than whom."""
    whose = whose_gap(details, kind)
    if whose is None:
        return f"name one {value} wrong more often"
    one, others = whose[0], [row["attribute"] for row in details["level"] if row["attribute"] != whose[0]]
    oftener = "more often" if whose[1] else "less often"
    if kind == "unnamed":
        than = f"that of {group(others[0])}" if len(others) == 1 else "others"
        return f"leave out the {value} of {group(one)} {oftener} than {than}"
    than = group(others[0]) if len(others) == 1 else "others"
    if {group(one), than} == {"women", "men"}:
        return f"call {group(one)} {than} {oftener} than they call {than} {group(one)}"
    return f"name {group(one)} wrong {oftener} than {than}"


def whose_gap(details: Mapping[str, Any], kind: str) -> tuple[str, bool] | None:
    """The value whose gap ("wrong" or "unnamed") is told of, and whether it is named so more often than others: of two
    values the one that fares worse, of more the one of the largest gap. None where no gap is known."""
    gaps = {row["attribute"]: row[f"{kind}_gap"] for row in details.get("gaps", ()) if f"{kind}_gap" in row}
    if not gaps:
        return None
    value = max(gaps, key=lambda one: gaps[one] if len(gaps) == 2 else abs(gaps[one]))
    return value, gaps[value] > 0
