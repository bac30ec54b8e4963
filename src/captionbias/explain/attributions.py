"""Which words of a caption give the attribute, or the tasks, away to an attacker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from captionbias.arrays import Flags, Floats, Integers
from captionbias.attackers.convex import FittedConvex
from captionbias.bench.attacks import AttackPlan, Attacks
from captionbias.bench.protocol import signature, whole_number
from captionbias.explain.contributions import TOLERANCE, check_explained, contributions
from captionbias.metrics import Measurement
from captionbias.text import Tokens

if TYPE_CHECKING:
    from captionbias.attackers.neural.fitting import FittedNetwork


@dataclass(frozen=True, eq=False)
class Attributions:
    """The contribution of each word of each test caption to the attacker's log-odds of each class.

    `explain` makes it. From T to A a class is a task.

    Attributes:
        tokens: the `n` scored captions as words, masked: those of the first trial, then of the second, ...
        values: `(words of all captions, classes)`, in the order of `tokens.ids`: caption `i` has the rows
            `tokens.offsets[i]` to `tokens.offsets[i + 1]`. Above 0 a word speaks for the class, below 0 against it.
        scores: `(n, classes)`, the attacker's probability of each class; those of tasks do not add up to 1.
        rows: `(n,)`, the row of each caption in the input.
        truth: what the attacker should predict: `(n,)`, the number of each caption's true class; from T to A
            `(n, classes)`, which tasks its image shows: several, one or none. `is_true` has either as flags.
        trials: `(n,)`, the number of the trial that scored each caption.
        classes: the names of the classes; from T to A, of the tasks that are explained.
        signature: everything that changes the values.
    """

    tokens: Tokens
    values: Floats
    scores: Floats
    rows: Integers
    truth: Integers | Flags
    trials: Integers
    classes: tuple[str, ...]
    signature: str

    @property
    def is_true(self) -> Flags:
        """Flags of the classes that a caption truly has, `(n, classes)`."""
        if self.truth.ndim == 2:
            return self.truth.astype(bool)
        return np.asarray(self.truth[:, None] == np.arange(len(self.classes)))

    def by_class(self) -> dict[str, dict[str, float]]:
        """The captions of each class: how much their words say, together, for the class they are of.

        A caption whose image shows several tasks counts for each of them, one that shows none for none.

        Words are measured from an answer that is not even between the classes: that to padding or mask tokens, or the
        intercept of `bow`. What it leans to is missing from the sums of that class and, with classes, added to the
        others', so compare captioners within a class, or the sums of all classes.

        Returns:
            For each class `captions`, how many of its captions are scored in a trial, on average; and, means over
            trials, `score`, the mean probability of the class, and `sum`, the mean of a caption's summed values, in
            log-odds. These two are left out of a task that no scored caption's image shows.
        """
        trials, table = np.unique(self.trials), {}
        for number, name in enumerate(self.classes):
            sums = np.bincount(self.tokens.rows, self.values[:, number], minlength=len(self.tokens))
            in_class = [self.is_true[:, number] & (self.trials == trial) for trial in trials]
            table[name] = {"captions": float(np.sum(in_class) / len(trials))}
            for quantity, values in {"score": self.scores[:, number], "sum": sums}.items():
                if means := [values[members].mean() for members in in_class if members.any()]:
                    table[name][quantity] = float(np.mean(means))
        return table

    def by_word(self, least: int = 10) -> dict[str, list[dict[str, Any]]]:
        """The words by class, those that say most for it first.

        Args:
            least: words that occur fewer times than this in the scored captions are left out.

        Returns:
            For each class a list of `word`, `mean` (of its value towards the class, wherever it occurs) and `count`.
        """
        least = whole_number("least", least, least=1)
        words = len(self.tokens.words)
        counts = np.bincount(self.tokens.ids, minlength=words)
        table: dict[str, list[dict[str, Any]]] = {}
        for number, name in enumerate(self.classes):
            means = np.bincount(self.tokens.ids, self.values[:, number], minlength=words) / np.maximum(counts, 1)
            order = np.argsort(-means, kind="stable")
            table[name] = [
                {"word": self.tokens.words[word], "mean": float(means[word]), "count": int(counts[word])}
                for word in order[counts[order] >= least]
            ]
        return table

    def of(self, caption: int) -> dict[str, Any]:
        """One caption of the input, by its row: its words, their values and its scores, means over the trials.

        Returns:
            `words`, a list; `values`, for each class a list as long; `scores`, for each class a probability; `trials`,
            how many of them scored it; `attribute`, its true class, or `tasks`, those of its image that are explained.
        """
        places = np.flatnonzero(self.rows == caption)
        if not len(places):
            raise ValueError(
                f"captions[{caption}] is in no trial's test split: only captions that an attacker has not learnt from "
                "have values; `rows` lists those, and more trials score more of them"
            )
        spans = [slice(self.tokens.offsets[row], self.tokens.offsets[row + 1]) for row in places]
        values = np.mean([self.values[span] for span in spans], axis=0)
        scores = self.scores[places].mean(axis=0)
        true = [name for name, flag in zip(self.classes, self.is_true[places[0]].tolist(), strict=True) if flag]
        return {
            "words": [self.tokens.words[word] for word in self.tokens.ids[spans[0]]],
            "values": {name: values[:, number].tolist() for number, name in enumerate(self.classes)},
            "scores": dict(zip(self.classes, scores.tolist(), strict=True)),
            "trials": len(places),
            **({"tasks": true} if self.truth.ndim == 2 else {"attribute": true[0]}),
        }


def explain(measured: Measurement, direction: str = "a_to_t", *, classes: Sequence[str] | None = None) -> Attributions:
    """Find the words that give the attribute, or the tasks, away to the attackers behind a captioner's score.

    Attackers are asked about the captions that were held back from their training. The words of what they predict are
    masked: attribute words from A to T, task words from T to A.

    `bow` and `linear`: the exact share of each word, a pair's weight divided between its two words. Neural attackers:
    integrated gradients over each word's embedding, from a caption of as much padding, by Gauss-Legendre quadrature
    with so many steps that the values of a caption add up to its log-odds less those of padding: within 0.01, or 1% of
    the difference where that is more; a warning counts the captions that do not get there. Of a word that a pretrained
    encoder reads in pieces the value is their sum; the encoder's own marks around a caption stand around the padding
    too, and it is run in 32 bits. With three or more values of the attribute, log-odds are relative to the geometric
    mean over values. Each task has its own log-odds, present against absent.

    Args:
        measured: of `lic`, or of `dbac`, with `keep_attackers`.
        direction: of `dbac`.
        classes: T to A: the tasks to explain, all when None; networks take time for each.

    Source: Sundararajan, Taly and Yan 2017 (integrated gradients); Türk et al. 2023, section 3.5 (of LIC's attacker);
    Nair, Tokas and Kerner 2026 (the attackers of T to A).

    >>> from captionbias.metrics import lic
    >>> captions = ["a woman cooks food", "a lady cooks dinner", "a man rides waves", "a man surfs"] * 20
    >>> labels = ["female", "female", "male", "male"] * 20
    >>> measured = lic.measure(predictions=captions, attributes=labels, preset="fast", keep_attackers=1)
    >>> [row["word"] for row in explain(measured).by_word(least=1)["female"][:1]]
    ['cooks']
    """
    attacks = measured.artefacts if isinstance(measured.artefacts, Attacks) else None
    plan = attacks.plans.get("lic" if measured.metric == "lic" else direction) if attacks else None
    if attacks is None or plan is None or not plan.fitted:
        raise ValueError(
            f"measured has no attackers of direction {direction!r}: measure lic, or dbac in this direction, with "
            "keep_attackers=1 or more"
        )
    check_explained(attacks.attacker)
    method = f"{attacks.attacker.explained},{TOLERANCE:g}" if attacks.attacker.precision else attacks.attacker.explained
    question = measured.metric if plan.name == measured.metric else f"{measured.metric},{plan.name}"
    how = {"metric": "attributions", "method": method, "of": question, "attackers": len(plan.fitted)}
    text = signature(**how, **measured.settings)
    compared = attacks.questions[plan.name].compared if plan.name in attacks.questions else ()
    return _attributions(plan, [comparison.image["m"] for comparison in compared], classes, text)


def _attributions(
    plan: AttackPlan, images: Sequence[Integers], wanted: Sequence[str] | None, signature: str
) -> Attributions:
    """The words of the test captions of the plan's attackers, in their order. `images`: of the captions of each trial,
    where it does not have one of each image."""
    classes = plan.classes
    trials = [attacker.trial for attacker in plan.fitted]
    tests = [trial.test for trial in trials]
    outputs = _class_numbers(wanted, classes) if trials[0].examples.multilabel else None
    rows = [rows[test] for rows, test in zip(images, tests, strict=False)] or tests
    of_words, answers = [], []
    for fitted, test in zip(plan.fitted, tests, strict=True):
        attacker = cast("FittedConvex | FittedNetwork", fitted)  # as `check_explained` has seen
        of_words.append(contributions(attacker, test, outputs))
        answers.append(attacker.logits(test))
    values, logits = np.concatenate(of_words), np.concatenate(answers)
    truth = np.concatenate([trial.examples.targets[trial.test] for trial in trials])
    if outputs is not None:
        scores, truth = np.exp(-np.logaddexp(0, -logits[:, outputs])), truth[:, outputs]
        classes = tuple(classes[number] for number in outputs)
    else:
        both = np.pad(logits, ((0, 0), (1, 0))) if logits.shape[1] == 1 else logits
        scores = np.exp(both - np.logaddexp.reduce(both, axis=1, keepdims=True))
        values = np.hstack((-values, values)) if values.shape[1] == 1 else values
    return Attributions(
        tokens=Tokens.joined([trial.examples.tokens.select(trial.test) for trial in trials]),
        values=values,
        scores=scores,
        rows=np.concatenate(rows),
        truth=truth,
        trials=np.repeat(np.arange(len(tests)), list(map(len, tests))),
        classes=classes,
        signature=signature,
    )


def _class_numbers(wanted: Sequence[str] | None, names: tuple[str, ...]) -> Integers:
    """The numbers of the tasks to explain, in the order in which they are wanted; all of them when None."""
    for row, name in enumerate(wanted or ()):
        if name not in names:
            raise ValueError(
                f"classes[{row}] {name!r} is not a task that an image shows; those are {', '.join(names[:5])}"
                f"{', ...' if len(names) > 5 else ''}"
            )
    return np.array([names.index(name) for name in wanted or names])
