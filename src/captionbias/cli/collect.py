"""`captionbias collect`: results of many captioners in one table, and one leaderboard."""

from __future__ import annotations

from inspect import Parameter
from itertools import chain
from pathlib import Path

from captionbias.cli.options import Options, argument, result_option
from captionbias.cli.terminal import note, say, show, write_plot

OPTIONS: Options = {
    "results": argument(
        list[Path],
        "What captionbias measure, compare or report --json wrote: files, or folders of .json files.",
        metavar="RESULTS...",
    ),
    "output": result_option(
        Path, "A row for each captioner, metric and score, as .parquet or .csv.", default=Parameter.empty
    ),
    "plot": result_option(Path | None, "A leaderboard: the main scores with their intervals, as .svg."),
}


def collect(results: list[Path], output: Path, plot: Path | None) -> None:
    """Results of many captioners, measured one by one or side by side, as one table and one leaderboard.

    A captioner that its file does not name is called like the file. A leaderboard needs results that were measured in
    the same way, on the same images with the same labels and human captions.

    Example: captionbias collect results --output table.parquet --plot leaderboard.svg
    """
    from captionbias.io.files import check_ending
    from captionbias.report.charts import leaderboard_chart
    from captionbias.report.rows import TABLES, leaderboard, mixtures, read_rows, write_table

    check_ending(output, *TABLES)
    rows = read_rows(chain.from_iterable(map(_files, results)))
    mixed = mixtures(rows)
    if plot and mixed:
        raise ValueError(
            "--plot: results that were measured in different ways or on different images have no common order "
            f"({'; '.join(mixed)}): collect those that agree, or leave out --plot"
        )
    for difference in mixed:
        note(f"note: not measured in the same way, {difference}; see the columns signature and image_set")
    write_table(rows, output)
    captioners = len({row.captioner for row in rows})
    say(f"{len(rows):,} scores of {captioners:,} captioners are in {output}")
    if not mixed:
        show([leaderboard(rows)])
        write_plot(leaderboard_chart(rows), plot)


def _files(path: Path) -> list[Path]:
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    if not files:
        raise ValueError(f"{path} has no .json file: name the folder of the results, or the results")
    return files
