"""Pickles: plain data comes out as it went in, and nothing else is carried out."""

import collections
import io
import os
import pickle
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from captionbias.io.plain_pickle import read_plain_pickle
from tests.refusals import refuses

KEYS = st.text(max_size=4) | st.integers(-(2**70), 2**60) | st.booleans() | st.none() | st.tuples(st.text(max_size=2))
PLAIN = st.recursive(
    KEYS | st.floats(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(KEYS, inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | inner.map(lambda shared: [shared, shared])
    ),
    max_leaves=25,
)


def read(content):
    return read_plain_pickle(io.BytesIO(content))


@settings(max_examples=60, deadline=None)
@given(value=PLAIN, protocol=st.integers(0, pickle.HIGHEST_PROTOCOL), share=st.floats(0, 0.999))
def test_plain_data_comes_out_as_it_went_in_and_a_cut_file_is_refused(value, protocol, share):
    content = pickle.dumps(value, protocol)
    assert repr(read(content)) == repr(value)  # 1, 1.0 and True are equal
    refuses(r"not a whole pickle of plain data .*: fetch the file again", read, content[: int(len(content) * share)])


class Call:
    def __init__(self, function, *arguments):
        self.made = function, arguments

    def __reduce__(self):
        return self.made


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_calls_are_refused_in_every_protocol(protocol, tmp_path):
    trap = tmp_path / "trap"
    for value in (Call(os.mkdir, str(trap)), Call(eval, f"open({str(trap)!r}, 'w')")):
        with pytest.raises(ValueError, match=r"it names \w+\.\w+\), and no other is read, as it could run code"):
            read(pickle.dumps([{"img_id": 1, "caption_list": value}], protocol))
        assert not trap.exists()
    pickle.loads(pickle.dumps(Call(os.mkdir, str(trap)), protocol))
    assert trap.exists()  # the trap does work


BY_NAME = [b"cos\nmkdir\n(VTRAP\ntR.", b"(VTRAP\nios\nmkdir\n.", b"(cos\nmkdir\nVTRAP\no."]
FROM_ELSEWHERE = [b"\x80\x02\x82\x01)R.", b"Pelsewhere\n."]  # of the registry of extensions, by a persistent id


@pytest.mark.parametrize("instructions", [*BY_NAME, *FROM_ELSEWHERE, b"N)R.", b"N)\x81."])
def test_no_instruction_runs_code(instructions, tmp_path):
    refuses("not a whole pickle of plain data", read, instructions.replace(b"TRAP", str(tmp_path / "trap").encode()))
    assert not (tmp_path / "trap").exists()


@pytest.mark.parametrize("value", [os.system, 1j, Path("a"), collections.OrderedDict(a=1), range(3), ...])
def test_other_objects_are_refused_unless_admitted(value):
    refuses("it names", read, pickle.dumps([value]))
    content = io.BytesIO(pickle.dumps([collections.Counter("aab"), 2]))
    assert read_plain_pickle(content, {"collections.Counter": dict}) == [{"a": 2, "b": 1}, 2]


def test_a_small_pickle_takes_little_memory():
    """It numbers its one value 10 million."""
    tracemalloc.start()
    assert read(b"\x80\x02]r" + (10**7).to_bytes(4, "little") + b".") == []
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10**6


def test_strings_of_python_2_are_read_as_utf_8():
    assert read(b"(dp0\nS'pred'\np1\nS'a man'\np2\ns.") == {"pred": "a man"}
    assert read(b"\x80\x02}U\x04predU\x05caf\xc3\xa9s.") == {"pred": "caf\u00e9"}
