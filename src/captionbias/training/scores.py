"""The few numbers that a training logs, from whatever a captioner in training says."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from captionbias.alignment.vectors import CAPTIONS, train_vectors
from captionbias.attackers.splits import SMALLEST_CLASS
from captionbias.captions import CaptionBiasWarning, Captions, check_captions
from captionbias.captions.values import as_list
from captionbias.metrics import dbac, lic
from captionbias.metrics.protocol import PRESETS, whole_number
from captionbias.text import LexiconSource, tokenize

if TYPE_CHECKING:
    from gensim.models import KeyedVectors

METRICS: dict[str, Callable[..., dict[str, Any]]] = {"dbac": dbac, "lic": lic}
SCORES = {
    "dbac": ("dbac_a_to_t", "dbac_a_to_t_matched", "dbac_t_to_a", "dbac_t_to_a_matched"),
    "lic": ("lic",),
}
STAND_IN = "-"  # for an empty caption, where only the others are looked at


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
    """DBAC and LIC as flat floats for a training's log, from captions that may be good for nothing yet.

    What is wrong with the arguments raises. What is wrong with the captioner does not: a score that its captions leave
    undefined is left out. An empty caption names nothing and cannot be attacked, so the scores are of the other images,
    on both sides; `empty_captions` says how many are missing, for a captioner that is silent more often with one group
    than with another is biased in a way that these scores do not see.

    This process measures alone, whatever others run beside it.

    Args:
        predictions: `n` model captions, some of which may be empty.
        references: `n` lists of human captions.
        attributes: `n` labels of the protected attribute.
        tasks: `n` lists of tasks that the images show; those named in any human caption when None.
        metrics: `dbac`, `lic` or both.
        preset: `fast`, or another that both metrics have.
        trials: attackers trained a side; few are enough to follow a training, more make its curve smoother.
        seed: of the first trial. Keep it the same throughout a training.
        attribute_lexicon: attribute words, see `captionbias.text.load_lexicon`; the preset's when None.
        task_lexicon: task words of `dbac`, likewise.
        vectors: word vectors with which `dbac` aligns human captions, see `captionbias.alignment.vectors.load_vectors`;
            the preset's when None. Those of `human_vectors` need not be trained anew at each measurement.
        cache: keep finished trials: in the usual folder, in this one, or not at all (False).

    Returns:
        `empty_captions`, the share of captions without a word, in [0, 1]; and as far as they are defined `dbac_a_to_t`,
        `dbac_a_to_t_matched`, `dbac_t_to_a`, `dbac_t_to_a_matched` in (-1, 1) and `lic` in [-100, 100]. Intervals are
        left to the metrics themselves.

    Raises:
        ValueError: arguments that cannot be measured whatever the captioner says.

    Warns:
        CaptionBiasWarning: once, with everything to know: what is left out and why, and weak statistics.

    >>> captions = ["a woman with a cake", "a lady and a dog", "a man on a surfboard", "a man and a dog"] * 20
    >>> labels = ["female", "female", "male", "male"] * 20
    >>> bias_scores(captions, [[text] for text in captions], labels)["dbac_a_to_t_matched"]
    0.0
    >>> bias_scores([""] * 80, [[text] for text in captions], labels)
    {'empty_captions': 1.0}
    """
    texts = as_list("predictions", predictions)
    empty = [isinstance(text, str) and not text.strip() for text in texts]
    texts = [STAND_IN if missing else text for text, missing in zip(texts, empty, strict=True)]
    captions = check_captions(predictions=texts, references=references, attributes=attributes, tasks=tasks)
    options = _options(metrics, preset, trials, seed, attribute_lexicon, task_lexicon, cache, vectors)
    notes: list[str] = []
    result = {"empty_captions": sum(empty) / len(empty)}
    said = _rows(captions, [row for row, missing in enumerate(empty) if not missing])
    if any(empty):
        notes.append(f"{sum(empty):,} of {len(empty):,} captions are empty; the scores are of the other images alone")
    if any(empty) and (few := _few(captions, said)):
        for name in options:
            _measure_human(name, captions, options[name])  # raises, if the captioner is not all that is wrong
        notes.append(f"no score: {few} with a caption, and an attacker needs {SMALLEST_CLASS} a value")
    else:
        for name in options:
            result |= _measured(name, captions, said, options[name], notes)
    if notes:
        warnings.warn(f"bias in training: {'; '.join(dict.fromkeys(notes))}", CaptionBiasWarning, stacklevel=2)
    return result


def check_human(
    references: Collection[Any],
    attributes: Collection[Any],
    *,
    tasks: Collection[Any] | None,
    metrics: Sequence[str],
    preset: str,
    trials: int,
    seed: int,
    attribute_lexicon: LexiconSource | None,
    task_lexicon: LexiconSource | None,
    cache: bool | str | Path,
) -> Captions:
    """Measure the human captions alone, so that errors in the arguments of `bias_scores` show before a training.

    Returns:
        Them as checked.

    Raises:
        ValueError: as `bias_scores`.
    """
    captions = check_captions(references=references, attributes=attributes, tasks=tasks)
    options = _options(metrics, preset, trials, seed, attribute_lexicon, task_lexicon, cache)
    for name in options:
        _measure_human(name, captions, options[name])
    return captions


def human_vectors(references: Collection[Collection[str]]) -> KeyedVectors:
    """Word vectors of the human captions, trained once for all measurements of a training.

    `vectors="captions"` would train them at each measurement, on the captioner's captions too.
    """
    return train_vectors(tokenize([text for texts in references for text in texts]))


def measure_against(
    references: Collection[Any],
    attributes: Collection[Any],
    *,
    tasks: Collection[Any] | None,
    metrics: Sequence[str],
    preset: str,
    **options: Any,
) -> tuple[int, Callable[[Collection[Any]], dict[str, float]]]:
    """How many images there are, and `bias_scores` of any captions of them.

    What depends on the human captions alone is done here, once a training; errors as `check_human`.
    """
    human = check_human(references, attributes, tasks=tasks, metrics=metrics, preset=preset, **options)
    trains = "dbac" in metrics and PRESETS["dbac"][preset]["vectors"] == CAPTIONS
    measure = partial(
        bias_scores,
        references=human.references or (),
        attributes=human.attributes,
        tasks=human.tasks,
        metrics=metrics,
        preset=preset,
        vectors=human_vectors(human.references or ()) if trains else None,
        **options,
    )
    return len(human), measure


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
    if isinstance(metrics, str) or not metrics or set(metrics) - set(METRICS):
        raise ValueError(f"metrics must list one or both of {', '.join(METRICS)}, not {metrics!r}")
    trials = whole_number("trials", trials, least=1)
    common = {"preset": preset, "trials": trials, "seed": seed, "attribute_lexicon": attribute_lexicon, "cache": cache}
    own: dict[str, dict[str, Any]] = {"dbac": {"task_lexicon": task_lexicon, "vectors": vectors}, "lic": {}}
    return {name: {**common, **own[name], "bootstrap": 0, "distributed": False} for name in dict.fromkeys(metrics)}


def _rows(captions: Captions, rows: Sequence[int]) -> Captions:
    def at(column: tuple[Any, ...] | None) -> Any:
        return None if column is None else tuple(column[row] for row in rows)

    return Captions(*map(at, (captions.predictions, captions.references, captions.attributes, captions.tasks, None)))


def _few(captions: Captions, said: Captions) -> str:
    """Which attribute values too few images are left of."""
    left = Counter(said.attributes)
    few = [value for value in sorted(set(captions.attributes)) if left[value] < SMALLEST_CLASS]
    return ", ".join(f"{value!r} has {left[value]} images" for value in few)


def _measured(
    name: str, captions: Captions, said: Captions, options: Mapping[str, Any], notes: list[str]
) -> dict[str, float]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = METRICS[name](predictions=said.predictions, **_human(name, said), **options)
        except ValueError as error:
            _measure_human(name, captions, options)  # raises, if the captioner is not to blame
            notes.append(f"{name} is left out: {error}")
            return {}
    for one in caught:
        if issubclass(one.category, CaptionBiasWarning):
            notes.append(str(one.message))
        else:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    scores = {score: float(found[score]) for score in SCORES[name] if math.isfinite(found.get(score, math.nan))}
    if missing := [score for score in SCORES[name] if score not in scores]:
        notes.append(f"{', '.join(missing)} left out: undefined, as too few captions name what human captions name")
    return scores


def _measure_human(name: str, captions: Captions, options: Mapping[str, Any]) -> None:
    """For its errors only."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CaptionBiasWarning)
        METRICS[name](**_human(name, captions), **{**options, "trials": 1})


def _human(name: str, captions: Captions) -> dict[str, Any]:
    """LIC does not use the tasks, and images without any are no reason to leave it out."""
    tasks = captions.tasks if name == "dbac" else None
    return {"references": captions.references, "attributes": captions.attributes, "tasks": tasks}
