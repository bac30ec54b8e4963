"""The walk of a caption names functions that are there, and each once."""

import re
from pathlib import Path
from pkgutil import resolve_name

PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"


def test_every_station_is_a_function_and_none_is_visited_twice() -> None:
    text = PAGE.read_text(encoding="utf-8")
    stations = re.findall(r"^\| \d+ \| `([\w.]+)`", text, re.MULTILINE)
    assert len(stations) == len(set(stations)) == 12
    for name in {*stations, *re.findall(r"`(captionbias\.[\w.]+)`", text)}:
        assert resolve_name(name), name
