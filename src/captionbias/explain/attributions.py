"""Which words of a caption give the attribute away to an attacker."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from captionbias.attackers.attacker import CONVEX, find_attacker
from captionbias.attackers.splits import balanced_split
from captionbias.attackers.trials import Examples, Trial
from captionbias.captions import check_captions
from captionbias.explain.contributions import TOLERANCE, Values, check_captum, contributions
from captionbias.explain.models import Explainable, check_explained, fit, log_probabilities
from captionbias.metrics.lic import ENCODERS
from captionbias.metrics.presets import LIC_PRESETS, lexicon_name, settings, signature, whole_number
from captionbias.metrics.sides import mentions_of, note_nothing_masked, number_classes, split_into_words
from captionbias.text import LexiconSource, Tokens, load_lexicon
from captionbias.text.tokens import Integers


@dataclass(frozen=True, eq=False)
class Attributions:
    """What each word of each test caption adds to the attacker's log-odds of each class; `attribute_captions` makes it.

    Attributes:
        tokens: the `n` scored captions as words, masked: those of the first trial, then of the second, ...
        values: `(words of all captions, classes)`, in the order of `tokens.ids`: caption `i` has the rows
            `tokens.offsets[i]` to `tokens.offsets[i + 1]`. Above 0 a word speaks for the class, below 0 against it.
        scores: `(n, classes)`, the attacker's probability of each class.
        rows: `(n,)`, the row of each caption in the input.
        truth: `(n,)`, the number of each caption's own class.
        trials: `(n,)`, the number of the trial that scored each caption.
        classes: the names of the classes.
        largest_delta: the largest difference between the sum of a caption's values and what it should be, in log-odds.
        signature: everything that changes the values.
    """

    tokens: Tokens
    values: Values
    scores: Values
    rows: Integers
    truth: Integers
    trials: Integers
    classes: tuple[str, ...]
    largest_delta: float
    signature: str

    def by_class(self) -> dict[str, dict[str, float]]:
        """The captions of each class: how much their words say, together, for the class they are of.

        Words are measured from an answer that is not even between the classes: that to padding, or the intercept of
        `bow`. What it leans to is missing from the sums of that class and added to the other's, so compare captioners
        within a class, or the sums of all classes.

        Returns:
            For each class `captions`, how many of its captions are scored in a trial, on average; `score`, the mean
            probability of the class; `sum`, the mean of a caption's summed values, in log-odds; and `normalized`, the
            same over the captions that the attacker gets right, the values of each scaled to length 1 beforehand. Each
            of the last three is a mean over trials and has `..._std` beside it (0 with one trial). A trial in which no
            caption of the class is right says nothing of `normalized`, which is left out when no trial does.

        Source: `normalized` is what Türk et al. 2023 average in their Table 4 (they integrate the probability's
        gradient, here it is that of the log-odds).
        """
        captions = len(self.tokens)
        own = np.repeat(self.truth, self.tokens.lengths)
        toward = self.values[np.arange(len(own)), own]
        sums = np.bincount(self.tokens.rows, toward, minlength=captions).astype(np.float64)
        length = np.sqrt(np.bincount(self.tokens.rows, toward**2, minlength=captions))
        right = (self.scores.argmax(axis=1) == self.truth) & (length > 0)
        quantities: dict[str, tuple[Values, Any]] = {
            "score": (self.scores[np.arange(captions), self.truth], np.ones(captions, bool)),
            "sum": (sums, np.ones(captions, bool)),
            "normalized": (sums / np.where(length > 0, length, 1), right),
        }
        trials = range(int(self.trials.max()) + 1)
        table: dict[str, dict[str, float]] = {}
        for number, name in enumerate(self.classes):
            members = self.truth == number
            table[name] = {"captions": float(members.sum() / len(trials))}
            for quantity, (values, counted) in quantities.items():
                parts = [values[members & counted & (self.trials == trial)] for trial in trials]
                means = [part.mean() for part in parts if len(part)]
                if means:
                    spread = np.std(means, ddof=1) if len(means) > 1 else 0.0
                    table[name] |= {quantity: float(np.mean(means)), f"{quantity}_std": float(spread)}
        return table

    def by_word(self, least: int = 10) -> dict[str, list[dict[str, Any]]]:
        """For each class the words, those that say most for it first.

        Args:
            least: words that stand fewer times than this in the scored captions are left out.

        Returns:
            For each class a list of `word`, `mean` (of its value towards the class, wherever it stands) and `count`.
        """
        least = whole_number("least", least, least=1)
        words = len(self.tokens.words)
        counts = np.bincount(self.tokens.ids, minlength=words)
        table = {}
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
            how many of them scored it; `attribute`, its own class.

        Raises:
            ValueError: no trial has it in its test split.
        """
        found = np.flatnonzero(self.rows == caption)
        if not len(found):
            raise ValueError(
                f"captions[{caption}] is in no trial's test split: values are given for captions that an attacker has "
                "not learnt from; `rows` lists those, and more trials score more of them"
            )
        spans = [slice(self.tokens.offsets[row], self.tokens.offsets[row + 1]) for row in found]
        values = np.mean([self.values[span] for span in spans], axis=0)
        scores = self.scores[found].mean(axis=0)
        return {
            "words": [self.tokens.words[word] for word in self.tokens.ids[spans[0]]],
            "values": {name: values[:, number].tolist() for number, name in enumerate(self.classes)},
            "scores": dict(zip(self.classes, scores.tolist(), strict=True)),
            "trials": len(found),
            "attribute": self.classes[self.truth[found[0]]],
        }


def attribute_captions(
    captions: Any,
    attributes: Any,
    *,
    preset: str = "lic-2022",
    encoder: str | None = None,
    precision: str | None = None,
    trials: int = 1,
    seed: int = 0,
    tokenizer: str | None = None,
    attribute_lexicon: LexiconSource | None = None,
) -> Attributions:
    """What each word of a caption adds to an attacker's log-odds of each value of the attribute.

    The attackers are those that `lic` trains on these captions with the same settings: attribute words are masked, a
    trial balances the attribute and holds a tenth back. Only captions held back are explained.

    `bow`: the exact share of each word, a pair's weight divided between its two words. Neural attackers: integrated
    gradients over each word's embedding, from a caption of as much padding, by Gauss-Legendre quadrature with so many
    steps that the values of a caption add up to its log-odds less those of padding: within 0.01, or 1% of the
    difference where that is more. With three or more values of the attribute, log-odds are relative to the geometric
    mean over values.

    Args:
        captions: `n` captions, a model's or one human caption an image.
        attributes: `n` labels of the protected attribute, two or more values.
        preset: `lic-2022` or `fast`, as in `lic`.
        encoder: `lstm` (LIC's own), `bow`, `linear`, or one of DBAC's (`lstm-dbac`, `bilstm`, `rnn`, `birnn`,
            `transformer-1h`, `transformer-5h`); the preset's when None, as for the tokenizer and the lexicon.
        precision: of the training of neural attackers, `fp32` or `bf16`; None for bf16 where the device computes it
            natively. Values are computed in fp32 either way.
        trials: attackers that are trained; trial `t` splits and trains with seed `seed + t`.
        seed: seed of the first trial.
        tokenizer: `words` or `whitespace`.
        attribute_lexicon: what is masked: a built-in lexicon, a file or a mapping, see `captionbias.text.load_lexicon`.

    Raises:
        ValueError: input that cannot be explained; the message names the argument, the first bad row and the way out.

    Source: Sundararajan, Taly and Yan 2017 (integrated gradients); Türk et al. 2023, section 3.5 (of LIC's attacker).

    >>> captions = ["a woman cooks food", "a lady cooks dinner", "a man rides waves", "a man surfs"] * 20
    >>> labels = ["female", "female", "male", "male"] * 20
    >>> found = attribute_captions(captions, labels, preset="fast")
    >>> [row["word"] for row in found.by_word(least=1)["female"][:1]]
    ['cooks']
    """
    checked = check_captions(predictions=captions, attributes=attributes)
    chosen = settings(
        LIC_PRESETS,
        preset,
        {"encoder": encoder, "trials": trials, "tokenizer": tokenizer, "attribute_lexicon": attribute_lexicon},
    )
    seed = whole_number("seed", seed, least=0)
    engine_name = ENCODERS.get(chosen["encoder"], chosen["encoder"])
    check_explained(engine_name)
    attacker = find_attacker(engine_name, precision)
    method = "coefficients"
    if engine_name not in CONVEX:
        check_captum()
        method = f"integrated_gradients,padding,{TOLERANCE:g}"
    lexicon = load_lexicon(chosen["attribute_lexicon"])
    notes: list[str] = []
    names, classes = number_classes(checked, notes)
    sides = split_into_words(checked, chosen["tokenizer"])
    mentions = mentions_of(sides, lexicon, chosen["tokenizer"])
    note_nothing_masked(mentions, lexicon, notes)
    examples = Examples(sides.mask(mentions, lexicon.mask).model, classes, len(names), lexicon.mask)

    def trained() -> Iterator[Explainable]:
        for trial_seed in range(seed, seed + chosen["trials"]):
            train, test = balanced_split(classes, chosen["test_share"], trial_seed)
            yield fit(Trial(f"m0 seed {trial_seed}", examples, train, test, trial_seed), engine_name, precision)

    name = signature(
        {
            "metric": "attributions",
            "preset": preset,
            **attacker.signature(),
            "method": method,
            "trials": chosen["trials"],
            "split": f"balanced,{chosen['test_share']:g}",
            "seed": seed,
            "tok": chosen["tokenizer"],
            "attribute": lexicon_name(lexicon, chosen["attribute_lexicon"]),
        }
    )
    return explain_tests(trained(), names, name)


def explain_tests(attackers: Iterable[Explainable], classes: Sequence[str], signature: str) -> Attributions:
    """The words of each attacker's test captions; `attackers` of classes, on one table of captions, one a trial.

    >>> from captionbias.text import tokenize
    >>> examples = Examples(tokenize(["a cake", "a wave"] * 20), np.arange(40) % 2, 2)
    >>> attacker = fit(Trial("example", examples, np.arange(30), np.arange(30, 40), seed=0), "bow")
    >>> explain_tests([attacker], ["female", "male"], "").by_word(least=5)["male"][0]["word"]
    'wave'
    """
    explained = [
        (attacker.trial, contributions(attacker, attacker.trial.test), attacker.logits(attacker.trial.test))
        for attacker in attackers
    ]
    examples = explained[0][0].examples
    rows = np.concatenate([trial.test for trial, _, _ in explained])
    values = np.concatenate([found.values for _, found, _ in explained])
    return Attributions(
        tokens=examples.tokens.select(rows),
        values=np.hstack((-values, values)) if values.shape[1] == 1 else values,
        scores=np.exp(np.concatenate([log_probabilities(logits) for _, _, logits in explained])),
        rows=rows,
        truth=examples.targets[rows],
        trials=np.repeat(np.arange(len(explained)), [len(trial.test) for trial, _, _ in explained]),
        classes=tuple(classes),
        largest_delta=max(found.largest_delta for _, found, _ in explained),
        signature=signature,
    )
