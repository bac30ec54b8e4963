"""LIC, leakage and confidence: how well an attacker reads the attribute from captions that do not name it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from captionbias.arrays import Flags, Floats32, Integers
from captionbias.attackers.base import Examples, Trial, TrialScores, balanced_split
from captionbias.attackers.engine import run_trials
from captionbias.attackers.registry import find_attacker
from captionbias.bench import inputs
from captionbias.bench.attacks import (
    KEYS,
    AttackPlan,
    Attacks,
    AttackScores,
    compared_sides,
    note_single_training,
    percent,
    seen_in_training,
    with_sides,
)
from captionbias.bench.catalogue import SIDES, SIGNED_PERCENT, Score
from captionbias.bench.measurement import Scores, metric
from captionbias.bench.protocol import alignment_name, lexicon_name, preset_settings
from captionbias.captions import Captions
from captionbias.progress import Progress
from captionbias.scores.captions import CAPTION_SCORES
from captionbias.statistics.intervals import rounded
from captionbias.statistics.samples import Sample, mean_over_trials, trial_rows
from captionbias.text import LexiconSource, Tokens, find_mentions, load_lexicon
from captionbias.warnings import note
from captionbias.wings import entered

if TYPE_CHECKING:
    from torch import nn

NAMES = {"m": "model", "h": "human"}
UNSEEN = "lic_unseen"
LEAST_PEOPLE = 3  # for how much people differ


LIC_2022: dict[str, Any] = {
    "encoder": "lstm-lic",
    "trials": 10,
    "test_share": 0.1,
    "alignment": "constant",
    "vectors": "captions",
    "delta": 0.4,
    "tokenizer": "words",
    "attribute_lexicon": "gender",
}
PRESETS = {"lic-2022": LIC_2022, "fast": LIC_2022 | {"encoder": "bow"}}


def _lic(key: str, name: str, what: str, chance: str) -> Iterable[Score]:
    meaning = f"Of 100: {what} from captions whose attribute words are masked. With k labels chance is {chance}."
    main = key == "lic"
    score = Score(
        key,
        f"{name} x 100",
        1,
        SIGNED_PERCENT,
        "Above 0 the captioner's captions give the attribute away more than people's, below 0 less.",
        sense="amplification",
        judged=True,
        noisy=True,
        confirmed_by=(UNSEEN,) if main else (),
        headline=main,
        claim="the wording alone gives {attribute} away" if main else "",
        task=key,
    )
    difference, *sides = with_sides(score, SIDES["h"], meaning, alone=main, in_tables=main)
    yield difference
    if main:
        yield Score(
            UNSEEN,
            "LIC x 100, captions not seen in training",
            1,
            SIGNED_PERCENT,
            "The same over test captions that are not, word for word, in the attacker's training split. Where it has "
            "the other sign, LIC has no verdict.",
            row="  captions not seen in training",
            sense="amplification",
        )
    yield from sides


@metric(
    "LIC",
    "can the attribute be read from captions that do not name it?",
    [
        *_lic(
            "lic",
            "LIC",
            "how often, and how surely, an attacker reads the attribute",
            "100 / k², and up to 100 / k for an attacker that is sure of itself",
        ),
        *_lic("leakage", "leakage", "how often an attacker reads the attribute", "100 / k"),
        *_lic("confidence", "confidence", "how surely an attacker reads the attribute", "100 / k"),
    ],
    presets=PRESETS,
    about={
        "references": "`n` lists of human captions; None to measure the captioner alone. With captions to spare on "
        "some images, the columns that every image has are used",
        "tasks": "not used; taken so that all metrics have the same arguments",
    },
    returns="Floats and a `signature`. For each score `s` of lic, leakage and confidence: `s_m`, `s_d` in [0, 100], "
    "`s` in [-100, 100] (`s_m - s_d`, above 0: more than people), and for each of these `..._std` over trials, "
    "`..._trial_ci_low/high` (95%, over trials) and `..._ci_low/high` (95%, over images and trials). With a side "
    "absent its keys are too. `seen_m`, `seen_d`: percent of test captions that are also in the training split; "
    "`test_captions_m`, `test_captions_d`: how many are scored in a trial.",
)
def lic(
    captions: Captions,
    /,
    *,
    preset: str = "lic-2022",
    encoder: str | type[nn.Module] | None = None,
    model: str | None = None,
    images: Any = None,
    image_encoder: str | None = None,
    precision: str | None = None,
    trials: int | None = None,
    seed: int = 0,
    alignment: str | None = None,
    vectors: Any = None,
    delta: float | None = None,
    tokenizer: str | None = None,
    attribute_lexicon: LexiconSource | None = None,
    vocabulary: Any = None,
    allow_unmasked: bool = False,
    unseen_only: bool = False,
    join_references: bool = False,
    bootstrap: int = 1000,
    cache: bool | str | Path = True,
    distributed: bool = True,
    details: bool = False,
    keep_attackers: int = 0,
    progress: Progress = None,
) -> Scores:
    """LIC of a captioner (`lic_m`), of human captions (`lic_d`), and the amplification between them (`lic`), all x 100.

    Attribute words are masked, human captions are aligned to the model's words, and an attacker is trained to predict
    the attribute from each side's captions: one attacker for the model, one for each column of human captions. The
    same trained attackers give leakage and confidence.

    Source: Hirota, Nakashima and Garcia 2022, Eq. 1 to 5; with images, ImageCaptioner2 (Bakr et al. 2023), section 5.7,
    whose text encoder is BERT beside ResNet-50.

    >>> captions = ["a woman cooks food", "a lady cooks dinner", "a man rides waves", "a man surfs"] * 20
    >>> labels = ["female", "female", "male", "male"] * 20
    >>> result = lic(predictions=captions, attributes=labels, preset="fast", trials=2)
    >>> result["leakage_m"]
    100.0
    """
    preset, settings = preset_settings("lic", **locals())
    notes: list[str] = []
    lexicon = load_lexicon(settings["attribute_lexicon"])
    captions = inputs.with_values(captions, lexicon, settings["tokenizer"], notes, allow_unmasked)
    captions, joined = inputs.of_one_length(captions, join_references, notes)
    attacker = find_attacker(settings["encoder"], precision, model, cache)
    pictures, beside = None, {}
    if images is not None:
        beside_pictures = next(entered("pictures"), None)
        if beside_pictures is None:
            raise ValueError("images: nothing here reads pictures; pip install 'captionbias[images]' first")
        attacker, pictures, name = beside_pictures(attacker, captions, images, image_encoder, cache, distributed)
        beside = {"image_encoder": name}
    elif image_encoder is not None:
        raise ValueError(f"image_encoder {image_encoder!r} has no pictures to read; give images, or leave it out")
    note_single_training(attacker.precision is not None, settings["trials"], notes)
    values, classes = inputs.number_classes(captions, notes)

    settings["vocabulary"] = inputs.read_vocabulary(vocabulary)
    seeds = range(seed, seed + settings["trials"])
    plan, report = plan_lic(captions, settings, values, classes, seeds, notes, pictures)
    seen = seen_in_training(list(plan))
    unseen = {trial: ~flags for trial, flags in seen.items()}
    for trial, flags in unseen.items() if unseen_only else ():
        if not flags.any():
            raise ValueError(f"unseen_only: every test caption of seed {trial.seed} is also in its training split")
    queue, first = list(plan), plan.first("m", keep_attackers)
    trained = run_trials(queue, attacker, keep=first, cache=cache, distributed=distributed, progress=progress)
    answers = dict(zip(queue, trained, strict=True))
    scored_unseen = _scores(plan, answers, len(captions), unseen)
    scored = scored_unseen if unseen_only else _scores(plan, answers, len(captions), None)

    facts: dict[str, float] = {}
    for side, of_side in scored.items():
        share = float(np.concatenate([seen[trial] for column in plan.trials[side] for trial in column]).mean())
        facts |= {f"test_captions_{KEYS[side]}": float(of_side.scored().mean()), f"seen_{KEYS[side]}": 100 * share}
        if share > 0.5 and not unseen_only:
            note(
                notes,
                f"{share:.0%} of the {NAMES[side]} test captions are also in the training split, which raises their "
                "score; unseen_only=True scores the others",
            )
    tables = (
        {
            "images": len(captions),
            "attribute_counts": dict(zip(values, np.bincount(classes).tolist(), strict=True)),
            "human_columns": len(plan.trials.get("h", [])),
            "alignment": report.as_dict() if report else None,
            "trials": {
                KEYS[side]: trial_rows(seeds, {"captions": of_side.scored()} | of_side.estimates())
                for side, of_side in scored.items()
            },
            "by_attribute": {KEYS[side]: _by_class(of_side, values, classes) for side, of_side in scored.items()},
        }
        if details
        else None
    )
    return Scores(
        _samples(scored, scored_unseen, bootstrap, seed, captions.copies),
        facts,
        dict(
            preset=preset,
            **attacker.signature(),
            **beside,
            align=alignment_name(settings),
            trials=settings["trials"],
            split=f"balanced,{settings['test_share']:g}",
            **captions.rows(),
            seed=seed,
            tok=settings["tokenizer"],
            attribute=lexicon_name(lexicon, settings["attribute_lexicon"]),
            unseen=unseen_only,
            **joined,
            bootstrap=bootstrap,
        ),
        notes,
        tables,
        Attacks({"lic": plan.keep(answers)}, attacker),
        _noise(scored, notes),
    )


def plan_lic(
    captions: Captions,
    settings: Mapping[str, Any],
    values: tuple[str, ...],
    classes: Integers,
    seeds: Iterable[int],
    notes: list[str],
    pictures: Floats32 | None = None,
) -> tuple[AttackPlan, Any]:
    """Mask attribute words, align human captions, split: the plan, and alignment's report."""
    lexicon = load_lexicon(settings["attribute_lexicon"])
    words = captions.words(settings["tokenizer"])
    mentions = find_mentions(words.tokens, lexicon, settings["tokenizer"])
    masked = words.mask(mentions, lexicon.mask)
    vectors = inputs.alignment_vectors(words, [masked], settings)
    human, report = inputs.align_human(masked, (lexicon.mask,), vectors, settings)

    columns = {"m": [masked.model]} if captions.predictions else {}
    if captions.references:
        columns["h"] = _human_columns(human, words.human_image, len(captions), notes)
    copies = inputs.copies_of(captions, notes)
    splits = [(seed, balanced_split(classes, settings["test_share"], seed, copies)) for seed in seeds]

    def trials(tokens: Tokens) -> list[Trial]:
        examples = Examples(tokens, classes, len(values), (lexicon.mask,), pictures)
        return [Trial(examples, train, test, seed) for seed, (train, test) in splits]

    return AttackPlan("lic", values, {side: list(map(trials, of_side)) for side, of_side in columns.items()}), report


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


def _scores(
    plan: AttackPlan, answers: Mapping[Trial, TrialScores], images: int, kept: Mapping[Trial, Flags] | None
) -> dict[str, AttackScores]:
    scores = {name: percent(score) for name, score in CAPTION_SCORES.items()}
    return {
        side: AttackScores.of(columns, answers, scores, np.arange(images), kept)
        for side, columns in plan.trials.items()
    }


def _samples(
    scored: Mapping[str, AttackScores], unseen: Mapping[str, AttackScores], *bootstrap: Any
) -> dict[str, Sample]:
    """Every score of each side, and M minus D where there are both, of LIC also over unseen captions."""
    scores = {score: (score, scored) for score in CAPTION_SCORES}
    samples = compared_sides(scores | {UNSEEN: ("lic", unseen)}, *bootstrap)
    return {key: sample for key, sample in samples.items() if not key.startswith(f"{UNSEEN}_")}


def _noise(scored: Mapping[str, AttackScores], notes: list[str]) -> dict[str, float]:
    """How far from 0 one more person would read in 19 of 20 cases, by the spread of three columns or more."""
    from scipy.stats import t

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
    widths = t.ppf(0.975, people - 1) * math.sqrt(1 + 1 / people)
    return {score: rounded(float(widths * scored["h"].of_columns(score).std(ddof=1))) for score in CAPTION_SCORES}


def _by_class(scored: AttackScores, values: tuple[str, ...], classes: Integers) -> dict[str, dict[str, float]]:
    """The same scores over the images of each attribute value alone; none where no caption was scored."""
    members = (classes[:, None] == np.arange(len(values))).astype(np.float64)
    each = {name: scored.means(name, members) for name in CAPTION_SCORES}
    means = {name: mean_over_trials(of_trials, np.ones_like(of_trials)) for name, of_trials in each.items()}
    return {
        value: {name: float(of[number]) for name, of in means.items() if not np.isnan(of[number])}
        for number, value in enumerate(values)
    }
