"""What metrics of attackers that read captions stand on: captions read once, then masked, aligned and asked about."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from captionbias.arrays import Array, Flags, Floats, Floats32, Integers
from captionbias.attackers.base import (
    SMALLEST_CLASS,
    Examples,
    Trial,
    TrialScores,
    balanced_split,
    stratified_split,
)
from captionbias.attackers.registry import Attacker
from captionbias.bench.aligned import Sides, align_human, alignment_vectors, by_vectors
from captionbias.bench.attacks import GAIN, AttackPlan, AttackScores, gain
from captionbias.bench.catalogue import scores_of
from captionbias.bench.checks import FEW_IMAGES, Rules
from captionbias.bench.protocol import Alignment, Settings, lexicon_name
from captionbias.bench.reading import LONGER, Reading, draw_captions, read
from captionbias.captions import Captions, Words
from captionbias.errors import InputError, phrase
from captionbias.hashes import Hashes
from captionbias.scores.captions import Quality
from captionbias.statistics.intervals import rounded
from captionbias.text import Lexicon, Mentions, Tokens, load_lexicon
from captionbias.warnings import note

# What lets an attacker see pictures, put here by the wing that reads them. It gives the attacker, the features of each
# image's picture, and the name of what made them.
PICTURE_READERS: list[Callable[..., tuple[Attacker, Floats32, str]]] = []
PEOPLE = 5
ATTACKED = Rules(crossed=True, names_compared=False, captioner=False)


@dataclass(frozen=True, eq=False)
class CaptionColumn:
    """Captions that attackers read in the trials of some seeds, the image of each, and what is asked of an image."""

    tokens: Tokens
    image: Integers  # of each caption, in ascending order
    keys: Hashes  # of each caption, see `Words`
    masks: tuple[str, ...]  # what stands for hidden words
    truth: Array  # by image: class numbers `(images,)`, or flags `(images, outputs)`
    seeds: Sequence[int]

    def select(self, rows: Integers, **changed: Any) -> CaptionColumn:
        """Some of the captions, in their order, perhaps with another truth or in other trials."""
        tokens = self.tokens if len(rows) == len(self.image) else self.tokens.select(rows)
        return replace(self, tokens=tokens, image=self.image[rows], keys=self.keys[rows], **changed)

    def draw(self, rounds: Sequence[Sequence[int]]) -> list[CaptionColumn]:
        """One caption of each image, drawn anew in each round of trials; the column itself where images have no more
        than one."""
        if len(self.image) == len(self.truth):
            return [self]
        return [self.select(draw_captions(self.image, self.keys, of[0]), seeds=of) for of in rounds]

    def by_position(self, notes: list[str]) -> list[CaptionColumn]:
        """The k-th caption of every image, for each k that all images have."""
        counts = np.bincount(self.image, minlength=len(self.truth))
        least, first = int(counts.min()), np.cumsum(counts) - counts
        if counts.max() > least:
            beyond = f"every image has {least} or more captions; those after column {least} are not used"
            note(notes, beyond, about="references")
        return [self.select(first + number) for number in range(least)]


@dataclass(frozen=True, eq=False)
class MaskedCaptions:
    """Both sides' captions without the words of some lexicons, by side: `m` the captioner's, `h` people's."""

    sides: dict[str, CaptionColumn]
    alignment: dict[str, Any] | None  # what was replaced in the human captions


@dataclass(frozen=True, eq=False)
class Bench:
    """The captions of a measurement, split into words, with the classes of their images and the seeds of its trials.

    Attackers learn from each image once, whatever its weight; weights apply to their answers only. Of several captions
    of an image by the captioner each round of trials draws one."""

    reading: Reading
    settings: Settings
    lexicons: dict[str, Lexicon]  # by what their words name
    words: Words
    mentions: dict[str, Mentions]  # where captions name a value or a task, by lexicon
    named: dict[str, Flags]  # which labels each caption names, by lexicon
    values: tuple[str, ...]  # of the attribute
    classes: Integers  # the number of each image's value
    tasks: Sequence[Sequence[str]] | None  # of each image, where they are given
    seeds: Sequence[int]
    notes: list[str]

    @classmethod
    def of(
        cls,
        captions: Captions,
        settings: Settings,
        seed: int,
        *,
        allow_unmasked: bool,
        words_needed: bool = False,
        neural: bool = False,
    ) -> Bench:
        """Check captions and labels. `words_needed`, `allow_unmasked`: see `Rules`. `neural`: whether a single training
        says little."""
        tokenizer = settings.tokenizer
        rules = ATTACKED._replace(unmasked=allow_unmasked, words_needed=words_needed)
        reading = read(captions, settings.attribute_lexicon, None, tokenizer, rules)
        checked, notes = cast(Captions, reading.captions), reading.notes
        _note_lengths(*(checked.mean_words or (1.0, 1.0)), notes)
        if neural and settings.trials == 1:
            template = "{trials}: intervals do not cover how much neural attackers differ from training to training"
            note(notes, phrase(template, trials=1), "take three or more")
        if settings.seeds and seed:
            raise InputError("seeds", ": each trial has one of its own", phrase("leave out {seed}"))
        lexicons = {kind: load_lexicon(source) for kind, source in settings.lexicons.items()}
        return cls(
            reading,
            settings,
            lexicons,
            checked.words(tokenizer),
            {kind: checked.mentions(lexicon, tokenizer) for kind, lexicon in lexicons.items()},
            {kind: checked.named(lexicon, tokenizer) for kind, lexicon in lexicons.items()},
            *_number_classes(checked.attributes, notes),
            checked.tasks,
            settings.seeds or range(seed, seed + settings.trials),
            notes,
        )

    def with_person(self, settings: Settings, draw: int) -> Bench | None:
        """The same with one more person in the captioner's place and the others as references, of each image with two
        human captions or more; None if there is none."""
        drawn = self.reading.draw(self.seeds[0] + draw)
        if drawn is None or not self.words.model_rows:
            return None
        _, person = self.reading.beside(drawn)
        notes: list[str] = []  # of no interest beside those of the captioner
        # As though these captions alone had been split: what attackers learn goes by the order of words.
        person_rows, others = (self.words.model_rows + rows for rows in (drawn.person, drawn.others))
        model, human = (self.words.tokens.select(rows).numbered() for rows in (person_rows, others))
        tokens, rows = Tokens.joined([human.between(0, 0), model, human]), np.concatenate((person_rows, others))
        return Bench(
            person,
            settings,
            self.lexicons,
            Words(
                tokens,
                person.predictions.image,
                drawn.number[self.words.human_image[drawn.others]],
                self.words.keys[rows],
            ),
            {kind: of.of_rows(self.words.tokens, rows) for kind, of in self.mentions.items()},
            {kind: of[rows] for kind, of in self.named.items()},
            *_number_classes([self.values[number] for number in self.classes[drawn.images]], notes),
            self.tasks and [self.tasks[image] for image in drawn.images],
            self.seeds[: settings.trials],
            notes,
        )

    @property
    def captions(self) -> Captions:
        """Those that were read."""
        return cast(Captions, self.reading.captions)

    @property
    def sides(self) -> Sides:
        """Whose captions there are."""
        return Sides(self.words.model_rows > 0, len(self.words.human_image) > 0)

    def doubts(self, metric: str) -> dict[str, str]:
        """Why one cannot tell by any score of a metric, where the captioner says so much more than people."""
        model, human = self.captions.mean_words or (1.0, 1.0)
        judged = (score.key for score in scores_of(metric) if score.judged)
        return dict.fromkeys(judged, "longer than people's") if model >= LONGER * human else {}

    @property
    def copies(self) -> Integers | None:
        """See `Captions.copies`."""
        return self.reading.copies

    @property
    def weights(self) -> Floats:
        """How much each image counts, `(images,)`."""
        return self.reading.truth.weight

    @property
    def rounds(self) -> list[Sequence[int]]:
        """The seeds of the trials that together test every image once; of each trial alone unless the preset folds."""
        parts = self.settings.parts
        return [self.seeds[start : start + parts] for start in range(0, len(self.seeds), parts)]

    def weighted_scores(
        self,
        plan: AttackPlan,
        answers: Mapping[Trial, TrialScores],
        qualities: Mapping[str, Quality],
        selection: Mapping[Trial, Flags] | None = None,
    ) -> dict[str, AttackScores]:
        """Each side's scores; `selection`: as `AttackScores.of` takes it."""
        units = np.arange(len(self.classes))
        return {
            side: AttackScores.of(columns, answers, qualities, units, plan.weights, selection, plan.images)
            for side, columns in plan.trials.items()
        }

    def gains(self, plan: AttackPlan, answers: Mapping[Trial, TrialScores]) -> dict[str, AttackScores]:
        """Each side's gain over base rates."""
        gained = {trial: replace(answers[trial], log_probability=gain(trial, answers[trial])) for trial in plan}
        return self.weighted_scores(plan, gained, {GAIN: lambda gained, _: gained})

    def mask(self, *forms: tuple[str, ...], aligned: Alignment | None = None) -> list[MaskedCaptions]:
        """The captions without the words of the lexicons of each form, asked for the attribute in every trial; human
        ones in the captioner's words, if they are `aligned`."""
        tables = [
            self.words.mask(*((self.mentions[kind], self.lexicons[kind].mask) for kind in kinds)) for kinds in forms
        ]
        used = aligned and by_vectors(aligned, self.sides)
        people = self.reading.captions
        vectors = alignment_vectors(self.words.human, tables, aligned, people) if aligned and used else None
        masked = []
        for kinds, table in zip(forms, tables, strict=True):
            masks, human, report = tuple(self.lexicons[kind].mask for kind in kinds), table.human, None
            if aligned:
                human, report = align_human(table, masks, vectors, aligned, self.lexicons.values())
            texts, images = (table.model, human), (table.model_image, table.human_image)
            columns = {
                side: CaptionColumn(tokens, image, keys, masks, self.classes, self.seeds)
                for side, tokens, image, keys in zip(("m", "h"), texts, images, table.keys_by_side, strict=True)
                if len(image)
            }
            masked.append(MaskedCaptions(columns, report.as_dict() if report else None))
        return masked

    def plan(
        self,
        name: str,
        sides: Mapping[str, Sequence[Sequence[CaptionColumn]]],
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
            weights = (counts.min() / counts)[self.classes] * weights
        place = {
            seed: (of[0], part if self.settings.folded else None) for of in self.rounds for part, seed in enumerate(of)
        }

        def trials(column: CaptionColumn) -> list[Trial]:
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
        return trials | {"tok": self.captions.signed_tokenizer(settings.tokenizer, *self.lexicons.values())} | named

    def counts(self) -> dict[str, Any]:
        """How many images there are, and of each value, for details."""
        values = dict(zip(self.values, np.bincount(self.classes).tolist(), strict=True))
        return {"images": len(self.classes), "attribute_counts": values}


def _number_classes(labels: Sequence[str], notes: list[str]) -> tuple[tuple[str, ...], Integers]:
    """The values of the labels, sorted, and the number of each; classes must not be too small to split."""
    values, classes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    counted = list(zip(values.tolist(), counts.tolist(), strict=True))
    if small := [f"{value!r} has {count} images" for value, count in counted if count < SMALLEST_CLASS]:
        raise InputError(
            "attributes",
            f": {', '.join(small)}, and an attacker needs at least {SMALLEST_CLASS} a value",
            "add images",
            phrase("leave that value out ({keep} names those to use)"),
            "give its images the label of another",
        )
    for value, count in counted:
        if count < FEW_IMAGES:
            note(notes, f"{value!r} has only {count} images; its scores are uncertain", about="attributes")
    return tuple(map(str, values)), classes.reshape(-1).astype(np.int64)


def _note_lengths(model: float, human: float, notes: list[str]) -> None:
    """Lengths of both sides that differ, for attackers read more from more words."""
    if max(model / human, human / model) >= LONGER:
        template = (
            "{predictions} have {:.1f} words on average and {references} {:.1f}, and longer captions give more away "
            "whatever their bias"
        )
        note(notes, phrase(template, model, human), f"give human captions as {'long' if model > human else 'short'}")


def spread_of_people(
    bench: Bench, settings: Settings, measured: Callable[[Bench], Mapping[str, float]]
) -> dict[str, float]:
    """How far from 0 what is `measured` of one more person is in 19 of 20 cases, by five who are drawn one after the
    other; empty where no image has two human captions."""
    from scipy.special import stdtrit

    people = (bench.with_person(settings, draw) for draw in range(PEOPLE))
    scores = [measured(person) for person in people if person]
    values = {key: np.array([of_person[key] for of_person in scores]) for key in (scores[0] if scores else ())}
    quantile = float(stdtrit(PEOPLE - 1, 0.975))
    return {key: rounded(quantile * float(of.std(ddof=1))) for key, of in values.items() if not np.isnan(of).any()}
