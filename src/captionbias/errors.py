"""Errors of the input and notes: text, and arguments that each view calls by words of its own: the command line by its
options, the page by its controls, a report in plain English. What users named is text, and is said as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from string import Formatter
from typing import Any, NamedTuple

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


Wording = Callable[[Argument], "str | None"]  # what a view calls an argument; None where it has no words for it


class Message(str):
    """Text and arguments one after the other, then ways out; as a string it names arguments as Python does.

    >>> message = Message("too few images", ways=["add some", phrase("give {bootstrap}", bootstrap=0)])
    >>> print(message)
    too few images; add some, or give bootstrap=0
    >>> render(message, {Argument("bootstrap", 0): "--bootstrap 0"}.get), render(message, {}.get)
    ('too few images; add some, or give --bootstrap 0', 'too few images; add some')
    """

    parts: tuple[str | Argument, ...]
    ways: tuple[str, ...]

    def __new__(cls, *parts: str | Argument, ways: Iterable[str] = ()) -> Message:
        """`ways`: what helps, of which a view leaves out those with an argument that it has no words for."""
        ways = tuple(ways)
        message = super().__new__(cls, _render(parts, ways, str))
        message.parts, message.ways = parts, ways
        return message

    def __getnewargs_ex__(self) -> tuple[tuple[str | Argument, ...], dict[str, Any]]:
        return self.parts, {"ways": self.ways}

    def arguments(self) -> Iterator[Argument]:
        """Those that are named, in ways out too."""
        for part in (*self.parts, *self.ways):
            if isinstance(part, Argument):
                yield part
            elif isinstance(part, Message):
                yield from part.arguments()


def _render(parts: Iterable[str | Argument], ways: Sequence[str], words: Wording) -> str:
    texts = ((words(part) or str(part)) if isinstance(part, Argument) else render(part, words) for part in parts)
    text, helps = "".join(texts), [render(way, words) for way in ways if all(map(words, Message(way).arguments()))]
    if not helps:
        return text.removesuffix(":") if ways else text
    listed = ", or ".join(filter(None, [", ".join(helps[:-1]), helps[-1]]))
    return f"{text}{' ' if text.endswith(':') else '; '}{listed}"


class InputError(ValueError):
    """What is wrong with an argument, and where in it.

    >>> print(InputError("references", "is empty: drop the image, or add a caption", row=1))
    references[1] is empty: drop the image, or add a caption
    """

    def __init__(self, argument: str | Argument, text: str, *ways: str, row: int | None = None) -> None:
        """`text`: what goes on after the argument. `ways`: what helps, of which a view may have no words for some."""
        super().__init__(argument, text, *ways)  # of which a pickled error is made, before it gets what it has
        self.argument = argument if isinstance(argument, Argument) else Argument(argument, row=row)
        self.message = Message(self.argument, "" if text.startswith(":") else " ", text, ways=ways)

    def __str__(self) -> str:
        return str(self.message)


def phrase(text: str, *rest: object, **values: Any) -> Message:
    """A message with arguments where the text has their names in braces, some with values, and the rest in empty ones.

    >>> print(phrase("give {seed} to {!r}, {:.1f} times", "me", 2, seed=1))
    give seed=1 to 'me', 2.0 times
    """
    parts: list[str | Argument] = []
    unnamed, formatter = iter(rest), Formatter()
    for before, name, form, conversion in formatter.parse(text):
        parts.append(before)
        if name:
            parts.append(Argument(name, values.get(name, UNSAID)))
        elif name is not None:
            value = formatter.convert_field(next(unnamed), conversion)
            parts.append(value if isinstance(value, (Argument, Message)) else format(value, form or ""))
    return Message(*parts)


@contextmanager
def explained_memory() -> Iterator[None]:
    """Too little memory as an error that says what helps."""
    try:
        yield
    except MemoryError as error:
        ways = "measure a random part of them", phrase("give {draws} to sway", draws=1)
        raise ValueError(Message("so many images need more memory than is free:", ways=ways)) from error


def few(names: Iterable[object], most: int = 5) -> str:
    """The first of these names, and how many more there are.

    >>> few("abcdefg")
    'a, b, c, d, e and 2 more'
    """
    listed = [*map(str, names)]
    return ", ".join(listed[:most]) + f" and {len(listed) - most:,} more" * (len(listed) > most)


def unknown(argument: str, value: object, choices: Iterable[str]) -> InputError:
    """The error that a value is none of those to choose from."""
    return InputError(argument, f"{value!r:.60} is unknown; choose one of {', '.join(choices)}")


def missing(argument: str, text: str, *ways: str) -> InputError:
    """The error that an argument is not given."""
    return InputError(Argument(argument, missing=True), text, *ways)


def message_of(fault: str | Exception) -> str:
    """The message, with its parts if it has any, of an error or a warning."""
    if isinstance(fault, InputError):
        return fault.message
    own = fault.args[0] if isinstance(fault, Exception) and fault.args else fault
    return own if isinstance(own, Message) else str(fault)


def render(fault: str | Exception, words: Wording) -> str:
    """A message, or that of an error or a warning, in a view's words."""
    message = message_of(fault)
    return _render(message.parts, message.ways, words) if isinstance(message, Message) else message


def within(where: str, error: ValueError) -> ValueError:
    """The error of one of several things, which is named."""
    return ValueError(Message(f"{where}: ", message_of(error)))
