"""`captionbias sensitivity`: how much hangs on choices? And what would have been seen?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from captionbias.cli.options import (
    CAPTIONERS,
    ENCODER,
    FILES,
    OF_PRESET,
    RESULT,
    Options,
    metric_options,
    option,
    split_options,
)
from captionbias.cli.terminal import complaints, console, read_captioners, say, told, write_result

PANEL = "Choices: repeat one for each value to try; the first is the base's, and a single one stays"


def _choice(kind: type, meaning: str, shown: str) -> Any:
    """An option that is repeated, once for each value to try."""
    several = list[kind] | None  # type: ignore[valid-type]
    return option(several, meaning, panel=PANEL, metavar=f"<{kind.__name__}>", show_default=shown)


CHOICES: Options = {
    "tokenizer": _choice(str, "words or whitespace.", "both"),
    "task_lexicon": _choice(str, "Task words: coco_objects, coco_names, or a JSON file of yours.", "both"),
    "alignment": _choice(str, "contextual or constant.", "both"),
    "delta": _choice(float, "The largest cosine distance of contextual alignment.", "0.4, 0.3, 0.5"),
    "vectors": _choice(
        str,
        "Word vectors of contextual alignment: 'captions' (made from your human ones), a GloVe, word2vec or FastText "
        "file, or a gensim download such as glove-wiki-gigaword-50.",
        OF_PRESET,
    ),
    "quality": _choice(str, "The attacker's quality: confidence, accuracy or inverse_cross_entropy.", "all"),
    "encoder": _choice(str, ENCODER, OF_PRESET),
    "seed": _choice(
        int,
        "Seed of the first trial: which human captions are drawn and how images are split.",
        "0 and two more",
    ),
}
OTHERS = metric_options("attribute_lexicon", "directions", "model", "precision", "trials", "bootstrap", "cache")
WRITTEN: Options = {
    "preset": option(
        str, "fast, papers (dbac-2026) or dbac-2026-published; see captionbias measure dbac.", default="fast"
    ),
    "inject": option(
        bool,
        "Instead, put known biases into people's captions: from which share of captions on would sway have seen them?",
        "--inject",
        default=False,
        panel=PANEL,
    ),
    "grid": option(bool, "Measure every combination of the values.", "--grid", default=False, panel=PANEL),
    "output": option(Path | None, "Write everything to this JSON file.", "--output", "--json", panel=RESULT),
    "plot": option(Path | None, "Write the specification curves as a plot, as .svg or .html.", panel=RESULT),
}
OPTIONS = CAPTIONERS | FILES | CHOICES | OTHERS | WRITTEN


def sensitivity(inject: bool, grid: bool, output: Path | None, plot: Path | None, **values: Any) -> None:
    """How much hangs on our choices? Net and matched DBAC with other tokenizers, task words, alignments, qualities ...

    Choices are varied one at a time around the preset's. What measurements have in common is trained once. With
    --inject: what would sway have seen on these images?

    Example: captionbias sensitivity --predictions nic.parquet --predictions sat.parquet --references people.parquet
    """
    from captionbias.analysis.sensitivity import sensitivity as sensitivity_of
    from captionbias.report.charts import specification_chart
    from captionbias.report.html import check_chart, write_chart
    from captionbias.report.sensitivity import sensitivity_tables

    if inject:
        _inject(output, **values, grid=grid, plot=plot)
        return
    if plot:
        check_chart(plot)
    files, chosen = split_options(values)
    chosen |= {name: values[name] for name in CHOICES if values[name] is not None}
    captioners = read_captioners(**files)
    found = sensitivity_of(
        captioners,
        grid=grid,
        watch=told(),
        progress=complaints.is_terminal or None,
        **chosen,
    )
    for table in sensitivity_tables(found):
        console.print(table, markup=False)
    images = len(next(iter(captioners.values())))
    say(f"\n{images:,} images")
    say(f"signature of the base {found.specifications[0].signature}")
    write_result({"images": images, **found.as_dict()}, output)
    if plot and not console.quiet:
        write_chart(specification_chart(found), plot, "How much hangs on choices")
        say(f"the plot is in {plot}")


def _inject(output: Path | None, **values: Any) -> None:
    from captionbias.analysis.power import power
    from captionbias.metrics import sway
    from captionbias.report.sensitivity import power_table

    for name, (_, default) in (CHOICES | OTHERS | WRITTEN).items():
        if name not in sway.options() and values.get(name, default) != default:
            raise ValueError(f"{name} is no option of inject=True, which measures sway; leave it out")
    files, chosen = split_options(values)
    for name in CHOICES:
        if values[name]:
            chosen[name], *more = values[name]
            if more:
                raise ValueError(f"{name} is given more than once: inject=True tries no choices; give it once")
    captions = next(iter(read_captioners(**files).values()))
    found = power(captions, watch=told(), **sway.accepted(chosen))
    console.print(power_table(found), markup=False)
    say(f"\n{found.images:,} images")
    say(f"signature {found.signature}")
    write_result(found.as_dict(), output)
