"""The third question: which words follow the attribute, more than in people's captions?"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from captionbias.arrays import Flags, Floats, Integers, sparse
from captionbias.bench.catalogue import TIES
from captionbias.errors import phrase
from captionbias.metrics.sway.question import QuestionResult, SwayInput, constant, entry
from captionbias.scores import words as scoring
from captionbias.scores.misnaming import share_of
from captionbias.statistics.samples import LEAST_IMAGES, LowerBound, Sample, bootstrap_samples
from captionbias.text.content import ContentWords
from captionbias.warnings import note

DRAWS = 3
WHAT, MOST = "words that follow the attribute", "sway_words_most"
ENTRIES = (
    entry(
        WHAT,
        TIES,
        "sway_words",
        "",
        "In how many more of 100 captions than people's the captioner uses words where the image has the value that "
        "they go with, what it shows being the same: half the sum over words that one half of the images chooses, "
        "counted on the other. It is what was found, at least, so it has no upper end.",
        sense="amplification",
        judged=True,
        beyond_margin=True,
        headline=True,
        confirmed_by=(MOST,),
        claim="the other words follow {attribute}",
    ),
    entry(
        WHAT,
        TIES,
        MOST,
        "most",
        "The same of the one word that follows a value most, of those that surely do; 0 if none does.",
        row=None,
        task=None,
    ),
)


class Tied(NamedTuple):
    """The captioner's words beside people's, of the images that have captions enough."""

    words: tuple[str, ...]  # of both sides
    said: Any  # by the captioner of each image, `(images, words)`; of several captions the share that does
    may: Flags  # which words may be told of
    references: scoring.References
    length: float  # how many content words the captioner uses for each of people's


def answer(asked: SwayInput) -> QuestionResult:
    """What was found of words that follow the attribute, and how much would have been."""
    tied = _tied(asked)
    if tied is None:
        return QuestionResult({}, dict)
    said, references, values = tied.said, tied.references, asked.named.values
    tested = scoring.frequent_words(said, references, tied.may)
    ties = scoring.find_ties(said, references, tested)
    listed = scoring.list_words(ties)
    seen = scoring.detectable_share(references, len(tested), asked.seed)
    scores: dict[str, Sample] = {MOST: constant(np.abs(ties.beyond[listed.listed & ties.more]).max(initial=0.0))}
    if found := scoring.found_words(said, references, tested):
        least = None if np.isnan(seen).any() else float(seen.max())
        scores["sway_words"] = LowerBound(**vars(_sample(found, asked)), seen=least)
    levels = zip(values, scoring.level(said, references).tolist(), strict=True)
    facts = {f"sway_words_level_{value}": level for value, level in levels} | {"sway_words_length": tied.length}
    return QuestionResult(scores, partial(_details, tied, tested, ties, listed, seen, asked), facts)


def _sample(amount: scoring.Amount, asked: SwayInput) -> Sample:
    """The bootstrap of an amount."""

    def quantities(multiplicity: Floats, _: Floats | None) -> dict[str, Floats]:
        return {"amount": np.asarray(amount.value + amount.pull @ (multiplicity - 1))[None]}

    return replace(bootstrap_samples(quantities, scoring.UNITS, 1, asked.replicates, asked.seed)["amount"], images=0)


def _tied(asked: SwayInput) -> Tied | None:
    """The words of both sides; None, with a note, where too few images have captions enough."""
    named, captions = asked.named, asked.captions
    words, spoken = captions.words(asked.tokenizer), (asked.attribute, asked.task, asked.tokenizer)
    human, both = asked.content[1], asked.content_of_both
    used = both.used[: len(words.model_image)], both.used[len(words.model_image) :]
    by_side = zip((words.model_image, words.human_image), used, strict=True)
    said, people = (_of_images(image, len(captions), table)[named.row] for image, table in by_side)
    lengths = [float(named.weight @ table.sum(axis=1)) for table in (said, people)]
    join, captions_of_each = asked.join, np.bincount(named.image, minlength=len(named.value))
    places = np.flatnonzero((captions_of_each > join) | (named.scene is not None))
    pictures = np.unique(np.column_stack((named.value, named.picture))[places], axis=0)[:, 0]
    few = np.bincount(pictures, minlength=len(named.values)).min() < LEAST_IMAGES
    if few and named.scene is not None:
        of_what = "scenes with" if captions.scene else "images of"
        text = f"words are not compared: it takes {LEAST_IMAGES} {of_what} each value"
        note(asked.notes, text, about="attributes")
    elif few or len(places) < len(named.value):
        left_out = "not compared" if few else f"compared without {len(named.value) - len(places):,} images"
        longer = f", for the captioner's are as long as {join} joined" if join > 1 else ""
        text = f"words are {left_out}: it takes more than {join} human caption{'s' * (join > 1)} of an image{longer}"
        note(asked.notes, text, about="references")
    if few:
        return None
    for part in asked.attribute.parts or (asked.attribute,):
        if not part.roles:
            template = (
                "{attribute_lexicon} {!r} has no roles, which tell which words say the same of another value: its "
                "words are left out of those that follow the attribute"
            )
            note(asked.notes, phrase(template, part.name))
    made_of = *spoken, captions.attributes, captions.weights, captions.tasks, captions.scene, join, asked.seed
    fitted = captions.cached("ties", made_of, lambda: _fitted(asked, human, places, join))
    if fitted is None:
        note(asked.notes, "words are not compared: human captions are too few to say what images show")
        return None
    references = replace(fitted, drawn=tuple(_widened(table, len(both.words)) for table in fitted.drawn))
    may = both.of_role | ~both.of_attribute
    return Tied(both.words, said[places], may, references, float(share_of(*lengths)))


def _fitted(asked: SwayInput, human: ContentWords, places: Integers, join: int) -> scoring.References | None:
    """What is the same beside any captioner, of the images at these places; None if no word says what they show."""
    from scipy.sparse import csr_array

    named = asked.named
    if named.scene is not None:
        said_by_none = None, csr_array((len(named.value), 0))
        return scoring.fit_references(
            named.value, [said_by_none], named.weight, named.picture, asked.seed, len(named.values), named.scene
        )
    rows = np.flatnonzero(np.isin(asked.captions.words(asked.tokenizer).human_image, named.row[places]))
    image = np.searchsorted(places, named.image[np.isin(named.image, places)])
    used, weight = human.used[rows], named.weight[places]
    _, picture = np.unique(named.picture[places], return_inverse=True)
    columns = scoring.context_words(used, ~human.of_attribute, weight[image])
    if not len(columns):
        return None
    drawn = scoring.distinct_draws(image, DRAWS, join, asked.seed, picture)
    tasks = None if named.given_tasks is None else _commonest(named.given_tasks[places])
    draws = scoring.people_draws(used, image, drawn, columns, tasks)
    return scoring.fit_references(named.value[places], draws, weight, picture, asked.seed, len(named.values))


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
    tied: Tied, tested: Integers, ties: scoring.Ties, listed: scoring.Listed, seen: Floats, asked: SwayInput
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
            "word": tied.words[told[number]],
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
        "words_seen": {value: None if np.isnan(of) else of for value, of in zip(values, seen.tolist(), strict=True)},
    }
