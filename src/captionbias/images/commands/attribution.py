"""`captionbias attribution`: does a captioner find the attribute in the person, or around it?"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from captionbias.cli.options import INPUT, Options, metric_options, option
from captionbias.cli.terminal import console, say
from captionbias.images.commands.caption import (
    ANNOTATIONS,
    IMAGES,
    LOADING,
    MODEL_HELP,
    required,
    result,
    take_images,
)
from captionbias.text.lexicon import attribute_lexicons

method_option = partial(option, panel="Method")
OPTIONS: Options = {
    "model": required(str, f"{MODEL_HELP}."),
    **IMAGES,
    **ANNOTATIONS,
    **LOADING,
    **metric_options("fill"),
    "captions": option(
        Path | None,
        "The captioner's captions, a file with the columns image_id and caption.",
        panel=INPUT,
        show_default="made now",
    ),
    "attribute": option(
        str,
        f"The words: {', '.join(attribute_lexicons())}, or a JSON file, of tasks for one.",
        default="gender",
        panel=INPUT,
        metavar="<name|file>",
    ),
    "method": method_option(
        str,
        "occlusion: person and rest are filled, for any captioner; gradients: a map of what speaks for the word.",
        default="occlusion",
        metavar="<occlusion|gradients>",
    ),
    "averaged": method_option(
        bool, "Of gradients: weight a channel by its mean gradient, as Grad-CAM does.", "--averaged", default=False
    ),
    "batch_size": method_option(int, "Images at a time.", default=8, min=1),
    "overlays": result(int, "Pictures in an HTML file.", default=24, min=0),
    "bootstrap": result(int, "Bootstrap replicates over images; 0 for none.", default=1000, min=0),
    "seed": result(int, "Seed of the bootstrap.", default=0),
    "output": result(Path | None, "Write every word's share as .json, or a page with pictures as .html."),
}


def attribution(
    model: str,
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
    from captionbias.report.html import check_installed, write_attributions
    from captionbias.report.terminal import attribution_table

    page = output is not None and output.suffix.lower() in (".html", ".htm")
    if output is not None and not page and output.suffix.lower() != ".json":
        raise ValueError(f"--output {output} ends in neither .json nor .html: name a file of one of these kinds")
    if page:
        check_installed()
    images = take_images(values)
    regions = read_regions(annotations, images)
    loading = {name: values.pop(name) for name in LOADING}
    texts = _read_captions(captions) if captions else captioning.caption(model, images, **loading)
    captioner, processor, tokenizer = captioning.open_captioner(model, **loading)
    shares = attribute_images(
        captioner,
        processor,
        images,
        regions,
        [texts.get(image, "") for image in images.ids],
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
        made_with = {name: values[name] for name in ("fill", "averaged")}
        write_result({"model": model, **made_with, **shares.as_dict()}, output)


def _read_captions(path: Path) -> dict[str, str]:
    from captionbias.captions.tables import table_from_file
    from captionbias.captions.values import image_keys, is_missing

    table = table_from_file(path)
    captions = ["" if is_missing(text) else str(text) for text in table.column("caption")]
    return dict(zip(image_keys(f"{path}: image_id", table.column("image_id")), captions, strict=True))
