"""How well alignment preserves human captions: constant beside contextual, of your own captions.

usage: python benchmarks/alignment_quality.py --predictions nic.parquet --references people.parquet --vectors captions
"""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

import numpy as np

from captionbias.alignment.align import align
from captionbias.alignment.vectors import load_vectors
from captionbias.analysis.caption_quality import meteor, meteor_name
from captionbias.bench.protocol import signature, whole_number
from captionbias.captions import check_sides, read_captions
from captionbias.text import TOKENIZERS, Tokens, tokenize
from captionbias.text.languages import signed

DELTA = 0.4  # of DBAC, for GloVe


def alignment_quality(
    *,
    predictions: Any,
    references: Any,
    vectors: Any,
    delta: float = DELTA,
    tokenizer: str = "words",
    captions: int = 2000,
    seed: int = 0,
) -> dict[str, Any]:
    """Compare ways to put human captions into a captioner's words, as DBAC's section 5.4 and appendix A do.

    METEOR credits a substitution only if it knows the two words for synonyms or forms of one word: without WordNet it
    hardly tells contextual substitution from constant.

    Args:
        predictions: `n` model captions, whose words are the vocabulary.
        references: `n` lists of human captions.
        vectors: word vectors of contextual substitution, see `captionbias.alignment.vectors.load_vectors`.
        delta: largest cosine distance of a contextual substitution.
        tokenizer: `words`, `whitespace` or a language such as `de`.
        captions: METEOR is taken of so many human captions, drawn with `seed`; of all, if there are fewer.
        seed: of the draw.

    Returns:
        METEOR between human captions before and after substitution, mean over `captions`: `contextual` and
        `constant`; `score`: `meteor`, or `meteor_without_synonyms` where WordNet is not installed; `report`: what was
        replaced; `signature`.

    Raises:
        ValueError: bad captions, word vectors or delta; no word vectors; no word to replace.
    """
    count, seed = whole_number("captions", captions, least=1), whole_number("seed", seed, least=0)
    model_texts, human = check_sides(predictions, references, tokenizer not in TOKENIZERS)
    texts = [text for image in human for text in image]
    tokens = tokenize([*model_texts, *texts], tokenizer)
    model, people = tokens.between(0, len(model_texts)), tokens.between(len(model_texts), len(tokens))
    drawn = np.sort(np.random.default_rng(seed).permutation(len(texts))[:count])

    def kept(aligned: Tokens) -> float:
        """METEOR against the captions before alignment."""
        before, after = ([text.split() for text in part.select(drawn).texts()] for part in (people, aligned))
        return float(meteor(after, [[words] for words in before]).mean())

    constant, report = align(people, model.present(), frozenset(), None)
    if not report.replaced_unknown:
        raise ValueError("references: every word is one of the captioner's, so there is nothing to align")
    name = meteor_name()
    contextual, report = align(people, model.present(), frozenset(), load_vectors(vectors, people), delta)
    parts = {"metric": "alignment_quality", "tok": signed(tokenizer), "delta": delta, "meteor": name, "captions": count}
    return {
        "contextual": kept(contextual),
        "constant": kept(constant),
        "score": name,
        "captions": len(drawn),
        "report": report,
        "signature": signature(**parts, seed=seed),
    }


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    for name in ("predictions", "references", "vectors"):
        parser.add_argument(f"--{name}", required=True)
    given = parser.parse_args()
    sides = read_captions(predictions=given.predictions, references=given.references)
    found = alignment_quality(predictions=sides.predictions, references=sides.references, vectors=given.vectors)
    for name, value in found.items():
        print(f"{name:12}{value}")


if __name__ == "__main__":
    main()
