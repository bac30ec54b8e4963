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
from captionbias.metrics.sway.claims import whose_gap as whose_gap
from captionbias.metrics.sway.misnaming import KEYS
from captionbias.statistics.samples import Estimate

MOST_WORDS = 3  # of each value, in a sentence
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


class Yardstick(NamedTuple):
    """What captions are compared with, in words: `meaning`, what a verdict says; `legend`, below the first picture;
    `words`, the question of words, and `words_meaning`; `than`, whose captions a size is beyond; `short`, in the
    picture, of what needs telling there."""

    meaning: str
    legend: str
    words: str
    words_meaning: str
    than: str = ""
    short: str = ""


PEOPLE = Yardstick(
    "More than people: than in another person's captions of the same images.",
    "Grey row on top: the yardstick, another person's captions of the same images; “more than people” means above that "
    "row.",
    "Other words tied to the {value} more than in people's captions",
    "How many more of 100 captions use the word where the image shows one {value} than where it shows {other}, with "
    "the rest of the image alike; grey: the same for people's captions. The largest difference from people comes "
    "first. “Any word” is in how many more of 100 captions of a {value} than people's any word that follows it is "
    "used: one half of the images chooses the words, the other half counts. Captioners that mention more than people "
    "do may be right.",
    " beyond people",
)
SCENES = Yardstick(
    "The images of a scene differ in the person alone: what differs is caused by the person, if scenes are as given.",
    "Images of one scene are compared with each other: 0 is no difference.",
    "Other words that differ with the person",
    "How many more of 100 captions use the word where the image shows one {value} than where the same scene shows "
    "{other}. “Any word” is in how many captions of a {value} any word that follows it is used: one half of the scenes "
    "chooses the words, the other half counts.",
    short="Within scenes",
)
NO_PEOPLE = Yardstick(
    "No yardstick: what differs may differ as much in people's captions, for the images differ too.",
    "There is no yardstick: people may differ as much. With human captions, or with scenes that differ in the person "
    "alone, there is one.",
    "Other words that differ with the {value}",
    "How many more of 100 captions use the word where the image shows one {value} than where it shows {other}. The "
    "images differ too, so people's captions may differ as much.",
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
        return f"{verdict} (would see {fixed(size, SCORES[key].digits)})"
    if verdict in (SAME, SAME_NO_YARDSTICK):
        return f"{verdict} (within {estimate.margin:g} of 100)"
    kinds = {gap: kind for kind, gap in KEYS.items()}
    if verdict in BEYOND and key in kinds and (whose := whose_gap(details or {}, kinds[key])):
        value, worse = whose
        direction = f"{'worse' if worse else 'better'} for {group(value)}"
        return f"{verdict} ({direction})" if verdict == NO_YARDSTICK else f"{verdict}, {direction}"
    return verdict


def with_doubt(verdict: str, estimate: Estimate | None) -> str:
    """A verdict, and of one that cannot tell why, where that is known."""
    doubt = estimate.doubt if estimate and verdict == CANNOT_TELL else None
    return f"{verdict}: {doubt}" if doubt and " " in doubt else verdict  # no key of a score


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
