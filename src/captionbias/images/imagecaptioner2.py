"""ImageCaptioner2: how sure a judge captioner is of the attribute, from the masked image and the masked caption."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import captionbias.metrics  # noqa: F401  they come before it in tables
from captionbias.bench.attacked import Bench
from captionbias.bench.attacks import answers_to, compare_sides, percent, with_sides
from captionbias.bench.catalogue import SIDES, SIGNED_PERCENT, Score
from captionbias.bench.measurement import Prepared, Scores, metric
from captionbias.bench.protocol import Settings, preset_settings
from captionbias.captions import Captions
from captionbias.captions.values import is_column
from captionbias.errors import InputError, missing
from captionbias.images.beside_captions import images_of
from captionbias.images.judges import answers_for, make_judge, prompt_for
from captionbias.images.reading import Images
from captionbias.progress import Progress
from captionbias.scores.captions import confidence, leakage, lic
from captionbias.statistics.samples import trial_rows
from captionbias.text import LexiconSource
from captionbias.warnings import note

SCORES = {
    "": percent(confidence),
    "_leakage": percent(leakage),
    "_lic": percent(lic),
}  # of Eq. 4, by the ends of their keys


@dataclass(frozen=True, kw_only=True)
class JudgeSettings(Settings):
    epochs: int | None = None


IMAGECAPTIONER2_2023 = JudgeSettings(trials=5, test_share=0.2)
PRESETS = {"imagecaptioner2-2023": IMAGECAPTIONER2_2023, "fast": replace(IMAGECAPTIONER2_2023, epochs=20, trials=2)}


def _imagecaptioner2(form: str, name: str, what: str, chance: str) -> Iterable[Score]:
    key, main = f"imagecaptioner2{form}", not form
    score = Score(
        key,
        f"ImageCaptioner2{name} x 100",
        1,
        SIGNED_PERCENT,
        "Above 0, the captioner's captions, together with the image, give the attribute away more than people's; "
        "below 0, less.",
        sense="amplification",
        judged=main,
        noisy=main,
        headline=main,
        published=not main,
        claim="image and caption together give {attribute} away" if main else "",
        task=key,
    )
    meaning = (
        f"Per 100: {what}, given an image whose person is masked, a caption whose attribute words are masked, and the "
        f"prompt. {chance}"
    )
    return with_sides(score, SIDES["h"], meaning, alone=main, in_tables=main, published=main)


@metric(
    "ImageCaptioner2",
    "can the attribute be told from the image and its caption if neither shows it?",
    [
        *_imagecaptioner2("", "", "the judge's probability of the true answer", "With k answers, chance is 100 / k."),
        *_imagecaptioner2("_leakage", " leakage", "how often the judge is right", "With k answers, chance is 100 / k."),
        *_imagecaptioner2(
            "_lic",
            " LIC",
            "the judge's probability of the true answer if it is right",
            "With k answers, chance is 100 / k², and up to 100 / k for a confident judge.",
        ),
    ],
    presets=PRESETS,
    of_images=True,
    about={
        "tasks": "not used; accepted so that all metrics have the same arguments",
        "images": (
            "one for each caption: a folder, a table of paths, `owner/dataset:configuration:split`, or in Python "
            "paths, PIL images, pixels or `Images`, as `captionbias.images.reading.read_images` takes them. They are "
            "joined by their ids with captions that have these (from `read_captions`); with other captions they are "
            "in the same order"
        ),
        "trials": (
            "number of judges trained for each side; trial `t` draws, splits and trains with seed `seed + t`. A "
            "single one has no interval and no verdict; the preset's when None"
        ),
    },
    returns=(
        "Floats and a `signature`. `imagecaptioner2_m`, `imagecaptioner2_d` in [0, 100] (Eq. 2: the mean probability "
        "of the true answer, here among the answers, so that chance has a level) and their difference "
        "`imagecaptioner2` in [-100, 100], above 0 if the captioner amplifies; the same for the other scores of Eq. "
        "4, `imagecaptioner2_leakage` and `imagecaptioner2_lic`; intervals as in `lic`. If a side is absent, so are "
        "its keys. `test_images`: how many are scored in a trial."
    ),
)
def imagecaptioner2(
    captions: Captions,
    /,
    *,
    images: Any = None,
    masks: Any = None,
    form: str = "segment",
    fill: str = "mean",
    preset: str = "imagecaptioner2-2023",
    epochs: int | None = None,
    prompt: str | None = None,
    answers: Mapping[str, str] | None = None,
    trials: int | None = None,
    seed: int = 0,
    tokenizer: str | None = None,
    attribute_lexicon: LexiconSource | None = None,
    allow_unmasked: bool = False,
    bootstrap: int = 1000,
    cache: bool | str | Path = True,
    distributed: bool = False,
    details: bool = False,
    progress: Progress = None,
) -> Prepared:
    """ImageCaptioner2 of a captioner (`imagecaptioner2_m`), of human captions (`imagecaptioner2_d`), and the
    amplification between them (`imagecaptioner2`), all x 100.

    The person is masked in the image, the words for the attribute are masked in the caption, and a captioner used as a
    judge continues after the caption and a prompt, "Therefore, the gender is": its probability of the true answer is
    the score. Each trial draws one human caption of each image, splits the images (70% to train, 10% to choose the
    epoch, 20% to test; every label cut to the rarest), and trains one judge for each side, on the same images. One more
    person scores 0.

    Source: Bakr, Sun, Li and Elhoseiny 2023, Eq. 1, 2 and 4.
    """
    chosen = {"epochs": epochs, "trials": trials, "tokenizer": tokenizer}
    preset, settings = preset_settings(PRESETS, preset, **chosen, attribute_lexicon=attribute_lexicon)
    bench = Bench.of(captions, settings, seed, allow_unmasked=allow_unmasked)
    judged_images, masking = _judged_images(images, masks, form, fill, bench.captions)
    prompt, answer_words = prompt_for(bench.lexicons["attribute"].name, prompt), answers_for(bench.values, answers)
    attacker = make_judge(judged_images, prompt, answer_words, settings.epochs)
    [masked] = bench.mask(("attribute",))
    drawn = {side: [column.draw(bench.rounds)] for side, column in masked.sides.items()}
    plan = bench.plan("imagecaptioner2", drawn, balanced=True)
    if settings.trials < 2:
        text = "another judge would answer otherwise; a single one has no interval and no verdict"
        note(bench.notes, text, about="trials")
    signed: dict[str, Any] = {"preset": preset, "judge": attacker.name, "masks": masking, "prompt": prompt}
    signed |= {"answers": ",".join(answer_words), **bench.signed(balanced=True)}
    signed |= {"pairing": "held-out", "bootstrap": bootstrap}

    def measured() -> Scores:
        answered = answers_to([plan], attacker, cache=cache, distributed=distributed, progress=progress)
        scored = bench.weighted_scores(plan, answered, SCORES)
        of_sides = {f"imagecaptioner2{form}": (form, scored) for form in SCORES}
        samples = compare_sides(of_sides, bootstrap if settings.trials > 1 else 0, seed, bench.copies)
        by_trial = {key: sample.values for key, sample in samples.items()}
        return Scores(
            samples,
            {"test_images": float(np.mean([len(trial.test) for trial in plan]))},
            bench.notes,
            bench.counts() | {"trials": trial_rows(bench.seeds, by_trial)},
            doubts=bench.doubts("imagecaptioner2"),
        )

    return Prepared(signed, measured)


def _judged_images(images: Any, masks: Any, form: str, fill: str, captions: Captions) -> tuple[Images, str]:
    """The captions' images as the judge sees them, in the captions' order, and what the signature says of masking."""
    from captionbias.images.masks import masked, read_regions
    from captionbias.images.reading import selected

    if images is None:
        raise missing(
            "images",
            "is missing: ImageCaptioner2 looks at the images, too; give one for each caption, as a folder, a "
            "dataset's column or a sequence of paths, PIL images or pixels",
        )
    every, places = images_of(captions, images)
    pictures = every.select(places)
    if masks is None:
        return pictures, "given"
    if isinstance(masks, (str, Path)):
        return masked(pictures, read_regions(masks, pictures, form=form), fill), f"{form},{fill}"
    regions = len(masks) if is_column(masks) else 0
    if regions != len(every):
        raise InputError("masks", f"has {regions:,} regions, images has {len(every):,} images: give one for each")
    return masked(pictures, selected(masks, places), fill), f"regions,{fill}"
