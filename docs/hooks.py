"""What mkdocs cannot do by itself: the notebook as a page, the repository's cards and address, the table of claims.

Pages link to files of the repository as there, `../metrics/dbac/README.md`; the site has these under `files/`.
"""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from captionbias._version import __version__
from captionbias.metrics import DEFINED

ROOT = Path(__file__).parents[1]
CARRIED = ("metrics/*/README.md", "datasets_scripts/*/README.md", "spaces/*/README.md", "benchmarks/README.md")
CARRIED += ("CHANGELOG.md", "CONTRIBUTING.md", "examples/*.py")


def as_markdown(notebook: Path) -> str:
    """The text of its cells, code and what it printed in fences."""
    parts = []
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"])
        parts.append(f"```python\n{text}\n```" if cell["cell_type"] == "code" else text)
        parts += [f"```text\n{''.join(output['text'])}```" for output in cell.get("outputs", ())]
    return "\n\n".join(parts)


def on_config(config: Any) -> Any:
    urls = runpy.run_path(str(ROOT / "hatch_build.py"))["addresses"](__version__)
    config.repo_url, config.site_url = urls.get("Repository"), urls.get("Documentation")
    return config


def on_files(files: Files, config: Any) -> Files:
    files.append(File.generated(config, "tutorial.md", content=as_markdown(ROOT / "docs" / "tutorial.ipynb")))
    for path in sorted(path for pattern in CARRIED for path in ROOT.glob(pattern)):
        name = f"files/{path.relative_to(ROOT)}"
        carried = File.generated(config, name, content=path.read_text(encoding="utf-8"))
        carried.inclusion = carried.inclusion.NOT_IN_NAV
        files.append(carried)
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    if page.file.src_uri.startswith("files/"):
        return markdown.replace("](docs/", "](../")
    if page.file.src_uri == "agreement.md":
        claims = next(
            part for part in (ROOT / "benchmarks/README.md").read_text().split("\n\n") if part.startswith("|")
        )
        markdown = markdown.replace("<!-- claims -->", claims)
    if page.file.src_uri == "api/metrics.md":
        pages = (f"::: {metric.__module__}.{name}" for name, metric in DEFINED.items())
        markdown = markdown.replace("<!-- metrics -->", "\n\n".join(pages))
    return markdown.replace("](../", "](files/").replace("](tutorial.ipynb)", "](tutorial.md)")
