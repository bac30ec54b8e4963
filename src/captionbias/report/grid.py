"""The one table, of which terminal, Markdown, HTML and CSV are forms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from captionbias.io.formats import csv_text
from captionbias.report.wording import interval, p_text
from captionbias.statistics.samples import Estimate
from captionbias.text.markdown import escaped

if TYPE_CHECKING:
    from rich.table import Table


class Scored(NamedTuple):
    """An estimate and its digits: a single cell as text, three numbers as CSV."""

    estimate: Estimate
    digits: int


Cell = str | float | int | Scored | None


class Strong(list[Cell]):
    """A row in bold, where there is bold."""


RULE: list[Cell] = []  # between two rows


class Column(NamedTuple):
    """A column of text, or of numbers in a `form`, as in `format(number, form)` or "p" for p-values."""

    name: str
    form: str = ""


class Grid(NamedTuple):
    """A table of text and numbers; None where there is nothing. `meaning`: what its columns mean."""

    title: str
    columns: tuple[Column, ...]
    rows: list[list[Cell]]
    meaning: str = ""

    def texts(self) -> Iterator[list[str]]:
        """The rows as text."""
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

        def numbers(cell: Cell, scored: bool) -> tuple[str | float | None, ...]:
            if isinstance(cell, Scored):
                return cell.estimate[:3]
            return (cell, None, None) if scored else (cell,)

        pairs = (zip(row, wide, strict=True) for row in self.rows if row)
        rows = ([number for pair in row for number in numbers(*pair)] for row in pairs)
        return csv_text(names, rows)

    def __rich__(self) -> Table:
        """The table for rich, which fits 80 columns without frames, which would fold its intervals."""
        from rich import box
        from rich.table import Table

        table = Table(
            *(column.name for column in self.columns),
            title=self.title,
            title_justify="left",
            caption=f"\n{self.meaning}" if self.meaning else None,
            caption_justify="left",
            caption_style="none",
            box=box.SIMPLE,
            show_edge=False,
            pad_edge=False,
            padding=(0, 1, 0, 0),
        )
        for row, texts in zip(self.rows, self.texts(), strict=True):
            if row:
                table.add_row(*texts, style="bold" if isinstance(row, Strong) else None)
            else:
                table.add_section()
        return table


def columns(*names: str, form: str = "") -> tuple[Column, ...]:
    """Columns of one form."""
    return tuple(Column(name, form) for name in names)


def cell_text(cell: Cell, form: str) -> str:
    """A cell as text."""
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
