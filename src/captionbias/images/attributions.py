"""Where in an image a captioner finds the attribute that it names: in the person, or outside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from captionbias.arrays import Array, Flags
from captionbias.errors import InputError, phrase
from captionbias.images import need_images, occlusion
from captionbias.images.masks import check_fill
from captionbias.images.reading import read_images
from captionbias.statistics.intervals import LEVEL, bootstrap_interval, multiplicities
from captionbias.statistics.samples import Estimate
from captionbias.text import LexiconSource
from captionbias.training.captioning import evaluating
from captionbias.warnings import warn

if TYPE_CHECKING:
    from torch import nn

BATCH = 8
LITTLE = 0.1  # of the largest gain of a label: what words gain less are said anyway, and what speaks for them is noise


class Credit(NamedTuple):
    """The evidence for a word of an image's caption: what the person and the rest add to its log-odds, in nats.

    `area`: the share of the picture outside the person.
    """

    image: str
    word: str
    label: str
    person: float
    outside: float
    area: float
    caption: str


class Shares(NamedTuple):
    """The evidence for the words of some images; an image counts as the mean of its words.

    `share`: outside the person, of what speaks for the words, with its 95% interval over images; above 1 or below 0
    where one part speaks against them, None where the picture hardly makes them likelier. `area`: what it would be if
    every place counted alike. `gain`: what the picture adds to a word's log-odds, in nats.
    """

    share: Estimate | None
    area: float
    gain: float
    words: int

    def as_dict(self) -> dict[str, float | None]:
        share = {"share": None} if self.share is None else self.share.flat("share")
        return {**share, "area": self.area, "gain": self.gain, "words": self.words}


@dataclass(frozen=True, eq=False)
class ImageAttributions:
    """The share of the evidence for the attribute's words that lies outside the person.

    Attributes:
        credits: a row a word; see `Credit`.
        overall, by_label: of all words, and of each label's; see `Shares`.
        images: how many were given.
        notes: what was left out, and why.
    """

    credits: list[Credit]
    overall: Shares
    by_label: dict[str, Shares]
    images: int
    notes: list[str]

    def as_dict(self) -> dict[str, Any]:
        """Everything, for a JSON file."""
        return {
            **self.overall.as_dict(),
            "by_label": {label: shares.as_dict() for label, shares in self.by_label.items()},
            "images": self.images,
            "notes": self.notes,
            "credits": [credit._asdict() for credit in self.credits],
        }


def attribute_images(
    model: nn.Module,
    processor: Any,
    images: Any,
    regions: Sequence[Flags],
    captions: Sequence[str],
    *,
    tokenizer: Any = None,
    attribute_lexicon: LexiconSource = "gender",
    fill: str = "mean",
    batch_size: int = BATCH,
    bootstrap: int = 1000,
    seed: int = 0,
) -> ImageAttributions:
    """Measure how much of what makes a captioner say "woman" lies outside the person.

    The captioner says its caption again with the person filled, with the rest of the picture filled, and with both:
    what each adds to the log-odds of the words that name the attribute is its credit (its Shapley value). The share is
    that of all credit; where either part would do, each has half. The outline of a filled person can still be seen;
    regions of boxes hide it.

    Pictures are seen as the captioner's processor makes them, cut and scaled. Compare a share with its `area`.

    Args:
        model: an image-to-text model of transformers, such as BLIP, GIT, a vision encoder-decoder or a chat model.
        processor: makes its input of images; `captionbias.images.captioning.open_captioner` gives all three.
        images: see `captionbias.images.reading.read_images`.
        regions: of each image the pixels that show the person, `(H, W)`, True inside; from
            `captionbias.images.masks.read_regions`, say.
        captions: the model's, of each image; empty where there is none.
        tokenizer: the model's; the processor's when None.
        attribute_lexicon: the words, with their labels, of an attribute or of tasks; see
            `captionbias.text.load_lexicon`.
        fill: `mean`, the mean colour of the image, `blur`, or a colour, `#rrggbb`.
        bootstrap, seed: of the interval over images.

    Warns:
        CaptionBiasWarning: images are left out, or a label has no share; the message says why.

    Source: Nair et al. 2026, section 5.2 (the attribution score; there by Grad-CAM, which misplaces what planted
    captioners look at); Zeiler and Fergus 2014 (occlusion); Shapley 1953.
    """
    need_images("torch", "transformers")
    check_fill(fill)
    pictures = read_images(images)
    for name, given in (("regions", regions), ("captions", captions)):
        if len(given) != len(pictures):
            raise InputError(name, f": {len(given):,} for {len(pictures):,} images; give one for each, in their order")
    tokenizer = tokenizer or getattr(processor, "tokenizer", processor)
    named = occlusion.named_words(captions, tokenizer, attribute_lexicon)
    if not named:
        raise InputError(
            "captions",
            ": none names the attribute",
            phrase("give captions that do, or the words that they use as {attribute_lexicon}"),
        )
    credits: list[Credit] = []
    nobody = set()
    with evaluating(model):
        for start in range(0, len(named), batch_size):
            batch = named[start : start + batch_size]
            asked, people = [pictures[word.image] for word in batch], [regions[word.image] for word in batch]
            names = [pictures.ids[word.image] for word in batch]
            seen = [_seen(processor, *given) for given in zip(asked, people, names, strict=True)]
            parts = occlusion.credits(model, processor, asked, people, batch, fill)
            for word, name, person, (own, rest) in zip(batch, names, seen, parts.tolist(), strict=True):
                if person.any():
                    area, text = float((~person).mean()), captions[word.image]
                    credits.append(Credit(name, word.word, word.label, own, rest, area, text))
                else:
                    nobody.add(word.image)
    left_out = {
        "their captions name no attribute": len(pictures) - len({word.image for word in named}),
        "no person is in their regions": len(nobody),
    }
    notes = [f"{count:,} of {len(pictures):,} images are left out: {why}" for why, count in left_out.items() if count]
    if not credits:
        raise InputError("images", f": none is left: {'; '.join(notes)}")
    by_label = _by_label(credits, bootstrap, seed)
    notes += [
        f"the words of {label!r} have no share: the captioner says them nearly as much without a picture"
        for label, shares in by_label.items()
        if shares.share is None
    ]
    for note in notes:
        warn(note)
    return ImageAttributions(credits, _shares(credits, bootstrap, seed), by_label, len(pictures), notes)


def _seen(processor: Any, image: Any, region: Array, name: str) -> Flags:
    """A region of a picture, cut and scaled as the captioner sees it; as it is where that is in pieces.

    What its processor makes of black and of white says what it does to colours.
    """
    from PIL import Image

    if region.shape != (image.height, image.width):
        raise ValueError(
            f"regions: that of image {name} has the shape {region.shape}, and the image "
            f"{(image.height, image.width)}; give one of the image's height and width"
        )
    drawn = Image.fromarray(np.where(region, 255, 0).astype(np.uint8)).convert("RGB")
    plain = [Image.new("RGB", image.size, colour) for colour in ("black", "white")]
    pixels = processor(images=[drawn, *plain], return_tensors="pt").get("pixel_values")
    if getattr(pixels, "ndim", 0) != 4 or pixels.shape[:2] != (3, 3):
        return np.asarray(region, bool)
    inside, black, white = pixels.double().numpy()
    spread = np.where(white == black, 1, white - black)  # padding has one colour
    flags: Flags = ((inside - black) / spread).mean(axis=0) > 0.5
    return flags


def _by_label(credits: Sequence[Credit], replicates: int, seed: int) -> dict[str, Shares]:
    """The shares of each label's words; no share where the picture adds little to them, beside another label's."""
    labels = sorted({credit.label for credit in credits})
    shares = {
        label: _shares([credit for credit in credits if credit.label == label], replicates, seed) for label in labels
    }
    least = LITTLE * max(part.gain for part in shares.values())
    return {label: part if part.gain >= least else part._replace(share=None) for label, part in shares.items()}


def _shares(credits: Sequence[Credit], replicates: int, seed: int) -> Shares:
    """The share outside the person of all credit, with its interval over images."""
    _, image = np.unique([credit.image for credit in credits], return_inverse=True)
    words = np.bincount(image)
    person, outside, area = (
        np.bincount(image, [getattr(credit, name) for credit in credits]) / words
        for name in ("person", "outside", "area")
    )
    total = person + outside
    gain, share, least = float(total.mean()), None, float(total.mean())
    drawn = np.empty((2, 0))
    if replicates > 1 and len(words) > 1:
        blocks = multiplicities(len(words), replicates, seed)
        drawn = np.concatenate([np.stack((outside, total)) @ times / len(words) for times in blocks], axis=1)
        least = float(np.quantile(drawn[1], (1 - LEVEL) / 2))
    if gain > 0 and least > 0:
        value = float(outside.mean()) / gain
        bounds = (0.0, 1.0) if min(person.min(), outside.min()) >= 0 else (-np.inf, np.inf)
        interval = bootstrap_interval(value, drawn[0] / drawn[1], bounds) if drawn.size else (None, None)
        share = Estimate(value, *interval)
    return Shares(share, float(area.mean()), gain, len(credits))
