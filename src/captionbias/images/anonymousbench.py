"""AnonymousBench: do bias scores agree with people who read captions of images whose person's gender nobody can see?"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from captionbias.arrays import Floats
from captionbias.captions import CaptionBiasWarning
from captionbias.captions.tables import Table, as_table
from captionbias.captions.values import image_keys, is_missing
from captionbias.statistics.intervals import bootstrap_interval, resamples
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
    """What people and metrics say of captioners.

    Attributes:
        images: how many have answers for every captioner.
        annotators: how many people answered.
        human: of each captioner the percentage of captions that tell the gender, in [0, 100], with its 95% interval
            over images and annotators.
        scores: of each metric the captioners' scores, as given.
        correlations: of each metric.
        agreement: the share of pairs of answers to one caption that agree, in [0, 1]; None without such pairs.
        alpha: Krippendorff's alpha, 1 for full agreement and 0 for that of chance; None where it is undefined.
    """

    images: int
    annotators: int
    human: dict[str, Estimate]
    scores: dict[str, dict[str, float]]
    correlations: dict[str, Correlation]
    agreement: float | None
    alpha: float | None

    def as_dict(self) -> dict[str, Any]:
        """For a file."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        human = {name: {"gt": gt.value, "low": gt.low, "high": gt.high} for name, gt in self.human.items()}
        return fields | {"human": human, "correlations": {name: asdict(c) for name, c in self.correlations.items()}}


@dataclass(frozen=True, eq=False)
class _Answers:
    """How often each annotator answered, and answered yes, to each captioner's caption of each image: sparse arrays
    `(captioners * images, annotators)`."""

    captioners: list[str]
    images: int
    asked: Any
    yes: Any


def anonymousbench(answers: Any, scores: Any = None, *, bootstrap: int = 1000, seed: int = 0) -> AnonymousBench:
    """Each captioner's human score, and how far metrics' scores go along with it.

    People read captions of images in which the gender cannot be seen, and say whether they can tell it. The human score
    (GT) of a captioner is the percentage of yes: each image's share of its annotators, averaged over images.

    Args:
        answers: a file (CSV, TSV, JSON, JSONL, Parquet) or table with the columns `captioner`, `image_id` (or `image`),
            `answer` (yes or no, true or false, 1 or 0) and `annotator` (not needed if one person answered).
        scores: a file or table with the column `captioner` and a column of numbers for each metric; or a mapping, in a
            JSON file too, of each captioner's scores, `{"nic": {"lic": 3.7}}`. None for the human scores alone.
        bootstrap: replicates over images and annotators; 0 for no such intervals.
        seed: of the bootstrap.

    Raises:
        ValueError: input that cannot be read; the message names the first bad row and the way out.

    Warns:
        CaptionBiasWarning: images are left out, because a captioner has no answer for them.

    Source: ImageCaptioner2 (Bakr et al. 2023), section 5.5.1 and Table 5.

    >>> rows = [("nic", 1, "yes"), ("nic", 2, "no"), ("sat", 1, "no"), ("sat", 2, "no")]
    >>> captioner, image, answer = zip(*rows)
    >>> anonymousbench({"captioner": captioner, "image_id": image, "answer": answer}).human["nic"].value
    50.0
    """
    read = _read_answers(answers)
    metrics = {} if scores is None else _read_scores(scores, read.captioners)
    people = read.asked.shape[1]
    human = _human_scores(read, np.ones((read.images, 1)), np.ones((people, 1)))[:, 0]
    blocks = [_human_scores(read, *times) for times in resamples(read.images, people, bootstrap, seed)]
    replicates = np.concatenate(blocks, axis=1) if blocks else np.zeros((len(human), 0))
    agreement, alpha = _agreement(read)
    estimates = [
        Estimate(value, *_interval(value, drawn, (0.0, 100.0)))
        for value, drawn in zip(human.tolist(), replicates, strict=True)
    ]
    return AnonymousBench(
        images=read.images,
        annotators=people,
        human=dict(zip(read.captioners, estimates, strict=True)),
        scores=metrics,
        correlations={
            metric: _correlation(np.array([column[name] for name in read.captioners]), human, replicates)
            for metric, column in metrics.items()
        },
        agreement=agreement,
        alpha=alpha,
    )


def _read_answers(source: Any) -> _Answers:
    from scipy.sparse import csr_array

    table = as_table(source, "answers")
    names = _texts(table, "captioner")
    column = next((name for name in IMAGES if name in table.columns), IMAGES[0])
    images = image_keys(f"{table.name}: {column}", table.column(column))
    people = _texts(table, "annotator") if "annotator" in table.columns else ["the annotator"] * len(names)
    yes = [_answer(text, table, row) for row, text in enumerate(_texts(table, "answer"))]

    rows: dict[tuple[str, str, str], int] = {}
    for row, key in enumerate(zip(names, images, people, strict=True)):
        if (first := rows.setdefault(key, row)) != row:
            raise ValueError(
                f"{table.name}: rows {first} and {row} are both an answer of {key[2]} to the caption of image {key[1]} "
                f"by {key[0]}; keep one, or name annotators in a column 'annotator'"
            )
    answered = {name: {image for (captioner, image, _) in rows if captioner == name} for name in dict.fromkeys(names)}
    shared = set.intersection(*answered.values())
    if not shared:
        raise ValueError(f"{table.name}: no image has answers for each of {', '.join(answered)}; add answers")
    if left_out := len(set(images)) - len(shared):
        warnings.warn(
            f"{left_out:,} of {len(set(images)):,} images are left out: not every captioner has answers for them",
            CaptionBiasWarning,
            stacklevel=3,
        )
    used = [row for row, image in enumerate(images) if image in shared]
    captioners = list(answered)
    captioner = np.array([captioners.index(names[row]) for row in used])
    _, image = np.unique([images[row] for row in used], return_inverse=True)
    _, annotator = np.unique([people[row] for row in used], return_inverse=True)
    places = captioner * len(shared) + image, annotator
    shape = len(captioners) * len(shared), int(annotator.max()) + 1
    said_yes = np.array([yes[row] for row in used], np.float64)
    asked = csr_array((np.ones(len(used)), places), shape=shape)
    return _Answers(captioners, len(shared), asked, csr_array((said_yes, places), shape=shape))


def _texts(table: Table, column: str) -> list[str]:
    texts = ["" if is_missing(value) else str(value).strip() for value in table.column(column)]
    if "" in texts:
        raise ValueError(f"{table.name}: {column}[{texts.index('')}] is missing; add it or drop the row")
    return texts


def _answer(text: str, table: Table, row: int) -> bool:
    answer = ANSWERS.get(text.lower().removesuffix(".0"))
    if answer is None:
        value = table.column("answer")[row]
        raise ValueError(f"{table.name}: answer[{row}] is {value!r}; answer 'can you tell the gender?' with yes or no")
    return answer


def _read_scores(source: Any, captioners: list[str]) -> dict[str, dict[str, float]]:
    """Each metric's scores of these captioners."""
    where = str(source) if isinstance(source, (str, Path)) else "scores"
    content = _mapping_in(Path(source)) if where.lower().endswith(".json") else source
    if isinstance(content, Mapping) and "captioner" not in content:
        rows: dict[str, Any] = dict(content)
    else:
        table = as_table(source, "scores")
        names = _texts(table, "captioner")
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(f"{where}: {twice} has two rows of scores; give one row for each captioner")
        columns = {name: table.column(name) for name in table.columns if name != "captioner"}
        rows = {name: {key: column[row] for key, column in columns.items()} for row, name in enumerate(names)}
    if lacking := [name for name in captioners if not isinstance(rows.get(name), Mapping)]:
        raise ValueError(
            f"{where}: no scores of {', '.join(lacking)}; give those of every captioner with answers, as a row with "
            'the column captioner, or in JSON as {"captioner": {"metric": score}}'
        )
    metrics = dict.fromkeys(key for name in captioners for key in rows[name])
    if not metrics:
        raise ValueError(f"{where} has no scores; give a column of numbers for each metric")
    return {
        metric: {name: _number(rows[name].get(metric), where, name, metric) for name in captioners}
        for metric in metrics
    }


def _mapping_in(path: Path) -> Any:
    """A JSON file's mapping; the path of one that holds a table, or cannot be read."""
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError):
        return path
    return content if isinstance(content, dict) else path


def _number(value: Any, where: str, captioner: str, metric: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if isinstance(value, bool) or not np.isfinite(number):
        raise ValueError(f"{where}: {metric} of {captioner} is {value!r}; give a number, or leave the whole column out")
    return number


def _human_scores(answers: _Answers, images: Floats, annotators: Floats) -> Floats:
    """The percentage of yes, `(captioners, replicates)`.

    `images`, `annotators`: how often each counts in each replicate, `(images, replicates)`, `(annotators, replicates)`.
    A caption that nobody in a replicate has answered is left out of it.
    """
    asked, yes = answers.asked @ annotators, answers.yes @ annotators
    share = np.divide(yes, asked, out=np.zeros_like(yes), where=asked > 0).reshape(-1, *images.shape)
    weight = images * (asked > 0).reshape(-1, *images.shape)
    with np.errstate(invalid="ignore"):
        percent: Floats = 100 * (share * weight).sum(axis=1) / weight.sum(axis=1)
    return percent


def _correlation(scores: Floats, human: Floats, replicates: Floats) -> Correlation:
    """`scores`, `human`: `(captioners,)`. `replicates`: `(captioners, replicates)`."""
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
    return Correlation(value, *_interval(value, resampled, (-1.0, 1.0)), *over_captioners)


def _interval(value: float, replicates: Floats, bounds: tuple[float, float]) -> tuple[float | None, float | None]:
    known = replicates[~np.isnan(replicates)]
    return bootstrap_interval(value, known, bounds) if len(known) > 1 else (None, None)


def _agreement(answers: _Answers) -> tuple[float | None, float | None]:
    """The share of pairs of answers to one caption that agree, and Krippendorff's alpha of two nominal values.

    Source: Krippendorff, Content Analysis: alpha is 1 - observed / expected disagreement, each answer weighted alike.
    """
    asked, yes = answers.asked.sum(axis=1), answers.yes.sum(axis=1)
    asked, yes = asked[asked > 1], yes[asked > 1]
    if not len(asked):
        return None, None
    differing = yes * (asked - yes)
    agreement = 1 - differing.sum() / (asked * (asked - 1) / 2).sum()
    total, all_yes = asked.sum(), yes.sum()
    expected = 2 * all_yes * (total - all_yes) / (total - 1)
    alpha = 1 - (2 * differing / (asked - 1)).sum() / expected if expected else None
    return float(agreement), None if alpha is None else float(alpha)
