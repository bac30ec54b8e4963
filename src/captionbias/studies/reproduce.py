"""The experiments of the papers, for your captioners."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from captionbias.captions import Captions
from captionbias.errors import missing, unknown
from captionbias.report.grid import Cell, Grid, columns
from captionbias.studies import papers  # noqa: F401  fills TABLES
from captionbias.studies.tables import TABLES, VECTORS, Experiment, PaperTable
from captionbias.warnings import warn


def find_table(paper: str, name: str) -> PaperTable:
    """A table by its paper and name; ValueError if there is none."""
    if paper not in TABLES:
        raise unknown("paper", paper, TABLES)
    if name not in TABLES[paper]:
        raise unknown("table", name, TABLES[paper])
    return TABLES[paper][name]


def reproduce(
    paper: str,
    name: str,
    captioners: Mapping[str, Captions],
    *,
    encoders: Sequence[str] = (),
    vectors: Sequence[Any] = VECTORS,
    shares: Mapping[str, float] | None = None,
    fast: bool = False,
    watch: Callable[[str], object] = str,
    **options: Any,
) -> Experiment:
    """Measure a table of a paper on captioners of your own, by the paper's protocol.

    Args:
        paper, name: such as `dbac-2026` and `table-9`; `captionbias reproduce` lists all.
        captioners: by their names; a captioner that is called as one of the paper's has the printed numbers beside it.
        encoders: attackers in place of the table's.
        vectors: word vectors of contextual substitution. The first stand beside the paper's GloVe, the second beside
            its FastText.
        shares: of a table of masking, percent of attributions outside the person, by captioner.
        fast: take convex attackers in place of networks.
        watch: called with what is measured next.
        options: of the metrics, in place of the protocol's, such as `trials`, `seed`, `bootstrap` or `images`.

    >>> from captionbias.captions import check_captions
    >>> from captionbias.synthetic import plant
    >>> captioners = {"nic": check_captions(**vars(plant(200, t_to_a=0.5)))}
    >>> found = reproduce("dbac-2026", "table-9", captioners, fast=True, vectors=["captions"], trials=2, bootstrap=0)
    >>> found.table.print_of("T to A", "nic")
    27.43
    """
    table = find_table(paper, name)
    lacking = {"predictions": not captioners, "images": "images" not in options}
    for need in table.needs:
        if lacking.get(need):
            raise missing(need, f"must be given: {paper} {name} is measured on them")
    for row in captioners:
        if near := table.near_name(row):
            warn(f"{row!r} is not a captioner of {paper}: is it {near!r}? Then call it so, and print is beside it")
    experiment = Experiment(table, captioners, encoders, vectors, shares or {}, fast, watch, options)
    table.measure(experiment)
    return experiment


def listing() -> Iterator[Grid]:
    for paper, tables in TABLES.items():
        ordered = sorted(tables.values(), key=lambda one: int(re.findall(r"\d+", one.name)[0]))
        rows: list[list[Cell]] = [
            [one.name, one.title.format(attacker=one.attacker), ", ".join(one.needs)] for one in ordered
        ]
        yield Grid(f"{paper}: {ordered[0].source}", columns("table", "what it measures", "needs"), rows)
