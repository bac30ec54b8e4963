"""The one engine behind every attacker: trials in, per-caption scores out, and the attackers themselves if wanted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from captionbias.attackers.base import Fitted, Trial, TrialScores
from captionbias.attackers.ranks import rank_and_size, share
from captionbias.attackers.registry import Attacker
from captionbias.attackers.stored_trials import load_scores, save_scores, trial_key
from captionbias.attackers.workers import cores, in_workers
from captionbias.io.store import Store, open_store
from captionbias.progress import Progress, reported

STACKED = 64  # trials at once; an interrupted run loses those under way


@dataclass(frozen=True, eq=False)
class Job:
    """A trial that has to be trained, under its key in the store. `keep`: whether its attacker is wanted too."""

    number: int
    trial: Trial
    key: str
    keep: bool = False


Finished = Generator[tuple[Job, TrialScores], None, None]
Place = Callable[[Sequence[Job], Attacker, "Store | None"], Finished]


def finish(job: Job, attacker: Attacker, store: Store | None) -> TrialScores:
    """Train a trial and keep its scores."""
    return kept(job, attacker.fit(job.trial), store)


def kept(job: Job, fitted: Fitted, store: Store | None) -> TrialScores:
    if store:
        save_scores(store, job.key, fitted.test_scores)
    return replace(fitted.test_scores, fitted=fitted) if job.keep else fitted.test_scores


def one_by_one(jobs: Sequence[Job], attacker: Attacker, store: Store | None) -> Finished:
    for job in jobs:
        yield job, finish(job, attacker, store)


def stacked(jobs: Sequence[Job], attacker: Attacker, store: Store | None) -> Finished:
    if attacker.fit_together is None:
        yield from one_by_one(jobs, attacker, store)
        return
    shapes = defaultdict(list)
    for job in jobs:
        examples = job.trial.examples
        shapes[len(job.trial.train), examples.outputs, examples.multilabel].append(job)
    for alike in shapes.values():
        for start in range(0, len(alike), STACKED):
            some = alike[start : start + STACKED]
            for job, fitted in zip(some, attacker.fit_together([job.trial for job in some]), strict=True):
                yield job, kept(job, fitted, store)


def in_threads(jobs: Sequence[Job], attacker: Attacker, store: Store | None) -> Finished:
    with ThreadPoolExecutor(cores()) as pool:
        running = {pool.submit(finish, job, attacker, store): job for job in jobs}
        try:
            for done in as_completed(running):
                yield running[done], done.result()
        finally:
            pool.shutdown(cancel_futures=True)


def in_processes(jobs: Sequence[Job], attacker: Attacker, store: Store | None) -> Finished:
    # The longest trainings first: a long one at the end would have a core to itself.
    jobs = sorted(jobs, key=lambda job: -len(job.trial.train))
    with closing(in_workers(partial(finish, attacker=attacker, store=store), jobs, cores())) as results:
        for number, scores in results:
            yield jobs[number], scores


# Where trials are trained: one after the other; those of one shape together, for a GPU; one a core in this process, for
# attackers whose work leaves the interpreter free; or one a core in worker processes. The scores are the same.
PLACEMENTS: dict[str, Place] = {
    "plain": one_by_one,
    "stacked": stacked,
    "threads": in_threads,
    "processes": in_processes,
}


def run_trials(
    trials: Sequence[Trial],
    attacker: Attacker,
    *,
    keep: Collection[Trial] = (),
    cache: bool | str | Path = True,
    distributed: bool = False,
    progress: Progress = False,
) -> list[TrialScores]:
    """Train one attacker a trial and return its scores, in the order of `trials`.

    A trial's result depends on that trial alone: not on which others run beside it, nor on how many, nor on where.

    Args:
        keep: the trials, of these, whose scores come with the attacker that gave them as `TrialScores.fitted`. They are
            trained even if the cache has their scores; with several processes, each of these trains them.
        cache: where finished trials are kept, see `open_store`.
        distributed: share the trials with the other processes of `accelerate launch`, if there are any; each of them
            must make the same call, and gets all results.
        progress: True for a progress bar; None for one if it takes longer than a few seconds; False for nothing. Or a
            function to call in this thread with the numbers of finished and of all trials: once before the first and
            after each, those from the cache too. What it raises ends the run and is raised here. Of several processes
            rank 0 alone shows or calls it, for its own share.
    """
    jobs = [
        Job(number, trial, trial_key(trial, attacker.identity), trial in keep) for number, trial in enumerate(trials)
    ]
    wanted = [job for job in jobs if job.keep]
    store = open_store(cache)
    if distributed and rank_and_size()[0] != 0:
        progress = False
    fitted: dict[int, Fitted | None] = {}

    def train(positions: Sequence[int]) -> Generator[tuple[int, TrialScores], None, None]:
        own = [*wanted, *(jobs[position] for position in positions if not jobs[position].keep)]
        with reported(progress, attacker.name) as report, closing(_finished(own, attacker, store)) as finished:
            report(0, len(own))
            for number, (job, scores) in enumerate(finished, start=1):
                if job.keep:
                    fitted[job.number] = scores.fitted
                report(number, len(own))
                yield job.number, replace(scores, fitted=None)

    try:
        done = share([f"{job.key} {job.keep}" for job in jobs], train, distributed=distributed)
    except KeyboardInterrupt as interrupt:
        if store:
            interrupt.args = ("finished trials are kept: run the same command again to continue from there",)
        raise
    return [replace(scores, fitted=fitted.get(number)) for number, scores in enumerate(done)]


def _finished(jobs: Sequence[Job], attacker: Attacker, store: Store | None) -> Finished:
    """The trials in the cache first, then those that have to be trained, as they are finished."""
    missing = []
    for job in jobs:
        scores = load_scores(store, job.key, len(job.trial.test)) if store and not job.keep else None
        if scores is None:
            missing.append(job)
        else:
            yield job, scores
    if not missing:
        return
    from threadpoolctl import threadpool_limits

    # The products are small: threads would fight over them, and add up in another order on another machine.
    with threadpool_limits(1), closing(PLACEMENTS[attacker.placement](missing, attacker, store)) as trained:
        yield from trained
    if store:
        store.trim()
