"""Metrics, Spaces and datasets as repositories on the Hugging Face Hub, through huggingface_hub.

Every folder is checked before the first request, and each repository gets one commit, so nobody ever finds it half
published.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from fsspec.utils import glob_translate
from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi, get_token, metadata_load

# HTTPError is that of the HTTP library below, which is not the same in each release.
from huggingface_hub.errors import HfHubHTTPError, HTTPError  # type: ignore[attr-defined]
from yaml import YAMLError

from captionbias import __version__
from captionbias.hub.eval_results import check_repo
from captionbias.hub.wheels import Wheel, carrying, find_wheel, requirement, unmet
from captionbias.text.markdown import one_line

if TYPE_CHECKING:
    from typing_extensions import Unpack

TOKENS_PAGE = "https://huggingface.co/settings/tokens"
HUB_PYTHON = "3.10"  # of a Space whose card names none
SECRET_FILES = ("token", "token.txt", "hf_token*", "stored_tokens", "*.token", "*.pem", "*.key")
SECRET = re.compile(rb"\bhf_[A-Za-z0-9]{30,}\b")
WAYS_OUT = {
    401: f"the Hub does not accept the access token: make one that may write at {TOKENS_PAGE}, then run hf auth login, "
    "or set HF_TOKEN",
    403: "the access token may not write there: use one that may, name an owner for whom yours may, or propose the "
    "change with a pull request",
    404: "there is no such repository or owner: check the name, and what the access token may read",
    412: "it was changed meanwhile: run again",
    429: "too many requests for now: run again in some minutes",
}


class Options(TypedDict, total=False):
    """What `publish_metric`, `publish_space` and `publish_dataset` take by keyword."""

    dry_run: bool  # only check the folder and list what would be sent, without a request or an access token
    create_pr: bool  # open a pull request instead of committing to main; a missing repository is created first
    private: bool | None  # of a new repository, its owner's usual choice when None; refused if an older one differs
    message: str | None  # the commit's; it names this package and its version when None
    token: str | None  # the one of HF_TOKEN or `hf auth login` when None


@dataclass(frozen=True)
class Published:
    """A repository that was published, or would be."""

    repo: str  # OWNER/NAME
    url: str
    files: dict[str, int]  # of the folder: the size of each in bytes, by its path in the repository
    deleted: tuple[str, ...] = ()  # Parquet files of an earlier build
    changed: bool = False  # not in a dry run, nor where the repository was up to date already
    pull_request: str | None = None  # its link, if one was opened


@dataclass(frozen=True)
class _Source:
    """A checked folder: its files by their paths in the repository, and the globs that its card reads rows from."""

    repo: str
    kind: Literal["space", "dataset"]
    files: dict[str, Path | bytes]
    globs: tuple[str, ...] = ()
    gated: bool = False  # its card asks readers to agree to terms first
    carries_wheel: bool = False


def publish_metric(
    names: Sequence[str] | None,
    owner: str,
    *,
    wheel: str | os.PathLike[str] | None = None,
    **options: Unpack[Options],
) -> list[Published]:
    """Make each metric the Space OWNER/NAME, so that `evaluate.load("OWNER/NAME")` works anywhere.

    This package is on no index: its wheel goes into the Space, whose requirements.txt and card then name it by its
    address there.

    Args:
        names: the metrics; all of this package's when None.
        owner: the user or organisation on the Hub.
        wheel: the wheel of this package; one that is built from the clone when None.
        **options: see `Options`.

    Returns:
        What was done, one entry a metric. Files that only the Hub has stay there.

    Raises:
        ValueError: a name that is not a metric, a folder or repository that does not qualify, a wheel that does not
            meet what the Space requires or cannot be built, a Space that is to be private, in which the wheel could not
            be read, a token that may not write, or a Hub out of reach. Repositories before the one that is named are
            then published, it and those after it are not.

    Example:
        >>> publish_metric(["lic"], "not an owner", dry_run=True)
        Traceback (most recent call last):
        ...
        ValueError: repo is 'not an owner/lic': write OWNER/NAME, in letters, digits and single - _ . inside
        >>> [list(done.files) for done in publish_metric(["lic"], "someone", dry_run=True)]
        [['README.md', 'app.py', 'captionbias-...whl', 'lic.py', 'requirements.txt']]
    """
    from captionbias.hub.modules import metric_folders

    folders = metric_folders(None if names is None else list(dict.fromkeys(names)))
    find = cache(partial(find_wheel, wheel))
    return _publish([_space(folder, f"{owner}/{folder.name}", find) for folder in folders], **options)


def publish_space(
    folder: str | os.PathLike[str],
    repo: str,
    *,
    wheel: str | os.PathLike[str] | None = None,
    **options: Unpack[Options],
) -> Published:
    """Make a folder the Gradio Space `repo`, which is OWNER/NAME; see `Options` and `publish_metric` for the rest.

    The wheel goes with it if its requirements.txt names captionbias without an address.
    Hidden files, __pycache__ and .pyc files are left out. Files that only the Hub has stay there.

    Raises:
        ValueError: as `publish_metric`; also when README.md does not describe a Gradio app in this folder, there is no
            requirements.txt, a link leads outside the folder, or a file holds or looks like a secret.
    """
    (published,) = _publish([_space(Path(folder), repo, partial(find_wheel, wheel))], **options)
    return published


def publish_dataset(folder: str | os.PathLike[str], repo: str, **options: Unpack[Options]) -> Published:
    """Make a folder of Parquet files with a card the dataset `repo`, which is OWNER/NAME; see `Options` for the rest.

    The same commit deletes Parquet files on the Hub that are not in the folder, if the card there or the new one names
    them in `data_files`: they are rows of an earlier build. All else that only the Hub has stays.

    A card with `extra_gated_prompt` says that the rows may not be redistributed: the repository must be private, and
    gets a gate. Its owner lets in by hand whom to show it, even if it is made public later.

    Raises:
        ValueError: as `publish_space`, of links and secrets; also when such a card's repository is not to be private,
            the `data_files` of the card's `configs` name no Parquet file or leave one out, or a Parquet file is damaged
            or has no rows.
    """
    (published,) = _publish([_dataset(Path(folder), repo)], **options)
    return published


def _publish(
    sources: Sequence[_Source],
    *,
    dry_run: bool = False,
    create_pr: bool = False,
    private: bool | None = None,
    message: str | None = None,
    token: str | None = None,
) -> list[Published]:
    if message is not None and not message.strip():
        raise ValueError("message is empty: say what changed, or leave it out")
    message = message or f"Publish with captionbias {__version__}"
    token = token or get_token()
    if not dry_run and token is None:
        raise ValueError(f"there is no access token: make one that may write at {TOKENS_PAGE}, then run hf auth login")
    # The HTTP library quotes a header that it cannot send, and thus the token, in its error.
    if token is not None and not re.fullmatch(r"[!-~]+", token):
        raise ValueError("token has spaces or characters that no token has: copy it again, or run hf auth login again")
    for source in sources:
        if source.carries_wheel and private:
            raise ValueError(
                f"{source.repo}: the Hub builds a private Space without the right to read the wheel in it: make it "
                "public, or name in requirements.txt an address of captionbias that needs no token"
            )
        if source.gated and not private:
            raise ValueError(
                f"{source.repo}: its card has extra_gated_prompt, the terms of rows that may not be redistributed: "
                "publish it with private=True (--private), which also puts a gate before it"
            )
    api = HfApi(token=token or False, library_name="captionbias", library_version=__version__)
    done = []
    for source in sources:
        sizes = {
            path: len(file) if isinstance(file, bytes) else file.stat().st_size for path, file in source.files.items()
        }
        planned = Published(source.repo, f"{api.endpoint}/{source.kind}s/{source.repo}", sizes)
        done.append(planned if dry_run else _send(api, source, planned, create_pr, private, message))
    return done


def _space(folder: Path, repo: str, find: Callable[[], Wheel]) -> _Source:
    """A Space, with the wheel that `find` finds if its requirements.txt asks for one."""
    files = _files(folder, repo)
    faults = [f"there is no {name}" for name in ("README.md", "requirements.txt") if name not in files]
    if "README.md" in files:
        card = _front_matter(files["README.md"])
        if card.get("sdk") != "gradio":
            faults.append("README.md does not say sdk: gradio")
        if not isinstance(card.get("sdk_version"), str):
            faults.append("README.md has no sdk_version with three numbers, such as 6.31.0")
        if str(card.get("app_file")) not in files:
            faults.append(f"README.md has app_file {card.get('app_file')!r}, which is not one of the files to send")
    _refuse("Space", folder, faults)
    required = next(filter(None, map(requirement, files["requirements.txt"].read_text("utf-8").splitlines())), None)
    if required is None:
        return _Source(repo, "space", {**files})
    wheel = find()
    _refuse("Space", folder, unmet(wheel, required, str(card.get("python_version", HUB_PYTHON))))
    address = f"{HfApi().endpoint}/spaces/{repo}/resolve/main"
    return _Source(repo, "space", dict(sorted(carrying(files, wheel, address).items())), carries_wheel=True)


def _dataset(folder: Path, repo: str) -> _Source:
    files = _files(folder, repo)
    tables = [path for path in files if path.endswith(".parquet")]
    configs = _data_files(files["README.md"]) if "README.md" in files else {}
    globs = tuple(chain.from_iterable(configs.values()))
    faults = [] if configs else ["there is no README.md with configs, which say what to load"]
    faults += [f"config {config} has no data_files" for config, of_config in configs.items() if not of_config]
    faults += [f"{glob} in data_files is not a Parquet file here" for glob in globs if not _found([glob], tables)]
    faults += [f"no config reads {path}" for path in tables if configs and path not in _found(globs, tables)]
    faults += [f"{path} has no rows or is damaged" for path in tables if not _rows(files[path])]
    _refuse("dataset", folder, faults)
    return _Source(repo, "dataset", {**files}, globs, gated="extra_gated_prompt" in _front_matter(files["README.md"]))


def _refuse(kind: str, folder: Path, faults: list[str]) -> None:
    if faults:
        raise ValueError(f"{folder} cannot be a {kind}: {'; '.join(faults)}")


def _rows(table: Path) -> int:
    """How many rows a Parquet file has, as far as its footer tells; 0 if it is damaged."""
    import pyarrow.parquet as pq

    try:
        return int(pq.read_metadata(table).num_rows)
    except (ValueError, OSError):
        return 0


def _front_matter(card: Path) -> dict[str, Any]:
    try:
        return metadata_load(card) or {}
    except (ValueError, YAMLError) as error:
        raise ValueError(f"{card}: the front matter is not a YAML mapping: {one_line(str(error))}") from error


def _data_files(card: Path) -> dict[str, list[str]]:
    """The globs of each config of a card, as `datasets` reads them."""
    from datasets.data_files import sanitize_patterns
    from datasets.utils.metadata import MetadataConfigs
    from huggingface_hub import CardData

    try:
        configs = MetadataConfigs.from_dataset_card_data(CardData(**_front_matter(card)))
        files = {name: sanitize_patterns(config.get("data_files") or []) for name, config in configs.items()}
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"{card}: datasets cannot read its configs: {one_line(str(error))}") from error
    return {name: list(chain.from_iterable(splits.values())) for name, splits in files.items()}


def _found(globs: Iterable[str], paths: Iterable[str]) -> set[str]:
    """Those paths that `datasets` finds by the globs."""
    patterns = [re.compile(glob_translate(glob)) for glob in globs]
    return {path for path in paths if any(pattern.match(path) for pattern in patterns)}


def _files(folder: Path, repo: str) -> dict[str, Path]:
    """The files to send by their paths in the repository, sorted."""
    check_repo("repo", repo)
    if not folder.is_dir():
        raise ValueError(f"folder is {str(folder)!r}, which is not a folder: name the one to publish as {repo}")
    root = folder.resolve()
    files = {file.relative_to(root).as_posix(): file for file in root.rglob("*") if not _left_out(file, root)}
    for path, file in files.items():
        target = Path(os.path.realpath(file))  # resolve() fails on a link to itself
        if not target.is_file() or not target.is_relative_to(root) or _left_out(target, root):
            raise ValueError(
                f"{path} is neither a file nor a link to one that is sent from this folder too: put a copy in its "
                "place, or move it out"
            )
        if any(fnmatch.fnmatch(file.name.lower(), glob) for glob in SECRET_FILES):
            raise ValueError(f"{path} is named like a file of secrets: move it out of the folder, or rename it")
        # Parquet is compressed: a token cannot be seen in it, and chance may write one.
        if file.suffix != ".parquet" and SECRET.search(file.read_bytes()):
            raise ValueError(
                f"{path} holds what looks like an access token: take it out, and revoke it if it was shared"
            )
    return dict(sorted(files.items()))


def _left_out(file: Path, root: Path) -> bool:
    hidden = any(part.startswith(".") or part == "__pycache__" for part in file.relative_to(root).parts)
    return hidden or file.suffix == ".pyc" or (file.is_dir() and not file.is_symlink())


def _send(
    api: HfApi, source: _Source, planned: Published, create_pr: bool, private: bool | None, message: str
) -> Published:
    repo, kind = source.repo, source.kind
    with _plain_errors(api, repo):
        sdk = "gradio" if kind == "space" else None
        api.create_repo(repo, repo_type=kind, private=private, space_sdk=sdk, exist_ok=True)
        info = api.repo_info(repo, repo_type=kind)
        if private is not None and info.private != private:
            now = "private" if info.private else "public"
            raise ValueError(f"private is {private}, but it is {now}: change that in its settings on the Hub first")
        if source.gated and not getattr(info, "gated", False):
            api.update_repo_settings(repo, repo_type=kind, gated="manual")
        deleted = _earlier_tables(api, source, info.sha) if kind == "dataset" else []
        sent = api.create_commit(
            repo,
            [
                *(CommitOperationAdd(path, file) for path, file in source.files.items()),
                *(CommitOperationDelete(path, is_folder=False) for path in deleted),
            ],
            commit_message=message,
            repo_type=kind,
            create_pr=create_pr,
            parent_commit=info.sha,  # refused if somebody has changed it since
        )
    return replace(planned, deleted=tuple(deleted), changed=sent.oid != info.sha, pull_request=sent.pr_url)


def _earlier_tables(api: HfApi, source: _Source, commit: str | None) -> list[str]:
    """Parquet files of earlier builds: those on the Hub alone that a card, the one there or the new one, names."""
    there = api.list_repo_files(source.repo, repo_type="dataset", revision=commit)
    left = [path for path in there if path.endswith(".parquet") and path not in source.files]
    globs = [*source.globs]
    if left and "README.md" in there:
        with TemporaryDirectory() as scratch:
            card = api.hf_hub_download(
                source.repo, "README.md", repo_type="dataset", revision=commit, local_dir=scratch
            )
            with suppress(ValueError):  # a broken card reads no rows
                globs += chain.from_iterable(_data_files(Path(card)).values())
    return sorted(_found(globs, left))


@contextmanager
def _plain_errors(api: HfApi, repo: str) -> Iterator[None]:
    """What huggingface_hub raises as one line with the way out, the token never in it."""
    try:
        yield
    except (HTTPError, OSError, RuntimeError, ValueError) as error:
        cause = error.__cause__ if isinstance(error, RuntimeError) and error.__cause__ else error  # of an upload
        raise ValueError(f"{repo}: {_way_out(cause, api)}".replace(str(api.token), "<token>")) from error


def _way_out(error: BaseException, api: HfApi) -> str:
    reason = one_line(str(error))
    if isinstance(error, HfHubHTTPError):
        status = error.response.status_code
        if status >= 500:
            return f"the Hub failed ({status}): run again later, see https://status.huggingface.co"
        return WAYS_OUT.get(status, f"the Hub refuses ({status}): {one_line(error.server_message or reason)}")
    if isinstance(error, HTTPError):
        return f"{api.endpoint} is out of reach ({reason}): check the network and HF_ENDPOINT, then run again"
    return reason
