"""`captionbias attribution`: does a captioner find the attribute in the person, or around it?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from captionbias.cli.options import INPUT, Options, metric_options, option
from captionbias.cli.terminal import say, show, write_result
from captionbias.images.commands.caption import ANNOTATIONS, IMAGES, LOADING, MODEL_HELP, required, result, take_images
from captionbias.text.lexicon import attribute_lexicons

if TYPE_CHECKING:
    from captionbias.images.attributions import ImageAttributions
    from captionbias.report.grid import Grid

OPTIONS: Options = {
    "model": required(str, f"{MODEL_HELP}."),
    **IMAGES,
    **ANNOTATIONS,
    **LOADING,
    **metric_options("fill"),
    "attribute": option(
        str,
        f"The words: {', '.join(attribute_lexicons())}, or a JSON file, such as one of tasks.",
        default="gender",
        panel=INPUT,
        metavar="<name|file>",
    ),
    "batch_size": option(int, "Images at a time.", default=8, min=1),
    "bootstrap": result(int, "Number of bootstrap replicates over images; 0 for none.", default=1000, min=0),
    "seed": result(int, "Seed of the bootstrap.", default=0),
    "output": result(Path | None, "Write every word's share to this JSON file."),
}


def attribution(model: str, annotations: Path, attribute: str, output: Path | None, **values: Any) -> None:
    """How much of what makes a captioner say "woman" or "man" lies outside the person?

    The images are captioned. Then the person is filled, and then the rest of the picture: how much less likely is the
    word?

    Example: captionbias attribution --model Salesforce/blip-image-captioning-base --images val2014
    --annotations instances_val2014.json --output shares.json
    """
    from captionbias.images import captioning
    from captionbias.images.attributions import attribute_images
    from captionbias.images.masks import read_regions

    images = take_images(values)
    regions = read_regions(annotations, images)
    loading = {name: values.pop(name) for name in LOADING}
    captions = captioning.caption(model, images, **loading)
    captioner, processor, tokenizer = captioning.open_captioner(model, **loading)
    shares = attribute_images(
        captioner,
        processor,
        images,
        regions,
        [captions.get(image, "") for image in images.ids],
        tokenizer=tokenizer,
        attribute_lexicon=attribute,
        **values,
    )
    show([_table(shares)])
    left = len({credit.image for credit in shares.credits})
    say(f"\n{left:,} of {shares.images:,} images, {len(shares.credits):,} words")
    write_result({"model": model, "fill": values["fill"], **shares.as_dict()}, output)


def _table(attributed: ImageAttributions) -> Grid:
    """The share of the evidence that is outside the person, by label."""
    from captionbias.report.grid import RULE, Cell, Grid, columns
    from captionbias.report.wording import percent

    meaning = (
        "Area: of the pictures, outside the person; what the share would be if every place counted alike. Where either "
        "would do, each has half. Gain: what the picture adds to the log-odds of the word, in nats."
    )
    rows: list[list[Cell]] = [
        [label, percent(part.share), f"{part.area:.1%}", f"{part.gain:.2f}", f"{part.words:,}"]
        for label, part in (*attributed.by_label.items(), ("all", attributed.overall))
    ]
    return Grid(
        "Attribution outside the person [95% interval]",
        columns("", "share", "area", "gain", "words"),
        [*rows[:-1], RULE, rows[-1]],
        meaning,
    )
