"""The second step: what will be measured, and how."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.util import find_spec
from typing import Any

import gradio as gr

from captionbias.app.data import ATTRIBUTES, choices_of
from captionbias.app.measuring import PageSettings
from captionbias.app.pieces import NONE, alert, choice, chosen, in_words
from captionbias.app.runs import Run, State
from captionbias.metrics import catalogue
from captionbias.text.languages import ENGLISH, language_name, languages
from captionbias.text.lexicon import task_lexicons

FAST = ("fast: seconds to minutes", "fast")
PAPERS = ("the papers' protocols: hours without a GPU", "papers")  # with neural attackers, so with torch
ALSO = ("quality_gaps", "resolution")  # can be ticked beside the usual metrics
TERMS = """
An *attribute* is what the people in the images differ in, such as gender; a *task* is what else an image shows, such
as a knife. *A to T*: do the tasks that the captioner names follow the attribute? *T to A*: does the attribute that it
names follow the tasks? Each is compared with people's captions of the same images. Sway counts; for DBAC and LIC an
*attacker*, a small model, guesses what the captions hide, and each *trial* trains one.
"""


class Check:
    """Its components: `columns` and `settings` by what their values are called in `Columns` and `PageSettings`."""

    def __init__(self, metrics: Sequence[str]) -> None:
        self.summary = gr.HTML(elem_id="summary")
        self._columns_section()
        self._words_section()
        with gr.Accordion("Metrics, trials and seed", open=False):
            self._settings_section(metrics)
        self.measure = gr.Button("Measure", variant="primary", interactive=False, elem_id="measure")

    def _columns_section(self) -> None:
        with gr.Accordion("Columns: correct what was guessed", open=False) as self.columns_group, gr.Group():
            with gr.Row():
                self.columns = {
                    "id_column": choice("Image ids"),
                    "prediction_column": choice("The captioner's captions", multiselect=True),
                    "reference_column": choice("People's captions of each image"),
                }
            with gr.Row():
                self.columns |= {
                    "attribute_column": choice("Label of each image"),
                    "task_column": choice("Tasks of each image"),
                    "weight_column": choice("Weight of each image"),
                    "scene_column": choice("Scene of each image, if only the person differs"),
                    "keep": choice("Only images with these labels", multiselect=True),
                }

    def _words_section(self) -> None:
        tongues = [(language_name(name), name) for name in languages()]
        tasks = [(title, name) for name, title in task_lexicons().items()]
        guessed = "Guessed: correct it if it is another."
        with gr.Row():
            self.columns["language"] = known("Language of the captions", guessed, tongues, ENGLISH)
            self.settings = {
                "attribute": known("Attribute", "Whose words are masked.", [*ATTRIBUTES], PageSettings().attribute),
                "task_words": known(
                    "Task words",
                    "Guessed from the tasks: correct it if it is another.",
                    tasks,
                    PageSettings().task_words,
                ),
            }

    def _settings_section(self, metrics: Sequence[str]) -> None:
        more = ALSO if tuple(metrics) == catalogue.REPORTED else ()
        entries = [catalogue.METRICS[metric] for metric in (*metrics, *more)]
        offered = [(f"{entry.title}: {entry.question}", entry.name) for entry in entries]
        usual = PageSettings()
        with gr.Row():
            measured = gr.CheckboxGroup(offered, value=list(metrics), label="Metrics", visible=len(metrics) > 1)
            preset = gr.Radio([FAST, PAPERS] if find_spec("torch") else [FAST], value=usual.preset, label="Preset")
        with gr.Row():
            info = "More of them give narrower intervals."
            trials = gr.Slider(
                2, 20, usual.trials, step=1, label="Trials: attackers for each set of captions", info=info
            )
            seed = gr.Number(usual.seed, precision=0, minimum=0, label="Seed")
        gr.Markdown(TERMS)
        self.settings |= {"metrics": measured, "preset": preset, "trials": trials, "seed": seed}

    @property
    def fields(self) -> list[Any]:
        return [*self.columns.values(), *self.settings.values()]

    def show(self, run: Run, fault: str) -> dict[Any, Any]:
        data, check = run.data, run.look()
        updates: dict[Any, Any] = {
            self.summary: alert(fault) + about(run),
            self.columns_group: gr.update(open=True) if data and check.not_ready else gr.update(),
            **chosen(self.settings, run.settings),
            **chosen(self.columns, data.columns),
            self.measure: gr.update(interactive=run.ready, value="Measure again" if run.asked else "Measure"),
        }
        for name, offered in choices_of(data).items():
            counted = [(f"{each} ({check.labels[each]:,})", each) if each in check.labels else each for each in offered]
            several = isinstance(getattr(data.columns, name), tuple)
            updates[self.columns[name]]["choices"] = counted if several else [NONE, *offered]
        return updates


def known(label: str, info: str, choices: list[Any], value: str) -> Any:
    return gr.Dropdown(choices, value=value, label=label, info=info, min_width=200)


def about(run: Run) -> str:
    """What will be measured, what to know of it, and what is missing."""
    if run.state == State.READING:
        return "<p>The files are being read ...</p>"
    if not run.data:
        return "<p>There are no files yet: give some in step 1.</p>"
    check = run.look()
    blocks = [alert(check.not_ready, "Not ready yet:")]
    if check.images:
        labels = ", ".join(f"{count:,} {label}" for label, count in check.labels.items())
        blocks.append(
            f"<p><strong>{check.images:,} images</strong> ({escape(labels)})</p>"
            f"<p>{'Captioners' if len(run.data.captioners) > 1 else 'Captioner'}: "
            f"{escape(', '.join(run.data.captioners))}</p>"
        )
    if check.notes:
        blocks.append("<ul>" + "".join(f"<li>{in_words(note)}</li>" for note in check.notes) + "</ul>")
    return "".join(blocks)
