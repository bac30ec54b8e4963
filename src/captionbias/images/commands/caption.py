"""`captionbias caption` and `captionbias audit`: from a model on the Hub to captions, and to a report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from captionbias.cli import report
from captionbias.cli.options import CAPTIONERS, COLUMNS, INPUT, RESULT, Options, option
from captionbias.cli.terminal import complaints, console, needs, say, steps
from captionbias.io.files import replacing

if TYPE_CHECKING:
    from captionbias.images.reading import Images

required = partial(option, default=Parameter.empty, panel=INPUT)  # an option that must be given
result = partial(option, panel=RESULT)
captioning_option = partial(option, panel="Captioning")
MODEL_HELP = "The captioner: owner/name on the Hub, or a folder that save_pretrained wrote"
MODEL: Options = {
    "model": (
        Annotated[str, typer.Argument(metavar="MODEL", help=f"{MODEL_HELP}, of a model or of a LoRA adapter.")],
        Parameter.empty,
    )
}
IMAGES: Options = {
    "images": required(
        str,
        "The images: a folder (also of webdataset's .tar files), a table with a column of paths, addresses or "
        "images, or owner/dataset:configuration:split.",
        metavar="<folder|file|dataset>",
    ),
    "image_column": option(str | None, "Images, or their paths, in a table or dataset.", panel=COLUMNS),
    "image_id_column": option(
        str | None,
        "Ids in a table or dataset of images; without it, the file names.",
        panel=COLUMNS,
        show_default="image_id",
    ),
}
# Which model is loaded, and how.
LOADING: Options = {
    "dtype": captioning_option(
        str | None,
        "Type of the weights: float32, bfloat16, float16, or auto for the type in the files.",
        show_default="float32; to caption on a GPU bfloat16",
    ),
    "device_map": captioning_option(
        str | None, "How transformers spreads the model over devices, such as auto.", show_default="one device"
    ),
    "revision": captioning_option(str | None, "Branch, tag or commit of a model on the Hub."),
}
ANNOTATIONS: Options = {
    "annotations": required(
        Path, "COCO's annotations of the people and objects in the images, such as instances_val2014.json."
    )
}
GENERATION: Options = {
    "endpoint": captioning_option(
        str | None,
        "A server that has the model and speaks OpenAI's protocol, such as http://localhost:8000/v1. Its token is read "
        "from OPENAI_API_KEY.",
        metavar="<url>",
        show_default="the model is loaded here",
    ),
    "prompt": captioning_option(
        str | None,
        "What a chat model is asked; for other models, the beginning of each caption, which is then removed.",
        show_default="what its family takes: one short sentence, of a chat model",
    ),
    "template_arguments": captioning_option(
        list[str] | None,
        "An argument of the chat template, such as enable_thinking=false; repeat it for several.",
        "--template-argument",
        metavar="<name=value>",
    ),
    "batch_size": captioning_option(
        int, "Images per batch, in each process; for a server, requests at once.", default=16, min=1
    ),
    "max_new_tokens": captioning_option(
        int | None, "Longest caption, in tokens.", show_default="30; with --endpoint 300", min=1
    ),
    "num_beams": captioning_option(int, "Beams of the search; 1 is greedy.", default=1, min=1),
    "temperature": captioning_option(float | None, "Sample captions at this temperature."),
    "top_p": captioning_option(
        float | None, "Sample captions from the likeliest tokens that together have this probability."
    ),
    "sampling_seed": captioning_option(int, "Seed of sampled captions.", default=0),
    **LOADING,
}
CAPTIONS = result(Path, "The captions, as .parquet or .csv.", default=Path("captions.parquet"))
CAPTIONING = MODEL | IMAGES | GENERATION
OPTIONS = CAPTIONING | {"output": CAPTIONS, "cache": report.REPORTED["cache"]}
REPORTED = {name: entry for name, entry in report.OPTIONS.items() if name not in {*CAPTIONERS, "id_column"}}
SCENES: Options = {
    "scenes": option(
        str | None,
        "A file with the scene of each image, in the column scene, its attribute label and perhaps tasks, instead of "
        "--attributes and --tasks. Images of one scene differ in the person alone, so no human captions are needed.",
        panel=INPUT,
        metavar="<file>",
    )
}
AUDIT_OPTIONS = CAPTIONING | {"captions": CAPTIONS} | SCENES | REPORTED


def caption(model: str, output: Path, **values: Any) -> None:
    """Caption images with any image-to-text model, of transformers or behind a server such as vLLM.

    Captions are saved as they are made: a run that was killed continues where it stopped, and no image is captioned
    twice. captionbias measure --predictions takes the output. accelerate launch -m captionbias caption ... divides the
    images among several GPUs.

    Examples:

    captionbias caption Salesforce/blip-image-captioning-base --images val2014 --output blip.parquet

    captionbias caption HuggingFaceTB/SmolVLM-Instruct --images val2014 --prompt "Describe this image in one sentence."

    captionbias caption Qwen/Qwen3-VL-8B-Instruct --images val2014 --endpoint http://localhost:8000/v1
    """
    from captionbias.attackers.ranks import on_rank_0
    from captionbias.images import captioning

    if output.suffix not in (".csv", ".parquet"):
        raise ValueError(f"{output} ends in neither .csv nor .parquet: name a file of one of these kinds")
    images = take_images(values)
    with steps() as watch:
        captions = captioning.caption(model, images, watch=watch, **as_generation(values))
    on_rank_0(partial(_write, captions, output))  # another process may read it next
    if not console.quiet:
        say(f"{len(captions):,} captions are in {output}")


def _write(captions: Mapping[str, str], path: Path) -> None:
    import pandas as pd

    table = pd.DataFrame({"image_id": list(captions), "caption": list(captions.values())}, dtype=str)
    with replacing(path) as part:
        if path.suffix == ".csv":
            table.to_csv(part, index=False, lineterminator="\n", encoding="utf-8")
        else:
            table.to_parquet(part, index=False)


def take_images(values: dict[str, Any]) -> Images:
    """The images that the options `IMAGES` name, which are taken out of the values."""
    with needs("images"):
        from datasets import disable_progress_bars

        from captionbias.images.reading import read_images

    if not complaints.is_terminal or console.quiet:
        disable_progress_bars()
    images, image_column, id_column = (values.pop(name) for name in IMAGES)
    return read_images(images, image_column=image_column, id_column=id_column)


def as_generation(values: Mapping[str, Any]) -> dict[str, Any]:
    """Options of the command line as those of `captionbias.images.captioning.caption`."""
    arguments = {}
    for argument in values["template_arguments"] or []:
        name, equals, value = argument.partition("=")
        if not (name and equals):
            raise ValueError(f"--template-argument {argument!r} must be name=value, as in enable_thinking=false")
        arguments[name] = value
        with suppress(json.JSONDecodeError):
            arguments[name] = json.loads(value)
    return {**values, "template_arguments": arguments, "distributed": True}


def audit(captions: Path, scenes: str | None, **values: Any) -> None:
    """Caption images, measure the captions and report, in one command: captionbias caption, then captionbias report.

    Examples:

    captionbias audit Salesforce/blip-image-captioning-base --images val2014 --references people.parquet

    captionbias audit Salesforce/blip-image-captioning-base --images counterfactuals --scenes scenes.parquet
    """
    from captionbias.captions.tables import as_table
    from captionbias.images.reading import thumbnails
    from captionbias.report.html import check_installed

    check_installed()
    if scenes:
        if values["attributes"]:
            raise ValueError("--scenes and --attributes both give each image its label: give one of them")
        has_tasks = as_table(scenes, "scenes").spelled(values["task_column"] or "tasks")
        values |= {"attributes": scenes, "scene_column": values["scene_column"] or "scene"}
        values |= {"tasks": scenes} if has_tasks and not values["tasks"] else {}
    caption(output=captions, cache=values["cache"], **{name: values[name] for name in CAPTIONING})
    name = Path(values["model"]).name.replace("=", "-")
    reported = {name: values[name] for name in REPORTED}
    picture_of = thumbnails(take_images({name: values[name] for name in IMAGES}))
    report.report(predictions=[f"{name}={captions}"], prediction_column=None, picture_of=picture_of, **reported)
