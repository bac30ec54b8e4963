"""Where trials are trained. Every placement gives the same scores.

To the bit, but for `stacked`, which adds up in another order.

`processes`: one trial a core in worker processes that read the captions from one memory-mapped table.
`threads`: one trial a core in this process, for attackers whose work leaves the interpreter free.
`stacked`: all trials of one shape in one model, for GPUs; in smaller stacks when memory is short.
`plain`: one after the other.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Generator, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from captionbias.arrays import Integers
from captionbias.attackers.base import Trial, TrialScores
from captionbias.attackers.registry import Attacker
from captionbias.attackers.shared_examples import open_table, write_table
from captionbias.attackers.stored_trials import load_scores, save_scores
from captionbias.attackers.workers import cores, in_workers
from captionbias.captions import CaptionBiasWarning
from captionbias.io.store import Store

LARGEST_STACK = 128


@dataclass(frozen=True, eq=False)
class Job:
    """A trial that has to be trained, under its key in the store."""

    number: int
    trial: Trial
    key: str


Finished = Generator[tuple[Job, TrialScores], None, None]
Place = Callable[[Sequence[Job], Attacker, "Store | None"], Finished]


def finish(job: Job, attacker: Attacker, cache: Store | None) -> TrialScores:
    """Train a trial and keep its scores; if another run is training it, wait and take what that one kept."""
    if cache is None:
        return attacker.train([job.trial])[0]
    with cache.claim("trial", job.key):
        scores = load_scores(cache, job.key, len(job.trial.test))
        if scores is None:
            scores = attacker.train([job.trial])[0]
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
    workers = min(cores(), len(jobs))
    if workers == 1:
        yield from plain(jobs, attacker, cache)
        return
    with ExitStack() as opened:
        try:
            folder = opened.enter_context(
                tempfile.TemporaryDirectory(prefix="captionbias-", ignore_cleanup_errors=True)
            )
            tables = {
                examples: write_table(examples, Path(folder)) for examples in {job.trial.examples for job in jobs}
            }
        except OSError as error:
            warnings.warn(
                "the captions cannot be written to a temporary folder, where worker processes would share them "
                f"({error.strerror or error}): one process trains alone. Free space, or set TMPDIR to another folder",
                CaptionBiasWarning,
                stacklevel=2,
            )
            yield from plain(jobs, attacker, cache)
            return
        # The longest trainings first: a long one at the end would have a core to itself.
        order = sorted(jobs, key=lambda job: -len(job.trial.train))
        sent = [
            _Sent(job.key, tables[job.trial.examples], job.trial.train, job.trial.test, job.trial.seed) for job in order
        ]
        results = in_workers(partial(_in_worker, attacker=attacker, cache=cache), sent, workers)
        for number, scores in opened.enter_context(closing(results)):
            yield order[number], scores


@dataclass(frozen=True, eq=False)
class _Sent:
    """A job as it travels to a worker: its captions stay in the table."""

    key: str
    table: Path
    train: Integers
    test: Integers
    seed: int


def _in_worker(sent: _Sent, attacker: Attacker, cache: Store | None) -> TrialScores:
    trial = Trial("", open_table(sent.table), sent.train, sent.test, sent.seed)
    return finish(Job(0, trial, sent.key), attacker, cache)


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
    trained = _trained_if_it_fits([job.trial for job in jobs], attacker)
    if trained is None:
        half = len(jobs) // 2
        yield from _stack(jobs[:half], attacker, cache)
        yield from _stack(jobs[half:], attacker, cache)
        return
    if cache is not None:  # all of them first: whoever takes the scores may stop at any
        for job, scores in zip(jobs, trained, strict=True):
            save_scores(cache, job.key, scores)
    yield from zip(jobs, trained, strict=True)


def _trained_if_it_fits(trials: Sequence[Trial], attacker: Attacker) -> list[TrialScores] | None:
    import torch

    try:
        return attacker.train(trials)
    except torch.OutOfMemoryError:
        if len(trials) == 1:
            raise
    torch.cuda.empty_cache()
    return None


PLACEMENTS: dict[str, Place] = {"plain": plain, "threads": threads, "processes": processes, "stacked": stacked}
