"""How fast images are masked and captioned, and in how much memory.

usage: python benchmarks/images.py mask [--images 400] [--sizes 1000,5000,20000]
       python benchmarks/images.py caption [--images 400] [--sizes 1000,5000,20000] [--model FOLDER]

Pictures and their COCO annotations are generated: a few pictures under many names, two people with polygons in each.
Each measurement has a process of its own. Memory is that of the process, without pages of mapped files.
"""

from __future__ import annotations

import json
import warnings
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import numpy as np
import typer
from datasets import disable_progress_bars
from PIL import Image, ImageStat
from pycocotools.coco import COCO
from rich.progress import track
from scale import Cost, alone, cost, exponent
from speed import show

from captionbias.images.captioning import caption as caption_all
from captionbias.images.masked_copies import JPEG, write_masked
from captionbias.images.masks import read_regions
from captionbias.images.reading import read_images

PICTURES = 8  # different ones; the others are links to these
WARM = 8
BATCH, TOKENS = 16, 12
LARGE, SMALL = (480, 640), (96, 128)  # as COCO's; small ones where memory is measured, not the disk

app = typer.Typer(add_completion=False)


@app.callback()
def main() -> None:
    """Measure work on images, part by part."""


def pictures(count: int, size: tuple[int, int], folder: Path) -> None:
    """`images`, as many as asked for, and instances.json."""
    height, width = size
    generator = np.random.default_rng(0)
    (folder / "images").mkdir(parents=True)
    for number in range(count):
        path = folder / "images" / f"COCO_val2014_{number:012d}.jpg"
        if number < PICTURES:
            coarse = Image.fromarray(generator.integers(256, size=(height // 16, width // 16, 3)).astype(np.uint8))
            coarse.resize((width, height), Image.Resampling.BICUBIC).save(path, quality=90)
        else:
            path.symlink_to(folder / "images" / f"COCO_val2014_{number % PICTURES:012d}.jpg")
    images = [
        {"id": number, "file_name": f"COCO_val2014_{number:012d}.jpg", "height": height, "width": width}
        for number in range(count)
    ]
    things: list[dict[str, Any]] = []
    for number in range(2 * count):
        angles = np.linspace(0, 2 * np.pi, 40, endpoint=False)
        across, down = generator.uniform(0.2, 0.8, 2)
        x, y = width * (across + 0.15 * np.cos(angles)), height * (down + 0.3 * np.sin(angles))
        outline = np.stack([x, y], axis=1).round(2).ravel().tolist()
        box = [float(x.min()), float(y.min()), float(np.ptp(x)), float(np.ptp(y))]
        things.append({"id": number, "image_id": number // 2, "category_id": 1, "iscrowd": 0, "area": 1.0})
        things[-1] |= {"bbox": box, "segmentation": [outline]}
    content = {"images": images, "annotations": things, "categories": [{"id": 1, "name": "person"}]}
    (folder / "instances.json").write_text(json.dumps(content))


# Masking


@app.command()
def mask(
    images: Annotated[int, typer.Option(help="images of the comparison with a plain loop")] = 400,
    sizes: Annotated[str, typer.Option(help="numbers of images where memory is measured")] = "1000,5000,20000",
) -> None:
    """Images a second beside a plain loop with Pillow and pycocotools, and the peak of memory."""
    numbers = [int(size) for size in sizes.split(",")]
    costs = masked(images, LARGE)
    show(
        f"masking {images:,} images of {LARGE[1]} x {LARGE[0]}, from annotations to copies as JPEG",
        speeds(costs, images),
        None,
    )
    found = {size: masked(size, SMALL) for size in track(numbers, "measuring", transient=True)}
    show_peaks(found)


def speeds(costs: dict[str, Cost], images: int) -> list[dict[str, str]]:
    return [
        {
            "way": name,
            "images a second": f"{images / found.seconds:.0f}",
            "processor ms an image": f"{1000 * found.computed / images:.1f}",
        }
        for name, found in costs.items()
    ]


def show_peaks(found: dict[int, dict[str, Cost]]) -> None:
    rows = []
    for name in next(iter(found.values())):
        peaks = [costs[name].own_memory for costs in found.values()]
        cells = {f"{size:,}": f"{peak:.0f}" for size, peak in zip(found, peaks, strict=True)}
        rows.append({"way": name} | cells | {"exponent": exponent(list(found), np.array(peaks), 8)})
    show(f"MB added at the peak; numbers of images of {SMALL[1]} x {SMALL[0]}", rows, None)


def masked(count: int, size: tuple[int, int]) -> dict[str, Cost]:
    """What each way costs, in a process of its own, once everything is imported."""
    with TemporaryDirectory(prefix="captionbias-") as folder:
        pictures(count, size, Path(folder))
        return {name: alone(measure, name, Path(folder)) for name in WAYS}


def measure(name: str, folder: Path) -> Cost:
    warnings.simplefilter("ignore")
    disable_progress_bars()
    WAYS[name](folder, folder / f"warm {name}", WARM)
    return cost(WAYS[name], folder, folder / name)[0]


def mask_with_captionbias(folder: Path, to: Path, count: int | None = None) -> None:
    images = read_images(folder / "images")
    images = images.select(range(count)) if count else images
    write_masked(images, read_regions(folder / "instances.json", images), to)


def mask_in_a_loop(folder: Path, to: Path, count: int | None = None) -> None:
    with redirect_stdout(None):
        coco = COCO(folder / "instances.json")
    to.mkdir()
    for key in coco.getImgIds()[:count]:
        image = Image.open(folder / "images" / coco.imgs[key]["file_name"]).convert("RGB")
        region = np.zeros((image.height, image.width), bool)
        for thing in coco.loadAnns(coco.getAnnIds(imgIds=key, catIds=[1])):
            region |= coco.annToMask(thing).astype(bool)
        outside = Image.fromarray((~region).astype(np.uint8) * 255)
        colour = tuple(map(round, ImageStat.Stat(image, outside).mean))
        image.paste(colour, mask=Image.fromarray(region.astype(np.uint8) * 255))
        image.save(to / f"{key}.jpg", **JPEG)


WAYS = {"captionbias": mask_with_captionbias, "a plain loop": mask_in_a_loop}

# Captioning


@app.command()
def caption(
    images: Annotated[int, typer.Option(help="images of the comparison with a plain loop")] = 400,
    sizes: Annotated[str, typer.Option(help="numbers of images where memory is measured")] = "1000,5000,20000",
    model: Annotated[Path | None, typer.Option(help="a vision encoder-decoder; else one with random weights")] = None,
) -> None:
    """Images a second beside a plain loop with transformers, and the peak of memory."""
    with TemporaryDirectory(prefix="captionbias-") as folder:
        large = model or captioner(Path(folder, "large"), 224, 192, 6)
        different_pictures(images, LARGE, Path(folder))
        ways = {"captionbias": caption_with_captionbias, "a plain loop": caption_in_a_loop}
        found = {name: alone(way, large, Path(folder, "images")) for name, way in ways.items()}
    same = sum(map(str.__eq__, *(captions for _, captions in found.values())))
    show(
        f"captioning {images:,} images of {LARGE[1]} x {LARGE[0]}, up to {TOKENS} tokens, in batches of {BATCH}; "
        f"{same:,} captions are the same both ways",
        speeds({name: spent for name, (spent, _) in found.items()}, images),
        None,
    )
    peaks = {}
    with TemporaryDirectory(prefix="captionbias-") as folder:
        small = captioner(Path(folder, "small"), 32, 32, 1)
        for size in track([int(size) for size in sizes.split(",")], "measuring", transient=True):
            different_pictures(size, SMALL, Path(folder, str(size)))
            spent, _ = alone(caption_with_captionbias, small, Path(folder, str(size), "images"))
            peaks[size] = {"captionbias": spent}
    show_peaks(peaks)


def different_pictures(count: int, size: tuple[int, int], folder: Path) -> None:
    """As `pictures`, with a number behind each one's end: no file is captioned twice."""
    pictures(count, size, folder)
    for number, file in enumerate(sorted((folder / "images").iterdir())):
        content = file.resolve().read_bytes()
        file.unlink()
        file.write_bytes(content + str(number).encode())


def captioner(folder: Path, size: int, width: int, layers: int) -> Path:
    """A vision transformer and a GPT-2 with random weights and made-up words."""
    import torch
    from tokenizers import Tokenizer, models
    from transformers import (
        GPT2Config,
        PreTrainedTokenizerFast,
        VisionEncoderDecoderConfig,
        VisionEncoderDecoderModel,
        ViTConfig,
        ViTImageProcessor,
    )

    torch.manual_seed(0)
    words = {word: number for number, word in enumerate(["<pad>", "<s>", "</s>", *(f"word{n}" for n in range(997))])}
    tokens = Tokenizer(models.WordLevel(words, "<pad>"))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=tokens, pad_token="<pad>", bos_token="<s>", eos_token="</s>")
    vision = ViTConfig(
        image_size=size,
        patch_size=16,
        hidden_size=width,
        intermediate_size=4 * width,
        num_hidden_layers=layers,
        num_attention_heads=2,
        initializer_range=0.2,
    )
    language = GPT2Config(
        vocab_size=len(words),
        n_embd=width,
        n_layer=layers,
        n_head=2,
        initializer_range=0.2,
        bos_token_id=1,
        eos_token_id=2,
    )
    config = VisionEncoderDecoderConfig.from_encoder_decoder_configs(vision, language)
    config.pad_token_id, config.decoder_start_token_id, config.eos_token_id = 0, 1, 2
    parts = VisionEncoderDecoderModel(config), ViTImageProcessor(size={"height": size, "width": size}), tokenizer
    for part in parts:
        part.save_pretrained(folder)
    return folder


def caption_with_captionbias(model: Path, folder: Path) -> tuple[Cost, list[str]]:
    warnings.simplefilter("ignore")
    images = read_images(folder)

    def work(chosen: Any, cache: Path | bool) -> list[str]:
        return list(caption_all(model, chosen, batch_size=BATCH, max_new_tokens=TOKENS, cache=cache).values())

    with TemporaryDirectory(prefix="captionbias-") as cache:
        work(images.select(range(WARM)), False)
        return cost(work, images, Path(cache))


def caption_in_a_loop(model: Path, folder: Path) -> tuple[Cost, list[str]]:
    import torch
    from transformers import AutoImageProcessor, AutoModelForImageTextToText, AutoTokenizer

    warnings.simplefilter("ignore")
    files = sorted(folder.iterdir())

    def work(chosen: list[Path]) -> list[str]:
        captioner = AutoModelForImageTextToText.from_pretrained(model).eval()
        processor, tokenizer = AutoImageProcessor.from_pretrained(model), AutoTokenizer.from_pretrained(model)
        captions = []
        for start in range(0, len(chosen), BATCH):
            batch = [Image.open(file).convert("RGB") for file in chosen[start : start + BATCH]]
            with torch.no_grad():
                tokens = captioner.generate(**processor(batch, return_tensors="pt"), max_new_tokens=TOKENS)
            captions += tokenizer.batch_decode(tokens, skip_special_tokens=True)
        return captions

    work(files[:WARM])
    return cost(work, files)


if __name__ == "__main__":
    app()
