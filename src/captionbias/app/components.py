"""The components of the page in their layout; each function returns its components by name."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import gradio as gr

from captionbias.app.results import CONTRIBUTIONS
from captionbias.metrics import catalogue

OWN = "my own words"
ATTRIBUTES = ("gender", "race", "age", "emotion", OWN)
TASKS = ("coco_objects", "coco_names", OWN)
KINDS = [".csv", ".tsv", ".json", ".jsonl", ".parquet"]
DIRECTIONS = [(f"{name}: {catalogue.QUESTIONS[key]}", key) for key, name in catalogue.DIRECTIONS.items()]
METRICS = [("DBAC: in which direction?", "dbac"), ("LIC: does it give the attribute away?", "lic")]
FAST = ("fast: seconds to minutes", "fast")
PAPERS = ("the papers' protocols: hours without a GPU", "papers")  # with neural attackers, so with torch

ABOUT = """
# captionbias

Does an image captioner make the bias of its data worse, in which direction, and how certain is that? Upload the
captions of a captioner and human captions of the same images, and see. Files are read on the machine that serves this
page, sent nowhere else, and deleted within two hours.
"""
TERMS = """
An *attribute* is what the people in the images differ in, such as gender; a *task* is what else an image shows, such
as a knife. **DBAC** asks for two directions: *A to T*, does the attribute shape which tasks the captioner names, and
*T to A*, do the tasks shape which attribute it names? **LIC** asks whether its captions give the attribute away at
all. Each is compared with human captions of the same images. An *attacker* is a small model that guesses what the
captions hide; a *trial* trains one.
"""
PROGRAM = """
Every action is an endpoint with a name. A client keeps its own data and results from one call to the next.

| endpoint | what it does |
| :--- | :--- |
| `/read` | takes files: captioners' captions (a list), human captions, labels, tasks; guesses their columns |
| `/example` | takes the example data instead |
| `/columns` | corrects the columns, and keeps some labels only |
| `/preview` | what will be masked |
| `/measure` | measures |
| `/cancel` | cancels the measurement of this client, once it has begun |
| `/results` | the verdicts, notes and scores |
| `/sources`, `/words` | of one captioner: what drives each direction; words and captions |
| `/files` | the report, the data, the tables, and how to reproduce them |
"""
ADDRESS = "http://127.0.0.1:7860"
CODE = """\
from gradio_client import Client, handle_file

client = Client("{address}")
client.predict([handle_file("nic.csv")], handle_file("people.csv"), None, None, api_name="/read")
client.predict("gender", "", "coco_objects", "", ["dbac", "lic"], "fast", 10, 0, api_name="/measure")
print(client.predict(api_name="/results"))
print(client.predict(api_name="/files"))
"""


def data() -> dict[str, Any]:
    """Files, and which of their columns is what."""
    found: dict[str, Any] = {}
    gr.Markdown("## 1. Captions")
    found["example"] = gr.Button("Try it with example data", elem_id="example")
    with gr.Row():
        found["predictions"] = _upload(
            label="The captioner's captions: one file for each captioner",
            file_count="multiple",
            height=170,
            elem_id="predictions",
        )
        found["references"] = _upload(
            label="Human captions, if they are in another file", height=170, elem_id="references"
        )
    with gr.Accordion("Labels or tasks in separate files", open=False), gr.Row():
        found["attributes"] = _upload(label="The label of each image", height=140)
        found["tasks"] = _upload(label="The tasks (objects, activities) of each image", height=140)
    gr.Markdown("CSV, TSV, JSON, JSONL, Parquet, COCO results and COCO captions; joined by image id.")
    found["read"] = gr.Markdown(elem_id="read")
    with gr.Group(visible=False) as group:
        with gr.Row():
            found["image_id"] = _column("Image ids")
            found["prediction_columns"] = _column("The captioner's captions", multiselect=True)
            found["reference_column"] = _column("Human captions")
        with gr.Row():
            found["attribute_column"] = _column("Label of each image")
            found["task_column"] = _column("Tasks of each image")
            found["keep"] = _column("Only images with these labels", multiselect=True)
    found["columns"] = group
    return found


def choice() -> dict[str, Any]:
    """What is measured."""
    found: dict[str, Any] = {}
    gr.Markdown("## 2. What to measure")
    with gr.Accordion("What these terms mean", open=False):
        gr.Markdown(TERMS)
    with gr.Row():
        with gr.Column():
            found["attribute"] = gr.Dropdown(list(ATTRIBUTES), value="gender", label="Attribute")
            found["own_attribute"] = gr.Textbox(
                label="Attribute words",
                info="A line for each value, or JSON.",
                lines=3,
                visible=False,
                placeholder="female: woman, lady, girl\nmale: man, guy, boy",
                elem_id="own-attribute",
            )
        with gr.Column():
            found["task_words"] = gr.Dropdown(list(TASKS), value=TASKS[0], label="Task words")
            found["own_task"] = gr.Textbox(
                label="Your task words",
                info="A line for each task, or JSON.",
                lines=3,
                visible=False,
                placeholder="knife: knife, knives\nsurfboard: surfboard, surf board",
            )
    with gr.Row():
        found["metrics"] = gr.CheckboxGroup(METRICS, value=["dbac", "lic"], label="Metrics")
        found["preset"] = gr.Radio([FAST, PAPERS] if find_spec("torch") else [FAST], value="fast", label="Preset")
    with gr.Row():
        found["trials"] = gr.Slider(2, 20, value=10, step=1, label="Trials: attackers for each set of captions")
        found["seed"] = gr.Number(0, precision=0, minimum=0, label="Seed")
    with (
        gr.Accordion("What will be masked, in the first images", open=True, visible=False) as accordion,
        gr.Row(),
    ):
        found["masked_a_to_t"] = gr.HighlightedText(
            label="In A to T and LIC: the words for the attribute", min_width=320, elem_id="masked-a-to-t"
        )
        found["masked_t_to_a"] = gr.HighlightedText(
            label="In T to A: the words for tasks", min_width=320, elem_id="masked-t-to-a"
        )
    found["masked"] = accordion
    return found


def results() -> dict[str, Any]:
    """What was found."""
    found: dict[str, Any] = {}
    with gr.Column(visible=False, elem_id="results") as column:
        gr.Markdown("## 3. What was found")
        found["summary"] = gr.Markdown(elem_id="summary")
        with gr.Accordion("Notes on these numbers", open=True) as accordion:
            found["notes"] = gr.Markdown(elem_id="notes")
        found["noted"] = accordion
        with gr.Tabs():
            with gr.Tab("Scores"):
                found["scores_plot"] = _plot("scores")
                found["scores"] = _frame("Scores")
            with gr.Tab("Compare", visible=False) as tab:
                found["differences_plot"] = _plot("differences")
                found["differences"] = _frame("Differences")
            found["compare"] = tab
            with gr.Tab("Where it comes from") as tab:
                with gr.Row():
                    found["source_captioner"] = gr.Dropdown([], label="Captioner")
                    found["direction"] = gr.Radio(DIRECTIONS, value="a_to_t", label="Direction")
                found["sources_plot"] = _plot("sources")
                found["sources"] = _frame("Sources")
                found["alignment"] = _frame("What alignment replaced")
            found["origin"] = tab
            with gr.Tab("Words"):
                found["word_captioner"] = gr.Dropdown([], label="Captioner")
                found["captions"] = gr.HighlightedText(
                    label="Captions that give the attribute away: which words speak for it, which against it",
                    color_map=CONTRIBUTIONS,
                    show_inline_category=False,
                    show_legend=True,
                    elem_id="captions",
                )
                found["words"] = _frame("Words")
            with gr.Tab("Quality", visible=False) as tab:
                found["tradeoff"] = _plot("tradeoff")
                found["quality"] = _frame("Quality")
            found["good"] = tab
            with gr.Tab("How sure"):
                found["certainty"] = _frame("How sure")
                found["leaks"] = _frame("Seen in training")
            with gr.Tab("Download"):
                found["files"] = gr.File(
                    label="Report, data and tables", interactive=False, file_count="multiple", elem_id="files"
                )
                found["command"] = gr.Code(language="shell", label="The same run on your machine", elem_id="command")
                found["python"] = gr.Code(language="python", label="The same in Python", elem_id="python")
    found["all"] = column
    return found


def program() -> Any:
    """How a program uses the page; gives the component with the code, which names the page's address."""
    with gr.Accordion("Use it from a program", open=False):
        gr.Markdown(PROGRAM)
        return gr.Code(code(ADDRESS), language="python", label="gradio_client", interactive=False)


def code(address: str) -> str:
    """Lines of Python that use the page at this address."""
    return CODE.format(address=address)


def _upload(**options: Any) -> Any:
    """A file from the user's machine; an address in its place is never opened."""
    upload: Any = gr.File(file_types=KINDS, **options)
    take = upload.async_move_resource_to_block_cache

    async def refuse_addresses(place: str | Path | None) -> str | None:
        if str(place or "").lower().startswith(("http:", "https:")):
            raise gr.Error("An address is not a file: upload the file itself.", print_exception=False)
        taken: str | None = await take(place)
        return taken

    # Not in a subclass: for those gradio writes a file of types beside this one.
    upload.async_move_resource_to_block_cache = refuse_addresses
    return upload


def _column(label: str, multiselect: bool = False) -> Any:
    return gr.Dropdown(label=label, choices=[], value=[] if multiselect else None, multiselect=multiselect)


def _plot(name: str) -> Any:
    return gr.Plot(show_label=False, elem_id=f"{name}-plot")


def _frame(label: str) -> Any:
    return gr.Dataframe(
        label=label, interactive=False, wrap=True, max_height=420, elem_id=f"{label.lower().replace(' ', '-')}-table"
    )
