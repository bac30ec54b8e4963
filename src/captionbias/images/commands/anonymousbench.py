"""`captionbias anonymousbench`: do metrics agree with people?"""

from __future__ import annotations

from pathlib import Path

from captionbias.cli.options import INPUT, Options, option
from captionbias.cli.terminal import console, say, write_result
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
    from captionbias.report.grid import Grid, columns
    from captionbias.report.wording import interval
    from captionbias.statistics.samples import Estimate

    bench = benchmark(answers, scores, bootstrap=bootstrap, seed=seed)
    people = Grid(
        "AnonymousBench",
        columns("captioner", "GT [95% interval]", *bench.scores),
        [
            [name, interval(human, 1), *(f"{column[name]:g}" for column in bench.scores.values())]
            for name, human in bench.human.items()
        ],
        "GT: the percentage of captions of which people say that they tell the gender, in images where nobody "
        "can see it; lower is better.",
    )
    console.print(people, markup=False)
    if bench.correlations:
        correlations = Grid(
            "Pearson correlation with GT [95% interval]",
            columns("metric", "over images and annotators", "over captioners"),
            [],
            "Over captioners the interval says what other captioners could give; it needs four.",
        )
        for metric, correlation in bench.correlations.items():
            ends = (correlation.low, correlation.high), (correlation.captioners_low, correlation.captioners_high)
            value = correlation.value
            cells = ["", ""] if value is None else [interval(Estimate(value, *limits), 2) for limits in ends]
            correlations.rows.append([metric, correlation.missing or cells[0], cells[1]])
        console.print(correlations, markup=False)
    annotators = "1 annotator" if bench.annotators == 1 else f"{bench.annotators:,} annotators"
    say(f"\n{bench.images:,} images, {annotators}")
    write_result(bench.as_dict(), output)
