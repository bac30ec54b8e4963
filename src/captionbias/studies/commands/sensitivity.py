"""`captionbias sensitivity`: how much hangs on choices? And what would have been seen?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from captionbias.bench.arguments import OF_PRESET
from captionbias.cli.options import (
    CAPTIONERS,
    FILES,
    METRIC,
    PLOT,
    Options,
    metric_options,
    option,
    result_option,
    split_options,
    switch,
)
from captionbias.cli.terminal import complaints, read_captioners, say, show, step_lines, write_plot, write_result
from captionbias.errors import InputError, naming

PANEL = "Choices: repeat one for each value to try; the first is the base's, and a single one stays"


def _choice(name: str, shown: str, kind: type = str, about: str = "") -> Any:
    """An option that is repeated, once for each value to try; about the same as the metrics' option of that name."""
    several = list[kind] | None  # type: ignore[valid-type]
    about = about or METRIC[name][0].__metadata__[0].help
    return option(several, about, panel=PANEL, metavar=f"<{kind.__name__}>", show_default=shown)


CHOICES: Options = {
    "tokenizer": _choice("tokenizer", "both", about="words or whitespace."),
    "task_lexicon": _choice("task_lexicon", "both"),
    "alignment": _choice("alignment", "both", about="contextual or constant."),
    "delta": _choice("delta", "0.4, 0.3, 0.5", float, "The largest cosine distance of contextual alignment."),
    "vectors": _choice("vectors", OF_PRESET),
    "quality": _choice("quality", "all"),
    "encoder": _choice("encoder", OF_PRESET),
    "seed": _choice(
        "seed",
        "0 and two more",
        int,
        "Seed of the first trial: which human captions are drawn and how images are split.",
    ),
}
OTHERS = metric_options("attribute_lexicon", "directions", "model", "precision", "trials", "bootstrap", "cache")
WRITTEN: Options = {
    "preset": option(
        str, "fast, papers (dbac-2026) or dbac-2026-published; see captionbias measure dbac.", default="fast"
    ),
    "inject": switch(
        "--inject",
        "Instead, put known biases into people's captions: from which share of captions on would sway have seen them?",
        panel=PANEL,
    ),
    "output": result_option(Path | None, "Write everything to this JSON file.", "--output", "--json"),
}
OPTIONS = CAPTIONERS | FILES | CHOICES | OTHERS | WRITTEN | PLOT


def sensitivity(inject: bool, output: Path | None, plot: Path | None, **values: Any) -> None:
    """How much hangs on our choices? Net and matched DBAC with other tokenizers, task words, alignments, qualities ...

    Choices are varied one at a time around the preset's. What measurements have in common is trained once. With
    --inject: what would sway have seen on these images?

    Example: captionbias sensitivity --predictions nic.parquet --predictions sat.parquet --references people.parquet
    """
    from captionbias.analysis.sensitivity import sensitivity as sensitivity_of
    from captionbias.report.charts import specification_chart
    from captionbias.report.sensitivity import moves, specifications

    if inject:
        _inject(output, **values, plot=plot)
        return
    files, chosen = split_options(values)
    chosen |= {name: values[name] for name in CHOICES if values[name] is not None}
    captioners = read_captioners(**files)
    study = sensitivity_of(captioners, watch=step_lines(), progress=complaints.is_terminal or None, **chosen)
    show([*(specifications(study, name) for name in study.captioners), moves(study)])
    images = len(next(iter(captioners.values())))
    say(f"\n{images:,} images")
    say(f"signature of the base {study.specifications[0].signature}")
    write_result({"images": images, **study.as_dict()}, output)
    write_plot(specification_chart(study), plot)


def _inject(output: Path | None, **values: Any) -> None:
    from captionbias.metrics import sway
    from captionbias.studies.power import power, power_table

    for name, (_, default) in (CHOICES | OTHERS | WRITTEN | PLOT).items():
        if name not in sway.options() and values.get(name, default) != default:
            raise InputError(name, naming("is no option of {inject}, which measures sway; leave it out", inject=True))
    files, chosen = split_options(values)
    for name in CHOICES:
        if values[name]:
            chosen[name], *more = values[name]
            if more:
                raise InputError(
                    name, naming("is given more than once: {inject} tries no choices; give it once", inject=True)
                )
    captions = next(iter(read_captioners(**files).values()))
    curves = power(captions, watch=step_lines(), **sway.accepted(chosen))
    show([power_table(curves)])
    say(f"\n{curves.images:,} images")
    say(f"signature {curves.signature}")
    write_result(curves.as_dict(), output)
