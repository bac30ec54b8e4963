"""The one engine behind every attacker: trials in, per-caption scores out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from captionbias.attackers.bow import bow
from captionbias.attackers.lstm import lstm, lstm_lic
from captionbias.attackers.trials import Attacker, Trial, TrialScores

ATTACKERS: dict[str, Attacker] = {"bow": bow, "lstm": lstm, "lstm-lic": lstm_lic}


def run_trials(trials: Sequence[Trial], attacker: str, *, progress: bool = False) -> list[TrialScores]:
    """Train one attacker a trial and return its scores, in the order of `trials`.

    A trial's result depends on that trial alone: not on which others run beside it, nor on how many.

    Raises:
        ValueError: no attacker has that name; the message lists those there are.
    """
    if attacker not in ATTACKERS:
        raise ValueError(f"encoder {attacker!r} is unknown; choose one of {', '.join(ATTACKERS)}")
    from threadpoolctl import threadpool_limits

    train = ATTACKERS[attacker]
    # The products are small: threads would fight over them, and add up in another order on another machine.
    with threadpool_limits(1):
        return [train(trial) for trial in _shown(trials, attacker, progress)]


def _shown(trials: Sequence[Trial], attacker: str, progress: bool) -> Iterable[Trial]:
    if not progress:
        return trials

    from rich.console import Console
    from rich.progress import track

    return track(trials, f"training {attacker}", console=Console(stderr=True), transient=True)
