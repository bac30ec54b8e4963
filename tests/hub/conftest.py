"""A Hub in memory: huggingface_hub's client as publishing calls it, which keeps what it gets."""

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest
from huggingface_hub import CommitOperationAdd, HfApi


@dataclass
class Hub:
    private: bool = False
    gated: str | bool = False
    files: dict[str, bytes] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)


@pytest.fixture
def hub(monkeypatch):
    """One repository, there already or not."""
    hub = Hub()

    def create_repo(api, repo, **options):
        hub.calls.append("create")
        hub.private = hub.private or (bool(options["private"]) and not hub.files)

    def update_repo_settings(api, repo, *, gated, **_):
        hub.calls.append("gate")
        hub.gated = gated

    def create_commit(api, repo, operations, **_):
        hub.calls.append("commit")
        for operation in operations:
            if isinstance(operation, CommitOperationAdd):
                hub.files[operation.path_in_repo] = Path(operation.path_or_fileobj).read_bytes()
            else:
                del hub.files[operation.path_in_repo]

    monkeypatch.setattr(HfApi, "create_repo", create_repo)
    monkeypatch.setattr(HfApi, "update_repo_settings", update_repo_settings)
    monkeypatch.setattr(HfApi, "create_commit", create_commit)
    monkeypatch.setattr(
        HfApi, "repo_info", lambda *_, **__: SimpleNamespace(private=hub.private, gated=hub.gated, sha="0" * 40)
    )
    monkeypatch.setattr(HfApi, "list_repo_files", lambda *_, **__: list(hub.files))
    return hub


def write(folder, files):
    """The folder with these files of text."""
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content)
    return folder
