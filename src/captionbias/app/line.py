"""Lines of those who wait for the few who can work at once, fair to every address."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Condition

# Several people may share an address. All in all lines take fewer threads than the page has, see `server`.
OF_ADDRESS, IN_LINE = 8, 20


@dataclass(eq=False)
class _Place:
    address: str
    working: bool = False


class Line:
    """Who works and who waits: each address in its turn, so that nobody waits for all that another one began."""

    def __init__(self, at_once: int = 1) -> None:
        self._at_once = at_once
        self._places: list[_Place] = []
        self._last: dict[str, float] = {}  # by address in the line: when it had its last turn
        self._changed = Condition()

    @contextmanager
    def turn(self, address: str, wait: Callable[[int], object] = lambda before: None) -> Iterator[None]:
        """Work, as soon as it is this one's turn.

        `wait`: called every second until then, with how many are before this one; what it raises leaves the line.

        Raises:
            ValueError: too many of this address, or of all, are in the line.
        """
        place = _Place(address)
        with self._changed:
            near = sum(one.address == address for one in self._places)
            if near >= OF_ADDRESS or len(self._places) >= IN_LINE:
                whose = f"{near} are from your address" if near >= OF_ADDRESS else f"{len(self._places)} in all"
                raise ValueError(f"too many runs or readings work or wait already ({whose}): wait until one has ended")
            self._places.append(place)
        try:
            with self._changed:
                while before := self._before(place):
                    wait(before)
                    self._changed.wait(1)
                place.working = True
                self._last[address] = time.monotonic()
            yield
        finally:
            with self._changed:
                self._places.remove(place)
                if address not in {one.address for one in self._places}:
                    self._last.pop(address, None)
                self._changed.notify_all()

    def check(self) -> None:
        """Call every `wait` now."""
        with self._changed:
            self._changed.notify_all()

    def _before(self, place: _Place) -> int:
        """How many have to end or begin before this one begins; 0 if it may."""
        waited: Counter[str] = Counter()
        order = []
        for number, one in enumerate(self._places):
            if not one.working:
                waited[one.address] += 1
                order.append((waited[one.address], self._last.get(one.address, 0.0), number, one))
        waiting = [one for *_, one in sorted(order, key=lambda found: found[:3])]
        working = len(self._places) - len(waiting)
        before = working + waiting.index(place)
        return before if before >= self._at_once else 0
