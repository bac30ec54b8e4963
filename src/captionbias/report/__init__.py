"""Results for people to read, and files with everything."""

from __future__ import annotations

from captionbias.io.files import write_text
from captionbias.io.formats import write_json
from captionbias.report.terminal import (
    NOTHING,
    ROWS,
    SCORE_NAMES,
    comparison_tables,
    consistency_tables,
    dbac_table,
    interval,
    lic_table,
    p_text,
    plain_table,
    score_table,
    verdict,
)

__all__ = [
    "NOTHING",
    "ROWS",
    "SCORE_NAMES",
    "comparison_tables",
    "consistency_tables",
    "dbac_table",
    "interval",
    "lic_table",
    "p_text",
    "plain_table",
    "score_table",
    "verdict",
    "write_json",
    "write_text",
]
