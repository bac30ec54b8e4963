"""AnonymousBench: do bias scores agree with people who read captions of images whose person's gender nobody can see?"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from captionbias.arrays import Floats
from captionbias.captions import CaptionBiasWarning
from captionbias.captions.tables import Table, as_table
from captionbias.captions.values import image_keys, is_missing
from captionbias.statistics.intervals import bootstrap_interval, recentred, resamples
from captionbias.statistics.samples import Estimate

ANSWERS = {"yes": True, "y": True, "true": True, "1": True, "no": False, "n": False, "false": False, "0": False}
IMAGES = ("image_id", "image")
LEAST = 3  # two points always lie on a line


@dataclass(frozen=True, eq=False)
class Correlation:
    """Pearson's correlation of a metric's scores with the human scores, in [-1, 1]; None where it is undefined.

    `low`, `high`: 95%, over images and annotators (bootstrap). `captioners_low`, `captioners_high`: 95%, over
    captioners (Fisher's transformation), four captioners or more. `missing`: why there is no correlation.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    captioners_low: float | None = None
    captioners_high: float | None = None
    missing: str | None = None


@dataclass(frozen=True, eq=False)
class AnonymousBench:
    """Captioners as people and as metrics score them.

    Attributes:
        images: how many have answers for every captioner.
        annotators: how many people answered.
        human: of each captioner the percentage of captions that tell the gender, in [0, 100], with its 95% interval
            over images and annotators.
        scores: of each metric the captioners' scores, as given.
        correlations: of each metric.
    """

    images: int
    annotators: int
    human: dict[str, Estimate]
    scores: dict[str, dict[str, float]]
    correlations: dict[str, Correlation]

    def as_dict(self) -> dict[str, Any]:
        human = {name: {"gt": gt.value, "low": gt.low, "high": gt.high} for name, gt in self.human.items()}
        return vars(self) | {"human": human, "correlations": {name: asdict(c) for name, c in self.correlations.items()}}


def anonymousbench(answers: Any, scores: Any = None, *, bootstrap: int = 1000, seed: int = 0) -> AnonymousBench:
    """Each captioner's human score, and how far metrics' scores go along with it.

    People read captions of images in which the gender cannot be seen, and say whether they can tell it. The human score
    (GT) of a captioner is the percentage of yes: each image's share of its annotators, averaged over images.

    Args:
        answers: a file (CSV, TSV, JSON, JSONL, Parquet) or table with the columns `captioner`, `image_id` (or `image`),
            `answer` (yes or no, true or false, 1 or 0) and `annotator` (not needed if one person answered).
        scores: a file or table with the column `captioner` and a column of numbers for each metric; or a mapping of
            each captioner's scores, `{"nic": {"lic": 3.7}}`. None for the human scores alone.
        bootstrap: replicates over images and annotators; 0 for no such intervals.
        seed: of the bootstrap.

    Warns:
        CaptionBiasWarning: images are left out, because a captioner has no answer for them.

    Source: ImageCaptioner2 (Bakr et al. 2023), section 5.5.1 and Table 5.

    >>> rows = [("nic", 1, "yes"), ("nic", 2, "no"), ("sat", 1, "no"), ("sat", 2, "no")]
    >>> captioner, image, answer = zip(*rows)
    >>> anonymousbench({"captioner": captioner, "image_id": image, "answer": answer}).human["nic"].value
    50.0
    """
    said = _read_answers(answers)
    captioners = said.index.levels[0].tolist()
    yes = said.to_numpy(np.float64).reshape(len(captioners), -1, said.shape[1])
    images, people = yes.shape[1:]
    human = _human_scores(yes, np.ones((images, 1)), np.ones((people, 1)))[:, 0]
    blocks = [_human_scores(yes, *times) for times in resamples(images, people, bootstrap, seed)]
    replicates = np.concatenate(blocks, axis=1) if blocks else np.zeros((len(human), 0))
    estimates = [
        Estimate(value, *_interval(value, drawn, (0.0, 100.0)))
        for value, drawn in zip(human.tolist(), replicates, strict=True)
    ]
    metrics: Any = pd.DataFrame() if scores is None else _read_scores(scores, captioners)
    return AnonymousBench(
        images=images,
        annotators=people,
        human=dict(zip(captioners, estimates, strict=True)),
        scores=metrics.to_dict(),
        correlations={name: _correlation(column.to_numpy(), human, replicates) for name, column in metrics.items()},
    )


def _read_answers(source: Any) -> Any:
    """A table with a row for each captioner and image, a column for each annotator, and 1 for yes and 0 for no."""
    table = as_table(source, "answers")
    names = _texts(table, "captioner")
    column = next((name for name in IMAGES if name in table.columns), IMAGES[0])
    rows = pd.DataFrame(
        {
            "captioner": pd.Categorical(names, list(dict.fromkeys(names))),
            "image": image_keys(f"{table.name}: {column}", table.column(column)),
            "annotator": _texts(table, "annotator") if "annotator" in table.columns else "the annotator",
            "yes": [ANSWERS.get(text.lower().removesuffix(".0")) for text in _texts(table, "answer")],
        }
    )
    if (neither := rows.yes.isna()).any():
        row = int(neither.argmax())
        value = table.column("answer")[row]
        raise ValueError(f"{table.name}: answer[{row}] is {value!r}; answer 'can you tell the gender?' with yes or no")
    keys = ["captioner", "image", "annotator"]
    if (again := rows.duplicated(keys)).any():
        row = int(again.argmax())
        raise ValueError(
            f"{table.name}: row {row} is one more answer of {rows.annotator[row]} to the caption of image "
            f"{rows.image[row]} by {rows.captioner[row]}; keep one, or name annotators in a column 'annotator'"
        )
    answered = rows.groupby("image")["captioner"].nunique()
    shared = answered.index[answered == rows.captioner.nunique()]
    if not len(shared):
        raise ValueError(
            f"{table.name}: no image has answers for each of {', '.join(dict.fromkeys(names))}; add answers"
        )
    if left_out := len(answered) - len(shared):
        warnings.warn(
            f"{left_out:,} of {len(answered):,} images are left out: not every captioner has answers for them",
            CaptionBiasWarning,
            stacklevel=3,
        )
    return rows[rows.image.isin(shared)].pivot(index=keys[:2], columns="annotator", values="yes")


def _texts(table: Table, column: str) -> list[str]:
    texts = ["" if is_missing(value) else str(value).strip() for value in table.column(column)]
    if "" in texts:
        raise ValueError(f"{table.name}: {column}[{texts.index('')}] is missing; add it or drop the row")
    return texts


def _read_scores(source: Any, captioners: list[str]) -> Any:
    """A table with a row for each captioner and a column for each metric."""
    if isinstance(source, Mapping) and "captioner" not in source:
        scores = pd.DataFrame.from_dict(dict(source), orient="index")
    else:
        table = as_table(source, "scores")
        scores = pd.DataFrame({name: table.column(name) for name in table.columns}).set_index("captioner")
    numbers = scores.reindex(captioners).apply(pd.to_numeric, errors="coerce")
    for metric, column in numbers.items():
        if len(bad := column.index[~np.isfinite(column)]):
            raise ValueError(f"scores: {metric} of {bad[0]} is no number; give one for every captioner with answers")
    return numbers.astype(np.float64)


def _human_scores(said: Floats, images: Floats, annotators: Floats) -> Floats:
    """The percentage of yes, `(captioners, replicates)`.

    `said`: 1 for yes, 0 for no, or NaN, `(captioners, images, annotators)`. `images`, `annotators`: how often each
    counts in each replicate, `(images, replicates)`, `(annotators, replicates)`. A caption that nobody in a replicate
    has answered is left out of it.
    """
    asked, yes = ~np.isnan(said) @ annotators, np.nan_to_num(said) @ annotators
    share = np.divide(yes, asked, out=np.zeros_like(yes), where=asked > 0)
    weight = images * (asked > 0)
    with np.errstate(invalid="ignore"):
        percent: Floats = 100 * (share * weight).sum(axis=1) / weight.sum(axis=1)
    return percent


def _correlation(scores: Floats, human: Floats, replicates: Floats) -> Correlation:
    """The correlation of `scores` and `human`, `(captioners,)`; of `human` also `replicates`, `(captioners, n)`."""
    if len(scores) < LEAST:
        return Correlation(
            missing=f"{len(scores)} captioners: a correlation needs {LEAST} or more, for two always agree"
        )
    if np.ptp(scores) == 0 or np.ptp(human) == 0:
        whose = "the metric" if np.ptp(scores) == 0 else "people"
        return Correlation(missing=f"{whose} gave every captioner the same score")
    from scipy.stats import pearsonr

    correlation = pearsonr(scores, human)
    value = float(correlation.statistic)
    centred, drawn = scores - scores.mean(), replicates - replicates.mean(axis=0)
    with np.errstate(invalid="ignore"):
        resampled = centred @ drawn / (np.linalg.norm(centred) * np.linalg.norm(drawn, axis=0))
    over_captioners = tuple(map(float, correlation.confidence_interval())) if len(scores) > LEAST else (None, None)
    return Correlation(value, *_interval(value, recentred(value, resampled), (-1.0, 1.0)), *over_captioners)


def _interval(value: float, replicates: Floats, bounds: tuple[float, float]) -> tuple[float | None, float | None]:
    known = replicates[~np.isnan(replicates)]
    return bootstrap_interval(value, known, bounds) if len(known) > 1 else (None, None)
