"""`captionbias anonymousbench`: do metrics agree with people?"""

from __future__ import annotations

from pathlib import Path

from captionbias.cli.options import INPUT, Options, option
from captionbias.cli.terminal import say, show, write_result
from captionbias.images.commands.caption import required, result

OPTIONS: Options = {
    "answers": required(
        Path,
        "People's answers to 'can you tell the gender from this caption?': a file with the columns captioner, "
        "image_id, annotator and answer (yes or no).",
    ),
    "scores": option(
        Path | None,
        "Metrics' scores of the captioners: a file with the column captioner and a column for each metric. Leave out "
        "for the human scores alone.",
        panel=INPUT,
    ),
    "bootstrap": result(int, "Bootstrap replicates over images and annotators; 0 for none.", default=1000, min=0),
    "seed": result(int, "Seed of the bootstrap.", default=0),
    "output": result(Path | None, "Write everything to this JSON file."),
}


def anonymousbench(answers: Path, scores: Path | None, bootstrap: int, seed: int, output: Path | None) -> None:
    """Do metrics agree with people? Captions of images in which the gender cannot be seen, and who says they tell it.

    Example: captionbias anonymousbench --answers answers.csv --scores scores.csv
    """
    from captionbias.images.anonymousbench import anonymousbench as benchmark
    from captionbias.report.grid import RULE, Grid, Scored, columns
    from captionbias.statistics.samples import Estimate

    bench = benchmark(answers, scores, bootstrap=bootstrap, seed=seed)
    table = Grid(
        "AnonymousBench [95% interval]",
        columns("captioner", "GT", *bench.scores),
        [
            [name, Scored(human, 1), *(f"{column[name]:g}" for column in bench.scores.values())]
            for name, human in bench.human.items()
        ],
        "GT: the percentage of captions of which people say that they tell the gender, in images where nobody can see "
        "it; lower is better. Correlation: Pearson's of a metric with GT; over captioners the interval says what other "
        "captioners could give, and needs four.",
    )
    if found := [*bench.correlations.values()]:
        ends = {
            "over images and annotators": [(one.low, one.high) for one in found],
            "over captioners": [(one.captioners_low, one.captioners_high) for one in found],
        }
        table.rows.append(RULE)
        for over, limits in ends.items():
            correlations = zip([one.value for one in found], limits, strict=True)
            cells = [None if value is None else Scored(Estimate(value, *of), 2) for value, of in correlations]
            table.rows.append([f"correlation {over}", None, *cells])
    show([table])
    for metric, one in bench.correlations.items():
        if one.missing:
            say(f"{metric}: {one.missing}")
    say(f"\n{bench.images:,} images, {bench.annotators:,} annotator{'s' * (bench.annotators > 1)}")
    write_result(bench.as_dict(), output)
