"""The server below the page: who may ask for what, what is refused, and that nothing is left."""

import asyncio
import os
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from gradio_client import Client

from captionbias.app import server
from captionbias.app.runs import Runs
from captionbias.app.server import LOCK, NEW, PREFIX, launch_options, private_folder, sweep
from tests.app.conftest import Served
from tests.launch import python
from tests.patience import PATIENCE


def join(page: Served, name: str, *values: Any, session: str) -> httpx.Response:
    """Ask for an action as a browser does, and read nothing of the answer."""
    config = httpx.get(f"{page.url}config").json()
    (number,) = (one["id"] for one in config["dependencies"] if one["api_name"] == name)
    body = {"data": list(values), "fn_index": number, "session_hash": session}
    return httpx.post(f"{page.url}gradio_api/queue/join", json=body, timeout=PATIENCE)


def test_a_page_may_load_nothing_from_another_host_and_tells_nobody_where_it_is(served):
    for path in ("", "config", "gradio_api/info"):
        headers = httpx.get(served.url + path).headers
        policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
        assert {policy[kind] for kind in ("default-src", "base-uri", "frame-ancestors")} == {"'self'"}
        assert not any("http" in sources or "*" in sources for sources in policy.values())
        assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "no-referrer")


@pytest.mark.parametrize(
    "host", ["example.invalid", "127.0.0.1.example.invalid", "10.0.0.1", "", "localhost@example.invalid"]
)
def test_another_name_that_leads_to_this_machine_is_refused(served, host):
    assert [httpx.get(served.url, headers={"Host": name}).status_code for name in ("localhost:1", host)] == [200, 400]


@pytest.mark.parametrize("place", ["gradio_api/upload", "gradio_api/call/keep"])
def test_a_page_of_another_site_sends_nothing(served, place):
    def sent(**headers):
        return httpx.post(served.url + place, files={"files": b"caption\n"}, headers=headers).status_code

    assert sent(origin="https://example.org") == sent(origin="null") == 403
    assert sent(origin=served.url.rstrip("/")) == sent() != 403


def test_the_example_is_measured_when_it_is_first_asked_for_and_shown_to_everybody(served):
    first, again = (httpx.get(f"{served.url}example", timeout=PATIENCE) for _ in range(2))
    assert first.status_code == 200
    assert "<title>An example with a planted bias" in first.text
    assert again.text == first.text
    assert again.headers["content-security-policy"].startswith("sandbox ")


def test_a_run_s_report_and_files_are_at_its_secret_address_in_a_sandbox(served):
    client = Client(served.url, verbose=False, httpx_kwargs={"timeout": PATIENCE})
    name = client.predict("<h1>found</h1>", api_name="/keep")
    answer = httpx.get(f"{served.url}run/{name}/report")
    assert (answer.text, answer.headers["content-type"]) == ("<h1>found</h1>", "text/html; charset=utf-8")
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("sandbox allow-scripts allow-downloads allow-modals; default-src 'none'; ")
    assert "http" not in policy
    assert answer.headers["cache-control"] == "no-store"
    file = httpx.get(f"{served.url}run/{name}/files/scores.csv")
    assert (file.text, file.headers["content-disposition"]) == ("<h1>found</h1>", 'attachment; filename="scores.csv"')
    for gone in ("x/report", "%2e%2e/config", f"{name}/files/..%2fscores.csv", f"{name}/files/%2fetc%2fpasswd"):
        assert httpx.get(f"{served.url}run/{gone}").status_code == 404
    assert "not here any more" in httpx.get(f"{served.url}run/x/report").text


def test_a_run_s_address_leads_back_to_the_page_also_behind_a_proxy(served):
    for name, place in (("abc", "../?run=abc"), ("a%26b%3Fc", "../?run=a%26b%3Fc")):
        answer = httpx.get(f"{served.url}run/{name}")
        assert (answer.status_code, answer.headers["location"]) == (307, place)


def test_what_gradio_serves_beside_pages_is_not_served(served):
    for path in ("process_recording", "deep_link?session_hash=x", "proxy=http://127.0.0.1:1/", "vibe-code"):
        for ask in (httpx.get, httpx.post):
            assert ask(f"{served.url}gradio_api/{path}").status_code == 404, path


def test_files_of_the_machine_are_neither_read_nor_served(served):
    """The page reads what was uploaded to it, and nothing else that is on its machine."""
    secret = served.folder / "secret.csv"
    secret.write_text("image_id,caption\n1,secret\n")
    sent = httpx.post(f"{served.url}gradio_api/upload", files={"files": secret.open("rb")}, timeout=PATIENCE)
    assert '"success":true' in took(served, sent.json()[0])
    (uploads,) = served.folder.glob(f"{PREFIX}*/uploads")
    for path in (Path("/etc/passwd"), secret, Path(server.__file__), served.folder / "log"):
        assert path.is_file()
        answer = took(served, str(path))
        assert '"success":false' in answer
        assert "secret" not in answer
        for spelled in (str(path), f"{uploads}/{'../' * 9}{path}", f"..%2f..%2f..{path}"):
            assert httpx.get(f"{served.url}gradio_api/file={spelled}").status_code in (403, 404), spelled


def took(page: Served, path: str) -> str:
    """What the page's event answers to a file, as a program may describe it: of its own client it takes less."""
    config = httpx.get(f"{page.url}config").json()
    (field,) = (one["id"] for one in config["components"] if one["props"].get("elem_id") == "upload")
    event = next(one for one in config["dependencies"] if [field, "upload"] in one["targets"])
    file = {"path": path, "meta": {"_type": "gradio.FileData"}}
    body = {"data": [[file] if one == field else "" for one in event["inputs"]], "fn_index": event["id"]}
    session = {"session_hash": uuid4().hex}
    joined = httpx.post(f"{page.url}gradio_api/queue/join", json=body | session, timeout=PATIENCE)
    assert joined.status_code == 200
    with httpx.stream("GET", f"{page.url}gradio_api/queue/data", params=session, timeout=PATIENCE) as stream:
        return next(line for line in stream.iter_lines() if "process_completed" in line)


def upload(page: Served, size: int) -> httpx.Response:
    files = {"files": ("x.csv", b"x" * size)}
    return httpx.post(f"{page.url}gradio_api/upload", files=files, timeout=PATIENCE)


def test_what_broken_off_uploads_left_is_removed(tmp_path, monkeypatch):
    (tmp_path / "uploads" / "whole").mkdir(parents=True)
    paths = [tmp_path / "uploads" / name for name in ("tmpold", "tmpnew", "whole/tmp")]
    for path in paths:
        path.write_bytes(b"x")
        if path.name != "tmpnew":
            os.utime(path, (0, 0))

    async def start() -> None:
        async with launch_options(Runs(), tmp_path)["app_kwargs"]["lifespan"](None):
            await asyncio.sleep(0.1)

    asyncio.run(start())
    assert [path.exists() for path in paths] == [False, True, True]


def test_what_a_request_may_send_is_limited_whatever_it_says_of_itself(served):
    assert upload(served, 900_000).status_code == 200
    answer = upload(served, 1_100_000)
    assert (answer.status_code, "The request has more than 1 MB" in answer.text) == (413, True)

    def chunks() -> Iterator[bytes]:
        yield b'--b\r\nContent-Disposition: form-data; name="files"; filename="x.csv"\r\n\r\n'
        for _ in range(3):
            yield b"x" * 500_000

    kind = {"Content-Type": "multipart/form-data; boundary=b"}
    answer = httpx.post(f"{served.url}gradio_api/upload", content=chunks(), headers=kind, timeout=PATIENCE)
    assert answer.status_code == 413
    answer = join(served, "keep", "x" * 200_000, session="large")
    assert (answer.status_code, "give fewer or smaller files" in answer.text) == (413, True)


@pytest.mark.parametrize("scheme", ["http", "HTTPS", " https"])
def test_an_address_is_not_a_file_in_any_field(served, scheme):
    """Gradio would fetch it, however large it is, before any component looks at it."""
    file = {"path": f"{scheme}://example.invalid/x.csv", "meta": {"_type": "gradio.FileData"}}
    for value in (file, [{"a": file}]):
        answer = join(served, "keep", value, session="fetches")
        assert (answer.status_code, "An address is not a file" in answer.text) == (400, True)
    assert join(served, "keep", f"path: {scheme}://example.invalid", session="tells").status_code == 200


def test_who_ignores_a_signal_goes_on_ignoring_it(monkeypatch, tmp_path):
    """As under nohup."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for name in ("TMPDIR", "GRADIO_TEMP_DIR"):
        monkeypatch.setenv(name, "before")
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN), signal.getsignal(signal.SIGTERM)
    with private_folder() as made:
        assert (made.parent, signal.getsignal(signal.SIGHUP)) == (tmp_path, signal.SIG_IGN)
        assert os.environ["GRADIO_TEMP_DIR"].startswith(str(made))
        (made / "file").touch()
    assert not made.exists()
    signal.signal(signal.SIGHUP, before[0])
    signal.signal(signal.SIGTERM, before[1])


LEAVE = """
import os
from captionbias.app.server import private_folder
with private_folder() as folder:
    print(folder, flush=True)
    os._exit(0)
"""


def test_what_a_dead_process_left_goes_with_the_next_folder_and_one_in_use_stays(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with private_folder() as used:
        assert used.stat().st_mode & 0o777 == 0o700
        died = Path(python("-c", LEAVE, folder=tmp_path, TMPDIR=tmp_path).strip())
        assert sorted(tmp_path.iterdir()) == sorted([used, died])
        sweep(tmp_path)
        assert list(tmp_path.iterdir()) == [used]
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_just_made_and_links_and_other_folders_stay(tmp_path):
    other = tmp_path / "other"
    kept = [tmp_path / f"{PREFIX}new", other, tmp_path / "mine"]
    for path in kept:
        path.mkdir()
    (other / LOCK).touch()
    (tmp_path / f"{PREFIX}link").symlink_to(other)
    old = tmp_path / f"{PREFIX}old"
    old.mkdir()
    os.utime(old, (time.time() - NEW - 1,) * 2)
    sweep(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([f"{PREFIX}link", *(path.name for path in kept)])


def test_no_file_is_left_when_it_ends(served):
    """Whatever goes on: an upload of which only some bytes came, a run, a stream."""
    assert upload(served, 1000).status_code == 200
    (folder,) = served.folder.glob(f"{PREFIX}*")
    assert "x.csv" in [path.name for path in (folder / "uploads").rglob("*")]
    session = uuid4().hex
    join(served, "work", session=session)
    head = b'--b\r\nContent-Disposition: form-data; name="files"; filename="part.csv"\r\n\r\n'
    lines = ["POST /gradio_api/upload HTTP/1.1", "Host: localhost", "Content-Length: 1000000"]
    lines += ["Content-Type: multipart/form-data; boundary=b", "", ""]
    with (
        socket.create_connection(("127.0.0.1", httpx.URL(served.url).port)) as begun,
        httpx.stream("GET", f"{served.url}gradio_api/queue/data", params={"session_hash": session}) as stream,
    ):
        begun.sendall("\r\n".join(lines).encode() + head + b"x" * 1000)
        next(stream.iter_lines())
        served.process.terminate()
        served.process.wait(PATIENCE)
    left = {path.name for path in served.folder.rglob("*") if path.is_file() or PREFIX in path.name}
    assert left - {path.name for path in served.folder.glob("cache/**/*")} <= {"go", "log", "secret.csv"}
