"""The section of a card that holds the scores, and its place in the card."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from captionbias.hub.scores import Results, interval_keys, scores_in
from captionbias.metrics.catalogue import Score
from captionbias.report.wording import fixed
from captionbias.text.markdown import code, escaped

BEGIN, END = "<!-- captionbias: begin -->", "<!-- captionbias: end -->"
_MARKER = re.compile(r"<!--\s*captionbias:\s*(begin|end)\s*-->")
_LINE_BREAK = re.compile(r"\r\n|\r|\n")


def line_break(text: str) -> str:
    r"""The line break that a text uses first: a carriage return with a line feed, or a line feed.

    >>> line_break("one\r\ntwo\n")
    '\r\n'
    """
    found = re.search(r"\r?\n", text)
    return found[0] if found else "\n"


def dataset_section(results: Results) -> str:
    """The section of a dataset card, about its human captions, without the markers; lines end in line feeds."""
    about = "How much the human captions reveal of a protected attribute beyond the words that name it."
    return _section(about, results, scores_in(results, human=True))


def model_section(results: Results, dataset: str, revision: str | None) -> str:
    """The section of a model card, as `dataset_section`: how the captioner changes the bias of its data."""
    place = f"https://huggingface.co/datasets/{dataset}" + (f"/tree/{revision}" if revision else "")
    about = (
        "Does this captioner make the bias of its data worse, and in which direction? "
        f"Measured on [{escaped(dataset)}]({place})."
    )
    return _section(about, results, scores_in(results))


def _section(about: str, results: Results, scores: list[Score]) -> str:
    names = dict.fromkeys(score.metric for score in scores)
    meanings: dict[str, list[str]] = {}
    for score in scores:
        meanings.setdefault(score.meaning, []).append(score.label)
    versions = sorted({results[name]["signature"].rpartition("|v:")[2] for name in names})
    lines = [
        "## Societal bias of the captions",
        "",
        about,
        "",
        "| score | value | 95% interval |",
        "| :--- | ---: | :--- |",
        *(f"| {score.label} | {_value(results[score.metric], score)} |" for score in scores),
        "",
        "What the scores mean:",
        "",
        *(f"- {'; '.join(labels)}: {meaning}" for meaning, labels in meanings.items()),
        "",
        "How they were measured:",
        "",
        *(f"- {name}: {_measured(results[name], human=all(s.human for s in scores))}" for name in names),
        "",
        f"Measured with captionbias {', '.join(map(escaped, versions))}.",
    ]
    return "\n".join(lines)


def _value(result: Mapping[str, Any], score: Score) -> str:
    """The cells after the label."""
    if score.key not in result:
        return "undefined | -"
    return f"{fixed(result[score.key], score.digits)} | {interval_text(result, score) or '-'}"


def interval_text(result: Mapping[str, Any], score: Score) -> str | None:
    """A score's 95% interval, such as "[-1.0, 3.5]"; None if the result has none."""
    keys = interval_keys(score.key)
    return f"[{', '.join(fixed(result[key], score.digits) for key in keys)}]" if keys[0] in result else None


def _measured(result: Mapping[str, Any], human: bool) -> str:
    details = result["details"]
    counts = ", ".join(f"{count:,} {escaped(label)}" for label, count in details["attribute_counts"].items())
    beside = any(key.startswith(("lic_m", "omega_m_")) for key in result)
    aligned = (
        "; beside a captioner's captions: words that it never uses were replaced first" if human and beside else ""
    )
    return f"{details['images']:,} images ({counts}){aligned}; signature {code(result['signature'])}"


def put_section(card: str, section: str) -> str:
    r"""A card with this section between its markers: where an earlier one is, else at the end.

    Args:
        card: the whole text.
        section: lines that end in line feeds; the card gets them with its own line breaks.

    Raises:
        ValueError: the markers are not one pair in order.

    >>> put_section("# Card", "Bias.")
    '# Card\n\n<!-- captionbias: begin -->\nBias.\n<!-- captionbias: end -->\n'
    """
    newline = line_break(card)
    text = newline.join([BEGIN, *section.split("\n"), END])
    markers = list(_MARKER.finditer(card))
    if not markers:
        breaks_at_the_end = len(_LINE_BREAK.findall(card, len(card.rstrip("\r\n"))))
        return card + (newline * max(0, 2 - breaks_at_the_end) if card else "") + text + newline
    if [marker[1] for marker in markers] != ["begin", "end"]:
        lines = ", ".join(f"{mark[1]} in line {len(_LINE_BREAK.findall(card[: mark.start()])) + 1}" for mark in markers)
        raise ValueError(f"the markers of captionbias are {lines}: keep one {BEGIN} and one {END} after it, or none")
    begin, end = markers
    return card[: begin.start()] + text + card[end.end() :]
