"""What a captioner of which sway says more does."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
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
    """The details, or of two values the gaps alone, by their sign, and the levels."""
    values = [key.removeprefix("wrong_") for key in result if key.startswith("wrong_")]
    sizes = {f"{kind}_gap": result[gap] for kind, gap in KEYS.items() if result.get(gap) is not None}
    pairs = zip(values, (1, -1), strict=True) if len(values) == 2 else ()
    rows = [
        {"attribute": value, **{kind: sign * size for kind, size in sizes.items()}}
        | {kind: result[f"{kind}_{value}"] for kind in KEYS if f"{kind}_{value}" in result}
        for value, sign in pairs
    ]
    return result.get("details") or {"gaps": rows, "level": rows}


def gap_claim(details: Mapping[str, Any], kind: str, value: str) -> str:
    """Who is named wrong, or left out, more often than whom; where the captions alone do not say so, beside people."""
    whose = whose_gap(details, kind)
    if whose is None:
        return f"name one {value} wrong more often"
    (one, worse), others = whose, [row["attribute"] for row in details["level"] if row["attribute"] != whose[0]]
    than = group(others[0]) if len(others) == 1 else "others"
    named = f"leave {group(one)} out" if kind == "unnamed" else f"name {group(one)} wrong"
    own, person = (_raw_gap(details["level"], key, one) for key in (kind, f"{kind}_person"))
    sign, oftener = (1, "more often") if worse else (-1, "less often")
    beyond = None if own is None or person is None else sign * (own - person)
    if own is not None and sign * own <= 0 and beyond is not None and beyond > 0:
        return f"{named}, beside {than}, {'less seldom' if worse else 'less often'} than people do"
    if own is not None and (sign * own <= 0 or (beyond is not None and beyond <= 0)):
        return f"{named}, beside {than}, {oftener} than people would on images as hard to see"
    if kind == "unnamed":
        whom = f"that of {than}" if len(others) == 1 else than
        return f"leave out the {value} of {group(one)} {oftener} than {whom}"
    if {group(one), than} == {"women", "men"}:
        return f"call {group(one)} {than} {oftener} than they call {than} {group(one)}"
    return f"{named} {oftener} than {than}"


def _raw_gap(levels: Sequence[Mapping[str, Any]], key: str, one: str) -> float | None:
    """By how many of 100 captions a value has more of this than the mean of the others; None where it is not known."""
    known = {row["attribute"]: round(row[key]) for row in levels if row.get(key) is not None}  # as they are shown
    others = [level for value, level in known.items() if value != one]
    return known[one] - sum(others) / len(others) if one in known and others else None


def whose_gap(details: Mapping[str, Any], kind: str) -> tuple[str, bool] | None:
    """The value whose gap ("wrong" or "unnamed") is told of, and whether it is named so more often than others: of two
    values the one that fares worse, of more the one of the largest gap. None where no gap is known."""
    gaps = {row["attribute"]: row[f"{kind}_gap"] for row in details.get("gaps", ()) if f"{kind}_gap" in row}
    if not gaps:
        return None
    value = max(gaps, key=lambda one: gaps[one] if len(gaps) == 2 else abs(gaps[one]))
    return value, gaps[value] > 0
