"""A folder of Parquet files with their dataset card, from the original files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from captionbias.datasets.artemis_emotions import ArtemisEmotions
from captionbias.datasets.coco_caption_bias import CocoCaptionBias
from captionbias.datasets.coco_narratives import CocoNarratives
from captionbias.datasets.controlled_verbs import ControlledVerbs
from captionbias.datasets.label_benchmarks import LabelBenchmarks
from captionbias.datasets.lic_captions import LicCaptions
from captionbias.datasets.original_files import OriginalFiles
from captionbias.text.markdown import one_line
from captionbias.wings import shipped

if TYPE_CHECKING:
    from datasets import DatasetInfo

DATASETS: dict[str, type[OriginalFiles]] = {
    "artemis_emotions": ArtemisEmotions,
    "coco_caption_bias": CocoCaptionBias,
    "coco_narratives": CocoNarratives,
    "controlled_verbs": ControlledVerbs,
    "label_benchmarks": LabelBenchmarks,
    "lic_captions": LicCaptions,
}
BLOCK = 4096  # rows in memory
CONTENTS = "<!-- contents -->"  # in a card before it is built
TERMS = ("license", "license_name", "license_link", "extra_gated_prompt")  # fields of a card


class Built(NamedTuple):
    """A dataset that was written: how many rows each configuration has, and why others were left out."""

    folder: Path
    rows: Mapping[str, int]
    left_out: Mapping[str, Mapping[str, int]]


def build_dataset(name: str, source: Path | str, to: Path | str, configurations: Sequence[str] | None = None) -> Built:
    """Write the dataset `name` from its original files in the folder `source` to the new or empty folder `to`.

    The folder appears whole or not at all; the same files give the same bytes. The first configuration is the default.
    """
    template = _template(name)
    chosen = list(dict.fromkeys(configurations or DATASETS[name].CONFIGURATIONS))
    if unknown := [configuration for configuration in chosen if configuration not in DATASETS[name].CONFIGURATIONS]:
        known = ", ".join(DATASETS[name].CONFIGURATIONS)
        raise ValueError(f"configurations must be some of {known} for {name}, not {unknown[0]!r}")
    folder = Path(to).resolve()
    if folder.exists() and any(folder.iterdir()):
        raise ValueError(f"{folder} is not empty: name a new folder, or remove what is in it")
    opened = DATASETS[name](Path(source))
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".captionbias-", dir=folder.parent) as work:
        new = Path(work, "new")
        try:
            infos = {configuration: _write(opened, configuration, new / configuration) for configuration in chosen}
        except (AttributeError, LookupError, TypeError, pa.ArrowException) as error:
            raise ValueError(f"the files in {source} are not as published ({error!r}): fetch them again") from error
        (new / "README.md").write_text(_dataset_card(template, infos, opened), encoding="utf-8")
        if opened.BENCHMARK:
            (new / "eval.yaml").write_text(_benchmark(template, chosen[0], opened.SPLIT), encoding="utf-8")
        with suppress(FileNotFoundError):
            folder.rmdir()
        new.rename(folder)
    rows = {configuration: info.splits[opened.SPLIT].num_examples for configuration, info in infos.items()}
    return Built(folder, rows, opened.left_out)


def _template(name: str) -> str:
    if name not in DATASETS:
        raise ValueError(f"there is no dataset {name!r}: choose from {', '.join(DATASETS)}")
    return (shipped("datasets_scripts") / name / "README.md").read_text(encoding="utf-8")


def _write(source: OriginalFiles, configuration: str, folder: Path) -> DatasetInfo:
    """Write the rows of a configuration to one Parquet file, with the features by which `datasets` reads it."""
    from datasets import DatasetInfo, Features

    features = Features.from_arrow_schema(source.schema(configuration))
    path = folder / f"{source.SPLIT}-00000-of-00001.parquet"
    folder.mkdir(parents=True)
    rows, size, count = source.rows(configuration), 0, 0
    # Chunked by content, so that the Hub stores again only what has changed.
    with pq.ParquetWriter(path, features.arrow_schema, use_content_defined_chunking=True) as file:
        while block := list(islice(rows, BLOCK)):
            table = pa.Table.from_pylist(block, features.arrow_schema)
            file.write_table(table)
            size, count = size + table.nbytes, count + len(table)
    if not count:
        raise ValueError(
            f"the configuration {configuration!r} has no rows: {reasons(source.left_out[configuration])} were left "
            "out; check the files, or name the configurations to write"
        )
    splits = [{"name": source.SPLIT, "num_bytes": size, "num_examples": count}]
    return DatasetInfo(features=features, splits=splits, download_size=path.stat().st_size, dataset_size=size)


def _dataset_card(template: str, infos: Mapping[str, DatasetInfo], source: OriginalFiles) -> str:
    """The card's text: front matter with configurations and sizes, and a table of what was kept and left out."""
    from datasets.info import DatasetInfosDict
    from datasets.utils.metadata import MetadataConfigs
    from huggingface_hub import DatasetCard

    card = DatasetCard(template)
    card.data.pop("configs", None)  # of the rows in a clone
    for name in {source.TERMS[key] for key in infos if key in source.TERMS}:
        terms = DatasetCard(_template(name)).data
        for field in TERMS:
            card.data[field] = terms[field]
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


def _benchmark(template: str, configuration: str, split: str) -> str:
    """The text of the eval.yaml of a dataset with this card, which makes it a benchmark that results can name.

    Results name a task and no configuration, so they are of the default one. A leaderboard sorts by the first task. The
    Hub takes the framework, in which our task gives the same numbers; its own list has the datasets that are shown.
    """
    import yaml
    from huggingface_hub import DatasetCard

    from captionbias.metrics import catalogue

    card = DatasetCard(template)
    about = next(part for part in card.text.strip().split("\n\n") if not part.startswith("#"))
    content = {
        "name": card.data["pretty_name"],
        "description": one_line(about),
        "evaluation_framework": "inspect-ai",
        "tasks": [
            {"id": task, "config": configuration, "split": split}
            for task in sorted(catalogue.TASKS, key=lambda task: task != "sway_worst")
        ],
    }
    return str(yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=float("inf")))


def reasons(left_out: Mapping[str, int]) -> str:
    """The reasons why rows were left out, the most frequent first."""
    counts = sorted(((count, reason) for reason, count in left_out.items() if count), reverse=True)
    return ", ".join(f"{count:,} {reason}" for count, reason in counts) or "none"
