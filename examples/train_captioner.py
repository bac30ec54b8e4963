"""Train a captioner with Accelerate and watch its bias grow.

    python examples/train_captioner.py                                          # nothing is downloaded; two minutes
    accelerate launch examples/train_captioner.py                               # on whatever accelerate is set up for
    python examples/train_captioner.py --log-with tensorboard                   # or wandb, trackio, mlflow, ...
    python examples/train_captioner.py --model Salesforce/blip-image-captioning-base --dataset FOLDER --images FOLDER

Without a model, a small one that knows nothing learns to caption drawings: of a person, whose colour says woman or man,
and of an object. The captions it learns from have a planted bias: in a share of them, --bias, the object is not the one
that is drawn but one that goes with the person's gender. Its captions of other drawings are measured against faithful
ones.

    python examples/train_captioner.py --bias 0.9 --save trained
    captionbias audit trained/captioner --images trained/drawings --references trained/people.parquet

audits it as any captioner on the Hub. The bias is larger there because those captions are the most likely ones: a bias
that is in fewer than half of the captions for an image does not show in them.

With a model whose processor takes images and text, such as BLIP and GIT, that one is fine-tuned on the images of gender
in a dataset as `captionbias data build coco_caption_bias` writes it, and measured on others of them. Image files are
read with pillow.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from accelerate import Accelerator
from accelerate.utils import set_seed

from captionbias.captions import CaptionBiasWarning
from captionbias.images.drawings import draw
from captionbias.synthetic import plant
from captionbias.training import bias_scores, caption_images, human_vectors

SIZE = 32  # pixels on a side of a drawing
COLUMNS = ("step", "loss", "dbac_a_to_t_matched", "dbac_a_to_t", "dbac_t_to_a_matched", "lic", "empty_captions")


@dataclass(frozen=True)
class Images:
    """Images, one caption of each to learn from, and what their captions are measured against."""

    images: Sequence[Any]
    captions: list[str]
    references: list[list[str]]
    attributes: list[str]
    tasks: list[list[str]]


@dataclass(frozen=True)
class Captioner:
    """A model, the processor that makes its input, and how images and captions become a training batch."""

    model: torch.nn.Module
    processor: Any
    batch: Callable[[list[Any], list[str]], dict[str, torch.Tensor]]


def main(
    steps: Annotated[int, typer.Option(help="optimizer steps")] = 1000,
    every: Annotated[int, typer.Option(help="measure every so many steps, and before the first")] = 100,
    bias: Annotated[float, typer.Option(help="planted in the captions that the small model learns from, 0 to 1")] = 0.6,
    train_images: Annotated[int, typer.Option(help="images to learn from")] = 4000,
    eval_images: Annotated[int, typer.Option(help="images to measure on")] = 2000,
    batch_size: Annotated[int, typer.Option(help="images a step, on each process")] = 32,
    learning_rate: Annotated[
        float | None, typer.Option(help="of AdamW; 1e-3 for the small model, 1e-5 for one that knows something")
    ] = None,
    sample: Annotated[bool, typer.Option(help="draw captions; the most likely ones otherwise")] = True,
    seed: Annotated[int, typer.Option(help="of the drawings, the weights and the attackers")] = 0,
    model: Annotated[str | None, typer.Option(help="a captioner on the Hub or in a folder")] = None,
    dataset: Annotated[Path | None, typer.Option(help="of --model: a built dataset's folder")] = None,
    images: Annotated[Path | None, typer.Option(help="of --model: the folder of the image files")] = None,
    output: Annotated[Path, typer.Option(help="the table as JSON")] = Path("bias_in_training.json"),
    log_with: Annotated[
        list[str] | None,
        typer.Option(
            help="log the scores with tensorboard, wandb, trackio or another tracker of accelerate; repeatable"
        ),
    ] = None,
    log_dir: Annotated[Path, typer.Option(help="of --log-with: where trackers that write files write them")] = Path(
        "logs"
    ),
    save: Annotated[
        Path | None, typer.Option(help="of the small model: write it, the drawings and what people say of them here")
    ] = None,
) -> None:
    """Train, measure every so many steps, print a table and write it."""
    if (model is None) != (dataset is None) or (model is None) != (images is None):
        raise typer.BadParameter("--model, --dataset and --images go together")
    if model and save:
        raise typer.BadParameter("--save is for the small model, without --model")
    accelerator = Accelerator(log_with=log_with, project_dir=log_dir)
    if log_with and len(accelerator.log_with) < len(log_with):
        raise typer.BadParameter(f"--log-with {', '.join(log_with)}: not all of them are installed")
    set_seed(seed)
    if model and dataset and images:
        train, held_out = dataset_images(dataset, images, train_images, eval_images, seed)
        captioner = pretrained_captioner(model)
    else:
        train, held_out = drawings(train_images, bias, seed), drawings(eval_images, 0.0, seed + 1)
        captioner = small_captioner(train)
        torch.set_num_threads(1)  # its products are small: threads would fight over them
    learning_rate = learning_rate or (1e-5 if model else 1e-3)
    settings = {"steps": steps, "batch_size": batch_size, "learning_rate": learning_rate, "seed": seed}
    accelerator.init_trackers("captionbias", {**settings, "bias": bias, "model": model or "small"})
    rows = fit(accelerator, captioner, train, held_out, steps, every, batch_size, learning_rate, sample, seed)
    accelerator.end_training()
    if accelerator.is_main_process:
        write(output, rows)
        print(f"This table, with remarks on each row, is in {output}")
        if save:
            save_all(save, captioner, held_out)


def fit(
    accelerator: Accelerator,
    captioner: Captioner,
    train: Images,
    held_out: Images,
    steps: int,
    every: int,
    batch_size: int,
    learning_rate: float,
    sample: bool,
    seed: int,
) -> list[dict[str, Any]]:
    """An Accelerate loop, and what it logs, with the accelerator's trackers too: a row for each measurement."""
    optimizer = torch.optim.AdamW(captioner.model.parameters(), lr=learning_rate)
    loader = torch.utils.data.DataLoader(
        Pairs(train),  # type: ignore[arg-type]
        batch_size,
        shuffle=True,
        drop_last=True,
        collate_fn=lambda rows: captioner.batch(*map(list, zip(*rows, strict=True))),
    )
    model, optimizer, loader = accelerator.prepare(captioner.model, optimizer, loader)
    vectors = human_vectors(held_out.references)
    rows: list[dict[str, Any]] = []
    losses: list[float] = []
    batches = endless(loader)
    accelerator.print("".join(f"{name:>21}" for name in COLUMNS))
    for step in range(steps + 1):
        if step % every == 0:
            drawn = {"generation": {"do_sample": sample}, "seed": seed, "distributed": True}
            captions = caption_images(model, captioner.processor, held_out.images, **drawn)
            if accelerator.is_main_process:
                loss = {"loss": float(np.mean(losses))} if losses else {}
                rows.append(
                    {"step": step, **loss, **measured(captions, held_out, vectors, seed), "caption": captions[0]}
                )
                scores = {name: value for name, value in rows[-1].items() if isinstance(value, float)}
                accelerator.log(scores, step=step)
                print("".join(cell(rows[-1].get(name)) for name in COLUMNS), f"  {captions[0]}", flush=True)
            losses.clear()
        if step < steps:
            model.train()
            loss = model(**next(batches)).loss
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.item())
    return rows


def measured(captions: list[str], held_out: Images, vectors: Any, seed: int) -> dict[str, Any]:
    """The scores, and what there is to say of them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CaptionBiasWarning)
        scores = bias_scores(
            captions, held_out.references, held_out.attributes, tasks=held_out.tasks, vectors=vectors, seed=seed
        )
    return {**scores, "remarks": [str(one.message) for one in caught]}


def endless(loader: Any) -> Iterator[Any]:
    while True:
        yield from loader


def cell(value: float | None) -> str:
    """A score that is undefined has an empty cell."""
    return f"{'' if value is None else f'{value:.3f}' if isinstance(value, float) else value:>21}"


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    part = path.with_name(f"{path.name}.part")
    part.write_text(json.dumps(rows, indent=2) + "\n")
    os.replace(part, path)


def save_all(folder: Path, captioner: Captioner, held_out: Images) -> None:
    """The captioner, drawings it has not seen and what people say of them, as `captionbias audit` reads them."""
    import pandas as pd
    from PIL import Image

    captioner.model.save_pretrained(folder / "captioner")
    captioner.processor.save_pretrained(folder / "captioner")
    (folder / "drawings").mkdir(exist_ok=True)
    for number, picture in enumerate(held_out.images):
        Image.fromarray(picture).save(folder / "drawings" / f"{number}.png")
    people = {"references": held_out.references, "gender": held_out.attributes, "tasks": held_out.tasks}
    pd.DataFrame({"image_id": range(len(held_out.images)), **people}).to_parquet(folder / "people.parquet")
    print(
        f"captionbias audit {folder}/captioner --images {folder}/drawings --references {folder}/people.parquet audits "
        "what was trained"
    )


def drawings(images: int, bias: float, seed: int) -> Images:
    """Drawings of what `captionbias.synthetic` makes up, with captions to learn from that lean as `bias` says."""
    planted = plant(images, a_to_t=bias, seed=seed)
    pictures, _ = draw(planted, SIZE, seed)
    return Images(pictures, planted.predictions, planted.references, planted.attributes, planted.tasks)


class Drawings:
    """Input of the small captioner: pixels from -1 to 1, captions as the numbers of their words."""

    def __init__(self, tokenizer: Any) -> None:
        from transformers import ViTImageProcessor

        self.tokenizer = tokenizer
        self.batch_decode = tokenizer.batch_decode
        self.pixels = ViTImageProcessor(do_resize=False, image_mean=[0.5] * 3, image_std=[0.5] * 3)

    def __call__(self, images: list[np.ndarray], return_tensors: str) -> Any:
        return self.pixels(images, return_tensors=return_tensors)

    def save_pretrained(self, folder: Path) -> None:
        self.tokenizer.save_pretrained(folder)
        self.pixels.save_pretrained(folder)


def small_captioner(train: Images) -> Captioner:
    """A vision transformer and a GPT-2 of two layers each, with random weights, and the words of the captions."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
    from transformers import (
        GPT2Config,
        PreTrainedTokenizerFast,
        VisionEncoderDecoderConfig,
        VisionEncoderDecoderModel,
        ViTConfig,
    )
    from transformers.utils import logging

    logging.set_verbosity_error()  # GPT-2 warns of the padding after a caption's end
    pad, unknown, start, end = "<pad>", "<unk>", "<s>", "</s>"
    words = Tokenizer(models.WordLevel(unk_token=unknown))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.train_from_iterator(train.captions, trainers.WordLevelTrainer(special_tokens=[pad, unknown, start, end]))
    words.post_processor = processors.TemplateProcessing(single=f"$A {end}", special_tokens=[(end, 3)])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token=pad, unk_token=unknown, bos_token=start, eos_token=end
    )
    vision = ViTConfig(
        image_size=SIZE, patch_size=8, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128
    )
    language = GPT2Config(
        vocab_size=len(tokenizer), n_positions=32, n_embd=64, n_layer=2, n_head=4, bos_token_id=2, eos_token_id=3
    )
    config = VisionEncoderDecoderConfig.from_encoder_decoder_configs(vision, language)
    for part in (config, config.decoder):
        part.pad_token_id, part.bos_token_id, part.eos_token_id = 0, 2, 3
        part.decoder_start_token_id = 2
    model = VisionEncoderDecoderModel(config)
    processor = Drawings(tokenizer)

    def batch(images: list[Any], captions: list[str]) -> dict[str, torch.Tensor]:
        tokens = tokenizer(captions, padding=True, return_tensors="pt")
        labels = tokens.input_ids.masked_fill(tokens.attention_mask == 0, -100)
        pixels = processor(images=images, return_tensors="pt")
        return {**pixels, "labels": labels, "decoder_attention_mask": tokens.attention_mask}

    return Captioner(model, processor, batch)


class ImageFiles:
    """Image files as a sequence that opens those of a slice when they are asked for."""

    def __init__(self, paths: list[Path]) -> None:
        self.paths = paths

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int | slice) -> Any:
        from PIL import Image

        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        with Image.open(self.paths[index]) as image:
            return image.convert("RGB")


class Pairs:
    """An image and its caption at a time, for a DataLoader."""

    def __init__(self, images: Images) -> None:
        self.images = images

    def __len__(self) -> int:
        return len(self.images.captions)

    def __getitem__(self, row: int) -> tuple[Any, str]:
        return self.images.images[row], self.images.captions[row]


def dataset_images(
    dataset: Path, folder: Path, train_images: int, eval_images: int, seed: int
) -> tuple[Images, Images]:
    """Images to learn from and others to measure on."""
    from datasets import load_dataset

    rows = load_dataset(str(dataset), "gender", split="validation").shuffle(seed)

    def part(start: int, end: int) -> Images:
        chosen = rows.select(range(min(start, len(rows)), min(end, len(rows))))
        files = ImageFiles([folder / name for name in chosen["file_name"]])
        references = list(chosen["references"])
        captions = [captions[0] for captions in references]
        return Images(files, captions, references, list(chosen["attribute"]), list(chosen["tasks"]))

    return part(eval_images, eval_images + train_images), part(0, eval_images)


def pretrained_captioner(name: str) -> Captioner:
    from transformers import AutoModelForImageTextToText, AutoProcessor

    processor = AutoProcessor.from_pretrained(name)

    def batch(images: list[Any], captions: list[str]) -> dict[str, torch.Tensor]:
        inputs = processor(images=images, text=captions, padding=True, return_tensors="pt")
        return {**inputs, "labels": inputs["input_ids"].masked_fill(inputs["attention_mask"] == 0, -100)}

    return Captioner(AutoModelForImageTextToText.from_pretrained(name), processor, batch)


if __name__ == "__main__":
    typer.run(main)
