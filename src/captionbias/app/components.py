"""What the page shows: its components in their layout, and what they hold for the data and the run of a session."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import gradio as gr

from captionbias.app import actions, results, uploads
from captionbias.app.actions import CUSTOM
from captionbias.app.data import ATTRIBUTES, MAX_CAPTIONERS, SEVERAL, Data, choices_of
from captionbias.app.example import TRIALS
from captionbias.app.roles import LABELS, PEOPLE, TASKS, TITLES, UNUSED
from captionbias.app.sessions import Session
from captionbias.metrics import catalogue

METRICS = catalogue.REPORTED
TASK_WORDS = ["coco_objects", "coco_names"]
FAST = ("fast: seconds to minutes", "fast")
PAPERS = ("the papers' protocols: hours without a GPU", "papers")  # with neural attackers, so with torch
NONE = ("(none)", "")
JUDGES = all(map(find_spec, ("torch", "accelerate", "PIL", "pycocotools", "ijson")))

ABOUT = "Does an image captioner make the bias of its data worse? In which direction, and how certain is that?"
EXAMPLE = "**An example**: two made-up captioners, one with a planted bias."
FILES = """
Drop everything at once: captions of one or more captioners, people's captions of the same images, labels (such as each
person's gender), tasks (such as objects). The page finds out which is which.
"""
KEPT = f"""
CSV, TSV, JSON, JSONL, Parquet, COCO results and COCO captions: at most {MAX_CAPTIONERS} captioners of
{uploads.MAX_IMAGES:,} images, {uploads.MAX_BYTES / 1e6:,.0f} MB a file. Files are read on the machine that serves
this page, sent nowhere else, and deleted within two hours.
"""
TERMS = """
An *attribute* is what the people in the images differ in, such as gender; a *task* is what else an image shows, such
as a knife. **DBAC** asks for two directions: *A to T*, does the attribute shape which tasks the captioner names, and
*T to A*, do the tasks shape which attribute it names? **LIC** asks whether its captions give the attribute away at
all. Each is compared with people's captions of the same images. An *attacker* is a small model that guesses what the
captions hide; a *trial* trains one.
"""
IMAGES_ABOUT = f"""
Can the attribute be told from an image and its caption, once neither shows it? **ImageCaptioner2** masks the person in
the image and the words in the caption, and trains a small captioner, the *judge*, to guess on. Images are joined with
captions by their ids: the names of their files without the ending, of COCO's files the number, or the whole names. At
most {uploads.MAX_PICTURES:,} images and {uploads.MAX_TOTAL / 1e6:,.0f} MB. A thousand images take some minutes.
"""
IMAGES_NEED = """
ImageCaptioner2 looks at the images, too. Where this page runs it needs more packages:
`pip install 'captionbias[images]'`. Then images can be given here, and `captionbias measure imagecaptioner2` measures
it on the command line.
"""
IMAGES_PROGRAM = """\
| `/images` | takes images or archives of them (a list), annotations, and whether the persons are masked already |
| `/measure_images` | measures ImageCaptioner2 |
"""
PROGRAM = """
Every action is an endpoint with a name. A client keeps its own data and results from one call to the next.

| endpoint | what it does |
| :--- | :--- |
| `/read` | takes files (a list), finds out which is what, and guesses their columns |
| `/example` | takes the example data instead |
| `/roles` | corrects what the files are, by their names: captioners (a list), people, labels, tasks |
| `/columns` | corrects the columns, and keeps some labels only; several columns of labels are crossed |
| `/undo` | takes back the last of these changes |
| `/preview` | what will be measured and masked |
| `/measure` | measures |
{images}| `/cancel` | cancels the measurement of this client, once it has begun |
| `/results` | the verdicts, notes, scores, what drives them, and words |
| `/files` | the report, the data, the tables, and how to reproduce them |
"""
ADDRESS = "http://127.0.0.1:7860"
CODE = """\
from gradio_client import Client, handle_file

client = Client("{address}")
client.predict([handle_file("nic.csv"), handle_file("people.csv")], api_name="/read")
client.predict(["gender"], "", "coco_objects", "", {metrics}, "fast", 10, 0, api_name="/measure")
print(client.predict(api_name="/results"))
print(client.predict(api_name="/files"))
"""


def sections(metrics: Sequence[str]) -> SimpleNamespace:
    """The components of the page by their names, in its three steps, after an example if it has these metrics."""
    of = SimpleNamespace()
    entry = catalogue.METRICS[metrics[0]]
    question = ABOUT if tuple(metrics) == METRICS else f"{entry.question[0].upper()}{entry.question[1:]}"
    title = "captionbias" if tuple(metrics) == METRICS else entry.title
    gr.Markdown(f"# {title}\n{question}", elem_id="about")
    with gr.Tabs(elem_id="steps", overflow_behavior="wrap") as of.steps:
        if set(metrics) <= set(METRICS):
            with gr.Tab("Example", id="example"):
                with gr.Row(elem_id="example-about"):
                    gr.Markdown(EXAMPLE)
                    gr.Button("Measure your own captions", variant="primary", elem_id="own", scale=0)
                gr.HTML(frame("example", "The example's result"), padding=False)
        with gr.Tab("1. Files", id="files"):
            _files_section(of)
        with gr.Tab("2. Check", id="check", interactive=False) as of.check:
            _check_section(of, metrics)
        with gr.Tab("3. Result", id="result", interactive=False) as of.result:
            _result_section(of)
    # For the page's script: what a page that is loaded again gets its session back by.
    with gr.Column(elem_id="kept"):
        of.session, of.token = gr.HTML(elem_id="session"), gr.Textbox(elem_id="token")
    return of


def _files_section(of: SimpleNamespace) -> None:
    gr.Markdown(FILES)
    of.files = gr.File(file_types=[*uploads.TABLES], label="Your files", file_count="multiple", elem_id="upload")
    gr.Markdown(KEPT, elem_classes="small")
    of.read = gr.HTML(elem_id="read")
    with gr.Group(visible=False) as of.roles_group, gr.Row():
        of.roles = [
            choice("Captions of captioners, one file each", multiselect=True),
            choice("People's captions"),
            choice("Labels of the images"),
            choice("Tasks of the images"),
        ]
    with gr.Row():
        of.example = gr.Button("Try it with the example's data", elem_id="take-example")
        of.next = gr.Button("Next: check", variant="primary", interactive=False, elem_id="next")


def _check_section(of: SimpleNamespace, metrics: Sequence[str]) -> None:
    of.told = gr.HTML(elem_id="told")
    with gr.Accordion("Columns: correct what was guessed", open=False) as of.columns_group, gr.Group():
        with gr.Row():
            first = [
                choice("Image ids"),
                choice("The captioner's captions", multiselect=True),
                choice("People's captions of each image"),
            ]
        with gr.Row():
            second = [choice("Label of each image", multiselect=True), choice("Tasks of each image")]
            of.columns = [*first, *second, choice("Only images with these labels", multiselect=True)]
    with gr.Row():
        of.attribute = gr.Dropdown(
            [*ATTRIBUTES, CUSTOM],
            value=[ATTRIBUTES[0]],
            multiselect=True,
            label="Attribute",
            min_width=200,
            info="Whose words are masked. Of several columns of labels one for each, in the same order.",
        )
        of.tasks = gr.Dropdown(
            [*TASK_WORDS, CUSTOM],
            value=TASK_WORDS[0],
            label="Task words",
            info="What is looked for in captions.",
            min_width=200,
        )
    of.custom = [
        gr.Textbox(
            info=f"A line for each {name}, or JSON.", label=label, lines=3, visible=False, placeholder=placeholder
        )
        for name, label, placeholder in (
            ("value", "Attribute words", "female: woman, lady, girl\nmale: man, guy, boy"),
            ("task", "Your task words", "knife: knife, knives\nsurfboard: surfboard, surf board"),
        )
    ]
    of.words = [of.attribute, of.custom[0], of.tasks, of.custom[1]]
    with gr.Accordion("What will be masked, in some of the images", open=False, visible=False) as of.masked_group:
        of.masked = gr.HTML(elem_id="masked")
    with gr.Accordion("Metrics, trials and seed", open=False):
        offered = [(_asked(metric), metric) for metric in metrics]
        with gr.Row():
            chosen = gr.CheckboxGroup(offered, value=list(metrics), label="Metrics", visible=len(metrics) > 1)
            preset = gr.Radio([FAST, PAPERS] if find_spec("torch") else [FAST], value="fast", label="Preset")
        with gr.Row():
            trials = gr.Slider(
                2,
                20,
                TRIALS,
                step=1,
                label="Trials: attackers for each set of captions",
                info="More of them give narrower intervals.",
            )
            seed = gr.Number(0, precision=0, minimum=0, label="Seed")
        gr.Markdown(TERMS)
    of.settings = [chosen, preset, trials, seed]
    with gr.Row():
        of.undo = gr.Button("Undo the last change", interactive=False, elem_id="undo")
        of.measure = gr.Button("Measure", variant="primary", interactive=False, elem_id="measure")
    if tuple(metrics) == METRICS:
        with gr.Accordion("With the images: ImageCaptioner2", open=False):
            if JUDGES:
                _images_section(of)
            else:
                gr.Markdown(IMAGES_NEED)


def _images_section(of: SimpleNamespace) -> None:
    """Images, and how judges are trained on them."""
    gr.Markdown(IMAGES_ABOUT)
    with gr.Row():
        images = gr.File(
            file_types=[*uploads.ARCHIVES, *uploads.PICTURES],
            label="Images, or zip archives of them",
            file_count="multiple",
            elem_id="images",
        )
        with gr.Column():
            annotations = gr.File(
                file_types=[".json"], label="COCO annotations of the persons in them", elem_id="annotations"
            )
            masked = gr.Checkbox(label="The persons are masked already, or nobody is shown", elem_id="persons-masked")
    of.images = [images, annotations, masked]
    of.images_told = gr.HTML(elem_id="images-read")
    with gr.Column(visible=False) as of.previews_group:
        of.previews = gr.Gallery(
            label="The first images, before and after masking",
            columns=4,
            height=260,
            interactive=False,
            elem_id="previews",
        )
    with gr.Row():
        trials = gr.Slider(2, 10, value=2, step=1, label="Judges for each set of captions")
        epochs = gr.Slider(1, 40, value=20, step=1, label="Epochs: how often a judge sees each image")
    with gr.Row():
        prompt = gr.Textbox(
            label="What the judge is asked after a caption", placeholder="Therefore, the gender is", max_lines=1
        )
        seed = gr.Number(0, precision=0, minimum=0, label="Seed of the judges")
    of.judging = [trials, epochs, prompt, seed]
    of.measure_images = gr.Button("Measure with the images", interactive=False, elem_id="measure-images")


def _result_section(of: SimpleNamespace) -> None:
    of.status = gr.HTML(elem_id="status", padding=False)
    of.cancel = gr.Button("Cancel", variant="stop", visible=False, elem_id="cancel")
    of.again = gr.Button("Measure again", variant="primary", visible=False, elem_id="again")
    with gr.Column(visible=False, elem_id="found") as of.found:
        of.frame = gr.HTML(elem_id="result-frame", padding=False)
        of.downloads = gr.File(
            label="Report, data and tables", interactive=False, file_count="multiple", elem_id="downloads"
        )
        with gr.Accordion("The same on your machine", open=False):
            of.command = _code("Command", elem_id="command")
            of.python = _code("Python", elem_id="python")


def program_section(metrics: Sequence[str]) -> Any:
    """How a program uses the page; gives the component with the code, which names the page's address."""
    with gr.Accordion("Use it from a program", open=False, elem_id="program"):
        gr.Markdown(PROGRAM.format(images=IMAGES_PROGRAM if JUDGES and tuple(metrics) == METRICS else ""))
        return _code("gradio_client", value=code(ADDRESS, metrics))


def code(address: str, metrics: Sequence[str] = METRICS) -> str:
    """Lines of Python that use the page at this address."""
    return CODE.format(address=address, metrics=list(metrics))


# What the components hold


def holding(of: SimpleNamespace, session: Session, words: Sequence[Any], fault: str = "") -> dict[Any, Any]:
    """What everything shows that depends on a session's data, on the chosen words, or on what went wrong."""
    data, found = session.data, actions.looked(session, *words)
    names, choices = [table.name for _, table in data.tables()], choices_of(data)
    can_measure = bool(data) and not found["not_ready"]
    others = data.others()
    shown: dict[Any, Any] = {
        of.read: alert(fault or session.gone) + files_table(data),
        of.roles_group: gr.update(visible=bool(data)),
        of.next: gr.update(interactive=bool(data.predictions or data.references)),
        of.check: gr.update(interactive=bool(data)),
        of.told: alert(fault) + about(data, found),
        of.columns_group: gr.update(open=True) if data and found["not_ready"] else gr.update(),
        of.undo: gr.update(interactive=bool(session.past)),
        of.attribute: gr.update(value=words[0]),
        of.custom[0]: gr.update(visible=CUSTOM in words[0]),
        of.custom[1]: gr.update(visible=words[2] == CUSTOM),
        of.masked_group: gr.update(visible=bool(found["masked"])),
        of.masked: masked(found["masked"]),
        of.measure: gr.update(interactive=can_measure),
        of.session: f'<span data-token="{session.token if data else ""}"></span>',
        **result(of, session),
    }
    captioners, *roles = of.roles
    shown[captioners] = gr.update(choices=names, value=[table.name for table in data.predictions.values()])
    for dropdown, role in zip(roles, (PEOPLE, LABELS, TASKS), strict=True):
        shown[dropdown] = gr.update(choices=[NONE, *names], value=others[role].name if role in others else "")
    for dropdown, (role, offered) in zip(of.columns, choices.items(), strict=True):
        chosen = getattr(data.columns, role)
        several = role in (*SEVERAL, "keep")
        listed = [(f"{one} ({found['labels'][one]:,})", one) if one in found["labels"] else one for one in offered]
        shown[dropdown] = gr.update(
            choices=listed if several else [NONE, *offered], value=list(chosen) if several else chosen
        )
    if JUDGES and hasattr(of, "measure_images"):
        shown[of.measure_images] = gr.update(interactive=can_measure and session.pictures is not None)
    return shown


def result(of: SimpleNamespace, session: Session, said: str = "") -> dict[Any, Any]:
    """What was found in the session's run, if there is one; else nothing of an earlier one is left."""
    run = session.run
    link = f"result/{session.result}"
    shown = {
        of.result: gr.update(interactive=bool(run or said)),
        of.status: f'<div role="status">{said}</div>',
        of.cancel: gr.update(visible=False),
        of.again: gr.update(visible=bool(said and not run)),
        of.found: gr.update(visible=bool(run)),
        of.frame: "",
        of.downloads: None,
        of.command: "",
        of.python: "",
    }
    if run:
        shown |= {
            of.frame: f'<p><a href="{link}" target="_blank" rel="noopener">Open the result on a page of its own</a></p>'
            + frame(session.result, "The result"),
            of.downloads: results.files(run),
            of.command: run.command or "# the data are not files of different names: see the Python below",
            of.python: run.python,
        }
    return shown


def frame(name: str, title: str) -> str:
    """A result in the page; nothing in it reaches the page, nor anything outside."""
    return (
        f'<iframe src="result/{name}" title="{title}" '
        'sandbox="allow-scripts allow-downloads allow-modals allow-popups"></iframe>'
    )


def alert(fault: str) -> str:
    """What went wrong, told to screen readers at once."""
    return f'<p role="alert" class="fault"><strong>That does not work.</strong> {escape(fault)}</p>' if fault else ""


def paragraphs(text: str) -> str:
    """Lines of text, told to screen readers."""
    return f'<div role="status">{"".join(f"<p>{escape(line)}</p>" for line in text.splitlines())}</div>'


def files_table(data: Data) -> str:
    """Each file, what it is, and the columns of it that are read."""
    if not data:
        return ""
    rows = []
    chosen = {column for one in vars(data.columns).values() for column in ([one] if isinstance(one, str) else one)}
    for role, table in data.tables():
        used = [column for column in table.columns if column in chosen and role != UNUSED]
        rows.append([table.name, TITLES[role], ", ".join(used or table.columns[:6])])
    return html_table(["file", "what it is", "columns"], rows)


def about(data: Data, found: dict[str, Any]) -> str:
    """What will be measured, what to know of it, and what is missing."""
    if not data:
        return "<p>There are no files yet: give some in step 1.</p>"
    parts = []
    if found["not_ready"]:
        parts.append(f'<p role="alert" class="fault"><strong>Not ready yet:</strong> {escape(found["not_ready"])}</p>')
    if found["images"]:
        labels = ", ".join(f"{count:,} {label}" for label, count in found["labels"].items())
        captioners = ", ".join(found["captioners"])
        parts.append(
            f"<p><strong>{found['images']:,} images</strong> ({escape(labels)})</p>"
            f"<p>{'Captioners' if len(found['captioners']) > 1 else 'Captioner'}: {escape(captioners)}</p>"
        )
    if found["intersections"]:
        parts.append(html_table([*data.columns.attribute_column, "images"], found["intersections"]))
    if found["notes"]:
        parts.append("<ul>" + "".join(f"<li>{escape(note)}</li>" for note in found["notes"]) + "</ul>")
    return "".join(parts)


def masked(found: dict[str, Any]) -> str:
    """Captions with the words marked that will be masked."""
    titles = {
        "attribute_lexicon": "In A to T, LIC and ImageCaptioner2: the words for the attribute",
        "task_lexicon": "In T to A: the words for tasks",
    }
    return "".join(
        f"<section><h3>{titles[kind]}</h3><p>{''.join(map(_marked, spans))}</p></section>"
        for kind, spans in found.items()
    )


def _marked(span: tuple[str, str | None]) -> str:
    text, label = escape(span[0]).replace("\n", "<br>"), span[1]
    return f"<mark>{text} <small>{escape(label)}</small></mark>" if label else text


def html_table(headers: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """A table of text and counts."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in headers)
    cells = (
        "".join(f"<td>{escape(f'{cell:,}' if isinstance(cell, int) else cell)}</td>" for cell in row) for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(f'<tr>{row}</tr>' for row in cells)}</tbody></table>"


def choice(label: str, multiselect: bool = False) -> Any:
    """A choice of what users named. It is checked where it is used: gradio would show a stale one as HTML."""
    found: Any = gr.Dropdown(
        label=label, choices=[], value=[] if multiselect else None, multiselect=multiselect, min_width=200
    )
    found.preprocess = lambda payload: payload
    return found


def _code(label: str, **options: Any) -> Any:
    return gr.Code(label=label, interactive=False, wrap_lines=True, show_line_numbers=False, **options)


def _asked(metric: str) -> str:
    entry = catalogue.METRICS[metric]
    return f"{entry.title}: {entry.question}"
