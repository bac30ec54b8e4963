"""Results in words: numbers with their intervals, and what captioners, attributes and tasks are called."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from captionbias.metrics.verdicts import NOTHING

if TYPE_CHECKING:
    from captionbias.analysis.audit import Audit
    from captionbias.statistics.samples import Estimate

OBJECTS = ("coco_objects", "coco_names")  # the lexicons whose tasks are objects
GROUPS = {"female": "women", "male": "men"}
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
# Notes name arguments, for those who measure; a report is also read by others.
PLAIN = (
    (
        r"weighted, the (\S+) (\S+) test captions count as (\S+).*; a few rare ones decide the score",
        r"this score rests on about \3 of \1 \2 captions: a few rare ones dominate",
    ),
    (
        r"of the (\S+) test captions are also in the training split, which raises their score; .*",
        r"of the \1 captions repeat ones that the attacker learned from, which raises their score",
    ),
    (r"\bmodel captions", "captioner's captions"),
    (r"take lean='own'", "have it counted on these images"),
    (r"\ba_to_t\b", "A to T"),
    (r"\bt_to_a\b", "T to A"),
    (r"\btrials=1\b", "one training"),
    (r"\bjoin_references\b", "joined human captions"),
    (r"\b(attribute|task)_lexicon\b", r"the words for the \1"),
    (r"\bpredictions\b", "the captioner's captions"),
    (r"\breferences\b", "human captions"),
)
# What a row of the sources of DBAC adds to, by the keys of its parts; the first that it has is the one that counts.
FORMS = {"amplification_net": "net", "amplification_matched": "matched", "amplification": "as published"}
ORDINALS = ("", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


def fixed(number: float, digits: int) -> str:
    """A number with so many digits behind the point.

    >>> fixed(-0.0001, 3)
    '0.000'
    """
    return f"{round(number, digits) + 0.0:.{digits}f}"  # adding 0 takes the sign off -0


def interval(estimate: Estimate | None, digits: int) -> str:
    """A score with its 95% interval over images and trials.

    >>> from captionbias.statistics.samples import Estimate
    >>> interval(Estimate(1.234, 0.5, 2.0), 1)
    '1.2 [0.5, 2.0]'
    """
    if estimate is None:
        return NOTHING
    score = fixed(estimate.value, digits)
    if estimate.low is None or estimate.high is None:
        return score
    return f"{score} [{fixed(estimate.low, digits)}, {fixed(estimate.high, digits)}]"


def percent(share: Estimate | None) -> str:
    """A share with its 95% interval, in percent; a dash for none.

    >>> from captionbias.statistics.samples import Estimate
    >>> percent(Estimate(0.668, 0.6, 0.7))
    '66.8% [60.0%, 70.0%]'
    """
    if share is None:
        return NOTHING
    if share.low is None or share.high is None:
        return f"{share.value:.1%}"
    return f"{share.value:.1%} [{share.low:.1%}, {share.high:.1%}]"


def p_text(p: float) -> str:
    """A p-value with three digits behind the point.

    >>> p_text(0.0421), p_text(0.0002), p_text(float("nan"))
    ('0.042', '<0.001', '-')
    """
    if math.isnan(p):
        return NOTHING
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def subjects(audit: Audit) -> tuple[str, str]:
    """What the attribute and the tasks of an audit are called."""
    attribute = audit.settings["attribute_lexicon"]
    attributes = attribute if isinstance(attribute, list) else [attribute]
    named = all(isinstance(one, str) and one.isalpha() for one in attributes)
    lexicon = audit.settings["task_lexicon"]
    objects = lexicon is None or str(lexicon).startswith(OBJECTS)
    return " and ".join(attributes) if named else "the attribute", "objects" if objects else "tasks"


def group(value: str) -> str:
    """What people of an attribute value are called.

    >>> group("female"), group("dark")
    ('women', 'dark')
    """
    return GROUPS.get(value.lower(), value)


def images_of(value: str) -> str:
    """
    >>> images_of("female"), images_of("dark")
    ('of women', 'labelled dark')
    """
    return f"of {GROUPS[value.lower()]}" if value.lower() in GROUPS else f"labelled {value}"


def in_words(number: int, ordinal: bool = False) -> str:
    """A small number in letters.

    >>> in_words(6), in_words(2, ordinal=True), in_words(42)
    ('six', 'second', '42')
    """
    names = ORDINALS if ordinal else NUMBERS
    return names[number] if number < len(names) else str(number)


def listed(names: Sequence[str]) -> str:
    """
    >>> listed(["nic", "sat", "fc"]), listed(["nic"])
    ('nic, sat and fc', 'nic')
    """
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def grouped_notes(audit: Audit) -> dict[str, tuple[str, ...]]:
    """What to know before the numbers are believed, each note once in plain words, and whom it is about."""
    captioners_of: dict[str, list[str]] = {}
    for captioner in audit.captioners:
        for note in audit.notes(captioner):
            for internal, plain in PLAIN:
                note = re.sub(internal, plain, note)
            captioners_of.setdefault(note, []).append(captioner)
    return {note: tuple(captioners) for note, captioners in captioners_of.items()}


def pair_name(row: Mapping[str, Any], arrow: str = "→") -> str:
    """A row of the sources as the pair, with an arrow from what shapes to what is named.

    >>> pair_name({"direction": "t_to_a", "attribute": "woman", "task": "knife"})
    'knife → woman'
    """
    attribute = "nobody named" if row["attribute"] is None else row["attribute"]
    task = "no task" if row["task"] is None else row["task"]
    return f"{attribute} {arrow} {task}" if row["direction"] == "a_to_t" else f"{task} {arrow} {attribute}"
