"""What a training minimises: the worst answer to the questions that the data can answer, over what is tolerated."""

from __future__ import annotations

from collections.abc import Container, Mapping

from captionbias.bench.catalogue import SCORES, TOLERATED, worst
from captionbias.bench.verdicts import estimates_of, worst_of
from captionbias.captions import Captions
from captionbias.metrics.sway import a_to_t, length, missing, t_to_a, words
from captionbias.metrics.sway.images import LeanCounts, NamedImages
from captionbias.metrics.sway.question import QuestionModule, SwaySums, constant
from captionbias.metrics.sway.questions import PARTS, TOLERANCE
from captionbias.scores.sway import leans_of
from captionbias.statistics.groups import totals
from captionbias.statistics.samples import Sample

LEAST_SAID = 0.5  # content words in a caption, for each in one of people's
ENTRIES = (
    worst(
        "sway",
        "worst of the questions, over what is tolerated",
        2,
        TOLERATED,
        f"The largest score of all questions that the data can answer, each divided by {TOLERANCE:g} captions of 100, "
        f"or by {TOLERANCE:g} words of 100 for how much is said: 0 is a person, 1 is what is tolerated. The signature "
        "names the questions.",
    ),
)


def answerable(
    captions: Captions, named: NamedImages, counts: LeanCounts, of_tasks: Container[QuestionModule]
) -> dict[str, str]:
    """The questions that these data can answer, whatever a captioner says: their names, by their keys."""
    silent = sum(every for every, _ in captions.missing.values()) - len(captions) if captions.missing else 0
    leaning = leans_of(counts.both, counts.shares).goes_with.any()
    known = {
        "sway_t_to_a": leaning and t_to_a in of_tasks,
        words.KEY: words.can_be_scored(named, int(silent)),
        length.GAP: captions.references or captions.scene,
        "sway_a_to_t": leaning and a_to_t in of_tasks and captions.tasks is not None,
    }
    return {key: part.name for key, part in PARTS.items() if known.get(key, not part.implied)}


def of_sums(asked: Container[QuestionModule]) -> dict[str, str]:
    """The questions that sums answer."""
    known = {"sway_t_to_a": t_to_a in asked, length.GAP: length in asked, words.KEY: False, "sway_a_to_t": False}
    return {key: part.name for key, part in PARTS.items() if known.get(key, not part.implied)}


def answer(inputs: SwaySums, scores: Mapping[str, Sample], doubts: Mapping[str, str]) -> dict[str, Sample]:
    """The score, of what was found of the questions that the data can answer."""
    _, *said = totals(inputs.units)[length.LENGTHS].reshape(-1, len(inputs.values)).sum(axis=1)
    if len(said) > 1 and said[0] < LEAST_SAID * said[1]:
        doubts = {**doubts, length.GAP: "captions say less than half of what people say"}
    estimates = estimates_of({missing.GAP: constant(0.0), **scores}, None, None, doubts)  # where none is missing
    # What is less than people's is no bias, but for gaps.
    estimates |= {
        key: one._replace(value=max(one.value, 0.0)) for key, one in estimates.items() if not SCORES[key].two_sided
    }
    return worst_of(ENTRIES[0].key, estimates, dict.fromkeys(inputs.asked, TOLERANCE), inputs.notes)
