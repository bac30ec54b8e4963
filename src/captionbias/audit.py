"""Everything there is to know of captioners' bias on the same images, in one call: what reports are made of."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from captionbias.alignment_quality import alignment_quality
from captionbias.captions import check_captions
from captionbias.captions.values import as_list
from captionbias.comparison import Comparison, measured_together
from captionbias.explain import Attributions, attribute_captions
from captionbias.metrics.presets import DBAC_PRESETS, LIC_PRESETS
from captionbias.quality import caption_quality
from captionbias.significance import images_needed
from captionbias.text import LexiconSource, load_lexicon, tokenize
from captionbias.vectors import CAPTIONS, train_vectors

PRESETS = {"fast": {"dbac": "fast", "lic": "fast"}, "papers": {"dbac": "dbac-2026", "lic": "lic-2022"}}
NAMES = {"dbac": "DBAC", "lic": "LIC"}
WORDS, EXAMPLES = 30, 8
ALIGNED = 500  # human captions whose alignment is judged
# How long the steps take, relative to each other.
COST = {"vectors": 3, "dbac": 12, "lic": 4, "words": 1, "alignment": 1, "quality": 2}

Watch = Callable[[str, float], None]


@dataclass(frozen=True, eq=False)
class Audit:
    """Captioners measured on the same images.

    Attributes:
        captioners: their names.
        images: how many there are; `attribute_counts`: of each attribute value.
        comparisons: of each metric (`dbac`, `lic`) the captioners' results with details, p-values, parts of the
            variance and differences; see `captionbias.comparison.compare`.
        needed: of each metric, captioner and score: how many images it takes to halve the interval; None if images
            alone cannot.
        words: of each captioner, which words give the attribute away: `by_class`, `by_word` (the first 30 of each
            value), `captions` (the 8 surest and right ones of each value, with every word's value), `signature`.
        quality: of each captioner BLEU-4, ROUGE-L, METEOR and CIDEr; empty without human captions, or without the
            packages that compute them.
        alignments: of each captioner METEOR between 500 human captions before and after alignment: `contextual`, as
            DBAC has it, and `constant`, as LIC has it; `score` says which METEOR it is.
        missing: what is not there and why.
        settings: what was asked for, to measure it again.
        signatures: everything that changes the scores, by metric.
    """

    captioners: tuple[str, ...]
    images: int
    attribute_counts: dict[str, int]
    comparisons: dict[str, Comparison]
    needed: dict[str, dict[str, dict[str, int | None]]]
    words: dict[str, dict[str, Any]]
    quality: dict[str, dict[str, Any]]
    alignments: dict[str, dict[str, Any]]
    missing: tuple[str, ...]
    settings: dict[str, Any]
    signatures: dict[str, str]

    def result(self, metric: str, captioner: str) -> dict[str, Any]:
        """What the metric returns for the captioner, details included."""
        return self.comparisons[metric].results[captioner]

    def notes(self, captioner: str) -> list[str]:
        """What to know before the captioner's numbers are believed."""
        return list(
            dict.fromkeys(
                f"{NAMES[metric]}: {note}"
                for metric in self.comparisons
                for note in self.result(metric, captioner)["details"]["warnings"]
            )
        )

    def as_dict(self) -> dict[str, Any]:
        """Everything, for a file."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "comparisons"}
        return {**fields, "comparisons": {metric: found.as_dict() for metric, found in self.comparisons.items()}}


def audit(
    captioners: Mapping[str, Any],
    references: Any = None,
    attributes: Any = None,
    tasks: Any = None,
    *,
    metrics: Sequence[str] = ("dbac", "lic"),
    preset: str = "fast",
    trials: int | None = None,
    seed: int = 0,
    attribute_lexicon: LexiconSource = "gender",
    task_lexicon: LexiconSource | None = None,
    vectors: Any = None,
    bootstrap: int = 1000,
    quality_images: int = 1000,
    cache: bool | str | Path = True,
    watch: Watch | None = None,
) -> Audit:
    """Measure one captioner or several with everything that a report shows.

    Several captioners are aligned with the same word vectors, trained once on all captions; one alone with its own, so
    its scores are those that `dbac` and `lic` give.

    Args:
        captioners: each captioner's name and its `n` captions.
        references, attributes, tasks: of the same images, as the metrics take them.
        metrics: `dbac`, `lic` or both.
        preset: `fast`, the convex attacker, or `papers`, the protocols of the papers (`dbac-2026`, `lic-2022`).
        trials: attackers for each set of captions; the preset's when None.
        seed: of the first trial and of the bootstrap.
        attribute_lexicon, task_lexicon: words, see `captionbias.text.load_lexicon`; tasks' are the preset's when None.
        vectors: word vectors of DBAC's alignment, see `captionbias.vectors.load_vectors`.
        bootstrap: replicates.
        quality_images: caption quality is taken of so many images, drawn with `seed`.
        cache: keep every finished trial: in the usual folder, in this one, or not at all.
        watch: called with the step that begins or goes on and the share of the work that is done, in [0, 1]. What it
            raises ends the audit.

    Raises:
        ValueError: no captioner, an unknown metric or preset, or what the metrics refuse.

    >>> from captionbias.planted import plant
    >>> people = vars(plant(200))
    >>> found = audit({"faithful": people.pop("predictions")}, **people, metrics=["lic"], trials=2)
    >>> found.images, list(found.comparisons), found.captioners
    (200, ['lic'], ('faithful',))
    """
    chosen = _checked(captioners, metrics, preset)
    people = {"references": references, "attributes": attributes, "tasks": tasks}
    first = check_captions(predictions=next(iter(captioners.values())), **people)
    missing: list[str] = []
    scored = references is not None and _has_quality(missing)
    steps = _Steps(watch, _plan(list(captioners), chosen, scored))
    common: dict[str, Any] = {"trials": trials, "seed": seed, "cache": cache, "bootstrap": bootstrap, "details": True}
    common["attribute_lexicon"] = attribute_lexicon

    aligned = "dbac" in chosen and references is not None
    if aligned:
        steps.begin("vectors", None)
        vectors = _vectors(captioners, references, vectors)
    own: dict[str, dict[str, Any]] = {"lic": {}, "dbac": {"task_lexicon": task_lexicon, "vectors": vectors}}
    if "dbac" in chosen and references is None and tasks is None:
        missing.append("T to A: without human captions it needs the tasks that the images show")
        own["dbac"]["directions"] = ["a_to_t"]
    comparisons = {}
    for metric in chosen:
        comparisons[metric] = measured_together(
            captioners,
            people,
            metric,
            preset=PRESETS[preset][metric],
            watch=partial(_begin, steps, metric),
            progress=steps.within,
            **common,
            **own[metric],
        )
    words = {}
    for name, captions in captioners.items():
        steps.begin("words", name)
        try:
            found = attribute_captions(
                captions, attributes, preset=PRESETS[preset]["lic"], seed=seed, attribute_lexicon=attribute_lexicon
            )
        except ValueError as error:
            missing.append(f"words of {name}: {error}")
        else:
            words[name] = _told(found)
    alignments, quality = {}, {}
    for name, captions in captioners.items() if aligned and scored and vectors is not None else ():
        steps.begin("alignment", name)
        with suppress(ValueError):  # every human word is one of the captioner's
            alignments[name] = _alignment(captions, references, vectors, seed)
    for name, captions in captioners.items() if scored else ():
        steps.begin("quality", name)
        quality[name] = caption_quality(predictions=captions, references=references, images=quality_images, seed=seed)
    steps.end()
    return Audit(
        captioners=tuple(captioners),
        images=len(first),
        attribute_counts=dict(sorted(Counter(first.attributes).items())),
        comparisons=comparisons,
        needed={metric: _needed(found, len(first)) for metric, found in comparisons.items()},
        words=words,
        quality=quality,
        alignments=alignments,
        missing=tuple(missing),
        settings={
            "metrics": chosen,
            "preset": preset,
            "trials": trials,
            "seed": seed,
            "bootstrap": bootstrap,
            "attribute_lexicon": _named(attribute_lexicon),
            "task_lexicon": None if task_lexicon is None else _named(task_lexicon),
        },
        signatures={metric: found.signature for metric, found in comparisons.items()},
    )


class _Steps:
    """Which step it is, and how much of all work is done."""

    def __init__(self, watch: Watch | None, plan: Mapping[tuple[str, str | None], float]) -> None:
        self.watch = watch or (lambda step, done: None)
        total = sum(plan.values())
        ends = np.cumsum(list(plan.values())) / total
        self.spans = {
            step: (float(end - cost / total), float(end)) for (step, cost), end in zip(plan.items(), ends, strict=True)
        }
        self.title, self.span = "", (0.0, 0.0)

    def begin(self, kind: str, captioner: str | None) -> None:
        self.title = " of ".join(filter(None, (TITLES[kind], captioner)))
        self.span = self.spans[kind, captioner]
        self.watch(self.title, self.span[0])

    def within(self, finished: int, total: int) -> None:
        """Trials are most of the work of a metric."""
        start, end = self.span
        self.watch(f"{self.title}: attacker {finished} of {total}", start + (end - start) * 0.9 * finished / total)

    def end(self) -> None:
        self.watch("done", 1.0)


TITLES = {
    "vectors": "word vectors",
    "dbac": "DBAC",
    "lic": "LIC",
    "words": "words",
    "alignment": "alignment",
    "quality": "quality",
}


def _plan(captioners: list[str], metrics: list[str], scored: bool) -> dict[tuple[str, str | None], float]:
    kinds = [*metrics, "words", *(["alignment", "quality"] if scored else [])]
    steps: dict[tuple[str, str | None], float] = {("vectors", None): COST["vectors"]}
    return steps | {(kind, name): COST[kind] for kind in kinds for name in captioners}


def _begin(steps: _Steps, metric: str, left: Sequence[str]) -> None:
    steps.begin(metric, left[0])


def _checked(captioners: Mapping[str, Any], metrics: Sequence[str], preset: str) -> list[str]:
    if not captioners:
        raise ValueError("captioners is empty: give at least one captioner's captions")
    if isinstance(metrics, str) or not metrics or set(metrics) - set(NAMES):
        raise ValueError(f"metrics must list one or both of {', '.join(NAMES)}, not {metrics!r}")
    if preset not in PRESETS:
        raise ValueError(f"preset {preset!r} is unknown; choose one of {', '.join(PRESETS)}")
    assert {PRESETS[preset]["dbac"], PRESETS[preset]["lic"]} <= {*DBAC_PRESETS, *LIC_PRESETS}
    return [name for name in NAMES if name in metrics]


def _has_quality(missing: list[str]) -> bool:
    if find_spec("pycocoevalcap") and find_spec("nltk"):
        return True
    missing.append("caption quality: pip install 'captionbias[quality]'")
    return False


def _vectors(captioners: Mapping[str, Any], references: Any, source: Any) -> Any:
    """The word vectors of every captioner's alignment: by default trained once, on what all of them and people say.

    None where no captioner lacks a human word. One captioner's are what `dbac` trains itself.
    """
    if source not in (None, CAPTIONS):
        return source
    said = [text for name, captions in captioners.items() for text in as_list(name, captions)]
    tokens = tokenize(said + [text for texts in as_list("references", references) for text in texts])
    if not (tokens.between(len(said), len(tokens)).present() & ~tokens.between(0, len(said)).present()).any():
        return None
    vectors = train_vectors(tokens)
    vectors.called = CAPTIONS if len(captioners) == 1 else f"{CAPTIONS} of {', '.join(captioners)}"
    return vectors


def _alignment(captions: Any, references: Any, vectors: Any, seed: int) -> dict[str, Any]:
    study = alignment_quality(
        predictions=captions, references=references, vectors={"": vectors}, captions=ALIGNED, seed=seed
    )
    found = {"contextual": study.vectors[""].meteor, "constant": study.meteor_constant}
    return {**found, "score": study.meteor_name, "captions": study.captions, "signature": study.signature}


def _told(found: Attributions) -> dict[str, Any]:
    """The words and captions that say most, as plain data."""
    least = min(10, max(2, len(found.tokens) // 50))
    examples = []
    for number in range(len(found.classes)):
        of_class = np.flatnonzero((found.truth == number) & (found.scores.argmax(axis=1) == number))
        surest = of_class[np.argsort(-found.scores[of_class, number], kind="stable")]
        _, first = np.unique(found.tokens.select(surest).fingerprints(), return_index=True)
        examples += [{"row": int(row), **found.of(int(row))} for row in found.rows[surest[np.sort(first)[:EXAMPLES]]]]
    return {
        "by_class": found.by_class(),
        "by_word": {name: rows[:WORDS] for name, rows in found.by_word(least).items()},
        "captions": examples,
        "signature": found.signature,
    }


def _needed(comparison: Comparison, images: int) -> dict[str, dict[str, int | None]]:
    needed: dict[str, dict[str, int | None]] = {}
    for captioner, parts in comparison.parts.items():
        result = comparison.results[captioner]
        needed[captioner] = {}
        for score, of_score in parts.items():
            width = result.get(f"{score}_ci_high", math.nan) - result.get(f"{score}_ci_low", math.nan)
            try:
                needed[captioner][score] = images_needed(of_score, images, width / 2)
            except ValueError:  # no interval, one trial, or an attacker whose training spreads further than that
                needed[captioner][score] = None
    return needed


def _named(lexicon: LexiconSource) -> Any:
    if isinstance(lexicon, (str, Path)):
        return str(lexicon)
    return asdict(load_lexicon(lexicon))
