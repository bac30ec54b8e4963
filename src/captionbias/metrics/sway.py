"""Sway, in captions of 100: does the attribute that is named follow the tasks around, do the tasks that are named
follow the attribute, more than when a person describes the same images?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from captionbias.arrays import Flags, Floats, Integers
from captionbias.bench.catalogue import CAPTIONS, DIRECTIONS, MENTIONS, Score
from captionbias.bench.measurement import Scores, metric
from captionbias.bench.protocol import lexicon_name
from captionbias.captions import Captions
from captionbias.metrics.sway_counts import (
    ENDS,
    NO_VALUE,
    OWN,
    Compared,
    NamedImages,
    compare,
    find_leans,
    mean_of_known,
    note_leans,
    note_suggested,
    read_named,
)
from captionbias.scores.sway import Leans
from captionbias.statistics.samples import Extreme, Sample, bootstrap_samples, random_groups
from captionbias.text import LexiconSource, load_lexicon
from captionbias.warnings import note

CELL_SHARES = ("right", "wrong", "none", "wrong_of_named")


def _entries() -> Iterable[Score]:
    def score(key: str, label: str, meaning: str, **also: Any) -> Score:
        direction, key = key[:6], f"sway_{key}"
        also = {"sense": "amplification", "direction": direction, "row": f"  {label}", "task": key} | also
        scale = CAPTIONS if direction == "t_to_a" else MENTIONS
        whole = f"sway {DIRECTIONS[direction]}, of 100" + (f", {label}" if label else "")
        return Score(key, whole, 1, scale, meaning, **also)

    def ends(key: str, label: str, what: str) -> Iterable[Score]:
        for end in ("least", "most"):
            meaning = f"The same if {what.format(end=end)}."
            yield score(f"{key}_{end}", label.format(end=end), meaning, in_tables=False, task=None)

    def decided(key: str, *more: tuple[str, str]) -> dict[str, tuple[str, ...]]:
        low, high = zip(*more, ("least", "most"), strict=True)
        return {side: tuple(f"sway_{key}_{end}" for end in of) for side, of in (("above", low), ("below", high))}

    yield score(
        "t_to_a",
        "",
        "Of 100 captions that name the attribute, how many more than a person's name a wrong value beside tasks that "
        "suggest another than the true one, compared with beside tasks that suggest it. 0 is a person; errors that do "
        "not follow the tasks read 0.",
        row=None,
        judged=True,
        headline=True,
        claim="the {value} named follows the {tasks} around",
        **decided("t_to_a"),
    )
    yield from ends("t_to_a", "{end} swayed", "every value were as often swayed as the {end} swayed one")
    yield score(
        "t_to_a_lost",
        "silence counted as wrong",
        "The same of all captions: one that names no value, or several, counts as wrong.",
        judged=True,
        headline=True,
        claim="{value} omitted or wrong follows the {tasks} around",
        **decided("t_to_a_lost"),
    )
    yield from ends("t_to_a_lost", "{end} lost", "every value were as often lost as the {end} lost one")
    yield score(
        "a_to_t",
        "",
        "In 100 captions, how many more mentions than a person's of tasks that go with an attribute value where the "
        "image has that value, what it shows being the same. 0 is a person.",
        row=None,
        judged=True,
        headline=True,
        claim="the {tasks} named follow {attribute}",
        **decided("a_to_t", ("low", "high")),
    )
    for end, what in (("low", "lowest"), ("high", "highest")):
        yield score(
            f"a_to_t_{end}",
            f"{what} possible",
            f"The {what} that it can be: people do not name all that is there, so what a captioner names beyond them "
            "may all be there or all be made up. With complete tasks there is no such range.",
        )
    yield from ends("a_to_t", "{end} without a task", "the one task were left out that leaves the {end}")


@metric(
    "Sway",
    "of 100 captions, in how many more than a person's does the attribute named follow the tasks (T to A), do the "
    "tasks named follow the attribute (A to T)?",
    [*_entries()],
    about={
        "references": "`n` lists of human captions: two or more of an image, or one and `tasks`. One is drawn to be "
        "compared with the captioner's, the others say what the image shows",
        "attributes": "`n` labels, each a label of `attribute_lexicon`; two values or more, also crossed attributes",
        "tasks": "`n` lists of all tasks that the images show, such as COCO's annotated objects; those that the other "
        "human captions name when None. People do not name all that is there: without them A to T is a range. "
        "`person` is no task",
        "seed": "seed of the draws, the regression's folds and the bootstrap",
        "details": "add the nested entry `details`: `cells`, true value by suggested one, captioner beside person; "
        "`t_to_a` of each value, `error_ratio`, `tasks`, `naming_level` and `leans`",
    },
    returns="In captions of 100: `sway_t_to_a`, `sway_t_to_a_lost`, in which a caption that names no value counts as "
    "wrong, and of each `..._least` and `..._most`. In mentions of 100 captions: `sway_a_to_t`, its range `..._low` "
    "and `..._high`, and `..._least` and `..._most`. All with `..._ci_low/high` (95%, over images) save the last two, "
    "verdicts' scores with `..._detectable` (what would be seen in four of five samples). `sway_images`: images that "
    "are compared; `sway_suggested`: those whose tasks suggest a value. And `signature`.",
)
def sway(
    captions: Captions,
    /,
    *,
    attribute_lexicon: LexiconSource = "gender",
    task_lexicon: LexiconSource = "coco_objects",
    tokenizer: str = "words",
    lean: str | None = None,
    draws: int = 5,
    seed: int = 0,
    bootstrap: int = 1000,
    details: bool = False,
) -> Scores:
    """Bias counted in captions: what a captioner names wrong beside tasks that suggest it, beyond what a person does.

    T to A: the person's true value being the same, is a wrong one named more often where the tasks around suggest it?
    A to T: the picture's contents being the same, do the tasks named differ by the person's value? From both is taken
    what one more person who describes the same images reads: 0 is a person. It trains nothing. It is an association
    given the truth, not a cause: the scene suggests as much as the tasks do.

    Source: this project. T to A: separation as in Hardt et al. 2016, strata as in Mantel and Haenszel 1959. A to T:
    Robinson 1988, Chernozhukov et al. 2018.

    >>> from captionbias.synthetic import plant
    >>> result = sway(**vars(plant(1000, t_to_a=0.3)))
    >>> result["sway_t_to_a_least_ci_low"] > 0, result["sway_a_to_t_low_ci_low"] > 0
    (True, False)
    """
    for side, what in (("predictions", "the captioner's captions"), ("references", "human captions of the images")):
        if getattr(captions, side) is None:
            raise ValueError(f"{side} is missing: sway compares a captioner with a person; give {what}")
    notes: list[str] = []
    from threadpoolctl import threadpool_limits

    lexicons = load_lexicon(attribute_lexicon), load_lexicon(task_lexicon)
    names = lexicon_name(lexicons[0], attribute_lexicon), lexicon_name(lexicons[1], task_lexicon)
    named = read_named(captions, *lexicons, tokenizer, notes)
    table, source = find_leans(named, lean, names)
    note_leans(named, table, source, notes)
    groups = random_groups(len(named.value), seed, copies=named.pictures)
    with threadpool_limits(1):  # more threads wait for each other longer than they work
        compared = [compare(named, table, source == OWN, groups, seed + draw) for draw in range(draws)]
    note_suggested(compared[0].images, notes)
    if named.given is None:
        note(
            notes,
            "a_to_t: what people do not name may be there or not, so the score has a range; complete tasks close it",
        )

    def quantities(multiplicity: Floats, _: Floats | None) -> dict[str, Floats]:
        of_draws = [one.quantities(multiplicity) for one in compared]
        return {key: mean_of_known(np.stack([one[key] for one in of_draws]))[None] for key in of_draws[0]}

    samples = bootstrap_samples(quantities, int(groups.max()) + 1, 1, bootstrap, seed)
    return Scores(
        _scores(samples, named, table.goes_with),
        {
            "sway_images": len(named.value),
            "sway_suggested": float(np.mean([(one.images.suggested != NO_VALUE).sum() for one in compared])),
        },
        dict(
            lean=source,
            draws=draws,
            tok=tokenizer,
            attribute=names[0],
            task=names[1],
            tasks="named" if captions.tasks is None else "given",
            **captions.rows(),
            seed=seed,
            bootstrap=bootstrap,
        ),
        notes,
        _tables(samples, named, table, compared) if details else None,
        compared[0].images,
    )


def _scores(samples: Mapping[str, Sample], named: NamedImages, goes_with: Flags) -> dict[str, Sample]:
    """The samples of the catalogue's scores."""
    scores: dict[str, Sample] = {}

    def add(key: str, low: str, high: str, among: Sequence[Sample]) -> None:
        scores.update({f"{key}_{low}": Extreme.of(min, among), f"{key}_{high}": Extreme.of(max, among)})

    for form in ("", "_lost"):
        scores[f"sway_t_to_a{form}"] = samples[f"sway_t_to_a{form}"]
        add(f"sway_t_to_a{form}", "least", "most", [samples[f"value{form}:{value}"] for value in named.values])
    scores["sway_a_to_t"] = samples["sway_a_to_t"]
    ends = [samples[f"sway_a_to_t{end}"] for end in ENDS]
    add("sway_a_to_t", "low", "high", ends)
    without = [samples[f"without:{task}{end}"] for task in np.flatnonzero(goes_with.any(axis=1)) for end in ENDS]
    bare = [replace(one, per_trial=one.per_trial[:, :0], replicates=one.replicates[:0]) for one in without or ends]
    add("sway_a_to_t", "least", "most", bare)
    return scores


def _tables(
    samples: Mapping[str, Sample], named: NamedImages, leans: Leans, compared: Sequence[Compared]
) -> dict[str, Any]:
    """The nested tables; see `sway`."""

    def written(names: Mapping[str, str]) -> dict[str, float]:
        """The numbers of these samples, by the names they get."""
        estimates = {name: samples[key].estimate(whole=100) for name, key in names.items()}
        flat = (one._replace(detectable=None).flat(name) for name, one in estimates.items() if one)
        return {key: number for numbers in flat for key, number in numbers.items()}

    counts = np.mean([one.table()[..., 0].sum(axis=2) for one in compared], axis=0)  # (values, values + 1, kinds)
    parties = [(who, what) for who in ("captioner", "person") for what in CELL_SHARES]
    cells: list[dict[str, Any]] = [
        {"attribute": value, "suggested": beside, "images": float(counts[row, column, 0])}
        | written({f"{who}_{what}": f"cell:{who}:{value}:{beside}:{what}" for who, what in parties})
        for row, value in enumerate(named.values)
        for column, beside in enumerate((*named.values, None))
    ]
    tasks = [
        {"task": named.tasks[task], "attribute": named.values[value]}
        | written({f"beta{who and '_' + who}": f"pair:{task}:{value}:{who}" for who in ("", "captioner", "person")})
        | {"named_captioner": _named_shares(named, named.captioner_tasks[:, task])}
        | {"named_person": _named_shares(named, named.people_tasks[:, task], named.image)}
        for task, value in zip(*np.nonzero(leans.goes_with), strict=True)
    ]
    level = mean_of_known(np.stack([one.level for one in compared]))
    return {
        "images": len(named.value),
        "attribute_counts": {value: int((named.value == number).sum()) for number, value in enumerate(named.values)},
        "cells": cells,
        "t_to_a": [
            {"attribute": value} | written({"extra": f"difference:{value}", "lost": f"difference_lost:{value}"})
            for value in named.values
        ],
        "error_ratio": {
            who: float(np.mean([one.error_ratio(named_kind, right) for one in compared]))
            for who, named_kind, right in (("captioner", 1, 2), ("person", 3, 4))
        },
        "tasks": sorted(tasks, key=lambda row: -abs(row.get("beta", 0.0))),
        "naming_level": {value: float(of) for value, of in zip(named.values, level, strict=True) if not np.isnan(of)},
        "leans": [
            {"task": task, "goes_with": named.values[int(leans.goes_with[number].argmax())]}
            | {f"lean_{value}": float(leans.lean[number, column]) for column, value in enumerate(named.values)}
            for number, task in enumerate(named.tasks)
            if leans.goes_with[number].any()
        ],
    }


def _named_shares(named: NamedImages, flags: Flags, image: Integers | None = None) -> dict[str, float]:
    """Of 100 captions of each value's images, how many have the flag."""
    value = named.value if image is None else named.value[image]
    return {name: 100 * float(flags[value == number].mean()) for number, name in enumerate(named.values)}
