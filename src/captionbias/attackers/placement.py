"""Where trials are trained. Every placement gives the same scores, `stacked` but for the last bits of sums.

`processes`: one trial a core in worker processes, which read the captions from memory-mapped files.
`threads`: one trial a core in this process, for attackers whose work leaves the interpreter free.
`stacked`: all trials of one shape in one model, for GPUs; in smaller stacks when memory is short.
`plain`: one after the other.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pickle import PicklingError

import numpy as np

from captionbias.attackers.base import Examples, Fitted, Trial, TrialScores
from captionbias.attackers.registry import Attacker
from captionbias.attackers.stored_trials import load_scores, save_scores
from captionbias.attackers.workers import cores, in_workers
from captionbias.captions import CaptionBiasWarning
from captionbias.io.store import Store
from captionbias.text import tokenize

LARGEST_STACK = 128
NO_EXAMPLES = Examples(tokenize([]), np.zeros(0, np.int64), 0)


@dataclass(frozen=True, eq=False)
class Job:
    """A trial that has to be trained, under its key in the store. `keep`: whether its attacker is wanted too."""

    number: int
    trial: Trial
    key: str
    keep: bool = False

    def scores(self, fitted: Fitted) -> TrialScores:
        return replace(fitted.test_scores, fitted=fitted) if self.keep else fitted.test_scores


Finished = Generator[tuple[Job, TrialScores], None, None]
Place = Callable[[Sequence[Job], Attacker, "Store | None"], Finished]


def finish(job: Job, attacker: Attacker, cache: Store | None) -> TrialScores:
    """Train a trial and keep its scores; if another run is training it, wait and take what that one kept."""
    if cache is None:
        return job.scores(attacker.fit([job.trial])[0])
    with cache.claim("trial", job.key):
        scores = None if job.keep else load_scores(cache, job.key)
        if scores is None:
            scores = job.scores(attacker.fit([job.trial])[0])
            save_scores(cache, job.key, scores)
    return scores


def plain(jobs: Sequence[Job], attacker: Attacker, cache: Store | None) -> Finished:
    for job in jobs:
        yield job, finish(job, attacker, cache)


def threads(jobs: Sequence[Job], attacker: Attacker, cache: Store | None) -> Finished:
    with ThreadPoolExecutor(cores()) as pool:
        running = {pool.submit(finish, job, attacker, cache): job for job in jobs}
        try:
            for done in as_completed(running):
                yield running[done], done.result()
        finally:
            pool.shutdown(cancel_futures=True)


def processes(jobs: Sequence[Job], attacker: Attacker, cache: Store | None) -> Finished:
    # The longest trainings first: a long one at the end would have a core to itself.
    left = dict(enumerate(sorted(jobs, key=lambda job: -len(job.trial.train))))
    task = partial(_in_worker, attacker=attacker, cache=cache)
    try:
        with closing(in_workers(task, list(left.values()), cores())) as results:
            for number, scores in results:
                job = left.pop(number)
                yield job, _of_trial(job.trial, scores)
    except PicklingError as error:
        reason = str(error.__cause__ or error).strip().strip('"').splitlines()[-1]
        warnings.warn(
            f"trials cannot travel to worker processes ({reason}): one process trains alone. If the temporary folder "
            "has no room for the captions, free some, or set TMPDIR to another folder",
            CaptionBiasWarning,
            stacklevel=2,
        )
        yield from plain(list(left.values()), attacker, cache)


def _in_worker(job: Job, attacker: Attacker, cache: Store | None) -> TrialScores:
    """Scores for the main process, which has the captions that an attacker is on."""
    return _of_trial(replace(job.trial, examples=NO_EXAMPLES), finish(job, attacker, cache))


def _of_trial(trial: Trial, scores: TrialScores) -> TrialScores:
    return replace(scores, fitted=scores.fitted and replace(scores.fitted, trial=trial))


def stacked(jobs: Sequence[Job], attacker: Attacker, cache: Store | None) -> Finished:
    if attacker.shape is None:
        yield from plain(jobs, attacker, cache)
        return
    groups: dict[Hashable, list[Job]] = {}
    for job in jobs:
        groups.setdefault(attacker.shape(job.trial), []).append(job)
    for group in groups.values():
        for start in range(0, len(group), LARGEST_STACK):
            yield from _stack(group[start : start + LARGEST_STACK], attacker, cache)


def _stack(jobs: Sequence[Job], attacker: Attacker, cache: Store | None) -> Finished:
    """All in one model, or half of them at a time if memory is short."""
    import torch

    trained = None
    try:
        trained = attacker.fit([job.trial for job in jobs])
    except torch.OutOfMemoryError:
        if len(jobs) == 1:
            raise
    if trained is None:  # only now: the error held on to what did not fit
        torch.cuda.empty_cache()
        half = len(jobs) // 2
        yield from _stack(jobs[:half], attacker, cache)
        yield from _stack(jobs[half:], attacker, cache)
        return
    finished = [(job, job.scores(fitted)) for job, fitted in zip(jobs, trained, strict=True)]
    if cache is not None:  # all of them first: whoever takes the scores may stop at any
        for job, scores in finished:
            save_scores(cache, job.key, scores)
    yield from finished


PLACEMENTS: dict[str, Place] = {"plain": plain, "threads": threads, "processes": processes, "stacked": stacked}
