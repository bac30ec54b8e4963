"""Counting captions: processor time, memory and file size by the number of images; shards in any order.

usage: python benchmarks/counting.py sizes [--sizes 250000,2000000] [--people 2] [--paragraphs]
       python benchmarks/counting.py check

Images are those of the shared data, again and again under other ids, captioned by five captioners; 20 shards.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import numpy as np
import pandas as pd
import typer

SHARDS = 20
ONE = """
import json, resource, sys, time, warnings
from captionbias.counting.shards import count_files
from captionbias.counting import read_counts
from captionbias.metrics import sway
warnings.simplefilter("ignore")
options, started = json.loads(sys.argv[1]), time.time()
count_files(**options)
counted = time.time() - started, time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
sway(read_counts(options["output"]))
print(json.dumps([*counted, time.process_time() - counted[1]]))
"""
app = typer.Typer(pretty_exceptions_enable=False, help=__doc__)


def images(shared: Path, people: int, paragraphs: bool) -> pd.DataFrame:
    """A row an image and captioner, of images that are labelled."""
    known = pd.read_parquet(shared / "gender/people.parquet")
    known = known[known.references.map(len) > 1] if people else known
    if paragraphs:
        said = pd.read_parquet(shared / "paragraphs/opera.parquet")
    else:
        files = [
            shared / f"gender/predictions/{name}.parquet" for name in ("nic", "transformer", "sat", "fc", "att2in")
        ]
        said = pd.concat(map(pd.read_parquet, files))
    rows = said.merge(known[["image_id", "gender", "references"]], on="image_id")
    rows["references"] = [list(texts[:people]) for texts in rows.references]
    return rows[rows.gender.str.lower().isin(["female", "male"])][["image_id", "caption", "gender", "references"]]


@app.command()
def sizes(
    shared: Path = Path("../shared/data"),
    sizes: Annotated[str, typer.Option(help="How many images.")] = "250000,2000000",
    people: Annotated[int, typer.Option(help="Human captions of each image.")] = 0,
    paragraphs: bool = False,
) -> None:
    """Seconds of one core and the most memory that counting takes, the seconds of measuring, and the file."""
    if not (shared / "gender/people.parquet").is_file():
        raise SystemExit(f"{shared} is not there: this benchmark needs the shared data")
    rows = images(shared, people, paragraphs)
    rows = rows if people else rows.drop(columns="references")
    print(f"{'images':>12} {'wall, s':>8} {'count, s':>9} {'us each':>8} {'MB':>6} {'sway, s':>8} {'file, KB':>9}")
    for size in map(int, sizes.split(",")):
        with TemporaryDirectory() as folder:
            for shard, places in enumerate(np.array_split(np.arange(size), SHARDS)):
                part = rows.iloc[places % len(rows)].assign(image_id=[f"{place}" for place in places])
                part.to_parquet(Path(folder) / f"{shard:02d}.parquet")
            options = {
                "shards": [folder],
                "output": str(Path(folder) / "counts.parquet"),
                "metrics": ["sway", "gender_error"],
                "draws": 1,
            }
            options |= {"reference_column": "references"} if people else {}
            ran = subprocess.run(
                [sys.executable, "-c", ONE, json.dumps(options)], capture_output=True, text=True, check=True
            )
            wall, seconds, memory, measuring = json.loads(ran.stdout)
            file = Path(options["output"]).stat().st_size / 1024
        taken = f"{wall:>8.1f} {seconds:>9.1f} {1e6 * seconds / size:>8.1f} {memory:>6.0f}"
        print(f"{size:>12,} {taken} {measuring:>8.1f} {file:>9,.0f}")


@app.command()
def check(shared: Path = Path("../shared/data")) -> None:
    """One SHA-256 of the counts of 1, 7 and 100 shards, in any order, and of a run that was killed and went on."""
    rows = images(shared, 2, False).reset_index(drop=True).assign(image_id=lambda table: table.index.astype(str))
    for shards, killed in ((1, False), (7, False), (100, False), (100, True)):
        with TemporaryDirectory() as folder:
            order = np.random.default_rng(shards).permutation(len(rows))
            for shard, places in enumerate(np.array_split(order, shards)):
                rows.iloc[places].to_parquet(Path(folder) / f"{shard}.parquet")
            output = Path(folder) / "counts" / "all.parquet"
            output.parent.mkdir()
            run = [sys.executable, "-m", "captionbias", "count", folder, "--output", str(output)]
            run += ["--reference-column", "references"]
            there = 0
            if killed:
                process = subprocess.Popen(run, stderr=subprocess.DEVNULL)
                while process.poll() is None and (there := len(list(output.parent.glob("*.parts/*")))) < shards // 2:
                    time.sleep(0.05)
                process.kill()
                process.wait()
            subprocess.run(run, check=True, capture_output=True)
            digest = sha256(output.read_bytes()).hexdigest()[:16]
        print(f"{len(rows):,} images, {shards:>3} shards, killed after {there}: {digest}")


if __name__ == "__main__":
    app()
