"""Sway, six questions in captions of 100: is one attribute value named wrong more often than another, do wrong names
follow the tasks around, do other words follow the attribute, is more said of one value, do the tasks follow the
attribute, more than when a person describes the same images?"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from captionbias import errors
from captionbias.arrays import Floats, Integers
from captionbias.bench.catalogue import YARDSTICK, Scale, Score, headlines, label
from captionbias.bench.checks import Rules
from captionbias.bench.measurement import Counts, Prepared, Scores, metric
from captionbias.bench.reading import IMAGES, Reading, read
from captionbias.captions import Captions
from captionbias.captions.check import digest_of_rows
from captionbias.errors import InputError
from captionbias.hashes import seeded
from captionbias.metrics.sway import a_to_t, length, misnaming, missing, t_to_a, words, worst
from captionbias.metrics.sway.claims import claims
from captionbias.metrics.sway.images import (
    NO_LEAN,
    OWN,
    LeanCounts,
    NamedImages,
    compared_images,
    count_leans,
    lean_rows,
    no_leans,
)
from captionbias.metrics.sway.length import LENGTHS
from captionbias.metrics.sway.question import (
    QuestionModule,
    QuestionResult,
    SwayInput,
    SwaySums,
    constant,
    draw_person,
    draw_truth,
    resample,
)
from captionbias.metrics.sway.units import PICTURES, SEVERAL, numbered_strata, sway_units
from captionbias.scores.misnaming import SIDES
from captionbias.statistics.groups import SCENE_NAMES, NamedUnits, totals
from captionbias.statistics.samples import Sample
from captionbias.text import Lexicon, LexiconSource, load_lexicon
from captionbias.text.content import ContentWords, content_words
from captionbias.warnings import note

RULES = Rules(silent=True, crossed=True, tasks_needed=False, tasks_named=True, main_person=True)
LEAST_OF_VALUE = 30  # images, for an interval of a gap between values
SEVERAL_MORE = 10.0  # of 100 captions, how many more than people's tell of several persons to be noted
QUESTIONS = misnaming, t_to_a, words, length, a_to_t, missing, worst
SCENES = Score(
    YARDSTICK,
    "scenes that are compared",
    0,
    Scale(0.0, float("inf"), "scenes"),
    "Scenes whose images of different values are compared with each other, if no people describe them. 0: there are "
    "neither people nor scenes, so no yardstick.",
    published=True,
    in_tables=False,
)


class SwayImages(NamedTuple):
    """The images that are compared: the row of each among the captions, and the numbers of its value and of the one
    that its tasks suggest beside the first person drawn, -1 for none."""

    values: tuple[str, ...]
    row: Integers
    value: Integers
    suggested: Integers
    content: ContentWords  # of the captions of both sides, the captioner's first


class SwayArtefacts(NamedTuple):
    """What views take: how often each value is named wrong and unnamed, of 100 captions, `(2 kinds, sides, values)`;
    and the images, None of counts."""

    values: tuple[str, ...]
    levels: Sample
    images: SwayImages | None


@metric(
    "Sway",
    "is one value named wrong, or not at all, more often than another, do wrong names follow the tasks (T to A), do "
    "other words follow the value, is more said of it, do the tasks named follow it (A to T), more than in a person's "
    "captions?",
    [*itertools.chain.from_iterable(question.ENTRIES for question in QUESTIONS), SCENES],
    claims=claims,
    about={
        "references": "`n` lists of human captions: two or more of an image, or one and `tasks`. One is drawn to be "
        "compared with the captioner's, and the others say what the image shows. None: captions are compared within "
        "scenes, or without scenes as they are, without a yardstick",
        "scene": "`n` names or numbers, the same for images that differ in the person alone, such as a "
        "counterfactual set or a picture with the person replaced. They are compared with each other, without human "
        "captions: 0 is no difference, and the person causes what differs, if nothing else differs",
        "attributes": "`n` labels, each a label of `attribute_lexicon`; two values or more, also crossed attributes",
        "tasks": "`n` lists of all tasks that the images show, such as COCO's annotated objects; when None, those "
        "that the other human captions name, and A to T is then a range, because people do not name everything that "
        "is there. `person` is not a task",
        "seed": "seed of the draws, the regression's folds and the bootstrap",
        "details": "add the nested entry `details`: `level` and `gaps` of each value; `cells`, true value by "
        "suggested value, for captioner and person; `t_to_a` of each value, `error_ratio`; `words`, and "
        "`words_chosen` by either half of the images; `length`, content words per caption of each value; `missing` "
        "captions; `tasks`, `naming_level` and `leans`",
    },
    returns="`sway_worst`, which is nan if one cannot tell. Per 100 captions: `sway_wrong_gap` and "
    "`sway_unnamed_gap`; `sway_t_to_a`, and `sway_t_to_a_lost`, in which a caption that names no value counts as "
    "wrong, each with `..._least` and `..._most`, and `sway_t_to_a_one`; `sway_words`, from 500 images on, which has "
    "no upper end; `sway_missing_gap`, if captions are missing. Per 100 content words: `sway_length_gap`, if there "
    "are people or scenes. In mentions per 100 captions: `sway_a_to_t`, and its range `..._low`, `..._high`, "
    "`..._least` and `..._most`. Scores with a verdict have `..._ci_low/high` (95%, over images) and `..._verdict`; "
    "the others are only there with details. Facts: `wrong_<value>` and `unnamed_<value>`, per 100 captions of each "
    "value; `sway_least_named`, per 100 captions of the value that is named right least often, and "
    "`sway_tasks_named`, per 100 of all captions; `sway_words_level_<value>`, content words in captions of a value "
    "for each of people's, relative to all captions, and `sway_words_length`, the same for all captions; "
    "`sway_words_seen` and `sway_words_seen_20`: in how many of 100 captions of a value one word, or twenty "
    "together, would have been detected; `names_several`: how many of 100 captions mention several persons; with "
    "`label_error`, `..._label_error_low/high` for each main score; `sway_images`: images that are compared; "
    "`sway_suggested`: those whose tasks suggest a value; `sway_scenes`: scenes that are compared, without human "
    "captions. And `signature`.",
)
def sway(
    captions: Captions | Counts,
    /,
    *,
    attribute_lexicon: LexiconSource = "gender",
    task_lexicon: LexiconSource = "coco_objects",
    tokenizer: str = "words",
    lean: LexiconSource | None = None,
    draws: int = 5,
    seed: int = 0,
    bootstrap: int = 1000,
    label_error: float | None = None,
    details: bool = False,
) -> Prepared:
    """Bias counted in captions, by six questions: what a captioner says of some people more than a person would.

    Is one value named wrong, or not at all, more often than the others, among people who are as hard to see? T to A:
    among images of the same value, is a wrong value named more often if the tasks around suggest it? Among pictures
    that show the same, do other words follow the value, is more said of one value, and (A to T) do the tasks named
    follow it? Are captions of one value missing? The score of one more person who describes the same images is
    subtracted from each answer: 0 is a person. It trains nothing. It is an association given the truth, not a cause:
    the scene suggests as much as the tasks do, and what captions name beyond people's may be there.

    Source: this project. Gaps and T to A: separation as in Hardt et al. 2016, strata as in Mantel and Haenszel 1959.
    Words and A to T: Robinson 1988, Chernozhukov et al. 2018; words listed as in Benjamini and Hochberg 1995.

    >>> from captionbias.synthetic import plant
    >>> result = sway(**vars(plant(1000, t_to_a=0.3)))
    >>> result["sway_t_to_a_verdict"], result["sway_a_to_t_verdict"]
    ('more than people', 'cannot tell')
    """
    if label_error is not None and not (isinstance(label_error, (float, int)) and 0 < label_error < 0.5):
        raise InputError("label_error", f"must be a share above 0 and below 0.5, not {label_error!r:.60}")
    if isinstance(captions, Counts):
        reading = read(captions, attribute_lexicon, task_lexicon, tokenizer, RULES)
        return _of_counts(reading, seed, bootstrap, details)
    if captions.predictions is None:
        raise errors.missing("predictions", "is missing: sway is of a captioner; give the captioner's captions")
    if captions.references and captions.scene:
        ways = errors.phrase("leave {references} out"), errors.phrase("leave {scene} out, to compare with people")
        raise InputError("scene", ": images of a scene are compared with each other, without human captions:", *ways)
    again: dict[str, Any] = {"attribute_lexicon": attribute_lexicon, "task_lexicon": task_lexicon, "lean": lean}
    again |= {"tokenizer": tokenizer, "draws": draws}
    reading = read(captions, attribute_lexicon, task_lexicon, tokenizer, RULES)
    captions, notes = cast(Captions, reading.captions), reading.notes
    lexicons = load_lexicon(attribute_lexicon), load_lexicon(task_lexicon)
    images = compared_images(reading, seed)
    of_tasks, counts = _of_tasks(images, lean, lexicons, seed, notes, captions.part)
    resampling: list[QuestionModule] = [misnaming, *of_tasks]
    resampling += [length] * bool(captions.references or captions.scene)
    scenes = None if images.scene is None else len({*images.scene.tolist()}) if captions.scene else 0
    pictures, sides = images.pictures(), SIDES if images.scene is None else SIDES[:1]
    bootstrap = _replicates(bootstrap, images.values, pictures, notes) if images.scene is None else bootstrap
    draws = 0 if scenes is not None else 1 if images.single else draws
    signed = {"lean": counts.source, "draws": draws, **reading.signed}
    signed |= {"missing": digest_of_rows(captions.missing)} if captions.missing else {}
    signed |= {"yardstick": "single"} if images.single else {}
    signed |= {} if scenes is None else {"yardstick": "scenes" if scenes else "none"}
    signed |= {} if label_error is None else {"label_error": label_error}
    asked = {} if captions.part else worst.answerable(captions, images, counts, of_tasks)
    signed["worst"] = ",".join(asked.values())

    def inputs() -> SwayInput:
        drawn = [draw_person(images, counts, seed + draw) for draw in range(draws)]
        drawn = drawn or [draw_truth(images, counts, seed)]
        words, spoken = captions.words(tokenizer), (*lexicons, tokenizer)
        human = captions.cached("content words", spoken, lambda: content_words(words.human, *spoken))
        content = content_words(words.model, *spoken), human
        return SwayInput(
            values=images.values,
            sides=sides,
            within_scenes=captions.scene is not None,
            pictures=pictures,
            picture_count=int(images.picture.max()) + 1,
            units=sway_units(reading, images, drawn, content[: len(sides)], tokenizer),
            seed=seed,
            replicates=bootstrap,
            notes=notes,
            asked=asked,
            captions=captions,
            attribute=lexicons[0],
            task=lexicons[1],
            tokenizer=tokenizer,
            named=images,
            draws=drawn,
            content=content,
        )

    def measured() -> Scores:
        scores = _scores(inputs(), resampling, scenes, details)
        if label_error is not None:
            scores.facts.update(_with_wrong_labels(scores, captions, label_error, seed, **again))
        return scores

    return Prepared({**signed, "seed": seed, "bootstrap": bootstrap}, measured, lambda: [inputs().units])


def _replicates(bootstrap: int, values: Sequence[str], pictures: Integers, notes: list[str]) -> int:
    """How many there are: none, with a note, of few images of a value."""
    if pictures.min() >= LEAST_OF_VALUE:
        return bootstrap
    few = f"there are {pictures.min()} of {values[int(pictures.argmin())]}"
    note(notes, f"no interval below {LEAST_OF_VALUE} images of each value; {few}", about="attributes")
    return 0


def _of_counts(reading: Reading, seed: int, bootstrap: int, details: bool) -> Prepared:
    """The questions that sums answer, of images that are not here."""
    units, values = reading.counted[0], reading.values
    people = units[LENGTHS].shape[0] > 2 * len(values)
    *pictures, picture_count = totals(units)[PICTURES][:, 0].round().astype(int)
    within = reading.signed.get("yardstick") == "scenes"
    if min(pictures) == 0:
        raise InputError("attributes", f": no image is of {values[int(np.argmin(pictures))]}, of {', '.join(values)}")
    bootstrap = _replicates(bootstrap, values, np.array(pictures), reading.notes) if people else bootstrap
    asked: list[QuestionModule] = [misnaming, *[t_to_a] * (reading.signed["lean"] != NO_LEAN)]
    asked += [length] * (people or within)
    note(reading.notes, "words and A to T take captions, not counts: measure a sample of these")
    sums = SwaySums(
        values=values,
        sides=SIDES if people else SIDES[:1],
        within_scenes=within,
        pictures=np.array(pictures),
        picture_count=picture_count,
        units={
            name: numbered_strata(of, len(values)) if isinstance(of, NamedUnits) and name != SCENE_NAMES else of
            for name, of in units.items()
        },
        seed=seed,
        replicates=bootstrap,
        notes=reading.notes,
        asked=worst.of_sums(asked),
    )
    settings = {**reading.signed, "worst": ",".join(sums.asked.values()), "seed": seed, "bootstrap": bootstrap}
    scenes = None if people else picture_count if within else 0
    return Prepared(settings, lambda: _scores(sums, asked, scenes, details))


def _share_of_several(sums: Floats, notes: list[str]) -> float:
    """Of 100 of the captioner's captions how many tell of several persons, with a note where so many fewer of people's
    do."""
    share, people = (100 * several / max(captions, 1) for captions, several in sums.reshape(2, 2))
    if share > SEVERAL_MORE + people:
        text = f"{share:.0f} of 100 captions mention several persons: the first who is not a bystander is meant"
        note(notes, text, about="predictions")
    return float(share)


def _with_wrong_labels(scores: Scores, captions: Captions, share: float, seed: int, **options: Any) -> dict[str, float]:
    """The least and the most that each main score reads as it is, and with this share of the labels of each value in
    turn taken for another."""
    labels, chance = np.array(captions.attributes), seeded(captions.keys, seed)
    values, samples = np.unique(labels).tolist(), [scores.samples]
    for value, other in zip(values, [*values[1:], values[0]], strict=True):
        own, wrong = np.flatnonzero(labels == value), labels.astype(object)
        wrong[own[np.argsort(chance[own], kind="stable")[: round(share * len(own))]]] = other
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they are those of the labels as they are
            samples.append(sway.measure(captions.with_attributes(wrong), seed=seed, bootstrap=0, **options).samples)
    facts, read = dict[str, float](), list[str]()
    for key in headlines("sway"):
        of_key = [float(sample[key].values.mean()) for sample in samples if key in sample]
        if len(of_key) == len(samples):
            facts |= {f"{key}_label_error_low": min(of_key), f"{key}_label_error_high": max(of_key)}
            read.append(f"{label(key)} {min(of_key):.1f} to {max(of_key):.1f}")
    note(scores.notes, f"{100 * share:g} of 100 labels of one value wrong: {'; '.join(read)}", about="label_error")
    return facts


def _of_tasks(
    images: NamedImages,
    lean: LexiconSource | None,
    lexicons: tuple[Lexicon, Lexicon],
    seed: int,
    notes: list[str],
    part: bool,
) -> tuple[list[QuestionModule], LeanCounts]:
    """The questions about tasks that can be asked, with a note of those that cannot, and on what leans were counted."""
    given, of_scenes = images.given_tasks is not None, images.scene is not None and images.scene.any()
    alike = images.scene is None or (given and of_scenes)  # what pictures show can be held alike
    inputs: list[QuestionModule] = [t_to_a, a_to_t] if alike else [t_to_a] if given else []
    if lexicons[0].parts:
        if lean is not None:
            raise InputError("lean", ": tasks go with the values of one attribute; leave it out, or measure one alone")
        note(notes, "T to A and A to T are not asked of crossed attributes: measure each alone")
        return [], no_leans(images)
    if images.single and not given:
        text = "T to A and A to T are not asked: images have one human caption, and no other says what they show"
        note(notes, text, errors.phrase("give {tasks}"), about="references")
        return [], no_leans(images)
    counts = count_leans(images, lean, lexicons, notes) if inputs else no_leans(images)
    if part and counts.source == OWN:
        text = "T to A is not counted: which tasks go with whom only all images tell"
        note(notes, text, errors.phrase("say so, with {lean}"), about="lean")
        return [], no_leans(images)
    if inputs and images.scene is not None and not part and (draw_truth(images, counts, seed).suggested < 0).all():
        text = "T to A and A to T are not measured: no task goes with one value more than with another on these images"
        note(notes, text, errors.phrase("say which tasks go with whom, with {lean}"), about="tasks")
        return [], no_leans(images)
    if part and a_to_t in inputs:
        inputs.remove(a_to_t)
    if a_to_t in inputs and images.scene is None and len(np.unique(images.picture)) < a_to_t.LEAST_IMAGES:
        note(notes, f"A to T is not measured below {a_to_t.LEAST_IMAGES} images")
        inputs.remove(a_to_t)
    return inputs, counts


def _scores(inputs: SwaySums, resampling: Sequence[QuestionModule], scenes: int | None, details: bool) -> Scores:
    import scipy.linalg  # noqa: F401  (a library is limited below once it is loaded)
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):  # more threads wait for each other longer than they work
        counted = [question.counted(inputs) for question in resampling]
        samples = resample(counted, len(inputs.groups), inputs.replicates, inputs.seed)
        answers = [question.answer(inputs, of) for question, of in zip(resampling, samples, strict=True)]
        answers += [words.answer(inputs)] if isinstance(inputs, SwayInput) else []
        answers += [missing.answer(inputs)]
    if scenes is not None:
        answers.append(QuestionResult({YARDSTICK: constant(scenes)}, dict))
    scores = {key: sample for answer in answers for key, sample in answer.scores.items()}
    doubts = {key: doubt for answer in answers for key, doubt in answer.doubts.items()}
    scores |= worst.answer(inputs, scores, doubts)
    sums = totals(inputs.units)
    images, *of_values = sums[IMAGES][:, 0].round().astype(int).tolist()
    facts = {
        "sway_images": images,
        "sway_suggested": float(np.mean([names.images[:, :-1].sum() for names in inputs.names])),
        "names_several": _share_of_several(sums[SEVERAL], inputs.notes),
    }
    facts |= {key: fact for answer in answers for key, fact in answer.facts.items() if np.isfinite(fact)}
    tables: dict[str, Any] = {}
    if details:
        tables = {"images": images, "attribute_counts": dict(zip(inputs.values, of_values, strict=True))}
        tables |= {name: table for answer in answers for name, table in answer.details().items()}
    compared = None
    if isinstance(inputs, SwayInput):
        named, drawn, words_of_both = inputs.named, inputs.draws[0], inputs.content_of_both
        tables |= {"leans": lean_rows(named, drawn.leans)} if details else {}
        compared = SwayImages(named.values, named.row, named.value, drawn.suggested, words_of_both)
    artefacts = SwayArtefacts(tuple(inputs.values), samples[0]["levels"], compared)
    return Scores(scores, facts, inputs.notes, tables, artefacts, doubts=doubts)
