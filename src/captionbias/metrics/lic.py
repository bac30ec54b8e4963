"""LIC, leakage and confidence: how well an attacker reads the attribute from captions that do not name it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from captionbias.arrays import Integers
from captionbias.attackers.base import Examples, Trial
from captionbias.attackers.engine import Progress, run_trials
from captionbias.attackers.registry import find_attacker
from captionbias.attackers.splits import balanced_split
from captionbias.captions import check_captions
from captionbias.metrics.inputs import (
    align_human,
    alignment_vectors,
    mentions_of,
    note,
    note_nothing_masked,
    number_classes,
    split_into_words,
)
from captionbias.metrics.leakage_scores import Measured, check_unseen, compare, means, note_without_unseen
from captionbias.metrics.protocol import LIC_PRESETS, alignment_name, lexicon_name, settings, signature, whole_number
from captionbias.text import LexiconSource, Tokens, load_lexicon

if TYPE_CHECKING:
    from torch import nn

# What LIC calls lstm is its own; the other encoders are DBAC's.
ENCODERS = {"lstm": "lstm-lic"}
SIDES = {"m": "model", "d": "human"}


def lic(
    *,
    predictions: Any = None,
    references: Any = None,
    attributes: Any = None,
    tasks: Any = None,
    preset: str = "lic-2022",
    encoder: str | type[nn.Module] | None = None,
    model: str | None = None,
    precision: str | None = None,
    trials: int | None = None,
    seed: int = 0,
    alignment: str | None = None,
    vectors: Any = None,
    delta: float | None = None,
    tokenizer: str | None = None,
    attribute_lexicon: LexiconSource | None = None,
    unseen_only: bool = False,
    bootstrap: int = 1000,
    cache: bool | str | Path = True,
    distributed: bool = True,
    details: bool = False,
    progress: Progress = False,
) -> dict[str, Any]:
    """LIC of a captioner (`lic_m`), of human captions (`lic_d`), and the amplification between them (`lic`), all x 100.

    Attribute words are masked, human captions are aligned to the model's words, and an attacker is trained to predict
    the attribute from each side's captions: one attacker for the model, one for each column of human captions. The
    same trained attackers give leakage and confidence.

    Args:
        predictions: `n` model captions; None to measure the human captions alone.
        references: `n` lists of human captions; None to measure the captioner alone. With captions to spare on some
            images, the columns that every image has are used.
        attributes: `n` labels of the protected attribute, two or more values.
        tasks: not used; taken so that all metrics have the same arguments.
        preset: `lic-2022`, the paper's protocol, or `fast`, the convex attacker.
        encoder: `lstm` (LIC's own), `bow`, one of DBAC's (`lstm-dbac`, `bilstm`, `rnn`, `birnn`, `transformer-1h`,
            `transformer-5h`), a pretrained sentence encoder under an MLP (`all-MiniLM-L6-v2`, any other name on the
            Hub, or a folder), `bert-frozen` or `bert-finetuned` under LIC's head, or your own `torch.nn.Module`, as a
            class or as `module:Class`; the preset's when None, as for the arguments below.
        model: what `bert-frozen` and `bert-finetuned` stand on: a name on the Hub or a folder; `bert-base-uncased` when
            None.
        precision: `fp32` or `bf16`, of neural attackers; None for bf16 where the device computes it natively.
        trials: attackers trained a side; trial `t` splits and trains with seed `seed + t`.
        seed: seed of the first trial and of the bootstrap.
        alignment: `constant` or `contextual`.
        vectors: word vectors of contextual alignment, see `captionbias.alignment.vectors.load_vectors`.
        delta: largest cosine distance of a contextual substitution.
        tokenizer: `words` or `whitespace`.
        attribute_lexicon: what is masked: a built-in lexicon, a file or a mapping, see `captionbias.text.load_lexicon`.
        unseen_only: score only test captions that do not stand in the training split.
        bootstrap: replicates of the bootstrap over images; 0 for none.
        cache: keep every finished trial and train none twice: in the usual folder (True, see `captionbias cache`), in
            this one, or not at all (False).
        distributed: share the trials with the other processes of `accelerate launch`, if there are any; False when one
            of them alone measures.
        details: add the nested entry `details`. Its `unseen` holds what `unseen_only` would give, without spread and
            intervals, and without training anything: the scores of test captions that do not stand in the training
            split, and how many they are. A trial without such captions does not count; a side without any has none.
        progress: show a progress bar, or a function to call with the numbers of finished and of all trials, see
            `captionbias.attackers.engine.run_trials`; an exception of it ends the run, and finished trials are kept.

    Returns:
        Floats and a `signature`. For each score `s` of lic, leakage and confidence: `s_m`, `s_d` in [0, 100], `s` in
        [-100, 100] (`s_m - s_d`, above 0 when the captioner amplifies), and for each of these `..._std` over trials,
        `..._trial_ci_low/high` (95%, over trials) and `..._ci_low/high` (95%, over images and trials). With a side
        absent its keys are too. `seen_m`, `seen_d`: percent of test captions that stand in the training split;
        `test_captions_m`, `test_captions_d`: how many are scored in a trial.

    Raises:
        ValueError: input that cannot be measured; the message names the argument, the first bad row and the way out.

    Source: Hirota, Nakashima and Garcia 2022, Eq. 1 to 5.

    >>> captions = ["a woman cooks food", "a lady cooks dinner", "a man rides waves", "a man surfs"] * 20
    >>> labels = ["female", "female", "male", "male"] * 20
    >>> result = lic(predictions=captions, attributes=labels, preset="fast", trials=2)
    >>> result["leakage_m"]
    100.0
    """
    captions = check_captions(predictions=predictions, references=references, attributes=attributes, tasks=tasks)
    chosen = settings(
        LIC_PRESETS,
        preset,
        {
            "encoder": encoder,
            "trials": trials,
            "alignment": alignment,
            "vectors": vectors,
            "delta": delta,
            "tokenizer": tokenizer,
            "attribute_lexicon": attribute_lexicon,
        },
    )
    seed, bootstrap = whole_number("seed", seed, least=0), whole_number("bootstrap", bootstrap, least=0)
    attacker = find_attacker(ENCODERS.get(chosen["encoder"], chosen["encoder"]), precision, model, cache)
    lexicon = load_lexicon(chosen["attribute_lexicon"])
    notes: list[str] = []
    values, classes = number_classes(captions, notes)

    sides = split_into_words(captions, chosen["tokenizer"])
    mentions = mentions_of(sides, lexicon, chosen["tokenizer"])
    note_nothing_masked(mentions, lexicon, notes)
    masked = sides.mask(mentions, lexicon.mask)
    word_vectors = alignment_vectors(sides, [masked], chosen)
    human, alignment_report = align_human(masked, lexicon.mask, chosen, word_vectors)

    columns = {"m": [masked.model]} if captions.predictions else {}
    if captions.references:
        columns["d"] = _human_columns(human, sides.human_image, len(captions), notes)
    plan = {
        side: [
            _trials(side, number, column, classes, len(values), lexicon.mask, chosen, seed)
            for number, column in enumerate(tables)
        ]
        for side, tables in columns.items()
    }
    queue = [trial for tables in plan.values() for column in tables for trial in column]
    if unseen_only:
        check_unseen(queue)
    scores = run_trials(queue, attacker, cache=cache, distributed=distributed, progress=progress)
    answers = dict(zip(queue, scores, strict=True))
    measured = {side: Measured.of(tables, answers, len(captions), unseen_only) for side, tables in plan.items()}

    result = compare(measured, seed, bootstrap)
    for side, of_side in measured.items():
        result |= {f"test_captions_{side}": float(of_side.scored().mean()), f"seen_{side}": 100 * of_side.seen_share}
        if of_side.seen_share > 0.5 and not unseen_only:
            note(
                notes,
                f"{of_side.seen_share:.0%} of the {SIDES[side]} test captions also stand in the training split, which "
                "raises their score; unseen_only=True scores the others",
            )
    result["signature"] = signature(
        {
            "metric": "lic",
            "preset": preset,
            **attacker.signature(),
            "align": alignment_name(chosen["alignment"], chosen["vectors"], chosen["delta"]),
            "trials": chosen["trials"],
            "split": f"balanced,{chosen['test_share']:g}",
            "seed": seed,
            "tok": chosen["tokenizer"],
            "attribute": lexicon_name(lexicon, chosen["attribute_lexicon"]),
            "unseen": unseen_only,
            "bootstrap": bootstrap,
        }
    )
    if details:
        result["details"] = {
            "images": len(captions),
            "attribute_counts": dict(zip(values, np.bincount(classes).tolist(), strict=True)),
            "human_columns": len(columns.get("d", [])),
            "alignment": alignment_report.as_dict() if alignment_report else None,
            "trials": {side: of_side.trial_table(seed) for side, of_side in measured.items()},
            "by_attribute": {side: of_side.by_class(values, classes) for side, of_side in measured.items()},
            "unseen": _unseen(
                {side: Measured.of(tables, answers, len(captions), unseen_only=True) for side, tables in plan.items()},
                notes,
            ),
            "warnings": notes,
        }
    return result


def _unseen(measured: dict[str, Measured], notes: list[str]) -> dict[str, float]:
    for side, of_side in measured.items():
        note_without_unseen(SIDES[side], np.isnan(of_side.estimates("lic")), notes)
    left = {f"test_captions_{side}": float(of_side.scored().mean()) for side, of_side in measured.items()}
    return means(measured) | left


def _human_columns(human: Tokens, image: Integers, images: int, notes: list[str]) -> list[Tokens]:
    """The k-th human caption of every image, for each k that all images have."""
    counts = np.bincount(image, minlength=images)
    columns = int(counts.min())
    if counts.max() > columns:
        note(
            notes, f"references: every image has {columns} or more captions; those after column {columns} are not used"
        )
    first = np.concatenate(([0], np.cumsum(counts)[:-1]))
    return [human.select(first + column) for column in range(columns)]


def _trials(
    side: str, column: int, tokens: Tokens, classes: Integers, values: int, mask: str, chosen: dict[str, Any], seed: int
) -> list[Trial]:
    examples = Examples(tokens, classes, values, mask)
    trials = []
    for number in range(chosen["trials"]):
        train, test = balanced_split(classes, chosen["test_share"], seed + number)
        trials.append(Trial(f"{side}{column} seed {seed + number}", examples, train, test, seed + number))
    return trials
