"""Captions from a server are those of the model that it has; what it refuses and where it fails is said."""

import io
import json
import subprocess
import sys
import time
import urllib.request
from base64 import b64decode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from PIL import Image

from captionbias import CaptionBiasWarning
from captionbias.images import served
from captionbias.images.captioning import caption
from captionbias.images.reading import read_images
from tests.launch import environment, free_port
from tests.refusals import refuses


@pytest.fixture
def answering():
    """A server of these answers, a status and a body each, the last again and again; it notes what it is asked."""
    servers = []

    def serve(*answers):
        asked = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                asked.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
                status, body = answers[min(len(asked), len(answers)) - 1]
                self.send_response(status)
                for header, value in {"content-type": "application/json", "retry-after-ms": "1"}.items():
                    self.send_header(header, value)
                self.end_headers()
                self.wfile.write(json.dumps(body).encode())

            def log_message(self, *_):
                pass

        servers.append(ThreadingHTTPServer(("127.0.0.1", 0), Handler))
        Thread(target=servers[-1].serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{servers[-1].server_port}/v1", asked

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


def parts_of(request, kind):
    return [part[kind] for part in request["messages"][0]["content"] if kind in part]


def chosen(text, **choice):
    answer = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}, **choice}
    return {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [answer]}


@pytest.mark.slow
def test_a_served_model_captions_as_the_same_model_here(tiny_chat_model, pictures, tmp_path):
    """By `transformers serve`, as its users start it."""
    port, log = free_port(), tmp_path / "log"
    program = Path(sys.executable).with_name("transformers")
    command = [program, "serve", tiny_chat_model, "--port", str(port), "--device", "cpu"]
    with log.open("w") as written:
        server = subprocess.Popen(command, stdout=written, stderr=written, env=environment())
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health").close()
                break
            except OSError:
                assert server.poll() is None, log.read_text()
                time.sleep(0.2)
        url, few = f"http://127.0.0.1:{port}/v1", {"max_new_tokens": 8, "prompt": "describe this picture"}
        found = caption(str(tiny_chat_model), pictures, endpoint=url, batch_size=4, **few)
    finally:
        server.kill()
        server.wait()
    assert found == caption(tiny_chat_model, pictures, **few)
    assert len(set(found.values())) > 4


def test_each_picture_gets_the_answer_to_it_and_is_not_asked_about_twice(answering, pictures, monkeypatch):
    endpoint, asked = answering(*[(200, chosen(f"a dog {number}")) for number in range(12)])
    found = caption("m", pictures, endpoint=endpoint, batch_size=1)
    assert list(found.values()) == [f"a dog {number}" for number in range(12)]
    for picture, request in zip(read_images(pictures), asked, strict=True):
        [sent] = parts_of(request, "image_url")
        sent = Image.open(io.BytesIO(b64decode(sent["url"].partition(",")[2])))
        assert np.abs(np.asarray(sent, int) - np.asarray(picture, int)).mean() < 8
    monkeypatch.setattr(served, "RETRIES", 0)
    gone = "http://127.0.0.1:9/v1"
    refuses(f"endpoint {gone} does not answer: start the server", caption, "m", pictures, endpoint=gone)
    assert caption("m", pictures, endpoint=endpoint, batch_size=3) == found
    assert len(asked) == 12
    refuses(
        "num_beams, dtype, device_map and revision are the server's", caption, "m", pictures, endpoint=gone, num_beams=3
    )


def test_a_server_that_fails_for_a_while_is_asked_again(answering, pictures, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    endpoint, asked = answering((503, {}), (429, {}), (200, chosen("a dog")))
    assert set(caption("m", pictures, endpoint=endpoint, batch_size=2).values()) == {"a dog"}
    assert len(asked) == 12 + 2
    assert parts_of(asked[0], "text") == ["Describe the image in one short sentence."]
    assert (asked[0]["temperature"], asked[0]["max_tokens"]) == (0.0, 300)


def test_newer_models_are_given_the_limit_by_the_name_that_they_take(answering, pictures):
    other_name = {"error": {"message": "Unsupported parameter: use 'max_completion_tokens' instead"}}
    endpoint, asked = answering((400, other_name), (200, chosen("a dog", finish_reason="length")))
    with pytest.warns(CaptionBiasWarning, match="12 of 12 images have a caption cut off"):
        caption("m", pictures, endpoint=endpoint, batch_size=1, temperature=0.7, sampling_seed=3)
    assert {"max_completion_tokens", "temperature", "top_p", "seed"} <= asked[1].keys()


@pytest.mark.parametrize(
    "answer",
    [
        (200, chosen(None, message={"role": "assistant", "content": None, "refusal": "I can't describe people."})),
        (200, chosen("I'm sorry, I can't help with that.")),
        (400, {"error": {"message": "filtered", "code": "content_filter"}}),
    ],
)
def test_what_is_refused_has_an_empty_caption(answering, pictures, answer):
    endpoint, _ = answering((200, chosen("a dog")), answer)
    with pytest.warns(CaptionBiasWarning, match="11 of 12 images (are refused, and )?have an empty caption"):
        captions = caption("m", pictures, endpoint=endpoint, batch_size=1)
    assert list(captions.values()) == ["a dog"] + [""] * 11


@pytest.mark.parametrize(
    ("status", "message"),
    [(401, "takes no such token: put yours into OPENAI_API_KEY"), (404, "failed with model 'm'"), (429, "had enough")],
)
def test_what_stops_a_run_is_named_and_what_was_answered_is_not_asked_again(answering, pictures, status, message):
    working, asked = answering(*[(200, chosen("a dog"))] * 4, (status, {"error": {"message": "no"}}))
    refuses(message, caption, "m", pictures, endpoint=working, batch_size=2)
    before = len(asked)
    refuses(message, caption, "m", pictures, endpoint=working, batch_size=12)
    urls = [part["url"] for one in asked for part in parts_of(one, "image_url")]
    assert not {*urls[:4]} & {*urls[before:]}
