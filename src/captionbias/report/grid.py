"""The one table, of which terminal, Markdown, HTML and CSV are forms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from captionbias.text.markdown import escaped

if TYPE_CHECKING:
    from rich.table import Table

Cell = str | float | int | None


class Strong(list[Cell]):
    """A row in bold, where there is bold."""


RULE: list[Cell] = []  # between two rows


class Column(NamedTuple):
    """`form`: how its numbers are written, as in `format(number, form)`; empty for text."""

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

    def __rich__(self) -> Table:
        """As rich prints it, on 80 columns, where frames would fold its intervals."""
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


def grouped(groups: Iterable[tuple[Sequence[str], Iterable[list[Cell]]]]) -> list[list[Cell]]:
    """The rows of each group below a rule, with the group's first cells in the first of them alone.

    >>> grouped([(["nic"], [["lic", 1], ["sway", 2]])])
    [[], ['nic', 'lic', 1], ['', 'sway', 2]]
    """
    rows = []
    for head, members in groups:
        rows.append(RULE)
        for row in members:
            rows.append(type(row)([*head, *row]))
            head = [""] * len(head)
    return rows


def cell_text(cell: Cell, form: str) -> str:
    """A cell as text."""
    if cell is None:
        return "-"
    if isinstance(cell, str):
        return cell
    text = format(cell, form)
    return text[1:] if text.startswith("-") and not any(digit in text for digit in "123456789") else text
