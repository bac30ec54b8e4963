"""Results for people to read, and files with everything."""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.table import Table

DIRECTIONS = {
    "a_to_t": ("A to T", "does the attribute shape the tasks?"),
    "t_to_a": ("T to A", "do the tasks shape the attribute?"),
}
NOTHING = "-"


def interval(result: Mapping[str, Any], key: str, digits: int) -> str:
    """A score with its 95% interval over images and trials.

    >>> interval({"lic": 1.234, "lic_ci_low": 0.5, "lic_ci_high": 2.0}, "lic", 1)
    '1.2 [0.5, 2.0]'
    """
    if key not in result:
        return NOTHING
    score = f"{result[key]:.{digits}f}"
    if f"{key}_ci_low" not in result:
        return score
    return f"{score} [{result[f'{key}_ci_low']:.{digits}f}, {result[f'{key}_ci_high']:.{digits}f}]"


def verdict(result: Mapping[str, Any], key: str) -> str:
    """What an interval says about 0, in words.

    >>> verdict({"lic": 1.2, "lic_ci_low": 0.5, "lic_ci_high": 2.0}, "lic")
    'amplifies'
    """
    if f"{key}_ci_low" not in result:
        return NOTHING
    if result[f"{key}_ci_low"] > 0:
        return "amplifies"
    return "mitigates" if result[f"{key}_ci_high"] < 0 else "no clear change"


def lic_table(result: Mapping[str, Any]) -> Table:
    """LIC, leakage and confidence of both sides and their difference."""
    table = Table("score", "captioner (M)", "human captions (D)", "M - D", "reads", title="LIC, x 100, 95% intervals")
    for score in ("lic", "leakage", "confidence"):
        cells = [interval(result, key, 1) for key in (f"{score}_m", f"{score}_d", score)]
        table.add_row(score, *cells, verdict(result, score))
    return table


def dbac_table(result: Mapping[str, Any]) -> Table:
    """DBAC of each direction: published, matched, and the parts they are made of."""
    measured = [direction for direction in DIRECTIONS if any(key.endswith(direction) for key in result)]
    table = Table("", *(f"{DIRECTIONS[d][0]}\n{DIRECTIONS[d][1]}" for d in measured), title="DBAC, 95% intervals")
    if any(key.startswith("dbac_") for key in result):
        table.add_row("DBAC matched", *(interval(result, f"dbac_{d}_matched", 3) for d in measured), style="bold")
        table.add_row("  reads", *(verdict(result, f"dbac_{d}_matched") for d in measured))
        table.add_row("DBAC as published", *(interval(result, f"dbac_{d}", 3) for d in measured))
        table.add_row("  its weights alone", *(interval(result, f"dbac_{d}_prior", 3) for d in measured))
        table.add_section()
    for side, name in (("m", "captioner"), ("h", "human captions")):
        if f"omega_{side}_{measured[0]}" not in result:
            continue
        table.add_row(f"omega, {name}", *(interval(result, f"omega_{side}_{d}", 3) for d in measured))
        table.add_row("  attacker's mean quality", *(_number(result, f"mean_quality_{side}_{d}") for d in measured))
        table.add_row("  mean weight", *(_number(result, f"mean_weight_{side}_{d}") for d in measured))
        table.add_row("  effective sample", *(_number(result, f"effective_sample_{side}_{d}", 0) for d in measured))
        if f"coverage_{side}_{measured[0]}" in result:
            matched = [_number(result, f"effective_sample_matched_{side}_{d}", 0) for d in measured]
            table.add_row("  effective sample, matched", *matched)
            table.add_row("  named on both sides", *(f"{result[f'coverage_{side}_{d}']:.0%}" for d in measured))
    return table


def _number(result: Mapping[str, Any], key: str, digits: int = 3) -> str:
    return f"{result[key]:,.{digits}f}"


def write_json(content: Mapping[str, Any], path: Path) -> None:
    """Write a result as JSON, whole or not at all; what is undefined becomes null.

    Raises:
        ValueError: the folder does not exist or cannot be written to.
    """
    text = json.dumps(_plain(content), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=path.parent, prefix=f".{path.name}.", delete=False
        ) as file:
            file.write(text)
        os.chmod(file.name, 0o644)
        os.replace(file.name, path)
    except OSError as error:
        raise ValueError(
            f"{path} cannot be written: {error.strerror}; name a file in a folder you can write to"
        ) from error


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
