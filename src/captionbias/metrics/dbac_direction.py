"""One direction of DBAC: what attackers are asked, and what their answers make of Eq. 5 to 8."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from captionbias.arrays import Array, Flags, Floats, Integers, sparse
from captionbias.attackers.base import SMALLEST_CLASS, Trial, TrialScores
from captionbias.bench.attacked import Bench, MaskedCaptions
from captionbias.bench.attacks import AttackPlan, overlap_with_training
from captionbias.bench.checks import flags_of_tasks, no_tasks, no_word_occurs
from captionbias.bench.protocol import Alignment
from captionbias.bench.reading import draw_captions, named_by_any
from captionbias.errors import missing, phrase
from captionbias.hashes import Hashes
from captionbias.scores.captions import QUALITIES
from captionbias.scores.omega import (
    BLIND,
    FORMS,
    MATCHED,
    NET,
    PRIOR,
    PUBLISHED,
    PairSums,
    mean,
    normalized_difference,
    number_sets,
    omega_forms,
    omega_parts,
    ratio,
)
from captionbias.text import LexiconSource
from captionbias.warnings import note

Key: TypeAlias = tuple[str, str]  # a quantity, such as `omega_m`, and its form, such as `MATCHED`
ByForm: TypeAlias = dict[str, dict[str, Floats]]  # of each side, and of each form of omega
INVERSE = "inverse_cross_entropy"
PAIRINGS = ("held-out", "every-caption")
COPIED_SHARE = 0.99  # of the images; annotators agree with captions on far fewer
BOTH = ("attribute", "task")
SHOWN_NAMED = {"a_to_t": BOTH, "t_to_a": BOTH[::-1]}  # what images show and attackers are asked, what captions name


@dataclass(frozen=True, kw_only=True)
class DbacSettings(Alignment):
    quality: str
    task_lexicon: LexiconSource
    pairing: str
    controls: bool

    @property
    def lexicons(self) -> dict[str, LexiconSource]:
        return {**super().lexicons, "task": self.task_lexicon}


@dataclass(frozen=True, eq=False)
class Compared:
    """The captions that a trial compares; trials may share them."""

    image: dict[str, Integers]  # of each present side's captions
    named: dict[str, Integers]  # the number of what they name
    shows: Flags  # the labels that each image shows, `(images, labels)`
    known: Flags  # whether that is known, `(images,)`; else the image takes no part
    weights: Floats  # what an image counts, `(images,)`
    held_out: bool  # whether one human caption of each image was drawn

    @cached_property
    def shown_sets(self) -> tuple[Integers, Flags]:
        """The number of what each image shows, and the labels of each number."""
        return number_sets(self.shows)

    @cached_property
    def shown_weights(self) -> Any:
        """What the images of each number count, sparse, `(numbers, images)`."""
        (numbers, sets), images = self.shown_sets, np.flatnonzero(self.known)
        return sparse(self.weights[images], (numbers[images], images), (len(sets), len(numbers)))

    @cached_property
    def every(self) -> dict[str, PairSums]:
        """All of each side's captions, tested or not."""
        return {side: self.pair_sums(side, np.arange(len(image))) for side, image in self.image.items()}

    def weighing(self, multiplicity: Floats, names: int) -> tuple[ByForm, Floats, dict[str, Floats]]:
        """What a caption that names the tasks t of an image of attribute a weighs, `P(t) / P(a)` (Eq. 5 and 6): the one
        factor by side and form, `(names, replicates)`, and the other; and each side's mean weight. T to A, attribute
        and tasks change places.

        Matched, both sides name everything as often: as both together or, where every human caption counts, as people.
        """
        shown_weight = self.shown_weights @ multiplicity
        per_shown = ratio(1.0, shown_weight / shown_weight.sum(axis=0))
        per_named: ByForm = {}
        mean_weight = {}
        for side, sums in self.every.items():
            [counts] = sums.resample(multiplicity)
            named = sums.name_frequencies(counts, names)
            per_named[side] = {PUBLISHED: named}
            mean_weight[side] = mean((counts * sums.weights(named, per_shown)).sum(axis=0), counts.sum(axis=0))
        if len(per_named) == 2:
            model, human = (per_named[side][PUBLISHED] for side in "mh")
            aim = (model + human) / 2 if self.held_out else human
            on_both = np.logical_and(*(np.isin(np.arange(names), sums.named) for sums in self.every.values()))
            for forms in per_named.values():
                forms[MATCHED] = ratio(aim, forms[PUBLISHED]) * on_both[:, None]
        return per_named, per_shown, mean_weight

    def pair_sums(self, side: str, rows: Integers, answers: Iterable[Floats] = ()) -> PairSums:
        """Some of a side's captions by pair. Several captions of the captioner's of an image count as one."""
        image, number = self.image[side], self.shown_sets[0]
        counts = self.weights[image] / (np.bincount(image)[image] if side == "m" else 1)
        of_rows = self.named[side][rows], number[image[rows]], image[rows], counts[rows]
        return PairSums.of(*of_rows, len(number), *answers)


@dataclass(frozen=True, eq=False)
class Direction:
    """A to T or T to A: what attackers are asked and, once they have answered, every number of DBAC."""

    name: str
    names: int  # how many different sets of labels captions name
    compared: list[Compared]  # a trial each
    plans: dict[str, AttackPlan]  # of the attackers, `PUBLISHED`, and of those that see neither kind of words, `BLIND`
    alignment: dict[str, Any] | None  # what was replaced in the human captions
    task_counts: dict[str, int] | None  # from T to A, how many images show each task
    drawn: list[list[int]] | None  # by held-out pairing the number of each image's human caption, in each trial
    tested: Sequence[dict[str, PairSums]] = ()  # by side, a trial each, once attackers have answered
    bayes: bool = True  # whether published omegas are weighted
    inverse: bool = False  # whether an answer's quality is an error

    def answered(self, answers: Mapping[Trial, TrialScores], quality: str, bayes: bool = True) -> Direction:
        """With what attackers answered to the trials of its plans."""

        def pair_sums(compared: Compared, side: str, trials: Sequence[Trial]) -> PairSums:
            qualities = (QUALITIES[quality](answers[trial].log_probability, answers[trial].correct) for trial in trials)
            return compared.pair_sums(side, trials[0].test, qualities)

        trials_by_side = {
            side: list(zip(*(plan.trials[side][0] for plan in self.plans.values()), strict=True))
            for side in self.plans[PUBLISHED].trials
        }
        tested = [
            {side: pair_sums(compared, side, trials[number]) for side, trials in trials_by_side.items()}
            for number, compared in enumerate(self.compared)
        ]
        return replace(self, tested=tested, bayes=bayes, inverse=quality == INVERSE)

    @property
    def every_image(self) -> Floats:
        """Every image once: the multiplicity of the estimate itself."""
        return np.ones((len(self.compared[0].known), 1))

    def weighed(self, multiplicity: Floats) -> Iterator[dict[str, tuple[list[Floats], dict[str, Floats], Floats]]]:
        """Of each side the sums of test captions by pair, the pairs' weights, and omega with a perfect attacker; one
        trial after the other, for they hold large arrays. `multiplicity`: how often each image is there.
        """
        before = None
        for compared, tested in zip(self.compared, self.tested, strict=True):
            if compared is not before:
                per_named, per_shown, prior = compared.weighing(multiplicity, self.names)
            before, trial = compared, {}
            for side, sums in tested.items():
                by_form = {form: sums.weights(of, per_shown) for form, of in per_named[side].items()}
                if not self.bayes:
                    by_form[PUBLISHED] = np.ones_like(by_form[PUBLISHED])
                trial[side] = sums.resample(multiplicity), by_form, prior[side]
            yield trial

    def omegas(self, multiplicity: Floats) -> Iterator[ByForm]:
        """Both sides' omegas in each trial."""
        for trial in self.weighed(multiplicity):
            yield {
                side: omega_forms(sums, weights, self.inverse) | {PRIOR: prior}
                for side, (sums, weights, prior) in trial.items()
            }

    def scores(self, trials: Iterable[ByForm]) -> dict[Key, Floats]:
        """The scores of the omegas, `(trials, replicates)`; a prior, which no attacker changes, once for trials that
        compare the same captions."""
        by_trial = list(map(differences, trials))
        values = {key: np.stack([of_trial[key] for of_trial in by_trial]) for key in by_trial[0]}
        if (prior := ("dbac", PRIOR)) in values:
            values[prior] = values[prior][:1] if len(set(self.compared)) == 1 else values[prior]
        return values

    def quantities(self, multiplicity: Floats, _: Floats | None = None) -> dict[str, Floats]:
        """The scores of these images by their keys."""
        scores = self.scores(self.omegas(multiplicity))
        return {f"{quantity}_{self.name}{form}": of for (quantity, form), of in scores.items()}

    def facts(self) -> dict[str, float]:
        """What the omegas are made of, means over trials."""
        facts = defaultdict(list)
        for trial in self.weighed(self.every_image):
            for side, (sums, weights, _) in trial.items():
                for part, (value,) in omega_parts(sums, weights).items():
                    facts[f"{part}_{side}_{self.name}"].append(value)
        return {key: float(np.mean(values)) for key, values in facts.items()}

    def estimates(self) -> dict[str, Floats]:
        """The scores and both sides' omegas in each trial, `(trials,)`, by keys without the direction."""
        scores = self.scores(self.omegas(self.every_image))
        return {f"{quantity}{form}": of[:, 0] for (quantity, form), of in scores.items() if form != PRIOR}

    def seen(self) -> dict[str, float]:
        """What percent of each side's test captions its attackers have seen in training; as `..._net`, they or the
        blind ones."""
        flags: dict[Key, Flags] = {}
        for form, plan in self.plans.items():
            seen = overlap_with_training(list(plan))
            for side, (trials,) in plan.trials.items():
                of_side = np.concatenate([seen[trial] for trial in trials])
                flags[side, form] = of_side | flags[side, PUBLISHED] if form == BLIND else of_side
        return {f"{side}{NET if form == BLIND else form}": 100 * float(of.mean()) for (side, form), of in flags.items()}


def differences(omegas: ByForm) -> dict[Key, Floats]:
    """DBAC (Eq. 7 and 8) of each form of the omegas, and these themselves."""
    of_sides = {
        (f"omega_{side}", form): of[form] for form in (PUBLISHED, MATCHED) for side, of in omegas.items() if form in of
    }
    if len(omegas) < 2:
        return of_sides
    added = {form: normalized_difference(of, omegas["h"][form]) for form, of in omegas["m"].items()}
    if BLIND in added:
        added[NET] = added[MATCHED] - added[BLIND]
    return {("dbac", form): added[form] for form in FORMS if form in added} | of_sides


@dataclass(frozen=True, eq=False)
class Pairing:
    """The captions of some trials: the trials' seeds, the rows of each present side's captions among all of that side,
    and whether one was drawn for each image, so that the other human ones can say what the image shows."""

    seeds: Sequence[int]
    rows: dict[str, Integers]  # by side: `m` the captioner, `h` people
    held_out: bool


def pairings(
    image: Mapping[str, Integers], keys: Mapping[str, Hashes], kind: str, rounds: Sequence[Sequence[int]]
) -> list[Pairing]:
    """The pairing of each round of trials, given by their seeds, or one for all. `held-out`: a round draws one human
    caption of each image, and one of the captioner's, so that people describe it as often, and the caption scored does
    not say what it shows. `every-caption`: as published, each caption is a row of its own in every trial. `image`,
    `keys`: of each side's captions, see `draw_captions`."""
    if kind == "every-caption":
        seeds = [seed for of_round in rounds for seed in of_round]
        return [Pairing(seeds, {side: np.arange(len(of)) for side, of in image.items()}, held_out=False)]
    drawn = ({side: draw_captions(of, keys[side], seeds[0]) for side, of in image.items()} for seeds in rounds)
    return [Pairing(seeds, rows, held_out=True) for seeds, rows in zip(rounds, drawn, strict=True)]


def ask(bench: Bench, settings: DbacSettings, directions: Sequence[str]) -> list[Direction]:
    """The directions, as yet unanswered."""
    words, lexicons, named = bench.words, bench.lexicons, bench.named
    if shared := sorted(lexicons["attribute"].words & lexicons["task"].words):
        named_twice = f"{', '.join(map(repr, shared))}: words for a task and for a value of the attribute"
        note(bench.notes, f"{named_twice}; remove them from one lexicon")
    images = len(bench.classes)
    image = {side: of for side, of in (("m", words.model_image), ("h", words.human_image)) if len(of)}
    keys = dict(zip(("m", "h"), words.keys_by_side, strict=True))
    paired = pairings(image, keys, settings.pairing, bench.rounds)
    # What outputs are called; of each pairing the truth by image, what images show, whether that is known.
    questions: dict[str, tuple[tuple[str, ...], list[tuple[Array, Flags, Flags]]]] = {}
    counts = drawn = None
    if paired[0].held_out and len(words.human_image):
        first = np.searchsorted(words.human_image, np.arange(images))
        drawn = [(pair.rows["h"] - first).tolist() for pair in paired for _ in pair.seeds]
    if "a_to_t" in directions:
        if not named["task"].any():
            raise no_word_occurs("task_lexicon", lexicons["task"])
        shows, known = np.eye(len(bench.values), dtype=bool)[bench.classes], np.ones(images, bool)
        questions["a_to_t"] = bench.values, [(bench.classes, shows, known)] * len(paired)
    if "t_to_a" in directions:
        shows, labels = _tasks_of_images(bench)
        some, counts = np.flatnonzero(shows.any(axis=0)), _task_counts(shows, labels)
        truths = [(shows[:, some], shows, known) for shows, known in _tasks_by_pairing(bench, shows, paired)]
        questions["t_to_a"] = tuple(labels[task] for task in some), truths
    blind = [BOTH] if settings.controls and words.model_rows and len(words.human_image) else []
    masked = bench.mask(*((SHOWN_NAMED[name][0],) for name in questions), *blind, aligned=settings)

    def direction(name: str, own: MaskedCaptions) -> Direction:
        kind, (outputs, truths) = SHOWN_NAMED[name][1], questions[name]
        number, sets = number_sets(named[kind])
        numbers = {"m": number[: words.model_rows], "h": number[words.model_rows :]}
        forms = dict(zip((PUBLISHED, BLIND), (own, *masked[len(questions) :]), strict=False))
        compared, parts = [], []
        for pair, (truth, shows, known) in zip(paired, truths, strict=True):
            rows = {side: of[known[own.sides[side].image[of]]] for side, of in pair.rows.items()}
            parts.append((rows, truth, pair.seeds))
            image = {side: own.sides[side].image[of] for side, of in rows.items()}
            names = {side: numbers[side][of] for side, of in rows.items()}
            compared += [Compared(image, names, shows, known, bench.weights, pair.held_out)] * len(pair.seeds)

        def plan(masked_captions: MaskedCaptions) -> AttackPlan:
            sides = {
                side: [[column.select(rows[side], truth=truth, seeds=seeds) for rows, truth, seeds in parts]]
                for side, column in masked_captions.sides.items()
            }
            return bench.plan(name, sides, balanced=False, outputs=outputs)

        plans = {form: plan(masked_captions) for form, masked_captions in forms.items()}
        return Direction(name, len(sets), compared, plans, own.alignment, counts, drawn)

    return [direction(name, own) for name, own in zip(questions, masked, strict=False)]


def _tasks_of_images(bench: Bench) -> tuple[Flags, tuple[str, ...]]:
    """Which tasks each image shows, `(images, tasks)`, and their names: those given, else all that people name."""
    words, tasks, lexicon, images = bench.words, bench.tasks, bench.lexicons["task"], len(bench.classes)
    flags = named_by_any(words.human_image, images, bench.named["task"][words.model_rows :])
    if tasks is not None:
        names = tuple(sorted({name for row in tasks for name in row}))
        labelled = flags_of_tasks(tasks, lexicon, bench.notes, names)
        by_label, never = dict(zip(lexicon.labels, flags.T, strict=True)), np.zeros(images, bool)
        same = labelled == np.array([by_label.get(name, never) for name in names]).T
        if len(words.human_image) and same.all(axis=1).mean() > COPIED_SHARE:
            note(
                bench.notes,
                "the tasks given are those that the human captions name, which pulls the score below 0",
                phrase("leave {tasks} out"),
                about="t_to_a",
            )
        return labelled, names
    if not len(words.human_image):
        template = "is missing: T to A needs the tasks that the images show, and without {references} none can be found"
        raise missing("tasks", phrase(template), phrase("give {tasks}"), phrase("{directions}", directions=["a_to_t"]))
    if not flags.any():
        raise no_tasks()
    return flags, lexicon.labels


def _tasks_by_pairing(bench: Bench, task_flags: Flags, pairings: Sequence[Pairing]) -> list[tuple[Flags, Flags]]:
    """Which tasks each image shows in each pairing, and whether that is known, `(images,)`: those given; by held-out
    pairing else those that the image's captions but the one compared name."""
    words, images = bench.words, len(bench.classes)
    if bench.tasks is not None or not pairings[0].held_out:
        if bench.tasks is None and words.model_rows:
            text = "the tasks are those that the scored human captions name themselves: it leans below 0"
            note(bench.notes, text, about="t_to_a")
        return [(task_flags, np.ones(images, bool))] * len(pairings)
    human = bench.named["task"][words.model_rows :]
    by_pairing = [_named_by_others(words.human_image, images, human, pairing.rows["h"]) for pairing in pairings]
    known = int(by_pairing[0][1].sum())
    if known < SMALLEST_CLASS:
        raise missing(
            "tasks",
            f"is missing: T to A needs to know what each image shows, and only {known} of {images:,} images have a "
            "human caption besides the one that is scored",
            phrase("give {tasks}"),
            phrase("more {references}"),
            phrase("{directions}", directions=["a_to_t"]),
        )
    if known < images:
        note(
            bench.notes,
            f"{images - known:,} of {images:,} images have a single human caption and no tasks: left out",
            phrase("give {tasks}"),
            about="t_to_a",
        )
    return by_pairing


def _named_by_others(image: Integers, images: int, named: Flags, drawn: Integers) -> tuple[Flags, Flags]:
    """What the captions of an image that were not drawn name, `(images, labels)`, and whether there are any."""
    others = np.ones(len(image), bool)
    others[drawn] = False
    return named_by_any(image[others], images, named[others]), np.bincount(image[others], minlength=images) > 0


def _task_counts(flags: Flags, names: tuple[str, ...]) -> dict[str, int]:
    """Images of each task that occurs, the most frequent first."""
    counts = flags.sum(axis=0)
    return {names[task]: int(counts[task]) for task in np.argsort(-counts, kind="stable") if counts[task]}
