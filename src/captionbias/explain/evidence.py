"""The captions behind a number: of the cells of sway, its words and its scenes, and of LIC's telling words."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from captionbias.arrays import Flags, Integers
from captionbias.bench.protocol import preset_settings
from captionbias.bench.reading import share_naming
from captionbias.captions import Captions, Words
from captionbias.explain.scenes import telling_scenes
from captionbias.metrics import Measurement, dbac
from captionbias.metrics.sway import SwayImages
from captionbias.text import Lexicon, LexiconSource, load_lexicon
from captionbias.text.content import word_forms
from captionbias.text.lexicon import options_in
from captionbias.text.marks import find_marks

CELL_IMAGES = 500  # of a cell
WORDS, WORD_IMAGES = 30, 5  # of an attribute value, of a word
TIED = 12  # words of sway, of an attribute value


def captions_behind(
    captioners: Mapping[str, Captions],
    words: Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]],
    *,
    swayed: Mapping[str, Measurement] | None = None,
    preset: str = "fast",
    attribute_lexicon: LexiconSource | None = None,
    task_lexicon: LexiconSource | None = None,
) -> dict[str, Any]:
    """The captions of captioners and of people behind cells and words of sway and the telling words.

    Behind a word are the images whose caption by the captioner has it. The `difference` of an image is 1 or 0 less the
    share of the image's human captions that have it too, or name another value likewise.

    Args:
        captioners: each one's captions of the same images; of several of an image the first.
        words: of each captioner and attribute value the telling words, rows with `word` and `mean`.
        swayed: each one's `sway`, with `details`, if it was measured.
        preset, attribute_lexicon, task_lexicon: those that DBAC was measured with.

    Returns:
        `texts`: every caption that is listed, once; what follows has its number. `images`: each image that is listed,
        by its row: `id` (None without), `label`, and the captions of `people`. `captioners`: of each one `captions`,
        its own by row; `words`, of each attribute value a list of `word`, `images`, `labels` (how many of these of each
        label), `people` (images of which a person's caption has it), and at most 5 `rows` of that value: `row`,
        `captioner` (whether it has it), `people` (the share that does) and `difference`, None without people. `cells`,
        under `t_to_a`, of each true value and suggested one `attribute`, `suggested`, `shown` (images), `images` whose
        caption by the captioner names another value alone, `people` (how many of these have a person's caption that
        does) and, at most 500, `rows` likewise. `tied`, a list of at most 12 words of each value that the captioner
        uses more with it than people do, the largest first: `word`, its `forms` in captions, `attribute`, `images` of
        that value whose caption by the captioner uses it, `labels` (how many images of each label it uses it for),
        `people` (images of that value of which a person's caption uses it) and at most 5 of these `images` as `rows`
        likewise. `scenes`, of captions in scenes: see `captionbias.explain.scenes.telling_scenes`. `marks`: what each
        text names and where: start, end and the number of one of `labels`, one mention after the other.

    >>> from captionbias.synthetic import plant
    >>> from captionbias.captions import check_captions
    >>> captions = check_captions(**vars(plant(200)))
    >>> evidence = captions_behind({"nic": captions}, {"nic": {"male": [{"word": "tie", "mean": 1.0}]}})
    >>> [tie] = evidence["captioners"]["nic"]["words"]["male"]
    >>> tie["images"] == sum(" tie" in text for text in captions.predictions)
    True
    """
    chosen = {"attribute_lexicon": attribute_lexicon, "task_lexicon": task_lexicon}
    _, settings = preset_settings(dbac.entry.presets, preset, **chosen)
    language = next(iter(captioners.values())).language
    settings = replace(settings, **options_in(language, vars(settings)) if language else {})
    lexicons = {kind: load_lexicon(source) for kind, source in settings.lexicons.items()}
    tokenizer = settings.tokenizer
    evidence: dict[str, Any] = {}
    texts: dict[str, int] = {}

    def number(text: str) -> int:
        return texts.setdefault(text, len(texts))

    for name, measured_on in captioners.items():
        captions = measured_on.first_samples()
        caption_words = captions.words(tokenizer)
        behind: dict[str, Any] = {"words": _words(captions, caption_words, words.get(name, {})), "cells": {}}
        tied: list[dict[str, Any]] = []
        scenes: dict[str, Any] = {}
        if swayed and name in swayed:
            values = lexicons["attribute"]
            named, _ = captions.main_values(values, tokenizer)
            behind["cells"] = _cells(swayed[name].artefacts.images, caption_words, named, values)
            first = np.unique(measured_on.words(tokenizer).model_image, return_index=True)[1]
            forms = word_forms(caption_words.tokens, values, lexicons["task"], tokenizer)
            tied = _tied(swayed[name], first, captions, caption_words, forms)
            if captions.scene:
                scenes = telling_scenes(swayed[name], captions, first, named, lexicons, forms, tokenizer)
        listings = itertools.chain([tied, scenes.get("pairs", ())], *(groups.values() for groups in behind.values()))
        rows = sorted({listed["row"] for listing in listings for entry in listing for listed in entry["rows"]})
        predictions = captions.predictions or ()
        behind |= {"tied": tied, "scenes": scenes}
        evidence[name] = {"captions": {row: number(predictions[row]) for row in rows}, **behind}
    one = next(iter(captioners.values()))
    images = {
        row: {
            "id": one.image_ids[row] if one.image_ids else None,
            "label": one.attributes[row],
            "people": [number(text) for text in one.references[row]] if one.references else [],
        }
        for row in sorted({row for listed in evidence.values() for row in listed["captions"]})
    }
    labels, marks = _marks(list(texts), lexicons.values(), language or "words")
    return {"images": images, "captioners": evidence, "texts": list(texts), "labels": labels, "marks": marks}


def _behind(named: Flags, words: Words, among: Flags, most: int, by_people: bool = True) -> dict[str, Any]:
    """The images `among` those given, `(images,)`, of which the captioner, or people unless `by_people` is False, name
    a thing; `named`: flags of the captions that name it, both sides'."""
    captioner, with_people = named[: words.model_rows], len(words.human_image) > 0
    people = share_naming(words.human_image, len(among), named[words.model_rows :, None]).toarray()[:, 0]
    behind = np.flatnonzero(among & (captioner | (by_people & (people > 0))))
    differences = captioner - people
    order = behind[np.argsort(-differences[behind], kind="stable")]
    listed = order if len(order) <= most else np.concatenate((order[: most - most // 2], order[-(most // 2) :]))
    return {
        "shown": int(among.sum()),
        "images": len(behind),
        "captioner": int(captioner[behind].sum()),
        "people": int((people[behind] > 0).sum()) if with_people else None,
        "rows": [
            {
                "row": row,
                "captioner": bool(captioner[row]),
                "people": float(people[row]) if with_people else None,
                "difference": float(differences[row]) if with_people else None,
            }
            for row in listed.tolist()
        ],
    }


def _cells(images: SwayImages, words: Words, named: Flags, lexicon: Lexicon) -> dict[str, list[dict[str, Any]]]:
    """The captions that name another value alone, for each true value and each that the tasks suggest."""
    named = named[:, [lexicon.labels.index(value) for value in images.values]]
    own = np.full(words.model_rows, -1)
    own[images.row] = images.value
    own_value = own[np.concatenate((np.arange(words.model_rows), words.human_image))]
    alone = np.where(named.sum(axis=1) == 1, named.argmax(axis=1), own_value)
    listed = []
    for value, suggested in itertools.product(range(len(images.values)), repeat=2):
        among = _among(images.row[(images.value == value) & (images.suggested == suggested)], words)
        values = {"attribute": images.values[value], "suggested": images.values[suggested]}
        listed.append(values | _behind(alone != own_value, words, among, CELL_IMAGES, by_people=False))
    return {"t_to_a": listed}


def _words(
    captions: Captions, caption_words: Words, telling: Mapping[str, Sequence[Mapping[str, Any]]]
) -> dict[str, list[dict[str, Any]]]:
    """The evidence for the words that speak for each attribute value."""
    labels, tokens, every = np.array(captions.attributes), caption_words.tokens, np.ones(len(captions), bool)

    def row(word: str, value: str) -> dict[str, Any]:
        uses = np.zeros(len(tokens), bool)
        uses[tokens.rows[tokens.ids == tokens.words.index(word)]] = True
        return {"word": word, **_using(uses, every, labels == value, captions, caption_words)}

    chosen = {value: [row["word"] for row in rows[:WORDS] if row["mean"] > 0] for value, rows in telling.items()}
    if not any(chosen.values()):
        return {}
    known = set(tokens.words)
    return {value: [row(word, value) for word in words if word in known] for value, words in chosen.items()}


def _tied(
    measured: Measurement, first: Integers, captions: Captions, caption_words: Words, forms: Mapping[str, Sequence[str]]
) -> list[dict[str, Any]]:
    """The evidence for the words that follow a value more than in people's captions; `first`: of the captions that were
    measured each image's first."""
    images: SwayImages = measured.artefacts.images
    rows = [row for row in (measured.details or {}).get("words", ()) if row["kind"] == "more"]
    strongest = [row for value in images.values for row in [row for row in rows if row["attribute"] == value][:TIED]]
    if not strongest:
        return []
    human = len(caption_words.human_image)
    captions_of_both = images.content.used.shape[0]
    table = images.content.used[np.concatenate((first, np.arange(captions_of_both - human, captions_of_both)))]
    listed = []
    for row in strongest:
        word, value = row["word"], row["attribute"]
        uses = table[:, [images.content.words.index(word)]].toarray()[:, 0] > 0
        among = _among(images.row[images.value == images.values.index(value)], caption_words)
        about = {"word": word, "forms": list(forms.get(word, ())), "attribute": value}
        listed.append(about | _using(uses, among, among, captions, caption_words))
    return listed


def _using(uses: Flags, among: Flags, of_value: Flags, captions: Captions, caption_words: Words) -> dict[str, Any]:
    """The images, `among` those given, whose captions use a word, `(captions,)` of both sides; the rows of a value."""
    own, people = (
        uses[: caption_words.model_rows],
        np.unique(caption_words.human_image[uses[caption_words.model_rows :]]),
    )
    return {
        "images": int((own & among).sum()),
        "labels": dict(sorted(Counter(itertools.compress(captions.attributes, own)).items())),
        "people": int(among[people].sum()) if captions.references else None,
        "rows": _behind(uses, caption_words, own & of_value, WORD_IMAGES)["rows"],
    }


def _among(rows: Integers, words: Words) -> Flags:
    """Flags of the images in these rows."""
    return np.isin(np.arange(words.model_rows), rows)


def _marks(texts: Sequence[str], lexicons: Iterable[Lexicon], tokenizer: str) -> tuple[list[str], list[list[int]]]:
    """The labels, and of each text start, end and number of the label, one mention after the other."""
    parts = (part for lexicon in lexicons for part in lexicon.parts or (lexicon,))
    numbers: defaultdict[str, int] = defaultdict(itertools.count().__next__)
    marks = [
        [place for start, end, label in of_text if label is not None for place in (start, end, numbers[label])]
        for of_text in find_marks(texts, Lexicon("marked", "", {}, parts=tuple(parts)), tokenizer)
    ]
    return list(numbers), marks
