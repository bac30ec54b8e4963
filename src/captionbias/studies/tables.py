"""A table of a paper, and the experiment that measures it, beside what was printed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from captionbias.bench.attacks import GAIN, KEYS
from captionbias.bench.catalogue import DIRECTIONS, SIDES
from captionbias.captions import Captions
from captionbias.metrics import Measurement, find_metric
from captionbias.report.grid import Cell, Grid, Scored, columns
from captionbias.statistics.samples import Estimate

CONVEX = ("bow", "linear")
VECTORS = ("glove-wiki-gigaword-50", "fasttext-wiki-news-subwords-300")  # of DBAC's paper, by gensim's names
TOLD = ("trials", "seeds", "epochs")
ALIASES = {"updn": "updown", "nicplusequalizer": "nicequalizer"}  # the papers call one captioner by two names
NEAR = 0.7  # of two names, by difflib: from here on one may be meant by the other


@dataclass(frozen=True)
class PaperTable:
    """A table of a paper and how it is measured; all but `measure` is data, in `printed/`.

    Attributes:
        source: of the paper.
        checkpoints: names that captioners of the paper have beside its own, without signs and blanks.
        title, digits: of the table; `{attacker}` in the title is the paper's `attacker` or what takes its place.
        attribute, labels: what is measured, and of images with which labels, all when empty.
        images: how many the paper has.
        needs: what it cannot do without.
        differs: what is known to differ from print.
        printed: the numbers, by column and row; none of a figure.
    """

    paper: str
    name: str
    measure: Callable[[Experiment], None]
    source: str
    title: str
    attacker: str = ""
    checkpoints: Mapping[str, str] = field(default_factory=dict)
    attribute: str = "gender"
    labels: Sequence[str] = ()
    images: int = 10_780
    digits: int = 2
    needs: Sequence[str] = ("predictions", "references")
    differs: str = ""
    printed: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def print_of(self, column: str, row: str) -> float | None:
        """The printed number of a column for a captioner of this name."""
        return self.printed.get(column, {}).get(self.printed_name(row) or "")

    def printed_name(self, row: str) -> str | None:
        """What the paper calls a captioner, whatever signs and capitals its name has; None for one that it has not."""
        letters = {**ALIASES, **self.checkpoints}.get(_letters(row), _letters(row))
        return next((name for name in self.names if _letters(name) == letters), None)

    def near_name(self, row: str) -> str | None:
        """The captioner of the paper that one of another name may be."""
        near = get_close_matches(_letters(row), map(_letters, self.names), 1, NEAR)
        return self.printed_name(near[0]) if near and self.printed_name(row) is None else None

    @property
    def names(self) -> list[str]:
        """The rows that the paper prints."""
        return [*dict.fromkeys(row for of in self.printed.values() for row in of)]


def _letters(name: str) -> str:
    return re.sub(r"[\W_]", "", name.lower().replace("+", "plus"))


TABLES: dict[str, dict[str, PaperTable]] = {}  # by paper and name; the modules of `papers` fill it


def table(paper: str, *names: str) -> Callable[[Callable[[Experiment], None]], Callable[[Experiment], None]]:
    """Make a function that measures tables of a paper some of `TABLES`."""
    file = Path(__file__).with_name("printed") / f"{paper}.json"
    facts = json.loads(file.read_text(encoding="utf-8"))
    tables = facts.pop("tables")

    def made(measure: Callable[[Experiment], None]) -> Callable[[Experiment], None]:
        for name in names:
            TABLES.setdefault(paper, {})[name] = PaperTable(paper, name, measure, **facts, **tables[name])
        return measure

    return made


@dataclass(eq=False)
class Experiment:
    """A table on some captioners, filled by its function.

    Attributes:
        encoders: attackers in place of the table's.
        vectors: the word vectors of contextual substitution.
        shares: percent of attributions outside the person, by captioner.
        fast: whether convex attackers take the place of networks.
        options: of metrics, in place of the protocol's.
        columns: estimates by column and row.
        gains: likewise, what attackers learned.
        attacked_by: the attackers of the table, or those in their place.
        signatures: of everything that was measured.
    """

    table: PaperTable
    captioners: Mapping[str, Captions]
    encoders: Sequence[str]
    vectors: Sequence[Any]
    shares: Mapping[str, float]
    fast: bool
    watch: Callable[[str], object]
    options: Mapping[str, Any]
    columns: dict[str, dict[str, Estimate]] = field(default_factory=dict)
    gains: dict[str, dict[str, Estimate]] = field(default_factory=dict)
    signatures: list[str] = field(default_factory=list)
    attacked_by: Sequence[str] = ()

    def attackers(self, *of_paper: str) -> Sequence[str]:
        """The table's attackers, or those in their place: one for one."""
        chosen = self.encoders or (CONVEX if self.fast else of_paper)
        self.attacked_by = chosen if len(of_paper) > 1 else chosen[:1]
        return self.attacked_by

    def measured(self, metric: str, *captions: Captions, **protocol: Any) -> Measurement:
        """Captions, or the protocol's labels, by a metric with the protocol's options but for those that were given."""
        asked = find_metric(metric)
        options = dict(self.options)
        if not asked.entry.of_images:
            options.pop("images", None)  # others could read them, which no paper's table asks
        if metric == "imagecaptioner2" and self.fast:
            protocol["preset"] = "fast"
        if metric in ("lic", "dbac") and "encoder" not in protocol:
            protocol["encoder"] = next(iter(self.attackers()), None)
        aligned = protocol.get("alignment", "contextual" if metric == "dbac" else None) == "contextual"
        if aligned and captions and captions[0].predictions:
            protocol.setdefault("vectors", self.vectors[0])
        if "seeds" in protocol:  # the paper's; fewer trials have the first of them
            protocol["seeds"] = protocol["seeds"][: options.pop("trials", None)]
        measured = asked.measure(
            *captions, **asked.accepted({"attribute_lexicon": self.table.attribute, **protocol, **options})
        )
        self.signatures.append(measured.signature)
        return measured

    def score(self, metric: str, titles: Mapping[str, str], scale: float = 1.0, **protocol: Any) -> None:
        """A column for each of a metric's scores, by their titles, and what attackers learned."""
        directions, encoder = protocol.get("directions", ()), protocol.get("encoder")
        stem = "_".join([metric, *directions, GAIN])
        asked = " ".join([find_metric(metric).entry.title, *map(DIRECTIONS.__getitem__, directions)])
        for name, captions in self.captioners.items():
            self.watch(f"{name}: {', '.join(titles)}")
            estimates = self.measured(metric, captions, **protocol).estimates
            self.put(name, {title: estimates[key] for title, key in titles.items() if key in estimates}, scale)
            for side, end in KEYS.items():
                if gain := estimates.get(f"{stem}_{end}"):
                    column = f"{asked}{f', {encoder}' if encoder else ''}: {SIDES[side]}"
                    self.gains.setdefault(column, {})[name] = gain

    def put(self, row: str, values: Mapping[str, Estimate | float], scale: float = 1.0) -> None:
        """Numbers of a row by the titles of their columns."""
        for title, value in values.items():
            numbers = value[:4] if isinstance(value, Estimate) else (float(value),)
            scaled = [None if number is None else scale * number for number in numbers]
            self.columns.setdefault(title, {})[row] = Estimate(*scaled)  # type: ignore[arg-type]

    def grids(self) -> Iterator[Grid]:
        """The table, each column beside print, and what attackers learned."""
        table, rows = self.table, [*dict.fromkeys(row for column in self.columns.values() for row in column)]
        cells: dict[str, list[Cell]] = {}
        for title, column in self.columns.items():
            cells[title] = [_cell(column.get(row), table.digits) for row in rows]
            if any(table.print_of(title, row) is not None for row in rows):
                cells[f"{title},\nprinted"] = [table.print_of(title, row) for row in rows]
        yield _grid(f"{table.paper}, {table.name}: {self.title}", rows, cells, table.digits, self.about)
        if self.gains:
            gains = {title: [_cell(column.get(row), 1) for row in rows] for title, column in self.gains.items()}
            title = "What attackers learned: points of 100 by which the truth is more probable than by base rates"
            meaning = "An attacker whose interval does not lie above 0 has learned nothing, and its score says nothing."
            yield _grid(title, rows, gains, 1, meaning)

    @property
    def title(self) -> str:
        """The table's, with the attackers that were taken."""
        taken = ", ".join(self.attacked_by) if self.fast or self.encoders else self.table.attacker
        return self.table.title.format(attacker=taken)

    @property
    def about(self) -> str:
        """What was measured and how, and what is known to differ from print."""
        table, parts = self.table, []
        if images := len(next(iter(self.captioners.values()), ())):
            parts.append(f"{images:,} images; the paper has {table.images:,}.")
        others = ["convex attackers"] if self.fast else []
        if self.encoders:
            others.append(f"encoder {', '.join(self.encoders)}")
        if self.vectors != VECTORS:
            others.append(f"vectors {', '.join(map(str, self.vectors))}")
        others += [f"{name} {self.options[name]}" for name in TOLD if name in self.options]
        if others:
            parts.append(f"Not the paper's: {', '.join(others)}.")
        rows = {table.printed_name(row) for column in self.columns.values() for row in column}
        if table.names and rows.isdisjoint(table.names):
            parts.append(f"No row has a printed name: {', '.join(table.names)}.")
        if table.differs:
            parts.append(f"Known to differ from print: {table.differs}.")
        return " ".join(parts)

    def as_dict(self) -> dict[str, Any]:
        """Everything, for a JSON file; `printed` is None where the paper has no number."""
        table = self.table
        columns = {
            title: {row: {**one.flat("value"), "printed": table.print_of(title, row)} for row, one in column.items()}
            for title, column in self.columns.items()
        }
        gains = {
            title: {row: gain.flat("value") for row, gain in column.items()} for title, column in self.gains.items()
        }
        facts = {"paper": table.paper, "table": table.name, "title": self.title, "source": table.source}
        return {**facts, "about": self.about, "columns": columns, "gains": gains, "signatures": self.signatures}


def _cell(estimate: Estimate | None, digits: int) -> Cell:
    return estimate.value if estimate and estimate.low is None else estimate and Scored(estimate, digits)


def _grid(title: str, rows: list[str], cells: Mapping[str, list[Cell]], digits: int, meaning: str) -> Grid:
    heads = columns("") + columns(*cells, form=f".{digits}f")
    body = [[row, *values] for row, *values in zip(rows, *cells.values(), strict=True)]
    with_intervals = any(isinstance(cell, Scored) for row in body for cell in row)
    return Grid(f"{title}{' [95% interval]' * with_intervals}", heads, body, meaning)
