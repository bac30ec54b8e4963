"""The one table, of which terminal, Markdown, HTML and CSV are forms."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

from captionbias.io.formats import csv_text
from captionbias.report.wording import interval, p_text
from captionbias.statistics.samples import Estimate
from captionbias.text.markdown import escaped

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType

GAP = 2  # blanks between two columns in a terminal
LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
NO_BREAK = "\xa0"  # stands for a blank that no line is folded at


class Scored(NamedTuple):
    """An estimate and its digits: a single cell as text, three numbers as CSV."""

    estimate: Estimate
    digits: int


Cell = str | float | int | Scored | None


class Strong(list[Cell]):
    """A row in bold, where there is bold."""


RULE: list[Cell] = []  # between two rows


class GridColumn(NamedTuple):
    """A column of text, or of numbers in a `form`, as in `format(number, form)` or "p" for p-values."""

    name: str
    form: str = ""


class Grid(NamedTuple):
    """A table of text and numbers; None where there is nothing. `meaning`: what its columns mean."""

    title: str
    columns: tuple[GridColumn, ...]
    rows: list[list[Cell]]
    meaning: str = ""

    def texts(self) -> Iterator[list[str]]:
        for row in self.rows:
            yield [cell_text(cell, column.form) for cell, column in zip(row, self.columns, strict=bool(row))]

    def markdown(self) -> Iterator[str]:
        """The lines of the table in Markdown, with its meaning."""
        yield f"| {' | '.join(escaped(column.name) for column in self.columns)} |"
        yield f"| {' | '.join('---:' if column.form else ':---' for column in self.columns)} |"
        for row in self.texts():
            cells = (
                text if column.form or text == "-" else escaped(text)
                for text, column in zip(row, self.columns, strict=True)
            )
            yield f"| {' | '.join(cells)} |"
        yield ""
        if self.meaning:
            yield from (self.meaning, "")

    def csv(self) -> str:
        """The table as CSV: scores as values, with the ends of their intervals in columns beside them."""
        wide = [any(isinstance(row[i], Scored) for row in self.rows if row) for i in range(len(self.columns))]
        names = [
            name
            for column, scored in zip(self.columns, wide, strict=True)
            for name in (column.name, *["low", "high"] * scored)
        ]

        def numbers(row: list[Cell]) -> Iterator[str | float | None]:
            for cell, scored in zip(row, wide, strict=True):
                yield from cell.estimate[:3] if isinstance(cell, Scored) else (cell, *[None, None] * scored)

        return csv_text(names, (list(numbers(row)) for row in self.rows if row))

    def latex(self) -> Iterator[str]:
        """The lines of the table in LaTeX, for booktabs."""
        yield rf"\begin{{tabular}}{{{''.join('r' if column.form else 'l' for column in self.columns)}}}"
        for number, cells in enumerate([[column.name for column in self.columns], *self.texts()]):
            yield from {0: [r"\toprule"], 1: [r"\midrule"]}.get(number, [])
            yield " & ".join(map(latex_text, cells)) + r" \\"
        yield from (r"\bottomrule", r"\end{tabular}", "")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """The table for rich, without frames, which would take room. Text folds at blanks, outside of intervals;
        columns for which there is no room go below, beside the first one again."""
        from rich import box
        from rich.table import Table
        from rich.text import Text

        rows = [*self.texts()]
        texts = [*zip([column.name for column in self.columns], *filter(None, rows), strict=True)]
        if self.title:
            yield Text(self.title, style="table.title")
        for part in _widths(texts, options.max_width):
            table = Table(box=box.SIMPLE, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
            for column, width in part.items():
                table.add_column(Text(_folded(texts[column][0], width)), width=width, overflow="fold")
            for row, cells in zip(self.rows, rows, strict=True):
                if row:
                    folded = [Text(_folded(cells[column], width)) for column, width in part.items()]
                    table.add_row(*folded, style="bold" if isinstance(row, Strong) else None)
                else:
                    table.add_section()
            yield from (table, "")
        if self.meaning:
            yield Text(self.meaning)


def _widths(texts: Sequence[Sequence[str]], room: int) -> list[dict[int, int]]:
    """The columns of each part of a table of these texts, by column, and their widths: at least their longest words."""
    from rich.cells import cell_len

    words = [max(map(cell_len, chain.from_iterable(map(_words, column)))) for column in texts]
    first = max(1, min(words[0], room // 2))
    least = [first, *(max(1, min(width, room - first - GAP)) for width in words[1:])]
    parts = [{0: first}]
    for column, width in enumerate(least[1:], 1):
        if sum(parts[-1].values()) + GAP * len(parts[-1]) + width > room:
            parts.append({0: first})
        parts[-1][column] = width
    for part in parts:
        left = max(0, room - sum(part.values()) - GAP * (len(part) - 1))
        lines = {column: chain.from_iterable(map(str.splitlines, texts[column])) for column in part}
        wanted = {column: max(map(cell_len, lines[column])) - width for column, width in part.items()}
        for others, column in zip(range(len(part) - 1, -1, -1), sorted(part, key=wanted.__getitem__), strict=True):
            more = min(wanted[column], left // (others + 1))
            part[column], left = part[column] + more, left - more
    return parts


def _words(text: str) -> list[str]:
    """What no line is folded in, words and intervals, each as far indented as the text."""
    indent = text[: len(text) - len(text.lstrip())]
    unbroken = re.sub(r"\[[^\[\]]+\]|at least [-\d]", lambda interval: interval[0].replace(" ", NO_BREAK), text)
    return [f"{indent}{word}" for word in re.split("[ \n]", unbroken) if word] or [""]


def _folded(text: str, width: int) -> str:
    """The text in lines of this width, each as far indented as its first."""
    folded: list[str] = []
    for line in text.splitlines():
        indent = line[: len(line) - len(line.lstrip())][: width - 1]
        words = " ".join(word.lstrip() for word in _words(line))
        folded += wrap(words, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
    return "\n".join(folded).replace(NO_BREAK, " ")


def latex_text(text: str) -> str:
    return re.sub(r"[&%$#_{}~^\\]", lambda sign: LATEX.get(sign[0], rf"\{sign[0]}"), text)


def columns(*names: str, form: str = "") -> tuple[GridColumn, ...]:
    return tuple(GridColumn(name, form) for name in names)


def cell_text(cell: Cell, form: str) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, str):
        return cell
    if isinstance(cell, Scored):
        return interval(cell.estimate, cell.digits)
    if form == "p":
        return p_text(cell)
    text = format(cell, form)
    return text[1:] if text.startswith("-") and not any(digit in text for digit in "123456789") else text
