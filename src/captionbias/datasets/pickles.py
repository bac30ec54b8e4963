"""Pickles of plain data, and of nothing else."""

from __future__ import annotations

import io
import pickle
import pickletools
from pathlib import Path
from typing import Any

# What containers, strings and numbers are pickled with; nothing that imports, calls, builds or refers elsewhere.
_ADMITTED = frozenset(
    """
    PROTO FRAME STOP MARK POP POP_MARK DUP MEMOIZE PUT BINPUT LONG_BINPUT GET BINGET LONG_BINGET
    NONE NEWTRUE NEWFALSE INT BININT BININT1 BININT2 LONG LONG1 LONG4 FLOAT BINFLOAT
    STRING BINSTRING SHORT_BINSTRING UNICODE BINUNICODE SHORT_BINUNICODE BINUNICODE8
    EMPTY_LIST LIST APPEND APPENDS EMPTY_TUPLE TUPLE TUPLE1 TUPLE2 TUPLE3 EMPTY_DICT DICT SETITEM SETITEMS
    """.split()  # noqa: SIM905
)
_MEMO = frozenset({"PUT", "BINPUT", "LONG_BINPUT"})
_GET = frozenset({"GET", "BINGET", "LONG_BINGET"})
_MOST_TUPLES, _DEEPEST_TUPLE = 100_000, 100  # in a tuple
_LONGEST_NUMBER = 100  # digits: the time to read a number in decimal grows with the square of its length


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"it names {module}.{name}")

    def persistent_load(self, pid: Any) -> Any:
        raise pickle.UnpicklingError("it refers to something outside")


def read_plain_pickle(path: Path) -> Any:
    """The lists, tuples, dicts, strings, numbers, booleans and None in a pickle.

    The file's instructions are read through before any is carried out.

    Raises:
        ValueError: for a file that cannot be read, is no pickle or cut off, or would make anything else.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror or error}): put the file there") from error
    _check_instructions(content, path)
    try:
        return _PlainUnpickler(io.BytesIO(content), encoding="utf-8").load()
    except (pickle.UnpicklingError, ValueError, EOFError, LookupError, TypeError, AttributeError, MemoryError) as error:
        raise ValueError(f"{path.name} is no whole pickle of plain data ({error}): fetch the file again") from error


class _Tuples:
    """How many tuples there are in each thing on the unpickler's stack, and how deep they go.

    As the key of a dict a tuple is hashed, down to the last tuple in it and on the C stack: a few bytes could otherwise
    keep Python busy for years, or crash it.
    """

    def __init__(self) -> None:
        self._stack: list[tuple[int, int] | None] = []  # None is a mark
        self._memo: dict[int, tuple[int, int] | None] = {}

    def most(self, instruction: pickletools.OpcodeInfo, argument: Any) -> tuple[int, int]:
        """Follow an instruction: the number and the depth of the tuples in what it makes."""
        name, stack = instruction.name, self._stack
        if name in _MEMO or name == "MEMOIZE":
            self._memo[len(self._memo) if name == "MEMOIZE" else int(argument)] = stack[-1]
        elif name in _GET or name == "DUP":
            stack.append(stack[-1] if name == "DUP" else self._memo[int(argument)])
        elif name in ("MARK", "POP"):
            stack.pop() if name == "POP" else stack.append(None)
        else:
            taken = self._taken(instruction)
            if not name.startswith("TUPLE"):  # nothing else that holds tuples is hashed
                stack += [(0, 0)] * len(instruction.stack_after)
                return 0, 0
            numbers, depths = zip((0, 0), *taken, strict=True)
            made = 1 + sum(numbers), 1 + max(depths)
            stack.append(made)
            return made
        return 0, 0

    def _taken(self, instruction: pickletools.OpcodeInfo) -> list[tuple[int, int]]:
        taken: list[tuple[int, int]] = []
        for what in reversed(instruction.stack_before):
            if what is pickletools.stackslice:
                while (top := self._stack.pop()) is not None:
                    taken.append(top)
            elif what is not pickletools.markobject:
                taken.append(self._stack.pop() or (0, 0))
        return taken


def _check_instructions(content: bytes, path: Path) -> None:
    tuples = _Tuples()
    try:
        for count, (instruction, argument, _) in enumerate(pickletools.genops(content)):
            name = instruction.name
            if name not in _ADMITTED:
                what = f"{name} {argument}" if isinstance(argument, str) else name
                raise ValueError(
                    f"{path.name} is a pickle that may run code ({what}), and only lists, dicts, strings and numbers "
                    "are read: do not open it, and fetch the original file"
                )
            if name in _MEMO and int(argument or 0) > count:
                raise ValueError(f"{path.name} is a pickle made to fill the memory: fetch the original file")
            if name in ("INT", "LONG") and len(str(argument)) > _LONGEST_NUMBER:
                raise ValueError(f"{path.name} is a pickle with a number of more than {_LONGEST_NUMBER} digits")
            number, depth = tuples.most(instruction, argument)
            if number > _MOST_TUPLES or depth > _DEEPEST_TUPLE:
                raise ValueError(f"{path.name} is a pickle made to crash Python: fetch the original file")
    except (ValueError, LookupError) as error:
        if str(error).startswith(path.name):
            raise
        raise ValueError(f"{path.name} is no whole pickle ({error}): fetch the file again") from error
