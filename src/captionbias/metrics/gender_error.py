"""Gender ratio and error: how often captions name either side of a two-sided attribute, and how often the wrong one."""

from __future__ import annotations

import numpy as np

from captionbias.arrays import Floats
from captionbias.bench.catalogue import PERCENT, RATIO, Score
from captionbias.bench.inputs import copies_of, named_in, note_labels_from_captions, with_values
from captionbias.bench.label_inputs import check_whole, value_numbers
from captionbias.bench.measurement import Scores, metric
from captionbias.bench.person import against_a_person
from captionbias.bench.protocol import lexicon_name
from captionbias.captions import Captions
from captionbias.metrics.amplified_pairs import PairCounts
from captionbias.statistics.samples import bootstrap_samples, random_groups
from captionbias.text import LexiconSource, load_lexicon
from captionbias.warnings import note

MOST = 0.5  # of the captions


@metric(
    "Gender ratio and error",
    "how often do captions name either gender, and the wrong one?",
    [
        Score(
            "ratio",
            "captions: second label to first",
            2,
            RATIO,
            "Captions that name the second label for each that names the first; the signature says which they are. At "
            "1 they are as many.",
            headline=True,
            task="gender_ratio",
        ),
        Score(
            "error",
            "wrong label, %",
            1,
            PERCENT,
            "0 is best: captions of all that name the other label than the image has. It has no sign.",
            row="  with the wrong label, %",
            sense="size",
            headline=True,
            against_a_person=True,
            claim="the wrong {value} is named",
            task="gender_error",
        ),
        Score(
            "unnamed",
            "no label or both, %",
            1,
            PERCENT,
            "Captions that name neither label, or both: they can be neither right nor wrong.",
            row="  with neither or both, %",
            against_a_person=True,
            task="gender_unnamed",
        ),
    ],
    about={
        "references": "`n` lists of human captions, for `..._human` and `..._excess` alone",
        "attributes": "`n` labels, each one of the two labels of `attribute_lexicon`",
        "tasks": "not used; taken so that all metrics have the same arguments",
        "attribute_lexicon": "two labels and the words that name them: `gender`, a JSON file, or in Python a mapping; "
        "see `captionbias.text.load_lexicon`",
    },
    returns="`ratio`: captions of the lexicon's second label over captions of its first (male over female), absent "
    "when there are none of the first; `error`: percent of all captions that have the wrong label; `unnamed`: percent "
    "that have neither or both, and so cannot be wrong; of the last two also `..._human` and `..._excess`. Each with "
    "`..._ci_low/high` (95%, over images). And `signature`.",
)
@against_a_person
def gender_error(
    captions: Captions,
    /,
    *,
    attribute_lexicon: LexiconSource = "gender",
    tokenizer: str = "words",
    controls: bool = True,
    seed: int = 0,
    bootstrap: int = 1000,
    details: bool = False,
) -> Scores:
    """How often captions are of either gender, and how often of the wrong one; of any attribute with two values.

    A caption is male if it has male words and no female ones, female the other way round.

    Source: Hendricks et al. 2018; the words are those of Hirota et al. 2022.

    >>> captions = ["a woman", "a man", "a man and his dog", "a dog"]
    >>> result = gender_error(predictions=captions, attributes=["female", "male", "female", "female"], bootstrap=0)
    >>> result["ratio"], result["error"]
    (2.0, 25.0)
    """
    lexicon = load_lexicon(attribute_lexicon)
    if len(lexicon.labels) != 2:
        raise ValueError(
            f"attribute_lexicon {lexicon.name!r} has {len(lexicon.labels)} labels ({', '.join(lexicon.labels)}): the "
            "ratio is one of two; give a lexicon of two labels"
        )
    if captions.predictions is None:
        raise ValueError("predictions is missing: give the captioner's captions")
    notes: list[str] = []
    captions = with_values(captions, check_whole(lexicon), tokenizer, notes, one_language=False)  # counted as unnamed
    value = value_numbers(captions, lexicon.labels)
    groups = random_groups(len(captions), seed, copies=copies_of(captions, notes))
    words = captions.words(tokenizer)
    said = named_in(words.tokens, lexicon, tokenizer)
    note_labels_from_captions(words, said, value, notes)
    first, second = said[: words.model_rows].T
    named = np.stack((first & ~second, second & ~first, ~first & ~second, first & second), axis=1)
    counts = PairCounts(groups, 2, 4)
    counts.add(np.arange(len(captions)), np.eye(2, dtype=bool)[value], named)

    def quantities(multiplicity: Floats, _: Floats | None) -> dict[str, Floats]:
        table = counts.of(multiplicity)
        of_either = table.sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = np.where(of_either[0] > 0, of_either[1] / of_either[0], np.nan)
        captions = of_either.sum(axis=0) / 100
        return {
            "ratio": ratio[None],
            "error": ((table[0, 1] + table[1, 0]) / captions)[None],
            "unnamed": ((of_either[2] + of_either[3]) / captions)[None],
        }

    table = counts.of()[:, :, 0]
    if (silent := table[:, 2:].sum() / table.sum()) > MOST:
        note(
            notes,
            f"predictions: {silent:.0%} name neither label or both, which is never wrong: read error with unnamed",
        )
    if not table[:, 0].any():
        note(notes, f"predictions: no caption is {lexicon.labels[0]}, so there is no ratio")
    return Scores(
        bootstrap_samples(quantities, int(groups.max()) + 1, 1, bootstrap, seed),
        {},
        dict(
            ratio="/".join(reversed(lexicon.labels)),
            tok=tokenizer,
            attribute=lexicon_name(lexicon, attribute_lexicon),
            **captions.rows(),
            seed=seed,
            bootstrap=bootstrap,
        ),
        notes,
        {
            "images": len(captions),
            "attribute_counts": dict(zip(lexicon.labels, np.bincount(value, minlength=2).tolist(), strict=True)),
            "captions": {
                value: dict(zip((*lexicon.labels, "neither", "both"), map(int, table[row]), strict=True))
                for row, value in enumerate(lexicon.labels)
            },
            "error_by_attribute": {
                value: float(100 * table[row, 1 - row] / table[row].sum()) if table[row].sum() else None
                for row, value in enumerate(lexicon.labels)
            },
        }
        if details
        else None,
    )
