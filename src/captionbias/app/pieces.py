"""Pieces of the page that its steps share, as HTML and as components."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import gradio as gr

from captionbias.errors import Argument, render
from captionbias.report.wording import WORDS

NONE = ("(none)", "")
WORDS = WORDS | {  # of arguments of the library
    "references": "people's captions",
    "attributes": "the labels",
    "prediction_column": "the captioner's captions",
    "reference_column": "people's captions",
    "attribute_column": "the label of each image",
    "task_column": "the tasks of each image",
    "weight_column": "the weight of each image",
    "scene_column": "the scene of each image",
    "id_column": "the image ids",
    "keep": "the choice of labels",
    "language": "the language of the captions",
}


def frame(address: str, title: str) -> str:
    """A result in the page; nothing in it reaches the page, nor anything outside."""
    return (
        f'<iframe src="{address}" title="{title}" '
        'sandbox="allow-scripts allow-downloads allow-modals allow-popups"></iframe>'
    )


def alert(fault: str | Exception, title: str = "That does not work.") -> str:
    """What went wrong, told to screen readers at once."""
    return f'<p role="alert" class="fault"><strong>{title}</strong> {in_words(fault)}</p>' if fault else ""


def in_words(message: str | Exception) -> str:
    """A message of the library as HTML, with what the page calls its arguments."""
    return escape(render(message, words_of))


def words_of(argument: Argument) -> str | None:
    """What the page calls an argument, and what it has in a row; None of what the page has no choice of."""
    words = WORDS.get(argument.name)
    return words if words is None or argument.row is None else f"{words} of image {argument.image or argument.row}"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of cells that are HTML."""
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def choice(label: str, multiselect: bool = False) -> Any:
    """A choice of what users named. It is checked where it is used: gradio would show a stale one as HTML."""
    empty: Any = [] if multiselect else None
    return gr.Dropdown(
        label=label, choices=[], value=empty, multiselect=multiselect, allow_custom_value=True, min_width=200
    )


def chosen(fields: Mapping[str, Any], values: Any) -> dict[Any, Any]:
    """What fields hold, by the attributes of this object that are called like them."""
    held = {field: getattr(values, name) for name, field in fields.items()}
    return {field: gr.update(value=list(value) if isinstance(value, tuple) else value) for field, value in held.items()}
