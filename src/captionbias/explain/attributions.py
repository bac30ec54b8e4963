"""Which words of a caption give the attribute, or the tasks, away to an attacker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from captionbias.arrays import Flags, Floats, Integers
from captionbias.attackers.base import Fitted
from captionbias.attackers.engine import run_trials
from captionbias.attackers.registry import ENCODERS
from captionbias.explain.attack_plan import Attack, measured_attack, plan_attack
from captionbias.explain.contributions import check_captum, contributions
from captionbias.metrics.measurement import Measurement
from captionbias.metrics.protocol import whole_number
from captionbias.text import LexiconSource, Tokens

if TYPE_CHECKING:
    from torch import nn


class _ByClass(dict[str, Any]):
    """What there is of each class: a name in other case finds it, and one that is not there gives an error with all."""

    def __missing__(self, name: str) -> Any:
        alike = [known for known in self if known.casefold() == str(name).casefold()]
        if len(alike) == 1:
            return self[alike[0]]
        raise KeyError(f"{name!r} is not a class here; those are {', '.join(map(repr, self))}")


@dataclass(frozen=True, eq=False)
class Attributions:
    """What each word of each test caption adds to the attacker's log-odds of each class.

    `attribute_captions` makes it. From T to A a class is a task.

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
        largest_delta: the largest difference between the sum of a caption's values and what it should be, in log-odds.
        signature: everything that changes the values.
    """

    tokens: Tokens
    values: Floats
    scores: Floats
    rows: Integers
    truth: Integers | Flags
    trials: Integers
    classes: tuple[str, ...]
    largest_delta: float
    signature: str

    @property
    def is_true(self) -> Flags:
        """Which classes a caption truly has, flags `(n, classes)`."""
        if self.truth.ndim == 2:
            return self.truth.astype(bool)
        return np.asarray(self.truth[:, None] == np.arange(len(self.classes)))

    @property
    def is_predicted(self) -> Flags:
        """Which classes the attacker predicts, flags `(n, classes)`: the likeliest one; tasks above a half."""
        if self.truth.ndim == 2:
            return np.asarray(self.scores > 0.5)
        return np.asarray(self.scores.argmax(axis=1)[:, None] == np.arange(len(self.classes)))

    def by_class(self) -> dict[str, dict[str, float]]:
        """The captions of each class: how much their words say, together, for the class they are of.

        A caption whose image shows several tasks counts for each of them, one that shows none for none.

        Words are measured from an answer that is not even between the classes: that to padding or mask tokens, or the
        intercept of `bow`. What it leans to is missing from the sums of that class and, with classes, added to the
        others', so compare captioners within a class, or the sums of all classes.

        Returns:
            For each class `captions`, how many of its captions are scored in a trial, on average; `score`, the mean
            probability of the class; `sum`, the mean of a caption's summed values, in log-odds; and `normalized`, the
            same over the captions of which the attacker gets this class right, the values of each scaled to length 1
            beforehand. Each of the last three is a mean over trials and has `..._std` beside it (0 with one trial). A
            trial in which no caption of the class is right says nothing of `normalized`, which is left out when no
            trial does; so are all three of a task that no scored caption's image shows.

        Source: `normalized` is what Türk et al. 2023 average in their Table 4 (they integrate the probability's
        gradient, here it is that of the log-odds).
        """
        count = int(self.trials.max()) + 1
        return _ByClass({name: self._of_class(number, count) for number, name in enumerate(self.classes)})

    def _of_class(self, number: int, trials: int) -> dict[str, float]:
        captions, toward = len(self.tokens), self.values[:, number]
        members = self.is_true[:, number]
        sums = np.bincount(self.tokens.rows, toward, minlength=captions).astype(np.float64)
        length = np.sqrt(np.bincount(self.tokens.rows, toward**2, minlength=captions))
        right = self.is_predicted[:, number] & (length > 0)
        quantities: dict[str, tuple[Floats, Flags]] = {
            "score": (self.scores[:, number], members),
            "sum": (sums, members),
            "normalized": (sums / np.where(length > 0, length, 1), members & right),
        }
        row = {"captions": float(members.sum() / trials)}
        for quantity, (values, counted) in quantities.items():
            parts = [values[counted & (self.trials == trial)] for trial in range(trials)]
            means = [part.mean() for part in parts if len(part)]
            if means:
                spread = np.std(means, ddof=1) if len(means) > 1 else 0.0
                row |= {quantity: float(np.mean(means)), f"{quantity}_std": float(spread)}
        return row

    def by_word(self, least: int = 10) -> dict[str, list[dict[str, Any]]]:
        """For each class the words, those that say most for it first.

        Args:
            least: words that occur fewer times than this in the scored captions are left out.

        Returns:
            For each class a list of `word`, `mean` (of its value towards the class, wherever it occurs) and `count`;
            `["female"]` finds the class "Female".
        """
        least = whole_number("least", least, least=1)
        words = len(self.tokens.words)
        counts = np.bincount(self.tokens.ids, minlength=words)
        table: dict[str, list[dict[str, Any]]] = _ByClass()
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

        Raises:
            ValueError: no trial has it in its test split.
        """
        found = np.flatnonzero(self.rows == caption)
        if not len(found):
            raise ValueError(
                f"captions[{caption}] is in no trial's test split: only captions that an attacker has not learnt from "
                "have values; `rows` lists those, and more trials score more of them"
            )
        spans = [slice(self.tokens.offsets[row], self.tokens.offsets[row + 1]) for row in found]
        values = np.mean([self.values[span] for span in spans], axis=0)
        scores = self.scores[found].mean(axis=0)
        true = [name for name, flag in zip(self.classes, self.is_true[found[0]].tolist(), strict=True) if flag]
        return {
            "words": [self.tokens.words[word] for word in self.tokens.ids[spans[0]]],
            "values": {name: values[:, number].tolist() for number, name in enumerate(self.classes)},
            "scores": dict(zip(self.classes, scores.tolist(), strict=True)),
            "trials": len(found),
            **({"tasks": true} if self.truth.ndim == 2 else {"attribute": true[0]}),
        }


def attribute_captions(
    captions: Any,
    attributes: Any,
    *,
    direction: str = "a_to_t",
    tasks: Any = None,
    references: Any = None,
    classes: Sequence[str] | None = None,
    preset: str | None = None,
    encoder: str | type[nn.Module] | None = None,
    model: str | None = None,
    precision: str | None = None,
    trials: int = 1,
    seed: int = 0,
    tokenizer: str | None = None,
    attribute_lexicon: LexiconSource | None = None,
    task_lexicon: LexiconSource | None = None,
    cache: bool | str | Path = True,
) -> Attributions:
    """What each word of a caption adds to an attacker's log-odds of each value of the attribute, or of each task.

    A to T: the attackers are those that `lic` trains on these captions with the same settings. Attribute words are
    masked, the attacker predicts the attribute, a trial balances the attribute and holds a tenth back. T to A: those
    that `dbac` trains on the captioner's side, with the tasks given, or else with those that any human caption names
    (its pairing `every-caption`). Task words are masked, the attacker predicts the image's tasks, and a
    fifth of each value of the attribute is held back. Only captions held back are explained.

    `bow` and `linear`: the exact share of each word, a pair's weight divided between its two words. Neural attackers:
    integrated gradients over each word's embedding, from a caption of as much padding, by Gauss-Legendre quadrature
    with so many steps that the values of a caption add up to its log-odds less those of padding: within 0.01, or 1% of
    the difference where that is more; a warning counts the captions that do not get there. Pretrained encoders: the
    same through the whole encoder, over the embeddings of word pieces, from the encoder's mask token in the place of
    each; a word has the sum of its pieces, and masked words have 0. With three or more values of the attribute,
    log-odds are relative to the geometric mean over values. Each task has its own log-odds, present against absent.

    Args:
        captions: `n` captions, a model's or one human caption an image.
        attributes: `n` labels of the protected attribute, two or more values.
        direction: `a_to_t` or `t_to_a`.
        tasks: T to A: `n` lists of tasks that the images show; those named in any human caption when None.
        references: T to A: `n` lists of human captions, which tell the tasks when `tasks` is None.
        classes: T to A: the tasks to explain, all when None. Attackers are trained on all; networks take time for each.
        preset: A to T: `lic-2022` (when None) or `fast`, as in `lic`. T to A: `dbac-2026` (when None),
            `dbac-2026-published` or `fast`, as in `dbac`.
        encoder: as in `lic` or `dbac`, but for `bert-finetuned`; your own `torch.nn.Module` must read words through one
            `torch.nn.Embedding`. The preset's when None, as for the tokenizer and the lexicons.
        model: the encoder under `bert-frozen`: a name on the Hub or a folder; `bert-base-uncased` when None.
        precision: of the training of neural attackers, `fp32` or `bf16`; None for bf16 where the device computes it
            natively. Values are computed in fp32 either way.
        trials: attackers that are trained; trial `t` splits and trains with seed `seed + t`.
        seed: seed of the first trial.
        tokenizer: `words` or `whitespace`.
        attribute_lexicon: A to T: what is masked: a built-in lexicon, a file or a mapping, see
            `captionbias.text.load_lexicon`.
        task_lexicon: T to A: what is masked, likewise.
        cache: keep scores of finished trials and embeddings of pretrained encoders in the usual folder (True), in this
            one, or not at all (False). Attackers are not kept: each call trains them.

    Raises:
        ValueError: input that cannot be explained; the message names the argument, the first bad row and the way out.

    Source: Sundararajan, Taly and Yan 2017 (integrated gradients); Türk et al. 2023, section 3.5 (of LIC's attacker);
    Nair, Tokas and Kerner 2026 (the attackers of T to A).

    >>> captions = ["a woman cooks food", "a lady cooks dinner", "a man rides waves", "a man surfs"] * 20
    >>> labels = ["female", "female", "male", "male"] * 20
    >>> found = attribute_captions(captions, labels, preset="fast")
    >>> [row["word"] for row in found.by_word(least=1)["female"][:1]]
    ['cooks']
    >>> tasks = [["oven"], ["oven"], ["surfboard"], []] * 20
    >>> found = attribute_captions(captions, labels, direction="t_to_a", tasks=tasks, preset="fast")
    >>> found.classes, [row["word"] for row in found.by_word(least=1)["surfboard"][:1]]
    (('oven', 'surfboard'), ['rides'])
    """
    if encoder == "bert-finetuned":
        raise ValueError(
            f"encoder {encoder!r} cannot be explained; choose one of {', '.join(ENCODERS)}, bert-frozen, a pretrained "
            "sentence encoder, or your own as module:Class"
        )
    attack = plan_attack(
        direction,
        captions,
        attributes,
        preset,
        seed,
        tasks=tasks,
        references=references,
        classes=classes,
        encoder=encoder,
        model=model,
        precision=precision,
        trials=trials,
        tokenizer=tokenizer,
        attribute_lexicon=attribute_lexicon,
        task_lexicon=task_lexicon,
        cache=cache,
    )
    if attack.attacker.precision:
        check_captum()
    scores = run_trials(attack.trials, attack.attacker, keep=attack.trials, cache=cache, distributed=False)
    return _attributions(attack, [one.fitted for one in scores if one.fitted])


def explain(measured: Measurement, direction: str = "a_to_t", *, classes: Sequence[str] | None = None) -> Attributions:
    """Which words give the attribute, or the tasks, away to the attackers that gave the captioner its score.

    Args:
        measured: of `lic`, or of `dbac`, with `keep_attackers`.
        direction: of `dbac`.
        classes: T to A: the tasks to explain, all when None.

    Raises:
        ValueError: no attackers of this direction were kept, they cannot be explained, or unknown tasks.

    >>> from captionbias.metrics import lic
    >>> captions = ["a woman cooks food", "a lady cooks dinner", "a man rides waves", "a man surfs"] * 20
    >>> labels = ["female", "female", "male", "male"] * 20
    >>> measured = lic.measure(predictions=captions, attributes=labels, preset="fast", keep_attackers=1)
    >>> [row["word"] for row in explain(measured).by_word(least=1)["female"][:1]]
    ['cooks']
    """
    attack, attackers = measured_attack(measured, direction, classes)
    if attack.attacker.explained is None:
        raise ValueError(f"attackers of encoder {attack.attacker.name!r} cannot be explained; measure with another")
    if attack.attacker.precision:
        check_captum()
    return _attributions(attack, attackers)


def _attributions(attack: Attack, attackers: Sequence[Fitted]) -> Attributions:
    """The words of the test captions of the attack's trials; attackers are in their order."""
    found = [contributions(attacker, attacker.trial.test, attack.explained) for attacker in attackers]
    examples, tests = attack.trials[0].examples, [trial.test for trial in attack.trials]
    rows, values = np.concatenate(tests), np.concatenate([one.values for one in found])
    logits = np.concatenate([attacker.logits(test) for attacker, test in zip(attackers, tests, strict=True)])
    truth = np.concatenate([trial.examples.targets[trial.test] for trial in attack.trials])
    classes = attack.classes
    if examples.multilabel:
        scores, truth = np.exp(-np.logaddexp(0, -logits[:, attack.explained])), truth[:, attack.explained]
        classes = tuple(classes[number] for number in attack.explained)
    else:
        both = np.pad(logits, ((0, 0), (1, 0))) if logits.shape[1] == 1 else logits
        scores = np.exp(both - np.logaddexp.reduce(both, axis=1, keepdims=True))
        values = np.hstack((-values, values)) if values.shape[1] == 1 else values
    return Attributions(
        tokens=examples.tokens.select(rows),
        values=values,
        scores=scores,
        rows=rows,
        truth=truth,
        trials=np.repeat(np.arange(len(tests)), list(map(len, tests))),
        classes=classes,
        largest_delta=max(one.largest_delta for one in found),
        signature=attack.signature,
    )
