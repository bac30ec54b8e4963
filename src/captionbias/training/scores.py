"""The few numbers that a training logs, from the captions of a captioner in training."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from captionbias.alignment.vectors import CAPTIONS, train_vectors
from captionbias.attackers.splits import SMALLEST_CLASS
from captionbias.captions import CaptionBiasWarning, Captions, check_captions
from captionbias.captions.values import as_list
from captionbias.metrics import catalogue, find_metric
from captionbias.metrics.protocol import PRESETS, whole_number
from captionbias.text import LexiconSource, tokenize

if TYPE_CHECKING:
    from gensim.models import KeyedVectors

PLACEHOLDER = "-"  # for an empty caption, where only the others are looked at


def bias_scores(
    predictions: Collection[Any],
    references: Collection[Any],
    attributes: Collection[Any],
    *,
    tasks: Collection[Any] | None = None,
    metrics: Sequence[str] = ("dbac", "lic"),
    preset: str = "fast",
    trials: int = 3,
    seed: int = 0,
    attribute_lexicon: LexiconSource | None = None,
    task_lexicon: LexiconSource | None = None,
    vectors: Any = None,
    cache: bool | str | Path = True,
) -> dict[str, float]:
    """DBAC and LIC as flat floats for a training's log, from captions that may still be useless.

    What is wrong with the arguments raises. What is wrong with the captioner does not: a score that its captions leave
    undefined is left out. An empty caption names nothing and cannot be attacked, so the scores are of the other images,
    on both sides; `empty_captions` says how many are missing, for a captioner that is silent more often with one group
    than with another is biased in a way that these scores do not show.

    This process measures alone, whatever others run beside it.

    Args:
        predictions: `n` model captions, some of which may be empty.
        references: `n` lists of human captions.
        attributes: `n` labels of the protected attribute.
        tasks: `n` lists of tasks that the images show; those named in any human caption when None.
        metrics: any of `captionbias.metrics`.
        preset: `fast` or `papers`.
        trials: attackers trained a side; few are enough to follow a training, more make its curve smoother.
        seed: of the first trial. Keep it the same throughout a training.
        attribute_lexicon: attribute words, see `captionbias.text.load_lexicon`; the preset's when None.
        task_lexicon: task words of `dbac`, likewise.
        vectors: word vectors with which `dbac` aligns human captions, see `captionbias.alignment.vectors.load_vectors`;
            the preset's when None. Those of `human_vectors` need not be trained again at each measurement.
        cache: keep finished trials: in the usual folder, in this one, or not at all (False).

    Returns:
        `empty_captions`, the share of captions without a word, in [0, 1]; and as far as they are defined `dbac_a_to_t`,
        `dbac_a_to_t_matched`, `dbac_t_to_a`, `dbac_t_to_a_matched` in (-1, 1) and `lic` in [-100, 100], or the main
        scores of other metrics. Intervals are left to the metrics themselves.

    Raises:
        ValueError: arguments that cannot be measured whatever the captions are.

    Warns:
        CaptionBiasWarning: once, with what is left out and why, and with weak statistics.

    >>> captions = ["a woman with a cake", "a lady and a dog", "a man on a surfboard", "a man and a dog"] * 20
    >>> labels = ["female", "female", "male", "male"] * 20
    >>> bias_scores(captions, [[text] for text in captions], labels)["dbac_a_to_t_matched"]
    0.0
    >>> bias_scores([""] * 80, [[text] for text in captions], labels)
    {'empty_captions': 1.0}
    """
    people = check_captions(references=references, attributes=attributes, tasks=tasks)
    options = _options(metrics, preset, trials, seed, attribute_lexicon, task_lexicon, cache, vectors)
    return TrainingBias(people, options).measure(predictions)


def human_vectors(references: Collection[Collection[str]]) -> KeyedVectors:
    """Word vectors of the human captions, trained once for all measurements of a training.

    `vectors="captions"` would train them at each measurement, on the captioner's captions too.
    """
    return train_vectors(tokenize([text for texts in references for text in texts]))


class TrainingBias:
    """The bias of a captioner in training against the same human captions, measured any number of times.

    `people`: the human captions; they are checked and split into words once. `options`: by metric, as it takes them.
    """

    def __init__(self, people: Captions, options: Mapping[str, Mapping[str, Any]]) -> None:
        self.people, self.options = people, options

    @classmethod
    def prepared(
        cls,
        references: Collection[Any],
        attributes: Collection[Any],
        *,
        tasks: Collection[Any] | None,
        **settings: Any,
    ) -> TrainingBias:
        """Measure the human captions alone, so that errors in the arguments show before a training, and train their
        word vectors if the metrics need some. `settings`: those of `bias_scores` from `metrics` on, without `vectors`.

        Raises:
            ValueError: as `bias_scores`.
        """
        people = check_captions(references=references, attributes=attributes, tasks=tasks)
        options = _options(**settings)
        found = cls(people, options)
        for name in options:
            found._measure_people(name)
        if "dbac" in options and PRESETS["dbac"][options["dbac"]["preset"]]["vectors"] == CAPTIONS:
            options["dbac"] |= {"vectors": human_vectors(people.references or ())}
        return found

    @property
    def names(self) -> list[str]:
        """What `measure` returns if everything is defined."""
        return ["empty_captions", *(key for name in self.options for key in catalogue.headlines(name))]

    def measure(self, predictions: Collection[Any]) -> dict[str, float]:
        """`bias_scores` of these captions."""
        texts = as_list("predictions", predictions)
        empty = [isinstance(text, str) and not text.strip() for text in texts]
        texts = [PLACEHOLDER if missing else text for text, missing in zip(texts, empty, strict=True)]
        captions = self.people.with_predictions(texts)
        notes: list[str] = []
        result = {"empty_captions": sum(empty) / len(empty)}
        if any(empty):
            captions = _rows(captions, [row for row, missing in enumerate(empty) if not missing])
            notes.append(
                f"{sum(empty):,} of {len(empty):,} captions are empty; the scores are of the other images alone"
            )
        if few := self._too_few(captions):
            for name in self.options:
                self._measure_people(name)  # raises, if the captioner is not all that is wrong
            notes.append(f"no score: {few} with a caption, and an attacker needs {SMALLEST_CLASS} a value")
        else:
            for name in self.options:
                result |= self._measured(name, captions, notes)
        if notes:
            warnings.warn(f"bias in training: {'; '.join(dict.fromkeys(notes))}", CaptionBiasWarning, stacklevel=3)
        return result

    def _too_few(self, captions: Captions) -> str:
        """Which attribute values too few images are left of."""
        if len(captions) == len(self.people):
            return ""
        left = Counter(captions.attributes)
        few = [value for value in sorted(set(self.people.attributes)) if left[value] < SMALLEST_CLASS]
        return ", ".join(f"{value!r} has {left[value]} images" for value in few)

    def _measured(self, name: str, captions: Captions, notes: list[str]) -> dict[str, float]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                measured = find_metric(name).measure(_usable(name, captions), **self.options[name])
            except ValueError as error:
                self._measure_people(name)  # raises, if the captioner is not to blame
                notes.append(f"{name} is left out: {error}")
                return {}
        for one in caught:
            if issubclass(one.category, CaptionBiasWarning):
                notes.append(str(one.message))
            else:
                warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
        keys = catalogue.headlines(name)
        if missing := [key for key in keys if key not in measured.estimates]:
            notes.append(f"{', '.join(missing)} left out: undefined, as too few captions name what human captions name")
        return {key: measured.estimates[key].value for key in keys if key in measured.estimates}

    def _measure_people(self, name: str) -> None:
        """For its errors only, of the metrics that measure human captions alone."""
        if name not in PRESETS:
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CaptionBiasWarning)
            find_metric(name).measure(_usable(name, self.people), **{**self.options[name], "trials": 1})


def _options(
    metrics: Sequence[str],
    preset: str,
    trials: int,
    seed: int,
    attribute_lexicon: LexiconSource | None,
    task_lexicon: LexiconSource | None,
    cache: bool | str | Path,
    vectors: Any = None,
) -> dict[str, dict[str, Any]]:
    if isinstance(metrics, str) or not metrics:
        raise ValueError(f"metrics must list one or more of {', '.join(catalogue.METRICS)}, not {metrics!r}")
    wanted = {
        "preset": preset,
        "trials": whole_number("trials", trials, least=1),
        "seed": seed,
        "attribute_lexicon": attribute_lexicon,
        "task_lexicon": task_lexicon,
        "vectors": vectors,
        "cache": cache,
        "bootstrap": 0,
        "distributed": False,
    }
    return {
        name: {key: value for key, value in wanted.items() if key in find_metric(name).options() and value is not None}
        for name in dict.fromkeys(metrics)
    }


def _rows(captions: Captions, rows: Sequence[int]) -> Captions:
    def at(column: tuple[Any, ...] | None) -> Any:
        return None if column is None else tuple(column[row] for row in rows)

    return Captions(*map(at, (captions.predictions, captions.references, captions.attributes, captions.tasks, None)))


def _usable(name: str, captions: Captions) -> Captions:
    """Drop the tasks for metrics that do not use them: images without tasks are no obstacle to these."""
    if "task_lexicon" not in find_metric(name).options():
        return captions.without_tasks()
    if captions.tasks is not None and not any(captions.tasks):
        raise ValueError("tasks has no task in any image that has a caption")
    return captions
