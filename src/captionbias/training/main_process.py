"""What one process measures and all of them log."""

from __future__ import annotations

from collections.abc import Callable


def on_main_process(measure: Callable[[], dict[str, float]]) -> dict[str, float]:
    """The scores that the main process measures, on every process of `accelerate launch`; each must come here."""
    from accelerate import PartialState
    from accelerate.utils import broadcast_object_list

    measured = [measure() if PartialState().is_main_process else {}]
    scores: dict[str, float] = broadcast_object_list(measured)[0]
    return scores
