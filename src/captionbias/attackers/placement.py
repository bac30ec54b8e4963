"""Where trials are trained: `processes`, one trial a core in worker processes; `threads`, one a core in this process,
for attackers whose work leaves the interpreter free; or `plain`, one after the other. The scores are the same."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from functools import partial

from captionbias.attackers.base import Trial, TrialScores
from captionbias.attackers.registry import Attacker
from captionbias.attackers.stored_trials import load_scores, save_scores
from captionbias.attackers.workers import cores, in_workers
from captionbias.io.store import Store


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
    """Train a trial and keep its scores; if another run is training it, wait and take what that one kept."""
    with store.claim("trial", job.key) if store else nullcontext():
        if store and not job.keep and (scores := load_scores(store, job.key)):
            return scores
        fitted = attacker.fit(job.trial)
        if store:
            save_scores(store, job.key, fitted.test_scores)
    return replace(fitted.test_scores, fitted=fitted) if job.keep else fitted.test_scores


def plain(jobs: Sequence[Job], attacker: Attacker, store: Store | None) -> Finished:
    for job in jobs:
        yield job, finish(job, attacker, store)


def threads(jobs: Sequence[Job], attacker: Attacker, store: Store | None) -> Finished:
    with ThreadPoolExecutor(cores()) as pool:
        running = {pool.submit(finish, job, attacker, store): job for job in jobs}
        try:
            for done in as_completed(running):
                yield running[done], done.result()
        finally:
            pool.shutdown(cancel_futures=True)


def processes(jobs: Sequence[Job], attacker: Attacker, store: Store | None) -> Finished:
    # The longest trainings first: a long one at the end would have a core to itself.
    jobs = sorted(jobs, key=lambda job: -len(job.trial.train))
    with closing(in_workers(partial(finish, attacker=attacker, store=store), jobs, cores())) as results:
        for number, scores in results:
            yield jobs[number], scores


PLACEMENTS: dict[str, Place] = {"plain": plain, "threads": threads, "processes": processes}
