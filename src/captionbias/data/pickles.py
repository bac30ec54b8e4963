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
_LONGEST_NUMBER = 20  # digits: the time to read a number in decimal grows with the square of its length


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
        _check_instructions(content, path)
        return _PlainUnpickler(io.BytesIO(content), encoding="utf-8").load()
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror or error}): put the file there") from error
    except (pickle.UnpicklingError, UnicodeDecodeError, EOFError, LookupError, TypeError, MemoryError) as error:
        raise ValueError(f"{path.name} is no whole pickle of plain data ({error}): fetch the file again") from error


def _check_instructions(content: bytes, path: Path) -> None:
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
    except ValueError as error:
        if str(error).startswith(path.name):
            raise
        raise ValueError(f"{path.name} is no whole pickle ({error}): fetch the file again") from error
