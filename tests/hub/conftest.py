"""A Hub on this machine, and folders to publish there."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.hub.hub_server import connect, running

CARD = """---
configs:
- config_name: coco
  data_files:
  - split: test
    path: coco/test-*.parquet
- config_name: flickr
  data_files: flickr/test.parquet
---
# Captions
"""
SPACE = "---\ntitle: Bias\nsdk: gradio\nsdk_version: 6.31.0\napp_file: app.py\n---\n# Bias\n"


def write(folder, files):
    """Put these files there, and take away those whose content is None."""
    for path, content in files.items():
        if content is None:
            (folder / path).unlink()
        else:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def table(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"caption": [f"caption {row}" for row in range(rows)]}), path)
    return path


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """An empty Hub, to which huggingface_hub talks in this process with a token that may write as alice and as lab."""
    with running() as hub:
        connect(hub, monkeypatch, tmp_path)
        yield hub


@pytest.fixture
def space(tmp_path):
    app = "import gradio\n\nprint('ü')\n"
    return write(
        tmp_path / "space", {"README.md": SPACE, "app.py": app, "requirements.txt": "gradio\n", "a/b.txt": "b"}
    )


@pytest.fixture
def dataset(tmp_path):
    folder = write(tmp_path / "dataset", {"README.md": CARD})
    for path, rows in (("coco/test-0.parquet", 30), ("coco/test-1.parquet", 20), ("flickr/test.parquet", 10)):
        table(folder / path, rows)
    return folder
