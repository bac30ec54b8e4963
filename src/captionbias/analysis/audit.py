"""All measurements of captioners' bias on the same images in one call: the content of reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from captionbias.analysis.caption_quality import caption_quality
from captionbias.analysis.compare import (
    Comparison,
    check_counts,
    corrected,
    margins_by_metric,
    measure_together,
    replicates_for,
)
from captionbias.attackers.base import SMALLEST_CLASS
from captionbias.bench.checks import of_known_labels
from captionbias.bench.measurement import Counted
from captionbias.bench.protocol import replicate_count, vectors_name, whole_number
from captionbias.bench.reading import IMAGES, as_values
from captionbias.captions import Captions, captions_of, check_captioners, uncross
from captionbias.errors import InputError, Message, message_of, unknown
from captionbias.explain import Attributions, explain
from captionbias.explain.evidence import captions_behind
from captionbias.metrics import Measurement, catalogue, find_metric
from captionbias.progress import Watch
from captionbias.text import LexiconSource, load_lexicon
from captionbias.text.lexicon import SEPARATOR

PRESETS = ("fast", "papers")
WORDS, EXAMPLES = 30, 8


@dataclass(frozen=True, eq=False)
class Audit:
    """Captioners measured on the same images.

    Attributes:
        captioners: their names.
        images: how many there are; `image_set`: their digest, see `Captions`; `attribute_counts`: of each value;
            `human_captions`: of all images together.
        comparisons: by metric; see `captionbias.analysis.compare.compare`.
        words: of each captioner, where LIC is measured, the words that give the attribute away to its first attacker:
            `by_class`, `by_word` (the first 30 of each value, without the mask), `captions` (the 8 surest and right
            ones of each value, with every word's value), `signature`.
        quality: of each captioner BLEU-4, ROUGE-L, METEOR and CIDEr, as far as they can be computed.
        missing: what could not be measured, and why.
        settings: the arguments, to reproduce it.
        signatures: everything that changes the scores, by metric, and by metric and attribute of each one `alone`.
        alone: of crossed attributes the comparisons by each alone, on the same images, by its name and metric.
        evidence: the captions behind the scores; see `captionbias.explain.evidence.captions_behind`.
    """

    captioners: tuple[str, ...]
    images: int
    image_set: str
    attribute_counts: dict[str, int]
    human_captions: int
    comparisons: dict[str, Comparison]
    words: dict[str, dict[str, Any]]
    quality: dict[str, dict[str, Any]]
    missing: tuple[str, ...]
    settings: dict[str, Any]
    signatures: dict[str, str]
    alone: dict[str, dict[str, Comparison]] = field(default_factory=dict)
    evidence: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def verdicts(self) -> dict[tuple[str, str], str]:
        """The verdict of each captioner and score that has one, corrected for the number of all of them."""
        return corrected(pair for comparison in self.comparisons.values() for pair in comparison.measurements.items())

    def measurement(self, metric: str, captioner: str) -> Measurement:
        """What the metric computed for the captioner, details included."""
        return self.comparisons[metric].measurements[captioner]

    def details(self, metric: str, captioner: str) -> dict[str, Any]:
        return self.measurement(metric, captioner).details or {}

    def notes(self, captioner: str) -> list[str]:
        """What to consider when reading the captioner's numbers."""
        everything = {"": self.comparisons} | {f", {name} alone": by_metric for name, by_metric in self.alone.items()}
        notes = (
            Message(f"{catalogue.METRICS[metric].title}{of}: ", note)
            for of, by_metric in everything.items()
            for metric, comparison in by_metric.items()
            for note in comparison.measurements[captioner].notes
        )
        return list(dict.fromkeys(notes))

    def as_dict(self) -> dict[str, Any]:
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        comparisons = {metric: comparison.as_dict(self.verdicts) for metric, comparison in self.comparisons.items()}
        alone = {
            name: {metric: comparison.as_dict() for metric, comparison in by_metric.items()}
            for name, by_metric in self.alone.items()
        }
        return {**fields, "comparisons": comparisons, "alone": alone}


def audit(
    captioners: Mapping[str, Any],
    references: Any = None,
    attributes: Any = None,
    tasks: Any = None,
    trust_rows: bool = False,
    *,
    scene: Any = None,
    metrics: Sequence[str] | None = None,
    preset: str = "fast",
    trials: int | None = None,
    seed: int = 0,
    attribute_lexicon: LexiconSource = "gender",
    task_lexicon: LexiconSource | None = None,
    lean: LexiconSource | None = None,
    vectors: Any = None,
    bootstrap: int | None = None,
    quality_images: int = 1000,
    margins: Mapping[str, float] | None = None,
    scores_only: bool = False,
    earlier: Audit | None = None,
    cache: bool | str | Path = True,
    distributed: bool = False,
    watch: Watch | None = None,
) -> Audit:
    """Measure one captioner or several with everything that a report shows.

    Every captioner has the scores that the metrics give it alone.

    Args:
        captioners: each captioner's name and its `n` captions, or its `Captions`; or one captioner's table, see
            `read_captions`.
        references, attributes, tasks, trust_rows, scene: for the same images, as the metrics take them.
        metrics: any of `captionbias.metrics`; when None `sway`, `dbac` and `lic`, or `sway` alone for scenes without
            human captions. If these captions do not allow one, it is left out and `missing` says so, unless it is the
            only one.
        preset: `fast`, the convex attacker, or `papers`, the protocols of the papers (`dbac-2026`, `lic-2022`).
        trials: number of attackers for each side; the preset's when None.
        seed: of the first trial and of the bootstrap.
        attribute_lexicon, task_lexicon: words, see `captionbias.text.load_lexicon`; tasks' are the preset's when None.
        lean: which tasks go with which value, see `sway`.
        vectors: word vectors of DBAC's alignment, see `captionbias.alignment.vectors.load_vectors`.
        bootstrap: number of replicates; when None 1,000, or more if there are many captioners to compare.
        quality_images: caption quality is measured on this many images, drawn with `seed`.
        margins: how near to 0 a score counts as 0, by its key, instead of the usual margins.
        scores_only: leave out what no score needs: telling words and caption quality.
        earlier: an audit with the same options whose scores are reused, not measured again.
        cache: keep every finished trial: in the usual folder, in this one, or not at all.
        distributed: share the trials with the other processes of `accelerate launch`, as the metrics do.
        watch: called with the step that begins or continues and the share of the work that is done, in [0, 1]. An error
            that it raises ends the audit.

    >>> from captionbias.synthetic import plant
    >>> people = vars(plant(200))
    >>> found = audit({"faithful": people.pop("predictions")}, **people, metrics=["lic"], trials=2)
    >>> found.images, list(found.comparisons), found.captioners
    (200, ['lic'], ('faithful',))
    """
    if not isinstance(captioners, Mapping):
        captioners = {"captioner": captions_of(captioners, attribute_lexicon, trust_rows=trust_rows)}
    people = {"references": references, "attributes": attributes, "tasks": tasks, "scene": scene}
    checked = check_captioners(captioners, trust_rows=trust_rows, **people)
    checked = {name: of_known_labels(captions, load_lexicon(attribute_lexicon)) for name, captions in checked.items()}
    first = next(iter(checked.values()))
    chosen = _check_choices(_usual(first) if metrics is None else metrics, preset)
    seed = whole_number("seed", seed, least=0)
    values = len({*first.attributes})
    count = replicates_for(chosen, len(captioners), values=values) if bootstrap is None else bootstrap
    bootstrap = replicate_count("bootstrap", count)
    trials = None if trials is None else whole_number("trials", trials, least=1)
    quality_images = whole_number("quality_images", quality_images, least=1)
    crossed = _crossed_attributes(attribute_lexicon, first.attributes)
    missing: list[str] = []
    explained = checked if "lic" in chosen and not scores_only else {}
    scored = {} if scores_only or not _quality_is_scored(first, missing) else checked
    measurements = len(chosen) * (1 + len(crossed)) * len(checked)
    steps = _Steps(watch, measurements + len(explained) + len(scored), missing)

    lexicons: dict[str, Any] = {"attribute_lexicon": attribute_lexicon, "task_lexicon": task_lexicon}
    chance: dict[str, Any] = {"trials": trials, "seed": seed, "bootstrap": bootstrap}
    settings = {"metrics": chosen, "preset": preset, **chance}
    sources = {**lexicons, "lean": lean}
    settings |= {name: _plain(source, lambda words: asdict(load_lexicon(words))) for name, source in sources.items()}
    settings |= {"vectors": _plain(vectors, vectors_name), "quality_images": quality_images}
    settings |= {"margins": dict(margins)} if margins else {}
    options = {**sources, **chance, "preset": preset, "cache": cache, "details": True, "distributed": distributed}
    options |= {"directions": _directions(chosen, first, missing), "progress": steps.within}
    margin_of = margins_by_metric(margins, chosen)

    def compared(captioners: Mapping[str, Captions], metric: str, by: str = "", **others: Any) -> Comparison:
        """The metric of each captioner; `by`: which of crossed attributes; `others`: options in place of these."""
        known = (earlier.alone.get(by, {}) if by else earlier.comparisons) if earlier else {}
        if metric in known:
            return known[metric]
        aligning = {"vectors": vectors} if metric == "dbac" else {}
        return measure_together(
            captioners,
            metric,
            margins=margin_of.get(metric),
            watch=lambda name, done: steps.begin(metric, name, by),
            **find_metric(metric).accepted({**options, **others, **aligning}),
        )

    lexicon = load_lexicon(attribute_lexicon)

    def words_of(name: str, _: Captions) -> dict[str, Any]:
        return _explained(explain(comparisons["lic"].measurements[name]), lexicon.mask)

    def quality_of(_: str, captions: Captions) -> dict[str, Any]:
        sides = {"predictions": captions.predictions, "references": captions.references}
        return caption_quality(**sides, tokenizer=captions.language or "words", images=quality_images, seed=seed)

    comparisons = _comparisons(checked, chosen, steps, compared)
    alone = _alone(checked, chosen, crossed, lean, steps, compared)
    words = steps.each(explained if "lic" in comparisons else {}, "words", words_of)
    quality = steps.each(scored, "quality", quality_of)
    with_values = {
        name: captions.with_attributes(as_values(captions.attributes, lexicon, []))
        for name, captions in checked.items()
    }
    evidence = captions_behind(
        with_values,
        {name: telling["by_word"] for name, telling in words.items()},
        swayed=comparisons["sway"].measurements if "sway" in comparisons else {},
        preset=preset,
        **lexicons,
    )
    signatures = {metric: comparison.signature for metric, comparison in comparisons.items()}
    for name, by_metric in alone.items():
        signatures |= {f"{metric}, {name} alone": comparison.signature for metric, comparison in by_metric.items()}
    steps.watch("done", 1.0)
    return Audit(
        captioners=tuple(checked),
        images=len(first),
        image_set=first.image_set,
        attribute_counts=dict(sorted(Counter(next(iter(with_values.values())).attributes).items())),
        human_captions=sum(map(len, first.references or ())),
        comparisons=comparisons,
        words=words,
        quality=quality,
        missing=tuple(missing),
        settings=settings,
        signatures=signatures,
        alone=alone,
        evidence=evidence,
    )


def audit_counts(
    captioners: Mapping[str, Counted],
    *,
    seed: int = 0,
    bootstrap: int | None = None,
    margins: Mapping[str, float] | None = None,
    watch: Watch | None = None,
) -> Audit:
    """The same by sway, of what `captionbias.counting` counted of each captioner's captions: without words, A to T and
    the captions themselves, which counts do not have."""
    checked = check_counts(captioners)
    first = next(iter(captioners.values()))
    values = first.metrics["sway"].sides[0][IMAGES].shape[0] - 1 if "sway" in first.metrics else 0  # below all images
    count = replicates_for(["sway"], len(captioners), values=values) if bootstrap is None else bootstrap
    chance: dict[str, Any] = {"seed": seed, "bootstrap": replicate_count("bootstrap", count)}
    of_metric = margins_by_metric(margins, ["sway"])["sway"]
    usual = {"attribute_lexicon": "gender", "task_lexicon": None, "lean": None, "preset": None, "trials": None}
    comparison = measure_together(checked, "sway", margins=of_metric, watch=watch, details=True, **chance)
    counted = next(iter(comparison.measurements.values())).details or {}
    return Audit(
        captioners=tuple(captioners),
        images=first.images,
        image_set=first.image_set,
        attribute_counts=counted["attribute_counts"],
        human_captions=0,
        comparisons={"sway": comparison},
        words={},
        quality={},
        missing=(Message("words, A to T and captions: counts do not have them; report a sample of the captions"),),
        settings={"metrics": ["sway"], **usual, **first.metrics["sway"].options, **chance},
        signatures={"sway": comparison.signature},
    )


class _Steps:
    """The step of the work, the share of all of it that is done, and what could not be done."""

    def __init__(self, watch: Watch | None, total: int, missing: list[str]) -> None:
        self.watch, self.total, self.missing = watch or (lambda step, done: None), total, missing
        self.title, self.begun = "", 0

    def begin(self, kind: str, captioner: str = "", by: str = "") -> None:
        """Begin the next step, of this captioner, by one of crossed attributes."""
        name = catalogue.METRICS[kind].title if kind in catalogue.METRICS else kind
        self.title = " of ".join(filter(None, (name, captioner))) + (f", {by} alone" if by else "")
        self.watch(self.title, self.begun / self.total)
        self.begun += 1

    def within(self, finished: int, total: int) -> None:
        """Tell how far a step's trials are, which are most of the work of a metric."""
        done = (self.begun - 1 + 0.9 * finished / total) / self.total
        self.watch(f"{self.title}, small model {finished} of {total}", done)

    def each(
        self, captioners: Mapping[str, Captions], kind: str, measure: Callable[[str, Captions], dict[str, Any]]
    ) -> dict[str, dict[str, Any]]:
        """Measure each captioner, a step each."""
        results = {}
        for name, captions in captioners.items():
            self.begin(kind, name)
            with self.tolerated(f"{kind} of {name}"):
                results[name] = measure(name, captions)
        return results

    @contextmanager
    def tolerated(self, what: str) -> Iterator[None]:
        """Take what is refused within as missing."""
        try:
            yield
        except ValueError as error:
            self.missing.append(Message(f"{what}: ", message_of(error)))


def _quality_is_scored(captions: Captions, missing: list[str]) -> bool:
    """Whether there are human captions and packages to score caption quality by."""
    installed = bool(find_spec("pycocoevalcap") and find_spec("nltk"))
    if captions.references is not None and not installed:
        missing.append("caption quality: pip install '.[quality]' in a clone")
    return captions.references is not None and installed


def _directions(metrics: Sequence[str], captions: Captions, missing: list[str]) -> list[str] | None:
    """The directions that can be measured; None for all."""
    directed = any("directions" in find_metric(metric).options() for metric in metrics)
    described_twice = sum(len(texts) > 1 for texts in captions.references or ())
    if not directed or captions.tasks is not None or described_twice >= SMALLEST_CLASS:
        return None
    missing.append("T to A: without two human captions of an image, it needs the tasks that the images show")
    return ["a_to_t"]


def _comparisons(
    captioners: Mapping[str, Captions], metrics: Sequence[str], steps: _Steps, compared: Callable[..., Comparison]
) -> dict[str, Comparison]:
    """The metrics of all captioners; one that these captions do not allow, and what is undefined of a captioner, is
    missing."""
    comparisons: dict[str, Comparison] = {}
    for metric in metrics:
        needed = metric == metrics[-1] and not comparisons
        with nullcontext() if needed else steps.tolerated(catalogue.METRICS[metric].title):
            comparisons[metric] = compared(captioners, metric, keep_attackers=int(metric == "lic"))
    steps.missing += [
        f"{catalogue.label(score)}, of {captioner}: it is defined in no trial"
        for comparison in comparisons.values()
        for captioner, measured in comparison.measurements.items()
        for score in comparison.scores
        if score not in measured.estimates
    ]
    return comparisons


def _alone(
    captioners: Mapping[str, Captions],
    metrics: Sequence[str],
    lexicons: Mapping[str, LexiconSource],
    lean: LexiconSource | None,
    steps: _Steps,
    compared: Callable[..., Comparison],
) -> dict[str, dict[str, Comparison]]:
    """The comparisons by each of crossed attributes alone, given the words of each."""
    alone: dict[str, dict[str, Comparison]] = {name: {} for name in lexicons}
    for number, (name, lexicon) in enumerate(lexicons.items()):
        for metric in metrics:
            with steps.tolerated(f"{catalogue.METRICS[metric].title}, {name} alone"):
                relabelled = {
                    captioner: captions.with_attributes(uncross(captions.attributes, len(lexicons))[number])
                    for captioner, captions in captioners.items()
                }
                alone[name][metric] = compared(relabelled, metric, name, attribute_lexicon=lexicon, lean=lean)
    return alone


def _usual(captions: Captions) -> Sequence[str]:
    """The metrics that are measured where none is named: of scenes the one that compares within them."""
    return ("sway",) if captions.scene and captions.references is None else catalogue.REPORTED


def _check_choices(metrics: Sequence[str], preset: str) -> list[str]:
    if not metrics or any(name not in catalogue.METRICS for name in metrics):
        raise InputError("metrics", f"must list one or more of {', '.join(catalogue.METRICS)}, not {metrics!r}")
    if preset not in PRESETS:
        raise unknown("preset", preset, PRESETS)
    return [name for name in catalogue.METRICS if name in metrics]


def _crossed_attributes(lexicon: LexiconSource, labels: Sequence[str]) -> dict[str, LexiconSource]:
    """The words of each of crossed attributes by its name; none of an attribute alone."""
    if not (crossed := load_lexicon(lexicon).parts) or any(
        label.count(SEPARATOR) + 1 != len(crossed) for label in labels
    ):
        return {}
    names = [part.name for part in crossed]
    if twice := [name for name, number in Counter(names).items() if number > 1]:
        raise InputError("attribute_lexicon", f": two lexicons are called {twice[0]!r}: rename one")
    return dict(zip(names, lexicon if isinstance(lexicon, (list, tuple)) else crossed, strict=True))


def _explained(attributions: Attributions, mask: str) -> dict[str, Any]:
    """The words and captions that reveal most, as plain data; the mask is in captions but does not count as a word."""
    least = min(10, max(2, len(attributions.tokens) // 50))
    examples = []
    for number in range(len(attributions.classes)):
        right = np.flatnonzero((attributions.truth == number) & (attributions.scores.argmax(axis=1) == number))
        surest = right[np.argsort(-attributions.scores[right, number], kind="stable")]
        _, first = np.unique(attributions.tokens.select(surest).fingerprints(), return_index=True)
        examples += [
            {"row": int(row), **attributions.of(int(row))}
            for row in attributions.rows[surest[np.sort(first)[:EXAMPLES]]]
        ]
    return {
        "by_class": attributions.by_class(),
        "by_word": {
            name: [row for row in rows if row["word"] != mask][:WORDS]
            for name, rows in attributions.by_word(least).items()
        },
        "captions": examples,
        "signature": attributions.signature,
    }


def _plain(setting: Any, described: Callable[[Any], Any]) -> Any:
    """A setting as plain data: a name or a path as it is, anything else as `described`."""
    if isinstance(setting, (list, tuple)):
        return [_plain(part, described) for part in setting]
    return str(setting) if isinstance(setting, (str, Path)) else None if setting is None else described(setting)
