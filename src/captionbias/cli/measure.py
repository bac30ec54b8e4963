"""`captionbias measure`: the metrics that attack captions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from captionbias.cli.options import (
    ATTACK,
    FAST,
    OF_PRESET,
    PRETRAINED,
    Attribute,
    AttributeColumn,
    Attributes,
    Bootstrap,
    DirectionName,
    IdColumn,
    Keep,
    KeepTrials,
    Model,
    Output,
    Precision,
    PredictionColumn,
    Predictions,
    ReferenceColumn,
    References,
    Seed,
    TaskColumn,
    TaskLexicon,
    Tasks,
    Trials,
)
from captionbias.cli.terminal import complaints, console, plain_errors, read_files, scored, tell_rest

measure = typer.Typer(
    no_args_is_help=True,
    help="Measure one metric on caption files (CSV, TSV, JSON, JSONL, Parquet, COCO results or COCO captions).",
)


@measure.command("lic")
def measure_lic(
    predictions: Predictions = None,
    references: References = None,
    attributes: Attributes = None,
    attribute: Attribute = "gender",
    keep: Keep = None,
    id_column: IdColumn = None,
    prediction_column: PredictionColumn = None,
    reference_column: ReferenceColumn = None,
    attribute_column: AttributeColumn = None,
    preset: Annotated[
        str,
        typer.Option(
            help=f"lic-2022: the paper's protocol, with LSTMs; needs torch, and hours without a GPU. {FAST}",
            rich_help_panel=ATTACK,
        ),
    ] = "lic-2022",
    encoder: Annotated[
        str | None,
        typer.Option(
            help="The attacker: lstm (LIC's), bow, lstm-dbac, bilstm, rnn, birnn, transformer-1h, transformer-5h; "
            f"bert-frozen, bert-finetuned; {PRETRAINED}; or your own torch module as module:Class.",
            show_default=OF_PRESET,
            rich_help_panel=ATTACK,
        ),
    ] = None,
    model: Model = None,
    precision: Precision = None,
    trials: Trials = None,
    seed: Seed = 0,
    unseen_only: Annotated[
        bool, typer.Option("--unseen-only", help="Score only captions not seen in training.", rich_help_panel=ATTACK)
    ] = False,
    bootstrap: Bootstrap = 1000,
    cache: KeepTrials = True,
    output: Output = None,
) -> None:
    """LIC, leakage and confidence: can the attribute be read from captions that do not name it?

    Example: captionbias measure lic --predictions nic.parquet --references people.parquet --preset fast
    """
    from captionbias.io.files import check_writable
    from captionbias.report import lic_table

    with plain_errors():
        from captionbias.metrics import lic

        if output:
            check_writable(output)  # not after hours of training
        captions = read_files(
            predictions=predictions,
            references=references,
            attributes=attributes,
            id_column=id_column,
            prediction_column=prediction_column,
            reference_column=reference_column,
            attribute=Path(attribute).stem,
            attribute_column=attribute_column,
            keep=keep,
        )
        chosen: dict[str, Any] = {"preset": preset, "encoder": encoder, "trials": trials, "seed": seed}
        chosen |= {"attribute_lexicon": attribute, "unseen_only": unseen_only, "bootstrap": bootstrap}
        chosen |= {"model": model, "precision": precision, "cache": cache, "progress": complaints.is_terminal}
        result, details = scored(lic, captions, chosen)
        console.print(lic_table(result, labels=len(details["attribute_counts"])))
        tell_rest("lic", result, details, output)


@measure.command("dbac")
def measure_dbac(
    predictions: Predictions = None,
    references: References = None,
    attributes: Attributes = None,
    tasks: Tasks = None,
    attribute: Attribute = "gender",
    task_lexicon: TaskLexicon = None,
    keep: Keep = None,
    id_column: IdColumn = None,
    prediction_column: PredictionColumn = None,
    reference_column: ReferenceColumn = None,
    attribute_column: AttributeColumn = None,
    task_column: TaskColumn = None,
    preset: Annotated[
        str,
        typer.Option(
            help="dbac-2026: the paper's protocol, with LSTMs; needs torch, and hours without a GPU. "
            f"dbac-2026-published: its tokenizer and task words too, to compare with its tables only. {FAST}",
            rich_help_panel=ATTACK,
        ),
    ] = "dbac-2026",
    direction: Annotated[
        list[DirectionName] | None,
        typer.Option(metavar="<a_to_t|t_to_a>", help="One direction only.", rich_help_panel=ATTACK),
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            help="The attacker: lstm, bilstm, rnn, birnn, transformer-1h, transformer-5h, bow, lstm-lic; "
            f"{PRETRAINED}; bert-frozen, bert-finetuned; or your own torch module as module:Class.",
            show_default=OF_PRESET,
            rich_help_panel=ATTACK,
        ),
    ] = None,
    model: Model = None,
    precision: Precision = None,
    trials: Trials = None,
    seed: Seed = 0,
    quality: Annotated[
        str | None,
        typer.Option(
            help="The attacker's quality: confidence, accuracy or inverse_cross_entropy.",
            show_default=OF_PRESET,
            rich_help_panel=ATTACK,
        ),
    ] = None,
    vectors: Annotated[
        str | None,
        typer.Option(
            help="Word vectors that align human captions with the captioner's words: 'captions' (trained on yours), a "
            "GloVe, word2vec or FastText file, or a gensim download such as glove-wiki-gigaword-50.",
            show_default=OF_PRESET,
            rich_help_panel=ATTACK,
        ),
    ] = None,
    bootstrap: Bootstrap = 1000,
    cache: KeepTrials = True,
    output: Output = None,
) -> None:
    """DBAC: does the attribute shape the tasks named (A to T), do the tasks shape the attribute named (T to A)?

    Example: captionbias measure dbac --predictions nic.parquet --references people.parquet --preset fast
    """
    from captionbias.io.files import check_writable
    from captionbias.report import dbac_table

    with plain_errors():
        from captionbias.metrics import dbac

        if output:
            check_writable(output)  # not after hours of training
        captions = read_files(
            predictions=predictions,
            references=references,
            attributes=attributes,
            tasks=tasks,
            id_column=id_column,
            prediction_column=prediction_column,
            reference_column=reference_column,
            attribute=Path(attribute).stem,
            attribute_column=attribute_column,
            task_column=task_column,
            keep=keep,
        )
        chosen: dict[str, Any] = {"preset": preset, "encoder": encoder, "trials": trials, "seed": seed}
        chosen |= {"vectors": vectors, "quality": quality, "attribute_lexicon": attribute, "bootstrap": bootstrap}
        chosen |= {"task_lexicon": task_lexicon, "tasks": captions.tasks, "precision": precision, "cache": cache}
        chosen |= {"model": model, "progress": complaints.is_terminal}
        chosen |= {"directions": [name.value for name in direction]} if direction else {}
        result, details = scored(dbac, captions, chosen)
        console.print(dbac_table(result))
        tell_rest("dbac", result, details, output)
