"""`captionbias reproduce`: the tables of the papers, on your captioners."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from captionbias.cli.options import (
    FILES,
    IMAGES,
    PREDICTIONS,
    Options,
    argument,
    check_masking,
    metric_options,
    option,
    result_option,
    split_options,
    switch,
)
from captionbias.cli.terminal import named, note, read_captioners, say, show, write_result

TABLE: Options = {
    "paper": argument(str | None, "A paper, such as dbac-2026.", default=None),
    "table": argument(str | None, "Its table, such as table-9; without one, all tables are listed.", default=None),
}
PROTOCOL: Options = {
    "fast": switch("--fast", "Take convex attackers in place of networks: minutes, not hours."),
    "encoder": option(list[str] | None, "An attacker in place of the table's; repeat it where a table has several."),
    "vectors": option(
        list[str] | None,
        "Word vectors in place of the paper's GloVe; a second stands in place of its FastText.",
        show_default="from gensim's data",
    ),
    "shares": option(
        list[str] | None,
        "Of tables of masking: what captionbias attribution wrote; repeat it for each captioner.",
        "--share",
        metavar="<captioner=file>",
    ),
    **metric_options("trials", "seed", "seeds", "bootstrap", "precision", "model", "epochs", "cache"),
}
OUTPUT: Options = {
    "output": result_option(Path | None, "Write the table to this .json or .md file."),
}
OPTIONS = TABLE | PREDICTIONS | {name: of for name, of in FILES.items() if name != "keep"} | IMAGES | PROTOCOL | OUTPUT


def reproduce(paper: str | None, table: str | None, output: Path | None, **values: Any) -> None:
    """The experiments of the papers, for your captioners: each table by its protocol, beside the printed numbers.

    Example: captionbias reproduce dbac-2026 table-9 --predictions nic.parquet --references people.parquet
    """
    from captionbias.io.files import write_text
    from captionbias.io.formats import read_json
    from captionbias.studies.reproduce import find_table, listing
    from captionbias.studies.reproduce import reproduce as measured
    from captionbias.studies.tables import TABLES

    if paper is None or (table is None and paper in TABLES):
        show(listing())
        say("From a model and images on: captionbias masking (dbac-2026 table-4).")
        return
    paper_table = find_table(paper, table or "")
    check_masking(values)
    if output and output.suffix not in (".json", ".md"):
        raise ValueError(f"--output {output} must end in .json or .md")
    shares = {
        name: 100 * read_json(Path(file))["share"] for name, file in named(values.pop("shares") or (), "share").items()
    }
    fast, encoders, vectors = (values.pop(name) for name in ("fast", "encoder", "vectors"))
    values |= {"attribute_lexicon": [paper_table.attribute], "keep": list(paper_table.labels) or None}
    files, options = split_options(values)
    captioners = read_captioners(**files) if values["predictions"] else {}
    choices = {"encoders": encoders or ()} | ({"vectors": vectors} if vectors else {})
    result = measured(paper, paper_table.name, captioners, **choices, shares=shares, fast=fast, watch=note, **options)
    show(result.grids())
    for signature in dict.fromkeys(result.signatures):
        say(f"signature {signature}")
    if output and output.suffix == ".md":
        write_text("\n".join(line for grid in result.grids() for line in (grid.title, "", *grid.markdown())), output)
    else:
        write_result(result.as_dict(), output)
