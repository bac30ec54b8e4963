"""What metrics' folders have from the code: `python docs/cards.py` writes the tables of cards, modules and Spaces."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from textwrap import fill

from captionbias.bench.catalogue import METRICS, scores_of
from captionbias.bench.label_inputs import read_labels
from captionbias.metrics import find_metric

FOLDER = Path(__file__).parents[1] / "metrics"
MADE = re.compile(r"(?<=<!-- from the code -->\n\n).*?(?=\n\n<!-- until here -->)", re.DOTALL)
ENTRY = re.compile(r"^    (\w[\w, ]*): (.*(?:\n     .*)*)", re.MULTILINE)
ALIKE = re.compile(r"as `(\w+)` takes (?:it|them)\.")


def section(name: str, title: str) -> str:
    """The text under a title of a metric's docstring, or of `read_labels`."""
    text = inspect.getdoc(read_labels if name == read_labels.__name__ else find_metric(name)) or ""
    return text.partition(f"\n{title}:\n")[2].partition("\n\n")[0]


def arguments(metric: str) -> dict[str, str]:
    """What each argument of `compute` is."""
    found = {}
    for names, lines in ENTRY.findall(section(metric, "Args")):
        text = " ".join(lines.split())
        other = ALIKE.fullmatch(text)
        found |= {name: arguments(other[1])[name] if other else text for name in names.split(", ")}
    return {name: text for name, text in found.items() if name != "captions"}


def inputs(metric: str) -> str:
    about, usual = arguments(metric), inspect.signature(find_metric(metric)).parameters
    rows = ((f"`{name}`", f"`{usual[name].default!r}`", about[name]) for name in usual if name in about)
    return table(("argument", "default", "meaning"), *rows)


def outputs(metric: str) -> str:
    rows = ((f"`{score.key}`", interval(*score.scale.ends), score.meaning) for score in scores_of(metric))
    about = fill(" ".join(section(metric, "Returns").split()), 120, break_on_hyphens=False)
    return f"{about}\n\n{table(('key', 'range', 'meaning'), *rows)}"


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
REQUIREMENTS = "captionbias[app,evaluate]>=0.1\n"


def files(metric: str) -> dict[str, str]:
    """Every file of a metric's folder that is made, by its name; a metric of images has a Space of its own."""
    entry = METRICS[metric]
    kind = "".join(map(str.capitalize, metric.split("_")))  # of which evaluate makes the module's name
    module = MODULE.format(name=metric, title=entry.title, kind=kind)
    made = {"README.md": filled(metric), f"{metric}.py": module}
    space = {"app.py": SPACE.format(name=metric, title=entry.title), "requirements.txt": REQUIREMENTS}
    return made if entry.of_images else made | space


if __name__ == "__main__":
    for name in METRICS:
        for file, text in files(name).items():
            (FOLDER / name / file).write_text(text, encoding="utf-8")
