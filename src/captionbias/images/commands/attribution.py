"""`captionbias attribution`: does a captioner find the attribute in the person, or around it?"""

from __future__ import annotations

from inspect import Parameter
from pathlib import Path
from typing import Any

from captionbias.cli.options import INPUT, RESULT, Options, metric_options, option
from captionbias.cli.terminal import console, say
from captionbias.images.commands.caption import ANNOTATIONS, IMAGES, LOADING

METHOD = "Method"
OPTIONS: Options = (
    {
        "model": option(
            str,
            "The captioner: owner/name on the Hub, or a folder that save_pretrained wrote.",
            default=Parameter.empty,
            panel=INPUT,
        )
    }
    | IMAGES
    | ANNOTATIONS
    | LOADING
    | metric_options("fill")
    | {
        "captions": option(
            Path | None,
            "The captioner's captions, a file with the columns image_id and caption.",
            panel=INPUT,
            show_default="made now",
        ),
        "attribute": option(
            str,
            "The words: gender, race, age, or a JSON file, of tasks for one.",
            default="gender",
            panel=INPUT,
            metavar="<name|file>",
        ),
        "method": option(
            str,
            "occlusion: person and rest are filled, for any captioner; gradients: a map of what speaks for the word.",
            default="occlusion",
            panel=METHOD,
            metavar="<occlusion|gradients>",
        ),
        "layer": option(
            str | None,
            "Of gradients: the module whose output is the map.",
            panel=METHOD,
            show_default="the vision encoder",
        ),
        "averaged": option(
            bool,
            "Of gradients: weight a channel by its mean gradient, as Grad-CAM does.",
            "--averaged",
            default=False,
            panel=METHOD,
        ),
        "batch_size": option(int, "Images at a time.", default=8, panel=METHOD, min=1),
        "overlays": option(int, "Pictures in an HTML file.", default=24, panel=RESULT, min=0),
        "bootstrap": option(int, "Bootstrap replicates over images; 0 for none.", default=1000, panel=RESULT, min=0),
        "seed": option(int, "Seed of the bootstrap.", default=0, panel=RESULT),
        "output": option(
            Path | None, "Write every word's share as .json, or a page with pictures as .html.", panel=RESULT
        ),
    }
)


def attribution(
    model: str,
    images: str,
    image_column: str | None,
    image_id_column: str | None,
    annotations: Path,
    captions: Path | None,
    attribute: str,
    overlays: int,
    output: Path | None,
    **values: Any,
) -> None:
    """What share of what makes a captioner say "woman" or "man" is outside the person?

    By default the person is filled, then the rest of the picture: how much less likely does the word get?

    Example: captionbias attribution --model Salesforce/blip-image-captioning-base --images val2014
    --annotations instances_val2014.json --output shares.html
    """
    from captionbias.cli.terminal import write_result
    from captionbias.images import captioning
    from captionbias.images.attributions import attribute_images
    from captionbias.images.masks import read_regions
    from captionbias.images.reading import read_images
    from captionbias.report.html import check_installed, write_attributions
    from captionbias.report.terminal import attribution_table

    page = output is not None and output.suffix.lower() in (".html", ".htm")
    if output is not None and not page and output.suffix.lower() != ".json":
        raise ValueError(f"--output {output} ends in neither .json nor .html: name a file of one of these kinds")
    if page:
        check_installed()
    found = read_images(images, image_column=image_column, id_column=image_id_column)
    regions = read_regions(annotations, found)
    loading = {name: values.pop(name) for name in LOADING}
    texts = _read_captions(captions) if captions else captioning.caption(model, found, **loading)
    captioner, processor, tokenizer = captioning.open_captioner(model, **loading)
    shares = attribute_images(
        captioner,
        processor,
        found,
        regions,
        texts,
        tokenizer=tokenizer,
        attribute_lexicon=attribute,
        overlays=overlays if page else 0,
        **values,
    )
    console.print(attribution_table(shares), markup=False)
    left = len({credit.image for credit in shares.credits})
    say(f"\n{left:,} of {shares.images:,} images, {len(shares.credits):,} words")
    if page and output is not None and not console.quiet:
        write_attributions(shares, output, title=f"Where {Path(model).name} finds the attribute")
        say(f"the page is in {output}")
    elif not page:
        made_with = {name: values[name] for name in ("fill", "layer", "averaged")}
        write_result({"model": model, **made_with, **shares.as_dict()}, output)


def _read_captions(path: Path) -> dict[str, str]:
    from captionbias.captions.tables import table_from_file
    from captionbias.captions.values import image_keys

    table = table_from_file(path)
    return dict(zip(image_keys(f"{path}: image_id", table.column("image_id")), table.column("caption"), strict=True))
