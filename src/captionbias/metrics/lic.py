"""LIC, leakage and confidence: how well an attacker reads the attribute from captions that do not name it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from captionbias.attackers.registry import find_attacker
from captionbias.bench.aligned import Sides, alignment_name, check_vectors, read_vocabulary
from captionbias.bench.attacked import PICTURE_READERS, Bench
from captionbias.bench.attacks import (
    GAIN,
    KEYS,
    Attacks,
    AttackScores,
    answers_to,
    compare_sides,
    gain_scores,
    overlap_with_training,
    percent,
    with_sides,
)
from captionbias.bench.catalogue import PERCENT, SIDES, SIGNED_PERCENT, SWAY_SEES_MORE, Score, worst
from captionbias.bench.measurement import Prepared, Scores, metric
from captionbias.bench.protocol import Alignment, preset_settings
from captionbias.bench.verdicts import estimates_of, worst_of
from captionbias.captions import Captions
from captionbias.errors import Argument, InputError, phrase
from captionbias.progress import Progress
from captionbias.scores.captions import CAPTION_SCORES
from captionbias.statistics.intervals import rounded
from captionbias.statistics.samples import Sample, mean_over_trials, trial_rows
from captionbias.text import LexiconSource
from captionbias.warnings import note

NAMES = {"m": "model", "h": "human"}
UNSEEN, LEARNED = "lic_unseen", f"lic_{GAIN}"
GAINS = tuple(f"{LEARNED}_{side}" for side in KEYS.values())
LEAST_PEOPLE = 3  # for how much people differ
SCORES = {name: percent(score) for name, score in CAPTION_SCORES.items()}
LIC_2022 = Alignment(
    encoder="lstm-lic", trials=10, test_share=0.1, alignment="constant", attribute_lexicon="gender_published"
)
FAST = replace(LIC_2022, encoder="bow", trials=5, test_share=0.2, folded=True, attribute_lexicon="gender")
PRESETS = {"lic-2022": LIC_2022, "fast": FAST}


def _lic(key: str, name: str, what: str, chance: str) -> Iterable[Score]:
    meaning = f"Per 100: {what} from captions whose attribute words are masked. With k labels, chance is {chance}."
    main = key == "lic"
    score = Score(
        key,
        f"{name} x 100",
        1,
        SIGNED_PERCENT,
        "Above 0, the captioner's captions give the attribute away more than people's; below 0, less.",
        sense="amplification",
        judged=True,
        noisy=True,
        confirmed_by=(UNSEEN,) if main else (),
        learned=GAINS,
        headline=main,
        published=not main,
        claim="the wording alone gives {attribute} away" if main else "",
        task=key,
    )
    difference, *sides = with_sides(
        score, SIDES["h"], meaning, alone=main, in_tables=main, published=key != "confidence"
    )
    yield difference
    if main:
        yield Score(
            UNSEEN,
            "LIC x 100, captions not seen in training",
            1,
            SIGNED_PERCENT,
            "The same over test captions that are not, word for word, in the attacker's training split. If it has "
            "the opposite sign, LIC has no verdict.",
            row="  captions not seen in training",
            sense="amplification",
        )
    yield from sides


@metric(
    "LIC",
    "can the attribute be guessed from captions that do not name it?",
    [
        *_lic(
            "lic",
            "LIC",
            "how often, and how confidently, an attacker guesses the attribute",
            "100 / k², and up to 100 / k for a confident attacker",
        ),
        *gain_scores("lic", "LIC"),
        *_lic("leakage", "leakage", "how often an attacker guesses the attribute", "100 / k"),
        *_lic("confidence", "confidence", "how confidently an attacker guesses the attribute", "100 / k"),
        worst("lic", "size of LIC x 100", 1, PERCENT, f"How far LIC is from 0, on either side. {SWAY_SEES_MORE}"),
    ],
    presets=PRESETS,
    about={
        "references": "`n` lists of human captions; None to measure the captioner alone. If some images have more "
        "captions than others, the columns that every image has are used",
        "tasks": "not used; accepted so that all metrics have the same arguments",
    },
    returns="Floats and a `signature`. For each score `s` of lic, leakage and confidence: `s_m`, `s_d` in [0, 100], "
    "`s` in [-100, 100] (`s_m - s_d`, above 0: more than people); `lic_gain_m` and `lic_gain_d`, the attackers' "
    "gains over base rates; each with `..._ci_low/high` (95%, over images and trials), some only with details. If a "
    "side is absent, so are its keys. `seen_m`, `seen_d`: percentage of test captions that are also in the training "
    "split; `test_captions_m`, `test_captions_d`: how many are scored in a trial.",
)
def lic(
    captions: Captions,
    /,
    *,
    preset: str = "lic-2022",
    encoder: str | None = None,
    model: str | None = None,
    images: Any = None,
    image_encoder: str | None = None,
    precision: str | None = None,
    trials: int | None = None,
    seed: int = 0,
    seeds: Sequence[int] | None = None,
    alignment: str | None = None,
    vectors: Any = None,
    delta: float | None = None,
    tokenizer: str | None = None,
    attribute_lexicon: LexiconSource | None = None,
    vocabulary: Any = None,
    allow_unmasked: bool = False,
    unseen_only: bool = False,
    bootstrap: int = 1000,
    cache: bool | str | Path = True,
    distributed: bool = False,
    details: bool = False,
    keep_attackers: int = 0,
    progress: Progress = None,
) -> Prepared:
    """LIC of a captioner (`lic_m`), of human captions (`lic_d`), and the amplification between them (`lic`), all x 100.

    Attribute words are masked, human captions are aligned to the captioner's words, and an attacker is trained to
    predict the attribute from each side's captions: one attacker for the captioner, one for each column of human
    captions. The same trained attackers give leakage and confidence.

    Source: Hirota, Nakashima and Garcia 2022, Eq. 1 to 5; with images, ImageCaptioner2 (Bakr et al. 2023), section 5.7,
    whose text encoder is BERT beside ResNet-50.

    >>> captions = ["a woman cooks food", "a lady cooks dinner", "a man rides waves", "a man surfs"] * 20
    >>> labels = ["female", "female", "male", "male"] * 20
    >>> result = lic(predictions=captions, attributes=labels, preset="fast", trials=2)
    >>> result["leakage_m"]
    100.0
    """
    chosen = {"encoder": encoder, "trials": trials, "alignment": alignment, "vectors": vectors, "delta": delta}
    chosen |= {"tokenizer": tokenizer, "attribute_lexicon": attribute_lexicon, "seeds": seeds}
    preset, settings = preset_settings(PRESETS, preset, vocabulary=read_vocabulary(vocabulary), **chosen)
    check_vectors(settings, Sides(captions.predictions is not None, captions.references is not None), vectors)
    attacker, pictures, beside = find_attacker(settings.encoder, precision, model, cache), None, {}
    bench = Bench.of(captions, settings, seed, allow_unmasked=allow_unmasked, neural=attacker.precision is not None)
    if images is not None:
        if not PICTURE_READERS:
            raise InputError("images", ": nothing here reads pictures; pip install '.[images]' in a clone first")
        inputs = bench.captions, images, image_encoder, cache, distributed
        attacker, pictures, beside["image_encoder"] = PICTURE_READERS[0](attacker, *inputs)
    elif image_encoder is not None:
        raise InputError(
            "image_encoder", f"{image_encoder!r} has no pictures to read", phrase("give {images}"), "leave it out"
        )

    [masked] = bench.mask(("attribute",), aligned=settings)
    columns = {
        side: [column] if side == "m" else column.by_position(bench.notes) for side, column in masked.sides.items()
    }
    drawn = {side: [column.draw(bench.rounds) for column in of_side] for side, of_side in columns.items()}
    plan = bench.plan("lic", drawn, balanced=True, pictures=pictures)
    unseen = {trial: ~flags for trial, flags in overlap_with_training(list(plan)).items()}
    for trial, flags in unseen.items() if unseen_only else ():
        if not flags.any():
            raise InputError("unseen_only", f": every test caption of seed {trial.seed} is also in its training split")
    signed: dict[str, Any] = {"preset": preset, **attacker.signature(list(plan)), **beside}
    signed |= {"align": alignment_name(settings, bench.sides), **bench.signed(balanced=True)}
    signed |= {"unseen": unseen_only, "bootstrap": bootstrap}

    def measured() -> Scores:
        options = {"cache": cache, "distributed": distributed, "progress": progress}
        answers = answers_to([plan], attacker, keep=plan.first("m", keep_attackers), **options)
        scored_all, scored_unseen = (
            bench.weighted_scores(plan, answers, SCORES, selection) for selection in (None, unseen)
        )
        scored = scored_unseen if unseen_only else scored_all
        compared = {score: (score, scored) for score in SCORES} | {UNSEEN: ("lic", scored_unseen)}
        compared |= {LEARNED: (GAIN, bench.gains(plan, answers))}
        samples = compare_sides(compared, bootstrap, seed, bench.copies)
        if all(bench.sides):
            samples |= worst_of("lic_worst", estimates_of(samples), {"lic": 1.0}, bench.notes)
        _note_unlike(samples, bench.notes)
        facts: dict[str, float] = {}
        for side, of_side in scored.items():
            captions_of_side, new = scored_all[side].counts.sum(), scored_unseen[side].counts.sum()
            share = float((captions_of_side - new) / captions_of_side)
            facts |= {f"test_captions_{KEYS[side]}": float(of_side.scored().mean()), f"seen_{KEYS[side]}": 100 * share}
            if share > 0.5 and not unseen_only:
                template = "{:.0%} of the {} {are also in the training split}, which raises their score"
                seen = phrase(template, share, Argument(f"{NAMES[side]} test captions"))
                note(bench.notes, seen, phrase("{unseen_only} scores the others", unseen_only=True))
        by_trial = {side: {"captions": of_side.scored()} | of_side.estimates() for side, of_side in scored.items()}
        return Scores(
            samples,
            facts,
            bench.notes,
            bench.counts()
            | {
                "alignment": masked.alignment,
                "trials": {KEYS[side]: trial_rows(bench.seeds, of_trial) for side, of_trial in by_trial.items()},
                "by_attribute": {KEYS[side]: _by_value(of_side, bench) for side, of_side in scored.items()},
            },
            Attacks({"lic": plan.keep(answers)}, attacker),
            _noise(scored, bench.notes),
            bench.doubts("lic"),
        )

    return Prepared(signed, measured)


def _note_unlike(samples: Mapping[str, Sample], notes: list[str]) -> None:
    """Note it where one side was learned more than twice as well as the other, and surely better."""
    between = samples[LEARNED].estimate() if LEARNED in samples else None
    if between is None or between.low is None or between.high is None or between.low <= 0 <= between.high:
        return
    gains = [float(samples[gain].values.mean()) for gain in GAINS]
    if 2 * min(gains) < max(gains):
        template = (
            "gain over base rates: {:.1f} of {predictions}, {:.1f} of {references}. The attacker did not learn both "
            "sides alike, so LIC may be the attacker's"
        )
        note(notes, phrase(template, *gains), phrase("compare another {encoder}"))


def _noise(scored: Mapping[str, AttackScores], notes: list[str]) -> dict[str, float]:
    """How far from 0 one more person would read in 19 of 20 cases, by the spread of three columns or more."""
    from scipy.special import stdtrit

    if len(scored) < 2:
        return {}
    people = scored["h"].columns
    if people < LEAST_PEOPLE:
        note(
            notes,
            f"{people} human caption{'s' * (people > 1)} of each image: too few to measure how much people differ, so "
            "verdicts take it as 1 of 100",
        )
        return {}
    widths = stdtrit(people - 1, 0.975) * math.sqrt(1 + 1 / people)
    return {score: rounded(float(widths * scored["h"].of_columns(score).std(ddof=1))) for score in SCORES}


def _by_value(scored: AttackScores, bench: Bench) -> dict[str, dict[str, float]]:
    """The same scores over the images of each attribute value alone; none where no caption was scored."""
    members = (bench.classes[:, None] == np.arange(len(bench.values))).astype(np.float64)
    each = {name: scored.means(name, members) for name in SCORES}
    means = {name: mean_over_trials(of_trials, np.ones_like(of_trials)) for name, of_trials in each.items()}
    return {
        value: {name: float(of[number]) for name, of in means.items() if not np.isnan(of[number])}
        for number, value in enumerate(bench.values)
    }
