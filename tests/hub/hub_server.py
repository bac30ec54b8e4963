"""A Hub on this machine, for tests: the part of its HTTP interface that publishing uses, all in memory.

It believes nothing that it can check: tokens, sizes, samples, the SHA-256 of large files, parents of commits. What it
does not know it answers with 501, so that a request nobody thought of cannot go unnoticed.
"""

from __future__ import annotations

import base64
import json
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha1, sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

import pytest

import captionbias

LARGE = (".parquet", ".whl")  # what is kept beside the git repository
TOKEN = "hf_writes"
REPO = r"(?P<kind>models|datasets|spaces)/(?P<repo>[^/]+/[^/]+)"
WEB_REPO = r"(?P<kind>datasets/|spaces/|)(?P<repo>[^/]+/[^/]+)"
Answer = tuple[int, dict[str, str], bytes]  # status, headers, body
GIT_ATTRIBUTES = b"*.parquet filter=lfs diff=lfs merge=lfs -text\n"


@dataclass(frozen=True)
class Request:
    """A request as it came; `method` and `path` tell reads from writes."""

    method: str
    path: str
    query: dict[str, str]
    token: str | None
    body: bytes


@dataclass(frozen=True)
class Commit:
    oid: str
    message: str
    files: dict[str, bytes]


@dataclass
class Repo:
    """A repository with its history and its pull requests, which are commits beside main."""

    private: bool
    sdk: str | None
    commits: list[Commit]
    pulls: list[Commit] = field(default_factory=list)
    gated: str | bool = False

    @property
    def files(self) -> dict[str, bytes]:
        return self.commits[-1].files

    def at(self, revision: str) -> Commit:
        for commit in [*self.commits, *self.pulls]:
            if revision == commit.oid or (revision == "main" and commit is self.commits[-1]):
                return commit
        raise RefusedError(404, "Revision not found", "RevisionNotFound")


class RefusedError(Exception):
    """An answer that is an error, with the headers by which the real Hub tells why."""

    def __init__(self, status: int, message: str, code: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.headers = {"X-Error-Message": message, **({"X-Error-Code": code} if code else {})}


class Hub:
    """The state: owners, tokens with the owners they may write as, repositories, large files, and every request."""

    def __init__(self) -> None:
        self.owners = {"alice", "lab", "stranger"}
        self.tokens: dict[str, set[str]] = {TOKEN: {"alice", "lab"}, "hf_reads": set()}
        self.repos: dict[tuple[str, str], Repo] = {}
        self.large: dict[str, bytes] = {}
        self.requests: list[Request] = []
        self.faults: dict[tuple[str, str], RefusedError] = {}
        self.url = ""
        self.lock = threading.Lock()

    @property
    def writes(self) -> list[Request]:
        return [request for request in self.requests if request.method not in ("GET", "HEAD")]

    def commits_sent(self) -> list[Request]:
        return [request for request in self.requests if "/commit/" in request.path]

    def add(self, kind: str, repo: str, files: dict[str, bytes], private: bool = False) -> Repo:
        """A repository as somebody left it."""
        files = {".gitattributes": GIT_ATTRIBUTES, **files}
        made = Repo(private, "gradio" if kind == "spaces" else None, [_commit("before", files)])
        self.repos[kind, repo] = made
        return made

    def answer(self, request: Request) -> Answer:
        for (method, pattern), fault in self.faults.items():
            if request.method == method and re.search(pattern, request.path):
                raise fault
        for method, pattern, reply in ROUTES:
            match = re.fullmatch(pattern, request.path)
            if match and request.method in method:
                if request.token is not None and request.token not in self.tokens:
                    raise RefusedError(401, "Invalid credentials in Authorization header")
                return reply(self, request, **match.groupdict())
        raise RefusedError(501, f"{request.method} {request.path} is not spoken here")

    def find(self, request: Request, kind: str, repo: str) -> Repo:
        found = self.repos.get((kind, repo))
        if found is None or (found.private and not self.may_write(request, repo)):
            # The real Hub does not tell strangers which of the two it is.
            raise RefusedError(404 if request.token else 401, "Repository not found", "RepoNotFound")
        return found

    def may_write(self, request: Request, repo: str) -> bool:
        return repo.partition("/")[0] in self.tokens.get(request.token or "", ())

    def check_write(self, request: Request, repo: str) -> None:
        if request.token is None:
            raise RefusedError(401, "Invalid username or password.")
        if not self.may_write(request, repo) and request.query.get("create_pr") != "1":
            raise RefusedError(403, "You don't have write access to this repository")


def _commit(message: str, files: dict[str, bytes]) -> Commit:
    oid = sha1(repr((message, sorted((path, sha256(data).digest()) for path, data in files.items()))).encode())
    return Commit(oid.hexdigest(), message, files)


def blob_oid(data: bytes) -> str:
    """What git calls these bytes."""
    return sha1(b"blob %d\0" % len(data) + data).hexdigest()


def _json(content: Any, status: int = 200) -> Answer:
    return status, {"Content-Type": "application/json"}, json.dumps(content).encode()


def info(hub: Hub, request: Request, kind: str, repo: str, revision: str | None = None) -> Answer:
    found = hub.find(request, kind, repo)
    commit = found.at(revision or "main")
    return _json(
        {"id": repo, "sha": commit.oid, "private": found.private, "gated": found.gated, "sdk": found.sdk, "tags": []}
    )


def tree(hub: Hub, request: Request, kind: str, repo: str, revision: str, folder: str | None = None) -> Answer:
    files = hub.find(request, kind, repo).at(revision).files
    folders = {"/".join(path.split("/")[:depth]) for path in files for depth in range(1, path.count("/") + 1)}
    entries: list[dict[str, Any]] = [{"type": "directory", "path": path, "oid": "0" * 40} for path in sorted(folders)]
    entries += [
        {"type": "file", "path": path, "size": len(data), "oid": blob_oid(data)} for path, data in sorted(files.items())
    ]
    start = f"{folder}/" if folder else ""
    below = [entry for entry in entries if entry["path"].startswith(start)]
    if request.query.get("recursive", "").lower() != "true":
        below = [entry for entry in below if "/" not in entry["path"].removeprefix(start)]
    return _json(below)


def resolve(hub: Hub, request: Request, kind: str, repo: str, revision: str, path: str) -> Answer:
    commit = hub.find(request, kind.rstrip("/") or "models", repo).at(revision)
    if path not in commit.files:
        raise RefusedError(404, "Entry not found", "EntryNotFound")
    data = commit.files[path]
    return 200, {"ETag": f'"{blob_oid(data)}"', "X-Repo-Commit": commit.oid}, data


def create(hub: Hub, request: Request) -> Answer:
    sent = json.loads(request.body)
    kind, owner = sent["type"] + "s", sent["organization"]
    repo = f"{owner}/{sent['name']}"
    if owner not in hub.owners:
        raise RefusedError(404, f"There is no {owner} here")
    hub.check_write(request, repo)
    if (kind, repo) in hub.repos:
        return _json({"error": "You already created this repo", "url": f"{hub.url}/{kind}/{repo}"}, status=409)
    started = {"README.md": b"---\ntitle: a template\n---\n"} if kind == "spaces" else {}
    hub.add(kind, repo, started, private=sent.get("visibility") == "private").sdk = sent.get("sdk")
    return _json({"url": f"{hub.url}/{kind}/{repo}"})


def settings(hub: Hub, request: Request, kind: str, repo: str) -> Answer:
    hub.check_write(request, repo)
    hub.find(request, kind, repo).gated = json.loads(request.body)["gated"]
    return _json({})


def validate(hub: Hub, request: Request) -> Answer:
    return _json({"errors": [], "warnings": []})


def preupload(hub: Hub, request: Request, kind: str, repo: str, revision: str) -> Answer:
    commit = hub.find(request, kind, repo).at(revision)
    hub.check_write(request, repo)
    files = []
    for sent in json.loads(request.body)["files"]:
        sample = base64.b64decode(sent["sample"])
        if len(sample) != min(sent["size"], 512):
            raise RefusedError(400, f"{sent['path']}: the sample is not the file's first 512 bytes")
        large = sent["path"].endswith(LARGE)
        there = commit.files.get(sent["path"])
        oid = None if there is None else sha256(there).hexdigest() if large else blob_oid(there)
        mode = "lfs" if large else "regular"
        files.append({"path": sent["path"], "uploadMode": mode, "shouldIgnore": False, "oid": oid})
    return _json({"files": files})


def batch(hub: Hub, request: Request, kind: str, repo: str) -> Answer:
    hub.find(request, kind.rstrip("/") or "models", repo)
    sent = json.loads(request.body)
    if request.token is None:
        raise RefusedError(401, "Invalid username or password.")
    if sent.get("ref"):
        hub.check_write(request, repo)
    objects = []
    for thing in sent["objects"]:
        answer = {"oid": thing["oid"], "size": thing["size"]}
        if thing["oid"] not in hub.large:
            answer["actions"] = {"upload": {"href": f"{hub.url}/storage/{thing['oid']}/{thing['size']}"}}
        objects.append(answer)
    return _json({"transfer": "basic", "objects": objects})


def store(hub: Hub, request: Request, oid: str, size: str) -> Answer:
    if request.token is not None:
        raise RefusedError(400, "The token was sent to the storage, which is somebody else's")
    if len(request.body) != int(size) or sha256(request.body).hexdigest() != oid:
        raise RefusedError(400, "These are not the bytes that were announced")
    hub.large[oid] = request.body
    return 200, {}, b""


def commit(hub: Hub, request: Request, kind: str, repo: str, revision: str) -> Answer:
    found = hub.find(request, kind, repo)
    hub.check_write(request, repo)
    if revision != "main":
        raise RefusedError(400, f"commits go to main here, not to {revision}")
    head, *operations = map(json.loads, request.body.splitlines())
    before = found.commits[-1]
    if head["value"].get("parentCommit", before.oid) != before.oid:
        raise RefusedError(412, "A commit has happened since. Please refresh and try again.")
    files = dict(before.files)
    for operation in operations:
        key, value = operation["key"], operation["value"]
        path = value["path"]
        if key == "deletedFile":
            if path not in files:
                raise RefusedError(404, "A file with this name doesn't exist", "EntryNotFound")
            del files[path]
        elif key == "lfsFile":
            if len(hub.large.get(value["oid"], b"")) != value["size"]:
                raise RefusedError(400, f"{path} points to a large file that was not uploaded")
            files[path] = hub.large[value["oid"]]
        elif key == "file" and not path.endswith(LARGE):
            files[path] = base64.b64decode(value["content"], validate=True)
        else:
            raise RefusedError(400, f"{key} of {path} is nothing that a commit has")
    if files == before.files:
        raise RefusedError(400, "No files have been modified since the last commit")
    made = _commit(head["value"]["summary"], files)
    answer = {"commitUrl": f"{hub.url}/{kind}/{repo}/commit/{made.oid}", "commitOid": made.oid}
    if request.query.get("create_pr") == "1":
        found.pulls.append(made)
        answer["pullRequestUrl"] = f"{hub.url}/{kind}/{repo}/discussions/{len(found.pulls)}"
    else:
        found.commits.append(made)
    return _json(answer)


ROUTES: list[tuple[str, str, Any]] = [
    ("GET", rf"/api/{REPO}(/revision/(?P<revision>[^/]+))?", info),
    ("GET", rf"/api/{REPO}/tree/(?P<revision>[^/]+)(/(?P<folder>.+))?", tree),
    ("GET HEAD", rf"/{WEB_REPO}/resolve/(?P<revision>[^/]+)/(?P<path>.+)", resolve),
    ("POST", r"/api/repos/create", create),
    ("PUT", rf"/api/{REPO}/settings", settings),
    ("POST", r"/api/validate-yaml", validate),
    ("POST", rf"/api/{REPO}/preupload/(?P<revision>[^/]+)", preupload),
    ("POST", rf"/{WEB_REPO}\.git/info/lfs/objects/batch", batch),
    ("PUT", r"/storage/(?P<oid>[0-9a-f]{64})/(?P<size>\d+)", store),
    ("POST", rf"/api/{REPO}/commit/(?P<revision>[^/]+)", commit),
]


def _handler(hub: Hub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def serve(self) -> None:
            parts = urlsplit(self.path)
            scheme, _, token = self.headers.get("Authorization", "").partition(" ")
            query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
            path = unquote(parts.path)
            request = Request(self.command, path, query, token if scheme == "Bearer" else None, self.read_body())
            with hub.lock:
                hub.requests.append(request)
                try:
                    status, headers, body = hub.answer(request)
                except RefusedError as error:
                    status, headers = error.status, {"Content-Type": "application/json", **error.headers}
                    body = json.dumps({"error": str(error)}).encode()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, quote(value, safe=" /:;<>=?&\"',.()"))
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def read_body(self) -> bytes:
            if self.headers.get("Transfer-Encoding") != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length", 0)))
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return body

        do_GET = do_HEAD = do_POST = do_PUT = serve

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


@contextmanager
def running() -> Iterator[Hub]:
    """A new, empty Hub at `hub.url`."""
    hub = Hub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(hub))
    server.daemon_threads = True
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def connect(hub: Hub, patch: pytest.MonkeyPatch, home: Path) -> None:
    """Let huggingface_hub in this process talk to this Hub, with a token that may write as alice and as lab."""
    constants = "huggingface_hub.constants."
    patch.setattr(constants + "ENDPOINT", hub.url)
    patch.setattr(constants + "HUGGINGFACE_CO_URL_TEMPLATE", hub.url + "/{repo_id}/resolve/{revision}/{filename}")
    patch.setattr(constants + "HF_HUB_DISABLE_XET", True)  # Xet is another protocol, and not spoken here
    patch.setattr(constants + "HF_TOKEN_PATH", str(home / "no token"))
    patch.setenv("HF_TOKEN", TOKEN)


def environment(hub: Hub, home: Path) -> dict[str, str]:
    """The environment of a process of its own that knows this Hub and token, and nothing of the user's."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGING"))}
    own = {"HF_ENDPOINT": hub.url, "HF_HOME": str(home / "hf"), "HF_TOKEN": TOKEN, "HF_HUB_DISABLE_XET": "1"}
    source = Path(captionbias.__file__).parents[1]
    return kept | own | {"PYTHONPATH": str(source), "COLUMNS": "200"}
