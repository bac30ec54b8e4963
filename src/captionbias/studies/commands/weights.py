"""`captionbias weights`: how often to draw each training image, against the pairs that a DBAC comes from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from captionbias.cli.options import FILES, Options, argument, column_option, file_option, result_option
from captionbias.cli.terminal import say, show

if TYPE_CHECKING:
    from captionbias.report.grid import Grid


Row = Mapping[str, Any]

WRITTEN_BY = "captionbias measure dbac --output or captionbias report --json"

OPTIONS: Options = {
    "results": argument(Path, f"What {WRITTEN_BY} wrote.", metavar="RESULTS"),
    "attributes": file_option(str, "The attribute label of each training image.", default=Parameter.empty),
    "tasks": file_option(
        str | None,
        "The tasks of each training image, under the names that the results have.",
        show_default="the file of --attributes",
    ),
    "captioner": file_option(str | None, "Whose results, if there are several captioners."),
    "keep": FILES["keep"],
    "id_column": FILES["id_column"],
    "attribute_column": column_option(
        list[str] | None,
        "Labels; repeat it for attributes that were crossed.",
        metavar="<column>",
        show_default="gender",
    ),
    "task_column": FILES["task_column"],
    "direction": result_option(str | None, "Pairs of one direction only.", metavar="<a_to_t|t_to_a>"),
    "top": result_option(int, "Pairs to take: those that add most to net DBAC.", default=10, min=1),
    "unclear": result_option(bool, "Take pairs too whose interval holds 0.", default=False),
    "output": result_option(Path, "The weights, as .csv or .parquet.", default=Path("weights.csv")),
}


def weights(
    results: Path,
    attributes: str,
    tasks: str | None,
    captioner: str | None,
    direction: str | None,
    top: int,
    unclear: bool,
    output: Path,
    **columns: Any,
) -> None:
    """Which training images to draw more often, so that the attribute is independent of the tasks that are amplified.

    Pairs are taken by what they add to net DBAC, if their interval lies above 0; by matched DBAC in results without
    controls.

    Example: captionbias weights dbac.json --attributes train.parquet --tasks train.parquet
    """
    from captionbias.captions.reader import read_labels
    from captionbias.report.wording import FORMS
    from captionbias.studies.resampling import (
        added,
        adding,
        in_words,
        predicted_effect,
        resampling_weights,
        write_weights,
    )

    rows = adding(_read_rows(results, captioner, direction), unclear)
    taken = sorted(rows, key=lambda row: (added(row) or ("", 0.0))[1], reverse=True)[:top]
    images = read_labels(attributes, tasks, attribute="gender", **columns)
    image_weights = resampling_weights(images.attributes, images.tasks, taken, top=top, unclear=unclear)
    effect = predicted_effect(images.attributes, images.tasks, image_weights)
    write_weights(output, images.image_ids, image_weights)

    forms = dict.fromkeys(FORMS[part[0]] for part in map(added, taken) if part)
    say(f"Pairs that add most to the score ({' or '.join(forms)}):")
    for row in taken:
        say(in_words(row))
    say("")
    show([_effect_table(effect, taken)])
    span = f"weights from {image_weights.min():.2f} to {image_weights.max():.2f}, 1 on average"
    say(f"\n{len(images):,} images, {span}, are in {output}")
    for line in _uses(output):
        say(line)


def _read_rows(file: Path, captioner: str | None, direction: str | None) -> list[Row]:
    """The rows of the captioner's sources, of one direction or of all that were measured."""
    from captionbias.report.rows import results_in

    try:
        found = results_in(json.loads(file.read_text(encoding="utf-8")))
        sources = {name: scores["details"]["sources"] for name, metric, scores in found if metric == "dbac"}
    except (KeyError, TypeError, ValueError, AttributeError):
        sources = {}
    if not sources:
        raise ValueError(f"{file} does not say where a DBAC comes from: give what {WRITTEN_BY} wrote")
    if captioner is None and len(sources) > 1:
        raise ValueError(f"{file} has several captioners: name one of {', '.join(sources)} with --captioner")
    if captioner is not None and captioner not in sources:
        raise ValueError(f"--captioner {captioner} is not in {file}: it has {', '.join(filter(None, sources))}")
    rows = sources[captioner or next(iter(sources))]
    return [row for name in rows if direction in (None, name) for row in rows[name]]


def _effect_table(effect: Sequence[Row], taken: Sequence[Row]) -> Grid:
    """The tasks of the pairs with every attribute value, since images may name the value of a pair differently."""
    from captionbias.report.grid import Column, Grid, columns

    tasks = dict.fromkeys(row["task"] for row in taken)
    rows_of_tasks = [[row for row in effect if row["task"] == task] for task in tasks]
    return Grid(
        "Predicted effect on the training images",
        (*columns("task", "attribute"), Column("images", ",d"), *columns("before", "after", form=".2f")),
        [
            ["" if number else row["task"], *(row[key] for key in ("attribute", "images", "before", "after"))]
            for rows in rows_of_tasks
            for number, row in enumerate(rows)
        ],
        "Before, after: the attribute's share of the images with the task, over its share of all images. 1 is "
        "independent, above 1 they go together. They do not predict what a captioner trained on them names.",
    )


def _uses(file: Path) -> list[str]:
    """How to draw by the weights, whatever the order of the images."""
    read = "read_parquet" if file.suffix == ".parquet" else "read_csv"
    kinds = "" if file.suffix == ".parquet" else ", dtype={'image_id': str}"
    by_id = ".set_index('image_id')['weight'].reindex(list(map(str, ids)), fill_value=0).to_numpy(copy=True)"
    drawn = "numpy.random.default_rng(0).choice(len(weights), len(weights), p=weights / weights.sum())"
    return [
        "read, with the ids of your images in their order (an image without a weight is never drawn):",
        f"  weights = pandas.{read}({str(file)!r}{kinds}){by_id}",
        "torch, as the sampler of a DataLoader:",
        "  sampler = torch.utils.data.WeightedRandomSampler(weights, len(weights))",
        "datasets, drawn once:",
        f"  drawn = data.select({drawn})",
    ]
