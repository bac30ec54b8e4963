"""What a score with its interval says of a captioner beside people, in a word or two."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from captionbias.bench import catalogue
from captionbias.bench.catalogue import Score
from captionbias.statistics.intervals import in_digits
from captionbias.statistics.samples import Estimate, ExtremeOf, Sample
from captionbias.statistics.significance import p_value
from captionbias.warnings import note

NOTHING = "-"
MORE, LESS, LIKE, CANNOT_TELL = "more than people", "less than people", "like people", "cannot tell"
LEARNED_NOTHING = "the attacker learned nothing"  # why one cannot tell
NOTHING_FOUND = "nothing found"  # of a score that says what was found, at least, and never that there is no more
# Where no people describe the images: of images of one scene, and of others.
DIFFERS, SAME = "differs", "the same"
NO_YARDSTICK = "differs; no yardstick: people may differ as much"
SAME_NO_YARDSTICK = "the same; no yardstick"
BEYOND = (MORE, DIFFERS, NO_YARDSTICK)  # what is found


def estimates_of(samples: Mapping[str, Sample], *about: Mapping[str, Any] | None) -> dict[str, Estimate]:
    """The estimates of a result's samples, of those that are defined; `about`: what `judge` takes besides."""
    scales = {key: catalogue.SCORES[key].scale for key in samples if key in catalogue.SCORES}
    estimates = {key: samples[key].estimate(*scale[:2], scale.whole) for key, scale in scales.items()}
    return judge({key: stable(key, one) for key, one in estimates.items() if one}, *about)


def stable(key: str, estimate: Estimate) -> Estimate:
    """The estimate; of trained attackers in the digits that are the same on every processor."""
    score = catalogue.SCORES[key]
    trained = catalogue.METRICS[score.metric].trains
    return Estimate._make(in_digits(estimate, score.scale.whole or 1.0)) if trained else estimate


def worst_of(
    key: str, estimates: Mapping[str, Estimate], tolerated: Mapping[str, float], notes: list[str]
) -> dict[str, Sample]:
    """The score of this key, which a training minimises: the largest size of these scores, each over what is tolerated
    of it. Undefined, with a note, where one of them is, or one cannot tell by it: any bias may hide there.

    >>> worst_of("sway_worst", {"sway_wrong_gap": Estimate(-10.0)}, {"sway_wrong_gap": 5.0}, [])["sway_worst"].values
    array([2.])
    """
    known = {one: estimates.get(one, Estimate(math.nan, doubt="it has no value")) for one in tolerated}
    worst = max(abs(known[one].value) / most for one, most in tolerated.items())
    if doubts := [(one, doubt) for one in known if (doubt := known[one].doubt)]:
        one, doubt = doubts[0]
        reason = f"too little, {catalogue.label(doubt)}" if doubt in catalogue.SCORES else doubt
        note(notes, f"{key} is nan, because {one} cannot tell: {reason}")
        worst = math.nan
    return {key: Sample(np.array([worst]), np.zeros(0))}


def judge(
    estimates: Mapping[str, Estimate],
    margins: Mapping[str, float] | None = None,
    noise: Mapping[str, float] | None = None,
    doubts: Mapping[str, str] | None = None,
) -> dict[str, Estimate]:
    """The estimates of a result with their units, and with verdicts: see `_verdict` for what is said of a score beside
    people; else of images within scenes, or of images as they are, `differs`, or `the same`, within the margin.

    `margins`, `noise`: in place of the usual ones, by the scores' keys. A score that has a margin keeps what it has.
    `doubts`: why one cannot tell by a score, by its key, whatever its interval.

    >>> def verdict(**estimates):
    ...     return judge(estimates)["sway_wrong_gap"].verdict
    >>> gap = Estimate(3.0, 2.0, 4.0)
    >>> verdict(sway_wrong_gap=gap), verdict(sway_wrong_gap=gap, sway_scenes=Estimate(500.0))
    ('more than people', 'differs')
    >>> verdict(sway_wrong_gap=gap, sway_scenes=Estimate(0.0))
    'differs'
    >>> judge({"sway_unnamed_gap": gap, "sway_scenes": Estimate(0.0)})["sway_unnamed_gap"].verdict
    'differs; no yardstick: people may differ as much'
    """
    margins, noise, doubts = margins or {}, noise or {}, doubts or {}
    measured = {key: _measured(key, one, margins.get(key), noise.get(key)) for key, one in estimates.items()}
    for key in [key for key in measured if catalogue.SCORES[key].judged]:
        word = _verdict(measured, key)
        word = CANNOT_TELL if word and key in doubts else word
        measured[key] = measured[key]._replace(
            verdict=word and word_for_yardstick(measured, word, key),
            doubt=doubts.get(key) or _doubt(measured, key),
            detectable=_detectable(measured, key),
        )
    return measured


def _measured(key: str, estimate: Estimate, margin: float | None, noise: float | None) -> Estimate:
    """An estimate with its unit; of a score with a verdict also with its margin and noise, beyond which it is seen."""
    score = catalogue.SCORES[key]
    estimate = estimate._replace(unit=score.scale.unit)
    if not score.judged or estimate.low is None or estimate.margin is not None:
        return estimate
    margin = score.usual_margin if margin is None else margin
    if score.noisy and estimate.noise is None:
        estimate = estimate._replace(noise=score.usual_margin if noise is None else noise)
    beyond = margin if score.beyond_margin and estimate.high is not None else estimate.noise or 0.0
    size = estimate.detectable
    return estimate._replace(margin=margin, detectable=size and size + beyond)


def word_for_yardstick(estimates: Mapping[str, Estimate], word: str, key: str) -> str:
    """A verdict on a score beside people in the words for what these captions are compared with."""
    if catalogue.YARDSTICK not in estimates:
        return word
    beside_one = estimates[catalogue.YARDSTICK].value or catalogue.SCORES[key].absolute
    differs, same = (DIFFERS, SAME) if beside_one else (NO_YARDSTICK, SAME_NO_YARDSTICK)
    return {MORE: differs, LESS: differs, LIKE: same}.get(word, word)


def _verdict(estimates: Mapping[str, Estimate], key: str) -> str | None:
    """What is said of a score beside people; None without an interval, and for a score whose excess over a person was
    measured, as the verdict is that one's.

    `like people`: the score, and all that decide its verdict, are within the margin with their whole intervals (a test
    of equivalence: Schuirmann 1987). `more` and `less`: the intervals of all that decide are on one side of 0, and
    beyond what people read by chance. Else, and where attackers learned nothing, `cannot tell`; `nothing found` of a
    score without an upper end.

    >>> def verdict(*ends):
    ...     return judge({"ba_mals": Estimate(sum(ends) / 2, *ends)})["ba_mals"].verdict
    >>> verdict(0.02, 0.04), verdict(-0.005, 0.005), verdict(-0.01, 0.03)
    ('more than people', 'like people', 'cannot tell')
    """
    score, estimate = catalogue.SCORES[key], estimates[key]
    if estimate.low is None or catalogue.superseded(key, estimates):
        return None
    if _learned_nothing(estimates, score):
        return CANNOT_TELL
    margin, least = estimate.margin or 0.0, least_beyond(key, estimate)
    confirming = [estimates[name].value for name in score.confirmed_by if name in estimates]
    if estimate.high is None:
        sure, named = estimate.low > least, [value > 0 for value in confirming]
        nothing = not sure and not any(named) and estimate.detectable is not None
        return MORE if sure and all(named) else NOTHING_FOUND if nothing else CANNOT_TELL
    deciding = {key, *score.above, *score.below}
    within = all(-margin <= end <= margin for name in deciding & estimates.keys() for end in estimates[name].ends)
    if deciding <= estimates.keys() and within and not _says_too_little(estimates, score):
        return LIKE
    for word, sign in ((MORE, 1), (LESS, -1)):
        if all(
            name in estimates and sign * estimates[name].ends[sign < 0] > least for name in score.deciding(sign)
        ) and all(sign * value > 0 for value in confirming):
            return MORE if score.two_sided else word
    return MORE if any(estimates[name].ends[0] > 0 for name in score.or_above if name in estimates) else CANNOT_TELL


def _doubt(estimates: Mapping[str, Estimate], key: str) -> str | None:
    """That attackers learned nothing, or the key of another score that is too small; None where no doubt is left."""
    score = catalogue.SCORES[key]
    return LEARNED_NOTHING if _learned_nothing(estimates, score) else _says_too_little(estimates, score)


def _says_too_little(estimates: Mapping[str, Estimate], score: Score) -> str | None:
    """The key of the score that shows that the captioner says too little for this one to be like people's."""
    small = [name for name, least in score.like_if if name in estimates and estimates[name].value < least]
    return small[-1] if small else None


def _learned_nothing(estimates: Mapping[str, Estimate], score: Score) -> bool:
    """Whether attackers learned nothing of either side: no gain over base rates has its interval above 0."""
    gains = [estimates[name] for name in score.learned if name in estimates]
    return bool(gains) and all(gain.ends[0] <= 0 for gain in gains)


def least_beyond(key: str, estimate: Estimate) -> float:
    """How far from 0 more and less begin: beyond the margin, or what people's own captions read by chance that no
    interval knows of."""
    return (estimate.margin if catalogue.SCORES[key].beyond_margin else estimate.noise) or 0.0


def _detectable(estimates: Mapping[str, Estimate], key: str) -> float | None:
    """How large the score would have to be for all that decide its verdict to be on one side."""
    score = catalogue.SCORES[key]
    sizes = [estimates[one].detectable for one in (key, *score.above, *score.below) if one in estimates]
    return max((size for size in sizes if size is not None), default=None)


def verdict_p_value(samples: Mapping[str, Sample], key: str, sign: int, beyond: float = 0.0) -> float:
    """The p-value of what `verdict` asks: is the score further on this side of 0 (1 or -1) than `beyond`, by chance?

    It is the largest of all that decide, or of one that is as good as all of them, if that is smaller. What has no
    replicates decides by its side alone. The samples of one captioner, or the differences of two.

    >>> replicates = np.linspace(1.0, 3.0, 999)
    >>> sample = Sample(np.array([2.0]), replicates)
    >>> verdict_p_value({"lic": sample}, "lic", 1), verdict_p_value({"lic": sample}, "lic", 1, beyond=5.0)
    (0.002, 1.0)
    """
    score = catalogue.SCORES[key]
    confirmed = all(sign * np.nansum(samples[name].values) > 0 for name in score.confirmed_by if name in samples)
    usual = max(_p_beyond(samples.get(name), sign, beyond) for name in score.deciding(sign)) if confirmed else 1.0
    return min([usual, *(_p_beyond(samples.get(name), 1, 0.0) for name in score.or_above)])


def _p_beyond(sample: Sample | None, sign: int, beyond: float) -> float:
    """The p-value of one quantity; an extreme is on a side if all are that it was chosen among, or on the other any."""
    if sample is None or np.isnan(sample.values).all():
        return 1.0
    if isinstance(sample, ExtremeOf):
        which = max if (sample.pick is min) == (sign > 0) else min
        return which(_p_beyond(part, sign, beyond) for part in sample.among)
    value = float(np.nanmean(sample.values)) - sign * beyond
    if sign * value <= sample.floor:
        return 1.0
    if not len(sample.replicates):
        return 0.0
    return min(1.0, sample.chosen_of * p_value(value, sample.replicates - sign * beyond))
