"""`captionbias power`: from which share of captions on would sway see a bias on these images?"""

from __future__ import annotations

from inspect import Parameter
from pathlib import Path
from typing import Any

from captionbias.cli.options import FILES, Options, file_option, metric_options, result_option, split_options
from captionbias.cli.terminal import say, show, step_lines, write_result

PEOPLE: Options = {
    "references": file_option(str, "Human captions, two or more of each image.", default=Parameter.empty)
}
WRITTEN: Options = {"output": result_option(Path | None, "Write everything to this .json file.", "--json")}
OPTIONS = (
    FILES | PEOPLE | metric_options("attribute_lexicon", "task_lexicon", "lean", "draws", "seed", "bootstrap") | WRITTEN
)


def power(output: Path | None, **values: Any) -> None:
    """What would sway have seen on these images? Biases of a known size, put into people's own captions.

    Example: captionbias power --references people.parquet
    """
    from captionbias.captions import read_captions
    from captionbias.metrics import sway
    from captionbias.studies.power import power as power_of
    from captionbias.studies.power import power_table

    files, chosen = split_options(values)
    curves = power_of(read_captions(**files), watch=step_lines(), **sway.accepted(chosen))
    show([power_table(curves)])
    say(f"\n{curves.images:,} images")
    say(f"signature {curves.signature}")
    write_result(curves.as_dict(), output)
