"""The card of a dataset that was built: its template, with what the build has found."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from captionbias.text.markdown import one_line

if TYPE_CHECKING:
    from datasets import DatasetInfo

    from captionbias.datasets.caption_dataset import OriginalFiles

CONTENTS = "<!-- contents -->"


def dataset_card(
    template: str, name: str, infos: Mapping[str, DatasetInfo], source: OriginalFiles, folder: Path
) -> str:
    """The card's text: front matter with configurations and sizes, and a table of what was kept and left out.

    `template` is the card of the script, with a line `CONTENTS`; `folder` has the Parquet files.
    """
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
    contents = "\n".join([mark(name), "", *_kept(infos, source), *_captioners(infos, source, folder)])
    return f"---\n{card.data.to_yaml()}\n---\n{card.text.replace(CONTENTS, contents)}"


def benchmark(template: str) -> str:
    r"""The text of the eval.yaml of a dataset with this card, which makes it a benchmark that results can name.

    The Hub takes the file once `captionbias` is in its list of evaluation frameworks, which is open to additions.

    >>> print(benchmark("---\npretty_name: Captions of people\n---\n# Captions\n\nBias amplification."))
    name: Captions of people
    description: Bias amplification.
    evaluation_framework: captionbias
    tasks:
    - id: sway_t_to_a
    - id: sway_t_to_a_lost
    ...
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


def mark(name: str) -> str:
    """The line of a card by which a folder is known as a build of the dataset."""
    return f"<!-- built by captionbias: {name} -->"


def reasons(left_out: Mapping[str, int]) -> str:
    """Why rows were left out, the most frequent reason first.

    >>> reasons({"labelled unsure": 3410, "empty human captions": 0, "labelled both": 813})
    '3,410 labelled unsure, 813 labelled both'
    """
    counts = sorted(((count, reason) for reason, count in left_out.items() if count), reverse=True)
    return ", ".join(f"{count:,} {reason}" for count, reason in counts) or "none"


def _kept(infos: Mapping[str, DatasetInfo], source: OriginalFiles) -> list[str]:
    rows = [
        f"| `{key}` | {info.splits[source.SPLIT].num_examples:,} | {reasons(source.left_out[key])} |"
        for key, info in infos.items()
    ]
    return ["| configuration | rows | left out |", "| --- | --- | --- |", *rows]


def _captioners(infos: Mapping[str, DatasetInfo], source: OriginalFiles, folder: Path) -> list[str]:
    """How many rows each captioner has a caption for."""
    import pyarrow.dataset as pads

    if not source.captioners:
        return []
    lines = ["", f"| captioner | {' | '.join(f'`{key}`' for key in infos)} |", "| --- |" + " --- |" * len(infos)]
    tables = [pads.dataset(folder / key) for key in infos]
    for name in source.captioners:
        counts = (
            table.count_rows(filter=pads.field(name).is_valid()) if name in table.schema.names else 0
            for table in tables
        )
        lines.append(f"| `{name}` | {' | '.join(f'{count:,}' for count in counts)} |")
    return lines
