"""What serves the page: results by link, what a browser may load, who may ask, and a private folder for all files."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import quote, urlsplit

from captionbias.app import example
from captionbias.app.measuring import prepare
from captionbias.app.runs import GONE, Runs
from captionbias.app.uploads import MAX_BYTES, stop_reading, warm_up
from captionbias.io.store import open_store

PREFIX = "captionbias-page-"
LOCK, NEW = "lock", 60  # of a folder in use; seconds in which a folder has no lock yet
UPLOAD = 310_000_000  # bytes of a request: the largest set of files
BODY = 5_000_000  # bytes of any other request, which has settings
HOUR, MAX_CLIENTS = 3600, 2000

EMBEDDED = " https://huggingface.co https://*.hf.space" if os.environ.get("SPACE_ID") else ""
# Gradio's HTML component makes functions of its templates, which are not of users.
PAGE_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; media-src 'self' data: blob:; worker-src 'self' blob:; "
    "object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'self'"
)
RESULT_POLICY = (
    "sandbox allow-scripts allow-downloads allow-modals; default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data: blob:; frame-ancestors 'self'"
)
_HEADERS = {
    b"content-security-policy": (PAGE_POLICY + EMBEDDED).encode(),
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
}
HERE = ["localhost", "127.0.0.1"]
# What gradio serves beside pages; these write files that nobody counts, or ask other servers.
_UNUSED = re.compile(r"/gradio_api/(process_recording|vibe-|deep_link|proxy=)")


def serve(
    build: Callable[[Runs], Any],
    runs: Runs | None = None,
    *,
    host: str | None = None,
    port: int | None = None,
    open_browser: bool = False,
    tell: Callable[[str], None] = print,
    **look: Any,
) -> None:
    """Serve the page that `build` makes for these runs until this process is asked to end; nothing of what users
    uploaded is left then, but for reports of the last day. `tell` is called with the address, `look` is more for
    `gr.Blocks.launch`."""
    runs = runs or Runs()
    if store := open_store(True):
        runs.restore(store.folder / "page")
    with private_folder() as folder:
        blocks = build(runs)
        try:
            options = launch_options(runs, folder, host) | {"server_port": port, "inbrowser": open_browser}
            _, address, _ = blocks.launch(**options, **look, quiet=True, prevent_thread_lock=True)
            tell(f"the page is at {address}; end it with Ctrl-C")
            warm_up()
            Thread(target=prepare, daemon=True).start()  # a signal ends this thread
            with suppress(KeyboardInterrupt):
                while blocks.is_running:
                    time.sleep(0.1)
        finally:
            runs.close()
            stop_reading()
            blocks.close(verbose=False)


def launch_options(runs: Runs, folder: Path, host: str | None = None) -> dict[str, Any]:
    """What `gr.Blocks.launch` needs so that these runs are served as they should be; see `serve`."""
    from starlette.middleware import Middleware
    from starlette.middleware.trustedhost import TrustedHostMiddleware
    from starlette.routing import Route

    host = host or os.environ.get("GRADIO_SERVER_NAME") or "127.0.0.1"
    # Another site's name that leads here would make its scripts this page's own.
    names = [Middleware(TrustedHostMiddleware, allowed_hosts=HERE)] if host in HERE else []
    return {
        "server_name": host,
        "max_file_size": MAX_BYTES,
        "state_session_capacity": MAX_CLIENTS,  # gradio keeps 0.2 MB of each page
        "ssr_mode": False,  # another server would answer, without what is below
        "footer_links": ["settings"],
        "app_kwargs": {
            "routes": [Route(path, answer) for path, answer in _answers(runs).items()],
            "middleware": [*names, Middleware(Guard)],
            "lifespan": _tidying(runs, folder),
        },
    }


@contextmanager
def private_folder() -> Iterator[Path]:
    """A folder of this process that only its user can open, which every temporary file of it and its children is in. It
    is removed at the end, also by a signal, and so is what killed processes of this user left. For the main thread."""
    from filelock import FileLock

    for name in ("SIGTERM", "SIGHUP"):  # as Ctrl-C; who ignores one, as under nohup, goes on ignoring it
        if hasattr(signal, name) and signal.getsignal(getattr(signal, name)) is not signal.SIG_IGN:
            signal.signal(getattr(signal, name), lambda *_: sys.exit(0))
    sweep(Path(tempfile.gettempdir()))
    folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
    lock = FileLock(folder / LOCK)
    with suppress(OSError, NotImplementedError):  # file systems without locks, where nothing is swept
        lock.acquire()
    before, variables = tempfile.tempdir, {name: os.environ.get(name) for name in ("TMPDIR", "GRADIO_TEMP_DIR")}
    try:
        tempfile.tempdir = str(folder)
        os.environ |= {"TMPDIR": str(folder), "GRADIO_TEMP_DIR": str(folder / "uploads")}
        yield folder
    finally:
        tempfile.tempdir = before
        for name, value in variables.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})
        lock.release()
        shutil.rmtree(folder, ignore_errors=True)


def sweep(temporary: Path) -> None:
    """Remove the private folders that dead processes of this user left."""
    from filelock import FileLock, Timeout

    for left in temporary.glob(f"{PREFIX}*"):
        try:
            status = left.lstat()
            if not left.is_dir() or left.is_symlink() or (hasattr(os, "getuid") and status.st_uid != os.getuid()):
                continue
            if not (left / LOCK).exists() and time.time() - status.st_mtime < NEW:
                continue
            with FileLock(left / LOCK, blocking=False):
                pass
        except (OSError, NotImplementedError, Timeout):
            continue
        shutil.rmtree(left, ignore_errors=True)


def _answers(runs: Runs) -> dict[str, Callable[[Any], Any]]:
    """What is served beside the page, by its path: the example's report, and of each run the way back to the page that
    shows it, its report and its files."""
    from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, RedirectResponse

    headers = {"Content-Security-Policy": RESULT_POLICY + EMBEDDED, "Cache-Control": "no-store"}

    def of_example(_: Any) -> Any:
        prepare()
        return HTMLResponse(example.result(), headers=headers)

    def shown(request: Any) -> Any:
        return RedirectResponse(f"../?run={quote(request.path_params['name'], safe='')}")  # also behind a proxy

    def report(request: Any) -> Any:
        run = runs.find(request.path_params["name"])
        return HTMLResponse(run.result.report, headers=headers) if run and run.result else gone()

    def file(request: Any) -> Any:
        run = runs.find(request.path_params["name"])
        path = run.result.files.get(request.path_params["file"]) if run and run.result else None
        return FileResponse(path, filename=path.name, headers=headers) if path else gone()

    def gone() -> Any:
        return PlainTextResponse(f"{GONE[0].upper()}{GONE[1:]}.", 404, headers)

    return {
        "/example": of_example,
        "/run/{name}": shown,
        "/run/{name}/report": report,
        "/run/{name}/files/{file}": file,
    }


def _tidying(runs: Runs, folder: Path) -> Any:
    """Remove every minute what nobody used for an hour, with uploads that were broken off, which gradio leaves."""

    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        async def tidy() -> None:
            while True:
                runs.expire()
                for part in folder.glob("uploads/tmp*"):  # gradio moves whole ones on into folders of their own
                    if part.is_file() and time.time() - part.stat().st_mtime > HOUR:
                        part.unlink(missing_ok=True)
                await asyncio.sleep(60)

        task = asyncio.create_task(tidy())
        yield
        task.cancel()

    return lifespan


class Guard:
    """A guard between the network and gradio: it checks what comes in, and says what a browser may do with answers."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        from starlette.requests import Request
        from starlette.responses import PlainTextResponse

        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        if refusal := _refusal(request):
            await PlainTextResponse(*refusal)(scope, receive, send)
            return

        async def answer(message: Any) -> None:
            if message["type"] == "http.response.start":
                given = message.get("headers", [])
                names = {name.lower() for name, _ in given}
                message["headers"] = [*given, *(header for header in _HEADERS.items() if header[0] not in names)]
            await send(message)

        uploads = scope["path"].rstrip("/").endswith("/upload")
        await self._app(scope, _checked(receive, uploads) if request.method == "POST" else receive, answer)


def _refusal(request: Any) -> tuple[str, int] | None:
    origin = request.headers.get("origin")  # of which browsers tell, and programs do not
    own = [request.headers.get(name) for name in ("host", "x-forwarded-host")]
    if request.method == "POST" and origin is not None and urlsplit(origin).netloc not in own:
        return "Another site's page may not send anything to this one.", 403
    return ("This page has no such thing.", 404) if _UNUSED.search(request.url.path) else None


def _checked(receive: Any, uploads: bool) -> Any:
    """Receive up to a limit. No file in settings may be an address, which gradio would fetch at any size."""
    from starlette.exceptions import HTTPException

    limit, taken, chunks = UPLOAD if uploads else BODY, 0, []

    async def take() -> Any:
        nonlocal taken
        message = await receive()
        chunk = message.get("body", b"")
        taken += len(chunk)
        if taken > limit:
            raise HTTPException(413, f"The request has more than {limit / 1e6:,.0f} MB: give fewer or smaller files.")
        if not uploads:
            chunks.append(chunk)
            if not message.get("more_body") and _fetches(b"".join(chunks)):
                raise HTTPException(400, "An address is not a file: upload the file itself.")
        return message

    return take


def _fetches(body: bytes) -> bool:
    """Whether settings describe a file by an address."""
    fetches = False

    def look(record: dict[str, Any]) -> None:
        nonlocal fetches
        fetches |= str(record.get("path", "")).strip().lower().startswith(("http:", "https:"))

    with suppress(ValueError):  # gradio refuses what is not JSON
        json.loads(body, object_hook=look)
    return fetches
