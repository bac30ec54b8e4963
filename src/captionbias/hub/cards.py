"""Measured bias in the card of a dataset or of a model: a section of its text, and results that the Hub reads."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from captionbias.bench.catalogue import SCORES, Score
from captionbias.bench.measurement import Result
from captionbias.hub.results import (
    Results,
    check_repo,
    checked,
    entries_of,
    is_fast,
    read_results,
    scores_in,
    tasks_in,
    verdict_in,
)
from captionbias.io.files import replacing
from captionbias.report.svg import captioner_picture
from captionbias.report.wording import interval
from captionbias.text.markdown import code, escaped

__all__ = ["read_results", "update_dataset_card", "update_model_card"]

CARD = "README.md"
EVAL_RESULTS = Path(".eval_results") / "captionbias.yaml"
PICTURE = "captionbias.svg"
NEW_DATASET_CARD = "---\ntask_categories:\n- image-to-text\n---\n"
NEW_MODEL_CARD = "---\npipeline_tag: image-to-text\n---\n"
BEGIN, END = "<!-- captionbias: begin -->", "<!-- captionbias: end -->"


def update_dataset_card(path: str | Path, results: Mapping[str, Mapping[str, Any]]) -> list[Path]:
    """Put the bias of a dataset's human captions into its card, a README.md or its folder; returns the files changed.

    The section is where an earlier one is, else at the end. ValueError, and no change: it cannot be shown or written.
    """
    measured = checked(results)
    if not (scores := scores_in(measured, human=True)):
        raise ValueError("results have no score of human captions: measure lic or dbac with references")
    card = _card_at(path)
    about = "How much the human captions reveal of a protected attribute beyond the words that name it."
    return _write({card: _changed(card, NEW_DATASET_CARD, _section(about, measured, scores, judged=False))})


def update_model_card(
    path: str | Path, results: Mapping[str, Mapping[str, Any]], *, dataset: str | None = None
) -> list[Path]:
    """Put a captioner's bias amplification into its card, with a picture, and into `.eval_results/captionbias.yaml`.

    As `update_dataset_card`; `dataset` is the benchmark's OWNER/NAME, without which there is no `.eval_results`. The
    Hub takes the commit's time as the date.
    """
    measured = checked(results)
    if dataset is not None:
        check_repo("dataset", dataset)
    if not tasks_in(measured):
        raise ValueError(
            "results have no score of a captioner beside its data: measure with predictions and references"
        )
    card = _card_at(path)
    entries, drawn = card.parent / EVAL_RESULTS, card.parent / PICTURE
    files = {
        card: _changed(card, NEW_MODEL_CARD, model_section(measured, dataset)),
        drawn: (_read(drawn), captioner_picture(measured, card.parent.name)._repr_svg_()),
    }
    return _write(files if dataset is None else {**files, entries: (_read(entries), entries_of(measured, dataset))})


def model_section(results: Results, dataset: str | None) -> str:
    """The section of a model card, without the markers: how the captioner changes the bias of its data. Lines end in
    line feeds."""
    about = "Does this captioner make the bias of its data worse, and in which direction?"
    if dataset is not None:
        about += f" Measured on [{escaped(dataset)}](https://huggingface.co/datasets/{dataset})."
    return _section(about, results, scores_in(results), judged=True)


def _section(about: str, results: Results, scores: list[Score], judged: bool) -> str:
    names = dict.fromkeys(score.metric for score in scores)
    meanings: dict[str, list[str]] = {}
    for score in scores:
        meanings.setdefault(score.meaning, []).append(score.label)
    versions = sorted({results[name]["signature"].rpartition("|v:")[2] for name in names})
    estimates = {key: of for name in names for key, of in results[name].estimates.items()}
    values = {
        score: interval(estimates[score.key], score.digits) if score.key in estimates else "undefined"
        for score in scores
    }
    verdicts = {score: f" {verdict_in(results[score.metric], score)} |" if judged else "" for score in scores}
    lines = [
        "## Societal bias of the captions",
        "",
        about,
        "",
        *([f"![What captions say of some people more than of others]({PICTURE})", ""] if judged else []),
        f"| score | value [95% interval] |{' verdict |' if judged else ''}",
        f"| :--- | ---: |{' :--- |' if judged else ''}",
        *(f"| {score.label} | {values[score]} |{verdicts[score]}" for score in scores),
        "",
        "What the scores mean:",
        "",
        *(f"- {'; '.join(labels)}: {meaning}" for meaning, labels in meanings.items()),
        "",
        "How they were measured:",
        "",
        *(f"- {name}: {_measured(results[name], human=all(s.human for s in scores))}" for name in names),
        *_reservations({name: results[name] for name in names}),
        "",
        f"Measured with captionbias {', '.join(map(escaped, versions))}.",
    ]
    return "\n".join(lines)


def _reservations(results: Results) -> list[str]:
    """What to know before the numbers are believed: the notes of the measurements, and whether they are quick ones."""
    lines = [f"{name}: {note}" for name, result in results.items() for note in result["details"].get("warnings", ())]
    if quick := [name for name, result in results.items() if is_fast(result)]:
        lines.append(f"{', '.join(quick)}: of the quick preset fast, not of a paper's protocol; not for publication")
    return ["", "What to know first:", "", *(f"- {escaped(text)}" for text in lines)] if lines else []


def _measured(result: Result, human: bool) -> str:
    details = result["details"]
    if not details:
        return f"signature {code(result['signature'])}"
    counts = ", ".join(f"{count:,} {escaped(label)}" for label, count in details["attribute_counts"].items())
    beside = not all(SCORES[key].human for key in result.estimates)
    aligned = (
        "; beside a captioner's captions: words that it never uses were replaced first" if human and beside else ""
    )
    return f"{details['images']:,} images ({counts}){aligned}; signature {code(result['signature'])}"


def put_section(card: str, section: str) -> str:
    """A card with this section between its markers: where an earlier one is, else at the end.

    The card's line breaks take the place of the section's line feeds.
    """
    newline = "\r\n" if card.partition("\n")[0].endswith("\r") else "\n"
    text = newline.join([BEGIN, *section.split("\n"), END])
    if BEGIN not in card and END not in card:
        gap = newline if card.endswith("\n") else newline * 2
        return card + (gap if card else "") + text + newline
    before, _, rest = card.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end or BEGIN in rest or END in after:
        raise ValueError(f"the markers of captionbias must be one {BEGIN} and one {END} after it, or none")
    return before + text + after


def _changed(card: Path, new: str, section: str) -> tuple[str | None, str]:
    """The text of a card, None if there is none, and its text with the section."""
    try:
        before = _read(card)
        return before, put_section(new if before is None else before, section)
    except ValueError as error:
        raise ValueError(f"{card}: {error}") from error


def _card_at(path: str | Path) -> Path:
    path = Path(path)
    card = path / CARD if path.is_dir() else path
    if card.suffix.lower() != ".md" or not card.parent.is_dir():
        raise ValueError(f"path is {str(path)!r}: name a {CARD}, or the folder that holds it")
    return card.parent.resolve() / card.name


def _read(path: Path) -> str | None:
    """The text of a file with its line breaks, without a byte order mark; None if there is no such file.

    A link is refused: others may share the file behind it, in a cache for example.
    """
    for place in (path, path.parent):
        if place.is_symlink():
            raise ValueError(f"{place} is a link to {os.readlink(place)}: name the file itself, or put a copy here")
    return path.read_bytes().decode("utf-8-sig") if path.exists() else None


def _write(files: Mapping[Path, tuple[str | None, str]]) -> list[Path]:
    """Write the files whose text changed, from before to after: all of them, or none if one cannot be written."""
    changed = {path: after for path, (before, after) in files.items() if after != before}
    with ExitStack() as written:
        for path, after in changed.items():
            part = written.enter_context(replacing(path))
            part.parent.mkdir(exist_ok=True)
            part.write_bytes(after.encode("utf-8"))
    return list(changed)
