"""What serves the page: results by link, what a browser may load, who may ask, how much one address may send."""

from __future__ import annotations

import asyncio
import html
import os
import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext, suppress
from ipaddress import ip_address
from pathlib import Path
from threading import Timer
from typing import Any
from urllib.parse import urlsplit

from captionbias.app.folder import private_folder
from captionbias.app.runs import import_ahead
from captionbias.app.sessions import MAX_SESSIONS, Sessions, address_of
from captionbias.app.uploads import MAX_BYTES, stop_reading

THREADS = 100  # 80 of them may wait in the four lines of runs and readings
UPLOADED = 2_000_000_000  # bytes that an address uploads in an hour: six of the largest sets of images
BODY = 5_000_000  # bytes of any other request: settings, and words that somebody wrote
HOUR = 3600
AHEAD = 5.0  # seconds until what runs need is imported: the page itself comes first
STALLED = 60  # seconds without a byte after which an upload is dropped
DRAINED = 500_000_000  # bytes of a refused upload that are read, so that the browser gets to the answer

EMBEDDED = " https://huggingface.co https://*.hf.space"
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
EXAMPLE = Path(__file__).parent / "example.html"
_GONE = "This result is not here any more: results are deleted an hour after their last use, and by a new measurement."
_HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[\w.-]+)(?::\d+)?")
# What gradio serves beside pages; these write files that nobody counts, or ask other servers.
_UNUSED = re.compile(r"/gradio_api/(process_recording|vibe-|deep_link|proxy=)")
_STREAM = re.compile(r"/gradio_api/(?:heartbeat/|call/(?:v2/)?[^/]+/)([^/]+)$")


def serve(
    build: Callable[[Sessions], Any],
    *,
    host: str | None = None,
    port: int | None = None,
    open_browser: bool = False,
    tell: Callable[[str], None] = print,
    **look: Any,
) -> None:
    """Serve a page until this process is asked to end; nothing of what users uploaded is left then.

    Args:
        build: makes the page, a `gr.Blocks`, for these sessions.
        host, port: to listen on; None for what gradio's environment variables say, else this machine alone.
        tell: called with the address, in words.
        look: more for `gr.Blocks.launch`, such as a theme.

    Raises:
        OSError: no such port is free.
    """
    os.environ.setdefault("FORWARDED_ALLOW_IPS", "")  # who connects says where it comes from: anything otherwise
    sessions = Sessions()
    with private_folder():
        blocks = build(sessions)
        try:
            options = launch_options(sessions, host) | {"server_port": port, "inbrowser": open_browser}
            _, address, _ = blocks.launch(**options, **look, quiet=True, prevent_thread_lock=True)
            tell(f"the page is at {address}; end it with Ctrl-C")
            ahead = Timer(AHEAD, import_ahead)
            ahead.daemon = True
            ahead.start()
            with suppress(KeyboardInterrupt):
                while blocks.is_running:
                    time.sleep(0.1)
        finally:
            sessions.close()
            stop_reading()
            blocks.close(verbose=False)


def launch_options(sessions: Sessions, host: str | None = None) -> dict[str, Any]:
    """What `gr.Blocks.launch` needs so that these sessions are served as they should be; see `serve`."""
    from starlette.middleware import Middleware
    from starlette.routing import Route

    host = host or os.environ.get("GRADIO_SERVER_NAME") or "127.0.0.1"
    return {
        "server_name": host,
        "max_file_size": MAX_BYTES,
        "max_threads": THREADS,
        "state_session_capacity": MAX_SESSIONS,  # gradio keeps 0.2 MB of each page
        "ssr_mode": False,  # another server would answer, without what is below
        "footer_links": ["api", "settings"],
        "app_kwargs": {
            "routes": [Route("/result/{name}", _result_of(sessions))],
            "middleware": [Middleware(Guard, sessions=sessions, here_alone=is_here(host))],
            "lifespan": _expiring(sessions),
        },
    }


def escape_errors(blocks: Any) -> None:
    """Make every error of this page text, also gradio's own: a browser would read it as HTML."""
    import gradio as gr

    process = blocks.process_api

    async def escaping(*arguments: Any, **named: Any) -> Any:
        try:
            return await process(*arguments, **named)
        except gr.Error as error:
            request = named.get("request")
            by_program = request and str(request.headers.get("user-agent", "")).startswith("gradio_client")
            if not by_program:
                error.message = html.escape(str(error.message), quote=False)
            raise

    blocks.process_api = escaping


def is_here(host: str) -> bool:
    """Whether a name means this machine alone.

    >>> is_here("localhost"), is_here("127.0.0.1"), is_here("[::1]"), is_here("0.0.0.0"), is_here("example.org")
    (True, True, True, False, False)
    """
    name = host.strip("[]").rstrip(".").lower()
    with suppress(ValueError):
        return ip_address(name).is_loopback
    return name == "localhost" or name.endswith(".localhost")


def _result_of(sessions: Sessions) -> Any:
    from starlette.responses import HTMLResponse, PlainTextResponse

    def result(request: Any) -> Any:
        name = request.path_params["name"]
        headers = {"Content-Security-Policy": RESULT_POLICY + _embedded(), "Cache-Control": "no-store"}
        if name == "example" and EXAMPLE.is_file():
            return HTMLResponse(EXAMPLE.read_text(encoding="utf-8"), headers=headers)
        run = sessions.result(name)
        return HTMLResponse(run.report, headers=headers) if run else PlainTextResponse(_GONE, 404, headers)

    return result


def _embedded() -> str:
    return EMBEDDED if os.environ.get("SPACE_ID") else ""


def _expiring(sessions: Sessions) -> Any:
    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        async def expire() -> None:
            while True:
                await asyncio.sleep(60)
                sessions.expire()

        task = asyncio.create_task(expire())
        yield
        task.cancel()

    return lifespan


class _RefusedError(Exception):
    """The body of a request is too large."""


class Guard:
    """Between the network and gradio: checks and counts what comes in, and says what a browser may do with answers."""

    def __init__(self, app: Any, sessions: Sessions, here_alone: bool) -> None:
        self._app, self._sessions, self._here_alone = app, sessions, here_alone
        self._uploads = 0  # at the moment
        self._sent: dict[str, tuple[float, int]] = {}  # by address: since when, and how many bytes

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        from starlette.requests import Request
        from starlette.responses import PlainTextResponse

        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        name = _HOST.fullmatch(request.headers.get("host", ""))
        if self._here_alone and not (name and is_here(name[1])):
            # Another site's name that leads here would make its scripts this page's own.
            text = "This page is served to this machine only, as localhost. To let others in, start it with --host."
            await PlainTextResponse(text, 421)(scope, receive, send)
            return
        if request.method == "POST" and _foreign(request.headers):
            await PlainTextResponse("Another site's page may not send anything to this one.", 403)(scope, receive, send)
            return
        if _UNUSED.search(scope["path"]):
            await PlainTextResponse("This page has no such thing.", 404)(scope, receive, send)
            return
        begun = False

        async def answer(message: Any) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                message["headers"] = [*message.get("headers", []), *self._headers(message)]
            await send(message)

        uploads = scope["path"].rstrip("/").endswith("/upload")
        limit, refusal = self._limit(request, uploads)
        take = self._counted(request, receive, uploads, limit)
        self._uploads += uploads
        stream = self._stream(scope, request)
        try:
            with self._sessions.connected(stream) if stream else nullcontext():
                if int(request.headers.get("content-length") or 0) > limit:
                    raise _RefusedError
                await self._app(scope, take, answer)
        except _RefusedError:
            if not begun:
                await _drain(receive)
                await PlainTextResponse(refusal, 413)(scope, receive, answer)
        finally:
            self._uploads -= uploads
            if uploads and not self._uploads:
                _remove_parts(scope)

    def _headers(self, message: Any) -> list[tuple[bytes, bytes]]:
        wanted = {
            "content-security-policy": PAGE_POLICY + _embedded(),
            "x-content-type-options": "nosniff",
            "referrer-policy": "no-referrer",
        }
        given = {name.lower() for name, _ in message.get("headers", [])}
        return [(name.encode(), text.encode()) for name, text in wanted.items() if name.encode() not in given]

    def _limit(self, request: Any, uploads: bool) -> tuple[int, str]:
        """How many bytes a request may have, and what is said when it has more."""
        if not uploads:
            return BODY, f"The request has more than {BODY / 1e6:,.0f} MB: give large data as files."
        now, address = time.monotonic(), address_of(request)
        self._sent = {of: (since, sent) for of, (since, sent) in self._sent.items() if now - since < HOUR}
        since, sent = self._sent.get(address, (now, 0))
        return UPLOADED - sent, (
            f"Your address may upload {UPLOADED / 1e6:,.0f} MB an hour, and this is more: go on in "
            f"{(since + HOUR - now) / 60:.0f} minutes, or measure on your machine."
        )

    def _counted(self, request: Any, receive: Any, uploads: bool, limit: int) -> Any:
        address, taken = address_of(request), 0

        async def take() -> Any:
            nonlocal taken
            try:
                message = await asyncio.wait_for(receive(), STALLED if uploads else None)
            except asyncio.TimeoutError:
                return {"type": "http.disconnect"}
            size = len(message.get("body", b""))
            taken += size
            if uploads:
                since, sent = self._sent.get(address, (time.monotonic(), 0))
                self._sent[address] = since, sent + size
            if taken > limit or (uploads and self._sent[address][1] > UPLOADED):
                raise _RefusedError
            return message

        return take

    def _stream(self, scope: Any, request: Any) -> str:
        """Gradio's name of the page whose messages this request reads; empty if it reads none."""
        path = scope["path"].rstrip("/")
        if request.method != "GET":
            return ""
        if path.endswith("/gradio_api/queue/data"):
            return str(request.query_params.get("session_hash", ""))
        if found := _STREAM.search(path):
            event = scope["app"].get_blocks()._queue.event_ids_to_events.get(found[1])
            return str(event.session_hash if event else found[1])
        return ""


def _foreign(headers: Any) -> bool:
    """Whether a browser says that a page of another site sends this; programs say nothing."""
    own = {headers.get("host"), headers.get("x-forwarded-host")}
    return "origin" in headers and urlsplit(headers["origin"]).netloc not in own


async def _drain(receive: Any) -> None:
    with suppress(asyncio.TimeoutError):
        left = DRAINED
        while left > 0:
            message = await asyncio.wait_for(receive(), STALLED)
            left -= len(message.get("body", b""))
            if not message.get("more_body"):
                return


def _remove_parts(scope: Any) -> None:
    """Remove what an aborted upload left: gradio moves whole ones on into folders of their own."""
    for part in Path(scope["app"].uploaded_file_dir).glob("tmp*"):
        if part.is_file():
            part.unlink(missing_ok=True)
