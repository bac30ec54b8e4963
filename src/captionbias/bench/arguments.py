"""What each argument of a metric is, once: for docstrings, `--help`, modules of `evaluate`, cards and the page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from textwrap import fill
from typing import Any, NamedTuple

from captionbias.attackers.pretrained.models import KNOWN
from captionbias.attackers.registry import BERTS, ENCODERS
from captionbias.bench.protocol import replicate_count, seed_list, text, whole_number
from captionbias.text.lexicon import attribute_lexicons, check_lexicon, task_lexicons
from captionbias.text.tokens import tokenizer_name

INPUT, ATTACKERS, JUDGES = "Input files", "Attackers", "Judges"  # panels of help
OF_PRESET = "the preset's"
ON_LABELS = ("linear", "dense")


class Option(NamedTuple):
    """How an argument is given on the command line: its type, its default there, its flag if that is not its name."""

    kind: Any
    default: Any = None
    flag: str = ""
    panel: str = ATTACKERS
    metavar: str | None = None
    least: int | None = None


class Entry(NamedTuple):
    """What an argument is: a sentence or more, without the last full stop, with names in backticks."""

    about: str
    option: Option | None = None  # None for those that programs alone give
    none: str = ""  # what None stands for, where it is the default
    of_labels: str = ""  # what it is instead where a metric takes labels, or captions that name them

    def sentence(self, default: Any) -> str:
        """What it is where it has this default."""
        return f"{self.about}{f'; {self.none} when None' if default is None and self.none else ''}."

    @property
    def help(self) -> str:
        """The same for those who write no code: for the command line and for controls."""
        text = f"{self.about}.".replace("`", "")
        return text if self.about.startswith("`") else text[0].upper() + text[1:]


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


ARGUMENTS: dict[str, Entry] = {
    # Columns
    "captions": Entry("from `check_captions` or `read_captions`, in place of columns"),
    "predictions": Entry(
        "`n` captions of the captioner, or `n` lists of several, which count as equal shares of one; None to measure "
        "human captions alone, if the metric can",
        of_labels="`n` captions of the captioner, or `n` lists of several, which count as equal shares of one; the "
        "attribute and task words in them are the predicted labels",
    ),
    "references": Entry(
        "`n` lists of human captions; None to measure the captioner alone, if the metric can",
        of_labels="`n` lists of human captions; the tasks that they name are those shown, unless `tasks` gives them",
    ),
    "attributes": Entry(
        "`n` labels of the protected attribute, of two values or more",
        of_labels="`n` labels, `n` lists of labels, or a 0/1 array `(n, values)`; with captions, one label per "
        "image, each a label of `attribute_lexicon`",
    ),
    "tasks": Entry(
        "`n` lists of the tasks that the images show; when None, those that human captions name",
        of_labels="the tasks that the images show: `n` lists of names, or a 0/1 array `(n, tasks)`",
    ),
    "weights": Entry("`n` numbers above 0: how much each image counts; equally when None"),
    "freq_weights": Entry(
        "with columns, of how many images each row stands: `n` whole numbers of 1 or more. Scores and intervals are "
        "those of the rows repeated as often; 1 when None"
    ),
    "scene": Entry(
        "`n` names or numbers, the same for images that differ in the person alone, which are then split, drawn "
        "and resampled together"
    ),
    "language": Entry(
        "the language of the captions, such as `de`; see `captionbias.captions.check_captions`. `words` and "
        "the lexicons by name are then those of the language"
    ),
    "trust_rows": Entry("measure captions, labels or tasks even if they do not seem to belong together, with a note"),
    "predicted_attributes": Entry("instead of captions, the attributes predicted from the tasks; for T to A"),
    "predicted_tasks": Entry("instead of captions, the tasks predicted from the attributes; for A to T"),
    "training_attributes": Entry(
        "labels of other images, which say which value and task go together; when None, those of these images"
    ),
    "training_tasks": Entry("the tasks of these other images"),
    # Words
    "attribute_lexicon": Entry(
        f"the attribute to measure, and to mask if attackers read captions: {_listed(attribute_lexicons())}, or a "
        "JSON file with your own words (in Python also a mapping); or several of these, for crossed attributes; see "
        "`captionbias.text.load_lexicon`",
        Option(list[str], ["gender"], flag="attribute", metavar="<name|file>", panel=INPUT),
        none=OF_PRESET,
    ),
    "task_lexicon": Entry(
        f"task words: {_listed(task_lexicons())}, a JSON file of your own, or a `.txt` of names, one per "
        "line, to which plurals and spellings are added",
        Option(str, panel=INPUT),
        none=OF_PRESET,
    ),
    "tokenizer": Entry("`words` or `whitespace`", none=OF_PRESET),
    "allow_unmasked": Entry(
        "measure even if labels are not values of the attribute, or none of its words occurs (T to A needs some)",
        Option(bool, False, panel=INPUT),
    ),
    "vocabulary": Entry(
        "the captioner's vocabulary, to which human captions are aligned: a JSON list (in Python also a list)",
        Option(Path),
        none="the words of its captions",
    ),
    "words": Entry("use the frequent words of human captions as tasks, as LIC's paper does", Option(bool, False)),
    "most_frequent": Entry("with `words`, the number of most frequent nouns, verbs, adjectives and adverbs to use"),
    "at_least": Entry(
        "keep combinations that at least this many images have (with `words`: words in this many human captions "
        "per attribute value)",
        Option(int, least=1),
    ),
    "lean": Entry(
        "which tasks go with which attribute value: `shipped`, as counted on COCO's images, for `gender` and "
        "`coco_objects`; `own`, as counted on these images; or a JSON file (in Python also a mapping) of each value's "
        'tasks, such as `{"female": ["nurse"], "male": ["plumber"]}`',
        Option(str),
        none="`shipped` where there is a table",
    ),
    "label_error": Entry(
        "also measure with this share of each value's labels, drawn at random, made wrong: `..._label_error_low` and "
        "`..._label_error_high` are the range over which each main score moves",
        Option(float, metavar="<0.03>"),
    ),
    # Protocol
    "preset": Entry(
        "`fast`: a convex attacker, no torch, seconds to minutes; a trial tests a fifth of the images, and five in a "
        "row test all (for imagecaptioner2: half the epochs, fewer trials). `papers`: the protocol of the metric's "
        "paper (`lic-2022`, `dbac-2026`, `imagecaptioner2-2023`), with LSTMs; needs torch, and takes hours without a "
        "GPU. `dbac-2026-published`: also its pairing, tokenizer and task words, only to compare with its tables",
        Option(str, "papers"),
    ),
    "directions": Entry("`a_to_t`, `t_to_a` or both", Option(list[str], flag="direction", metavar="<a_to_t|t_to_a>")),
    "controls": Entry(
        "also measure one more person, for `..._human` and `..._excess`, which needs at least two human captions "
        "of an image; and for DBAC, captions with both attribute and task words masked (blind attackers, for "
        "`..._blind` and `..._net`; twice the attackers)",
        Option(bool),
        none=OF_PRESET,
    ),
    "pairing": Entry(
        "`held-out`: each trial draws one human caption of each image; `every-caption`: each human caption is "
        "a row of its own, as published, and a person in the captioner's place does not score 0",
        none=OF_PRESET,
    ),
    "draws": Entry(
        "how many human captions of each image are drawn, one after the other; scores are means over the draws",
        Option(int, 5),
    ),
    "unseen_only": Entry("score only test captions that are not in the training split", Option(bool, False)),
    "seed": Entry("seed of the first trial, of the draws, and of the bootstrap", Option(int, 0)),
    "seeds": Entry(
        "the seed of each trial, a list, instead of `seed` and `trials`; LIC's paper has 0, 12, 100, 200, 300, "
        "400, 456, 500, 789 and 1234",
        Option(str, metavar="<0,12,...>"),
    ),
    "bootstrap": Entry("number of bootstrap replicates over images; 0 for none", Option(int, 1000)),
    # Attackers
    "encoder": Entry(
        f"the attacker: {_listed(name for name in (*ENCODERS, *BERTS) if name not in ON_LABELS)}; a pretrained "
        f"sentence encoder, frozen, with an MLP on top: {_listed(KNOWN)}, any other owner/name on the Hub, or a "
        "folder; for labels, `linear` or `dense` (a small network, needs torch)",
        Option(str),
        none=OF_PRESET,
    ),
    "model": Entry(
        "the model behind `bert-frozen` and `bert-finetuned`: a name on the Hub, or a folder",
        Option(str),
        none="`bert-base-uncased`",
    ),
    "precision": Entry(
        "`fp32` or `bf16`, for neural attackers; on a GPU also `fp16`",
        Option(str),
        none="`bf16` if the device computes it natively, `fp16` on other GPUs, otherwise `fp32`",
    ),
    "trials": Entry(
        "number of attackers trained for each side (and direction); trial `t` splits and trains with seed `seed + t`",
        Option(int),
        none=OF_PRESET,
    ),
    "quality": Entry(
        "how the attacker is scored: `confidence`, `accuracy` or `inverse_cross_entropy`", Option(str), none=OF_PRESET
    ),
    "bayes": Entry("False leaves the weights out of the published score, as in the paper's Table 3"),
    "equalize": Entry(
        "make the images' labels wrong as often as the captioner's, so that accuracy plays no part; otherwise "
        "labels are compared as they are",
        Option(bool, True),
    ),
    "alignment": Entry(
        "how human captions are rewritten in the captioner's words: `contextual`, by word vectors, or `constant`, "
        "by one token",
        Option(str, metavar="<contextual|constant>"),
        none=OF_PRESET,
    ),
    "vectors": Entry(
        "word vectors that align human captions with the captioner's words: `captions` (made from your human "
        "captions), a GloVe, word2vec or FastText file, or a gensim download such as glove-wiki-gigaword-50; see "
        "`captionbias.alignment.vectors.load_vectors`",
        Option(str),
        none=OF_PRESET,
    ),
    "delta": Entry("largest cosine distance of a contextual substitution", none=OF_PRESET),
    "cache": Entry(
        "keep finished trials, and train none twice (in Python also the folder to keep them in)",
        Option(bool, True),
    ),
    "distributed": Entry(
        "share the trials with the other processes of `accelerate launch`, each of which must then make the "
        "same call and gets the whole result; otherwise the calling process measures alone"
    ),
    "keep_attackers": Entry(
        "keep the first so many attackers of the captioner's captions, for `captionbias.explain.explain`; "
        "`measure` returns them. They are trained even if their scores are kept"
    ),
    "progress": Entry(
        "None for a bar if it takes long; True for a bar, False for nothing; or a function that is called with the "
        "numbers of finished and of all trials, and whose exception ends the run (finished trials are kept)"
    ),
    "details": Entry("add the nested entry `details`"),
    # Images
    "images": Entry(
        "the images, joined with captions by their ids: a folder, a table of paths, "
        "`owner/dataset:configuration:split`, or in Python whatever `captionbias.images.reading.read_images` takes, or "
        "a list with one for each caption. In lic, for attackers that read them beside the captions (VL-LIC): `bow`, "
        "`bert-frozen` and pretrained ones; mask the people in them first (`captionbias mask`), or the attacker sees "
        "the attribute itself",
        Option(str, metavar="<folder|file|dataset>", panel=INPUT),
    ),
    "image_encoder": Entry(
        "the frozen image model that reads the pictures: a name on the Hub, or a folder",
        Option(str),
        none="`microsoft/resnet-50`",
    ),
    "masks": Entry(
        "the part of each image that shows the person, to be masked: a file of COCO's annotations, or in Python "
        "boolean arrays `(H, W)`; leave it out if images are already masked, or show nobody, as artworks may",
        Option(Path, flag="annotations", panel=INPUT),
    ),
    "form": Entry(
        "which part of a person is masked: `segment`, `box`, or a share of the segment such as `top:0.5`",
        Option(str, "segment", panel=INPUT),
    ),
    "fill": Entry(
        "how masked parts are filled: `mean`, the mean colour of the rest, `blur`, or a colour such as `#808080`",
        Option(str, "mean", panel=INPUT),
    ),
    "epochs": Entry("epochs of the judge's training", Option(int, least=1, panel=JUDGES), none="40"),
    "prompt": Entry(
        "the text that follows each caption", Option(str, panel=JUDGES), none="Therefore, the <attribute> is"
    ),
    "answers": Entry(
        "the word for each label in the answer, if not its name, as in `female=woman` (in Python a mapping)",
        Option(list[str], flag="answer", metavar="<label=word>", panel=JUDGES),
    ),
}

WHOLE = {"seed": 0, "trials": 1, "draws": 1, "epochs": 1, "keep_attackers": 0, "most_frequent": 1}
# From an argument's name and its value to what a metric gets, or an `InputError`.
CHECKS: dict[str, Callable[[str, Any], Any]] = {
    **{name: partial(whole_number, least=least) for name, least in WHOLE.items()},
    **dict.fromkeys(("attribute_lexicon", "task_lexicon"), check_lexicon),
    **dict.fromkeys(("preset", "encoder", "model", "precision", "quality", "alignment", "pairing"), text),
    **dict.fromkeys(("image_encoder", "form", "fill", "prompt"), text),
    "tokenizer": lambda _, value: tokenizer_name(value),
    "bootstrap": replicate_count,
    "seeds": seed_list,
    "vectors": lambda name, value: value if hasattr(value, "index_to_key") else text(name, value),
}


def describe(names: Iterable[str], about: Mapping[str, str], metric: str, of_labels: bool = False) -> dict[str, Entry]:
    """What each of a metric's arguments is. `about`: of those that mean something else in other metrics, or are its
    alone; `of_labels`: whether it takes labels."""
    labels = {name: entry.of_labels for name, entry in ARGUMENTS.items() if of_labels and entry.of_labels}
    own = {
        name: ARGUMENTS.get(name, Entry(""))._replace(about=text, none="") for name, text in {**labels, **about}.items()
    }
    entries = ARGUMENTS | own
    if unknown := [name for name in names if name not in entries]:
        raise TypeError(f"{metric}: {unknown[0]} is not an argument of other metrics: say in `about` what it is")
    return {name: entries[name] for name in names}


def section(title: str, *texts: str) -> str:
    """A section of a docstring."""
    further = " " * (4 if len(texts) == 1 else 8)
    wrap = partial(fill, width=112, initial_indent=" " * 4, subsequent_indent=further, break_on_hyphens=False)
    return "\n".join([f"{title}:", *map(wrap, texts)])
