"""What metrics' folders have from the code: `python docs/cards.py` writes the tables of cards, modules and Spaces."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from textwrap import fill

from captionbias.bench.catalogue import METRICS, scores_of
from captionbias.metrics import find_metric

FOLDER = Path(__file__).parents[1] / "metrics"
MADE = re.compile(r"(?<=<!-- from the code -->\n\n).*?(?=\n\n<!-- until here -->)", re.DOTALL)


def inputs(metric: str) -> str:
    about, parameters = find_metric(metric).arguments, inspect.signature(find_metric(metric)).parameters
    usual = {name: one.default for name, one in parameters.items() if name != "captions"}
    rows = ((f"`{name}`", f"`{default!r}`", about[name].sentence(default)) for name, default in usual.items())
    return table(("argument", "default", "meaning"), *rows)


def outputs(metric: str) -> str:
    scores = ((score, score.scale) for score in scores_of(metric))
    rows = ((f"`{score.key}`", interval(*scale[:2]), scale.unit, score.meaning) for score, scale in scores)
    about = fill(METRICS[metric].returns, 120, break_on_hyphens=False)
    return f"{about}\n\n{table(('key', 'range', 'unit', 'meaning'), *rows)}"


def interval(low: float, high: float) -> str:
    return f"{'(' if low == -float('inf') else '['}{low:g}, {high:g}{')' if high == float('inf') else ']'}"


def table(head: tuple[str, ...], *rows: tuple[str, ...]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows))


def filled(metric: str) -> str:
    """The metric's card, with both tables as the code has them."""
    made = iter((inputs(metric), outputs(metric)))
    return MADE.sub(lambda _: next(made), (FOLDER / metric / "README.md").read_text(encoding="utf-8"))


MODULE = '''"""{title} as an `evaluate` module."""

from captionbias import metrics
from captionbias.hub import modules


class {kind}(modules.CaptionMetric):
    metric = metrics.{name}
'''
SPACE = '''"""The Space of {title}."""

from captionbias.app.space import serve_space

if __name__ == "__main__":
    serve_space("{name}")
'''
REQUIREMENTS = "captionbias[{extras}]>=0.1\n"


def files(metric: str) -> dict[str, str]:
    """Every file of a metric's folder that is made, by its name; a metric of images has a Space of its own."""
    entry = METRICS[metric]
    kind = "".join(map(str.capitalize, metric.split("_")))  # of which evaluate makes the module's name
    module = MODULE.format(name=metric, title=entry.title, kind=kind)
    made = {"README.md": filled(metric), f"{metric}.py": module}
    extras = ",".join(filter(None, ("app", entry.extra)))
    space = {
        "app.py": SPACE.format(name=metric, title=entry.title),
        "requirements.txt": REQUIREMENTS.format(extras=extras),
    }
    return made if entry.of_images else made | space


if __name__ == "__main__":
    for name in METRICS:
        for file, text in files(name).items():
            (FOLDER / name / file).write_text(text, encoding="utf-8")
