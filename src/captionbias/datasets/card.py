"""The card of a dataset that was built: its template, with what the build has found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from captionbias.text.markdown import one_line

if TYPE_CHECKING:
    from datasets import DatasetInfo

    from captionbias.datasets.original_files import OriginalFiles

CONTENTS = "<!-- contents -->"


def dataset_card(template: str, infos: Mapping[str, DatasetInfo], source: OriginalFiles) -> str:
    """The card's text: front matter with configurations and sizes, and a table of what was kept and left out."""
    from datasets.info import DatasetInfosDict
    from datasets.utils.metadata import MetadataConfigs
    from huggingface_hub import DatasetCard

    card = DatasetCard(template)
    files: dict[str, dict[str, Any]] = {
        key: {"data_files": [{"split": source.SPLIT, "path": f"{key}/{source.SPLIT}-*"}]} for key in infos
    }
    next(iter(files.values()))["default"] = True  # load_dataset(folder) reads the first
    MetadataConfigs(files).to_dataset_card_data(card.data)
    DatasetInfosDict(infos).to_dataset_card_data(card.data)
    rows = (
        f"| `{key}` | {info.splits[source.SPLIT].num_examples:,} | {reasons(source.left_out[key])} |"
        for key, info in infos.items()
    )
    contents = "\n".join(["| configuration | rows | left out |", "| --- | --- | --- |", *rows])
    return f"---\n{card.data.to_yaml()}\n---\n{card.text.replace(CONTENTS, contents)}"


def benchmark(template: str) -> str:
    """The text of the eval.yaml of a dataset with this card, which makes it a benchmark that results can name.

    The Hub takes the file once `captionbias` is in its list of evaluation frameworks, which is open to additions.
    """
    import yaml
    from huggingface_hub import DatasetCard

    from captionbias.metrics.catalogue import TASKS

    card = DatasetCard(template)
    about = next(part for part in card.text.strip().split("\n\n") if not part.startswith("#"))
    content = {
        "name": card.data["pretty_name"],
        "description": one_line(about),
        "evaluation_framework": "captionbias",
        "tasks": [{"id": task} for task in TASKS],
    }
    return str(yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=float("inf")))


def reasons(left_out: Mapping[str, int]) -> str:
    """Why rows were left out, the most frequent reason first."""
    counts = sorted(((count, reason) for reason, count in left_out.items() if count), reverse=True)
    return ", ".join(f"{count:,} {reason}" for count, reason in counts) or "none"
