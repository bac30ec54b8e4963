"""Where in an image a captioner finds the attribute that it names: the share outside the person, by class activation.

Grad-CAM weighs a channel by its gradient's mean over all places. That is right where the places are pooled, as in the
networks that it was made for. A captioner attends to some patches, and to another patch the same channel may mean the
opposite: with captioners that read a planted cue in one patch, or the person, the mean told neither from the other,
while gradients in their own places did (0.71 to 0.98 outside the person, and 0.30 to 0.33, of a picture 0.81 of which
is outside). Where places are pooled and then weighted, both are the same.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from captionbias.arrays import Array, Flags, Floats, Floats32
from captionbias.captions.values import is_missing
from captionbias.statistics.intervals import bootstrap_interval, multiplicities
from captionbias.statistics.samples import Estimate
from captionbias.text import LexiconSource, find_mentions, load_lexicon, tokenize
from captionbias.vision import needs_images
from captionbias.vision.images import read_images
from captionbias.warnings import CaptionBiasWarning

if TYPE_CHECKING:
    from torch import Tensor, nn

BATCH = 8
MOST_EXTRA = 8  # tokens that stand for no patch: of the class, registers
SHADE = 0.6  # how far an overlay's brightest place covers the picture


class Share(NamedTuple):
    """One attribute word of one image's caption.

    `share`: of the attribution, outside the person, in [0, 1]. `area`: of the picture, outside the person: what the
    share would be if every place counted alike.
    """

    image: str
    word: str
    label: str
    share: float
    area: float
    caption: str


@dataclass(frozen=True, eq=False)
class ImageAttributions:
    """What share of a captioner's attribution for attribute words is outside the person.

    Attributes:
        shares: a row a word; see `Share`.
        mean: their mean, first over each image's words and then over images, with its 95% interval over images.
        area: the mean share of the picture outside the person, over the same images.
        images: how many were given.
        notes: what was left out, and why.
        overlays: pictures of the first images, as PNG: as the captioner sees them, attribution in red, the person's
            outline in white. By the number of their row in `shares`.
    """

    shares: list[Share]
    mean: Estimate
    area: float
    images: int
    notes: list[str] = field(default_factory=list)
    overlays: dict[int, bytes] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """For a file, without the pictures."""
        return {
            "mean": self.mean.value,
            "mean_ci_low": self.mean.low,
            "mean_ci_high": self.mean.high,
            "area": self.area,
            "images": self.images,
            "notes": self.notes,
            "shares": [share._asdict() for share in self.shares],
        }


class _Named(NamedTuple):
    """A place where a caption names the attribute: the tokens of the word, and the tokens of the caption."""

    image: int
    word: str
    label: str
    ids: list[int]
    places: list[int]


def attribute_images(
    model: nn.Module,
    processor: Any,
    images: Any,
    regions: Sequence[Flags],
    captions: Mapping[str, str] | Sequence[str] | None = None,
    *,
    tokenizer: Any = None,
    attribute_lexicon: LexiconSource = "gender",
    layer: str | None = None,
    averaged: bool = False,
    batch_size: int = BATCH,
    bootstrap: int = 1000,
    seed: int = 0,
    overlays: int = 0,
) -> ImageAttributions:
    """How much of what makes a captioner say "woman" lies outside the person: class activation of its attribute words.

    The captioner reads its own caption, and the gradient of the log-probability of the words that name the attribute
    goes back to the last feature map, or the patches' last states, of its vision encoder. There each channel is
    weighted by its gradient; their sum over channels, where it is above 0, is laid over the picture. Pictures are seen
    as the captioner's processor makes them, cut and scaled, and persons alike. Compare a share with its `area`, and
    with that of other captioners: encoders also pass on what they saw from patch to patch.

    Args:
        model: an image-to-text model of transformers, such as BLIP, GIT, a vision encoder-decoder or a chat model.
        processor: makes its input of images; `captionbias.vision.captioning.open_captioner` gives all three.
        images: see `captionbias.vision.images.read_images`.
        regions: of each image the pixels that show the person, `(H, W)`, True inside; from
            `captionbias.vision.masks.read_regions`, say.
        captions: of each image, or by image id; the model's own when None.
        tokenizer: the model's; the processor's when None.
        attribute_lexicon: the words, with their labels; see `captionbias.text.load_lexicon`.
        layer: another module of the model, by its name in `model.named_modules()`, whose output is the feature map.
        averaged: weight a channel by its mean gradient, as Grad-CAM does.
        batch_size: images at a time.
        bootstrap: replicates over images; 0 for no interval.
        seed: of the bootstrap.
        overlays: how many pictures to make.

    Raises:
        ValueError: no caption names the attribute, regions do not fit the images, or the model has no such map.

    Warns:
        CaptionBiasWarning: images are left out: their captions name no attribute, they show no person, or nothing in
            them speaks for the word.

    Source: Nair et al. 2026, section 5.2 (the attribution score, by Grad-CAM); Draelos and Carin 2020 (HiResCAM, the
    map with gradients in their places); Selvaraju et al. 2017 (Grad-CAM).
    """
    with needs_images():
        import torch  # noqa: F401
        import transformers  # noqa: F401
    found = read_images(images)
    if len(regions) != len(found):
        raise ValueError(
            f"regions: {len(regions):,} for {len(found):,} images; give one for each image, in their order"
        )
    tokenizer = tokenizer or getattr(processor, "tokenizer", processor)
    texts = _captions(model, processor, tokenizer, found, captions)
    named = _find_words(texts, tokenizer, attribute_lexicon)
    if not named:
        raise ValueError(
            "captions: none names the attribute; give captions that do, or the words that they use as attribute_lexicon"
        )
    view = _View(processor)
    shares: list[Share] = []
    pictures: dict[int, bytes] = {}
    nobody, silent = set(), set()
    with _frozen(model):
        for start in range(0, len(named), batch_size):
            batch = named[start : start + batch_size]
            seen = [found[one.image] for one in batch]
            maps = _activation(model, processor, tokenizer, seen, batch, layer, averaged)
            for one, image, heat in zip(batch, seen, maps, strict=True):
                person = view.region(regions[one.image], image, found.ids[one.image])
                if not person.any():
                    nobody.add(one.image)
                    continue
                heat = _enlarged(heat, person.shape)
                if not heat.sum() > 0:
                    silent.add(one.image)
                    continue
                if len(pictures) < overlays:
                    pictures[len(shares)] = _overlay(view.picture(image), heat, person)
                share, area = float(heat[~person].sum() / heat.sum()), float((~person).mean())
                shares.append(Share(found.ids[one.image], one.word, one.label, share, area, texts[one.image]))
    notes = _notes(len(found), len(found) - len({one.image for one in named}), len(nobody), len(silent))
    if not shares:
        raise ValueError(f"images: none is left: {'; '.join(notes)}")
    mean, area = _means(shares, bootstrap, seed)
    return ImageAttributions(shares, mean, area, len(found), notes, pictures)


def _captions(
    model: Any, processor: Any, tokenizer: Any, images: Any, captions: Mapping[str, str] | Sequence[str] | None
) -> list[str]:
    """A caption of each image, empty where there is none."""
    from captionbias.training.captioning import caption_images

    if captions is None:
        return caption_images(model, processor, images, tokenizer=tokenizer, distributed=False)
    if isinstance(captions, Mapping):
        listed = [captions.get(image) for image in images.ids]
        if all(text is None for text in listed):
            raise ValueError(f"captions: none is of an image such as {images.ids[0]!r}; give captions by image id")
    else:
        listed = list(captions)
    if len(listed) != len(images):
        raise ValueError(f"captions: {len(listed):,} for {len(images):,} images; give one for each, in their order")
    return ["" if is_missing(text) else str(text) for text in listed]


def _find_words(texts: Sequence[str], tokenizer: Any, source: LexiconSource) -> list[_Named]:
    """Each attribute word that a caption names, and the captioner's tokens of it."""
    if not getattr(tokenizer, "is_fast", False):
        raise ValueError("tokenizer does not say where its tokens are in a text; give the captioner's fast tokenizer")
    lexicon, tokens = load_lexicon(source), tokenize(texts)
    mentions, rows, found = find_mentions(tokens, lexicon), tokens.rows, []
    for start, length, label in zip(mentions.starts, mentions.lengths, mentions.labels, strict=True):
        if label < 0:  # masked in captions, but of no value
            continue
        image = int(rows[start])
        words = [tokens.words[number] for number in tokens.ids[tokens.offsets[image] : start + length]]
        first, last = _span(texts[image].lower(), words, int(length))
        cut = tokenizer(texts[image], add_special_tokens=False, return_offsets_mapping=True)
        places = [place for place, (begin, end) in enumerate(cut["offset_mapping"]) if begin < last and end > first]
        if places:
            found.append(
                _Named(image, texts[image][first:last].lower(), lexicon.labels[label], cut["input_ids"], places)
            )
    return found


def _span(text: str, words: Sequence[str], length: int) -> tuple[int, int]:
    """Where the last `length` of a text's first words begin and end in it."""
    first = last = 0
    for number, word in enumerate(words):
        begin = max(text.find(word, last), last)
        first = begin if number == len(words) - length else first
        last = begin + len(word)
    return first, last


# The map


@contextmanager
def _frozen(model: nn.Module) -> Iterator[None]:
    """In evaluation mode, as which a captioner captions; every module's own mode is put back."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode


def _activation(
    model: Any,
    processor: Any,
    tokenizer: Any,
    images: Sequence[Any],
    batch: Sequence[_Named],
    layer: str | None,
    averaged: bool,
) -> list[Floats32]:
    """The map of each word, `(height, width)` in cells of the feature map, nothing in it below 0."""
    import torch

    weights = next(model.parameters())
    inputs = {
        name: value.to(weights.device, weights.dtype if value.is_floating_point() else value.dtype)
        for name, value in processor(images=list(images), return_tensors="pt").items()
    }
    inputs["pixel_values"].requires_grad_(True)
    kept: list[Tensor] = []
    hook = _feature_layer(model, layer).register_forward_hook(lambda _, __, output: kept.append(_states(output)))
    try:
        with torch.enable_grad():
            total = _log_probability(model, tokenizer, inputs, batch)
            found = torch.autograd.grad(total, kept[-1], allow_unused=True)[0] if kept else None
    finally:
        hook.remove()
    if found is None:
        raise ValueError(
            f"layer {layer or 'of the vision encoder'}: what the captioner says does not depend on its output; give "
            "another as layer, a name in model.named_modules()"
        )
    height, width = inputs["pixel_values"].shape[-2:]
    states, gradient = (_as_map(values.detach().float(), height / width, layer) for values in (kept[-1], found))
    weight = gradient.mean(dim=(2, 3), keepdim=True) if averaged else gradient
    maps = (weight * states).sum(dim=1).clamp(min=0)
    return [np.asarray(one, np.float32) for one in maps.cpu().numpy()]


def _feature_layer(model: Any, layer: str | None) -> nn.Module:
    """The module of that name; else the vision encoder."""
    from transformers import PreTrainedModel

    modules = dict(model.named_modules())
    if layer is not None:
        if layer not in modules:
            raise ValueError(f"layer {layer!r} is not a module of the model; see model.named_modules()")
        found: nn.Module = modules[layer]
        return found
    for name, module in modules.items():
        if name and isinstance(module, PreTrainedModel) and module.main_input_name == "pixel_values":
            return module
    raise ValueError("layer is missing: the model has no vision encoder of its own; give a name in named_modules()")


def _states(output: Any) -> Tensor:
    first: Any = output[0] if isinstance(output, tuple) else output
    states: Tensor = getattr(first, "last_hidden_state", first)
    return states


def _log_probability(model: Any, tokenizer: Any, inputs: Mapping[str, Tensor], batch: Sequence[_Named]) -> Tensor:
    """Of each caption's word after all tokens before it, the sum over the batch."""
    import torch

    decoder = bool(model.config.is_encoder_decoder)
    device, longest = inputs["pixel_values"].device, max(len(one.ids) for one in batch)
    given = dict(inputs)
    begun = None if decoder else given.pop("input_ids", None)  # a chat model's prompt
    if begun is None:
        begun = torch.full((len(batch), 1), _first_token(model), device=device)
    filler = tokenizer.pad_token_id or 0  # nothing before a word depends on what is behind it
    padded = torch.tensor([one.ids + [filler] * (longest - len(one.ids)) for one in batch], device=device)
    text = torch.cat((begun, padded), dim=1)
    for name, value in given.items():  # what the processor says of each token of the prompt
        if value.shape == begun.shape:
            given[name] = torch.cat((value, torch.full_like(padded, name == "attention_mask")), dim=1)
    logits = model(**given, **{"decoder_input_ids" if decoder else "input_ids": text}).logits[:, -text.shape[1] :]
    row, place = zip(*((row, begun.shape[1] + at) for row, one in enumerate(batch) for at in one.places), strict=True)
    before = logits[list(row), [at - 1 for at in place]].float().log_softmax(dim=-1)
    said: Tensor = before.gather(1, text[list(row), list(place)][:, None]).sum()
    return said


def _first_token(model: Any) -> int:
    """What the decoder begins a caption with."""
    own = model.config.get_text_config(decoder=True)
    for number in (getattr(model.config, "decoder_start_token_id", None), own.bos_token_id):
        if number is not None:
            return int(number)
    raise ValueError(
        "model has no token that begins a caption; set decoder_start_token_id or bos_token_id in its config"
    )


def _as_map(values: Tensor, shape: float, layer: str | None) -> Tensor:
    """`(batch, channels, height, width)` of a feature map, or of patches `(batch, tokens, channels)`.

    `shape`: the picture's height over its width. Tokens of no patch come first.
    """
    if values.ndim == 4:
        return values
    tokens = values.shape[1] if values.ndim == 3 else 0
    for extra in range(min(MOST_EXTRA, tokens)):
        height = round(np.sqrt((tokens - extra) * shape))
        width = round(height / shape)
        if height * width == tokens - extra:
            return values[:, extra:].transpose(1, 2).reshape(len(values), -1, height, width)
    raise ValueError(
        f"layer {layer or 'of the vision encoder'}: its output of shape {tuple(values.shape)} is not a map of the "
        "picture; give another as layer, a name in model.named_modules()"
    )


# The picture as the captioner sees it


class _View:
    """The processor's geometry: what it makes of black and of white says what it does to colours."""

    def __init__(self, processor: Any) -> None:
        self.processor = processor
        self.levels: dict[tuple[int, int], tuple[Floats, Floats]] = {}

    def picture(self, image: Any) -> Floats:
        """A picture, `(H, W, 3)` in [0, 1], cut and scaled as the captioner sees it."""
        from PIL import Image

        if image.size not in self.levels:
            black, white = (self._pixels(Image.new("RGB", image.size, colour)) for colour in ("black", "white"))
            self.levels = {image.size: (black, white)}  # of the last size alone
        black, white = self.levels[image.size]
        spread = np.where(white == black, 1, white - black)  # padding has one colour
        seen: Floats = ((self._pixels(image) - black) / spread).clip(0, 1)
        return seen

    def region(self, region: Array, image: Any, name: str) -> Flags:
        """A region of the image, `(H, W)`, in the captioner's view."""
        from PIL import Image

        if region.shape != (image.height, image.width):
            raise ValueError(
                f"regions: that of image {name} has the shape {region.shape}, and the image "
                f"{(image.height, image.width)}; give one of the image's height and width"
            )
        drawn = Image.fromarray(np.where(region, 255, 0).astype(np.uint8)).convert("RGB")
        inside: Flags = self.picture(drawn).mean(axis=2) > 0.5
        return inside

    def _pixels(self, image: Any) -> Floats:
        pixels = np.asarray(self.processor(images=[image], return_tensors="np")["pixel_values"][0], np.float64)
        return np.moveaxis(pixels, 0, 2)


def _enlarged(heat: Floats32, shape: tuple[int, ...]) -> Floats32:
    from torch import from_numpy
    from torch.nn.functional import interpolate

    large = interpolate(from_numpy(heat)[None, None], size=shape, mode="bilinear", align_corners=False)
    return np.asarray(large[0, 0].numpy(), np.float32)


def _overlay(picture: Floats, heat: Floats32, person: Flags) -> bytes:
    """A PNG: attribution in red, the person's outline in white."""
    from PIL import Image

    covered = SHADE * heat[..., None] / heat.max()
    shown = picture * (1 - covered) + covered * np.array([1.0, 0.0, 0.0])
    inner = person.copy()
    for axis in (0, 1):
        inner &= np.roll(person, 1, axis) & np.roll(person, -1, axis)
    shown[person & ~inner] = 1
    file = io.BytesIO()
    Image.fromarray(np.rint(255 * shown).astype(np.uint8)).save(file, "PNG")
    return file.getvalue()


# What is said of all


def _means(shares: Sequence[Share], replicates: int, seed: int) -> tuple[Estimate, float]:
    """The mean share over images with its interval, and the mean area; an image counts as the mean of its words."""
    _, image = np.unique([share.image for share in shares], return_inverse=True)
    words = np.bincount(image)
    share, area = (np.bincount(image, [getattr(one, name) for one in shares]) / words for name in ("share", "area"))
    value, low, high = float(share.mean()), None, None
    if replicates > 1 and len(share) > 1:
        drawn = np.concatenate([share @ times / len(share) for times in multiplicities(len(share), replicates, seed)])
        low, high = bootstrap_interval(value, drawn, (0.0, 1.0))
    return Estimate(value, low, high), float(area.mean())


def _notes(images: int, unnamed: int, nobody: int, silent: int) -> list[str]:
    reasons = (
        (unnamed, "their captions name no attribute"),
        (nobody, "no person is in their regions"),
        (silent, "nothing in them speaks for the word"),
    )
    notes = [f"{count:,} of {images:,} images are left out: {reason}" for count, reason in reasons if count]
    for note in notes:
        warnings.warn(note, CaptionBiasWarning, stacklevel=3)
    return notes
