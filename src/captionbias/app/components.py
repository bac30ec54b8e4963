"""What the page shows: its components in their layout, and what they hold for the data and the run of a session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import gradio as gr

from captionbias.app import actions, results, uploads
from captionbias.app.actions import CUSTOM
from captionbias.app.data import (
    ATTRIBUTES,
    LABELS,
    MAX_CAPTIONERS,
    MAX_FILES,
    PEOPLE,
    TASKS,
    TITLES,
    UNUSED,
    Data,
    choices_of,
)
from captionbias.app.example import TRIALS
from captionbias.app.sessions import Session
from captionbias.errors import Argument, said
from captionbias.metrics import catalogue
from captionbias.report.wording import WORDS
from captionbias.text.lexicon import task_lexicons

METRICS = catalogue.REPORTED
FAST = ("fast: seconds to minutes", "fast")
PAPERS = ("the papers' protocols: hours without a GPU", "papers")  # with neural attackers, so with torch
NONE = ("(none)", "")
WORKING = '<p class="working"></p>'
WORDS = WORDS | {  # of arguments of the library
    "references": "people's captions",
    "attributes": "the labels",
    "prediction_column": "the captioner's captions",
    "reference_column": "people's captions",
    "attribute_column": "the label of each image",
    "task_column": "the tasks of each image",
    "weight_column": "the weight of each image",
    "id_column": "the image ids",
    "keep": "the choice of labels",
}

ABOUT = "Does an image captioner make the bias of its data worse? In which direction, and how certain is that?"
EXAMPLE = "**An example**: two made-up captioners, one with a planted bias."
FILES = """
Drop everything at once: captions of one or more captioners, people's captions of the same images, labels (such as each
person's gender), tasks (such as objects). The page finds out which is which.
"""
KEPT = f"""
CSV, TSV, JSON, JSONL, Parquet, captions of COCO and Flickr: at most {MAX_FILES} files, {MAX_CAPTIONERS} captioners,
{uploads.MAX_IMAGES:,} images, {uploads.MAX_BYTES / 1e6:,.0f} MB a file and {uploads.MAX_TOTAL / 1e6:,.0f} MB together.
Files are read on the machine that serves this page, sent nowhere else, and deleted within two hours.
"""
TERMS = """
An *attribute* is what the people in the images differ in, such as gender; a *task* is what else an image shows, such
as a knife. *A to T*: do the tasks that the captioner names follow the attribute? *T to A*: does the attribute that it
names follow the tasks? Each is compared with people's captions of the same images. Sway counts; for DBAC and LIC an
*attacker*, a small model, guesses what the captions hide, and each *trial* trains one.
"""
IMAGES_ABOUT = f"""
Can the attribute be told from an image and its caption, once neither shows it? **ImageCaptioner2** masks the person in
the image and the words in the caption, and trains a small captioner, the *judge*, to guess on. Images are joined with
captions by their ids: the names of their files without the ending, of COCO's files the number, or the whole names. At
most {uploads.MAX_PICTURES:,} images and {uploads.MAX_TOTAL / 1e6:,.0f} MB. A thousand images take some minutes. What
*Measure* makes then shows them too, small, beside captions that name somebody wrong.
"""
IMAGES_NEED = """
ImageCaptioner2 looks at the images, too, and needs more packages where this page runs:
`pip install 'captionbias[images]'`.
"""


def sections(metrics: Sequence[str]) -> SimpleNamespace:
    """The components of the page by their names: its three steps, after an example if it has these metrics."""
    parts = SimpleNamespace()
    entry = catalogue.METRICS[metrics[0]]
    title, question = entry.title, f"{entry.question[0].upper()}{entry.question[1:]}"
    if tuple(metrics) == METRICS:
        title, question = "captionbias", ABOUT
    gr.Markdown(f"# {title}\n{question}", elem_id="about")
    with gr.Tabs(elem_id="steps", overflow_behavior="wrap") as parts.steps:
        if set(metrics) <= set(METRICS):
            with gr.Tab("Example", id="example"):
                with gr.Row(elem_id="example-about"):
                    gr.Markdown(EXAMPLE)
                    gr.Button("Measure your own captions", variant="primary", elem_id="own", scale=0)
                gr.HTML(frame("example", "The example's result"), padding=False)
        with gr.Tab("1. Files", id="files"):
            _files_section(parts)
        with gr.Tab("2. Check", id="check", interactive=False) as parts.check:
            _check_section(parts, metrics)
        with gr.Tab("3. Result", id="result", interactive=False) as parts.result:
            _result_section(parts)
    # For the page's script: what a page that is loaded again gets its session back by.
    with gr.Column(elem_id="session-of-tab"):
        parts.session, parts.token = gr.HTML(elem_id="session"), gr.Textbox(elem_id="token")
    return parts


def _files_section(parts: SimpleNamespace) -> None:
    gr.Markdown(FILES)
    gr.Markdown(KEPT, elem_classes="small")
    parts.files = gr.File(file_types=[*uploads.TABLES], label="Your files", file_count="multiple", elem_id="upload")
    parts.read = gr.HTML(elem_id="read")
    with gr.Group(visible=False) as parts.roles_group, gr.Row():
        parts.roles = [
            choice("Captions of captioners, one file each", multiselect=True),
            choice("People's captions"),
            choice("Labels of the images"),
            choice("Tasks of the images"),
        ]
    with gr.Row():
        parts.example = gr.Button("Try it with the example's data", elem_id="take-example")
        parts.next = gr.Button("Next: check", variant="primary", interactive=False, elem_id="next")


def _check_section(parts: SimpleNamespace, metrics: Sequence[str]) -> None:
    parts.summary = gr.HTML(elem_id="summary")
    _columns_section(parts)
    _words_section(parts)
    with gr.Accordion("Metrics, trials and seed", open=False):
        _settings_section(parts, metrics)
    with gr.Row():
        parts.undo = gr.Button("Undo the last change", interactive=False, elem_id="undo")
        parts.measure = gr.Button("Measure", variant="primary", interactive=False, elem_id="measure")
    parts.images = []
    if tuple(metrics) == METRICS:
        with gr.Accordion("With the images: ImageCaptioner2", open=False):
            if uploads.image_wing():
                _images_section(parts)
            else:
                gr.Markdown(IMAGES_NEED)


def _columns_section(parts: SimpleNamespace) -> None:
    with gr.Accordion("Columns: correct what was guessed", open=False) as parts.columns_group, gr.Group():
        with gr.Row():
            first = [
                choice("Image ids"),
                choice("The captioner's captions", multiselect=True),
                choice("People's captions of each image"),
            ]
        with gr.Row():
            second = [choice("Label of each image"), choice("Tasks of each image"), choice("Weight of each image")]
            parts.columns = [*first, *second, choice("Only images with these labels", multiselect=True)]


def _words_section(parts: SimpleNamespace) -> None:
    with gr.Row():
        parts.attribute = gr.Dropdown(
            [*ATTRIBUTES, CUSTOM], value=ATTRIBUTES[0], label="Attribute", min_width=200, info="Whose words are masked."
        )
        parts.tasks = gr.Dropdown(
            [*((title, name) for name, title in task_lexicons().items()), CUSTOM],
            value="coco_objects",
            label="Task words",
            info="What is looked for in captions.",
            min_width=200,
        )
    parts.custom = [
        gr.Textbox(info=f"A line for each {name}.", label=label, lines=3, visible=False, placeholder=placeholder)
        for name, label, placeholder in (
            ("value", "Attribute words", "female: woman, lady, girl\nmale: man, guy, boy"),
            ("task", "Your task words", "knife: knife, knives\nsurfboard: surfboard, surf board"),
        )
    ]
    parts.words = [parts.attribute, parts.custom[0], parts.tasks, parts.custom[1]]
    with gr.Accordion("What will be masked, in some of the images", open=False, visible=False) as parts.masked_group:
        parts.masked = gr.HTML(elem_id="masked")


def _settings_section(parts: SimpleNamespace, metrics: Sequence[str]) -> None:
    entries = [catalogue.METRICS[metric] for metric in metrics]
    offered = [(f"{entry.title}: {entry.question}", entry.name) for entry in entries]
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
    parts.settings = [chosen, preset, trials, seed]


def _images_section(parts: SimpleNamespace) -> None:
    """The images, and how judges are trained on them."""
    gr.Markdown(IMAGES_ABOUT)
    with gr.Row():
        images = gr.File(
            file_types=[*uploads.ARCHIVES, *uploads.image_wing().ENDINGS],
            label="Images, or zip archives of them",
            file_count="multiple",
            elem_id="images",
        )
        with gr.Column():
            annotations = gr.File(
                file_types=[".json"], label="COCO annotations of the persons in them", elem_id="annotations"
            )
            masked = gr.Checkbox(label="The persons are masked already, or nobody is shown", elem_id="persons-masked")
    parts.images = [images, annotations, masked]
    parts.images_told = gr.HTML(elem_id="images-read")
    with gr.Column(visible=False) as parts.previews_group:
        parts.previews = gr.Gallery(
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
    parts.judging = [trials, epochs, prompt, seed]
    parts.measure_images = gr.Button("Measure with the images", interactive=False, elem_id="measure-images")


def _result_section(parts: SimpleNamespace) -> None:
    parts.status = gr.HTML(elem_id="status", padding=False)
    parts.cancel = gr.Button("Cancel", variant="stop", visible=False, elem_id="cancel")
    parts.again = gr.Button("Measure again", variant="primary", visible=False, elem_id="again")
    with gr.Column(visible=False, elem_id="report") as parts.report:
        parts.frame = gr.HTML(elem_id="result-frame", padding=False)
    parts.downloads = gr.File(
        label="Report, data and tables", interactive=False, file_count="multiple", visible=False, elem_id="downloads"
    )


# What the components hold


def contents(
    parts: SimpleNamespace, session: Session, words: Sequence[Any], fault: str = "", progress: str = ""
) -> dict[Any, Any]:
    """Everything shown that depends on a session, on the chosen words, on what went wrong, on how a run goes."""
    data, check = session.data, actions.last_look(session, *words)
    ready = bool(data) and not check["not_ready"]
    missing = missing_files(data)
    updates: dict[Any, Any] = {
        parts.read: alert(fault or session.gone) + files_table(data) + alert(missing, "Not ready yet:"),
        parts.roles_group: gr.update(visible=bool(data)),
        parts.next: gr.update(interactive=bool(data) and not missing),
        parts.check: gr.update(interactive=bool(data)),
        parts.summary: alert(fault) + about(data, check),
        parts.columns_group: gr.update(open=True) if data and check["not_ready"] else gr.update(),
        parts.undo: gr.update(interactive=bool(session.past)),
        parts.attribute: gr.update(value=words[0]),
        parts.custom[0]: gr.update(visible=words[0] == CUSTOM),
        parts.custom[1]: gr.update(visible=words[2] == CUSTOM),
        parts.masked_group: gr.update(visible=bool(check["masked"])),
        parts.masked: masked(check["masked"]),
        parts.measure: gr.update(interactive=ready),
        parts.session: f'<span data-token="{session.token if data else ""}"></span>',
        **_choices(parts, data, check["labels"]),
        **result(parts, session, progress),
    }
    if parts.images:
        updates[parts.measure_images] = gr.update(interactive=ready and session.pictures is not None)
    return updates


def _choices(parts: SimpleNamespace, data: Data, counts: Mapping[str, int]) -> dict[Any, Any]:
    """What can be chosen as each role and column, and what was."""
    names, others = [table.name for _, table in data.tables()], data.others
    captioners, *roles = parts.roles
    updates = {captioners: gr.update(choices=names, value=[table.name for table in data.predictions.values()])}
    for dropdown, role in zip(roles, (PEOPLE, LABELS, TASKS), strict=True):
        updates[dropdown] = gr.update(choices=[NONE, *names], value=others[role].name if role in others else "")
    for dropdown, (role, offered) in zip(parts.columns, choices_of(data).items(), strict=True):
        chosen = getattr(data.columns, role)
        if isinstance(chosen, tuple):
            counted = [(f"{name} ({counts[name]:,})", name) if name in counts else name for name in offered]
            updates[dropdown] = gr.update(choices=counted, value=list(chosen))
        else:
            updates[dropdown] = gr.update(choices=[NONE, *offered], value=chosen)
    return updates


def result(parts: SimpleNamespace, session: Session, progress: str = "") -> dict[Any, Any]:
    """What a run of the session has measured, the first scores or all; nothing of an earlier one is left."""
    run, working = session.run, session.stop is not None
    progress = WORKING if working else progress
    whole = bool(run and run.whole)
    updates: dict[Any, Any] = {
        parts.result: gr.update(interactive=bool(run or progress)),
        parts.status: f'<div role="status">{progress}</div>',
        parts.cancel: gr.update(visible=working),
        parts.again: gr.update(visible=bool(progress) and not (whole or working)),
        parts.report: gr.update(visible=bool(run)),
        parts.frame: "",
        parts.downloads: gr.update(visible=whole, value=results.files(run) if run and whole else None),
    }
    if run:
        # In another element the frame is another one: a new address in the same would be a step of the back button.
        tag = "div" if whole else "section"
        link = (
            f'<a href="result/{session.result}" target="_blank" rel="noopener">Open the result on a page of its own</a>'
        )
        updates[parts.frame] = f"<{tag}><p>{link}</p>{frame(session.result, 'The result')}</{tag}>"
    return updates


def frame(name: str, title: str) -> str:
    """A result in the page; nothing in it reaches the page, nor anything outside."""
    return (
        f'<iframe src="result/{name}" title="{title}" '
        'sandbox="allow-scripts allow-downloads allow-modals allow-popups"></iframe>'
    )


def alert(fault: str | Exception, title: str = "That does not work.") -> str:
    """What went wrong, told to screen readers at once."""
    return f'<p role="alert" class="fault"><strong>{title}</strong> {in_words(fault)}</p>' if fault else ""


def in_words(told: str | Exception) -> str:
    """A message of the library as HTML, with what the page calls its arguments."""
    return escape(said(told, words_of))


def words_of(argument: Argument) -> str | None:
    """What the page calls an argument, and what it has in a row; None of what the page has no choice of."""
    words = WORDS.get(argument.name)
    return words if words is None or argument.row is None else f"{words} of image {argument.image or argument.row}"


def paragraphs(text: str) -> str:
    """Lines of text, told to screen readers."""
    return f'<div role="status">{"".join(f"<p>{escape(line)}</p>" for line in text.splitlines())}</div>'


def files_table(data: Data) -> str:
    """Each file, what it is, and the columns of it that are read."""
    if not data:
        return ""
    rows = []
    chosen = {column for names in vars(data.columns).values() for column in actions.listed(names)}
    for role, table in data.tables():
        used = [column for column in table.columns if column in chosen and role != UNUSED]
        cells = (table.name, TITLES[role], ", ".join(used or table.columns[:6]))
        rows.append(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>")
    head = "".join(f'<th scope="col">{name}</th>' for name in ("file", "what it is", "columns"))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def missing_files(data: Data) -> str:
    """What is missing that no choice among the columns of these files can make up for."""
    if not data.predictions:
        return "none of these files has captions of a captioner: add one that has" if data else ""
    columns = data.columns
    taken = {columns.id_column, *columns.prediction_column, columns.reference_column, columns.task_column}
    if columns.attribute_column or set(choices_of(data)["attribute_column"]) - taken:
        return ""
    return "none of these files has labels of the images, such as each person's gender: add one that has"


def about(data: Data, check: dict[str, Any]) -> str:
    """What will be measured, what to know of it, and what is missing."""
    if not data:
        return "<p>There are no files yet: give some in step 1.</p>"
    blocks = [alert(check["not_ready"], "Not ready yet:")]
    if check["images"]:
        labels = ", ".join(f"{count:,} {label}" for label, count in check["labels"].items())
        captioners = ", ".join(check["captioners"])
        blocks.append(
            f"<p><strong>{check['images']:,} images</strong> ({escape(labels)})</p>"
            f"<p>{'Captioners' if len(check['captioners']) > 1 else 'Captioner'}: {escape(captioners)}</p>"
        )
    if check["notes"]:
        blocks.append("<ul>" + "".join(f"<li>{in_words(note)}</li>" for note in check["notes"]) + "</ul>")
    return "".join(blocks)


def masked(spans_of: Mapping[str, Any]) -> str:
    """Captions with the words marked that will be masked."""
    titles = {
        "attribute_lexicon": "In A to T, LIC and ImageCaptioner2: the words for the attribute",
        "task_lexicon": "In T to A: the words for tasks",
    }
    return "".join(
        f"<section><h3>{titles[kind]}</h3><p>{''.join(map(_marked, spans))}</p></section>"
        for kind, spans in spans_of.items()
    )


def _marked(span: tuple[str, str | None]) -> str:
    text, label = escape(span[0]).replace("\n", "<br>"), span[1]
    return f"<mark>{text} <small>{escape(label)}</small></mark>" if label else text


def choice(label: str, multiselect: bool = False) -> Any:
    """A choice of what users named. It is checked where it is used: gradio would show a stale one as HTML."""
    empty: Any = [] if multiselect else None
    return gr.Dropdown(
        label=label, choices=[], value=empty, multiselect=multiselect, allow_custom_value=True, min_width=200
    )
