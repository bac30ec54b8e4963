"""ImageCaptioner2 on planted pictures and captions: does it see what was planted, and nothing where nothing was?

    python benchmarks/imagecaptioner2.py                     # planted biases and cues: half an hour of a core
    python benchmarks/imagecaptioner2.py --only xor          # one row of it
    python benchmarks/imagecaptioner2.py --null --draws 40   # one more person, many times

COCO's images are needed for the paper's Table 3, and are not here.
"""

from __future__ import annotations

import warnings
from typing import Annotated, Any

import numpy as np
import typer
from speed import processor_seconds

from captionbias.images.drawings import draw
from captionbias.metrics import imagecaptioner2, lic
from captionbias.synthetic import Planted, plant

BIASES: dict[str, dict[str, float]] = {
    "a_to_t -0.5": {"a_to_t": -0.5},
    "a_to_t 0": {},
    "a_to_t 0.5": {"a_to_t": 0.5},
    "t_to_a 0.5": {"t_to_a": 0.5},
}
HEADINGS = ("what is planted", "M", "D", "M - D", "95% interval", "LIC's confidence, M - D", "processor seconds")


def main(
    images: Annotated[int, typer.Option(help="a row")] = 2000,
    trials: Annotated[int, typer.Option(help="judges a side")] = 3,
    epochs: Annotated[int, typer.Option(help="of each judge")] = 40,
    null: Annotated[
        bool, typer.Option("--null", help="only draws of one more person, and how many intervals hold 0")
    ] = False,
    draws: Annotated[int, typer.Option(help="of --null")] = 40,
    seed: Annotated[int, typer.Option(help="of what is planted, and of the first trial")] = 0,
    only: Annotated[str, typer.Option(help=f"rows: {', '.join((*BIASES, 'xor', 'outside'))}; all if empty")] = "",
) -> None:
    """Print a table in Markdown."""
    warnings.simplefilter("ignore")
    options = {"trials": trials, "epochs": epochs, "cache": False, "seed": seed}
    if null:
        one_more_person(images, range(seed, seed + draws), options)
        return
    print("| " + " | ".join(HEADINGS) + " |\n|" + " --- |" * len(HEADINGS))
    wanted = only.split(",") if only else [*BIASES, "xor", "outside"]
    for name, dials in BIASES.items():
        if name in wanted:
            planted = plant(images, **dials, captions=2, seed=seed)
            pictures, persons = draw(planted, seed=seed)
            row(name, planted, {"images": pictures, "masks": persons}, options)
    for name, what, cued in (
        ("xor", "caption and picture together", together),
        ("outside", "picture outside the person", outside),
    ):
        if name in wanted:
            planted, pictures = cued(images, seed)
            row(what, planted, {"images": pictures}, options)


def row(name: str, planted: Planted, seen: dict[str, Any], options: dict[str, Any]) -> None:
    started = processor_seconds()
    found = imagecaptioner2(**vars(planted), **seen, **options)
    seconds = processor_seconds() - started
    text = lic(**vars(planted), preset="fast", trials=10, bootstrap=0, cache=False)["confidence"]
    values = [found[f"imagecaptioner2{side}"] for side in ("_m", "_d", "")]
    low, high = (found[f"imagecaptioner2_ci_{end}"] for end in ("low", "high"))
    cells = [name, *(f"{value:.1f}" for value in values), f"{low:.1f} to {high:.1f}", f"{text:.1f}", f"{seconds:.0f}"]
    print("| " + " | ".join(cells) + " |", flush=True)


def coins(images: int, seed: int) -> tuple[Any, ...]:
    return (np.arange(images) % 2, *np.random.default_rng(seed).integers(2, size=(3, images)))


def captions(sex: Any, model: Any, human: Any) -> Planted:
    def said(words: Any) -> list[str]:
        return [
            f"a {('woman', 'man')[who]} with a {('dog', 'cake')[word]}" for who, word in zip(sex, words, strict=True)
        ]

    attributes = [("female", "male")[number] for number in sex]
    return Planted(said(model), [[one] for one in said(human)], attributes, [["dog"]] * len(sex))


def bright(cue: Any) -> Any:
    """Dark and light pictures with noise."""
    noise = np.random.default_rng(1).normal(0, 10, (len(cue), 32, 32, 3))
    return np.clip(60 + 140 * cue[:, None, None, None] + noise, 0, 255).astype(np.uint8)


def together(images: int, seed: int) -> tuple[Planted, Any]:
    """The captioner's word is the picture's brightness or its opposite, as the label says; people's is a coin."""
    sex, human, _, cue = coins(images, seed)
    return captions(sex, sex ^ cue, human), bright(cue)


def outside(images: int, seed: int) -> tuple[Planted, Any]:
    """The brightness is the label three times in four; both sides' words are coins."""
    sex, human, model, cue = coins(images, seed)
    return captions(sex, model, human), bright(np.where(np.arange(images) // 2 % 2, sex, cue))


def one_more_person(images: int, draws: range, options: dict[str, Any]) -> None:
    values, held = [], 0
    for seed in draws:
        planted = plant(images, captions=3, seed=seed)
        pictures, persons = draw(planted, seed=seed)
        found = imagecaptioner2(**vars(planted), images=pictures, masks=persons, **options | {"seed": seed})
        values.append(found["imagecaptioner2"])
        held += found["imagecaptioner2_ci_low"] <= 0 <= found["imagecaptioner2_ci_high"]
        print(f"draw {seed}: {values[-1]:.2f}", flush=True)
    spread = np.std(values, ddof=1) / len(draws) ** 0.5
    print(f"mean {np.mean(values):.2f} (standard error {spread:.2f}); {held} of {len(draws)} intervals hold 0")


if __name__ == "__main__":
    typer.run(main)
