"""The server below the page: who may ask for what, what is refused, what is dropped, and that nothing is left."""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import STDOUT, Popen
from typing import Any
from uuid import uuid4

import httpx
import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError

import captionbias
from captionbias.app.folder import PREFIX
from tests import signals
from tests.app.conftest import Served, free_port, wait_for
from tests.browser import NEEDS_BROWSER, browser, new_page, watched
from tests.patience import FOREVER, PATIENCE

HOSTILE = "<img src=http://example.invalid/x.png onerror=\"document.title='run'\"><script>document.title='run'</script>"


def start(folder: Path) -> Served:
    paths = [str(Path(captionbias.__file__).parents[1]), str(Path(__file__).parents[2])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "TMPDIR": str(folder)}
    port = free_port()
    log = folder / "log"
    with log.open("wb") as output:
        command = [sys.executable, "-m", "tests.app.small_page", str(port)]
        process = Popen(command, env=environment, cwd=folder, stdout=output, stderr=STDOUT, preexec_fn=signals.restore)
    wait_for(f"http://127.0.0.1:{port}/", process, log)
    return Served(f"http://127.0.0.1:{port}/", process, folder)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    page = start(tmp_path_factory.mktemp("small"))
    yield page
    page.process.kill()
    page.process.wait()


@pytest.fixture
def client(small: Served) -> Client:
    return connect(small)


def connect(page: Served) -> Client:
    return Client(page.url, verbose=False, httpx_kwargs={"timeout": PATIENCE})


def join(page: Served, name: str, *values: Any, session: str) -> httpx.Response:
    """Ask for an action as a browser does, and read nothing of the answer."""
    config = httpx.get(f"{page.url}config").json()
    (number,) = (one["id"] for one in config["dependencies"] if one["api_name"] == name)
    body = {"data": list(values), "fn_index": number, "session_hash": session}
    return httpx.post(f"{page.url}gradio_api/queue/join", json=body, timeout=PATIENCE)


def uploads(page: Served) -> list[str]:
    (folder,) = page.folder.glob(f"{PREFIX}*")
    return [path.name for path in (folder / "uploads").rglob("*") if path.is_file()]


def wait_until(true: Callable[[], Any]) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


# Answers


def test_a_page_may_load_nothing_from_another_host_and_tells_nobody_where_it_is(small):
    for path in ("", "config", "gradio_api/info"):
        headers = httpx.get(small.url + path).headers
        policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
        assert {policy[kind] for kind in ("default-src", "base-uri", "frame-ancestors")} == {"'self'"}
        assert not any("http" in sources or "*" in sources for sources in policy.values())
        assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "no-referrer")


@pytest.mark.parametrize(
    "host", ["example.invalid", "127.0.0.1.example.invalid", "10.0.0.1", "", "localhost@example.invalid"]
)
def test_another_name_that_leads_to_this_machine_is_refused(small, host):
    answer = httpx.get(small.url, headers={"Host": host})
    assert (answer.status_code, "--host" in answer.text) == (421, True)


@pytest.mark.parametrize("host", ["localhost:1", "127.0.0.1", "[::1]:7860", "LOCALHOST"])
def test_names_of_this_machine_are_answered(small, host):
    assert httpx.get(small.url, headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("place", ["gradio_api/upload", "gradio_api/call/keep"])
def test_a_page_of_another_site_sends_nothing(small, place):
    def sent(**headers):
        return httpx.post(small.url + place, files={"files": b"caption\n"}, headers=headers).status_code

    assert sent(origin="https://example.org") == sent(origin="null") == 403
    assert sent(origin=small.url.rstrip("/")) == sent() != 403


def test_a_result_is_at_its_secret_link_in_a_sandbox_as_long_as_its_session_has_it(small, client):
    name = client.predict("<h1>found</h1>", api_name="/finish")
    answer = httpx.get(f"{small.url}result/{name}")
    assert (answer.text, answer.headers["content-type"]) == ("<h1>found</h1>", "text/html; charset=utf-8")
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("sandbox allow-scripts allow-downloads allow-modals; default-src 'none'; ")
    assert "http" not in policy
    assert answer.headers["cache-control"] == "no-store"
    client.predict("other", api_name="/keep")
    for gone in (name, "x", "%2e%2e/config"):
        assert httpx.get(f"{small.url}result/{gone}").status_code == 404
    assert "not here any more" in httpx.get(f"{small.url}result/{name}").text


def test_a_page_that_is_loaded_again_has_its_data_by_the_token_alone(small, client):
    token = client.predict("nic", api_name="/keep")
    assert connect(small).predict(token, api_name="/adopt") == "nic"
    assert connect(small).predict(token[:-1], api_name="/adopt") == ""


def test_programs_get_errors_as_they_are(client):
    for action in ("/fail", "/fail_as_gradio"):
        with pytest.raises(AppError) as told:
            client.predict(HOSTILE, api_name=action)
        assert HOSTILE in str(told.value)


@NEEDS_BROWSER
@pytest.mark.parametrize("action", ["fail", "fail_as_gradio"])
def test_errors_are_text_in_the_browser_and_load_nothing(small, action):
    with browser() as chromium:
        page = new_page(chromium)
        asked, _ = watched(page)
        page.goto(small.url)
        page.get_by_label("Text", exact=True).fill(HOSTILE)
        page.locator(f"#{action}").click()
        page.get_by_test_id("toast-text").get_by_text("<img src=http").wait_for()
        assert page.locator("img[src*=example]").count() == 0
        assert page.title() != "run"
        assert [url for url in asked if not url.startswith((small.url, "data:", "blob:"))] == []


@pytest.mark.parametrize(
    "path", ["process_recording", "deep_link?session_hash=x", "proxy=http://127.0.0.1:1/", "vibe-code"]
)
def test_what_gradio_serves_beside_pages_is_not_served(small, path):
    for ask in (httpx.get, httpx.post):
        assert ask(f"{small.url}gradio_api/{path}").status_code == 404


# Runs that nobody waits for


def test_what_nobody_reads_is_dropped_and_others_get_their_turn(small, client):
    """One that never opened a stream, one whose stream was closed while it worked, one while it waited."""
    sessions = [uuid4().hex for _ in range(3)]
    assert join(small, "work", "unread", FOREVER, session=sessions[0]).status_code == 200
    wait_until(lambda: "unread" in client.predict(api_name="/told"))
    for name, session in zip(("closed", "waiting"), sessions[1:], strict=True):
        assert join(small, "work", name, FOREVER, session=session).status_code == 200
        with httpx.stream("GET", f"{small.url}gradio_api/queue/data", params={"session_hash": session}) as stream:
            next(stream.iter_lines())
    begun = time.monotonic()
    done = client.predict("mine", 0.1, api_name="/work")
    assert "mine done" in done
    assert not {"unread done", "closed done", "waiting done"} & set(done.split(", "))
    assert time.monotonic() - begun < PATIENCE / 2


def test_a_run_goes_on_while_its_page_is_loaded_again(small):
    session = uuid4().hex
    first = connect(small)
    token = first.predict("nic", api_name="/keep")
    first.submit("again", 5, api_name="/work")
    wait_until(lambda: "again" in first.predict(api_name="/told"))
    first.close()
    assert join(small, "adopt", token, session=session).status_code == 200
    with httpx.stream("GET", f"{small.url}gradio_api/heartbeat/{session}", timeout=PATIENCE):
        wait_until(lambda: "again done" in connect(small).predict(api_name="/told"))


def test_an_address_begins_only_some_runs(small, client):
    clients = [connect(small) for _ in range(4)]
    runs = [one.submit("many", FOREVER, api_name="/work") for one in clients]
    wait_until(lambda: all(run.status().progress_data for run in runs))
    with pytest.raises(AppError, match="4 are from your address"):
        client.predict("more", 0, api_name="/work")
    for one in clients:
        one.close()


# Uploads


def upload(page: Served, size: int, **headers: str) -> httpx.Response:
    files = {"files": ("x.csv", b"x" * size)}
    return httpx.post(f"{page.url}gradio_api/upload", files=files, headers=headers, timeout=PATIENCE)


def begin_upload(page: Served, sent: int) -> socket.socket:
    """An upload of a megabyte, of which only some bytes come."""
    opened = socket.create_connection(("127.0.0.1", int(page.url.rstrip("/").rpartition(":")[2])))
    head = b'--b\r\nContent-Disposition: form-data; name="files"; filename="part.csv"\r\n\r\n'
    lines = ["POST /gradio_api/upload HTTP/1.1", "Host: localhost", "Content-Length: 1000000"]
    lines += ["Content-Type: multipart/form-data; boundary=b", "", ""]
    opened.sendall("\r\n".join(lines).encode() + head + b"x" * sent)
    return opened


def test_what_aborted_and_stalled_uploads_sent_is_removed(small):
    aborted, stalled = begin_upload(small, 1000), begin_upload(small, 1000)
    wait_until(lambda: len([name for name in uploads(small) if name.startswith("tmp")]) == 2)
    aborted.close()
    wait_until(lambda: not [name for name in uploads(small) if name.startswith("tmp")])
    stalled.close()


def test_what_an_address_uploads_is_limited_whatever_it_says_of_itself(small):
    answer = upload(small, 500_000)
    assert answer.status_code == 200
    for number in range(10):
        answer = upload(small, 500_000, **{"X-Forwarded-For": f"9.9.9.{number}"})
        if answer.status_code != 200:
            break
    assert (answer.status_code, number < 6) == (413, True)
    assert answer.text.startswith("Your address may upload 3 MB an hour, and this is more")
    assert "measure on your machine" in answer.text

    def chunks() -> Iterator[bytes]:
        yield b'--b\r\nContent-Disposition: form-data; name="files"; filename="x.csv"\r\n\r\n'
        for _ in range(10):
            yield b"x" * 500_000

    kind = {"Content-Type": "multipart/form-data; boundary=b"}
    answer = httpx.post(f"{small.url}gradio_api/upload", content=chunks(), headers=kind, timeout=PATIENCE)
    assert answer.status_code == 413
    wait_until(lambda: not [name for name in uploads(small) if name.startswith("tmp")])


def test_a_request_that_is_no_upload_is_small(small):
    answer = join(small, "keep", "x" * 200_000, session="large")
    assert (answer.status_code, "give large data as files" in answer.text) == (413, True)


# The end


def test_no_file_is_left_when_it_ends_and_a_killed_one_is_tidied_up_after(tmp_path):
    """Whatever goes on: an upload, a run, a stream."""
    for end in (signal.SIGKILL, signal.SIGHUP):
        page = start(tmp_path)
        assert upload(page, 1000).status_code == 200
        (folder,) = tmp_path.glob(f"{PREFIX}*")  # that of the killed one is gone
        assert folder.stat().st_mode & 0o777 == 0o700
        assert uploads(page) == ["x.csv"]
        session = uuid4().hex
        join(page, "work", "long", FOREVER, session=session)
        with (
            begin_upload(page, 1000),
            httpx.stream("GET", f"{page.url}gradio_api/queue/data", params={"session_hash": session}) as stream,
        ):
            next(stream.iter_lines())
            page.process.send_signal(end)
            page.process.wait(PATIENCE)
        assert folder.exists() == (end == signal.SIGKILL)
    assert [path for path in tmp_path.rglob("*") if path.is_file() or PREFIX in path.name] == [tmp_path / "log"]
