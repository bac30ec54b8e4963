"""DBAC: directional bias amplification in captioning, published and matched."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from captionbias.arrays import Integers
from captionbias.attackers.engine import run_trials
from captionbias.attackers.registry import find_attacker
from captionbias.bench import inputs
from captionbias.bench.attacks import Attacks, note_single_training
from captionbias.bench.catalogue import DIRECTIONS, NET, RATIO, SIDES, SIGNED, Scale, Score
from captionbias.bench.measurement import Scores, metric
from captionbias.bench.pairing import PAIRINGS, pairings
from captionbias.bench.person import spread_of_people
from captionbias.bench.protocol import alignment_name, lexicon_name, preset_settings
from captionbias.captions import Captions
from captionbias.metrics.dbac_direction import INVERSE, Direction, a_to_t, plan_direction, t_to_a
from captionbias.metrics.dbac_sources import Sources
from captionbias.progress import Progress
from captionbias.scores.captions import QUALITIES
from captionbias.scores.omega import BLIND
from captionbias.statistics.samples import Sample, bootstrap_samples, trial_rows
from captionbias.text import LexiconSource, find_mentions, load_lexicon, mask_both, named_values
from captionbias.warnings import note

if TYPE_CHECKING:
    from torch import nn

MASKED = {"a_to_t": ("attribute",), "t_to_a": ("task",), BLIND: ("attribute", "task")}
NAMES = {"m": "model", "h": "human"}
SMALL_SHARE, SMALL_COVERAGE = 0.2, 0.9


DBAC_2026: dict[str, Any] = {
    "encoder": "lstm-dbac",
    "trials": 10,
    "test_share": 0.2,
    "alignment": "contextual",
    "vectors": "captions",
    "delta": 0.4,
    "quality": "confidence",
    "tokenizer": "words",
    "attribute_lexicon": "gender",
    "task_lexicon": "coco_objects",
    "pairing": "held-out",
    "controls": True,
    "names_kept": True,
}
PRESETS = {
    "dbac-2026": DBAC_2026,
    "dbac-2026-published": DBAC_2026
    | {
        "tokenizer": "whitespace",
        "task_lexicon": "coco_objects_published",
        "vectors": "glove-wiki-gigaword-50",
        "pairing": "every-caption",
        "controls": False,
        "names_kept": False,
    },
    "fast": DBAC_2026 | {"encoder": "bow"},
}


def _dbac(direction: str, shaping: str, hidden: str, claim: str) -> Iterable[Score]:
    def score(form: str, ending: str, meaning: str, scale: Scale = SIGNED, **also: Any) -> Score:
        key, label = f"dbac_{direction}{form}", f"DBAC {DIRECTIONS[direction]}, {ending}"
        also = {"row": f"  {ending}", "task": key} | also
        return Score(key, label, 3, scale, meaning, direction=direction, sense="amplification", **also)

    yield score(
        "_net",
        "net",
        f"Matched minus blind. Above 0 {shaping} in the captioner's captions than in people's, below 0 less.",
        NET,
        row=None,
        judged=True,
        noisy=True,
        control=True,
        headline=True,
        claim=claim,
    )
    yield score(
        "_matched",
        "matched",
        f"Above 0 the captioner's captions give {hidden} away more than people's that name the same, by whatever "
        "words.",
        headline=True,
    )
    yield score(
        "_blind",
        "blind",
        "The matched score when the words for the attribute and for the tasks are both hidden: what it owes to other "
        "words.",
        control=True,
    )
    yield score(
        "",
        "as published",
        "Above 0 is more than in people's captions, below 0 less, but this score also moves with how often captions "
        "name anything at all: judge by the net one.",
        headline=True,
    )
    yield score(
        "_prior",
        "its weights alone",
        "The published score with a perfect attacker.",
        task=None,
        in_tables=False,
        on_cards=False,
    )


def _omega(direction: str, attacked: str) -> Iterable[Score]:
    meaning = (
        f"How surely an attacker tells {attacked}, each caption by its weight. Never below 0, and larger where the "
        "association is stronger; it has no neutral value of its own."
    )
    for side, who in SIDES.items():
        for form, ending in (("", ""), ("_matched", ", matched")):
            yield Score(
                f"omega_{side}_{direction}{form}",
                f"omega {DIRECTIONS[direction]}, {who}{ending}",
                3,
                RATIO,
                meaning,
                direction=direction,
                alone=side == "m" and not form,
                human=side == "h",
                in_tables=not form,
                on_cards=not form,
            )


@metric(
    "DBAC",
    "does the attribute shape the tasks named (A to T), do the tasks shape the attribute named (T to A)?",
    [
        *_dbac(
            "a_to_t",
            "the attribute shapes the named tasks more",
            "the attribute",
            "the {tasks} named reveal {attribute}",
        ),
        *_dbac(
            "t_to_a", "the tasks shape the named attribute more", "the tasks", "the {value} named reveals the {tasks}"
        ),
        *_omega("a_to_t", "the attribute from captions whose attribute words are masked"),
        *_omega("t_to_a", "the tasks from captions whose task words are masked"),
    ],
    presets=PRESETS,
    about={
        "tasks": "`n` lists of tasks that the images show; when None, those named in the image's other human captions "
        "than the one that a trial scores",
        "join_references": "where the captioner writes longer captions than people, join as many human captions of an "
        "image into one as make them as long; images with too few are left out, and captions to spare still say what "
        "the image shows",
        "details": "add the nested entry `details`. `drawn` holds the number of each image's human caption in each "
        "trial (of the joined ones, if they are). For each direction its `seen` says what percent of each side's test "
        "captions are also in the training split (`m_net`, `h_net`: in its own or the blind attacker's)",
    },
    returns="Floats and a `signature`. For each direction `d`: `dbac_d`, `dbac_d_matched`, `dbac_d_blind`, "
    "`dbac_d_prior` and `dbac_d_net`, each with intervals as of `lic`. For each side `s` (m, h): `omega_s_d` and "
    "`omega_s_d_matched`, `mean_quality_s_d` and `mean_weight_s_d`, `test_captions_s_d` and what they count as under "
    "either weight, `effective_sample_s_d` and `effective_sample_matched_s_d`, and `coverage_s_d`, the share of them "
    "that name something named on both sides. With a side absent only the other's published omega and its parts.",
)
def dbac(
    captions: Captions,
    /,
    *,
    preset: str = "dbac-2026",
    directions: Sequence[str] = ("a_to_t", "t_to_a"),
    encoder: str | type[nn.Module] | None = None,
    model: str | None = None,
    precision: str | None = None,
    trials: int | None = None,
    seed: int = 0,
    quality: str | None = None,
    bayes: bool = True,
    pairing: str | None = None,
    controls: bool | None = None,
    alignment: str | None = None,
    vectors: Any = None,
    delta: float | None = None,
    vocabulary: Any = None,
    tokenizer: str | None = None,
    attribute_lexicon: LexiconSource | None = None,
    task_lexicon: LexiconSource | None = None,
    allow_unmasked: bool = False,
    join_references: bool = False,
    bootstrap: int = 1000,
    cache: bool | str | Path = True,
    distributed: bool = True,
    details: bool = False,
    keep_attackers: int = 0,
    progress: Progress = None,
) -> Scores:
    """DBAC in both directions: published, matched, blind and net, with every part they are made of.

    A to T: does the attribute shape the tasks? Attribute words are masked and an attacker predicts the attribute. T to
    A: do the tasks shape the attribute? Task words are masked and an attacker predicts the image's tasks. Above 0 the
    captioner's captions have more bias in that direction than people's, below 0 less.

    The published score also moves with how often the captioner names tasks at all; `..._matched` weighs both sides to
    the same distribution of what is named, and does not. `..._blind` is the matched score of attackers that see neither
    attribute words nor task words, and `..._net`, matched minus blind, is what these words add: judge by it. One more
    person in the captioner's place reads 0 on all of them, because each trial compares the captioner's caption of an
    image with one human caption of it.

    Source: Nair, Tokas and Kerner 2026, Eq. 5 to 9; held-out pairing, matched, blind and net DBAC are this project's
    own.

    >>> captions = ["a woman with a cake", "a lady and a dog", "a man on a surfboard", "a man and a dog"] * 20
    >>> labels = ["female", "female", "male", "male"] * 20
    >>> result = dbac(
    ...     predictions=captions,
    ...     references=[[text] * 2 for text in captions],
    ...     attributes=labels,
    ...     preset="fast",
    ...     trials=2,
    ... )
    >>> result["dbac_a_to_t"], result["dbac_t_to_a_net"]
    (0.0, 0.0)
    """
    preset, settings = preset_settings("dbac", **locals())
    _check_choices(directions, settings)
    attacker = find_attacker(settings["encoder"], precision, model, cache)
    notes: list[str] = []
    lexicon = load_lexicon(settings["attribute_lexicon"])
    captions = inputs.with_values(
        captions, lexicon, settings["tokenizer"], notes, allow_unmasked, "t_to_a" in directions
    )
    people = captions.references or ()
    captions, joined = inputs.of_one_length(captions, join_references, notes)
    note_single_training(attacker.precision is not None, settings["trials"], notes)
    values, classes = inputs.number_classes(captions, notes)

    settings["vocabulary"] = inputs.read_vocabulary(vocabulary)
    others = inputs.left_over(people, **joined) if joined else ()
    questions = plan_dbac(captions, settings, directions, values, classes, seed, notes, others)
    queue = [trial for by in ("", BLIND) for one in questions.values() for trial in one.plans.get(by, ())]
    first = [trial for one in questions.values() for trial in one.plans[""].first("m", keep_attackers)]
    trained = run_trials(queue, attacker, keep=first, cache=cache, distributed=distributed, progress=progress)
    answers = dict(zip(queue, trained, strict=True))

    trials, share = settings["trials"], settings["test_share"]
    overlap = share / (1 - share) if settings["pairing"] == "held-out" else 0.0
    samples: dict[str, Sample] = {}
    facts: dict[str, float] = {}
    tables: dict[str, Any] = {}
    rows: dict[str, Any] = {}
    for name, question in questions.items():
        direction = question.answered(answers, settings["quality"], bayes)
        sources = Sources.of(direction) if details and direction.quality != INVERSE else None
        if details and not sources:
            notes.append(f"{name}: quality {INVERSE} is not a sum over captions, so there is no table of sources")
        compared = sources.quantities if sources else lambda drawn, _, direction=direction: direction.quantities(drawn)
        samples |= bootstrap_samples(compared, len(captions), trials, bootstrap, seed, overlap, captions.copies)
        facts |= direction.facts()
        _note_weak_samples(name, facts, notes)
        if details:
            rows_of_trials = trial_rows(range(seed, seed + trials), direction.estimates())
            tables[name] = {"trials": rows_of_trials, "alignment": direction.report, "seen": direction.seen()}
            rows[name] = sources.rows() if sources else []
    noise = {}
    if bootstrap and settings["controls"] and captions.predictions and captions.references:
        options = {name: settings[name] for name in ("quality", "tokenizer", "attribute_lexicon", "task_lexicon")}
        options |= {"allow_unmasked": allow_unmasked, "cache": cache, "distributed": distributed}
        spread = _spread(captions, directions, seed, options, notes)
        noise = {key: width * math.sqrt(1 / trials + overlap) for key, width in spread.items()}
    return Scores(
        samples,
        facts,
        dict(
            preset=preset,
            **attacker.signature(),
            quality=settings["quality"],
            bayes=bayes,
            pairing=settings["pairing"],
            align=alignment_name(settings),
            trials=settings["trials"],
            split=f"{settings['test_share']:g}",
            **captions.rows(),
            seed=seed,
            tok=settings["tokenizer"],
            attribute=lexicon_name(lexicon, settings["attribute_lexicon"]),
            task=lexicon_name(load_lexicon(settings["task_lexicon"]), settings["task_lexicon"]),
            tasks="given" if captions.tasks else "named",
            **joined,
            bootstrap=bootstrap,
        ),
        notes,
        {
            "images": len(captions),
            "attribute_counts": dict(zip(values, np.bincount(classes).tolist(), strict=True)),
            "task_counts": questions["t_to_a"].task_counts if "t_to_a" in questions else None,
            "drawn": _drawn(captions, questions, settings["pairing"]),
            **tables,
            "sources": rows,
        }
        if details
        else None,
        Attacks(
            {name: one.plans[""].keep(answers) for name, one in questions.items()},
            attacker,
            {name: replace(one, plans={}) for name, one in questions.items()},
        ),
        noise,
    )


def _spread(
    captions: Captions, directions: Sequence[str], seed: int, options: Mapping[str, Any], notes: list[str]
) -> dict[str, float]:
    """How far from 0 one more person reads net in 19 of 20 cases, by one trial of the convex attacker each."""
    keys = [f"dbac_{direction}_net" for direction in directions]
    quick = {"preset": "fast", "alignment": "constant", "trials": 1, "bootstrap": 0, "progress": False}
    try:
        return spread_of_people(dbac, captions, keys, seed, directions=tuple(directions), **quick, **options)
    except ValueError as error:
        note(notes, f"how much people differ could not be measured, so verdicts take it as 0.01: {error}")
        return {}


def plan_dbac(
    captions: Captions,
    settings: Mapping[str, Any],
    directions: Sequence[str],
    values: tuple[str, ...],
    classes: Integers,
    seed: int,
    notes: list[str],
    others: Sequence[Sequence[str]] = (),
) -> dict[str, Direction]:
    """Pair, mask, align, split. `others`: human captions of each image that only say what it shows."""
    lexicons = {kind: load_lexicon(settings[f"{kind}_lexicon"]) for kind in ("attribute", "task")}
    if shared := sorted(lexicons["attribute"].words & lexicons["task"].words):
        named_twice = ", ".join(map(repr, shared))
        note(notes, f"{named_twice}: words for a task and for a value of the attribute; remove them from one lexicon")
    words = captions.words(settings["tokenizer"])
    mentions = {kind: find_mentions(words.tokens, lexicon, settings["tokenizer"]) for kind, lexicon in lexicons.items()}
    named = {
        kind: named_values(words.tokens, mentions[kind], lexicon, settings["tokenizer"])
        for kind, lexicon in lexicons.items()
    }
    copies = inputs.copies_of(captions, notes)
    paired = pairings(words, len(captions), settings["pairing"], range(seed, seed + settings["trials"]))
    questions: dict[str, Direction] = {}
    if "a_to_t" in directions:
        inputs.check_tasks_named(named["task"], lexicons["task"])
        questions["a_to_t"] = a_to_t(words, classes, values, named["task"], lexicons["task"].labels, paired)
    if "t_to_a" in directions:
        said, tasks = inputs.with_others(words, named["task"], others, lexicons["task"], settings["tokenizer"])
        shown, names = inputs.shown_tasks(captions, said, tasks, lexicons["task"], notes)
        by_pairing = inputs.shown_by_pairing(captions, said, tasks, shown, paired, notes)
        questions["t_to_a"] = t_to_a(
            words, shown, by_pairing, names, named["attribute"], lexicons["attribute"].labels, paired
        )

    controlled = settings["controls"] and words.model_rows and len(words.human_image)
    attacked = [*questions, BLIND] if controlled else [*questions]
    masks = {name: tuple(lexicons[kind].mask for kind in MASKED[name]) for name in attacked}
    hidden_of = {kind: (mentions[kind], lexicon.mask) for kind, lexicon in lexicons.items()}
    masked = {name: words.mask(*hidden_of[MASKED[name][0]]) for name in questions}
    if controlled:
        both = mask_both(words.tokens, *hidden_of["attribute"], *hidden_of["task"])
        masked[BLIND] = replace(words, tokens=both)
    vectors = inputs.alignment_vectors(words, masked.values(), settings)
    kept = tuple(lexicons.values()) if settings["names_kept"] else ()
    texts, reports = {}, {}
    for name, hidden in masked.items():
        human, report = inputs.align_human(hidden, masks[name], vectors, settings, kept)
        texts[name], reports[name] = {"m": hidden.model, "h": human}, report.as_dict() if report else None

    def planned(question: Direction) -> Direction:
        by = {"": question.name} | ({BLIND: BLIND} if controlled else {})
        plans = {
            attacker: plan_direction(question, texts[name], masks[name], classes, settings["test_share"], copies)
            for attacker, name in by.items()
        }
        return replace(question, plans=plans, report=reports[question.name])

    return {name: planned(question) for name, question in questions.items()}


def _drawn(captions: Captions, questions: Mapping[str, Direction], pairing: str) -> list[list[int]] | None:
    """The number of each image's human caption in each trial, by held-out pairing."""
    if pairing != "held-out" or captions.references is None:
        return None
    counts = np.fromiter(map(len, captions.references), np.int64, len(captions))
    starts = np.cumsum(counts) - counts
    return [(design.pairing.human - starts).tolist() for design in next(iter(questions.values())).designs]


def _check_choices(directions: Sequence[str], settings: Mapping[str, Any]) -> None:
    listed = isinstance(directions, Sequence) and not isinstance(directions, str)
    if not listed or not directions or set(directions) - set(DIRECTIONS):
        raise ValueError(f"directions must list one or both of {', '.join(DIRECTIONS)}, not {directions!r}")
    for name, choices in (("quality", QUALITIES), ("pairing", PAIRINGS)):
        if settings[name] not in choices:
            raise ValueError(f"{name} {settings[name]!r} is unknown; choose one of {', '.join(choices)}")


def _note_weak_samples(direction: str, facts: Mapping[str, float], notes: list[str]) -> None:
    for side, name in NAMES.items():
        captions = facts.get(f"test_captions_{side}_{direction}", 0.0)
        kinds = {"published": "effective_sample", "matched": "effective_sample_matched"}
        for kind, key in kinds.items():
            if (sample := facts.get(f"{key}_{side}_{direction}", captions)) < SMALL_SHARE * captions:
                note(
                    notes,
                    f"{direction}: weighted, the {captions:,.0f} {name} test captions count as {sample:,.0f} ({kind}); "
                    "a few rare ones decide the score",
                )
        if (coverage := facts.get(f"coverage_{side}_{direction}", 1.0)) < SMALL_COVERAGE:
            note(
                notes,
                f"{direction}: {coverage:.0%} of the {name} test captions name what is named on both sides; matched "
                "DBAC speaks of those alone",
            )
