"""BA (MALS): do predictions strengthen each task's lean to its likelier attribute value?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from captionbias.arrays import Floats
from captionbias.bench.catalogue import SIGNED, Score
from captionbias.bench.counted import Counted, Sums, count
from captionbias.bench.measurement import Prepared, metric
from captionbias.bench.pairs import KNOWN, PREDICTED, as_pairs, known_and_predicted, pair_rows, whole
from captionbias.bench.protocol import whole_number
from captionbias.bench.reading import Reading, check_whole, read_labels, takes
from captionbias.captions import Captions
from captionbias.errors import InputError, missing, phrase
from captionbias.scores.cooccurrence import mals, shares
from captionbias.text import Lexicon, load_lexicon
from captionbias.text.languages import closed_words


@metric(
    "BA (MALS)",
    "do captions strengthen each task's lean to its likelier attribute value?",
    [
        Score(
            "ba_mals",
            "BA (MALS)",
            4,
            SIGNED,
            "Above 0, captions strengthen each task's lean to its likelier attribute value; below 0, they weaken it.",
            sense="amplification",
            judged=True,
            recentred=True,  # which pairs count goes by how frequent they are
            headline=True,
            against_a_person=True,
            claim="{tasks} lean to their likelier {value}",
            task="ba_mals",
        )
    ],
    about={
        "references": "`n` lists of human captions, each of which counts",
        "attributes": "`n` labels, `n` lists of labels, or a 0/1 array `(n, values)`; with captions they are only "
        "checked, and the values that captions name count",
        "tasks": "without captions, the tasks that images show: `n` lists of names, or a 0/1 array; not used with "
        "captions",
        "predicted_attributes": "without captions, the predicted values; when None, `attributes`",
        "predicted_tasks": "without captions, the predicted tasks; when None, `tasks`",
        "training_attributes": "without captions, the labels of the images whose lean is amplified; when None, those "
        "of these images",
        "at_least": "with `words`, in how many human captions a word must occur with each attribute value",
        "details": "add the nested entry `details`, with each pair's counts, shares and part in the score",
    },
    returns="`ba_mals` in [-1, 1], with `..._human` and `..._excess`; each with `..._ci_low/high` (95%, over images); "
    "`tasks_ba_mals`: how many tasks count; `undefined_pairs_ba_mals`: pairs whose task occurs with no value, in the "
    "data or the predictions; `signature`.",
)
@takes()
def ba_mals(
    captions: Captions | None = None,
    /,
    *,
    words: bool = False,
    most_frequent: int = 1000,
    at_least: int = 100,
    controls: bool = True,
    seed: int = 0,
    bootstrap: int = 1000,
    details: bool = False,
    **inputs: Any,
) -> Prepared:
    """Bias amplification as the growth of each task's share of its likelier attribute value.

    `b(a, t)` is the share of attribute value `a` among the captions (or images) that name task `t` and any value. The
    score is the mean over tasks of what predictions add to it for the values above `1 / |A|` in the human captions. It
    tells no directions, and a task without a lean cannot count.

    Source: Zhao et al. 2017, Eq. 2; `words`: Hirota et al. 2022, supplement.

    >>> tasks = [["knife"]] * 4
    >>> result = ba_mals(
    ...     attributes=["female", "female", "female", "male"], tasks=tasks, predicted_attributes=["female"] * 4
    ... )
    >>> result["ba_mals"]
    0.25
    """
    if isinstance(captions, Captions):
        captions = captions.without_tasks()
        if captions.references is None:
            raise missing("references", "is missing: BA compares what model captions name with what people's name")
    if words:
        if not isinstance(captions, Captions):
            raise missing(
                "references",
                phrase("is missing: {words} takes the frequent words of human captions; give them", words=True),
            )
        if captions.part:
            raise InputError("words", ": which words are frequent only all images tell: measure it on a sample")
        at_least = whole_number("at_least", at_least, least=0)
        attribute_lexicon = load_lexicon(inputs["attribute_lexicon"])
        inputs["task_lexicon"] = frequent_words(
            captions, attribute_lexicon, inputs["tokenizer"], most_frequent, at_least
        )
    reading = read_labels(captions, **inputs)
    signed = {"task": f"frequent,{most_frequent},{at_least}"} if words else {}
    return count("ba_mals", reading, _counted, signed, controls=controls, seed=seed, bootstrap=bootstrap)


def _counted(reading: Reading) -> Counted:
    def tables(sums: Sums) -> list[Floats]:
        return [as_pairs(sums[kind], len(reading.values)) for kind in (KNOWN, PREDICTED)]

    def formula(sums: Sums) -> dict[str, Floats]:
        return {"ba_mals": _mean_over_tasks(mals(*tables(sums)))}

    def facts_and_tables(sums: Sums) -> tuple[dict[str, float], dict[str, Any]]:
        known, predicted = tables(sums)
        parts = mals(known, predicted)
        tasks = int((~np.isnan(parts).any(axis=0)).sum())
        if not tasks:
            raise InputError(
                "tasks",
                ": none occurs with an attribute value in the data and in the predictions, nothing to compare; give "
                "more images, or the captions' words as lexicons",
            )
        facts: dict[str, float] = {"tasks_ba_mals": tasks, "undefined_pairs_ba_mals": int(np.isnan(parts).sum())}
        return facts, reading.image_counts() | {
            "pairs": _table(reading.values, reading.tasks, known, predicted, parts / tasks)
        }

    return Counted(known_and_predicted(reading, len(reading.tasks)), formula, facts_and_tables)


def frequent_words(captions: Captions, lexicon: Lexicon, tokenizer: str, most: int, at_least: int) -> Lexicon:
    """A lexicon of one word a label: of the `most` most frequent words of the human captions, without the lexicon's and
    English function words, those that are in `at_least` captions with each of the lexicon's labels; captions of an
    image of weight w count as w. Source: Hirota et al. 2022, supplement: 1,000 and 100."""
    if captions.language:
        raise InputError(
            "words",
            ": function words are known for English only",
            phrase("give {task_lexicon} instead"),
        )
    split = captions.words(tokenizer)
    tokens, people = split.human, slice(split.model_rows, None)
    weight = np.ones(len(tokens)) if captions.weights is None else np.array(captions.weights)[split.human_image]
    frequency = np.bincount(tokens.ids, weight[tokens.rows], len(tokens.words))
    named = captions.named(check_whole(lexicon), tokenizer)[people]
    row, word = np.divmod(np.unique(tokens.rows * len(tokens.words) + tokens.ids), len(tokens.words))
    together = np.stack([np.bincount(word, weight[row] * of[row], len(tokens.words)) for of in named.T])
    excluded = {
        part for words in (*lexicon.groups.values(), lexicon.masked_only) for word in words for part in word.split()
    }
    words = [number for number, word in enumerate(tokens.words) if frequency[number] and word[0].isalpha()]
    # Equally frequent words in the order of the alphabet, so that the order of the images plays no part.
    most_frequent = sorted(words, key=lambda number: (-frequency[number], tokens.words[number]))[:most]
    chosen = sorted(
        tokens.words[number]
        for number in most_frequent
        if (together[:, number] >= at_least).all() and tokens.words[number] not in closed_words() | excluded
    )
    if not chosen:
        raise InputError(
            "references",
            f": no word occurs in {at_least} captions with each of {', '.join(lexicon.labels)}",
            phrase("give more captions, or a smaller {at_least}"),
        )
    return Lexicon("frequent", "<word>", {word: (word,) for word in chosen})


def _mean_over_tasks(parts: Floats) -> Floats:
    """The sum over values, its mean over tasks: `(replicates,)` of `(values, tasks, replicates)`."""
    defined = ~np.isnan(parts).any(axis=0)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(defined, parts, 0.0).sum(axis=(0, 1)) / defined.sum(axis=0))


def _table(
    values: Sequence[str], tasks: Sequence[str], known: Floats, predicted: Floats, parts: Floats
) -> list[dict[str, Any]]:
    """One row a pair that occurs in the data, the largest parts of the score first; what is undefined is None."""
    occurring = np.flatnonzero(known.sum(axis=(0, 2)))
    known, predicted, parts = (table[:, occurring, 0] for table in (known, predicted, parts))
    columns = {
        "count": whole(known),
        "predicted_count": whole(predicted),
        "probability": shares(known),
        "predicted_probability": shares(predicted),
        "share": parts,
    }
    return pair_rows(values, [tasks[int(task)] for task in occurring], columns)
