"""Gaps in quality: are captions of one attribute value better than those of another, by the field's own scores?"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from importlib.metadata import version
from typing import Any, cast

import numpy as np

from captionbias.arrays import Floats
from captionbias.bench.catalogue import PERCENT, Scale, Score
from captionbias.bench.checks import Rules
from captionbias.bench.counted import Columns, Counted, Sums, count, gaps
from captionbias.bench.measurement import Prepared, metric
from captionbias.bench.reading import Reading, Side, named_by_any, read
from captionbias.captions import Captions
from captionbias.captions.tables import PERSON
from captionbias.errors import missing
from captionbias.scores.quality import GRAMS, bleu, bleu_counts, check_scorers, cider, meteor, spoken, wordnet
from captionbias.text import LexiconSource

CAPTIONS = "captions"
WHOLE = 10_000  # of CIDEr and METEOR, which are whole numbers of these parts, as captions of an image are shares of one
CIDER, WORDS = Scale(0.0, 1000.0, "CIDEr x 100"), Scale(0.0, float("inf"), "words")


def _entries() -> Iterable[Score]:
    worse = "captions of some are worse by"
    for key, label, scale, margin, what, claim in (
        ("cider", "CIDEr", CIDER, 2.0, "CIDEr, times 100", f"{worse} CIDEr"),
        ("bleu_4", "BLEU-4", PERCENT, None, "BLEU-4, times 100", f"{worse} BLEU-4"),
        ("meteor", "METEOR", PERCENT, None, "METEOR, times 100, where WordNet is installed", f"{worse} METEOR"),
        (
            "recall",
            "tasks named",
            PERCENT,
            None,
            "Of 100 tasks shown how many are named",
            "{tasks} of some are left out",
        ),
        ("chair", "CHAIR", PERCENT, None, "Of 100 tasks named how many are not shown", "{tasks} are invented for some"),
        ("words", "words said", WORDS, 0.2, "Words of a caption", "more words are said of some"),
    ):
        yield Score(
            f"{key}_gap",
            f"gap in {label}",
            1 if scale is not WORDS else 2,
            scale.difference(),
            f"{what}, of one value minus another: of two values the first's minus the second's; of more the largest "
            "gap of one value to the mean of the others.",
            two_sided=True,
            beyond_margin=True,
            margin=margin,
            headline=True,
            against_a_person=True,
            claim=claim,
            task=f"{key}_gap",
        )


@metric(
    "Gaps in quality",
    "are captions of one value better than those of another, by CIDEr, BLEU-4, METEOR, objects and words?",
    _entries(),
    extra="quality",
    about={
        "references": "`n` lists of human captions: two or more of an image, for `..._human` and `..._excess`",
        "tasks": "`n` lists of all tasks that the images show, such as COCO's annotated objects, beside those that "
        "human captions name; those alone when None. `person` is not a task",
        "attribute_lexicon": "the values whose captions are compared: a name such as `gender` or `race`, a JSON "
        "file, or in Python a mapping; `captionbias.text.load_lexicon`",
    },
    returns="`cider_gap`, `bleu_4_gap`, `recall_gap`, `chair_gap` and `words_gap`, and where WordNet is installed "
    "`meteor_gap`: of two values the score of the first's captions minus that of the second's; of each also "
    "`..._human` and `..._excess`. Each with `..._ci_low/high` (95%, over images), the last with `..._verdict`. "
    "Facts: `cider_<value>`, `bleu_4_<value>`, `meteor_<value>`, `recall_<value>`, `chair_<value>` and "
    "`words_<value>`, the scores of each value's captions. And `signature`.",
)
def quality_gaps(
    captions: Captions,
    /,
    *,
    attribute_lexicon: LexiconSource = "gender",
    task_lexicon: LexiconSource = "coco_objects",
    tokenizer: str = "words",
    controls: bool = True,
    seed: int = 0,
    bootstrap: int = 1000,
    details: bool = False,
) -> Prepared:
    """How much better captions of one attribute value are than those of another, by what the field scores captions by.

    One human caption of each image, scored beside the others as the captioner is, has gaps too: pictures of some are
    harder to describe. A gap is bias as far as it is beyond that person's.

    Source: Zhao, Wang and Russakovsky 2021; Vedantam et al. 2015 (CIDEr), Papineni et al. 2002 (BLEU), Banerjee and
    Lavie 2005 (METEOR), Rohrbach et al. 2018 (CHAIR), as pycocoevalcap and nltk compute them.

    >>> captions = ["a woman and a dog", "a man and a dog", "a man on a bench", "a woman"]
    >>> people = [["a woman with a dog"], ["a man and a dog"], ["a man on a bench"], ["a woman on a bench"]]
    >>> labels = ["female", "male", "male", "female"]
    >>> result = quality_gaps(predictions=captions, references=people, attributes=labels, bootstrap=0)
    >>> result["recall_female"], result["recall_male"], result["recall_gap"], result["words_gap"]
    (50.0, 100.0, -50.0, -1.5)
    """
    if captions.references is None:
        raise missing("references", "is missing: quality is how close captions are to people's; give human captions")
    check_scorers()
    reading = read(captions, attribute_lexicon, task_lexicon, tokenizer, Rules(crossed=True, names_compared=False))
    with_meteor = wordnet()
    by = [f"pycocoevalcap {version('pycocoevalcap')}"]
    by += [f"nltk {version('nltk')}", f"wordnet {with_meteor.get_version()}"] if with_meteor else []
    tokens = cast(Captions, reading.captions).words(tokenizer).tokens
    said = [" ".join(spoken(text.split())) for text in tokens.texts()]
    counted = partial(_counted, said=np.array(said, object), with_meteor=with_meteor is not None)
    signed = {**reading.signed, "by": ",".join(by)}
    return count("quality_gaps", reading, counted, signed, controls=controls, seed=seed, bootstrap=bootstrap)


def _counted(reading: Reading, said: Any, with_meteor: bool) -> Counted:
    """Of each caption what its scores are made of, in columns of its image's value."""
    values = np.flatnonzero(reading.truth.values.any(axis=0))
    predictions, human = reading.predictions, cast(Side, reading.human)
    by_image = np.split(said[human.row], np.searchsorted(human.image, np.arange(1, len(reading))))
    own, others = said[predictions.row].tolist(), [by_image[image].tolist() for image in predictions.image]
    objects = np.array([task != PERSON for task in reading.tasks], bool)
    shown = reading.truth.tasks | named_by_any(human.image, len(reading), human.tasks)
    shown, named = shown[predictions.image][:, objects], predictions.tasks[:, objects]
    by_caption = [cider(own, others) / 10]
    if with_meteor:
        by_caption.append(meteor([text.split() for text in own], [[text.split() for text in of] for of in others]))
    tasks = [(named & shown).sum(axis=1), shown.sum(axis=1), (named & ~shown).sum(axis=1), named.sum(axis=1)]
    parts = [bleu_counts(own, others), np.ones(len(own)), *tasks, *(np.rint(WHOLE * of) for of in by_caption)]
    counts = np.column_stack(parts)
    of_value = reading.truth.values[predictions.image][:, values]
    columns = Columns(predictions, (of_value[:, :, None] * counts[:, None]).reshape(len(own), -1))

    def levels(sums: Sums) -> dict[str, Floats]:
        """The scores of each value's captions, `(values, replicates)`."""
        table = np.moveaxis(sums[CAPTIONS].reshape(len(values), counts.shape[1], -1), 1, 0)
        of_bleu, (captions, right, there, wrong, named, *by_caption) = np.split(table, [2 * GRAMS + 2])
        scored = zip(("cider", "meteor"), (1000, 100), by_caption, strict=False)
        return {
            **{key: most * of / captions / WHOLE for key, most, of in scored},
            "bleu_4": 100 * bleu(of_bleu).round(12),  # roots differ between processors in the last digit
            "recall": 100 * right / there,
            "chair": 100 * wrong / named,
            "words": of_bleu[2 * GRAMS] / captions,
        }

    def formula(sums: Sums) -> dict[str, Floats]:
        return {f"{key}_gap": gaps(of) for key, of in levels(sums).items()}

    def told(sums: Sums) -> tuple[dict[str, float], dict[str, Any]]:
        names = [reading.values[value] for value in values]
        facts = {
            f"{key}_{name}": float(of) for key, by in levels(sums).items() for name, [of] in zip(names, by, strict=True)
        }
        return {key: of for key, of in facts.items() if of == of}, reading.image_counts(names)

    return Counted({CAPTIONS: columns}, formula, told)
