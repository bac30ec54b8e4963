"""What a score with its interval says of a captioner beside people, in a word or two."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from captionbias.bench import catalogue
from captionbias.statistics.samples import Estimate, Extreme, Sample
from captionbias.statistics.significance import p_value

NOTHING = "-"
MORE, LESS, LIKE, CANNOT_TELL = "more than people", "less than people", "like people", "cannot tell"
LEARNED_NOTHING = "the attacker learned nothing"  # why one cannot tell
NOTHING_FOUND = "nothing found"  # of a score that says what was found, at least, and never that there is no more
# Where no people describe the images: of images of one scene, and of others.
DIFFERS, SAME = "differs", "the same"
NO_YARDSTICK = "differs; no yardstick: people may differ as much"
SAME_NO_YARDSTICK = "the same; no yardstick"
BEYOND = (MORE, DIFFERS, NO_YARDSTICK)  # what is found


def verdict(estimates: Mapping[str, Estimate], key: str) -> str:
    """What is said of a score beside people, see `_verdict`; else of images within scenes, or of images as they are:
    `differs`, or `the same`, within the margin; of the latter without a yardstick.

    >>> gap = {"sway_wrong_gap": Estimate(3.0, 2.0, 4.0)}
    >>> verdict(gap, "sway_wrong_gap"), verdict(gap | {"sway_scenes": Estimate(500.0)}, "sway_wrong_gap")
    ('more than people', 'differs')
    >>> verdict(gap | {"sway_scenes": Estimate(0.0)}, "sway_wrong_gap")
    'differs; no yardstick: people may differ as much'
    """
    return said_beside(estimates, _verdict(estimates, key))


def said_beside(estimates: Mapping[str, Estimate], word: str) -> str:
    """A verdict beside people in the words for what these captions are compared with."""
    if catalogue.YARDSTICK not in estimates:
        return word
    differs, same = (DIFFERS, SAME) if estimates[catalogue.YARDSTICK].value else (NO_YARDSTICK, SAME_NO_YARDSTICK)
    return {MORE: differs, LESS: differs, LIKE: same}.get(word, word)


def _verdict(estimates: Mapping[str, Estimate], key: str) -> str:
    """What is said of a score beside people; "-" without an interval, and for a score whose excess over a person was
    measured, as the verdict is that one's.

    `like people`: the score, and all that decide its verdict, are within the margin with their whole intervals (a test
    of equivalence: Schuirmann 1987). `more` and `less`: the intervals of all that decide are on one side of 0, and
    beyond what people read by chance. Else, and where attackers learned nothing, `cannot tell`; `nothing found` of a
    score without an upper end.

    >>> _verdict({"ba_mals": Estimate(0.03, 0.02, 0.04)}, "ba_mals")
    'more than people'
    >>> _verdict({"ba_mals": Estimate(0.0, -0.005, 0.005)}, "ba_mals")
    'like people'
    >>> _verdict({"ba_mals": Estimate(0.01, -0.01, 0.03)}, "ba_mals")
    'cannot tell'
    """
    estimate = estimates.get(key)
    if estimate is None or estimate.low is None or catalogue.superseded(key, estimates):
        return NOTHING
    if learned_nothing(estimates, key):
        return CANNOT_TELL
    score, margin = catalogue.SCORES[key], margin_of(estimates, key)
    if estimate.high is None:
        sure = estimate.low > noise(estimates, key)
        named = [estimates[name].value > 0 for name in score.confirmed_by if name in estimates]
        nothing = not sure and not any(named) and estimate.detectable is not None
        return MORE if sure and all(named) else NOTHING_FOUND if nothing else CANNOT_TELL
    deciding = {key, *score.above, *score.below}
    within = all(-margin <= end <= margin for name in deciding & estimates.keys() for end in _ends(estimates[name]))
    if deciding <= estimates.keys() and within and not is_mute(estimates, key):
        return LIKE
    for word, sign in ((MORE, 1), (LESS, -1)):
        if all(
            name in estimates and sign * _ends(estimates[name])[sign < 0] > noise(estimates, key)
            for name in score.deciding(sign)
        ) and all(sign * estimates[name].value > 0 for name in score.confirmed_by if name in estimates):
            return MORE if score.two_sided else word
    return MORE if any(_ends(estimates[name])[0] > 0 for name in score.or_above if name in estimates) else CANNOT_TELL


def p_of_verdict(samples: Mapping[str, Sample], key: str, sign: int, beyond: float = 0.0) -> float:
    """The p-value of what `verdict` asks: is the score further on this side of 0 (1 or -1) than `beyond`, by chance?

    It is the largest of all that decide, or of one that is as good as all of them, if that is smaller. What has no
    replicates decides by its side alone. The samples of one captioner, or the differences of two.

    >>> replicates = np.linspace(1.0, 3.0, 999)
    >>> sample = Sample(np.array([2.0]), replicates)
    >>> p_of_verdict({"lic": sample}, "lic", 1), p_of_verdict({"lic": sample}, "lic", 1, beyond=5.0)
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
    if isinstance(sample, Extreme):
        which = max if (sample.pick is min) == (sign > 0) else min
        return which(_p_beyond(part, sign, beyond) for part in sample.among)
    value = float(np.nanmean(sample.values)) - sign * beyond
    if sign * value <= sample.floor:
        return 1.0
    if not len(sample.replicates):
        return 0.0
    return min(1.0, sample.chosen_of * p_value(value, sample.replicates - sign * beyond))


def is_mute(estimates: Mapping[str, Estimate], key: str) -> bool:
    """Whether the captioner says too little for a score to be like people's, whatever it reads."""
    needed = catalogue.SCORES[key].like_if
    return any(name in estimates and estimates[name].value < least for name, least in needed)


def learned_nothing(estimates: Mapping[str, Estimate], key: str) -> bool:
    """Whether attackers learned nothing of either side: no gain over base rates has its interval above 0."""
    gains = [estimates[name] for name in catalogue.SCORES[key].learned if name in estimates]
    return bool(gains) and all(_ends(gain)[0] <= 0 for gain in gains)


def margin_of(estimates: Mapping[str, Estimate], key: str) -> float:
    """How near to 0 a score is as good as 0: as chosen, else one of 100."""
    margin = estimates[key].margin
    return catalogue.SCORES[key].usual_margin if margin is None else margin


def noise(estimates: Mapping[str, Estimate], key: str) -> float:
    """How far from 0 more and less begin: beyond the margin, or what people's own captions read by chance that no
    interval knows of."""
    measured, score = estimates[key].noise, catalogue.SCORES[key]
    if score.beyond_margin:
        return margin_of(estimates, key)
    return (score.usual_margin if score.noisy else 0.0) if measured is None else measured


def a_little(estimates: Mapping[str, Estimate], key: str) -> bool:
    """Whether a score, on one side of 0, may still be within the margin."""
    low, high = _ends(estimates[key])
    return min(abs(low), abs(high)) < margin_of(estimates, key)


def detectable(estimates: Mapping[str, Estimate], key: str) -> float | None:
    """How large the score would have to be for its verdict to be more or less in four of five samples of this size."""
    score = catalogue.SCORES[key]
    sizes = [estimates[one].detectable for one in (key, *score.above, *score.below) if one in estimates]
    return max((size for size in sizes if size is not None), default=None)


def _ends(estimate: Estimate) -> tuple[float, float]:
    """The interval; without one the value, twice."""
    low, high = estimate.low, estimate.high
    return estimate.value if low is None else low, estimate.value if high is None else high
