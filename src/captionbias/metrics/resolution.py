"""Resolution: does a caption, or an answer, give the person at work the right gender, and of one gender as often as of
the other?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain
from typing import Any, cast

import numpy as np

from captionbias.arrays import Flags, Floats
from captionbias.bench.catalogue import PERCENT, SIGNED_PERCENT, Score
from captionbias.bench.checks import Rules
from captionbias.bench.counted import Columns, Counted, Sums, count, gaps
from captionbias.bench.measurement import Prepared, metric
from captionbias.bench.reading import Reading, read, read_labels, takes
from captionbias.captions import Captions
from captionbias.statistics.intervals import difference_interval, share_interval
from captionbias.statistics.samples import Estimate
from captionbias.text import Lexicon, LexiconSource, load_lexicon

CAPTIONS = "captions"
RULES = Rules(tasks_needed=False, main_person=True)
NOT_TAKEN = ("task_lexicon", "predicted_tasks", "training_attributes", "training_tasks")


def _entries() -> Iterable[Score]:
    bias: dict[str, Any] = {"two_sided": True, "beyond_margin": True, "claim": "{value} is resolved better of some"}
    for key, label, scale, meaning, more in (
        ("accuracy", "right, % of resolved", PERCENT, "Of 100 that resolve who is meant, those that are right.", {}),
        (
            "bias",
            "resolution bias",
            SIGNED_PERCENT,
            "The mean over occupations of the accuracy of one value minus that of another: of two values the first's "
            "minus the second's; of more the largest gap of one value to the mean of the others. 0 is best.",
            bias,
        ),
        ("unresolved", "unresolved, %", PERCENT, "Of 100 those that name no value of who is meant, or several.", {}),
    ):
        key = f"resolution_{key}"
        yield Score(key, label, 1, scale, meaning, headline=True, against_a_person=True, task=key, **more)


@metric(
    "Resolution",
    "is the person at work given the right gender, of one gender as often as of the other?",
    _entries(),
    about={
        "references": "`n` lists of human captions, for `..._human` and `..._excess` alone",
        "attributes": "`n` labels of the person at work, each a label of `attribute_lexicon`",
        "tasks": "`n` lists of the occupation of that person. None: of all images together",
        "task_lexicon": "the words of occupations: a JSON file, a `.txt` of names, or in Python a mapping; those of "
        "the names in `tasks`, as VisoGender has them, when None",
        "predicted_attributes": "instead of captions, `n` labels that were answered (to yes or no, or a choice): a "
        "list of one, of none where nothing is resolved",
    },
    returns="`resolution_accuracy`, `resolution_bias` and `resolution_unresolved`, with human captions also "
    "`..._human` and `..._excess`. Each with `..._ci_low/high` (95%, over images). Facts: "
    "`resolution_accuracy_<value>`, of images of each value. Details: `occupations`, each with its images, the "
    "accuracy of each value and of two values their difference, with intervals (Wilson 1927, Newcombe 1998). And "
    "`signature`.",
)
@takes(without=NOT_TAKEN)
def resolution(
    captions: Captions | None = None,
    /,
    *,
    task_lexicon: LexiconSource | None = None,
    controls: bool = True,
    seed: int = 0,
    bootstrap: int = 1000,
    details: bool = False,
    **inputs: Any,
) -> Prepared:
    """Whether captions or answers give the person at work the right gender: resolution accuracy, and resolution bias,
    its difference between genders within occupations.

    A caption resolves the value that stands before the occupation ("a female doctor"), else that of the person whom it
    is about, by nouns and pronouns ("the doctor and her patient"). Measure pictures of one person, of two alike and of
    two who differ each by themselves: in the last the other person's gender is there to be taken.

    Source: Hall et al. 2023.

    >>> said = ["The doctor and her patient", "The doctor and his patient", "a doctor at his desk", "his"]
    >>> doctors = [["doctor"]] * 4
    >>> result = resolution(predictions=said, attributes=["female", "female", "male", "male"], tasks=doctors)
    >>> result["resolution_accuracy"], result["resolution_bias"]
    (75.0, -50.0)
    """
    before = None
    if captions is None:
        reading = read_labels(None, **inputs)
    else:
        values, tokenizer, occupations = inputs["attribute_lexicon"], inputs["tokenizer"], task_lexicon
        if occupations is None and (names := {*chain(*(captions.tasks or ()))}):
            known = load_lexicon("visogender_occupations").groups
            occupations = {
                one: [one, *(word for word in known.get(one, ()) if word not in names)] for one in sorted(names)
            }
        reading = read(captions, values, occupations, tokenizer, RULES)
        if occupations is not None:
            lexicons = load_lexicon(values), load_lexicon(occupations)
            before = _before_tasks(cast(Captions, reading.captions), *lexicons, tokenizer)
    counted = partial(_counted, before=before)
    return count("resolution", reading, counted, {}, controls=controls, seed=seed, bootstrap=bootstrap)


def _before_tasks(captions: Captions, values: Lexicon, tasks: Lexicon, tokenizer: str) -> Flags:
    """Of each caption of both sides the values named right before a task, as in "a female doctor"."""
    mentions, of_tasks = captions.mentions(values, tokenizer), captions.mentions(tasks, tokenizer)
    before = mentions.select(np.isin(mentions.starts + mentions.lengths, of_tasks.starts))
    return before.named(captions.words(tokenizer).tokens, len(values.labels))


def _counted(reading: Reading, before: Flags | None) -> Counted:
    """Of each caption whether it resolves the value, and rightly, in columns of its image's occupation and value."""
    side = reading.predictions
    named = side.values if side.main is None else side.main
    if before is not None:
        named = np.where(before[side.row].any(axis=1, keepdims=True), before[side.row], named)
    truth = reading.truth.values[side.image]
    resolved = named.sum(axis=1) == 1
    kinds = np.column_stack((np.ones(len(named)), resolved, resolved & (named & truth).any(axis=1)))
    tasks = np.flatnonzero(reading.truth.tasks.any(axis=0))
    of_tasks = np.column_stack((np.ones(len(reading)), reading.truth.tasks[:, tasks]))[side.image]
    columns = of_tasks[:, :, None, None] * truth[:, None, :, None] * kinds[:, None, None, :]

    def table(sums: Sums) -> Floats:
        """Captions, those resolved and those right, of all images and of each occupation, `(1 + occupations, values, 3,
        replicates)`."""
        return sums[CAPTIONS].reshape(*columns.shape[1:], -1)

    def formula(sums: Sums) -> dict[str, Floats]:
        everyone, *occupations = table(sums)
        captions, resolved, right = everyone.sum(axis=0)
        between = np.array([gaps(100 * of[:, 2] / of[:, 1]) for of in occupations or [everyone]])
        known = ~np.isnan(between)
        return {
            "resolution_accuracy": 100 * right / resolved,
            "resolution_bias": np.where(known, between, 0.0).sum(axis=0) / known.sum(axis=0),
            "resolution_unresolved": 100 - 100 * resolved / captions,
        }

    def told(sums: Sums) -> tuple[dict[str, float], dict[str, Any]]:
        everyone, *occupations = table(sums)[..., 0].tolist()
        levels = _levels(reading.values, everyone)
        facts = {f"resolution_accuracy_{row['attribute']}": row["accuracy"] for row in levels if "accuracy" in row}
        rows = [
            {"task": reading.tasks[task], **_difference(of), "by_attribute": _levels(reading.values, of)}
            for task, of in zip(tasks, occupations, strict=True)
        ]
        return facts, reading.image_counts() | {"occupations": rows}

    return Counted({CAPTIONS: Columns(side, columns.reshape(len(named), -1))}, formula, told)


def _levels(values: Sequence[str], counts: Sequence[Sequence[float]]) -> list[dict[str, Any]]:
    """Of each value its captions, those resolved, and the share of these that is right."""
    return [
        {"attribute": value, "captions": captions, "resolved": resolved}
        | (Estimate(*share_interval(right, resolved)).flat("accuracy") if resolved else {})
        for value, (captions, resolved, right) in zip(values, counts, strict=True)
    ]


def _difference(counts: Sequence[Sequence[float]]) -> dict[str, float]:
    """Of two values that are resolved how much more often the first is right."""
    shares = [share_interval(right, resolved) for _, resolved, right in counts if resolved]
    return Estimate(*difference_interval(*shares)).flat("bias") if len(shares) == len(counts) == 2 else {}
