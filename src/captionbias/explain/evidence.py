"""The captions behind a number: of the cells of sway, of the pairs a DBAC is made of, with LIC's telling words."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from captionbias.arrays import Flags, Floats, Integers
from captionbias.captions import Captions, Words
from captionbias.metrics import Measurement
from captionbias.metrics.dbac_direction import Direction
from captionbias.metrics.protocol import preset_settings
from captionbias.metrics.sway_counts import SwayImages
from captionbias.scores.omega import NOT_SHOWN
from captionbias.text import Lexicon, LexiconSource, find_mentions, load_lexicon, named_values
from captionbias.text.marks import find_marks

PAIRS, IMAGES = 12, 20  # of a direction, of a pair
WORDS, WORD_IMAGES = 30, 5  # of an attribute value, of a word


def captions_behind(
    captioners: Mapping[str, Captions],
    measured: Mapping[str, Measurement],
    words: Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]],
    *,
    swayed: Mapping[str, Measurement] | None = None,
    preset: str = "fast",
    attribute_lexicon: LexiconSource | None = None,
    task_lexicon: LexiconSource | None = None,
) -> dict[str, Any]:
    """The captions of captioners and of people behind cells of sway, the largest pairs of DBAC and the telling words.

    An image is behind a pair if it shows the first of the two, as the pair's row counts it, and the captioner or people
    name the second. Its `difference` is what it adds to how much more often the captioner names that: 1 or 0 less the
    share of the image's human captions that name it. Of more than 20 images those with the highest and those with the
    lowest are listed. Behind a word are the images whose caption by the captioner has it.

    Args:
        captioners: each one's captions of the same images.
        measured: each one's `dbac`, with `details`; empty if it was not measured.
        words: of each captioner and attribute value the telling words, rows with `word` and `mean`.
        swayed: each one's `sway`, if it was measured.
        preset, attribute_lexicon, task_lexicon: those that DBAC was measured with.

    Returns:
        `texts`: every caption that is listed, once; what follows has its number. `images`: each image that is listed,
        by its row: `id` (None without), `label`, and the captions of `people`. `captioners`: of each one `captions`,
        its own by row; `pairs`, of each direction a list of at most 12: `attribute`, `task`, `shown` (images that show
        the first), `captioner` and `people` (how many of these have a caption that names the second), `images` (how
        many are behind it), and `rows`: `row`, `captioner` (whether it names it), `people` (the share that does) and
        `difference`, None where a side is missing; and `words`, of each attribute value a list of `word`, `images`,
        `labels` (how many of these of each label), `people` (images of which a person's caption has it), and at most 5
        `rows` of that value likewise. `cells`, under `t_to_a`, of each true value and suggested one `attribute`,
        `suggested`, `shown` (images), `captioner` and `people` (how many of these have a caption that names another
        value alone), `images` and `rows` likewise. `marks`: what each text names and where: start, end and the number
        of one of `labels`, one mention after the other.

    >>> from captionbias.metrics import dbac
    >>> from captionbias.synthetic import plant
    >>> from captionbias.captions import check_captions
    >>> captions = check_captions(**vars(plant(200)))
    >>> measured = dbac.measure(captions, preset="fast", trials=1, details=True, directions=["a_to_t"])
    >>> found = captions_behind({"nic": captions}, {"nic": measured}, {})
    >>> pair = found["captioners"]["nic"]["pairs"]["a_to_t"][0]
    >>> len(pair["rows"]) == min(pair["images"], 20), pair["shown"] == captions.attributes.count(pair["attribute"])
    (True, True)
    """
    chosen = {"attribute_lexicon": attribute_lexicon, "task_lexicon": task_lexicon}
    _, settings = preset_settings("dbac", preset, **chosen)
    lexicons = {kind: load_lexicon(settings[f"{kind}_lexicon"]) for kind in ("attribute", "task")}
    found: dict[str, Any] = {}
    texts: dict[str, int] = {}

    def number(text: str) -> int:
        return texts.setdefault(text, len(texts))

    for name, captions in captioners.items():
        pairs = _pairs(captions, measured[name], settings["tokenizer"], lexicons) if name in measured else {}
        telling = _words(captions, words.get(name, {}), settings["tokenizer"])
        images_of = (swayed or {}).get(name)
        cells = _cells(captions, images_of.artefacts, settings["tokenizer"], lexicons["attribute"]) if images_of else {}
        behind = [one for group in (pairs, telling, cells) for of_group in group.values() for one in of_group]
        rows = sorted({listed["row"] for one in behind for listed in one["rows"]})
        own = {row: number(captions.predictions[row]) for row in rows} if captions.predictions else {}
        found[name] = {"captions": own, "pairs": pairs, "words": telling, "cells": cells}
    first = next(iter(captioners.values()))
    images = {
        row: {
            "id": first.image_ids[row] if first.image_ids else None,
            "label": first.attributes[row],
            "people": [number(text) for text in first.references[row]] if first.references else [],
        }
        for row in sorted({row for one in found.values() for row in one["captions"]})
    }
    labels, marks = _marks(list(texts), lexicons.values())
    return {"images": images, "captioners": found, "texts": list(texts), "labels": labels, "marks": marks}


def _pairs(
    captions: Captions, measured: Measurement, tokenizer: str, lexicons: Mapping[str, Lexicon]
) -> dict[str, list[dict[str, Any]]]:
    """What is behind the first pairs of each direction."""
    words = captions.words(tokenizer)
    sources = (measured.details or {})["sources"]
    found = {}
    for name, direction in measured.artefacts.questions.items():
        lexicon = lexicons["task" if name == "a_to_t" else "attribute"]
        named = named_values(words.tokens, find_mentions(words.tokens, lexicon, tokenizer), lexicon, tokenizer)
        found[name] = _of_direction(direction, sources[name][:PAIRS], words, named)
    return found


def _of_direction(
    direction: Direction, rows: Sequence[Mapping[str, Any]], words: Words, named: Flags
) -> list[dict[str, Any]]:
    """What is behind pairs of one direction; `named`: by each caption, `(captions, labels)`."""
    first, second = ("attribute", "task") if direction.name == "a_to_t" else ("task", "attribute")
    columns = [_column(direction.shown_labels, row[first]) for row in rows]
    shown = np.zeros((len(direction.designs[0].shown), len(rows)), bool)
    for design in direction.designs:
        flags = _with_none(design.shown_sets)[:, columns]
        shown |= flags[design.shown] & (design.shown != NOT_SHOWN)[:, None]
    naming = _with_none(named)[:, [_column(direction.named_labels, row[second]) for row in rows]]
    captioner = naming[: words.model_rows] if words.model_rows else None
    people = _shares(naming[words.model_rows :], words.human_image, len(shown))
    return [
        {"attribute": row["attribute"], "task": row["task"], "shown": int(shown[:, number].sum())}
        | _behind(
            shown[:, number],
            None if captioner is None else captioner[:, number],
            None if people is None else people[:, number],
            IMAGES,
        )
        for number, row in enumerate(rows)
    ]


def _cells(captions: Captions, images: SwayImages, tokenizer: str, lexicon: Lexicon) -> dict[str, list[dict[str, Any]]]:
    """What is behind each true value beside tasks that suggest each value: captions that name another value alone."""
    words = captions.words(tokenizer)
    named = named_values(words.tokens, find_mentions(words.tokens, lexicon, tokenizer), lexicon, tokenizer)
    named = named[:, [lexicon.labels.index(value) for value in images.values]]
    own = np.full(len(captions), -1)
    own[images.row] = images.value
    alone = np.where(named.sum(axis=1) == 1, named.argmax(axis=1), own[_images_of(words)])
    wrong = (alone != own[_images_of(words)])[:, None]
    people = _shares(wrong[words.model_rows :], words.human_image, len(captions))
    listed = []
    for value, suggested in itertools.product(range(len(images.values)), repeat=2):
        among = np.zeros(len(captions), bool)
        among[images.row[(images.value == value) & (images.suggested == suggested)]] = True
        listed.append(
            {"attribute": images.values[value], "suggested": images.values[suggested], "shown": int(among.sum())}
            | _behind(among, wrong[: words.model_rows, 0], None if people is None else people[:, 0], IMAGES)
        )
    return {"t_to_a": listed}


def _images_of(words: Words) -> Integers:
    """The image of every caption, both sides'."""
    return np.concatenate((np.arange(words.model_rows), words.human_image))


def _behind(among: Flags, captioner: Flags | None, people: Floats | None, most: int) -> dict[str, Any]:
    """The images `among` those given, `(images,)`, of which the captioner or people name it."""
    model = np.zeros(len(among)) if captioner is None else captioner.astype(np.float64)
    human = np.zeros(len(among)) if people is None else people
    behind = np.flatnonzero(among & ((model > 0) | (human > 0)))
    differences = model - human
    order = behind[np.argsort(-differences[behind], kind="stable")]
    listed = order if len(order) <= most else np.concatenate((order[: most - most // 2], order[-(most // 2) :]))
    return {
        "images": len(behind),
        "captioner": None if captioner is None else int((model[behind] > 0).sum()),
        "people": None if people is None else int((human[behind] > 0).sum()),
        "rows": [
            {
                "row": row,
                "captioner": None if captioner is None else bool(model[row]),
                "people": None if people is None else float(human[row]),
                "difference": None if captioner is None or people is None else float(differences[row]),
            }
            for row in listed.tolist()
        ],
    }


def _words(
    captions: Captions, telling: Mapping[str, Sequence[Mapping[str, Any]]], tokenizer: str
) -> dict[str, list[dict[str, Any]]]:
    """What is behind the words that speak for each attribute value."""
    chosen = {value: [row["word"] for row in rows[:WORDS] if row["mean"] > 0] for value, rows in telling.items()}
    if not any(chosen.values()):
        return {}
    table = captions.words(tokenizer)
    numbers = {word: number for number, word in enumerate(table.tokens.words)}
    wanted = sorted({numbers[word] for words in chosen.values() for word in words if word in numbers})
    column = np.full(len(numbers), -1)
    column[wanted] = np.arange(len(wanted))
    held = np.zeros((len(table.tokens), len(wanted)), bool)
    places = np.flatnonzero(column[table.tokens.ids] >= 0)
    held[table.tokens.rows[places], column[table.tokens.ids[places]]] = True
    model = held[: table.model_rows]
    people = _shares(held[table.model_rows :], table.human_image, len(captions))
    labels = np.array(captions.attributes)
    found: dict[str, list[dict[str, Any]]] = {}
    for value, words in chosen.items():
        found[value] = []
        for word in words:
            if word not in numbers:
                continue
            number = column[numbers[word]]
            has = model[:, number]
            shares = None if people is None else people[:, number]
            of_value = _behind(has & (labels == value), has, shares, WORD_IMAGES)["rows"]
            counted = Counter(labels[has].tolist())
            found[value].append(
                {
                    "word": word,
                    "images": int(has.sum()),
                    "labels": dict(sorted(counted.items())),
                    "people": None if shares is None else int((shares > 0).sum()),
                    "rows": of_value,
                }
            )
    return found


def _with_none(flags: Flags) -> Flags:
    """Flags of labels, and a last column where there is none of them."""
    return np.column_stack([flags, ~flags.any(axis=1)])


def _column(labels: Sequence[str], label: str | None) -> int:
    return len(labels) if label is None else labels.index(label)


def _shares(flags: Flags, image: Integers, images: int) -> Floats | None:
    """Of each image's human captions the share with each flag, `(images, flags)`; None without human captions."""
    if not len(flags):
        return None
    from scipy.sparse import csr_array

    of_image = csr_array((np.ones(len(image)), (image, np.arange(len(image)))), shape=(images, len(image)))
    return np.asarray((of_image @ flags) / np.maximum(np.bincount(image, minlength=images), 1)[:, None])


def _marks(texts: Sequence[str], lexicons: Iterable[Lexicon]) -> tuple[list[str], list[list[int]]]:
    """The labels, and of each text start, end and number of the label, one mention after the other."""
    numbers: dict[str, int] = {}
    marks: list[list[int]] = [[] for _ in texts]
    for lexicon in lexicons:
        for row, found in enumerate(find_marks(texts, lexicon)):
            for start, end, label in found:
                if label is not None:
                    marks[row] += (start, end, numbers.setdefault(label, len(numbers)))
    return list(numbers), marks
