"""The sections of a page: their components in their layout, and what each event does."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import gradio as gr

from captionbias.app import actions, image_actions
from captionbias.app.actions import CUSTOM
from captionbias.app.image_uploads import ARCHIVES, ENDINGS, MAX_BYTES, MAX_IMAGES
from captionbias.app.results import CONTRIBUTIONS
from captionbias.app.upload_state import ATTRIBUTES
from captionbias.metrics import catalogue

QUEUE, HOUR = 32, 3600
# Runs wait for each other where they can be cancelled: in `Runs`.
WAITING: dict[str, Any] = {"concurrency_limit": QUEUE}
# What changes during a reading is read after it: an older reading never ends last. Files wait in lines of their own.
READING: dict[str, Any] = {"concurrency_limit": None, "concurrency_id": "reading", "trigger_mode": "always_last"}
IMAGES = READING
# A part of another endpoint. It has a name, or it would take the name of its function from an endpoint.
UNNAMED: dict[str, Any] = {"api_visibility": "private", "api_name": "part"}

TASKS = ["coco_objects", "coco_names"]
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
JUDGES = all(map(find_spec, ("torch", "accelerate", "PIL", "pycocotools", "ijson")))
IMAGES_ABOUT = f"""
Can the attribute be told from an image and its caption, once neither shows it? **ImageCaptioner2** masks the person in
the image and the words in the caption, and trains a small captioner, the *judge*, to guess on. Images are joined with
captions by their ids: the names of their files without the ending, of COCO's files the number, or the whole names. At
most {MAX_IMAGES:,} images and {MAX_BYTES / 1e6:,.0f} MB. A thousand images take some minutes.
"""
IMAGES_NEED = """
ImageCaptioner2 looks at the images, too. Where this page runs it needs more packages:
`pip install 'captionbias[images]'`. Then this tab takes images, and `captionbias measure imagecaptioner2` measures it
on the command line.
"""
IMAGES_PROGRAM = """\
| `/images` | takes images or archives of them (a list), annotations, and whether the persons are masked already |
| `/measure_images` | measures ImageCaptioner2 |
"""
PROGRAM = """
Every action is an endpoint with a name. A client keeps its own data and results from one call to the next.

| endpoint | what it does |
| :--- | :--- |
| `/read` | takes files: captioners' captions (a list), human captions, labels, tasks; guesses their columns |
| `/example` | takes the example data instead |
| `/columns` | corrects the columns, and keeps some labels only; several columns of labels are crossed |
| `/preview` | what will be masked |
| `/measure` | measures |
{images}| `/cancel` | cancels the measurement of this client, once it has begun |
| `/results` | the verdicts, notes and scores |
| `/sources`, `/words` | of one captioner: what drives each direction; words and captions |
| `/files` | the report, the data, the tables, and how to reproduce them |
""".format(images=IMAGES_PROGRAM if JUDGES else "")
ADDRESS = "http://127.0.0.1:7860"
CODE = """\
from gradio_client import Client, handle_file

client = Client("{address}")
client.predict([handle_file("nic.csv")], handle_file("people.csv"), None, None, api_name="/read")
client.predict(["gender"], "", "coco_objects", "", ["dbac", "lic"], "fast", 10, 0, api_name="/measure")
print(client.predict(api_name="/results"))
print(client.predict(api_name="/files"))
"""


def attribute_choice(*more: str) -> Any:
    """The choice of the words for the labels, to be rendered later: reading captions chooses some."""
    return gr.Dropdown(
        [*ATTRIBUTES, *more],
        value=[ATTRIBUTES[0]],
        multiselect=True,
        label="Attribute",
        info="Whose words are masked. Of several columns of labels one for each, in the same order.",
        render=False,
    )


def captions_section(data: Any, attribute: Any) -> tuple[Any, Any, Any]:
    """Uploads, read into the state `data`, which of their columns is what, and so what the `attribute` is.

    Returns:
        The text about what was read, the button that takes example data, and the event after which these are read.
    """
    gr.Markdown("## 1. Captions")
    example = gr.Button("Try it with example data", elem_id="example")
    with gr.Row():
        predictions = _upload(
            label="The captioner's captions: one file for each captioner",
            file_count="multiple",
            height=170,
            elem_id="predictions",
        )
        references = _upload(label="Human captions, if they are in another file", height=170, elem_id="references")
    with gr.Accordion("Labels or tasks in separate files", open=False), gr.Row():
        attributes = _upload(label="The label of each image", height=140)
        tasks = _upload(label="The tasks (objects, activities) of each image", height=140)
    gr.Markdown("CSV, TSV, JSON, JSONL, Parquet, COCO results and COCO captions; joined by image id.")
    about = gr.Markdown(elem_id="read")
    with gr.Group(visible=False) as group:
        with gr.Row():
            first = [
                _column("Image ids"),
                _column("The captioner's captions", multiselect=True),
                _column("Human captions"),
            ]
        with gr.Row():
            second = [_column("Label of each image", multiselect=True), _column("Tasks of each image")]
            keep = _column("Only images with these labels", multiselect=True)
    uploads, columns = [predictions, references, attributes, tasks], [*first, *second, keep]
    guessed = [data, about, group, *columns, attribute]
    read = gr.on([one.change for one in uploads], actions.read, uploads, guessed, api_name="read", **READING)
    read.failure(actions.read_nothing, None, guessed, **UNNAMED)
    corrected = [one.input for one in columns]
    gr.on(corrected, actions.columns, [data, *columns], [data, keep, attribute], api_name="columns", **READING)
    attribute.input(actions.fitted, [data, attribute], attribute, queue=False, **UNNAMED)
    return about, example, example.click(actions.read_example, None, guessed, api_name="example", **READING)


def words_section(data: Any, about: Any, attribute: Any) -> list[Any]:
    """Whose words are masked, and what will be in the first images; gives the choices of words."""
    gr.Markdown("## 2. What to measure")
    with gr.Accordion("What these terms mean", open=False):
        gr.Markdown(TERMS)
    with gr.Row():
        with gr.Column():
            attribute.render()
            custom_attribute = _custom_words(
                attribute,
                "value",
                label="Attribute words",
                placeholder="female: woman, lady, girl\nmale: man, guy, boy",
            )
        with gr.Column():
            task_words = gr.Dropdown([*TASKS, CUSTOM], value=TASKS[0], label="Task words")
            custom_tasks = _custom_words(
                task_words,
                "task",
                label="Your task words",
                placeholder="knife: knife, knives\nsurfboard: surfboard, surf board",
            )
    with gr.Accordion("What will be masked, in the first images", visible=False) as masked, gr.Row():
        marked = [
            gr.HighlightedText(label=label, min_width=320, elem_id=name)
            for name, label in (
                ("masked-a-to-t", "In A to T, LIC and ImageCaptioner2: the words for the attribute"),
                ("masked-t-to-a", "In T to A: the words for tasks"),
            )
        ]
    words = [attribute, custom_attribute, task_words, custom_tasks]
    gr.on(
        [data.change, attribute.change, task_words.input, custom_attribute.blur, custom_tasks.blur],
        actions.look,
        [data, *words],
        [about, masked, *marked],
        show_progress="hidden",
        api_name="preview",
        **READING,
    )
    return words


def settings_section() -> tuple[list[Any], Any]:
    """What is measured of captions: the last arguments of `actions.measure`, and the button that does it."""
    with gr.Row():
        metrics = gr.CheckboxGroup(METRICS, value=["dbac", "lic"], label="Metrics")
        preset = gr.Radio([FAST, PAPERS] if find_spec("torch") else [FAST], value="fast", label="Preset")
    with gr.Row():
        trials = gr.Slider(2, 20, value=10, step=1, label="Trials: attackers for each set of captions")
        seed = gr.Number(0, precision=0, minimum=0, label="Seed")
    return [metrics, preset, trials, seed], gr.Button("Measure", variant="primary", elem_id="measure")


def images_section() -> tuple[list[Any], Any]:
    """Images, read into a state, and how judges are trained on them: what `image_actions.measure` takes beside captions
    and their words, and the button that does it."""
    pictures = gr.State(None, time_to_live=HOUR)
    gr.Markdown(IMAGES_ABOUT)
    with gr.Row():
        images = _upload(
            [*ARCHIVES, *ENDINGS],
            label="Images, or zip archives of them",
            file_count="multiple",
            height=170,
            elem_id="images",
        )
        with gr.Column():
            annotations = _upload(
                [".json"], label="COCO annotations of the persons in them", height=100, elem_id="annotations"
            )
            masked = gr.Checkbox(label="The persons are masked already, or nobody is shown", elem_id="masked")
    told = gr.Markdown(elem_id="images-read")
    previews = gr.Gallery(
        label="The first images, before and after masking", columns=4, height=260, interactive=False, elem_id="previews"
    )
    with gr.Row():
        trials = gr.Slider(2, 10, value=2, step=1, label="Judges for each set of captions")
        epochs = gr.Slider(1, 40, value=20, step=1, label="Epochs: how often a judge sees each image")
    with gr.Row():
        prompt = gr.Textbox(
            label="What the judge is asked after a caption", placeholder="Therefore, the gender is", max_lines=1
        )
        seed = gr.Number(0, precision=0, minimum=0, label="Seed of the judges")
    uploads, read = [images, annotations, masked], [pictures, told, previews]
    event = gr.on([one.change for one in uploads], image_actions.read, uploads, read, api_name="images", **IMAGES)
    event.failure(image_actions.read_nothing, None, read, **UNNAMED)
    button = gr.Button("Measure with the images", variant="primary", elem_id="measure-images")
    return [pictures, trials, epochs, prompt, seed], button


def results_section(run: Any) -> Any:
    """What was found in the run; gives the column that holds it."""
    with gr.Column(visible=False, elem_id="results") as section:
        gr.Markdown("## 3. What was found")
        summary = gr.Markdown(elem_id="summary")
        with gr.Accordion("Notes on these numbers") as noted:
            notes = gr.Markdown(elem_id="notes")
        with gr.Tabs():
            with gr.Tab("Scores"):
                scores = [_plot("scores"), _frame("Scores"), _frame("Each attribute alone"), _frame("Intersections")]
            with gr.Tab("Compare", visible=False) as compare:
                differences = [_plot("differences"), _frame("Differences")]
            with gr.Tab("Where it comes from") as origin:
                with gr.Row():
                    source_captioner = gr.Dropdown([], label="Captioner")
                    direction = gr.Radio(DIRECTIONS, value="a_to_t", label="Direction")
                sources = [_plot("sources"), _frame("Sources"), _frame("What alignment replaced")]
            with gr.Tab("Words"):
                word_captioner = gr.Dropdown([], label="Captioner")
                captions = gr.HighlightedText(
                    label="Captions that give the attribute away: which words speak for it, which against it",
                    color_map=CONTRIBUTIONS,
                    show_inline_category=False,
                    show_legend=True,
                    elem_id="captions",
                )
                words = [captions, _frame("Words")]
            with gr.Tab("Quality", visible=False) as scored:
                quality = [_plot("tradeoff"), _frame("Quality")]
            with gr.Tab("How sure"):
                certainty = [_frame("How sure"), _frame("Seen in training")]
            with gr.Tab("Download"):
                files = gr.File(
                    label="Report, data and tables", interactive=False, file_count="multiple", elem_id="files"
                )
                command = gr.Code(language="shell", label="The same run on your machine", elem_id="command")
                python = gr.Code(language="python", label="The same in Python", elem_id="python")
    outputs = [section, summary, noted, notes, *scores, compare, *differences, origin, source_captioner]
    outputs += [word_captioner, scored, *quality, *certainty, command, python]
    shown = run.change(actions.show, run, outputs, show_progress="hidden", **UNNAMED)
    # The captioner may have the name of the last run's: then nothing changes that would show the new sources.
    of_captioner = [run, source_captioner, direction]
    for shows in (shown.then, source_captioner.change, direction.change):
        shows(actions.sources, of_captioner, sources, **UNNAMED)
    for shows in (shown.then, word_captioner.change):
        shows(actions.words, [run, word_captioner], words, **UNNAMED)
    shown.then(actions.files, run, files, **UNNAMED)
    # A dropdown takes what it offers, and offers captioners only to whom results were shown.
    captioner, trigger = gr.Textbox(visible=False), gr.Button(visible=False)
    trigger.click(actions.sources, [run, captioner, direction], sources, api_name="sources")
    trigger.click(actions.words, [run, captioner], words, api_name="words")
    trigger.click(actions.overview, run, gr.JSON(visible=False), api_name="results")
    trigger.click(actions.files, run, gr.File(visible=False, file_count="multiple"), api_name="files")
    return section


def program_section() -> Any:
    """How a program uses the page; gives the component with the code, which names the page's address."""
    with gr.Accordion("Use it from a program", open=False):
        gr.Markdown(PROGRAM)
        return gr.Code(code(ADDRESS), language="python", label="gradio_client", interactive=False)


def code(address: str) -> str:
    """Lines of Python that use the page at this address."""
    return CODE.format(address=address)


def _custom_words(choice: Any, of: str, **options: Any) -> Any:
    """A text that is shown while custom words are chosen."""
    info = f"A line for each {of}, or JSON."
    text = gr.Textbox(info=info, lines=3, visible=False, elem_id=f"custom-{of}", **options)
    choice.change(lambda chosen: gr.update(visible=CUSTOM in actions.listed(chosen)), choice, text, **UNNAMED)
    return text


def _upload(kinds: list[str] = KINDS, **options: Any) -> Any:
    """A file from the user's machine; an address in its place is never opened."""
    upload: Any = gr.File(file_types=kinds, **options)
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
