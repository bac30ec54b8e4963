"""Warnings of this library go to the thread that caused them, and other warnings where they went before."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from captionbias.app.heard_warnings import heard, listen
from captionbias.captions import CaptionBiasWarning
from tests.patience import PATIENCE


def test_each_thread_hears_its_own_warnings_once():
    together = Barrier(4, timeout=PATIENCE)

    def work(number: int) -> list[str]:
        with heard() as notes:
            together.wait()
            for _ in range(3):
                warnings.warn(f"note {number}", CaptionBiasWarning, stacklevel=1)
            together.wait()
        return notes

    with warnings.catch_warnings(), ThreadPoolExecutor(4) as pool:
        listen()
        assert list(pool.map(work, range(4))) == [[f"note {number}"] for number in range(4)]


def test_other_warnings_and_those_that_nobody_hears_go_where_they_went():
    before = []
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *_, **__: before.append(str(message))
        listen()
        with heard() as notes:
            warnings.warn("other", UserWarning, stacklevel=1)
        warnings.warn("nobody hears", CaptionBiasWarning, stacklevel=1)
    assert (notes, before) == ([], ["other", "nobody hears"])
