"""DBAC: directional bias amplification in captioning, published and matched."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from captionbias.attackers.registry import find_attacker
from captionbias.bench.aligned import Sides, alignment_name, check_vectors, read_vocabulary
from captionbias.bench.attacked import Bench, spread_of_people
from captionbias.bench.attacks import GAIN, KEYS, Attacks, answers_to, compare_sides, gain_scores, trials_of
from captionbias.bench.catalogue import DIRECTIONS, NET, NORMALIZED, RATIO, SIDES, SWAY_SEES_MORE, Scale, Score, worst
from captionbias.bench.measurement import Prepared, Scores, metric
from captionbias.bench.protocol import preset_settings
from captionbias.bench.verdicts import estimates_of, worst_of
from captionbias.captions import Captions
from captionbias.errors import Argument, InputError, Message, message_of, phrase, unknown
from captionbias.metrics.dbac_direction import PAIRINGS, DbacSettings, ask
from captionbias.progress import Progress
from captionbias.scores.captions import QUALITIES
from captionbias.scores.omega import BLIND, MATCHED, PUBLISHED
from captionbias.statistics.samples import Sample, bootstrap_samples, trial_rows
from captionbias.text import LexiconSource
from captionbias.warnings import note

NAMES = {"m": "model", "h": "human"}
SMALL_SHARE, SMALL_COVERAGE = 0.2, 0.9


DBAC_2026 = DbacSettings(
    encoder="lstm-dbac",
    trials=10,
    test_share=0.2,
    alignment="contextual",
    quality="confidence",
    task_lexicon="coco_objects",
    pairing="held-out",
    controls=True,
    names_kept=True,
)
PRESETS = {
    "dbac-2026": DBAC_2026,
    "dbac-2026-published": replace(
        DBAC_2026,
        tokenizer="whitespace",
        attribute_lexicon="gender_published",
        task_lexicon="coco_objects_published",
        vectors="glove-wiki-gigaword-50",
        pairing="every-caption",
        controls=False,
        names_kept=False,
    ),
    "fast": replace(DBAC_2026, encoder="bow", trials=5, folded=True),
}


def _dbac(direction: str, shaping: str, hidden: str, claim: str) -> Iterable[Score]:
    def score(form: str, ending: str, meaning: str, scale: Scale = NORMALIZED, **also: Any) -> Score:
        key, label = f"dbac_{direction}{form}", f"DBAC {DIRECTIONS[direction]}, {ending}"
        also = {"row": f"  {ending}", "task": key} | also
        return Score(key, label, 3, scale, meaning, direction=direction, sense="amplification", **also)

    net = f"Matched minus blind. Above 0, {shaping} in the captioner's captions than in people's; below 0, less."
    learned = tuple(f"dbac_{direction}_{GAIN}_{side}" for side in KEYS.values())
    shown: dict[str, Any] = {"row": None, "judged": True, "noisy": True, "control": True, "headline": True}
    yield score("_net", "net", net, NET, **shown, claim=claim, learned=learned)
    matched = f"Above 0, the captioner's captions give {hidden} away more than people's captions that name the same"
    yield score("_matched", "matched", f"{matched}, by any words.", headline=True)
    blind = "The matched score when the words for the attribute and for the tasks are both hidden"
    yield score("_blind", "blind", f"{blind}: the part that is due to other words.", control=True)
    published = "Above 0 is more than in people's captions, below 0 less, but this score also changes with how often"
    yield score(
        "", "as published", f"{published} captions name anything at all: judge by the net score.", headline=True
    )
    prior = "The published score with a perfect attacker."
    yield score("_prior", "its weights alone", prior, task=None, in_tables=False, on_cards=False)
    yield from gain_scores(f"dbac_{direction}", f"DBAC {DIRECTIONS[direction]}", direction)


def _omega(direction: str, attacked: str) -> Iterable[Score]:
    meaning = (
        f"How confidently an attacker guesses {attacked}, as a weighted mean over captions. Never below 0, and larger "
        "if the association is stronger; it has no neutral value of its own."
    )
    for (side, who), form in product(SIDES.items(), (PUBLISHED, MATCHED)):
        published, label = form == PUBLISHED, f"omega {DIRECTIONS[direction]}, {who}"
        shown: dict[str, Any] = {"alone": side == "m" and published, "in_tables": published, "on_cards": published}
        key, label = f"omega_{side}_{direction}{form}", label if published else f"{label}, matched"
        # A replicate lacks some of the rare sets of tasks, by which matched weights go, and has others more often.
        shown["recentred"] = direction == "t_to_a" and not published
        yield Score(key, label, 3, RATIO, meaning, direction=direction, human=side == "h", **shown)


SHAPES_TASKS = "the attribute shapes the named tasks more", "the attribute", "the {tasks} named reveal {attribute}"
SHAPES_ATTRIBUTE = "the tasks shape the named attribute more", "the tasks", "the {value} named reveals the {tasks}"


@metric(
    "DBAC",
    "does the attribute shape the tasks named (A to T), do the tasks shape the attribute named (T to A)?",
    [
        *_dbac("a_to_t", *SHAPES_TASKS),
        *_dbac("t_to_a", *SHAPES_ATTRIBUTE),
        *_omega("a_to_t", "the attribute from captions whose attribute words are masked"),
        *_omega("t_to_a", "the tasks from captions whose task words are masked"),
        worst(
            "dbac",
            "size of DBAC, net",
            3,
            NET._replace(low=0.0),
            f"The larger size of the two net scores. {SWAY_SEES_MORE}",
        ),
    ],
    presets=PRESETS,
    facts_are_details=True,
    below="DBAC A to T: an attacker guesses the attribute from captions without its words; T to A: the tasks from "
    "captions without theirs. As published: the paper's score, above 0 if the captioner's captions give more away "
    "than people's. It also changes with how often captions name anything at all. Matched: among captions that name "
    "the same. Blind: with both kinds of words hidden. Net: matched minus blind; it decides the verdict. An "
    "attacker's score says that something can be guessed, not in how many captions: sway counts these.",
    about={
        "tasks": "`n` lists of tasks that the images show; when None, those named in the image's human captions "
        "other than the one that a trial scores",
        "details": "add the nested entry `details`. `drawn` holds the number of the human caption drawn for each "
        "image in each trial. For each direction, `seen` says what percentage of each side's test captions are also "
        "in the training split (`m_net`, `h_net`: in its own or the blind attacker's)",
    },
    returns="Floats and a `signature`. For each direction `d`: `dbac_d`, `dbac_d_matched`, `dbac_d_blind`, "
    "`dbac_d_prior` and `dbac_d_net`, each with intervals as in `lic`. For each side `s` (m, h): `omega_s_d` and "
    "`omega_s_d_matched`, `mean_quality_s_d` and `mean_weight_s_d`, `test_captions_s_d` and their effective number "
    "under either weight, `effective_sample_s_d` and `effective_sample_matched_s_d`, and `coverage_s_d`, the share "
    "of them that name something named on both sides; and the attackers' gains over base rates, `dbac_d_gain_m` and "
    "`dbac_d_gain_d`. If a side is absent, only the other's published omega and its parts.",
)
def dbac(
    captions: Captions,
    /,
    *,
    preset: str = "dbac-2026",
    directions: Sequence[str] = ("a_to_t", "t_to_a"),
    encoder: str | None = None,
    model: str | None = None,
    precision: str | None = None,
    trials: int | None = None,
    seed: int = 0,
    seeds: Sequence[int] | None = None,
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
    bootstrap: int = 1000,
    cache: bool | str | Path = True,
    distributed: bool = False,
    details: bool = False,
    keep_attackers: int = 0,
    progress: Progress = None,
) -> Prepared:
    """DBAC in both directions: published, matched, blind and net, with every part they are made of.

    A to T: does the attribute shape the tasks? Attribute words are masked and an attacker predicts the attribute. T to
    A: do the tasks shape the attribute? Task words are masked and an attacker predicts the image's tasks. Above 0, the
    captioner's captions have more bias in that direction than people's; below 0, less.

    The published score also changes with how often the captioner names tasks at all; `..._matched`, which weights both
    sides so that they name the same things equally often, does not. `..._blind` is the matched score of attackers that
    see neither attribute words nor task words. `..._net`, matched minus blind, is what these words add: judge by it.
    One more person in the captioner's place scores 0 on all of them, because each trial compares the captioner's
    caption of an image with one human caption of it.

    Attackers learn from each image once, whatever its weight. Weights apply to their answers, and to how often things
    are shown and named.

    Source: Nair, Tokas and Kerner 2026, Eq. 5 to 9; held-out pairing, matched, blind and net DBAC are this project's
    own.

    >>> captions = ["a woman with a cake", "a lady and a dog", "a man on a surfboard", "a man and a dog"] * 20
    >>> labels = ["female", "female", "male", "male"] * 20
    >>> people = [[f"{text} outside", f"{text} today"] for text in captions]
    >>> result = dbac(predictions=captions, references=people, attributes=labels, preset="fast", trials=2)
    >>> result["dbac_a_to_t"], result["dbac_t_to_a_net"]
    (0.0, 0.0)
    """
    chosen: dict[str, Any] = {"quality": quality, "pairing": pairing, "controls": controls, "seeds": seeds}
    chosen |= {"encoder": encoder, "trials": trials, "alignment": alignment, "vectors": vectors, "delta": delta}
    chosen |= {"tokenizer": tokenizer, "attribute_lexicon": attribute_lexicon, "task_lexicon": task_lexicon}
    preset, settings = preset_settings(PRESETS, preset, vocabulary=read_vocabulary(vocabulary), **chosen)
    check_vectors(settings, Sides(captions.predictions is not None, captions.references is not None), vectors)
    _check_choices(directions, settings)
    attacker = find_attacker(settings.encoder, precision, model, cache)
    needed = {"words_needed": "t_to_a" in directions, "neural": attacker.precision is not None}
    bench = Bench.of(captions, settings, seed, allow_unmasked=allow_unmasked, **needed)
    questions = ask(bench, settings, directions)
    keep = [trial for one in questions for trial in one.plans[PUBLISHED].first("m", keep_attackers)]
    plans = [one.plans[form] for form in (PUBLISHED, BLIND) for one in questions if form in one.plans]
    signed = {"preset": preset, **attacker.signature(trials_of(plans)), "quality": settings.quality, "bayes": bayes}
    signed |= {"pairing": settings.pairing, "align": alignment_name(settings, bench.sides), **bench.signed()}
    signed |= {"tasks": "given" if bench.tasks else "named", "directions": ",".join(directions)}
    signed |= {"controls": settings.controls, "bootstrap": bootstrap}
    options = {"cache": cache, "distributed": distributed}

    def measured() -> Scores:
        answers = answers_to(plans, attacker, keep=keep, progress=progress, **options)
        share = settings.test_share
        overlap = share / (1 - share) if settings.pairing == "held-out" else 0.0
        samples: dict[str, Sample] = {}
        facts: dict[str, float] = {}
        tables: dict[str, Any] = {}
        for question in questions:
            direction, name = question.answered(answers, settings.quality, bayes), question.name
            resampling = len(bench.classes), settings.trials, bootstrap, seed, overlap, bench.copies
            samples |= bootstrap_samples(direction.quantities, *resampling)
            gained = {f"dbac_{name}_{GAIN}": (GAIN, bench.gains(question.plans[PUBLISHED], answers))}
            samples |= compare_sides(gained, bootstrap, seed, bench.copies)
            facts |= direction.facts()
            _note_weak_samples(name, facts, bench.notes)
            if details:
                by_trial = trial_rows(bench.seeds, direction.estimates())
                tables[name] = {"trials": by_trial, "alignment": direction.alignment, "seen": direction.seen()}
        noise: dict[str, float] = {}
        if settings.controls and all(bench.sides):
            nets = {f"dbac_{question.name}_net": 1.0 for question in questions}
            samples |= worst_of("dbac_worst", estimates_of(samples), nets, bench.notes)
        if bootstrap and settings.controls and all(bench.sides):
            spread = _spread(bench, settings, directions, options)
            width = math.sqrt(1 / settings.trials + overlap)
            noise = {f"dbac_{name}_net": of_trial * width for name, of_trial in spread.items()}
        return Scores(
            samples,
            facts,
            bench.notes,
            bench.counts() | {"task_counts": questions[-1].task_counts, "drawn": questions[0].drawn, **tables},
            Attacks(
                {one.name: one.plans[PUBLISHED].keep(answers) for one in questions},
                attacker,
                {one.name: replace(one, plans={}) for one in questions},
            ),
            noise,
            bench.doubts("dbac"),
        )

    return Prepared(signed, measured)


def _spread(
    bench: Bench, settings: DbacSettings, directions: Sequence[str], options: Mapping[str, Any]
) -> dict[str, float]:
    """How far from 0 one more person reads net in 19 of 20 cases, by one trial of the convex attacker each."""
    own = {name: vars(settings)[name] for name in ("quality", "tokenizer", "attribute_lexicon", "task_lexicon")}
    quick = replace(PRESETS["fast"], alignment="constant", trials=1, **own)
    attacker = find_attacker(quick.encoder, None, None, options["cache"])

    def net(person: Bench) -> dict[str, float]:
        questions = ask(person, quick, directions)
        plans = [plan for one in questions for plan in one.plans.values()]
        answers = answers_to(plans, attacker, progress=False, **options)
        answered = (one.answered(answers, quick.quality) for one in questions)
        return {one.name: float(one.estimates()["dbac_net"][0]) for one in answered}

    captions = bench.captions
    made_of = captions.attributes, captions.tasks, captions.weights, bench.seeds[0], quick, tuple(directions)
    try:
        return captions.cached("spread of DBAC", made_of, lambda: spread_of_people(bench, quick, net))
    except ValueError as error:
        text = "how much people differ could not be measured, so verdicts take it as 0.01: "
        note(bench.notes, Message(text, message_of(error)))
        return {}


def _check_choices(directions: Sequence[str], settings: DbacSettings) -> None:
    listed = isinstance(directions, Sequence) and not isinstance(directions, str)
    if not listed or not directions or not all(isinstance(one, str) and one in DIRECTIONS for one in directions):
        raise InputError("directions", f"must list one or both of {', '.join(DIRECTIONS)}, not {directions!r}")
    for name, choices in (("quality", QUALITIES), ("pairing", PAIRINGS)):
        if (value := vars(settings)[name]) not in choices:
            raise unknown(name, value, choices)


def _note_weak_samples(direction: str, facts: Mapping[str, float], notes: list[str]) -> None:
    for side, name in NAMES.items():
        captions, tested = facts.get(f"test_captions_{side}_{direction}", 0.0), Argument(f"{name} test captions")
        for kind, key in (("published", "effective_sample"), ("matched", "effective_sample_matched")):
            if (sample := facts.get(f"{key}_{side}_{direction}", captions)) < SMALL_SHARE * captions:
                template = "it rests on about {:,.0f} of {:,.0f} {} ({} weights): a few rare ones decide it"
                note(notes, phrase(template, sample, captions, tested, kind), about=direction)
        if (coverage := facts.get(f"coverage_{side}_{direction}", 1.0)) < SMALL_COVERAGE:
            template = "{:.0%} of the {} name what is named on both sides; matched DBAC speaks of those alone"
            note(notes, phrase(template, coverage, tested), about=direction)
