"""The first step: files, and which is what."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import gradio as gr

from captionbias.app import uploads
from captionbias.app.data import (
    CAPTIONER,
    LABELS,
    LEAN,
    MAX_CAPTIONERS,
    MAX_FILES,
    PEOPLE,
    TASKS,
    TITLES,
    UNUSED,
    Data,
    listed,
    missing_files,
)
from captionbias.app.pieces import NONE, alert, choice, table
from captionbias.app.runs import Run, State

ABOUT = """
Drop everything at once: captions of one or more captioners, people's captions of the same images, labels (such as each
person's gender), tasks (such as objects). The page finds out which is which.
"""
KEPT = f"""
Files that end with {", ".join(uploads.ENDINGS)}, captions of COCO and Flickr among them: at most {MAX_FILES} files,
{MAX_CAPTIONERS} captioners, {uploads.MAX_IMAGES:,} images, {uploads.MAX_BYTES / 1e6:,.0f} MB a file and
{uploads.MAX_TOTAL / 1e6:,.0f} MB together.
Files are read on the machine that serves this page, sent nowhere else, and deleted within two hours; reports, which
quote captions, are kept for a day.
"""


class Files:
    """Its components; `roles` by what the files are, see `captionbias.app.data`."""

    def __init__(self) -> None:
        gr.Markdown(ABOUT)
        gr.Markdown(KEPT, elem_classes="small")
        self.uploads = gr.File(
            file_types=[*uploads.ENDINGS], label="Your files", file_count="multiple", elem_id="upload"
        )
        self.read = gr.HTML(elem_id="read")
        with gr.Group(visible=False) as self.roles_group, gr.Row():
            self.roles = {
                CAPTIONER: choice("Captions of captioners, one file each", multiselect=True),
                PEOPLE: choice("People's captions"),
                LABELS: choice("Labels of the images"),
                TASKS: choice("Tasks of the images"),
                LEAN: choice("Which tasks go with whom"),
            }
        with gr.Row():
            self.example = gr.Button("Try it with the example's data", elem_id="take-example")
            self.next = gr.Button("Next: check", variant="primary", interactive=False, elem_id="next")

    def show(self, run: Run, fault: str) -> dict[Any, Any]:
        data, missing = run.data, missing_files(run.data)
        names = [table.name for table in data.tables]
        reading = "<p>The files are being read ...</p>" if run.state == State.READING else ""
        there = [path for path in run.uploads if Path(path).exists()]
        updates = {
            self.uploads: gr.update(value=there or None),
            self.read: alert(fault) + reading + files_table(data) + alert(missing, "Not ready yet:"),
            self.roles_group: gr.update(visible=bool(data)),
            self.next: gr.update(interactive=bool(data) and not missing),
        }
        for role, dropdown in self.roles.items():
            named = [table.name for table in data.of(role)]
            if role == CAPTIONER:
                updates[dropdown] = gr.update(choices=names, value=named)
            else:
                updates[dropdown] = gr.update(choices=[NONE, *names], value=named[0] if named else "")
        return updates


def given_after(before: Sequence[str], paths: Sequence[str]) -> tuple[str, ...]:
    """The files that are given, where a new one takes the place of one of its name from before."""
    new = {Path(path).name for path in paths if path not in before}
    return tuple(dict.fromkeys(path for path in paths if path not in before or Path(path).name not in new))


def files_table(data: Data) -> str:
    """Each file, what it is, and the columns of it that are read."""
    read = {column for names in vars(data.columns).values() for column in listed(names)}
    rows = []
    for each_table in data.tables:
        role = data.roles[each_table.name]
        used = [column for column in each_table.columns if column in read and role != UNUSED]
        rows.append(
            [escape(cell) for cell in (each_table.name, TITLES[role], ", ".join(used or each_table.columns[:6]))]
        )
    return table(("file", "what it is", "columns"), rows) if rows else ""
