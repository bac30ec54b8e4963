"""`captionbias caption` and `captionbias audit`: from a model on the Hub to captions, and to a report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any

import typer

from captionbias.cli import report
from captionbias.cli.options import CAPTIONERS, COLUMNS, INPUT, RESULT, Options, option
from captionbias.cli.terminal import console, say, steps

CAPTIONING = "Captioning"
MODEL: Options = {
    "model": (
        Annotated[
            str,
            typer.Argument(
                metavar="MODEL",
                help="The captioner: owner/name on the Hub, or a folder that save_pretrained wrote, of a model or of a "
                "LoRA adapter.",
            ),
        ],
        Parameter.empty,
    ),
}
IMAGES: Options = {
    "images": option(
        str,
        "The images: a folder, of webdataset's .tar files too, a table with a column of paths, addresses or images, a "
        ".txt file with a path a line, or owner/dataset:configuration:split.",
        default=Parameter.empty,
        panel=INPUT,
        metavar="<folder|file|dataset>",
    ),
    "image_column": option(str | None, "Images, or their paths, in a table or dataset.", panel=COLUMNS),
    "image_id_column": option(
        str | None,
        "Ids in a table or dataset of images; else the files' names.",
        panel=COLUMNS,
        show_default="image_id",
    ),
}
# Which model is loaded, and how.
LOADING: Options = {
    "dtype": option(
        str | None,
        "Of the weights: float32, bfloat16, float16, or auto for the files'.",
        panel=CAPTIONING,
        show_default="float32; to caption on a GPU bfloat16",
    ),
    "device_map": option(
        str | None,
        "How transformers spreads the model over devices, such as auto.",
        panel=CAPTIONING,
        show_default="one device",
    ),
    "revision": option(str | None, "Branch, tag or commit of a model on the Hub.", panel=CAPTIONING),
}
ANNOTATIONS: Options = {
    "annotations": option(
        Path,
        "COCO's annotations of the people and objects in the images, such as instances_val2014.json.",
        default=Parameter.empty,
        panel=INPUT,
    ),
}
GENERATION: Options = {
    "prompt": option(
        str | None,
        "What a chat model is asked; of another model, how its captions begin, which they then leave out.",
        panel=CAPTIONING,
        show_default="what its family takes: one short sentence, of a chat model",
    ),
    "template_arguments": option(
        list[str] | None,
        "An argument of the chat template, such as enable_thinking=false; repeat it for several.",
        "--template-argument",
        panel=CAPTIONING,
        metavar="<name=value>",
    ),
    "batch_size": option(int, "Images a batch, on each process.", default=16, panel=CAPTIONING, min=1),
    "max_new_tokens": option(int, "Longest caption, in tokens.", default=30, panel=CAPTIONING, min=1),
    "num_beams": option(int, "Beams of the search; 1 is greedy.", default=1, panel=CAPTIONING, min=1),
    "temperature": option(float | None, "Draw captions, at this temperature.", panel=CAPTIONING),
    "top_p": option(
        float | None, "Draw captions, from the likeliest tokens with this probability together.", panel=CAPTIONING
    ),
    "sampling_seed": option(int, "Of drawn captions.", default=0, panel=CAPTIONING),
    **LOADING,
    "strict": option(
        bool, "An image that cannot be read is an error, and not left out.", "--strict", default=False, panel=CAPTIONING
    ),
}
OPTIONS = (
    MODEL
    | IMAGES
    | GENERATION
    | {
        "output": option(Path, "The captions, as .parquet or .csv.", default=Path("captions.parquet"), panel=RESULT),
        "cache": report.REPORTED["cache"],
    }
)
AUDIT_OPTIONS = (
    MODEL
    | IMAGES
    | GENERATION
    | {"captions": option(Path, "The captions, as .parquet or .csv.", default=Path("captions.parquet"), panel=RESULT)}
    | {name: kind for name, kind in report.OPTIONS.items() if name not in {*CAPTIONERS, "id_column"}}
)


def caption(
    model: str, images: str, image_column: str | None, image_id_column: str | None, output: Path, **values: Any
) -> None:
    """Caption images with any image-to-text model of transformers: BLIP, Florence-2, chat models such as Qwen-VL.

    Captions are kept as they are made: a run that was killed goes on where it stopped, and no image is captioned twice.
    The output is what captionbias measure --predictions takes. accelerate launch -m captionbias caption ... shares the
    images out to several GPUs.

    Examples:

    captionbias caption Salesforce/blip-image-captioning-base --images val2014 --output blip.parquet

    captionbias caption HuggingFaceTB/SmolVLM-Instruct --images val2014 --prompt "Describe this image in one sentence."
    """
    from captionbias.attackers.ranks import on_rank_0
    from captionbias.images import captioning
    from captionbias.images.reading import read_images

    captioning.check_ending(output)
    found = read_images(images, image_column=image_column, id_column=image_id_column)
    with steps() as watch:
        captions = captioning.caption(model, found, watch=watch, **as_generation(values))
    on_rank_0(partial(captioning.write_captions, captions, output))  # another process may read it next
    if not console.quiet:
        say(f"{len(captions):,} captions are in {output}")


def as_generation(values: Mapping[str, Any]) -> dict[str, Any]:
    """Options of the command line as those of `captionbias.images.captioning.caption`.

    >>> as_generation({"template_arguments": ["enable_thinking=false", "style=plain"]})
    {'template_arguments': {'enable_thinking': False, 'style': 'plain'}}
    """
    arguments = {}
    for given in values["template_arguments"] or []:
        name, equals, value = given.partition("=")
        if not (name and equals):
            raise ValueError(f"--template-argument {given!r} must be name=value, as in enable_thinking=false")
        arguments[name] = value
        with suppress(json.JSONDecodeError):
            arguments[name] = json.loads(value)
    return {**values, "template_arguments": arguments}


def audit(captions: Path, **values: Any) -> None:
    """Caption images, measure the captions and report, in one command: captionbias caption, then captionbias report.

    Example: captionbias audit Salesforce/blip-image-captioning-base --images val2014 --references people.parquet
    """
    from captionbias.report.html import check_installed

    asked = {name: value for name, value in values.items() if name not in report.OPTIONS}
    check_installed()
    caption(output=captions, cache=values["cache"], **asked)
    name = Path(values["model"]).name.replace("=", "-")
    reported = {name: value for name, value in values.items() if name in report.OPTIONS}
    report.report(predictions=[f"{name}={captions}"], prediction_column=None, **reported)
