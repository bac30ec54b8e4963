"""Metrics, Spaces and datasets as repositories on the Hugging Face Hub, through huggingface_hub.

All folders are checked before the first request and all repositories are read before the first change. Each repository
gets one commit, so nobody ever finds it half published.
"""

from __future__ import annotations

import fnmatch
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from fsspec.utils import glob_translate
from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi, get_token, metadata_load

# HTTPError is that of the HTTP library below, which is not the same in each release.
from huggingface_hub.errors import (  # type: ignore[attr-defined]
    HfHubHTTPError,
    HFValidationError,
    HTTPError,
    RepositoryNotFoundError,
)
from huggingface_hub.hf_api import RepoFile
from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]
from huggingface_hub.utils.sha import git_hash, sha_fileobj
from yaml import YAMLError

from captionbias import __version__
from captionbias.captions import CaptionBiasWarning

TOKENS_PAGE = "https://huggingface.co/settings/tokens"
TIMEOUT = 30  # seconds until a Hub that does not answer the first request counts as out of reach
SECRET_FILES = ("token", "token.txt", "hf_token*", "stored_tokens", "*.token", "*.pem", "*.key")
SECRET = re.compile(rb"\bhf_[A-Za-z0-9]{30,}\b")

State = Literal["new", "changed", "same", "deleted", "to send"]


@dataclass(frozen=True)
class PublishedFile:
    """A file of a repository: its path there, its size in bytes, and what publishing does with it.

    `state` is "new", "changed", "same" (not sent again), "deleted", or "to send" where a dry run could not compare.
    """

    path: str
    size: int
    state: State


@dataclass(frozen=True)
class Published:
    """What publishing did with a repository, or would do in a dry run; `changed` is False when it was up to date."""

    repo: str
    url: str
    files: tuple[PublishedFile, ...]
    pull_request: str | None = None

    @property
    def changed(self) -> bool:
        return any(file.state != "same" for file in self.files)


@dataclass(frozen=True)
class _Source:
    """A checked folder: its files by their paths in the repository, and the globs that its card reads rows from."""

    repo: str
    kind: Literal["space", "dataset"]
    files: dict[str, Path]
    reads: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Plan:
    """What is to be done; `commit` is the repository's last one, None where there is no repository."""

    source: _Source
    files: tuple[PublishedFile, ...]
    commit: str | None


def publish_metric(
    names: Sequence[str] | None,
    owner: str,
    *,
    dry_run: bool = False,
    create_pr: bool = False,
    private: bool | None = None,
    message: str | None = None,
    token: str | None = None,
) -> list[Published]:
    """Make each metric the Space OWNER/NAME, so that `evaluate.load("OWNER/NAME")` works anywhere.

    Args:
        names: the metrics; all of this package's when None.
        owner: the user or organisation on the Hub.
        dry_run: compare and list only. Where a repository cannot be read, a warning says so and all files are listed.
        create_pr: open a pull request instead of committing to main. A repository that is missing is created first.
        private: whether a new repository is private; its owner's usual choice when None.
        message: the commit's; it names this package and its version when None.
        token: an access token; the one of HF_TOKEN or `hf auth login` when None.

    Returns:
        What was done, one a metric. Files that only the Hub has stay there.

    Raises:
        ValueError: on a name that is no metric, a folder or repository that will not do, a token that may not, or a
            Hub out of reach. Repositories before the one that is named are then published, that one is not.

    Example:
        >>> publish_metric(["lic"], "not an owner", dry_run=True)
        Traceback (most recent call last):
        ...
        ValueError: repo is 'not an owner/lic': give OWNER/NAME, in letters, digits and single - _ . inside
    """
    from captionbias.hub.modules import metric_folders

    folders = metric_folders(None if names is None else list(dict.fromkeys(names)))
    return _publish(
        [_space(folder, f"{owner}/{folder.name}") for folder in folders],
        dry_run=dry_run,
        create_pr=create_pr,
        private=private,
        message=message,
        token=token,
    )


def publish_space(
    folder: str | os.PathLike[str],
    repo: str,
    *,
    dry_run: bool = False,
    create_pr: bool = False,
    private: bool | None = None,
    message: str | None = None,
    token: str | None = None,
) -> Published:
    """Make a folder the Gradio Space `repo`, which is OWNER/NAME; see `publish_metric` for the rest.

    Hidden files, __pycache__ and .pyc files are left out. Files that only the Hub has stay there.

    Raises:
        ValueError: as `publish_metric`; also when README.md has no front matter with sdk gradio, sdk_version and an
            app_file that exists, or there is no requirements.txt; on a link that leads outside the folder, and on a
            file that holds or looks like a secret.
    """
    (published,) = _publish(
        [_space(Path(folder), repo)],
        dry_run=dry_run,
        create_pr=create_pr,
        private=private,
        message=message,
        token=token,
    )
    return published


def publish_dataset(
    folder: str | os.PathLike[str],
    repo: str,
    *,
    dry_run: bool = False,
    create_pr: bool = False,
    private: bool | None = None,
    message: str | None = None,
    token: str | None = None,
) -> Published:
    """Make a folder of Parquet files with a card the dataset `repo`, which is OWNER/NAME; see `publish_metric`.

    The same commit deletes Parquet files on the Hub that are not in the folder, if the card there or the new one names
    them in `data_files`: they are rows of an earlier build. All else that only the Hub has stays.

    Raises:
        ValueError: as `publish_space`, of links and secrets; also when the card's front matter has no `configs`, when
            their `data_files` name no Parquet file or leave one out, or when a Parquet file is damaged or has no rows.
    """
    (published,) = _publish(
        [_dataset(Path(folder), repo)],
        dry_run=dry_run,
        create_pr=create_pr,
        private=private,
        message=message,
        token=token,
    )
    return published


def _publish(
    sources: Iterable[_Source],
    *,
    dry_run: bool,
    create_pr: bool,
    private: bool | None,
    message: str | None,
    token: str | None,
) -> list[Published]:
    if message is not None and not message.strip():
        raise ValueError("message is empty: say what changed, or leave it out")
    message = message or f"Publish with captionbias {__version__}"
    token = _checked_token(token or get_token())
    if token is None and not dry_run:
        raise ValueError(f"there is no access token: make one that may write at {TOKENS_PAGE}, then run hf auth login")
    api = HfApi(token=token or False, library_name="captionbias", library_version=__version__)
    plans = [_plan(api, source, private, dry_run) for source in sources]
    if not dry_run:
        return [_send(api, plan, create_pr, private, message) for plan in plans]
    return [Published(plan.source.repo, _url(api, plan.source), plan.files) for plan in plans]


def _checked_token(token: str | None) -> str | None:
    # The HTTP library quotes a header that it cannot send, and thus the token, in its error.
    if token is not None and not re.fullmatch(r"[!-~]+", token):
        raise ValueError("token has spaces or characters that no token has: copy it anew, or run hf auth login again")
    return token


def _space(folder: Path, repo: str) -> _Source:
    files = _files(folder, _checked_repo(repo))
    lacks = [f"there is no {name}" for name in ("README.md", "requirements.txt") if name not in files]
    if "README.md" in files:
        card = _front_matter(files["README.md"])
        if card.get("sdk") != "gradio":
            lacks.append("README.md does not say sdk: gradio")
        if not isinstance(card.get("sdk_version"), str):
            lacks.append("README.md has no sdk_version with three numbers, such as 6.31.0")
        if card.get("app_file") not in [*files]:  # it may be anything that YAML has
            lacks.append(f"README.md has app_file {card.get('app_file')!r}, which is none of the files to send")
    _refuse("Space", folder, lacks)
    return _Source(repo, "space", files)


def _dataset(folder: Path, repo: str) -> _Source:
    files = _files(folder, _checked_repo(repo))
    tables = [path for path in files if path.endswith(".parquet")]
    lacks = [] if tables else ["there is no Parquet file"]
    named: dict[str, list[str]] = {}
    if "README.md" in files:
        named = _data_files(_front_matter(files["README.md"]))
        if not named:
            lacks.append("README.md has no configs, which say what to load")
    else:
        lacks.append("there is no README.md")
    for config, globs in named.items():
        if not globs:
            lacks.append(f"config {config} has no data_files")
        lacks += [
            f"config {config} reads {glob}, which is no Parquet file here"
            for glob in globs
            if not _read([glob], tables)
        ]
    every = tuple(glob for globs in named.values() for glob in globs)
    if named:
        lacks += [f"no config reads {path}" for path in tables if path not in _read(every, tables)]
    lacks += [fault for path in tables if (fault := _fault(path, files[path]))]
    _refuse("dataset", folder, lacks)
    return _Source(repo, "dataset", files, every)


def _refuse(kind: str, folder: Path, lacks: list[str]) -> None:
    if lacks:
        raise ValueError(f"{folder} cannot be a {kind}: {'; '.join(lacks)}")


def _fault(path: str, table: Path) -> str | None:
    """What is wrong with a Parquet file, as far as its footer tells."""
    import pyarrow.parquet as pq

    try:
        rows = pq.read_metadata(table).num_rows
    except (ValueError, OSError):
        return f"{path} cannot be read as Parquet"
    return None if rows else f"{path} has no rows"


def _front_matter(card: Path) -> dict[str, Any]:
    try:
        return metadata_load(card) or {}
    except (ValueError, YAMLError) as error:
        raise ValueError(f"{card} has front matter that is no YAML mapping: {_one_line(error)}") from error


def _data_files(card: dict[str, Any]) -> dict[str, list[str]]:
    """The globs of each config, in each of the ways in which a card may write them.

    >>> _data_files({"configs": [{"config_name": "coco", "data_files": [{"split": "test", "path": "coco/*.parquet"}]}]})
    {'coco': ['coco/*.parquet']}
    """
    configs = card.get("configs")
    named: dict[str, list[str]] = {}
    for config in configs if isinstance(configs, list) else []:
        if isinstance(config, dict):
            globs = named.setdefault(str(config.get("config_name", "default")), [])
            given = config.get("data_files")
            for part in given if isinstance(given, list) else [given]:
                paths = part.get("path") if isinstance(part, dict) else part
                globs += [str(path) for path in (paths if isinstance(paths, list) else [paths]) if path]
    return named


def _read(globs: Iterable[str], paths: Iterable[str]) -> set[str]:
    """Those paths that `datasets` finds by the globs."""
    patterns = [re.compile(glob_translate(glob)) for glob in globs]
    return {path for path in paths if any(pattern.match(path) for pattern in patterns)}


def _checked_repo(repo: str) -> str:
    try:
        validate_repo_id(repo)
    except HFValidationError:
        valid = False
    else:
        valid = repo.count("/") == 1
    if not valid:
        raise ValueError(f"repo is {repo!r}: give OWNER/NAME, in letters, digits and single - _ . inside")
    return repo


def _files(folder: Path, repo: str) -> dict[str, Path]:
    """The files to send by their paths in the repository, sorted."""
    if not folder.is_dir():
        raise ValueError(f"folder is {str(folder)!r}, which is no folder: give the one to publish as {repo}")
    root = folder.resolve()
    found = {}

    def stop(error: OSError) -> None:
        raise ValueError(f"{error.filename} cannot be read ({error.strerror}): make it readable, or move it out")

    for place, folders, names in os.walk(root, onerror=stop):
        folders[:] = [name for name in folders if not _left_out(name)]
        for name in [*names, *(name for name in folders if Path(place, name).is_symlink())]:
            if not _left_out(name):
                file = Path(place, name)
                path = file.relative_to(root).as_posix()
                _check_file(path, file, root)
                found[path] = file
    return dict(sorted(found.items()))


def _left_out(name: str) -> bool:
    return name.startswith(".") or name == "__pycache__" or name.endswith(".pyc")


def _check_file(path: str, file: Path, root: Path) -> None:
    if not path.isprintable() or "\\" in path:
        raise ValueError(f"{path!r} has characters that do not print, or a backslash: rename it")
    if file.is_symlink():
        target = Path(os.path.realpath(file))  # resolve() fails on a link to itself
        inside = target.is_relative_to(root) and not any(map(_left_out, target.relative_to(root).parts))
        if not inside or not target.is_file():
            raise ValueError(
                f"{path} is a link to {os.readlink(file)}, which is no file that would be sent from this folder: "
                "put a copy in its place, or move it out"
            )
    if not file.is_file():
        raise ValueError(f"{path} is neither a file nor a folder: move it out of the folder")
    names = {file.name.lower(), file.resolve().name.lower()}
    if any(fnmatch.fnmatch(name, glob) for name in names for glob in SECRET_FILES):
        raise ValueError(f"{path} is named like a file of secrets: move it out of the folder, or rename it")
    try:
        # Parquet is compressed: a token cannot be seen in it, and chance may write one.
        secret = not path.endswith(".parquet") and SECRET.search(file.read_bytes())
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror}): make it readable, or move it out") from error
    if secret:
        raise ValueError(f"{path} holds what looks like an access token: take it out, and revoke it if it was shared")


def _plan(api: HfApi, source: _Source, private: bool | None, dry_run: bool) -> _Plan:
    sizes = {path: file.stat().st_size for path, file in source.files.items()}
    try:
        with _plain_errors(api, source.repo):
            info, there = _on_hub(api, source)
            states = {path: _state(file, there.get(path)) for path, file in source.files.items()}
            files = [PublishedFile(path, sizes[path], state) for path, state in states.items()]
            if source.kind == "dataset" and info:
                files += _stale(api, source, info.sha, there, states)
    except _HubError as error:
        if not dry_run:
            raise
        warnings.warn(f"not compared, so all files are listed: {error}", CaptionBiasWarning, stacklevel=4)
        return _Plan(source, tuple(PublishedFile(path, size, "to send") for path, size in sizes.items()), None)
    if info and private is not None and info.private != private:
        now = "private" if info.private else "public"
        raise ValueError(
            f"private is {private}, but {source.repo} is {now}: change that in its settings on the Hub first"
        )
    return _Plan(source, tuple(files), info.sha if info else None)


def _on_hub(api: HfApi, source: _Source) -> tuple[Any, dict[str, RepoFile]]:
    """What the Hub says of the repository, and the files in it; None when there is no such repository."""
    try:
        info = api.repo_info(source.repo, repo_type=source.kind, timeout=TIMEOUT)
    except RepositoryNotFoundError as error:
        if error.response.status_code != 404:
            raise
        return None, {}
    entries = api.list_repo_tree(source.repo, recursive=True, revision=info.sha, repo_type=source.kind)
    return info, {entry.path: entry for entry in entries if isinstance(entry, RepoFile)}


def _state(file: Path, there: RepoFile | None) -> State:
    if there is None:
        return "new"
    if there.size != file.stat().st_size:
        return "changed"
    if there.lfs is None:
        return "same" if git_hash(file.read_bytes()) == there.blob_id else "changed"
    with file.open("rb") as stream:
        return "same" if sha_fileobj(stream).hex() == there.lfs.sha256 else "changed"


def _stale(
    api: HfApi, source: _Source, commit: str, there: dict[str, RepoFile], states: dict[str, State]
) -> list[PublishedFile]:
    """Parquet files of earlier builds: those that a card, the one on the Hub or the new one, names."""
    left = [path for path in there if path.endswith(".parquet") and path not in source.files]
    globs = [*source.reads]
    if left and states["README.md"] == "changed":
        with TemporaryDirectory() as scratch:
            card = api.hf_hub_download(
                source.repo, "README.md", repo_type="dataset", revision=commit, local_dir=scratch
            )
            try:
                earlier = _data_files(_front_matter(Path(card)))
            except ValueError:  # somebody broke it: it reads no rows
                earlier = {}
        globs += [glob for globs in earlier.values() for glob in globs]
    return [PublishedFile(path, there[path].size, "deleted") for path in sorted(_read(globs, left))]


def _send(api: HfApi, plan: _Plan, create_pr: bool, private: bool | None, message: str) -> Published:
    source, commit = plan.source, plan.commit
    done = Published(source.repo, _url(api, source), plan.files)
    if not done.changed:
        return done
    operations = [
        CommitOperationDelete(file.path, is_folder=False)
        if file.state == "deleted"
        else CommitOperationAdd(file.path, source.files[file.path])
        for file in plan.files
        if file.state != "same"
    ]
    with _plain_errors(api, source.repo):
        if commit is None:
            api.create_repo(
                source.repo,
                repo_type=source.kind,
                private=private,
                space_sdk="gradio" if source.kind == "space" else None,
                exist_ok=True,
            )
        sent = api.create_commit(
            source.repo,
            operations,
            commit_message=message,
            repo_type=source.kind,
            create_pr=create_pr,
            parent_commit=commit,  # what was compared: refused if somebody has changed it since
        )
    return Published(source.repo, done.url, plan.files, sent.pr_url)


def _url(api: HfApi, source: _Source) -> str:
    return f"{api.endpoint}/{source.kind}s/{source.repo}"


class _HubError(ValueError):
    """The Hub could not be reached or would not do what it was asked."""


@contextmanager
def _plain_errors(api: HfApi, repo: str) -> Iterator[None]:
    """What huggingface_hub raises as one line with the way out, the token never in it."""
    try:
        yield
    except (HTTPError, OSError, RuntimeError, ValueError) as error:
        cause = error.__cause__ if isinstance(error, RuntimeError) and error.__cause__ else error  # of an upload
        text = _way_out(cause, repo, api)
        raise _HubError(text.replace(str(api.token), "<token>") if api.token else text) from error


def _way_out(error: BaseException, repo: str, api: HfApi) -> str:
    if not isinstance(error, HfHubHTTPError):
        reason = _one_line(error)
        if isinstance(error, HTTPError):
            return (
                f"{repo}: {api.endpoint} is out of reach ({reason}): check the network and HF_ENDPOINT, then run again"
            )
        return f"{repo} was not published: {reason}"
    status, owner = error.response.status_code, repo.partition("/")[0]
    if status == 401 and not api.token:
        return f"{repo} is missing, or private and there is no access token: run hf auth login, or set HF_TOKEN"
    if status == 401:
        return (
            f"{repo}: the Hub does not accept the access token: make one that may write at {TOKENS_PAGE}, then run "
            "hf auth login, or set HF_TOKEN"
        )
    if status == 403:
        return (
            f"{repo}: the access token may not write there: use one that may write as {owner}, name an owner for whom "
            "yours may, or propose the change with a pull request"
        )
    if status == 404:
        return (
            f"{repo} was not found, nor an owner {owner} who could have it: check the name, and what the token may read"
        )
    if status == 412:
        return f"{repo} was changed by somebody else meanwhile: run again"
    if status == 429:
        wait = error.response.headers.get("Retry-After", "")
        return (
            f"{repo}: too many requests for now: run again in {f'{wait} seconds' if wait.isdigit() else 'some minutes'}"
        )
    if status >= 500:
        return f"{repo}: the Hub has a fault of its own ({status}): run again later, see https://status.huggingface.co"
    return f"{repo}: the Hub refuses ({status}): {_one_line(error.server_message or error)}"


def _one_line(error: object) -> str:
    return " ".join(str(error).split())
