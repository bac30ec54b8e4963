"""The options that several commands share."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

INPUT, COLUMNS, ATTACK, RESULT = "Input files", "Columns", "Attackers", "Result"
OF_PRESET = "the preset's"
FAST = "fast: a convex attacker, no torch, seconds to minutes."

Predictions = Annotated[
    Path | None,
    typer.Option(help="The captioner's captions. Leave out to measure human captions alone.", rich_help_panel=INPUT),
]
Captioners = Annotated[
    list[str],
    typer.Option(
        metavar="<file|name=file>",
        help="A captioner's captions; say it once for each captioner.",
        rich_help_panel=INPUT,
    ),
]
References = Annotated[
    Path | None,
    typer.Option(help="Human captions. Leave out to measure the captioner alone.", rich_help_panel=INPUT),
]
Attributes = Annotated[
    Path | None,
    typer.Option(
        help="The attribute's label of each image, if it is in neither of these files.", rich_help_panel=INPUT
    ),
]
Tasks = Annotated[
    Path | None,
    typer.Option(help="The tasks of each image; else those that human captions name.", rich_help_panel=INPUT),
]
Attribute = Annotated[
    str,
    typer.Option(
        help="What is measured: gender, race, age, emotion, or a JSON file with your own words.", rich_help_panel=INPUT
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        metavar="<label>", help="Only images with this label; say it once for each label.", rich_help_panel=INPUT
    ),
]
IdColumn = Annotated[
    str | None,
    typer.Option(
        help="Image ids in the first file; others are joined by the column that has them.",
        show_default="image_id",
        rich_help_panel=COLUMNS,
    ),
]
PredictionColumn = Annotated[
    str | None, typer.Option(help="The captioner's captions.", show_default="caption", rich_help_panel=COLUMNS)
]
PredictionColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--prediction-column",
        metavar="<column>",
        help="The captioner's captions; say it once for each captioner of one file.",
        show_default="caption",
        rich_help_panel=COLUMNS,
    ),
]
ReferenceColumn = Annotated[
    str | None, typer.Option(help="Human captions.", show_default="references", rich_help_panel=COLUMNS)
]
AttributeColumn = Annotated[
    str | None, typer.Option(help="Labels.", show_default="the name of --attribute", rich_help_panel=COLUMNS)
]
TaskColumn = Annotated[str | None, typer.Option(help="Tasks.", show_default="tasks", rich_help_panel=COLUMNS)]
PRETRAINED = (
    "all-MiniLM-L6-v2, all-mpnet-base-v2, all-distilroberta-v1, distilbert-base-uncased, any other owner/name on the "
    "Hub, or a folder (frozen, under an MLP)"
)
Model = Annotated[
    str | None,
    typer.Option(
        help="What bert-frozen and bert-finetuned stand on: a name on the Hub, or a folder.",
        show_default="bert-base-uncased",
        rich_help_panel=ATTACK,
    ),
]
Precision = Annotated[
    str | None,
    typer.Option(
        help="fp32 or bf16, of neural attackers.", show_default="bf16 where it is native", rich_help_panel=ATTACK
    ),
]
Metrics = Annotated[
    list[str] | None,
    typer.Option(metavar="<lic|dbac>", help="One metric only.", rich_help_panel=ATTACK),
]
Vectors = Annotated[
    str | None,
    typer.Option(help="Word vectors of DBAC's alignment.", show_default=OF_PRESET, rich_help_panel=ATTACK),
]
Trials = Annotated[
    int | None,
    typer.Option(help="Attackers trained for each set of captions.", show_default=OF_PRESET, rich_help_panel=ATTACK),
]
Seed = Annotated[int, typer.Option(help="Seed of the first trial.", rich_help_panel=ATTACK)]
Bootstrap = Annotated[int, typer.Option(help="Bootstrap replicates over images; 0 for none.", rich_help_panel=ATTACK)]
KeepTrials = Annotated[
    bool,
    typer.Option(
        "--cache/--no-cache",
        help="Keep finished trials, and train none twice; see captionbias cache.",
        rich_help_panel=ATTACK,
    ),
]
Output = Annotated[
    Path | None, typer.Option(help="Write everything to this JSON file, trials included.", rich_help_panel=RESULT)
]


TaskLexicon = Annotated[
    str | None,
    typer.Option(
        help="Task words: coco_objects, coco_names, or a JSON file of yours.",
        show_default=OF_PRESET,
        rich_help_panel=INPUT,
    ),
]


class DirectionName(str, Enum):
    a_to_t = "a_to_t"
    t_to_a = "t_to_a"
