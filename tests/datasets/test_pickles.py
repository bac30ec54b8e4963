"""Pickles: plain data comes out as it went in, and nothing else is carried out."""

from __future__ import annotations

import collections
import contextlib
import os
import pickle
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from captionbias.datasets.pickles import read_plain_pickle

KEYS = st.text(max_size=4) | st.integers(-(2**70), 2**60) | st.booleans() | st.none() | st.tuples(st.text(max_size=2))
LEAVES = KEYS | st.floats(allow_nan=False) | st.integers(-(2**60), 2**60)
PLAIN = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(KEYS, inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | inner.map(lambda shared: [shared, shared])
    ),
    max_leaves=25,
)


@settings(max_examples=150, deadline=None)
@given(value=PLAIN, protocol=st.integers(0, pickle.HIGHEST_PROTOCOL))
def test_plain_data_comes_out_as_it_went_in(
    value: Any, protocol: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("pickle") / "file.pkl"
    file.write_bytes(pickle.dumps(value, protocol))
    found = read_plain_pickle(file)
    assert repr(found) == repr(value)  # 1, 1.0 and True are equal


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_thousands_of_entries(protocol: int, tmp_path: Path) -> None:
    value = [
        {"img_id": row, "caption_list": [f"caption {row}", "caf\u00e9"], "bb_gender": "Male"} for row in range(3000)
    ]
    file = tmp_path / "file.pkl"
    file.write_bytes(pickle.dumps(value, protocol))
    assert read_plain_pickle(file) == value


class Call:
    def __init__(self, function: Any, *arguments: Any, state: Any = None) -> None:
        self.made = (function, arguments, state) if state else (function, arguments)

    def __reduce__(self) -> Any:
        return self.made


class WithState:
    def __setstate__(self, state: Any) -> None:
        os.mkdir(state)


class Pointing(pickle.Pickler):
    def persistent_id(self, value: Any) -> Any:
        return "elsewhere" if value == "point" else None


def short_text(words: str) -> bytes:
    return b"\x8c" + bytes([len(words)]) + words.encode()


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_calls_are_refused_in_every_protocol(protocol: int, tmp_path: Path) -> None:
    trap, file = tmp_path / "trap", tmp_path / "file.pkl"
    for value in (Call(os.mkdir, str(trap)), Call(os.system, f"touch {trap}"), Call(eval, f"open({str(trap)!r}, 'w')")):
        file.write_bytes(pickle.dumps([{"img_id": 1, "caption_list": value}], protocol))
        with pytest.raises(ValueError, match=r"file\.pkl is a pickle that may run code"):
            read_plain_pickle(file)
        assert not trap.exists()
    pickle.loads(pickle.dumps(Call(os.mkdir, str(trap)), protocol))
    assert trap.exists()  # the trap does work


@pytest.mark.parametrize(
    ("instructions", "named"),
    [
        (b"cos\nsystem\n(VTRAP\ntR.", "GLOBAL os system"),
        (b"(ios\nmkdir\nVTRAP\n.".replace(b"(ios\nmkdir\nVTRAP\n", b"(VTRAP\nios\nmkdir\n"), "INST os mkdir"),
        (
            b"\x80\x04" + short_text("os") + short_text("mkdir") + b"\x93" + short_text("TRAP") + b"\x85R.",
            "STACK_GLOBAL",
        ),
        (b"(cos\nmkdir\nVTRAP\no.", "GLOBAL os mkdir"),
        (b"\x80\x02\x82\x01)R.", "EXT1"),
        (b"\x80\x02\x83\x01\x01)R.", "EXT2"),
        (b"\x80\x02\x84\x01\x01\x01\x01)R.", "EXT4"),
        (b"Pelsewhere\n.", "PERSID elsewhere"),
        (b"Velsewhere\nQ.", "BINPERSID"),
        (b"}}(VTRAP\nNub.", "BUILD"),
        (b"N)R.", "REDUCE"),
        (b"N)\x81.", "NEWOBJ"),
        (b"N)}\x92.", "NEWOBJ_EX"),
        (b"(No.", "OBJ"),
        (b"\x80\x05\x97.", "NEXT_BUFFER"),
        (b"\x80\x05\x96" + struct.pack("<Q", 1) + b"a.", "BYTEARRAY8"),
        (b"\x80\x04\x8f.", "EMPTY_SET"),
        (b"B" + struct.pack("<I", 1) + b"a.", "BINBYTES"),
    ],
)
def test_no_instruction_that_could_run_code_is_carried_out(instructions: bytes, named: str, tmp_path: Path) -> None:
    trap, file = tmp_path / "t", tmp_path / "file.pkl"
    instructions = instructions.replace(b"\x8c\x04TRAP", b"\x8c" + bytes([len(str(trap))]) + str(trap).encode())
    file.write_bytes(instructions.replace(b"TRAP", str(trap).encode()))
    with pytest.raises(ValueError, match=rf"file\.pkl is a pickle that may run code \({named}\).*fetch the original"):
        read_plain_pickle(file)
    assert not trap.exists()


@pytest.mark.parametrize(
    "value",
    [
        os.system,
        {1, 2},
        frozenset("a"),
        b"bytes",
        bytearray(b"a"),
        1j,
        Path("a"),
        collections.OrderedDict(a=1),
        WithState(),
        Call(collections.deque, [1], state={"a": 1}),
        range(3),
        ...,
    ],
)
def test_other_objects_are_refused(value: Any, tmp_path: Path) -> None:
    file = tmp_path / "file.pkl"
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        file.write_bytes(pickle.dumps([value], protocol))
        with pytest.raises(ValueError, match=r"file\.pkl is a pickle that may run code"):
            read_plain_pickle(file)


def test_references_to_elsewhere_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "file.pkl"
    for protocol in (0, 4):
        with file.open("wb") as opened:
            Pointing(opened, protocol).dump(["point"])
        with pytest.raises(ValueError, match="may run code"):
            read_plain_pickle(file)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"Np2000000000\n.", "made to fill the memory"),
        (b"Nr\xff\xff\xff\x7f.", "made to fill the memory"),
        (b"I" + b"9" * 4000 + b"\n.", "a number of more than 100 digits"),
        (b"L" + b"9" * 4000 + b"L\n.", "a number of more than 100 digits"),
        (b"I" + b"9" * 100_000 + b"\n.", "no whole pickle"),
        (b"X\xff\xff\xff\x7fa.", "no whole pickle"),
        (b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7fa.", "no whole pickle"),
        (b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xffa.", "no whole pickle"),
        (b"T\xff\xff\xff\x7fa.", "no whole pickle"),
        (b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7f].", "no whole pickle"),
        (b"\x8b\xff\xff\xff\x7f1.", "no whole pickle"),
        (b"\x80\x63].", "no whole pickle"),
        (b"", "no whole pickle"),
        (b".", "no whole pickle"),
        (b"0.", "no whole pickle"),
        (b"g5\n.", "no whole pickle"),
        (b"Np-1\n.", "no whole pickle"),
        (b"Ng-1\n.", "no whole pickle"),
        (b"]]]s.", "no whole pickle"),
        (b"}](Ns.", "no whole pickle"),
        (b"NNa.", "no whole pickle"),
        (b"Va\n(Nae.", "no whole pickle"),
        (b"Va\n(Ne.", "no whole pickle"),
        (b"(]NNd.", "no whole pickle"),
        (b"(]Nd.", "no whole pickle"),
        (b"Sa\n.", "no whole pickle"),
        (b"S'\\xc3\\xa9'\n.", "no whole pickle"),
        (b"U\x01\xff.", "no whole pickle"),
        (b"Fx\n.", "no whole pickle"),
        (b"Ix\n.", "no whole pickle"),
        (b"\xff\xff", "no whole pickle"),
        (b"PK\x03\x04", "no whole pickle"),
        (b'[{"img_id": 1}]', "no whole pickle"),
    ],
)
def test_malformed_pickles_are_refused(content: bytes, message: str, tmp_path: Path) -> None:
    file = tmp_path / "file.pkl"
    file.write_bytes(content)
    with pytest.raises(
        ValueError, match=rf"^file\.pkl (is|holds) .*{message}|^file\.pkl is a pickle that may run code"
    ):
        read_plain_pickle(file)
    with pytest.raises(ValueError, match=message):
        read_plain_pickle(file)


@settings(max_examples=80, deadline=None)
@given(value=PLAIN, protocol=st.integers(0, 5), data=st.data())
def test_a_pickle_cut_off_anywhere_is_refused(
    value: Any, protocol: int, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("pickle") / "file.pkl"
    content = pickle.dumps(value, protocol)
    file.write_bytes(content[: data.draw(st.integers(0, len(content) - 1))])
    with pytest.raises(ValueError, match=r"^file\.pkl"):
        read_plain_pickle(file)


@settings(max_examples=200, deadline=None)
@given(content=st.binary(max_size=60) | st.text("(]})Na.est0123p\n\x94\x85\x86", max_size=30).map(str.encode))
def test_any_bytes_give_plain_data_or_a_value_error(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("pickle") / "file.pkl"
    file.write_bytes(content)
    with contextlib.suppress(ValueError):
        assert type(read_plain_pickle(file)) in (list, tuple, dict, str, int, float, bool, type(None))


def test_strings_of_python_2_are_read_as_utf_8(tmp_path: Path) -> None:
    file = tmp_path / "file.pkl"
    file.write_bytes(b"(dp0\nS'pred'\np1\nS'a man'\np2\ns.")
    assert read_plain_pickle(file) == {"pred": "a man"}
    file.write_bytes(b"\x80\x02}U\x04predU\x05caf\xc3\xa9s.")
    assert read_plain_pickle(file) == {"pred": "caf\u00e9"}
    file.write_bytes(b"T" + struct.pack("<i", 300) + b"a" * 300 + b".")
    assert read_plain_pickle(file) == "a" * 300


@pytest.mark.parametrize(
    "key",
    [
        b")" + b"\x85" * 1_000_000,  # ((((...)))): hash() would run out of the C stack
        b")" + b"2\x86" * 100,  # ((x, x), (x, x)) and so on: hash() would see 2 to the 100 tuples
        b")" + b"q\x01h\x01\x86" * 100,
        b")" + b"\x94h\x01\x86" + b"".join(b"\x94h" + bytes([n]) + b"\x86" for n in range(2, 90)),
        b")" + b"(2t" * 100 + b"\x85" * 200,
    ],
)
def test_keys_that_would_crash_python_are_refused(key: bytes, tmp_path: Path) -> None:
    file = tmp_path / "file.pkl"
    file.write_bytes(b"\x80\x04}\x94" + key + b"Ns.")
    with pytest.raises(ValueError, match=r"file\.pkl is (a pickle made to crash Python|no whole pickle)"):
        read_plain_pickle(file)


def test_many_tuples_are_plain_data(tmp_path: Path) -> None:
    file, shared = tmp_path / "file.pkl", ("a", ("b",))
    deep: tuple[object, ...] = ()
    for _ in range(99):
        deep = (deep,)
    value = {"rows": [(row, (shared, shared)) for row in range(5_000)], shared: tuple([shared] * 9000), deep: deep}
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        file.write_bytes(pickle.dumps(value, protocol))
        assert read_plain_pickle(file) == value


def test_a_list_that_holds_itself_and_a_deep_one_are_plain(tmp_path: Path) -> None:
    file, circle = tmp_path / "file.pkl", []
    circle.append(circle)
    file.write_bytes(pickle.dumps(circle))
    found = read_plain_pickle(file)
    assert found[0] is found
    file.write_bytes(b"]" * 100_000 + b"a" * 99_999 + b".")
    assert type(read_plain_pickle(file)) is list


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.pkl"):
        with pytest.raises(ValueError, match=rf"{path} cannot be read \(.*\): put the file there"):
            read_plain_pickle(path)
