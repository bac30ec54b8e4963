"""What a captioner's word owes to the person and to the rest of the picture, by filling each of them.

A part's credit is what it adds to the log-odds of the word, averaged over whether the other is in sight: its Shapley
value. Log-odds, as log-probability ends at 0: of a word that is nearly certain without a picture nothing would be seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from captionbias.arrays import Flags, Floats
from captionbias.attackers.pretrained.encoding import silenced
from captionbias.errors import InputError
from captionbias.images.masks import mask_image
from captionbias.text import LexiconSource, load_lexicon
from captionbias.text.marks import find_marks
from captionbias.training.captioning import moved

LEAST = 1e-12  # of the probability that another word is said


class NamedWord(NamedTuple):
    """A place where a caption names the attribute: the tokens of the word, and the tokens of the caption."""

    image: int
    word: str
    label: str
    ids: list[int]
    places: list[int]


def named_words(texts: Sequence[str], tokenizer: Any, source: LexiconSource) -> list[NamedWord]:
    """The attribute words in captions, with the captioner's tokens of each."""
    if not getattr(tokenizer, "is_fast", False):
        raise InputError(
            "tokenizer", "does not say where its tokens are in a text; give the captioner's fast tokenizer"
        )
    named = []
    for image, marks in enumerate(find_marks(texts, load_lexicon(source))):
        for first, last, label in marks:
            cut = tokenizer(texts[image], add_special_tokens=False, return_offsets_mapping=True)
            places = [place for place, (begin, end) in enumerate(cut["offset_mapping"]) if begin < last and end > first]
            if places and label is not None:  # else it is masked in captions, but of no value
                named.append(NamedWord(image, texts[image][first:last].lower(), label, cut["input_ids"], places))
    return named


def credits(
    model: Any, processor: Any, images: Sequence[Any], regions: Sequence[Flags], batch: Sequence[NamedWord], fill: str
) -> Floats:
    """The credit of the person and of the rest of the image for each word's log-odds, `(words, 2)`, in nats.

    `images`, `regions`: for each word an RGB picture, and its pixels that show the person, `(H, W)`.
    """

    def word_chances(hidden: Sequence[Flags]) -> Floats:
        pictures = [_filled(*pair, fill) for pair in zip(images, hidden, strict=True)]
        logs = log_probabilities(model, processor(images=pictures, return_tensors="pt"), batch)
        return logs - np.log(-np.expm1(np.minimum(logs, -LEAST)))

    nowhere = [np.zeros_like(region) for region in regions]
    both, rest = word_chances(nowhere), word_chances(regions)
    person, none = (word_chances([~region for region in hidden]) for hidden in (regions, nowhere))
    return np.stack([both - rest + person - none, both - person + rest - none], axis=1) / 2


def log_probabilities(model: Any, inputs: Mapping[str, Any], batch: Sequence[NamedWord]) -> Floats:
    """The log-probability of each word after all that is before it in its caption, `(words,)`.

    The model generates, as when it captions, but says the given tokens: every family that generates can be asked.
    """
    import torch

    weights = next(model.parameters())
    first = getattr(model.generation_config, "forced_bos_token_id", None)
    start = [] if first is None else [first]
    texts = [start + word.ids[: word.places[-1] + 1] for word in batch]
    longest = max(map(len, texts))
    tokens = torch.tensor([row + row[-1:] * (longest - len(row)) for row in texts], device=weights.device)
    coming = iter(tokens.T)

    def forced(_: Any, scores: Any) -> Any:
        return torch.full_like(scores, -torch.inf).scatter_(1, next(coming)[:, None], 0)

    with silenced(), torch.no_grad():
        output = model.generate(
            **{name: moved(value, weights) for name, value in inputs.items()},
            logits_processor=[forced],
            max_new_tokens=longest,
            num_beams=1,
            do_sample=False,
            return_dict_in_generate=True,
            output_logits=True,
        )
    steps = zip(output.logits, tokens.T, strict=True)
    each = [logits.double().log_softmax(1).gather(1, step[:, None])[:, 0] for logits, step in steps]
    rows = torch.stack(each, dim=1).cpu().numpy()
    return np.array([row[len(start) + np.array(word.places)].sum() for row, word in zip(rows, batch, strict=True)])


def _filled(image: Any, hidden: Flags, fill: str) -> Any:
    """The picture with these pixels filled, by the same colour whichever they are."""
    from PIL import ImageStat

    if fill == "mean":
        fill = "#" + bytes(map(round, ImageStat.Stat(image).mean)).hex()
    return mask_image(image, hidden, fill)
