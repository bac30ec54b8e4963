"""What each argument of a metric is, once: for docstrings, `--help`, the modules of `evaluate` and the cards.

A sentence or more, without the last full stop, with names in backticks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from textwrap import fill
from typing import Any

from captionbias.attackers.pretrained.models import KNOWN
from captionbias.attackers.registry import BERTS, ENCODERS
from captionbias.text.lexicon import attribute_lexicons, task_lexicons

OF_PRESET = "the preset's"
ON_LABELS = ("linear", "dense")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


ARGUMENTS = {
    # Columns
    "captions": "from `check_captions` or `read_captions`, in place of columns",
    "predictions": "`n` model captions, or `n` lists of several, which count as shares of one; None to measure human "
    "captions alone, where that can be done",
    "references": "`n` lists of human captions; None to measure the captioner alone, where that can be done",
    "attributes": "`n` labels of the protected attribute, of two values or more",
    "tasks": "`n` lists of the tasks that the images show; those that human captions name when None",
    "weights": "`n` numbers above 0, how much each image counts; all alike when None",
    "scene": "`n` names or numbers, the same for images that differ in the person alone, which are then split, drawn "
    "and resampled together",
    "language": "what captions are written in, such as `de`; see `captionbias.captions.check_captions`. `words` and "
    "the lexicons by name are then those of the language",
    "trust_rows": "measure, with a note, captions, labels or tasks that do not seem to belong together",
    "predicted_attributes": "instead of captions, what is predicted from the tasks; for T to A",
    "predicted_tasks": "instead of captions, what is predicted from the attributes; for A to T",
    "training_attributes": "the labels of other images, that say which value and task go together; those of these "
    "images when None",
    "training_tasks": "the tasks of those images",
    # Words
    "attribute_lexicon": "what is measured, and masked where attackers read captions: "
    f"{_listed(attribute_lexicons())}, or a JSON file with your own words (in Python also a mapping), or several, one "
    "after the other, for crossed attributes; see `captionbias.text.load_lexicon`",
    "task_lexicon": f"task words: {_listed(task_lexicons())}, a JSON file of yours, or a `.txt` of names, one a line, "
    "to which their plurals and spellings are added",
    "tokenizer": "`words` or `whitespace`",
    "allow_unmasked": "measure although labels are not values of the attribute, or none of its words occurs (T to A "
    "needs some)",
    "vocabulary": "the words that human captions are aligned to, a JSON list (in Python also a list): the captioner's "
    "own vocabulary",
    "words": "take for tasks the frequent words of human captions, as LIC's paper does",
    "most_frequent": "with `words`, how many of the most frequent nouns, verbs, adjectives and adverbs",
    "at_least": "keep combinations that at least so many images have (with `words`: words in so many human captions "
    "per attribute value)",
    "lean": "which tasks go with which attribute value: `shipped`, as counted on COCO's images, for `gender` and "
    "`coco_objects`; `own`, as counted on these images; or a JSON file (in Python also a mapping) of each value's "
    'tasks, such as `{"female": ["nurse"], "male": ["plumber"]}`',
    # Protocol
    "preset": "`fast`: a convex attacker, no torch, seconds to minutes, whose trials test a fifth of the images each, "
    "five in a row all of them (of imagecaptioner2: half the epochs, fewer trials). `papers`: the protocol of the "
    "metric's paper (`lic-2022`, `dbac-2026`, `imagecaptioner2-2023`), with LSTMs; needs torch, and hours without a "
    "GPU. `dbac-2026-published`: its pairing, tokenizer and task words too, to compare with its tables only",
    "directions": "`a_to_t`, `t_to_a` or both",
    "controls": "also measure one more person, for `..._human` and `..._excess`, which takes two human captions or "
    "more of an image, and DBAC by captions that show neither attribute nor task words (blind attackers, for "
    "`..._blind` and `..._net`; twice the attackers)",
    "pairing": "`held-out`: each trial draws one human caption of each image; `every-caption`: each human caption is "
    "a row of its own, as published, and a person in the captioner's place does not read 0",
    "draws": "human captions that are drawn of each image, one after the other; scores are means over them",
    "unseen_only": "score only test captions that are not in the training split",
    "seed": "seed of the first trial, of what is drawn, and of the bootstrap",
    "seeds": "the seed of each trial, a list, in place of `seed` and `trials`; LIC's paper has 0, 12, 100, 200, 300, "
    "400, 456, 500, 789 and 1234",
    "bootstrap": "replicates of the bootstrap over images; 0 for none",
    # Attackers
    "encoder": f"the attacker: {_listed(name for name in (*ENCODERS, *BERTS) if name not in ON_LABELS)}; a pretrained "
    f"sentence encoder, frozen, under an MLP: {_listed(KNOWN)}, any other owner/name on the Hub, or a folder; on "
    "labels `linear` or `dense` (a small network, needs torch)",
    "model": "the model under `bert-frozen` and `bert-finetuned`: a name on the Hub, or a folder",
    "precision": "`fp32` or `bf16`, of neural attackers",
    "trials": "attackers trained for each set of captions (and direction); trial `t` splits and trains with seed "
    "`seed + t`",
    "quality": "the attacker's quality: `confidence`, `accuracy` or `inverse_cross_entropy`",
    "bayes": "False leaves the weights out of the published score, as in the paper's Table 3",
    "equalize": "make the images' labels wrong as often as the captioner's are, so that accuracy plays no part; else "
    "they are compared as they are",
    "alignment": "how human captions are said in the captioner's words: `contextual`, by word vectors, or `constant`, "
    "by one token",
    "vectors": "word vectors that align human captions with the captioner's words: `captions` (made from your human "
    "ones), a GloVe, word2vec or FastText file, or a gensim download such as glove-wiki-gigaword-50; see "
    "`captionbias.alignment.vectors.load_vectors`",
    "delta": "largest cosine distance of a contextual substitution",
    "cache": "keep finished trials, and train none twice (in Python also the folder to keep them)",
    "distributed": "share the trials with the other processes of `accelerate launch`, each of which must then make the "
    "same call and gets the whole result; else the process that calls measures alone",
    "keep_attackers": "keep so many attackers of the captioner's captions, the first, for "
    "`captionbias.explain.explain`; `measure` returns them. They are trained even if their scores are kept",
    "progress": "None for a bar if it takes long; True for a bar, False for nothing; or a function to call with the "
    "numbers of finished and of all trials, whose exception ends the run (finished trials are kept)",
    "details": "add the nested entry `details`",
    # Images
    "images": "the images, joined with captions by their ids: a folder, a table of paths, "
    "`owner/dataset:configuration:split`, or in Python whatever `captionbias.images.reading.read_images` takes, or a "
    "list with one for each caption. Of lic, for attackers that read them beside the captions (VL-LIC): `bow`, "
    "`bert-frozen` and pretrained ones; mask the people in them first (`captionbias mask`), or the attacker sees the "
    "attribute itself",
    "image_encoder": "the frozen image model that reads the pictures: a name on the Hub, or a folder",
    "masks": "what of each image shows the person, to be masked: a file of COCO's annotations, or in Python arrays "
    "`(H, W)` of flags; left out where images are masked already, or show nobody, as artworks may",
    "form": "what of a person is masked: `segment`, `box`, or a share of the segment such as `top:0.5`",
    "fill": "the paint of what is masked: `mean`, the mean colour of the rest, `blur`, or a colour such as `#808080`",
    "epochs": "epochs of the judge's training",
    "prompt": "what follows each caption",
    "answers": "what each label is called in the answer, if not by its name, as in `female=woman` (in Python a "
    "mapping)",
}
# Of metrics that take labels, or captions that name them.
LABELS = {
    "predictions": "`n` model captions, or `n` lists of several, which count as shares of one; the attribute and task "
    "words in them are the predicted labels",
    "references": "`n` lists of human captions; the tasks that they name are those shown, unless `tasks` gives them",
    "attributes": "`n` labels, `n` lists of labels, or a 0/1 array `(n, values)`; with captions one label an image, "
    "each a label of `attribute_lexicon`",
    "tasks": "the same of the tasks that the images show: lists of names, or a 0/1 array `(n, tasks)`",
}
FROM_PRESETS = (
    *("attribute_lexicon", "task_lexicon", "tokenizer", "controls", "pairing", "encoder", "trials", "quality"),
    *("alignment", "vectors", "delta"),
)
# What None stands for, where it is the default.
USUAL = dict.fromkeys(FROM_PRESETS, OF_PRESET) | {
    "vocabulary": "the words of its captions",
    "lean": "`shipped` where there is a table",
    "model": "`bert-base-uncased`",
    "precision": "`bf16` where the device computes it natively",
    "image_encoder": "`microsoft/resnet-50`",
    "epochs": "40",
    "prompt": "Therefore, the <attribute> is",
}


def described(names: Iterable[str], about: Mapping[str, str], metric: str) -> dict[str, str]:
    """What each of a metric's arguments is; `about`: of those that mean something else in other metrics."""
    texts = ARGUMENTS | dict(about)
    if unknown := [name for name in names if name not in texts]:
        raise TypeError(f"{metric}: {unknown[0]} is no argument of other metrics: say in `about` what it is")
    return {name: texts[name] for name in names}


def sentence(name: str, about: str, default: Any) -> str:
    """What an argument with this default is."""
    return f"{about}{f'; {USUAL[name]} when None' if default is None and name in USUAL else ''}."


def section(title: str, *texts: str) -> str:
    """A section of a docstring."""
    further = " " * (4 if len(texts) == 1 else 8)
    wrap = partial(fill, width=112, initial_indent=" " * 4, subsequent_indent=further, break_on_hyphens=False)
    return "\n".join([f"{title}:", *map(wrap, texts)])
