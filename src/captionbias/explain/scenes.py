"""The scenes whose captions of two persons tell most: how many there are, and what differs in the first of them."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from captionbias.arrays import Flags, Floats, Integers
from captionbias.captions import Captions, Words
from captionbias.metrics import Measurement
from captionbias.metrics.sway import SwayImages
from captionbias.text import Lexicon
from captionbias.text.content import content_words
from captionbias.text.lexicon import SEPARATOR
from captionbias.text.marks import find_marks

PAIRS = 24
WRONG, FOLLOWING, OTHER, ALIKE = range(4)  # how two captions differ, what tells most first


def telling_scenes(
    measured: Measurement,
    captions: Captions,
    said: Words,
    named: Flags,
    lexicons: Mapping[str, Lexicon],
    forms: Mapping[str, Sequence[str]],
    tokenizer: str,
) -> dict[str, Any]:
    """How many scenes tell something of a captioner, and pairs of images of those that tell most.

    Args:
        measured: its `sway` within scenes, with `details`.
        captions: one of each image; `said`: their words.
        named: which values each caption names, `(captions, values of the lexicon)`.
        lexicons: of `attribute` and `task`; `forms`: see `captionbias.text.content.word_forms`.
        tokenizer: the one that `sway` was measured with.

    Returns:
        `compared`: how many scenes are; `wrong`: in how many one of two persons is named wrong and the other right;
        `words`: in how many the captions of two differ in words that follow a value, and `along`: in how many of these
        as the words do; `telling`: in how many either, and where there is neither, in how many captions differ in other
        words. `pairs`: of at most 24 of these, wrong names first, each way to differ once before any twice, in the
        order of how much goes along, as `rows` of the two images: `row`, and start and end in its caption of each name
        that is `wrong`, and of each word that the other caption lacks, one `following` a value or one of the `others`.
        No scene and no two captions are there twice.
    """
    images: SwayImages = measured.artefacts
    value = np.zeros(len(captions), np.int64)
    value[images.row] = images.value
    named = named[: len(value), [lexicons["attribute"].labels.index(label) for label in images.values]]
    single, true = named.sum(axis=1) == 1, named[np.arange(len(value)), value]
    right, wrong = single & true, single & ~true
    content = content_words(said.model, lexicons["attribute"], lexicons["task"], tokenizer)
    words = (measured.details or {}).get("words", ())
    follows = _follows(words, content.words, images.values)

    scene, pairs = _pairs(images, captions.scene or ())
    apart = content.used[pairs[:, 0]] - content.used[pairs[:, 1]]
    along = np.take_along_axis(apart @ follows, value[pairs], axis=1) @ [1, -1]
    may = content.of_role | ~content.of_attribute
    following, others = (abs(apart) @ of for of in (follows.any(axis=1), may))
    is_wrong = (wrong[pairs] & right[pairs[:, ::-1]]).any(axis=1)
    kind = np.select([is_wrong, following > 0, others > 0], [WRONG, FOLLOWING, OTHER], ALIKE)
    order = np.lexsort((others, -along, kind))
    best = order[np.sort(np.unique(scene[order], return_index=True)[1])]
    telling = best[kind[best] <= (FOLLOWING if (kind <= FOLLOWING).any() else OTHER)]

    texts = captions.predictions or ()
    ways = apart[telling][:, follows.any(axis=1)].tolil().rows
    turns: Counter[Any] = Counter()
    in_turn: dict[tuple[str, str], tuple[int, int, list[int]]] = {}
    for pair, way in zip(telling, ways, strict=True):
        first, second = pairs[pair].tolist()
        if (texts[first], texts[second]) not in in_turn:
            differs = kind[pair], wrong[first], tuple(way)
            in_turn[texts[first], texts[second]] = int(kind[pair]), turns[differs], [first, second]
            turns[differs] += 1
    shown = [rows for *_, rows in sorted(in_turn.values(), key=lambda pair: pair[:2])][:PAIRS]
    rows = [row for pair in shown for row in pair]
    uses = {row: {content.words[column] for column in content.used[[row]].indices if may[column]} for row in rows}
    told = {row["word"] for row in words}
    listed = Lexicon("words", "", {word: tuple(forms[word]) for word in sorted(set().union(*uses.values()))})
    quoted = [texts[row] for row in rows]
    values_at, words_at = (
        dict(zip(rows, find_marks(quoted, lexicon, tokenizer), strict=True))
        for lexicon in (lexicons["attribute"], listed)
    )

    def marked(row: int, other: int) -> dict[str, Any]:
        lacks, own = uses[row] - uses[other], captions.attributes[row].split(SEPARATOR)
        values = values_at[row] if wrong[row] else ()
        return {
            "row": row,
            "wrong": [[start, end] for start, end, label in values if label not in (None, *own)],
            "following": [[start, end] for start, end, word in words_at[row] if word in lacks & told],
            "others": [[start, end] for start, end, word in words_at[row] if word in lacks - told],
        }

    def scenes(of: Flags) -> int:
        return len(np.unique(scene[of]))

    return {
        "compared": len(best),
        "wrong": scenes(is_wrong),
        "words": scenes(following > 0),
        "along": scenes(along > 0),
        "telling": len(telling),
        "pairs": [{"rows": [marked(first, second), marked(second, first)]} for first, second in shown],
    }


def _follows(rows: Sequence[Mapping[str, Any]], words: Sequence[str], values: Sequence[str]) -> Floats:
    """1 where a word follows a value, -1 where it follows the others, `(words, values)`."""
    numbers = {word: number for number, word in enumerate(words)}
    follows = np.zeros((len(words), len(values)))
    for row in rows:
        if row["word"] in numbers:
            follows[numbers[row["word"]], values.index(row["attribute"])] = np.sign(row["captioner"])
    return follows


def _pairs(images: SwayImages, scenes: Sequence[str]) -> tuple[Integers, Integers]:
    """Two images of a scene with different values, by the order of these: the number of the scene of each pair, and
    the rows `(pairs, 2)`."""
    by_scene: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for row, value in zip(images.row.tolist(), images.value.tolist(), strict=True):
        by_scene[scenes[row]].append((value, row))
    found = [
        (number, first[1], second[1])
        for number, of_scene in enumerate(by_scene.values())
        for first, second in itertools.combinations(sorted(of_scene), 2)
        if first[0] != second[0]
    ]
    numbered = np.array(found)
    return numbered[:, 0], numbered[:, 1:]
