"""Errors of the input and notes: text, and arguments that each view calls by words of its own: the command line by its
options, the page by its controls, a report in plain English. What users named is text, and is said as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from string import Formatter
from typing import Any, Literal, NamedTuple

Code = Literal[
    "missing",  # the argument
    "unknown",  # a name that is none of those to choose from
    "kind",  # of another type or form
    "range",
    "empty",
    "repeated",
    "length",  # unlike another argument's
    "few",  # images, captions or values
    "conflict",  # with another argument
    "unreadable",  # a file or a model
    "package",  # is not installed
    "unnamed",  # by captions, which have none of the words
]
UNSAID: Any = ...


class Argument(NamedTuple):
    """An argument in a message: with a value to give, or one that is `missing`, or what it has in a row and entry."""

    name: str
    value: Any = UNSAID
    missing: bool = False
    row: int | None = None
    entry: int | None = None
    image: str | None = None

    def __str__(self) -> str:
        value = "" if self.value is UNSAID else f"={self.value!r}"
        rows = "".join(f"[{number}]" for number in (self.row, self.entry) if number is not None)
        return f"{self.name}{value}{rows}" + (f" (image {self.image})" if self.image is not None else "")


Words = Callable[[Argument], "str | None"]  # what a view calls an argument; None where it has no words for it


class Message(str):
    """Text and arguments one after the other, then ways out; as a string it names arguments as Python does.

    >>> message = Message("too few images", ways=["add some", naming("give {bootstrap}", bootstrap=0)])
    >>> print(message)
    too few images; add some, or give bootstrap=0
    >>> said(message, {Argument("bootstrap", 0): "--bootstrap 0"}.get), said(message, {}.get)
    ('too few images; add some, or give --bootstrap 0', 'too few images; add some')
    """

    parts: tuple[str | Argument, ...]
    ways: tuple[str, ...]

    def __new__(cls, *parts: str | Argument, ways: Iterable[str] = ()) -> Message:
        """`ways`: what helps, of which a view leaves out those with an argument that it has no words for."""
        ways = tuple(ways)
        message = super().__new__(cls, _said(parts, ways, str))
        message.parts, message.ways = parts, ways
        return message

    def __getnewargs_ex__(self) -> tuple[tuple[str | Argument, ...], dict[str, Any]]:
        return self.parts, {"ways": self.ways}

    def __add__(self, other: str) -> Message:
        return Message(self, other)

    def __radd__(self, other: str) -> Message:
        return Message(other, self)

    def arguments(self) -> Iterator[Argument]:
        """Those that are named, in ways out too."""
        for part in (*self.parts, *self.ways):
            if isinstance(part, Argument):
                yield part
            elif isinstance(part, Message):
                yield from part.arguments()

    def said(self, words: Words) -> str:
        """The message in a view's words."""
        return _said(self.parts, self.ways, words)


def _said(parts: Iterable[str | Argument], ways: Sequence[str], words: Words) -> str:
    texts = ((words(part) or str(part)) if isinstance(part, Argument) else said(part, words) for part in parts)
    text, helps = "".join(texts), [said(way, words) for way in ways if all(map(words, Message(way).arguments()))]
    if not helps:
        return text.removesuffix(":") if ways else text
    listed = ", or ".join(filter(None, [", ".join(helps[:-1]), helps[-1]]))
    return f"{text}{' ' if text.endswith(':') else '; '}{listed}"


class InputError(ValueError):
    """What is wrong with an argument, and where in it. `where`: what it is of, such as one captioner of several.

    >>> print(InputError("empty", "references", 1).says("is empty:", "drop the image", "add a caption"))
    references[1] is empty: drop the image, or add a caption
    """

    where, of, problem = "", "", ""
    ways_out: tuple[str, ...] = ()

    def __init__(self, code: Code, argument: str | Argument, row: int | None = None) -> None:
        super().__init__(code, argument, row)  # of which a pickled error is made before it gets the rest
        place = argument if isinstance(argument, Argument) else Argument(argument, row=row)
        self.code, self.argument = code, place._replace(missing=code == "missing")

    def says(self, problem: str, *ways_out: str, of: str = "") -> InputError:
        """The error with what is wrong, a text that goes on after the argument or what is `of` it, and what helps."""
        self.problem, self.ways_out, self.of = problem, ways_out, of
        return self

    @property
    def row(self) -> int | None:
        """The row of the argument that is wrong, counted from 0."""
        return self.argument.row

    @property
    def message(self) -> Message:
        """The error in one sentence."""
        blank = " " if self.problem and not self.problem.startswith(":") else ""
        return Message(self.where, self.of or self.argument, blank, self.problem, ways=self.ways_out)

    def __str__(self) -> str:
        return str(self.message)


def naming(text: str, **values: Any) -> Message:
    """A message with arguments where the text has them in braces, some with values: `naming("give {seed}", seed=1)`."""
    parts: list[str | Argument] = []
    for before, name, *_ in Formatter().parse(text):
        parts += [before] if name is None else [before, Argument(name, values.get(name, UNSAID))]
    return Message(*parts)


def unknown(argument: str, value: object, choices: Iterable[str]) -> InputError:
    """The error that a value is none of those to choose from."""
    return InputError("unknown", argument).says(f"{value!r} is unknown", f"choose one of {', '.join(choices)}")


def message_of(told: str | Exception) -> str:
    """The message, with its parts if it has any, of an error or a warning."""
    if isinstance(told, InputError):
        return told.message
    own = told.args[0] if isinstance(told, Exception) and told.args else told
    return own if isinstance(own, Message) else str(told)


def said(told: str | Exception, words: Words) -> str:
    """A message, or that of an error or a warning, in a view's words."""
    message = message_of(told)
    return message.said(words) if isinstance(message, Message) else message


def within(where: str, error: ValueError) -> ValueError:
    """The error of one of several things, which is named."""
    if not isinstance(error, InputError):
        return ValueError(f"{where}: {error}")
    error.where = f"{where}: {error.where}"
    return error
