"""The one engine behind every attacker: trials in, per-caption scores out, and the attackers themselves if wanted."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from captionbias.attackers.base import Trial, TrialScores
from captionbias.attackers.cache import Cache, open_cache, trial_key
from captionbias.attackers.placement import PLACEMENTS, Finished, Job, Place
from captionbias.attackers.ranks import crew
from captionbias.attackers.registry import Attacker
from captionbias.captions import CaptionBiasWarning

# Whether to show a bar, or what to call with how many trials are finished and how many there are.
Progress: TypeAlias = bool | Callable[[int, int], None]


def run_trials(
    trials: Sequence[Trial],
    attacker: Attacker,
    *,
    keep: Collection[Trial] = (),
    cache: bool | str | Path = True,
    distributed: bool = True,
    placement: str | None = None,
    progress: Progress = False,
) -> list[TrialScores]:
    """Train one attacker a trial and return its scores, in the order of `trials`.

    A trial's result depends on that trial alone: not on which others run beside it, nor on how many, nor on where.

    Args:
        keep: the trials, of these, whose scores come with the attacker that gave them as `TrialScores.fitted`. They are
            trained even if the cache has their scores, because it holds no attackers; with several processes, each of
            these trains them.
        cache: keep finished trials and train none twice, in the usual folder (True) or this one; see `open_cache`.
        distributed: share the trials with the other processes of `accelerate launch`, if there are any; each of them
            must make the same call, and gets all results.
        placement: `plain`, `threads`, `processes` or `stacked`; the attacker's own when None.
        progress: show a progress bar, or a function to call in this thread with the numbers of finished and of all
            trials: once before the first and after each, those from the cache too. What it raises ends the run and is
            raised here; trainings that threads have begun are finished first, and what is finished is kept. Of several
            processes rank 0 alone calls it, for its own share.

    Raises:
        ValueError: the processes were given different trials.
        RuntimeError: a worker process was killed, or another process of `accelerate launch` failed or died.
    """
    keys = [trial_key(trial, attacker.identity, attacker.reads_words) for trial in trials]
    jobs = [
        Job(number, trial, key, trial in keep) for number, (trial, key) in enumerate(zip(trials, keys, strict=True))
    ]
    store, place = open_cache(cache), PLACEMENTS[placement or attacker.placement]
    others = crew() if distributed else None

    def scores_of(share: Sequence[Job], shown: Progress, check: Callable[[], None]) -> dict[int, TrialScores]:
        done = {}
        with _reported(shown, attacker.name) as report, closing(_finished(share, attacker, store, place)) as finished:
            report(0, len(share))
            for number, (job, scores) in enumerate(finished, start=1):
                done[job.number] = scores
                report(number, len(share))
                check()
        return done

    if others is None:
        done = scores_of(jobs, progress, lambda: None)
        return [done[number] for number in range(len(jobs))]
    shared, kept = [job for job in jobs if not job.keep], [job for job in jobs if job.keep]
    with others.sharing(hashlib.sha256(repr((keys, [job.number for job in kept])).encode()).hexdigest()):
        done = scores_of([*kept, *shared[others.rank :: others.size]], others.rank == 0 and progress, others.check)
        bare = {number: replace(scores, fitted=None) for number, scores in done.items()}
        gathered = others.gather(bare, len(jobs))
    return [done.get(number, scores) for number, scores in enumerate(gathered)]


def _finished(jobs: Sequence[Job], attacker: Attacker, store: Cache | None, place: Place) -> Finished:
    """Those in the cache first, then those that have to be trained, as they are finished."""
    missing = []
    for job in jobs:
        scores = store.load(job.key, len(job.trial.test)) if store and not job.keep else None
        if scores is None:
            missing.append(job)
        else:
            yield job, scores
    if not missing:
        return
    if store and (elsewhere := store.held(job.key for job in missing)):
        warnings.warn(
            f"another run is training {elsewhere} of these trials now: this one waits for them and takes their scores",
            CaptionBiasWarning,
            stacklevel=2,
        )
        missing.reverse()  # the other run comes from the front: meet in the middle
    from threadpoolctl import threadpool_limits

    # The products are small: threads would fight over them, and add up in another order on another machine.
    with threadpool_limits(1), closing(place(missing, attacker, store)) as trained:
        yield from trained
    if store:
        store.trim()


@contextmanager
def _reported(progress: Progress, name: str) -> Iterator[Callable[[int, int], None]]:
    """What to call with how many trials are finished and how many there are: a bar on standard error, a function."""
    if callable(progress):
        yield progress
        return
    if not progress:
        yield lambda finished, total: None
        return
    from rich import progress as bars
    from rich.console import Console

    columns = (
        bars.TextColumn(f"training {name}"),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TimeRemainingColumn(),
    )
    with bars.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name, total=None)
        yield lambda finished, total: bar.update(task, completed=finished, total=total)
