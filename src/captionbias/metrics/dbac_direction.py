"""One direction of DBAC: the captions that its trials compare, and the scores of what attackers answered."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from captionbias.arrays import Flags, Floats, Integers, sparse
from captionbias.bench.pairing import Pairing
from captionbias.captions import Words
from captionbias.scores.omega import (
    BLIND,
    MATCHED,
    NET,
    PRIOR,
    PUBLISHED,
    Told,
    amplification_part,
    made_of,
    mean,
    number_sets,
    omega_terms,
    ratio,
)

Key: TypeAlias = tuple[str, str]  # a quantity, such as `omega_m`, and its form, such as `MATCHED`
Omegas: TypeAlias = Mapping[str, Mapping[str, Floats]]  # by side and form, `(replicates,)`, or parts of them
Terms: TypeAlias = Mapping[str, Mapping[str, tuple[Floats, Floats]]]  # by side and form, see `omega_terms`
ALL = slice(None)


@dataclass(frozen=True, eq=False)
class Compared:
    """The captions that some trials compare: all trials the same, or each its own."""

    pairing: Pairing
    rows: dict[str, Integers]  # of each present side's captions those that count
    image: dict[str, Integers]  # whose these are
    named: dict[str, Integers]  # the number of what they name
    shows: Flags  # the labels that each image shows, `(images, labels)`
    known: Flags  # whether that is known, `(images,)`: else the image takes no part
    weights: Floats  # what an image counts, `(images,)`
    tested: list[dict[str, Told]] = field(default_factory=list)  # a trial each, once attackers have answered

    @classmethod
    def of(
        cls, words: Words, pairing: Pairing, number: Integers, shows: Flags, known: Flags, weights: Floats
    ) -> Compared:
        """From the number of what each caption of both sides names."""
        images = {"m": words.model_image, "h": words.human_image}
        numbers = {"m": number[: words.model_rows], "h": number[words.model_rows :]}
        chosen = {"m": pairing.model, "h": pairing.human}
        rows = {side: of[known[images[side][of]]] for side, of in chosen.items() if len(of)}
        image, named = ({side: all_of[side][of] for side, of in rows.items()} for all_of in (images, numbers))
        return cls(pairing, rows, image, named, shows, known, weights)

    @cached_property
    def shown(self) -> tuple[Integers, Flags]:
        """The number of what each image shows, and the labels of each number."""
        return number_sets(self.shows)

    @cached_property
    def showing(self) -> Any:
        """What the images of each number count, sparse, `(numbers, images)`."""
        (numbers, sets), images = self.shown, np.flatnonzero(self.known)
        return sparse(self.weights[images], (numbers[images], images), (len(sets), len(numbers)))

    @cached_property
    def every(self) -> dict[str, Told]:
        """All of each side's captions, tested or not."""
        return {side: self.told(side) for side in self.rows}

    def told(self, side: str, rows: Any = ALL, answers: Iterable[Floats] = ()) -> Told:
        """Some of a side's captions. What the captioner said of an image counts as one caption, however often it was
        asked."""
        image, number = self.image[side], self.shown[0]
        counts = self.weights[image] / (np.bincount(image)[image] if side == "m" else 1)
        image = image[rows]
        return Told.of(self.named[side][rows], number[image], image, counts[rows], len(number), *answers)


@dataclass(frozen=True, eq=False)
class Direction:
    """A to T or T to A: every number of DBAC, once attackers have answered."""

    name: str
    shown_labels: tuple[str, ...]
    named_labels: tuple[str, ...]
    named_sets: Flags  # which of the `named_labels` the numbers of what is named stand for, `(numbers, labels)`
    compared: list[Compared]  # in all trials, in order
    bayes: bool = True  # whether published omegas are weighted
    inverse: bool = False  # whether an answer's quality is an error

    @property
    def seeds(self) -> list[int]:
        """Those of all trials."""
        return [seed for compared in self.compared for seed in compared.pairing.seeds]

    @property
    def every_image(self) -> Floats:
        """Every image once: the multiplicity of the estimate itself."""
        return np.ones((len(self.compared[0].known), 1))

    def weighed(self, multiplicity: Floats) -> Iterator[dict[str, tuple[list[Floats], dict[str, Floats], Floats]]]:
        """Of each side the sums of test captions by pair, the pairs' weights, and omega with a perfect attacker; one
        trial after the other, for they hold large arrays. `multiplicity`: how often each image is there.

        A to T, a caption that names the tasks t of an image of attribute a weighs `P(t) / P(a)` (Eq. 5 and 6); T to A,
        attribute and tasks change places. Matched, both sides name everything as often: as both together or, where
        every human caption counts, as people.
        """
        names = len(self.named_sets)
        for compared in self.compared:
            shown = compared.showing @ multiplicity
            per_shown = ratio(1.0, shown / shown.sum(axis=0))
            counts = {side: told.drawn(multiplicity)[-1] for side, told in compared.every.items()}
            named = {side: _frequencies(told.named, counts[side], names) for side, told in compared.every.items()}
            per_named = {side: {PUBLISHED: of_side} for side, of_side in named.items()}
            if len(named) == 2:
                aim = (named["m"] + named["h"]) / 2 if compared.pairing.held_out else named["h"]
                on_both = np.logical_and(*(np.isin(np.arange(names), told.named) for told in compared.every.values()))
                for side, forms in per_named.items():
                    forms[MATCHED] = ratio(aim, named[side]) * on_both[:, None]

            def weights(side: str, told: Told, per_named: Any = per_named, per_shown: Any = per_shown) -> Any:
                return {form: of[told.named] * per_shown[told.shown] for form, of in per_named[side].items()}

            prior = {
                side: mean((of * weights(side, compared.every[side])[PUBLISHED]).sum(axis=0), of.sum(axis=0))
                for side, of in counts.items()
            }
            for tested in compared.tested:
                trial = {}
                for side, told in tested.items():
                    of_pairs = weights(side, told)
                    if not self.bayes:
                        of_pairs[PUBLISHED] = np.ones_like(of_pairs[PUBLISHED])
                    trial[side] = told.drawn(multiplicity), of_pairs, prior[side]
                yield trial

    def omegas(self, multiplicity: Floats) -> Iterator[tuple[Omegas, Terms]]:
        """Both sides' omegas in each trial, and what they are sums of."""
        for trial in self.weighed(multiplicity):
            terms = {side: omega_terms(sums, weights, self.inverse) for side, (sums, weights, _) in trial.items()}
            yield (
                {
                    side: {form: mean(added.sum(axis=0), over) for form, (added, over) in terms[side].items()}
                    | {PRIOR: prior}
                    for side, (_, _, prior) in trial.items()
                },
                terms,
            )

    def keyed(self, trials: Iterable[Omegas]) -> dict[str, Floats]:
        """The scores of the omegas by their keys, `(trials, replicates)`; a prior, which no attacker changes, once for
        trials that compare the same captions."""
        scores = [differences("dbac", omegas, omegas) for omegas in trials]
        values = {key: np.stack([of_trial[key] for of_trial in scores]) for key in scores[0]}
        if (prior := ("dbac", PRIOR)) in values:
            values[prior] = values[prior][: len(self.compared)]
        return {f"{quantity}_{self.name}{form}": of for (quantity, form), of in values.items()}

    def quantities(self, multiplicity: Floats, _: Floats | None = None) -> dict[str, Floats]:
        """The scores of these images, see `keyed`."""
        return self.keyed(omegas for omegas, _ in self.omegas(multiplicity))

    def facts(self) -> dict[str, float]:
        """What the omegas are made of, means over trials."""
        facts = defaultdict(list)
        for trial in self.weighed(self.every_image):
            for side, (sums, weights, _) in trial.items():
                for part, (value,) in made_of(sums, weights).items():
                    facts[f"{part}_{side}_{self.name}"].append(value)
        return {key: float(np.mean(values)) for key, values in facts.items()}

    def rows(self) -> list[dict[str, float]]:
        """A row a trial: its seed, and each score and omega that is defined in it."""
        scores = [differences("dbac", omegas, omegas) for omegas, _ in self.omegas(self.every_image)]
        return [
            {"seed": seed}
            | {f"{key}{form}": float(of) for (key, form), (of,) in row.items() if form != PRIOR and not np.isnan(of)}
            for seed, row in zip(self.seeds, scores, strict=True)
        ]


def differences(name: str, parts: Mapping[str, Mapping[str, Floats]], omegas: Omegas) -> dict[Key, Floats]:
    """DBAC (Eq. 7 and 8) of all of both omegas or of parts of them, with the blind form taken from the matched one; and
    these."""
    of_sides = {
        (f"omega_{side}", form): of[form] for side, of in parts.items() for form in (PUBLISHED, MATCHED) if form in of
    }
    if len(parts) < 2:
        return of_sides
    added: dict[Key, Floats] = {
        (name, form): amplification_part(of, parts["h"][form], omegas["m"][form], omegas["h"][form])
        for form, of in parts["m"].items()
    }
    if (name, BLIND) in added:
        added[name, NET] = added[name, MATCHED] - added[name, BLIND]
    return added | of_sides


def _frequencies(number: Integers, counts: Floats, numbers: int) -> Floats:
    """How often each number is there, of all, from the counts of pairs that have it: `(numbers, replicates)`."""
    totals = sparse(np.ones(len(number)), (number, np.arange(len(number))), (numbers, len(number))) @ counts
    return np.asarray(totals / totals.sum(axis=0))
