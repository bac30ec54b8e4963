"""`captionbias anonymousbench`: do metrics agree with people?"""

from __future__ import annotations

from inspect import Parameter
from pathlib import Path

from captionbias.cli.options import INPUT, RESULT, Options, option
from captionbias.cli.terminal import console, say, write_result

OPTIONS: Options = {
    "answers": option(
        Path,
        "People's answers to 'can you tell the gender from this caption?': a file with the columns captioner, "
        "image_id, annotator and answer (yes or no).",
        default=Parameter.empty,
        panel=INPUT,
    ),
    "scores": option(
        Path | None,
        "Metrics' scores of the captioners: a file with the column captioner and a column for each metric, or JSON "
        'such as {"nic": {"lic": 3.7}}. Leave out for the human scores alone.',
        panel=INPUT,
    ),
    "bootstrap": option(
        int, "Bootstrap replicates over images and annotators; 0 for none.", default=1000, min=0, panel=RESULT
    ),
    "seed": option(int, "Seed of the bootstrap.", default=0, panel=RESULT),
    "output": option(Path | None, "Write everything to this JSON file.", panel=RESULT),
}


def anonymousbench(answers: Path, scores: Path | None, bootstrap: int, seed: int, output: Path | None) -> None:
    """Do metrics agree with people? Captions of images in which the gender cannot be seen, and who says they tell it.

    Example: captionbias anonymousbench --answers answers.csv --scores scores.csv
    """
    from captionbias.images.anonymousbench import anonymousbench as benchmark
    from captionbias.report.grid import Grid, columns
    from captionbias.report.wording import interval
    from captionbias.statistics.samples import Estimate

    found = benchmark(answers, scores, bootstrap=bootstrap, seed=seed)
    people = Grid(
        "AnonymousBench",
        columns("captioner", "GT [95% interval]", *found.scores),
        [
            [name, interval(human, 1), *(f"{of_metric[name]:g}" for of_metric in found.scores.values())]
            for name, human in found.human.items()
        ],
        "GT: the percentage of captions of which people say that they tell the gender, in images where nobody "
        "can see it; lower is better.",
    )
    console.print(people, markup=False)
    if found.correlations:
        agreed = Grid(
            "Pearson correlation with GT [95% interval]",
            columns("metric", "over images and annotators", "over captioners"),
            [],
            "Over captioners the interval says what other captioners could give; it needs four.",
        )
        for metric, found_one in found.correlations.items():
            cells = [found_one.missing or "", ""]
            if found_one.value is not None:
                cells = [
                    interval(Estimate(found_one.value, found_one.low, found_one.high), 2),
                    interval(Estimate(found_one.value, found_one.captioners_low, found_one.captioners_high), 2),
                ]
            agreed.rows.append([metric, *cells])
        console.print(agreed, markup=False)
    agreement = "" if found.agreement is None else f"; two of them agree on {found.agreement:.0%} of captions"
    alpha = "" if found.alpha is None else f" (Krippendorff's alpha {found.alpha:.2f})"
    annotators = "1 annotator" if found.annotators == 1 else f"{found.annotators:,} annotators"
    say(f"\n{found.images:,} images, {annotators}{agreement}{alpha}")
    write_result(found.as_dict(), output)
