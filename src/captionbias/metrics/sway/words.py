"""The third question: which words follow the attribute, more than in people's captions?"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from captionbias.arrays import Flags, Floats, Integers, sparse
from captionbias.bench.catalogue import TIES
from captionbias.errors import phrase
from captionbias.metrics.sway.images import NamedImages
from captionbias.metrics.sway.question import QuestionResult, SwayInput, entry, numbers
from captionbias.scores import words as scoring
from captionbias.scores.misnaming import share_of
from captionbias.statistics.samples import LEAST_IMAGES, LowerBound, Sample, bootstrap_samples
from captionbias.text.content import CONTENT, ContentWords, kinds_of_content
from captionbias.warnings import note

DRAWS, MANY = 3, 20  # of the person; words that are put in together
LONGER, UNSAID = 1.5, 0.001  # as many content words; of human captions, of words that people never write
RARE = tuple(f"rare words ({least} to {most} uses)" for least, most in scoring.RARITIES)
KEY = "sway_words"
THEY_MAY_BE_THERE = "they may be there: people's captions are shorter, and never say such words"
ENTRIES = (
    entry(
        "words that follow the attribute",
        TIES,
        KEY,
        "",
        "In how many more of 100 captions of one value than of people's the captioner uses any of the words that "
        "follow it, in pictures that show the same: one half of the images chooses the words, the other counts "
        "captions. The value is the one with the highest lower end. It says what was found, at least, so it has no "
        "upper end.",
        sense="amplification",
        judged=True,
        beyond_margin=True,
        headline=True,
        claim="the other words follow {attribute}",
    ),
)


class Tied(NamedTuple):
    """The captioner's words beside people's, of the images that have captions enough."""

    words: ContentWords  # of both sides
    said: Any  # by the captioner of each image, `(images, words)`; of several captions the share that does
    references: scoring.References
    level: Floats  # see `scoring.level`
    length: float  # how many content words the captioner uses for each of people's
    halvings: list[scoring.Candidates]
    columns: tuple[str, ...]  # of candidates
    pools: Mapping[str, Flags]  # those of many words, and their words in one draw

    @property
    def may(self) -> Flags:
        """Which words may be listed."""
        return self.words.content & (self.words.of_role | ~self.words.of_attribute)


def answer(asked: SwayInput) -> QuestionResult:
    """What was found of words that follow the attribute, and how much would have been."""
    tied = _tied(asked)
    if tied is None:
        return QuestionResult({}, dict)
    references, values = tied.references, asked.named.values
    tested = scoring.frequent_words(tied.said, references, tied.may)
    ties = scoring.find_ties(tied.said, references, tested, tied.level)
    listed = scoring.list_words(ties)
    followed = scoring.followed(references, tied.halvings)
    samples: list[LowerBound] = []
    one, many = (scoring.detectable_share(references, words, asked.seed).max() for words in (1, MANY))
    scores: dict[str, Sample] = {}
    doubts: dict[str, str] = {}
    if followed:
        samples = [_sample(of_value.amount, asked, None if np.isnan(one) else float(one)) for of_value in followed]
        lows = [sample.estimate().ends[0] for sample in samples]  # type: ignore[union-attr]
        scores[KEY] = samples[int(np.argmax(lows))]
        longer = asked.named.scene is None and tied.length >= LONGER
        if longer and max(lows) > 0 and _are_unsaid(tied, followed):
            doubts[KEY] = THEY_MAY_BE_THERE
            ways = "give paragraphs of people", phrase("what pictures show as {tasks}")
            note(asked.notes, "words that people never write in short captions follow the value", *ways)
    levels = zip(values, tied.level.tolist(), strict=True)
    facts = {f"sway_words_level_{value}": level for value, level in levels} | {"sway_words_length": tied.length}
    facts |= {"sway_words_seen": float(one), f"sway_words_seen_{MANY}": float(many)}
    return QuestionResult(
        scores, partial(_details, tied, tested, ties, listed, followed, samples, asked), facts, doubts
    )


def _sample(amount: scoring.Amount, asked: SwayInput, seen: float | None) -> LowerBound:
    """The bootstrap of an amount of one of the values."""

    def quantities(multiplicity: Floats, _: Floats | None) -> dict[str, Floats]:
        return {"amount": np.asarray(amount.value + amount.pull @ (multiplicity - 1))[None]}

    sample = bootstrap_samples(quantities, scoring.UNITS, 1, asked.replicates, asked.seed)["amount"]
    return LowerBound(**vars(sample) | {"images": 0, "chosen_of": len(asked.named.values)}, seen=seen)


def _are_unsaid(tied: Tied, followed: Sequence[scoring.Followed]) -> bool:
    """Whether the columns that were chosen are mostly words that people hardly ever write."""
    chosen = [column for of_value in followed for column in _shown(of_value)]
    uses = np.mean([of_draw.person.sum(axis=0) for of_draw in tied.halvings], axis=0)
    return bool(chosen) and float(np.mean(uses[chosen] < UNSAID * len(tied.references.value))) > 0.5


def _shown(followed: scoring.Followed) -> list[int]:
    """The columns that half of the choices have."""
    return [column for column, times in followed.columns.most_common() if times >= scoring.HALVINGS]


def can_be_scored(named: NamedImages, without: int) -> bool:
    """Whether there are pictures enough for a score, with so many that the captioner is silent about."""
    places = _places(named)
    pictures = len(np.unique(named.picture[places])) + without
    return pictures >= scoring.LEAST_SCORED and bool(named.pictures(places).min() >= LEAST_IMAGES)


def _places(named: NamedImages) -> Integers:
    """The images that have captions enough."""
    captions = np.bincount(named.image, minlength=len(named.value))
    return np.flatnonzero((captions > 1) | named.single | (named.scene is not None))


def _tied(asked: SwayInput) -> Tied | None:
    """The words of both sides; None, with a note, where too few images have captions enough."""
    named, captions = asked.named, asked.captions
    words, spoken = captions.words(asked.tokenizer), (asked.attribute, asked.task, asked.tokenizer)
    human, both = asked.content[1], asked.content_of_both
    used = both.used[: len(words.model_image)], both.used[len(words.model_image) :]
    by_side = zip((words.model_image, words.human_image), used, strict=True)
    said, people = (_of_images(image, len(captions), table)[named.row] for image, table in by_side)
    lengths = [float(named.weight @ (table @ both.content.astype(np.float64))) for table in (said, people)]
    places = _places(named)
    few = named.pictures(places).min() < LEAST_IMAGES
    if few and named.scene is not None:
        of_what = "scenes with" if captions.scene else "images of"
        text = f"words are not compared: it takes {LEAST_IMAGES} {of_what} each value"
        note(asked.notes, text, about="attributes")
    elif few or len(places) < len(named.value):
        left_out = "not compared" if few else f"compared without {len(named.value) - len(places):,} images"
        note(asked.notes, f"words are {left_out}: it takes two human captions of an image", about="references")
    if few:
        return None
    for part in asked.attribute.parts or (asked.attribute,):
        if not part.roles:
            template = (
                "{attribute_lexicon} {!r} has no roles, which say which words mean the same for different values, so "
                "its words are not among those that follow the attribute"
            )
            note(asked.notes, phrase(template, part.name))
    made_of = *spoken, captions.attributes, captions.weights, captions.tasks, captions.scene, asked.seed
    fitted, left = captions.cached("ties", made_of, lambda: _fitted(asked, human, places))
    if fitted is None:
        note(asked.notes, "words are not compared: there are too few human captions to say what images show")
        return None
    references = replace(fitted, drawn=tuple(_widened(table, len(both.words)) for table in fitted.drawn))
    level, length = scoring.level(said[places], references, both.content), float(share_of(*lengths))
    longer = max(1.0, np.nan_to_num(length, posinf=1.0))  # without people nothing is
    measure = longer * np.nan_to_num(level, nan=1.0)[references.value]
    halvings, columns, pools = _candidates(both, said[places], references, measure, named, left)
    return Tied(both, said[places], references, level, length, halvings, columns, pools)


def _candidates(
    words: ContentWords,
    said: Any,
    references: scoring.References,
    measure: Floats,
    named: NamedImages,
    left: Sequence[Floats],
) -> tuple[list[scoring.Candidates], tuple[str, ...], dict[str, Flags]]:
    """Of each halving the columns that may be chosen, and their names: words, but those of tasks, which are asked of
    elsewhere, unless all tasks are given; and pools, with their words. `measure`: how much the captioner says of each
    image for each of people's words; `left`: of each draw how often human captions that are not drawn use each of their
    words."""
    from scipy.sparse import hstack

    asked_of = ~words.of_task | (named.scene is not None) | (named.given_tasks is not None)
    may, poolable = (words.of_role | ~words.of_attribute) & asked_of, words.content & ~words.of_attribute & asked_of
    halvings, rare = [], list[Flags]()
    for draw in range(scoring.HALVINGS if references.halves else 0):
        person = references.drawn[draw % len(references.drawn)]
        if left:
            of_draw = left[draw % len(left)]
            rare = scoring.rarities(np.pad(of_draw, (0, len(may) - len(of_draw))), poolable)
        captioner, people = (
            hstack([table[:, may], *(scoring.any_of(table, pool) for pool in rare)], format="csr")
            for table in (said, person)
        )
        people = people.multiply(measure[:, None]).tocsr()
        if named.single and named.given_tasks is None:  # what pictures show moves what is said, as often as it is said
            people = people.multiply(_times_as_often(captioner, people)).tocsr()
        halvings.append(scoring.Candidates(captioner, people))
    return halvings, (*itertools.compress(words.words, may), *RARE), dict(zip(RARE, rare, strict=False))


def _times_as_often(captioner: Any, people: Any) -> Floats:
    """How often the captioner uses each column for each time that people do, at least 1; 1 of what these hardly say."""
    own, other = (np.ravel(table.sum(axis=0)) for table in (captioner, people))
    ratio = np.divide(own, other, out=np.ones_like(own), where=other >= scoring.LEAST_CHOSEN)
    return np.maximum(ratio, 1.0)[None, :]


def _fitted(asked: SwayInput, human: ContentWords, places: Integers) -> tuple[scoring.References | None, list[Floats]]:
    """What is the same beside any captioner, of the images at these places, None if no word says what they show; and of
    each draw how often the human captions that are not drawn use each word."""
    from scipy.sparse import csr_array

    named = asked.named
    value, weight = named.value[places], named.weight[places]
    _, picture = np.unique(named.picture[places], return_inverse=True)
    if named.scene is not None:
        by_none = None, csr_array((len(value), 0))
        return scoring.fit_references(value, [by_none], weight, picture, asked.seed, len(named.values), named.scene), []
    rows = np.flatnonzero(np.isin(asked.captions.words(asked.tokenizer).human_image, named.row[places]))
    image = np.searchsorted(places, named.image[np.isin(named.image, places)])
    used, keys = human.used[rows], named.key[np.isin(named.image, places)]
    may = human.content & ~human.of_attribute & (not named.single)
    columns = scoring.context_words(used, may, weight[image])
    columns = columns[np.argsort(np.array(human.words, object)[columns], kind="stable")]
    tasks = None if named.given_tasks is None else _commonest(named.given_tasks[places])
    if not len(columns) and not named.single:
        return None, []
    drawn = scoring.distinct_draws(image, keys, 1 if named.single else DRAWS, asked.seed)
    draws = scoring.people_draws(used, image, drawn, columns, tasks)
    every = np.ravel(used.sum(axis=0))
    left = [every - np.ravel(used[of_draw].sum(axis=0)) for of_draw in drawn if not named.single]
    fitted = scoring.fit_references(value, draws, weight, picture, asked.seed, len(named.values))
    return fitted, left


def _commonest(tasks: Any) -> Any:
    """The tasks that most images show, at most as many as there are words of people's that say what a picture shows."""
    columns = np.argsort(-tasks.sum(axis=0), kind="stable")[: scoring.CONTEXTS]
    return tasks[:, np.sort(columns)]


def _widened(table: Any, words: int) -> Any:
    """The table with empty columns for further words."""
    return type(table)((table.data, table.indices, table.indptr), shape=(table.shape[0], words))


def _of_images(image: Integers, images: int, table: Any) -> Any:
    """The share of each image's captions that use each word, `(images, words)`."""
    share = 1 / np.bincount(image, minlength=images)[image]
    return sparse(share, (image, np.arange(len(image))), (images, len(image))) @ table


def _details(
    tied: Tied,
    tested: Integers,
    ties: scoring.Ties,
    listed: scoring.Listed,
    followed: Sequence[scoring.Followed],
    samples: Sequence[Sample],
    asked: SwayInput,
) -> dict[str, Any]:
    references, values, sides = tied.references, asked.named.values, asked.sides
    contrast, column = np.nonzero(listed.listed)
    larger = np.where(ties.more, ties.captioner, ties.person)[contrast, column]
    sign = np.where((larger < 0) & (len(values) == 2), -1, 1)  # of two values a tie is with the one or with the other
    of_value = references.weights * (references.value == np.arange(len(values))[:, None])
    of_value = 100 * of_value / of_value.sum(axis=1, keepdims=True)
    told = tested[column]
    uses = [
        np.mean([of_value @ table[:, told].toarray() for table in tables], axis=0)
        for _, tables in zip(sides, ([tied.said], references.drawn), strict=False)
    ]
    rows = [
        {
            "word": tied.words.words[told[number]],
            "attribute": values[at[0] + (sign[number] < 0)],
            **{name: float(sign[number] * getattr(ties, name)[at]) for name in (*sides, "beyond")},
            "beyond_ci_low": float(sign[number] * ties.beyond[at] - scoring.Z * ties.error[at]),
            "beyond_ci_high": float(sign[number] * ties.beyond[at] + scoring.Z * ties.error[at]),
            "q": float(listed.q[at]),
            "kind": "more" if ties.more[at] else "less",
            "scaled": bool(ties.also_scaled[at]),
        }
        | {
            f"uses_{side}": dict(zip(values, of[:, number].tolist(), strict=True))
            for side, of in zip(sides, uses, strict=True)
        }
        for number, at in enumerate(zip(contrast.tolist(), column.tolist(), strict=True))
    ]
    return {
        "words": sorted(rows, key=lambda row: -abs(row["beyond"])),
        "words_chosen": _chosen(tied, followed, samples, of_value, asked),
    }


def _chosen(
    tied: Tied, followed: Sequence[scoring.Followed], samples: Sequence[Sample], of_value: Floats, asked: SwayInput
) -> list[dict[str, Any]]:
    """Of each value what was found, and the columns that half of the choices have, with the share of its captions that
    uses each, of the captioner's and of people's."""
    rows: list[dict[str, Any]] = []
    for number, (found, sample) in enumerate(zip(followed, samples, strict=True)):
        columns = _shown(found)
        uses = {
            side: np.mean([of_value[number] @ getattr(of, side)[:, columns].toarray() for of in tied.halvings], axis=0)
            for side in asked.sides
        }
        listed = [
            {"words": tied.columns[column]} | {f"uses_{side}": float(of[place]) for side, of in uses.items()}
            for place, column in enumerate(columns)
        ]
        row = {"attribute": asked.named.values[number], **numbers({KEY: sample}), "columns": listed}
        rows.append(row | {"content": _content(tied, columns, of_value[number])})
    return rows


def _content(tied: Tied, columns: Sequence[int], weights: Floats) -> list[dict[str, Any]]:
    """What captions with the chosen words are about: how many of 100 use a word of each kind, and of 100 others;
    `weights`: of the images."""
    names, words = {tied.columns[column] for column in columns}, np.array(tied.words.words, object)
    chosen = np.any([np.isin(words, [*names]), *(tied.pools[name] for name in names & tied.pools.keys())], axis=0)
    kinds, use = np.array(kinds_of_content(words)), scoring.any_of(tied.said, chosen).toarray()[:, 0]
    rows = list[tuple[float, float, str]]()
    for kind in CONTENT:
        of_kind = scoring.any_of(tied.said, kinds == kind).toarray()[:, 0]
        uses, others = (float(100 * share_of(weights @ (side * of_kind), weights @ side)) for side in (use, 1 - use))
        rows.append((others - uses, uses, kind))
    return [{"content": kind, "uses": uses, "uses_others": less + uses} for less, uses, kind in sorted(rows) if uses]
