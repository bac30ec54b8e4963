"""Folders as repositories on the Hugging Face Hub: checked before the first request, and sent in one commit."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatch
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple

from fsspec.utils import glob_translate
from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi, metadata_load

# That of the HTTP library below, which is not the same in each release.
from huggingface_hub.errors import HTTPError  # type: ignore[attr-defined]
from yaml import YAMLError

from captionbias._version import __version__
from captionbias.errors import Message, phrase
from captionbias.hub.results import check_repo
from captionbias.text.markdown import one_line

SECRET_FILES = ("token", "token.txt", "hf_token*", "stored_tokens", "*.token", "*.pem", "*.key")
SECRET = re.compile(rb"\bhf_[A-Za-z0-9]{30,}\b")


class Published(NamedTuple):
    """A repository that was published, or would be: its address, the files of the folder, and the Parquet files of an
    earlier build that were deleted."""

    url: str
    files: tuple[str, ...]
    deleted: tuple[str, ...] = ()


def publish(
    folder: str | os.PathLike[str],
    repo: str,
    kind: Literal["space", "dataset"],
    *,
    private: bool | None = None,
    dry_run: bool = False,
) -> Published:
    """Send a folder, without its hidden files, to a repository on the Hub, which is made if there is none.

    Of a dataset the same commit deletes what the card's `data_files` would read of an earlier build. A card with
    `extra_gated_prompt` says that the rows may not be redistributed: they go to a private repository only, behind a
    gate. ValueError, and nothing is sent: a file that is a link or a secret, or what the Hub refuses.
    """
    check_repo("repo", repo)
    files = files_of(Path(folder))
    card = _front_matter(files)
    read = _read_files(card, files) if kind == "dataset" else []
    gated = kind == "dataset" and "extra_gated_prompt" in card
    if gated and not private:
        way = phrase("publish it with {private}, which also puts a gate before it", private=True)
        terms = "its card has extra_gated_prompt, the terms of rows that may not be redistributed"
        raise ValueError(Message(f"{repo}: {terms}", ways=[way]))
    api = HfApi(library_name="captionbias", library_version=__version__)
    url = f"{api.endpoint}/{kind}s/{repo}"
    if dry_run:
        return Published(url, tuple(files))
    try:
        sdk = "gradio" if kind == "space" else None
        api.create_repo(repo, repo_type=kind, private=private, space_sdk=sdk, exist_ok=True)
        info = api.repo_info(repo, repo_type=kind)
        if private and not info.private:
            raise ValueError(f"{repo} is public: make it private in its settings on the Hub first")
        if gated and not info.gated:
            api.update_repo_settings(repo, repo_type=kind, gated="manual")
        hub_files = api.list_repo_files(repo, repo_type=kind) if read else []
        stale = sorted(_matching(read, hub_files) - files.keys())
        api.create_commit(
            repo,
            [
                *(CommitOperationAdd(path, file) for path, file in files.items()),
                *(CommitOperationDelete(path, is_folder=False) for path in stale),
            ],
            commit_message=f"Publish with captionbias {__version__}",
            repo_type=kind,
            parent_commit=info.sha,  # refused if somebody has changed it since
        )
    except HTTPError as error:
        raise ValueError(f"{repo}: {one_line(str(error))}") from error
    return Published(url, tuple(files), tuple(stale))


def files_of(folder: Path) -> dict[str, Path]:
    """The files to send by their paths in the repository, sorted."""
    if not folder.is_dir():
        raise ValueError(f"folder {str(folder)!r} is not a folder: name the one to publish")
    files = {}
    for file in sorted(folder.rglob("*")):
        path = file.relative_to(folder)
        if any(part.startswith(".") or part == "__pycache__" for part in path.parts):
            continue
        if file.is_symlink():
            raise ValueError(f"{path} is a link: put a copy in its place, or move it out")
        if any(fnmatch(file.name.lower(), glob) for glob in SECRET_FILES):
            raise ValueError(f"{path} is named like a file of secrets: move it out of the folder, or rename it")
        # Parquet is compressed: a token cannot be seen in it, and chance may write one.
        if file.is_file() and file.suffix != ".parquet" and SECRET.search(file.read_bytes()):
            raise ValueError(
                f"{path} holds what looks like an access token: take it out, and revoke it if it was shared"
            )
        if file.is_file():
            files[path.as_posix()] = file
    return files


def _front_matter(files: Mapping[str, Path]) -> dict[str, Any]:
    if "README.md" not in files:
        raise ValueError("README.md is missing in the folder: write the card, with its front matter")
    try:
        return metadata_load(files["README.md"]) or {}
    except (ValueError, YAMLError) as error:
        raise ValueError(f"{files['README.md']}: the front matter is not YAML: {one_line(str(error))}") from error


def _read_files(card: Mapping[str, Any], files: Iterable[str]) -> list[str]:
    """The globs of the files that a card's configurations read, which must be all Parquet files of the folder."""
    from datasets.data_files import sanitize_patterns
    from datasets.utils.metadata import MetadataConfigs
    from huggingface_hub import CardData

    try:
        configs = MetadataConfigs.from_dataset_card_data(CardData(**card))
        globs = [
            glob
            for config in configs.values()
            for glob in chain.from_iterable(sanitize_patterns(config["data_files"]).values())
        ]
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"README.md: datasets cannot read its configs: {one_line(str(error))}") from error
    tables = {path for path in files if path.endswith(".parquet")}
    empty = [glob for glob in globs if not _matching([glob], tables)]
    unread = sorted(tables - _matching(globs, tables))
    if empty or unread or not tables:
        raise ValueError(
            f"README.md: data_files must name the Parquet files of the folder; {', '.join(empty) or 'none'} of them "
            f"are missing, and it leaves out {', '.join(unread) or 'none'}: build the folder anew, or correct the card"
        )
    return globs


def _matching(globs: Iterable[str], paths: Iterable[str]) -> set[str]:
    """Those paths that `datasets` finds by the globs."""
    patterns = [re.compile(glob_translate(glob)) for glob in globs]
    return {path for path in paths if any(pattern.match(path) for pattern in patterns)}
