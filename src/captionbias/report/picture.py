"""One picture of a captioner: which way bias flows, how much more or less of it than in people's captions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from captionbias.io.files import write_text
from captionbias.metrics import catalogue
from captionbias.metrics.catalogue import DIRECTIONS, Score
from captionbias.metrics.measurement import Estimate
from captionbias.metrics.verdicts import NOTHING, SMALL_DBAC, verdict
from captionbias.report.svg import box, document, line, mark, room, shape, shortened, text, tick_text, ticks, tone
from captionbias.report.wording import interval

WIDTH, MIDDLE = 360.0, 180.0
BOX_WIDTH, BOX_HEIGHT = 84.0, 74.0
ARROW, THICKEST, THINNEST = 0.15, 18.0, 2.0  # the net DBAC whose arrow is the thickest
ROW, LINE = 42.0, 15.0
WAYS = {  # what a row shows, from which to which
    "dbac_a_to_t_net": "{attribute} → {tasks}",
    "dbac_t_to_a_net": "{tasks} → {attribute}",
    "lic": "wording alone → {attribute}",
    "imagecaptioner2": "image and caption → {attribute}",
}
# The least that an axis reaches to either side: a small score looks small.
REACH = {"dbac": 0.1, "lic": 20.0, "imagecaptioner2": 20.0, "label_leakage": 5.0, "dpa": 0.1, "ba_mals": 0.05}


class Picture(str):
    """An SVG that a notebook shows and that can be saved.

    >>> picture = Picture('<svg style="max-width:100%"></svg>')
    >>> picture._repr_svg_()
    '<svg style="background:#ffffff;color:#1f2328;max-width:100%"></svg>'
    """

    def _repr_svg_(self) -> str:
        return self.replace('style="', 'style="background:#ffffff;color:#1f2328;', 1)

    def save(self, path: str | Path) -> None:
        """Write the picture as an .svg file, whole or not at all.

        Raises:
            ValueError: the path ends otherwise, or cannot be written.
        """
        if Path(path).suffix.lower() != ".svg":
            raise ValueError(f"path is {str(path)!r}: name a file that ends in .svg")
        write_text(self._repr_svg_(), Path(path))


def captioner_picture(
    estimates: Mapping[str, Estimate], name: str = "", attribute: str = "the attribute", tasks: str = "tasks"
) -> Picture:
    """A captioner's main scores: an arrow each way between the attribute and the tasks, and gauges with people at 0.

    An arrow is as thick as its net DBAC is far from 0, and coloured by its verdict. Gauges have a person in the
    middle: to the right of it is more bias than in people's captions, to the left less. Scores that have no such zero
    have a gauge that begins at 0.

    Args:
        estimates: of a `Measurement` or a `Result`; of several metrics together.
        name: of the captioner; attribute, tasks: what these are called.

    Returns:
        360 units wide; readable at that width in pixels.

    >>> picture = captioner_picture({"lic": Estimate(20.1, 17.3, 23.0)}, "nic", "gender")
    >>> picture[picture.index("<title>"):picture.index("<style>")]
    '<title>nic</title><desc>wording alone → gender: amplifies, 20.1 [17.3, 23.0]</desc>'
    """
    attribute = attribute.removeprefix("the ")
    scores = main_scores(estimates)
    labels = {score.key: WAYS.get(score.key, score.label).format(attribute=attribute, tasks=tasks) for score in scores}
    said = {score.key: verdict(estimates, score.key) for score in scores}
    numbers = {score.key: written(estimates[score.key], score) for score in scores}
    nets = {direction: f"dbac_{direction}_net" for direction in DIRECTIONS}
    parts, top = [], 0.0
    if name:
        parts, top = [text(0, 16, shortened(name, WIDTH, 17), "strong", size=16)], 24.0
    drawn = set(nets.values()) <= estimates.keys()
    if drawn:
        parts += _arrows(estimates, numbers, attribute, tasks, top)
        top += 118
    with_zero = [score for score in scores if score.bounds[0] < 0]
    if with_zero:
        parts.append(text(MIDDLE, top + 11, "0: another person's captions", "soft", "middle", 12))
        top += 22
        for score in with_zero:
            told_above = drawn and score.key in nets.values()
            reach = _reach([one for one in with_zero if one.metric == score.metric], estimates)
            found = "" if told_above else f"{score.label}: {numbers[score.key]}"
            if not told_above and score.key not in WAYS:
                found = numbers[score.key]
            band = SMALL_DBAC if score.key in nets.values() else 0.0
            parts += _gauge(top, labels[score.key], said[score.key], found, estimates[score.key], -reach, reach, band)
            top += ROW + LINE * bool(found)
        top += 8
        parts.append(text(0, top + 4, "◂ less than people", "soft", size=12))
        parts.append(text(WIDTH, top + 4, "more than people ▸", "soft", "end", 12))
        top += 20
    for score in scores:
        if score.bounds[0] >= 0:
            found, estimate = numbers[score.key], estimates[score.key]
            high = 1.2 * max(end for end in estimate[:3] if end is not None) or 1.0
            parts += _gauge(top, labels[score.key], NOTHING, found, estimate, 0.0, high)
            top += ROW + LINE
    if any(estimates[score.key].low is not None for score in scores):
        parts.append(text(MIDDLE, top + 6, "bars and brackets: 95% intervals", "soft", "middle", 11))
        top += 12
    told = "; ".join(
        f"{labels[key]}: {'' if said[key] == NOTHING else f'{said[key]}, '}{numbers[key]}" for key in labels
    )
    return Picture(document(parts, WIDTH, top + 4, name or "Scores", told))


def main_scores(estimates: Mapping[str, Estimate]) -> list[Score]:
    """The scores that a picture shows: those with a verdict and those of another kind; else the main ones that there
    are, else all.

    >>> [score.key for score in main_scores({"lic": Estimate(1.0), "lic_m": Estimate(40.0)})]
    ['lic']
    """
    found = [catalogue.SCORES[key] for key in catalogue.SCORES if key in estimates]
    found = [score for score in found if not catalogue.superseded(score.key, estimates)]
    judged = [score for score in found if score.judged and score.claim]
    others = [score for score in found if score.headline and score.sense != "amplification"]
    return judged + others or [one for one in found if one.headline] or [one for one in found if one.alone] or found


def written(estimate: Estimate, score: Score) -> str:
    """A score with its sign and its interval.

    >>> written(Estimate(0.0901, 0.0799, 0.1), catalogue.SCORES["dbac_a_to_t_net"])
    '+0.090 [0.080, 0.100]'
    """
    return ("+" if estimate.value > 0 and score.bounds[0] < 0 else "") + interval(estimate, score.digits)


def _arrows(
    estimates: Mapping[str, Estimate], numbers: Mapping[str, str], attribute: str, tasks: str, top: float
) -> list[str]:
    """The attribute on the left, the tasks on the right, an arrow each way with its score."""
    parts = []
    for x, content in ((0.0, attribute), (WIDTH - BOX_WIDTH, tasks)):
        parts.append(box(x + 1, top + 18, BOX_WIDTH - 2, BOX_HEIGHT, radius=8))
        lines = content.replace(" and ", "\nand ").split("\n")
        size = min(14.0, 14 * (BOX_WIDTH - 8) / max(room(one, 14) for one in lines))
        first = top + 18 + BOX_HEIGHT / 2 + 5 - 8 * (len(lines) - 1)
        for number, one in enumerate(lines):
            parts.append(text(x + BOX_WIDTH / 2, first + 16 * number, one, "strong", "middle", size))
    left, right = BOX_WIDTH + 6, WIDTH - BOX_WIDTH - 6
    for direction, y, line_y in (("a_to_t", top + 38, top + 20), ("t_to_a", top + 72, top + 98)):
        key = f"dbac_{direction}_net"
        kind = tone(verdict(estimates, key))
        begin, end = (left, right) if direction == "a_to_t" else (right, left)
        parts.append(_arrow(begin, end, y, _thickness(estimates[key].value), kind))
        parts.append(text(MIDDLE, line_y, numbers[key], f"{kind} strong", "middle"))
    return parts


def _thickness(value: float) -> float:
    return THINNEST + (THICKEST - THINNEST) * min(1.0, abs(value) / ARROW)


def _arrow(begin: float, end: float, y: float, thickness: float, kind: str) -> str:
    ahead = 1 if end > begin else -1
    half, head = thickness / 2, thickness / 2 + 5
    neck = end - ahead * head * 1.3
    upper = [(begin, y - half), (neck, y - half), (neck, y - head), (end, y)]
    lower = [(neck, y + head), (neck, y + half), (begin, y + half)]
    return shape([*upper, *lower], kind)


def _gauge(
    y: float, label: str, said: str, numbers: str, estimate: Estimate, low: float, high: float, band: float = 0.0
) -> list[str]:
    """A row: what it shows, the verdict and the numbers above an axis with the mark, its interval and a person at 0.

    `band`: how far from 0 a person's captions read by chance.
    """

    def place(value: float) -> float:
        return 6 + (WIDTH - 12) * (min(high, max(low, value)) - low) / (high - low)

    kind = tone(said)
    parts = [text(0, y + 10, shortened(label, WIDTH - room(said, 12) - 10, 12), size=12)]
    if said != NOTHING:
        parts.append(text(WIDTH, y + 10, said, f"{kind} strong", "end", 12))
    if numbers:
        y += LINE
        parts.append(text(0, y + 10, numbers, f"{kind} strong", size=12))
    axis = y + 23
    marks = [value for value in ticks(low, high, 4) if value or low]
    if band:
        parts.append(box(place(-band), axis - 9, place(band) - place(-band), 18, "person"))
    parts.append(line(6, axis, WIDTH - 6, axis, "grid"))
    parts += [line(place(value), axis - 3, place(value), axis + 3, "grid") for value in marks]
    parts.append(text(place(marks[-1]), axis + 15, tick_text(marks[-1]), "soft", "middle", 10))
    parts.append(line(place(0), axis - 9, place(0), axis + 9, "zero"))
    if estimate.low is not None and estimate.high is not None:
        parts.append(line(place(estimate.low), axis, place(estimate.high), axis, kind, 4))
    return [*parts, mark(place(estimate.value), axis, said)]


def _reach(scores: list[Score], estimates: Mapping[str, Estimate]) -> float:
    """How far the axis of these scores, of one unit, goes to either side."""
    ends = [abs(end) for score in scores for end in estimates[score.key][:3] if end is not None]
    return 1.15 * max(*ends, REACH.get(scores[0].metric, 0.0)) or 1.0
