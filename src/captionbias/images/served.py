"""Captioners behind a server that speaks OpenAI's protocol: vLLM, TGI, Ollama, `transformers serve`, or a paid one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from captionbias.attackers.pretrained.models import first_line
from captionbias.captions.texts import plain
from captionbias.images.reading import data_url

if TYPE_CHECKING:
    from PIL.Image import Image

TOKEN = "OPENAI_API_KEY"
FILTERED = ("content_filter", "content_policy_violation")  # error codes of images that are refused
RETRIES = 6  # with waits that double from half a second, or as long as the server asks for


class Draw(NamedTuple):
    """How captions are drawn, rather than searched for."""

    temperature: float
    top_p: float
    seed: int


@dataclass(frozen=True)
class Served:
    """A model behind a server, and what it is asked of every image."""

    name: str
    endpoint: str
    prompt: str
    max_new_tokens: int
    draw: Draw | None
    template_arguments: dict[str, Any]

    def ask(self, pictures: Mapping[str, Image]) -> list[tuple[str, bool]]:
        """The answer to each picture, and whether the limit cut it off; all are asked at once."""
        try:
            from openai import APIConnectionError, APIError, AuthenticationError, OpenAI, RateLimitError
        except ModuleNotFoundError as error:
            raise ValueError("endpoint needs openai: pip install '.[served]' in a clone first") from error
        ways_out = {
            AuthenticationError: f"takes no such token: put yours into {TOKEN}",
            APIConnectionError: "does not answer: start the server, or correct the address, which usually ends in /v1",
            RateLimitError: "has had enough: lower batch_size, or run again later",
            APIError: f"failed with model {self.name!r}: correct what it is asked for, or its server",
        }
        with OpenAI(base_url=self.endpoint, api_key=os.environ.get(TOKEN) or "none", max_retries=RETRIES) as client:
            try:
                with ThreadPoolExecutor(len(pictures)) as pool:
                    return list(pool.map(lambda picture: self._answer(client, picture), pictures.values()))
            except APIError as error:
                way_out = next(text for kind, text in ways_out.items() if isinstance(error, kind))
                raise ValueError(
                    f"endpoint {self.endpoint} {way_out}; captions so far are kept ({first_line(error)})"
                ) from error

    def _answer(self, client: Any, picture: Image, limit: str = "max_tokens") -> tuple[str, bool]:
        from openai import BadRequestError

        content = [
            {"type": "image_url", "image_url": {"url": data_url(picture)}},
            {"type": "text", "text": self.prompt},
        ]
        search = self.draw._asdict() if self.draw else {"temperature": 0.0}
        arguments = {"chat_template_kwargs": self.template_arguments} if self.template_arguments else None
        try:
            [choice] = client.chat.completions.create(
                model=self.name,
                messages=[{"role": "user", "content": content}],
                extra_body=arguments,
                **{limit: self.max_new_tokens},
                **search,
            ).choices
        except BadRequestError as error:
            if error.code in FILTERED:
                return "", False
            if limit == "max_tokens" and "max_completion_tokens" in str(error):  # its name of newer models
                return self._answer(client, picture, "max_completion_tokens")
            raise
        return plain(choice.message.content or choice.message.refusal or ""), choice.finish_reason == "length"
