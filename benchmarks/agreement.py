"""Our scores beside the published ones, on the published captions.

usage: python benchmarks/agreement.py [lic-bow] [dbac] [matched] [t-to-a] [lic-lstm] [lic-human]   (all when none)

lic-bow and the last three take minutes; lic-lstm trains 9 LSTM attackers and lic-human 6, at 1 to 5 minutes each.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer
from rich.console import Console
from rich.table import Table
from scipy.stats import spearmanr

from captionbias.metrics import dbac, lic

CAPTIONERS = ["nic", "sat", "fc", "att2in", "transformer", "nic_plus"]
TABLE_9 = {"nic_official": "nic", "att2in": "att2in", "fc": "fc", "transformer": "transformer", "sat": "sat"}
# Matched A to T of a prototype with the 80 object names and their plurals.
MATCHED = {"nic": -0.017, "nic_plus": -0.005, "sat": -0.003, "fc": 0.009, "transformer": 0.009, "att2in": 0.017}
CELLS = {"float": "{:.2f}", "str": "{}", "int": "{}"}

app = typer.Typer(add_completion=False)
console = Console(width=140)


class Shared:
    """The published captions and figures."""

    def __init__(self, folder: Path) -> None:
        if not (folder / "data" / "gender").is_dir():
            sys.exit(f"no published captions at {folder}: this benchmark needs them; pass --shared FOLDER")
        self.folder = folder
        self.people = pd.read_parquet(folder / "data" / "gender" / "people.parquet")
        self.lic = json.loads((folder / "reference" / "lic_reproduced.json").read_text())["results"]["gender/lstm"]
        self.table_9 = json.loads((folder / "reference" / "dbac_table9.json").read_text())

    def images(self, captioner: str, human: bool) -> dict[str, Any]:
        """Arguments of a metric; with `human`, the images that have human captions, and those captions."""
        captions = pd.read_parquet(self.folder / "data" / "gender" / "predictions" / f"{captioner}.parquet")
        table = self.people.merge(captions, on="image_id")
        if human:
            table = table[table.references.map(len) > 0]
        given: dict[str, Any] = {"predictions": list(table.caption), "attributes": list(table.gender)}
        return given | ({"references": [list(row) for row in table.references]} if human else {})


def show(title: str, rows: list[dict[str, Any]], started: float) -> None:
    table = Table(*rows[0], title=f"{title} ({time.perf_counter() - started:.0f} s)")
    for row in rows:
        table.add_row(*(CELLS.get(type(value).__name__, "{}").format(value) for value in row.values()))
    console.print(table)


def lic_bow(shared: Shared) -> None:
    started, rows = time.perf_counter(), []
    for name in CAPTIONERS:
        score = lic(**shared.images(name, human=False), preset="fast", trials=10, bootstrap=0)
        published = shared.lic[name]
        rows.append(
            {
                "captioner": name,
                "LIC_M bow": score["lic_m"],
                "sd": score["lic_m_std"],
                "LIC_M published lstm": published["mean_LIC_M"],
                "sd published": published["std_LIC_M"],
                "difference": score["lic_m"] - published["mean_LIC_M"],
            }
        )
    show("LIC_M, bow, 10 trials", rows, started)
    ranks = spearmanr([row["LIC_M bow"] for row in rows], [row["LIC_M published lstm"] for row in rows])
    console.print(f"Spearman {ranks.statistic:.2f}")


def lic_lstm(shared: Shared) -> None:
    for name in ("nic", "sat", "fc"):
        started = time.perf_counter()
        score = lic(**shared.images(name, human=False), preset="lic-2022", trials=3, bootstrap=0, progress=True)
        published = shared.lic[name]
        row = {
            "captioner": name,
            "LIC_M lstm": score["lic_m"],
            "sd": score["lic_m_std"],
            "LIC_M published": published["mean_LIC_M"],
            "sd published": published["std_LIC_M"],
            "difference": score["lic_m"] - published["mean_LIC_M"],
        }
        show("LIC_M, lstm, 3 trials", [row], started)


def lic_human(shared: Shared) -> None:
    started = time.perf_counter()
    score = lic(**shared.images("fc", human=True), preset="lic-2022", trials=1, bootstrap=0, progress=True)
    published = shared.lic["fc"]
    row = {
        "captioner": "fc",
        "LIC_D lstm": score["lic_d"],
        "LIC_D published": published["mean_LIC_D"],
        "difference": score["lic_d"] - published["mean_LIC_D"],
        "LIC_M here (7,038 images)": score["lic_m"],
    }
    show("LIC_D, lstm, 1 trial, 5 columns", [row], started)


def published_dbac(
    shared: Shared, vectors: str, direction: str, encoder: str, name: str, preset: str
) -> dict[str, Any]:
    return dbac(
        **shared.images(name, human=True),
        preset=preset,
        directions=[direction],
        encoder=encoder,
        vectors=vectors,
        trials=3,
        bootstrap=0,
        progress=True,
    )


def dbac_a_to_t(shared: Shared, vectors: str) -> None:
    started, rows = time.perf_counter(), []
    for name in [*TABLE_9, "nic", "nic_plus"]:
        row: dict[str, Any] = {"captioner": name, "Table 9": "-"}
        if name in TABLE_9:
            row["Table 9"] = shared.table_9["a_to_t"][TABLE_9[name]]
        for encoder in ("lstm", "bow"):
            score = published_dbac(shared, vectors, "a_to_t", encoder, name, "dbac-2026-published")
            row[f"published, {encoder}"] = 100 * score["dbac_a_to_t"]
        row["prior"] = 100 * score["dbac_a_to_t_prior"]
        score = published_dbac(shared, vectors, "a_to_t", "bow", name, "dbac-2026")
        rows.append(row | {"words, bow": 100 * score["dbac_a_to_t"], "its matched": 100 * score["dbac_a_to_t_matched"]})
    show("DBAC A to T x 100, 3 trials", rows, started)


def matched(shared: Shared) -> None:
    started, rows = time.perf_counter(), []
    for name, prototype in MATCHED.items():
        row: dict[str, Any] = {"captioner": name, "prototype x 100": 100 * prototype}
        for lexicon in ("coco_names", "coco_objects"):
            score = dbac(
                **shared.images(name, human=True),
                preset="fast",
                directions=["a_to_t"],
                alignment="constant",
                task_lexicon=lexicon,
                progress=True,
            )
            key = "dbac_a_to_t_matched"
            row[lexicon] = 100 * score[key]
            row[f"95% {lexicon}"] = f"{100 * score[f'{key}_ci_low']:.1f} to {100 * score[f'{key}_ci_high']:.1f}"
        rows.append(row)
    show("Matched DBAC A to T x 100, bow, constant alignment, 10 trials", rows, started)


def dbac_t_to_a(shared: Shared, vectors: str) -> None:
    started, rows = time.perf_counter(), []
    for name in TABLE_9:
        row: dict[str, Any] = {"captioner": name, "Table 9": shared.table_9["t_to_a"][TABLE_9[name]]}
        for encoder in ("lstm", "bow"):
            score = published_dbac(shared, vectors, "t_to_a", encoder, name, "dbac-2026-published")
            row[encoder] = 100 * score["dbac_t_to_a"]
            row[f"sd {encoder}"] = 100 * score["dbac_t_to_a_std"]
        row |= {"prior": 100 * score["dbac_t_to_a_prior"], "matched": 100 * score["dbac_t_to_a_matched"]}
        rows.append(row | {"effective sample M": score["effective_sample_m_t_to_a"]})
    show("DBAC T to A x 100, dbac-2026-published, tasks named in the human captions, 3 trials", rows, started)


@app.command()
def main(
    parts: Annotated[list[str] | None, typer.Argument(help="which tables; all when none is named")] = None,
    shared: Annotated[Path, typer.Option(help="folder with the published captions and figures")] = Path("../shared"),
    vectors: Annotated[
        str, typer.Option(help="word vectors of the DBAC presets; the paper's are glove-wiki-gigaword-50")
    ] = "captions",
) -> None:
    """Print our scores beside the published ones."""
    warnings.simplefilter("ignore")
    data = Shared(shared)
    tables = {
        "lic-bow": lambda: lic_bow(data),
        "dbac": lambda: dbac_a_to_t(data, vectors),
        "matched": lambda: matched(data),
        "t-to-a": lambda: dbac_t_to_a(data, vectors),
        "lic-lstm": lambda: lic_lstm(data),
        "lic-human": lambda: lic_human(data),
    }
    for part in parts or tables:
        if part not in tables:
            raise typer.BadParameter(f"{part!r} is none of {', '.join(tables)}")
        tables[part]()


if __name__ == "__main__":
    app()
