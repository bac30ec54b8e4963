"""Judge captioners: how likely each answer is after a masked caption of a masked image and a prompt.

"a [MASK] rides a wave. Therefore, the gender is" goes on with "female" or with "male" (ImageCaptioner2, section 4.2). A
judge is an attacker like any other: the engine trains it, shares its trials out and keeps their scores.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from importlib.metadata import version
from importlib.util import find_spec
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from captionbias.arrays import Array, Floats, Integers
from captionbias.attackers.base import Trial
from captionbias.attackers.pretrained.models import Model, find_model, first_line
from captionbias.attackers.ranks import device
from captionbias.attackers.recipes import Schedule
from captionbias.attackers.registry import Attacker, computes_bf16
from captionbias.errors import InputError, missing
from captionbias.images import need_images
from captionbias.images.captioners import read_processor
from captionbias.images.judging import Judged, judged, train
from captionbias.images.reading import Made, decode_all
from captionbias.text.lexicon import attribute_lexicons

if TYPE_CHECKING:
    import torch
    from torch import Tensor

SAT = "sat"
# The paper: Adam, batches of 128, 40 epochs from scratch; it names no learning rate, and none of this for fine-tuning.
FROM_SCRATCH = Schedule(2e-3, batch=128, epochs=40)
FINE_TUNED = Schedule(1e-5, batch=128, epochs=5)
SIDE, SMALL = 64, 32  # pixels on a side of what the small judge sees; the latter of images that are no larger
AT_ONCE = 16  # images in a model of transformers
ROOM = 2_000_000_000  # bytes of images in memory
REQUEST = "Describe this image in one sentence."  # what a chat model is asked before it "says" caption and prompt
# Raised when the same trial gives other scores than before.
VERSION = 2

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Question:
    """A question to a judge about each row: an image (RGB) whose person is masked, and a caption whose attribute words
    are; `prompt` follows the caption, and one of `answers`, one a class, the prompt.
    """

    images: Sequence[Any]
    prompt: str
    answers: tuple[str, ...]


def prompt_for(attribute: str, prompt: str | None = None) -> str:
    """The user's prompt, or the attribute's."""
    prompts = attribute_lexicons()
    prompt = (prompts.get(attribute, "") if prompt is None else prompt).strip()
    if not prompt:
        raise missing("prompt", f"is missing: {attribute!r} has none; give one, such as {prompts['gender']!r}")
    return prompt


def answers_for(values: Sequence[str], answers: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """The answer for each value of the attribute: the value itself unless the user's mapping has another."""
    chosen = answers or {}
    if unknown := [value for value in chosen if value not in values]:
        raise InputError(
            "answers", f": {unknown[0]!r} is no value of the attribute; its values are {', '.join(values)}"
        )
    all_answers = tuple(chosen.get(value, value) for value in values)
    if not all(answer.strip() for answer in all_answers) or len(set(all_answers)) < len(all_answers):
        raise InputError("answers", f"are {', '.join(map(repr, all_answers))}: give each value words of its own")
    return all_answers


def find_judge(judge: str, question: Question, *, as_is: bool = False, epochs: int | None = None) -> Attacker:
    """The judge that is asked this question of every trial's captions, whose rows are the images'.

    `judge`: `sat` (`captionbias.images.show_attend_tell`), or a model of transformers that continues a text after an
    image, by its name on the Hub or its folder. `as_is`: train nothing. `epochs`: 40 from scratch, 5 of fine-tuning.
    """
    if not (find_spec("torch") and find_spec("accelerate")):
        raise ValueError("ImageCaptioner2 needs torch and accelerate: pip install 'captionbias[images]' first")
    place = device()
    if judge == SAT:
        if as_is:
            raise InputError(
                "as_is", ": the judge 'sat' knows nothing before it is trained; give an image-to-text model"
            )
        return _from_scratch(question, replace(FROM_SCRATCH, epochs=epochs or FROM_SCRATCH.epochs), place)
    schedule = None if as_is else replace(FINE_TUNED, epochs=epochs or FINE_TUNED.epochs)
    return _from_hub(find_model(judge, "judge"), question, schedule, place)


def _from_scratch(question: Question, schedule: Schedule, place: torch.device) -> Attacker:
    from captionbias.images import show_attend_tell
    from captionbias.text import tokenize

    pixels = small_pixels(question.images)
    prompt, *answers = (tuple(text.split()) for text in tokenize([question.prompt, *question.answers]).texts())
    identity = _identity(question, schedule, _digest([pixels]), place)
    return Attacker(
        f"{SAT},{pixels.shape[1]}px,{schedule.epochs} epochs",
        None,
        f"{SAT} {identity}",
        partial(
            show_attend_tell.fit, pixels=pixels, prompt=prompt, answers=tuple(answers), schedule=schedule, device=place
        ),
        placement="processes" if place.type == "cpu" else "plain",
        explained=None,
        reads_words=True,
    )


def _from_hub(model: Model, question: Question, schedule: Schedule | None, place: torch.device) -> Attacker:
    need_images("transformers")
    precision = "bf16" if place.type == "cuda" and computes_bf16(place) else "fp32"
    question = replace(question, images=_cached(question.images))  # each trial and epoch looks at them again
    identity = _identity(question, schedule, _digest(map(np.asarray, decode_all(question.images))), place)
    return Attacker(
        f"{model.signature},{f'{schedule.epochs} epochs' if schedule else 'as-is'}",
        precision,
        f"{model.identity} {precision} {identity}",
        ModelJudge(model, question, schedule, precision, place).fit,
        placement="plain",
        explained=None,
        reads_words=True,
    )


def _identity(question: Question, schedule: Schedule | None, digest: str, place: torch.device) -> str:
    settings = (question.prompt, question.answers, schedule, VERSION, digest)
    return f"{settings} {place.type} torch {version('torch')}"


def _cached(images: Sequence[Any]) -> Sequence[Any]:
    """The images, in memory while there is room; the others are made anew for each use."""
    cache: dict[int, Any] = {}

    def make(position: int) -> Any:
        image = cache.get(position) or images[position]
        if (len(cache) + 1) * image.width * image.height * 4 <= ROOM:  # as Pillow holds RGB
            cache[position] = image
        return image

    return Made(make, len(images))


def small_pixels(images: Sequence[Any]) -> Array:
    """Images as the small judge sees them: `(images, side, side, 3)` of bytes."""
    side = small_side(images[0]) if len(images) else SIDE
    small = np.empty((len(images), side, side, 3), np.uint8)
    for number, image in enumerate(decode_all(images)):
        small[number] = shrunk(image, side)
    return small


def small_side(first: Any) -> int:
    """Pixels on a side of what the small judge sees of images, by the first of them."""
    return SMALL if max(first.size) <= SMALL else SIDE


def shrunk(image: Any, side: int) -> Array:
    """An RGB image as `(side, side, 3)` of bytes."""
    from PIL import Image

    return np.asarray(image if image.size == (side, side) else image.resize((side, side), Image.Resampling.BOX))


def _digest(arrays: Any) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for array in arrays:
        digest.update(f"{array.shape} ".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


@dataclass(eq=False)
class ModelJudge:
    """A model of transformers that is asked a question; without `schedule` it is not trained."""

    model: Model
    question: Question
    schedule: Schedule | None
    precision: str
    device: torch.device
    _answers: dict[tuple[int, str], Floats] = field(default_factory=dict)

    def fit(self, trial: Trial) -> Judged:
        """Fine-tune the model, or take it as it is, and score the test captions."""
        from captionbias.attackers.neural.fitting import own_random_numbers
        from captionbias.attackers.pretrained.encoding import no_threads_of_tokenizers
        from captionbias.attackers.workers import cores, threads

        texts = self._texts(trial)
        with threads(cores()), no_threads_of_tokenizers():
            if self.schedule is None:
                return judged(trial, partial(self._answered_once, texts))
            with own_random_numbers(trial.seed, self.device):
                scorer = self._loaded()
                answer = partial(self._answered, scorer, texts)
                step = partial(self._backward, scorer, texts, trial.examples.targets)
                train(trial, scorer.network, step, answer, self.schedule)
            return judged(trial, answer)

    @cached_property
    def _unchanged(self) -> Scorer:
        return self._loaded()

    def _loaded(self) -> Scorer:
        return Scorer(self.model, self.question, self.precision, self.device)

    def _texts(self, trial: Trial) -> list[str]:
        tokens, masks = trial.examples.tokens, trial.examples.masks
        words = tuple("[MASK]" if word in masks else word for word in tokens.words)
        captions = replace(tokens, words=words).texts()
        return [f"{caption.rstrip(' .')}. {self.question.prompt}" for caption in captions]

    def _answered_once(self, texts: list[str], rows: Integers) -> Floats:
        """The answers of a model that is not trained, which are the same in every trial."""
        keys = [(int(row), texts[row]) for row in rows]
        new = [number for number, key in enumerate(keys) if key not in self._answers]
        for number, answered in zip(new, self._answered(self._unchanged, texts, rows[new]), strict=True):
            self._answers[keys[number]] = answered
        return np.stack([self._answers[key] for key in keys])

    def _answered(self, scorer: Scorer, texts: list[str], rows: Integers) -> Floats:
        import torch

        answered = np.empty((len(rows), len(self.question.answers)))
        order = np.argsort([len(texts[row]) for row in rows], kind="stable")
        with torch.no_grad():
            for start in range(0, len(rows), AT_ONCE):
                places = order[start : start + AT_ONCE]
                parts = self._in_parts(scorer, rows[places], partial(scorer.answers, texts))
                answered[places] = np.concatenate(parts)
        return answered

    def _backward(self, scorer: Scorer, texts: list[str], classes: Integers, rows: Integers) -> None:
        """The gradients of Eq. 1, the cross-entropy of the true answer's tokens, summed over them."""

        def backward(part: Integers) -> None:
            loss = -scorer.truth(texts, part, classes[part]).sum() / len(rows)
            loss.backward()  # type: ignore[no-untyped-call]

        self._in_parts(scorer, rows, backward)

    def _in_parts(self, scorer: Scorer, rows: Integers, compute: Callable[[Integers], Result]) -> list[Result]:
        """The results for as many rows at once as memory holds: half as many each time that it is short."""
        from accelerate.utils.memory import clear_device_cache, should_reduce_batch_size

        most = AT_ONCE
        while True:
            scorer.network.zero_grad()  # that what did not fit has left
            try:
                return [compute(rows[start : start + most]) for start in range(0, len(rows), most)]
            except Exception as error:  # families raise almost anything at what they cannot do
                if most == 1 or not should_reduce_batch_size(error):
                    raise InputError(
                        "judge",
                        f"{self.model.name!r} cannot go on after an image and a text ({first_line(error)}): give "
                        "another model, or sat; docs/models.md lists families that can",
                    ) from error
            most //= 2
            clear_device_cache(garbage_collection=True)  # only now: the error held on to what did not fit


@dataclass(frozen=True, eq=False)
class Prepared:
    """Rows as a model takes them. `tokens`: of each row's text, with `along`: what else there is of each token.
    `others`: pixels and the like, of all rows together."""

    tokens: list[list[int]]
    along: dict[str, list[list[int]]]
    others: dict[str, Any]


class Scorer:
    """A model of transformers, and the probability that it gives to what follows an image and a text.

    What follows is forced on it (teacher forcing, Eq. 2); nothing is generated.
    """

    def __init__(self, model: Model, question: Question, precision: str, place: torch.device) -> None:
        import inspect

        import torch
        from transformers import AutoModelForImageTextToText

        from captionbias.attackers.pretrained.encoding import reading, refuse_missing

        with reading(model, "judge"):
            self.network: Any
            loaded: Any
            self.network, loaded = cast(Any, AutoModelForImageTextToText).from_pretrained(
                model.folder, dtype=torch.float32, output_loading_info=True, trust_remote_code=False
            )
            refuse_missing(loaded["missing_keys"])
            self.processor, self.tokenizer = read_processor(model.folder)
        self.kind = self.network.config.model_type
        self.apart = not hasattr(self.processor, "tokenizer")
        self.network.to(place).eval()
        self.images, self.precision, self.device = question.images, precision, place
        self.cut = "logits_to_keep" in inspect.signature(self.network.forward).parameters
        self.tokens = [self._tokens(model, question.prompt, answer) for answer in question.answers]
        if len({*self.tokens}) < len(self.tokens):
            raise InputError(
                "answers",
                f": some of {', '.join(map(repr, question.answers))} are the same to judge {model.name!r}; give "
                "answers that its tokenizer knows",
            )

    def _tokens(self, model: Model, prompt: str, answer: str) -> tuple[int, ...]:
        before, after = (
            self.tokenizer(text, add_special_tokens=False)["input_ids"] for text in (prompt, f"{prompt} {answer}")
        )
        if after[: len(before)] != before or len(after) == len(before):
            raise InputError(
                "answers", f": {answer!r} after {prompt!r} is not a text of its own to judge {model.name!r}"
            )
        return tuple(after[len(before) :])

    def answers(self, texts: list[str], rows: Integers) -> Floats:
        """The log-probability of each answer, `(rows, answers)`; answers that begin alike are computed together."""
        prepared = self._prepared(texts, rows)
        answered = np.empty((len(rows), len(self.tokens)))
        begun = sorted({tokens[:-1] for tokens in self.tokens})
        # What another goes on with comes right before it.
        for begin in [begin for begin, after in pairwise([*begun, ()]) if after[: len(begin)] != begin or not after]:
            following = self._following(prepared, [begin] * len(rows))
            for number, tokens in enumerate(self.tokens):
                if begin[: len(tokens) - 1] == tokens[:-1]:
                    places = list(range(len(tokens)))
                    answered[:, number] = following[:, places, list(tokens)].sum(1).double().cpu().numpy()
        return answered

    def truth(self, texts: list[str], rows: Integers, classes: Integers) -> Tensor:
        """The log-probability of each row's own answer, with gradients."""
        import torch

        answers = [self.tokens[number] for number in classes]
        following = self._following(self._prepared(texts, rows), [tokens[:-1] for tokens in answers])
        return torch.stack(
            [row[range(len(tokens)), list(tokens)].sum() for row, tokens in zip(following, answers, strict=True)]
        )

    def _following(self, prepared: Prepared, begun: Sequence[tuple[int, ...]]) -> Tensor:
        """Log-probabilities of what follows the text and each token `begun`: `(rows, 1 + longest, tokens)`."""
        import torch

        def padded(rows: Iterable[list[int]]) -> Tensor:
            tensors = [torch.tensor(row) for row in rows]
            return torch.nn.utils.rnn.pad_sequence(tensors, batch_first=True).to(self.device)

        starts = [len(tokens) for tokens in prepared.tokens]
        whole = [[*tokens, *begin] for tokens, begin in zip(prepared.tokens, begun, strict=True)]
        longest, most = max(map(len, whole)), 1 + max(map(len, begun))
        last = longest - min(starts) + 1  # places whose logits are needed
        inputs = {
            "input_ids": padded(whole),
            "attention_mask": padded([1] * len(row) for row in whole),
            **{
                name: padded([*row, *[0] * len(begin)] for row, begin in zip(rows, begun, strict=True))
                for name, rows in prepared.along.items()
            },
        }
        if self.apart:
            inputs = {f"decoder_{name}": value for name, value in inputs.items()}
        cut = {"logits_to_keep": last} if self.cut else {}
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.precision == "bf16"):
            logits = self.network(**inputs, **prepared.others, **cut).logits[:, -last:]
        places = torch.tensor(starts)[:, None] - 1 - (longest - last) + torch.arange(most)
        places = places.clamp(max=last - 1).to(self.device)
        rows = torch.arange(len(whole), device=self.device)[:, None]
        following: Tensor = logits.float()[rows, places].log_softmax(2)
        return following

    def _prepared(self, all_texts: list[str], rows: Integers) -> Prepared:
        images, texts = [self.images[int(row)] for row in rows], [all_texts[row] for row in rows]
        if self.apart:
            start = self.network.config.decoder_start_token_id
            tokens = self.tokenizer(texts, add_special_tokens=False)["input_ids"]
            pixels = self.processor(images=images, return_tensors="pt")
            return Prepared([[start, *row] for row in tokens], {}, self._moved(pixels))
        if getattr(self.processor, "chat_template", None):
            request = {"type": "text", "text": REQUEST}
            inputs = self.processor.apply_chat_template(
                [
                    [  # in which the model has described the image with this text, and goes on
                        {"role": "user", "content": [{"type": "image", "image": image}, request]},
                        {"role": "assistant", "content": [{"type": "text", "text": text}]},
                    ]
                    for image, text in zip(images, texts, strict=True)
                ],
                tokenize=True,
                continue_final_message=True,
                return_dict=True,
                return_tensors="pt",
                processor_kwargs={"padding": True},
            )
        else:
            inputs = self.processor(images=images, text=texts, padding=True, return_tensors="pt")
        inputs = dict(inputs)
        real = inputs.pop("attention_mask").bool()
        shape = inputs["input_ids"].shape
        along = {
            name: [row[flags].tolist() for row, flags in zip(inputs.pop(name), real, strict=True)]
            for name in [name for name, value in inputs.items() if getattr(value, "shape", None) == shape]
        }
        tokens = [self._open(row) for row in along.pop("input_ids")]
        along = {name: [row[: len(own)] for row, own in zip(rows, tokens, strict=True)] for name, rows in along.items()}
        return Prepared(tokens, along, self._moved(inputs))

    def _open(self, tokens: list[int]) -> list[int]:
        """A text that goes on: without the mark of its end, and with the mark that BLIP's captions begin with."""
        if tokens[-1] in (self.tokenizer.sep_token_id, self.tokenizer.eos_token_id):
            tokens = tokens[:-1]
        return [self.network.config.text_config.bos_token_id, *tokens[1:]] if self.kind == "blip" else tokens

    def _moved(self, inputs: Any) -> dict[str, Any]:
        return {name: value.to(self.device) if hasattr(value, "to") else value for name, value in dict(inputs).items()}
