"""The few numbers that a training logs, from the captions of a captioner in training."""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from captionbias.alignment.vectors import train_vectors
from captionbias.bench.protocol import whole_number
from captionbias.bench.verdicts import MORE
from captionbias.captions import CaptionBiasWarning, Captions, check_captions
from captionbias.captions.entries import check_lengths
from captionbias.captions.texts import is_blank
from captionbias.captions.values import as_list, is_column
from captionbias.errors import InputError
from captionbias.metrics import catalogue, find_metric
from captionbias.text import LexiconSource, tokenize
from captionbias.warnings import warn

if TYPE_CHECKING:
    from gensim.models import KeyedVectors
    from typing_extensions import Unpack

BIAS, WORST, MISSING = "bias", "sway_worst", "sway_missing_gap"


class BiasSettings(TypedDict, total=False):
    """The keywords of `bias_scores` and `BiasCallback`."""

    metrics: Sequence[str]  # any of `captionbias.metrics`; sway, dbac and lic by default
    preset: str  # `fast` (the default) or `papers`
    trials: int  # attackers trained a side, 3 by default; few follow a training, more make its curve smoother
    seed: int  # of the first trial, 0 by default; keep it the same throughout a training
    attribute_lexicon: LexiconSource | None  # see `captionbias.text.load_lexicon`; the preset's by default
    task_lexicon: LexiconSource | None  # task words of `dbac`, likewise
    trust_rows: bool  # measure captions, labels or tasks that do not seem to belong together; False by default
    controls: bool  # also train blind attackers and score one more person, for net scores; False by default
    cache: bool | str | Path  # keep finished trials: in the usual folder (the default), in this one, or not (False)


def bias_scores(
    predictions: Collection[Any],
    references: Collection[Any],
    attributes: Collection[Any],
    *,
    tasks: Collection[Any] | None = None,
    weights: Collection[Any] | None = None,
    vectors: Any = None,
    **settings: Unpack[BiasSettings],
) -> dict[str, float]:
    """Sway, DBAC and LIC as flat floats for a training's log, from captions that may still be useless.

    Wrong arguments raise an error. A bad captioner does not: a score that its captions leave undefined is left out
    (`sway_worst` is nan), and all scores are left out while its captions fit other images as well. The scores are for
    the images that have a caption; `empty_captions` says how many have none, and `sway_missing_gap` whether a captioner
    is silent more often with one group than with another.

    Args:
        predictions: `n` captions of the captioner, or `n` lists of several, some of which may be empty or None.
        references: `n` lists of human captions.
        attributes: `n` labels of the protected attribute.
        tasks: `n` lists of tasks that the images show; when None, those named in any human caption.
        weights: `n` numbers above 0: how much each image counts; equally when None.
        vectors: word vectors with which `dbac` aligns human captions, see `captionbias.alignment.vectors.load_vectors`;
            the preset's when None. Those of `human_vectors` need not be trained again at each measurement.
        **settings: see `BiasSettings`.

    Returns:
        `empty_captions`, the share of captions without a word, in [0, 1]; with sway `sway_worst`, also as `bias`: the
        largest score of all questions that these images can answer, divided by what is tolerated. 0 is a person, and
        lower is better for this score only: for most others 0 is best. As far as they are defined, `sway_wrong_gap`,
        `sway_unnamed_gap`, `sway_t_to_a`, `sway_t_to_a_lost`, `sway_words` (for 500 images or more), `sway_missing_gap`
        (if a caption is empty), `sway_length_gap` (per 100 content words), `sway_a_to_t` (in mentions per 100
        captions), `dbac_a_to_t`, `dbac_a_to_t_matched`, `dbac_t_to_a`, `dbac_t_to_a_matched` in (-1, 1) and `lic` in
        [-100, 100], or the main scores of other metrics; with `controls` also `dbac_a_to_t_net`, `dbac_t_to_a_net` and
        the others' `..._excess`. Each has its 95% interval, `..._ci_low` and `..._ci_high`. Scores with a verdict have
        `..._more_than_people`: 1.0 if that is the verdict, otherwise 0.0, because not every logger takes text.

    Warns:
        CaptionBiasWarning: once, if something is left out or statistics are weak.

    >>> from captionbias.synthetic import plant
    >>> bias_scores(**vars(plant(1000, t_to_a=0.5)), metrics=["sway"])["sway_t_to_a_more_than_people"]
    1.0
    """
    return TrainingBias(references, attributes, tasks, weights, vectors=vectors, **settings).measure(predictions)


def human_vectors(references: Collection[Collection[str]]) -> KeyedVectors:
    """Word vectors of the human captions, trained once; `vectors="captions"` trains the same at each measurement."""
    return train_vectors(tokenize([text for texts in references for text in texts]))


class TrainingBias:
    """The bias of a captioner in training against the same human captions, which are checked and split into words once,
    measured any number of times. `settings`: of `bias_scores`, `vectors` among them."""

    def __init__(
        self,
        references: Collection[Any],
        attributes: Collection[Any],
        tasks: Collection[Any] | None,
        weights: Collection[Any] | None = None,
        trust_rows: bool = False,
        **settings: Any,
    ) -> None:
        self.images = range(len(as_list("references", references)))
        self.people = check_captions(
            references=references,
            attributes=attributes,
            tasks=tasks,
            weights=weights,
            image_ids=self.images,
            trust_rows=trust_rows,
        )
        self.options = _options(**settings)

    def prepare(self) -> TrainingBias:
        """Measure the human captions alone, so that errors in the arguments show before a training."""
        for name in self.options:
            self._measure_people(name)
        return self

    def measure(self, predictions: Collection[Any]) -> dict[str, float]:
        """`bias_scores` of these captions."""
        column = as_list("predictions", predictions)
        check_lengths({"predictions": column, "references": self.images})
        column = [column[int(row)] for row in self.people.image_ids or ()]  # of images that people describe
        empty = [all(map(is_blank, texts if is_column(texts) else [texts])) for texts in column]
        result, notes = {"empty_captions": float(np.average(empty, weights=self.people.weights))}, list[str]()
        result |= dict.fromkeys([BIAS, WORST] if "sway" in self.options else [], math.nan)
        try:
            captions = self.people.with_predictions(column)
        except InputError as error:
            if error.argument.row is not None:  # what is there is not a caption
                raise
            for name in self.options:
                self._measure_people(name)  # raises, if the captioner is not to blame
            notes.append(f"all is left out: {error}")
        else:
            notes += captions.model_notes
            for name in self.options:
                result |= self._measured(name, captions, notes)
        if notes:
            warn(f"bias in training: {'; '.join(dict.fromkeys(notes))}")
        return result

    def _measured(self, name: str, captions: Captions, notes: list[str]) -> dict[str, float]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                measured = find_metric(name).measure(_usable(name, captions), **self.options[name])
            except ValueError as error:
                self._measure_people(name)  # raises, if the captioner is not to blame
                notes.append(f"{name} is left out: {error}")
                return {}
        notes += [str(warning.message) for warning in caught]
        estimates, controls = measured.estimates, self.options[name].get("controls", True)
        keys = [key for key in catalogue.headlines(name) if controls or not catalogue.SCORES[key].control]
        scores: dict[str, float] = {}
        if WORST in estimates:
            scores |= dict.fromkeys((BIAS, WORST), estimates[WORST].value)
        for key in filter(estimates.__contains__, keys):
            scores |= estimates[key]._replace(verdict=None).flat(key)
            if word := estimates[key].verdict:
                scores[f"{key}_more_than_people"] = float(word == MORE)
        if missing := [key for key in keys if key not in (*scores, MISSING)]:
            notes.append(f"{', '.join(missing)} left out: too few images, or captions that name what human ones name")
        return scores

    def _measure_people(self, name: str) -> None:
        """Measure the human captions, if the metric measures them alone, for the errors only."""
        if catalogue.METRICS[name].presets:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", CaptionBiasWarning)
                alone = {key: value for key, value in self.options[name].items() if key != "vectors"}
                find_metric(name).measure(_usable(name, self.people), **{**alone, "trials": 1, "bootstrap": 0})


def _options(
    metrics: Sequence[str] = catalogue.REPORTED,
    preset: str = "fast",
    trials: int = 3,
    controls: bool = False,
    **others: Any,
) -> dict[str, dict[str, Any]]:
    if unknown := others.keys() - {*BiasSettings.__annotations__, "vectors"}:
        raise TypeError(f"unexpected keyword argument {', '.join(sorted(unknown))}")
    known = catalogue.of_captions()
    if isinstance(metrics, str) or not metrics or (set(catalogue.METRICS) - set(known)) & set(metrics):
        raise ValueError(f"metrics must list one or more of {', '.join(known)}, not {metrics!r}")
    trials = whole_number("trials", trials, least=1)
    wanted = {**others, "preset": preset, "trials": trials, "controls": controls}
    only = {name: {} if name == "dbac" else {"vectors": None} for name in metrics}
    return {name: find_metric(name).accepted({**wanted, **own}) for name, own in only.items()}


def _usable(name: str, captions: Captions) -> Captions:
    """Drop the tasks for metrics that do not use them: images without tasks are no obstacle to these."""
    return captions if "task_lexicon" in find_metric(name).options() else captions.without_tasks()
