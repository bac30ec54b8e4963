"""Results in words: numbers with their intervals, and what captioners, attributes and tasks are called."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from captionbias.analysis.audit import Audit
from captionbias.bench.catalogue import SCORES, YARDSTICK
from captionbias.bench.sentence import GROUPS
from captionbias.bench.sentence import group as group
from captionbias.bench.sentence import listed as listed
from captionbias.bench.sentence import words_of as words_of
from captionbias.bench.verdicts import (
    BEYOND,
    CANNOT_TELL,
    NO_YARDSTICK,
    NOTHING,
    NOTHING_FOUND,
    SAME,
    SAME_NO_YARDSTICK,
)
from captionbias.errors import render
from captionbias.metrics.sway.a_to_t import TASKS_NAMED
from captionbias.metrics.sway.claims import whose_gap as whose_gap
from captionbias.metrics.sway.misnaming import KEYS, NAMED_LEAST
from captionbias.statistics.samples import Estimate

ENOUGH = 20  # images of a cell for its share to be shown
# What messages call arguments, for those who measure; a report is also read by others.
WORDS = {
    "predictions": "the captioner's captions",
    "references": "human captions",
    "model test captions": "captioner's captions",
    "human test captions": "human captions",
    "are also in the training split": "repeat ones that the attacker learned from",
    "tasks": "tasks",
    "attribute_lexicon": "the words for the attribute",
    "task_lexicon": "the words for the task",
    "lean='own'": "leans that are counted on these images",
    "trials=1": "one training",
    "a_to_t": "A to T",
    "t_to_a": "T to A",
}
DOUBTS = {  # what a captioner says too little for, by the key of the score that shows it
    NAMED_LEAST: "it hardly names more than one value",
    TASKS_NAMED: "it hardly names the tasks that go with a value",
}


class Yardstick(NamedTuple):
    """What captions are compared with, in words: `meaning`, what a verdict says; `than`, whose captions a size is
    beyond; `short`, of what needs telling below the rows."""

    meaning: str
    than: str = ""
    short: str = ""


PEOPLE = Yardstick("More than people: than in another person's captions of the same images.", ", beyond people")
SCENES = Yardstick(
    "The images of a scene differ in the person alone: what differs is caused by the person, if scenes are as given.",
    short="Images of one scene are compared with each other.",
)
NO_PEOPLE = Yardstick(
    "No yardstick: what differs may differ as much in people's captions, for the images differ too.",
    short="No yardstick: people may differ as much.",
)


def yardstick(estimates: Mapping[str, Any]) -> Yardstick:
    """What a result of sway is compared with."""
    scenes = estimates.get(YARDSTICK)
    return PEOPLE if scenes is None else SCENES if scenes.value else NO_PEOPLE


def yardstick_of(audit: Audit) -> Yardstick:
    """What the captions of an audit are compared with."""
    return yardstick(audit.measurement("sway", audit.captioners[0]).estimates if "sway" in audit.comparisons else {})


def fixed(number: float, digits: int) -> str:
    """A number with so many digits behind the point."""
    return f"{round(number, digits) + 0.0:.{digits}f}"  # adding 0 takes the sign off -0


def interval(estimate: Estimate | None, digits: int) -> str:
    """A score with its 95% interval over images and trials; what was found, at least, has no upper end."""
    return _with_interval(estimate, lambda number: fixed(number, digits))


def percent(share: Estimate | None) -> str:
    """A share with its 95% interval, in percent."""
    return _with_interval(share, "{:.1%}".format)


def _with_interval(estimate: Estimate | None, written: Callable[[float], str]) -> str:
    if estimate is None:
        return NOTHING
    value, low, high = estimate[:3]
    if low is None:
        return written(value)
    if high is None:
        return f"{written(value)}, at least {written(low)}"
    return f"{written(value)} [{written(low)}, {written(high)}]"


def verdict_text(key: str, estimate: Estimate, details: Mapping[str, Any] | None = None) -> str:
    """A score's verdict; of a gap, with the details, also whose it is, and where nothing is told what would have been
    seen."""
    verdict, size = estimate.verdict or NOTHING, estimate.detectable
    if verdict == NOTHING_FOUND and size:
        return f"{verdict} (would have seen a word in {size:g} of 100 captions)"
    if (told := with_doubt(verdict, estimate)) != verdict:
        return told
    if verdict == CANNOT_TELL and size:
        clear = _clear(details or {}) if key == "sway_t_to_a" else ""
        return f"{verdict} (would see {fixed(size, SCORES[key].digits)}){clear}"
    if verdict in (SAME, SAME_NO_YARDSTICK):
        return f"{verdict} (within {estimate.margin:g} of 100)"
    kinds = {gap: kind for kind, gap in KEYS.items()}
    if verdict in BEYOND and key in kinds and (whose := whose_gap(details or {}, kinds[key])):
        value, worse = whose
        direction = f"{'worse' if worse else 'better'} for {group(value)}"
        return f"{verdict} ({direction})" if verdict == NO_YARDSTICK else f"{verdict}, {direction}"
    return verdict


def _clear(details: Mapping[str, Any]) -> str:
    """For whom wrong names follow the tasks beyond chance, and for whom not, or of too few images to tell."""
    clear = {
        row["attribute"]: row.get("extra_ci_low", 0.0) > 0 for row in details.get("t_to_a", ()) if "attribute" in row
    }
    if all(clear.values()) or not any(clear.values()):
        return ""
    cells = [cell for cell in details.get("cells", ()) if cell["suggested"]]
    fewest = {one: min((cell["images"] for cell in cells if cell["attribute"] == one), default=0) for one in clear}
    others = [
        f"too few images of {group(one)} ({fewest[one]:.0f})" if fewest[one] < ENOUGH else f"not for {group(one)}"
        for one in clear
        if not clear[one]
    ]
    return f": clear for {listed([group(value) for value in clear if clear[value]])}, {listed(others)}"


def with_doubt(verdict: str, estimate: Estimate | None) -> str:
    """A verdict, and of one that cannot tell why, where that is known."""
    doubt = estimate.doubt if estimate and verdict == CANNOT_TELL else None
    reason = DOUBTS.get(doubt, doubt if " " in doubt else "") if doubt else ""
    return f"{verdict}: {reason}" if reason else verdict


def shortened(name: str, most: int) -> str:
    """A name that fits, its middle left out if need be: names of one family begin, and files end, alike.

    >>> shortened("nic", 18), shortened("llava_onevision_checkpoint-1000", 18)
    ('nic', 'llava_one…int-1000')
    """
    return name if len(name) <= most else f"{name[: most // 2]}…{name[-((most - 1) // 2) :]}"


def p_text(p: float) -> str:
    """A p-value with three digits behind the point."""
    if math.isnan(p):
        return NOTHING
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def named_things(audit: Audit) -> dict[str, str]:
    """What the parts of a question are called: the attribute and its values, the tasks, another value."""
    attribute = audit.settings["attribute_lexicon"]
    attributes = attribute if isinstance(attribute, list) else [attribute]
    return words_of(attributes, audit.settings["task_lexicon"], len(audit.attribute_counts))


def images_of(value: str) -> str:
    return f"of {GROUPS[value.lower()]}" if value.lower() in GROUPS else f"labelled {value}"


NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def number_word(number: int) -> str:
    """A number of captioners, as a word up to twelve."""
    return NUMBERS[number] if number < len(NUMBERS) else f"{number:,}"


def following_words(details: Mapping[str, Any]) -> dict[str, list[tuple[str, Mapping[str, Any]]]]:
    """The words that follow a value more than in people's captions, by the details of `sway`: for each group of people
    its words with their rows, the largest first; of the attribute's own the one for the value."""
    values = list(details["attribute_counts"])
    words_by_group: dict[str, list[tuple[str, Mapping[str, Any]]]] = {group(value): [] for value in values}
    for row in details.get("words", ()):
        if row["kind"] == "more":
            forms, value = row["word"].split("|"), row["attribute"]
            word = forms[values.index(value)] if len(forms) == len(values) else " or ".join(forms)
            others = row["captioner"] < 0  # of more than two values
            words_by_group.setdefault(f"not {group(value)}" if others else group(value), []).append((word, row))
    return {people: words for people, words in words_by_group.items() if words}


def plain(message: str) -> str:
    """A message in plain words, without ways out that only those who measure have."""
    return render(message, lambda argument: WORDS.get(str(argument)))


def grouped_notes(audit: Audit) -> dict[str, tuple[str, ...]]:
    """What to know before the numbers are believed, each note once in plain words, and whom it is about."""
    captioners_of: dict[str, list[str]] = {}
    for captioner in audit.captioners:
        for note in audit.notes(captioner):
            captioners_of.setdefault(plain(note), []).append(captioner)
    return {note: tuple(captioners) for note, captioners in captioners_of.items()}
