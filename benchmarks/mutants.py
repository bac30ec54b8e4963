"""Which changes of the formulas would no test see?

usage: python benchmarks/mutants.py [--count 150] [--seed 0] [PATH ...]

Numbers, comparisons and arithmetic of scores, statistics, metrics, alignment and attackers are changed, one at a time
in a copy of the repository, and the pinned scores and the tests of the changed file run. It prints the survivors.
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import numpy as np
import typer
from rich.progress import track

ROOT = Path(__file__).parents[1]
PACKAGES = ("scores", "statistics", "metrics", "alignment", "attackers")
SWAPPED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Lt: ast.LtE, ast.LtE: ast.Lt}
SWAPPED |= {ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.And: ast.Or, ast.Or: ast.And}
PATIENCE = 600  # seconds; a mutant that hangs is seen


def mutants(path: Path) -> Iterator[tuple[int, str, str, str]]:
    """Each mutant of a file: its line, the code there before and after, and the whole file's text."""
    text = path.read_text()
    places = len(list(ast.walk(ast.parse(text))))
    for place in range(places):
        tree = ast.parse(text)
        node = list(ast.walk(tree))[place]
        before = ast.unparse(node) if isinstance(node, ast.expr) else ""
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            node.value = node.value + 1 if type(node.value) is int else node.value * 2
        elif isinstance(node, (ast.BinOp, ast.BoolOp)) and type(node.op) in SWAPPED:
            node.op = SWAPPED[type(node.op)]()  # type: ignore[assignment]
        elif isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPPED:
            node.ops[0] = SWAPPED[type(node.ops[0])]()  # type: ignore[assignment]
        else:
            continue
        yield node.lineno, before, ast.unparse(node), ast.unparse(tree)


def seen(copy: Path, changed: Path) -> bool:
    """Whether a test fails, or hangs."""
    own = copy / "tests" / changed.relative_to("src/captionbias").with_name(f"test_{changed.name}")
    tests = [copy / "tests/metrics/test_pinned_scores.py", *([own] if own.is_file() else [])]
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *map(str, tests), str(changed)]
    try:
        ran = subprocess.run(
            command, cwd=copy, env=os.environ | {"PYTHONPATH": str(copy / "src")}, capture_output=True, timeout=PATIENCE
        )
    except subprocess.TimeoutExpired:
        return True
    return ran.returncode != 0


def main(
    paths: Annotated[list[Path] | None, typer.Argument(help="files; those of the formulas when none is named")] = None,
    count: Annotated[int, typer.Option(help="so many mutants, drawn at random; 0 for all")] = 150,
    seed: Annotated[int, typer.Option(help="of the draw")] = 0,
) -> None:
    """Print the mutants that no test sees."""
    files = paths or sorted(path for name in PACKAGES for path in (ROOT / "src/captionbias" / name).rglob("*.py"))
    every = [(path.resolve().relative_to(ROOT), *mutant) for path in files for mutant in mutants(path)]
    chosen = np.random.default_rng(seed).permutation(len(every))[: count or None]
    survivors = 0
    with TemporaryDirectory(prefix="mutants-") as folder:
        copy = Path(folder, "copy")
        shutil.copytree(ROOT, copy, symlinks=True, ignore=shutil.ignore_patterns(".git", ".venv", "build", ".*_cache"))
        for number in track(sorted(chosen.tolist()), "mutants"):
            path, line, before, after, text = every[number]
            (copy / path).write_text(text)
            if not seen(copy, path):
                survivors += 1
                print(f"{path}:{line}: {before}  ->  {after}", flush=True)
            shutil.copy(ROOT / path, copy / path)
    print(f"{survivors} of {len(chosen)} mutants live")


if __name__ == "__main__":
    typer.run(main)
