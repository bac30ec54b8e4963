"""The scenes whose captions of two persons tell most: how many there are, and what differs in the first of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations
from operator import itemgetter
from typing import Any

import numpy as np

from captionbias.arrays import Flags, Integers
from captionbias.captions import Captions
from captionbias.metrics import Measurement
from captionbias.metrics.sway import SwayImages
from captionbias.text import Lexicon
from captionbias.text.lexicon import SEPARATOR
from captionbias.text.marks import find_marks

PAIRS = 24
WRONG, FOLLOWING, OTHER, ALIKE = range(4)  # how two captions differ, what tells most first


def telling_scenes(
    measured: Measurement,
    captions: Captions,
    first: Integers,
    named: Flags,
    lexicons: Mapping[str, Lexicon],
    forms: Mapping[str, Sequence[str]],
    tokenizer: str,
) -> dict[str, Any]:
    """How many scenes tell something of a captioner, and pairs of images of those that tell most.

    Args:
        measured: its `sway` within scenes, with `details`.
        captions: one of each image; `first`: the row of each among those that were measured.
        named: which values each caption names, `(captions, values of the lexicon)`.
        lexicons: of `attribute` and `task`; `forms`: see `captionbias.text.content.word_forms`.
        tokenizer: the one that `sway` was measured with.

    Returns:
        `compared`: how many scenes are; `wrong`: in how many one of two persons is named wrong and the other right;
        `words`: in how many the captions of two differ in words that follow a value, and `along`: in how many of these
        as the words do; `telling`: in how many either, and where there is neither, in how many captions differ in other
        words. `pairs`: of at most 24 of these, wrong names first, each way to differ once before any twice, in the
        order of how much goes along, as `rows` of the two images: `row`, and as `marks` of its caption start, end and
        what is there, a name that is `wrong`, or a word that the other caption lacks, `following` a value or another.
        No scene and no two captions are there twice.
    """
    images: SwayImages = measured.artefacts.images
    content = images.content._replace(used=images.content.used[first])
    value = np.zeros(len(captions), np.int64)
    value[images.row] = images.value
    named = named[: len(value), [lexicons["attribute"].labels.index(label) for label in images.values]]
    single, true = named.sum(axis=1) == 1, named[np.arange(len(value)), value]
    right, wrong = single & true, single & ~true
    word_rows = (measured.details or {}).get("words", ())
    follows = np.zeros((len(content.words), len(images.values)))  # 1 a value, -1 the others
    for row in word_rows:
        follows[np.array(content.words) == row["word"], images.values.index(row["attribute"])] = np.sign(
            row["captioner"]
        )

    scene, pairs = _of_two_values(images, captions.scene or ())
    apart = content.used[pairs[:, 0]] - content.used[pairs[:, 1]]
    along = np.take_along_axis(apart @ follows, value[pairs], axis=1) @ [1, -1]
    may = content.content & (content.of_role | ~content.of_attribute)
    following, others = (abs(apart) @ of for of in (follows.any(axis=1), may))
    is_wrong = (wrong[pairs] & right[pairs[:, ::-1]]).any(axis=1)
    kind = np.select([is_wrong, following > 0, others > 0], [WRONG, FOLLOWING, OTHER], ALIKE)
    order = np.lexsort((others, -along, kind))
    best = order[np.sort(np.unique(scene[order], return_index=True)[1])]
    telling = best[kind[best] <= (FOLLOWING if (kind <= FOLLOWING).any() else OTHER)]

    texts = captions.predictions or ()
    ways = apart[telling][:, follows.any(axis=1)].tolil().rows
    pairs_listed = _each_way_once(
        pairs[telling], list(zip(kind[telling], wrong[pairs[telling, 0]], ways, strict=True)), texts
    )
    rows = [row for pair in pairs_listed for row in pair]
    uses = {row: {content.words[column] for column in content.used[[row]].indices if may[column]} for row in rows}
    listed = Lexicon("words", "", {word: tuple(forms[word]) for word in sorted(set().union(*uses.values()))})
    values_at, words_at = (
        dict(zip(rows, find_marks([texts[row] for row in rows], lexicon, tokenizer), strict=True))
        for lexicon in (lexicons["attribute"], listed)
    )
    following_words = {row["word"] for row in word_rows}

    def marked(row: int, other: int) -> dict[str, Any]:
        lacks, own = uses[row] - uses[other], captions.attributes[row].split(SEPARATOR)
        names = [(*place, "wrong") for *place, label in values_at[row] if wrong[row] and label not in (None, *own)]
        kinds = {word: "following" if word in following_words else "other" for word in lacks}
        words = [(*place, kinds[word]) for *place, word in words_at[row] if word in kinds]
        return {"row": row, "marks": sorted(names + words, key=itemgetter(0))}

    def scenes(of: Flags) -> int:
        return len(np.unique(scene[of]))

    return {
        "compared": len(best),
        "wrong": scenes(is_wrong),
        "words": scenes(following > 0),
        "along": scenes(along > 0),
        "telling": len(telling),
        "pairs": [{"rows": [marked(first, second), marked(second, first)]} for first, second in pairs_listed],
    }


def _of_two_values(images: SwayImages, scenes: Sequence[str]) -> tuple[Integers, Integers]:
    """Every two images of a scene with different values, the first value first: the number of the scene, `(pairs,)`,
    and the rows, `(pairs, 2)`."""
    by_scene: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for row, value in sorted(zip(images.row.tolist(), images.value.tolist(), strict=True), key=itemgetter(1)):
        by_scene[scenes[row]].append((row, value))
    every = enumerate(combinations(rows, 2) for rows in by_scene.values())
    candidates = [(scene, one[0], two[0]) for scene, of_scene in every for one, two in of_scene if one[1] != two[1]]
    scene, *rows = np.array(candidates).T
    return scene, np.column_stack(rows)


def _each_way_once(pairs: Integers, ways: Sequence[Any], texts: Sequence[str]) -> list[list[int]]:
    """The first pairs, those of each kind in turns: each way to differ (`kind`, and more) once before any twice. No two
    captions are there twice."""
    turns: Counter[str] = Counter()
    in_turn: dict[tuple[str, str], tuple[int, int, list[int]]] = {}
    for (first, second), way in zip(pairs.tolist(), ways, strict=True):
        if (texts[first], texts[second]) not in in_turn:
            in_turn[texts[first], texts[second]] = int(way[0]), turns[str(way)], [first, second]
            turns[str(way)] += 1
    return [rows for *_, rows in sorted(in_turn.values(), key=lambda pair: pair[:2])][:PAIRS]
