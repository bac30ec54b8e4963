"""What metrics of attackers that read captions stand on: captions read once, then masked, aligned and asked about."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import Any

import numpy as np

from captionbias.arrays import Array, Flags, Floats, Floats32, Integers
from captionbias.attackers.base import Examples, Trial, TrialScores, balanced_split, stratified_split
from captionbias.attackers.registry import Attacker
from captionbias.bench import inputs
from captionbias.bench.attacks import GAIN, AttackPlan, AttackScores, gain
from captionbias.bench.pairing import drawn_captions
from captionbias.bench.person import captioner_and_person
from captionbias.bench.protocol import Alignment, Settings, by_vectors, lexicon_name
from captionbias.captions import Captions, Words
from captionbias.errors import InputError, naming
from captionbias.scores.captions import Quality
from captionbias.statistics.intervals import rounded
from captionbias.text import Lexicon, Mentions, Tokens, find_mentions, load_lexicon, mask_both
from captionbias.warnings import note

# What lets an attacker see pictures, put here by the wing that reads them. It gives the attacker, the features of each
# image's picture, and the name of what made them.
PICTURE_READERS: list[Callable[..., tuple[Attacker, Floats32, str]]] = []
PEOPLE = 5
_spreads: dict[str, dict[str, float]] = {}  # numbers alone, by a digest of what they are of


@dataclass(frozen=True, eq=False)
class Column:
    """Captions that attackers read in the trials of some seeds, the image of each, and what is asked of an image."""

    tokens: Tokens
    image: Integers  # of each caption, in ascending order
    masks: tuple[str, ...]  # what stands for hidden words
    truth: Array  # by image: class numbers `(images,)`, or flags `(images, outputs)`
    seeds: Sequence[int]

    def select(self, rows: Integers, **changed: Any) -> Column:
        """Some of the captions, in their order, perhaps with another truth or in other trials."""
        tokens = self.tokens if len(rows) == len(self.image) else self.tokens.select(rows)
        return replace(self, tokens=tokens, image=self.image[rows], **changed)

    def drawn(self, rounds: Sequence[Sequence[int]], pictures: Integers | None) -> list[Column]:
        """One caption of each image, drawn anew in each round of trials, of images of one of the `pictures` the same;
        the column itself where images have no more than one."""
        images = len(self.truth)
        if len(self.image) == images:
            return [self]
        return [self.select(drawn_captions(self.image, images, of[0], pictures), seeds=of) for of in rounds]

    def split_up(self, notes: list[str]) -> list[Column]:
        """The k-th caption of every image, for each k that all images have."""
        counts = np.bincount(self.image, minlength=len(self.truth))
        least, first = int(counts.min()), np.cumsum(counts) - counts
        if counts.max() > least:
            beyond = f"every image has {least} or more captions; those after column {least} are not used"
            note(notes, beyond, about="references")
        return [self.select(first + number) for number in range(least)]


@dataclass(frozen=True, eq=False)
class Masked:
    """Both sides' captions without the words of some lexicons, by side: `m` the captioner's, `h` people's."""

    sides: dict[str, Column]
    alignment: dict[str, Any] | None  # what was replaced in the human captions


@dataclass(frozen=True, eq=False)
class Bench:
    """The captions of a measurement, split into words, with the classes of their images and the seeds of its trials.

    Attackers learn from each image once, whatever its weight; weights apply to their answers only. Of several captions
    of an image by the captioner each round of trials draws one."""

    captions: Captions
    settings: Settings
    lexicons: dict[str, Lexicon]  # by what their words name
    words: Words
    values: tuple[str, ...]  # of the attribute
    classes: Integers  # the number of each image's value
    copies: Integers | None  # see `Captions.copies`
    seeds: Sequence[int]
    notes: list[str]
    joined: dict[str, int]  # how many human captions are one, for the signature, if they were joined

    @classmethod
    def of(
        cls,
        captions: Captions,
        settings: Settings,
        seed: int,
        *,
        allow_unmasked: bool,
        words_needed: bool = False,
        join_references: bool | None = None,
        neural: bool = False,
    ) -> Bench:
        """Check captions and labels. `words_needed`, `allow_unmasked`: as `with_values` takes them. `join_references`:
        None where the lengths of both sides need not be alike. `neural`: whether a single training says little."""
        notes: list[str] = []
        joined: dict[str, int] = {}
        lexicons = {kind: load_lexicon(source) for kind, source in settings.lexicons.items()}
        attribute, tokenizer = lexicons["attribute"], settings.tokenizer
        captions = inputs.with_values(captions, attribute, tokenizer, notes, allow_unmasked, words_needed)
        if join_references is not None:
            captions, joined = inputs.of_one_length(captions, join_references, notes)
        if neural and settings.trials == 1:
            template = "{trials}: intervals do not contain how much neural attackers differ from training to training"
            note(notes, naming(template, trials=1), "take three or more")
        values, classes = inputs.number_classes(captions, notes)
        inputs.note_samples(captions, notes)
        if settings.seeds and seed:
            raise InputError("seeds", ": each trial has one of its own", naming("leave out {seed}"))
        copies, seeds = inputs.copies_of(captions, notes), settings.seeds or range(seed, seed + settings.trials)
        words = captions.words(tokenizer)
        return cls(captions, settings, lexicons, words, values, classes, copies, seeds, notes, joined)

    def with_person(self, settings: Settings, draw: int) -> Bench | None:
        """The same with one more person in the captioner's place and the others as references, of each image with two
        human captions or more; None if there is none."""
        pair = captioner_and_person(self.captions, self.seeds[0] + draw, settings.tokenizer)
        if pair is None:
            return None
        _, person = pair
        notes: list[str] = []  # of no interest beside those of the captioner
        values, classes = inputs.number_classes(person, notes)
        words, seeds = person.words(settings.tokenizer), self.seeds[: settings.trials]
        return Bench(person, settings, self.lexicons, words, values, classes, person.copies, seeds, notes, {})

    def weighed(
        self,
        plan: AttackPlan,
        answers: Mapping[Trial, TrialScores],
        qualities: Mapping[str, Quality],
        kept: Mapping[Trial, Flags] | None = None,
    ) -> dict[str, AttackScores]:
        """Each side's scores; `kept`: as `AttackScores.of` takes it."""
        units = np.arange(len(self.classes))
        return {
            side: AttackScores.of(columns, answers, qualities, units, plan.weights, kept, plan.images)
            for side, columns in plan.trials.items()
        }

    def gains(self, plan: AttackPlan, answers: Mapping[Trial, TrialScores]) -> dict[str, AttackScores]:
        """Each side's gain over base rates."""
        gained = {trial: replace(answers[trial], log_probability=gain(trial, answers[trial])) for trial in plan}
        return self.weighed(plan, gained, {GAIN: lambda gained, _: gained})

    @property
    def weights(self) -> Floats | None:
        """How much each image counts, `(images,)`; None for all alike."""
        return None if self.captions.weights is None else np.array(self.captions.weights)

    @property
    def rounds(self) -> list[Sequence[int]]:
        """The seeds of the trials that together test every image once; of each trial alone unless the preset folds."""
        parts = self.settings.parts
        return [self.seeds[start : start + parts] for start in range(0, len(self.seeds), parts)]

    @cached_property
    def mentions(self) -> dict[str, Mentions]:
        """Where captions name a value or a task, by lexicon."""
        tokens, tokenizer = self.words.tokens, self.settings.tokenizer
        return {kind: find_mentions(tokens, lexicon, tokenizer) for kind, lexicon in self.lexicons.items()}

    def hidden(self, *forms: tuple[str, ...], aligned: Alignment | None = None) -> list[Masked]:
        """The captions without the words of the lexicons of each form, asked for the attribute in every trial; human
        ones in the captioner's words, if they are `aligned`."""
        tables = [self._mask(kinds) for kinds in forms]
        used = aligned and by_vectors(aligned, self.captions)
        vectors = inputs.alignment_vectors(self.words, tables, aligned) if aligned and used else None
        masked = []
        for kinds, table in zip(forms, tables, strict=True):
            masks, human, report = tuple(self.lexicons[kind].mask for kind in kinds), table.human, None
            if aligned:
                human, report = inputs.align_human(table, masks, vectors, aligned, self.lexicons.values())
            sides = {"m": (table.model, table.model_image), "h": (human, table.human_image)}
            columns = {
                side: Column(tokens, image, masks, self.classes, self.seeds)
                for side, (tokens, image) in sides.items()
                if len(image)
            }
            masked.append(Masked(columns, report.as_dict() if report else None))
        return masked

    def _mask(self, kinds: tuple[str, ...]) -> Words:
        hide: list[Any] = [part for kind in kinds for part in (self.mentions[kind], self.lexicons[kind].mask)]
        if len(kinds) == 1:
            return self.words.mask(*hide)
        return replace(self.words, tokens=mask_both(self.words.tokens, *hide))

    def plan(
        self,
        name: str,
        sides: Mapping[str, Sequence[Sequence[Column]]],
        balanced: bool,
        outputs: tuple[str, ...] = (),
        pictures: Floats32 | None = None,
    ) -> AttackPlan:
        """One attacker of each column of a side and each seed; a column is given in parts that have some of the seeds
        each. All captions of an image, and its copies, are on the same side of a split. `balanced`: whether each class
        has as many images, or where all are tested counts as much. `outputs`: what the classes are called; the
        attribute's values when empty. `pictures`: features of each image."""
        outputs, share, every = outputs or self.values, self.settings.test_share, np.arange(len(self.classes))
        image: dict[Trial, Integers] = {}
        split, weights = balanced_split if balanced else stratified_split, self.weights
        if balanced and self.settings.folded:
            counts = np.bincount(self.classes)
            weights = (counts.min() / counts)[self.classes] * (1.0 if weights is None else weights)
        place = {
            seed: (of[0], part if self.settings.folded else None) for of in self.rounds for part, seed in enumerate(of)
        }

        def trials(column: Column) -> list[Trial]:
            images = np.unique(column.image)
            copies = None if self.copies is None else self.copies[images]
            beside = pictures if np.array_equal(column.image, every) or pictures is None else pictures[column.image]
            examples = Examples(column.tokens, column.truth[column.image], len(outputs), column.masks, beside)
            planned = []
            for seed in column.seeds:
                first, part = place[seed]
                halves = split(self.classes[images], share, first, copies, part)
                train, test = (np.flatnonzero(np.isin(column.image, images[half])) for half in halves)
                planned.append(Trial(examples, train, test, seed))
                image[planned[-1]] = column.image
            return planned

        trained = {
            side: [[trial for part in parts for trial in trials(part)] for parts in columns]
            for side, columns in sides.items()
        }
        return AttackPlan(name, outputs, trained, image, weights)

    def signed(self, balanced: bool = False) -> dict[str, Any]:
        """What the signature says of trials and captions; `balanced`: whether classes are, where these are split."""
        settings = self.settings
        named = {kind: lexicon_name(self.lexicons[kind], source) for kind, source in settings.lexicons.items()}
        split = f"{'balanced,' * balanced}{settings.split}"
        seeds = {"seeds": ",".join(map(str, self.seeds))} if settings.seeds else {"seed": self.seeds[0]}
        trials = {"trials": settings.trials, "split": split, **self.captions.rows(), **seeds}
        return trials | {"tok": settings.tokenizer} | named

    def counts(self) -> dict[str, Any]:
        """How many images there are, and of each value, for details."""
        values = dict(zip(self.values, np.bincount(self.classes).tolist(), strict=True))
        return {"images": len(self.captions), "attribute_counts": values}


def spread_of_people(
    bench: Bench, settings: Settings, measured: Callable[[Bench], Mapping[str, float]], *also: object
) -> dict[str, float]:
    """How far from 0 what is `measured` of one more person is in 19 of 20 cases, by five who are drawn one after the
    other; empty where no image has two human captions. The same images are measured once a process, with the same
    `settings` and what is `also` as it was."""
    from scipy.special import stdtrit

    captions = bench.captions
    place = captions.image_set, captions.rows(), captions.tasks, bench.seeds[0], settings, also
    digest = sha256(repr(place).encode()).hexdigest()
    if digest not in _spreads:
        people = (bench.with_person(settings, draw) for draw in range(PEOPLE))
        scores = [measured(person) for person in people if person]
        values = {key: np.array([of_person[key] for of_person in scores]) for key in (scores[0] if scores else ())}
        _spreads[digest] = {
            key: rounded(float(stdtrit(PEOPLE - 1, 0.975) * of.std(ddof=1)))
            for key, of in values.items()
            if not np.isnan(of).any()
        }
    return _spreads[digest]
