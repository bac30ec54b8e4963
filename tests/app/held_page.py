"""The page, on which no run is whole before a file `go` is there; run by tests that look at runs on their way.

usage: python -m tests.app.held_page SECONDS PORT: a run is cancelled that no page shows for so long
"""

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from captionbias.app.page import look, page
from captionbias.app.runs import Run, Runs, measured
from captionbias.app.server import serve


def held(run: Run, watch: Any) -> Iterator[Any]:
    for result in measured(run, watch):
        while result.whole and not Path("go").exists():
            watch("held", 0.5)
            time.sleep(0.02)
        yield result


if __name__ == "__main__":
    serve(page, Runs(held, unseen=float(sys.argv[1])), port=int(sys.argv[2]), **look())
