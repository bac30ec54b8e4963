"""What a captioner does more than people, in a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from captionbias.bench import catalogue
from captionbias.bench.catalogue import SCORES, YARDSTICK
from captionbias.bench.verdicts import BEYOND
from captionbias.statistics.samples import Estimate

OBJECTS = ("coco_objects", "coco_names")  # the lexicons whose tasks are objects
GROUPS = {"female": "women", "male": "men"}
NO_VERDICT = "No score here has a verdict; most need human captions to compare with."
# What is said of nothing found, and after what is, with people, with scenes, and without a yardstick.
ENDS = {
    None: (
        "Nothing was found that is more than people's; what is like people's, and what cannot be told, is below.",
        "Human captions do so less.",
    ),
    True: (
        "Nothing was found that differs with the person; what is the same, and what cannot be told, is below.",
        "The images compared differ in the person alone.",
    ),
    False: (
        "Nothing was found that differs; what is the same, and what cannot be told, is below.",
        "There is no yardstick: people may differ as much, for the images differ too.",
    ),
}


def sentence_of(result: Mapping[str, Any], estimates: Mapping[str, Estimate]) -> str:
    """What the captioner of a flat result does more than people."""
    metric = next((SCORES[key].metric for key in estimates), "")
    if not any(one.verdict for one in estimates.values()):
        return NO_VERDICT
    tiers = (
        [what for what in tier.values() if what] for tier in claims_of(metric, result, estimates, called_in(result))
    )
    told, (nothing, after) = next(filter(None, tiers), []), ends(estimates)
    return f"The captioner {listed([verb(what, 1) for what in told])}. {after}" if told else nothing


def claims_of(
    metric: str, result: Mapping[str, Any], estimates: Mapping[str, Estimate], called: Mapping[str, str]
) -> Sequence[dict[str, str]]:
    """What a captioner does by the key of the verdict that says so, "" of others; what is told alone, where there is
    any, in a dict before the rest. `called`: see `words_of`."""
    more = [key for key, one in estimates.items() if one.verdict in BEYOND]
    if claims := catalogue.METRICS[metric].claims:
        return claims(result, more, called)
    says = {score.key: f"show that {score.claim}" for score in catalogue.main_scores(estimates) if score.claim}
    return [{key: what.format(**called) if key in more else "" for key, what in says.items()}]


def ends(estimates: Mapping[str, Estimate]) -> tuple[str, str]:
    """What is said of nothing found, and after what is."""
    scenes = estimates.get(YARDSTICK)
    return ENDS[scenes and bool(scenes.value)]


def called_in(result: Mapping[str, Any]) -> dict[str, str]:
    """What the parts of a question are called in a flat result."""
    details = result.get("details") or {}
    signed = dict(part.split(":", 1) for part in result.get("signature", "").split("|") if ":" in part)
    settings = details.get("settings", signed)
    values = details.get("attribute_counts") or [key for key in result if key.startswith("wrong_")]
    return words_of(str(settings.get("attribute")).split("+"), settings.get("task"), len(values))


def words_of(attributes: Sequence[Any], task_lexicon: Any, values: int) -> dict[str, str]:
    """The parts of a question by the names of the lexicons and the number of values, without an audit."""
    named = all(isinstance(name, str) and name.isalpha() for name in attributes)
    value = " and ".join(attributes) if named else "attribute"
    objects = task_lexicon is None or str(task_lexicon).startswith(OBJECTS)
    return {
        "attribute": value if named else "the attribute",
        "misname": "misgender people more" if value == "gender" else f"name the wrong {value} more often",
        "value": value,
        "tasks": "objects" if objects else "tasks",
        "other": "the other" if values == 2 else "another",
    }


def group(value: str) -> str:
    """The word for people of an attribute value."""
    return GROUPS.get(value.lower(), value)


def listed(names: Sequence[str]) -> str:
    """Names as a list in a sentence."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def verb(what: str, captioners: int) -> str:
    """A claim with its verb in the singular of one captioner."""
    first, rest = what.split(" ", 1)
    return f"{first}s {rest.replace(' they call ', ' it calls ')}" if captioners == 1 else what
