"""How good captions are, to set beside how biased they are: BLEU-4, ROUGE-L, METEOR and CIDEr."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import numpy as np

from captionbias.bench.protocol import signature, whole_number
from captionbias.captions import check_sides
from captionbias.captions.check import digest_of_rows
from captionbias.scores.quality import check_scorers, spoken, wordnet
from captionbias.scores.quality import meteor as meteor
from captionbias.text.languages import signed
from captionbias.text.tokens import TOKENIZERS, tokenizer_name
from captionbias.text.tokens import tokenizer as find_tokenizer
from captionbias.warnings import warn


def caption_quality(
    *, predictions: Any, references: Any, tokenizer: Any = "words", images: int | None = None, seed: int = 0
) -> dict[str, Any]:
    """How close a captioner's captions are to human captions.

    Tokens without a letter or a digit are left out, as in COCO's evaluation, but captions are split as bias metrics
    split them, so the numbers are close to published ones, not the same.

    Args:
        predictions: `n` captions of the captioner.
        references: `n` lists of human captions.
        tokenizer: `words`, `whitespace`, a language such as `de`, or a function from a caption to its words.
        images: measure this many images, drawn without replacement with `seed`; all of them when None or if there are
            no more. CIDEr weights words by how few of the measured images have them.
        seed: of the draw.

    Returns:
        `bleu_4`, `rouge_l` and `meteor` in [0, 1], `cider` in [0, 10], the higher the better, and `signature`. METEOR
        matches synonyms through WordNet; if that is not installed, it is `meteor_without_synonyms` instead.

    Warns:
        CaptionBiasWarning: WordNet is not installed.

    Source: Papineni et al. 2002; Lin 2004; Banerjee and Lavie 2005; Vedantam et al. 2015.

    >>> quality = caption_quality(
    ...     predictions=["a man rides a brown horse", "two dogs run on the beach"],
    ...     references=[["a man rides a brown horse on the grass"], ["two dogs run along a beach", "dogs at the sea"]],
    ... )
    >>> round(quality["bleu_4"], 3), round(quality["rouge_l"], 3), round(quality["cider"], 2)
    (0.521, 0.719, 4.45)
    """
    check_scorers()
    from pycocoevalcap.bleu.bleu import Bleu
    from pycocoevalcap.cider.cider import Cider
    from pycocoevalcap.rouge.rouge import Rouge

    tokenizer = tokenizer_name(tokenizer)
    model, human = check_sides(predictions, references, tokenizer not in TOKENIZERS)
    seed = whole_number("seed", seed, least=0)
    measured: dict[str, Any] = {"metric": "caption_quality", "tok": signed(tokenizer)}
    if images is not None and whole_number("images", images, least=1) < len(model):
        drawn = np.sort(np.random.default_rng([seed, 7]).choice(len(model), images, replace=False))
        model, human = tuple(model[row] for row in drawn), tuple(human[row] for row in drawn)
        measured |= {"images": images, "seed": seed}
    words = [_words(text, tokenizer) for text in model]
    wanted = [[_words(text, tokenizer) for text in texts] for texts in human]
    measured["rows"] = digest_of_rows(words, wanted)
    results = {image: [" ".join(text)] for image, text in enumerate(words)}
    ground = {image: [" ".join(text) for text in texts] for image, texts in enumerate(wanted)}
    bleu, _ = Bleu(4).compute_score(ground, results, verbose=0)
    scores = {
        "bleu_4": float(bleu[3]),
        "rouge_l": float(Rouge().compute_score(ground, results)[0]),
        "cider": float(Cider().compute_score(ground, results)[0]),
    }
    name = meteor_name()
    scores[name] = float(meteor(words, wanted).mean())
    versions = [f"{package} {version(package)}" for package in ("pycocoevalcap", "nltk")]
    versions += [f"wordnet {known.get_version()}"] if (known := wordnet()) else []
    return {**scores, "signature": signature(**measured, meteor=name, by=",".join(versions))}


def meteor_name() -> str:
    """What the score of `meteor` is called on this machine; warns where there is no WordNet."""
    if wordnet() is not None:
        return "meteor"
    warn(
        "METEOR without synonyms: WordNet is not installed; get it with python -m nltk.downloader wordnet",
    )
    return "meteor_without_synonyms"


def _words(caption: str, name: str) -> list[str]:
    return spoken(find_tokenizer(name)(caption))
