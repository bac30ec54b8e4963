"""What each argument of a metric is, once: for docstrings, `--help`, the modules of `evaluate` and the cards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from inspect import Parameter
from pathlib import Path
from textwrap import fill
from typing import Any

from captionbias.attackers.pretrained.models import KNOWN
from captionbias.attackers.registry import BERTS, ENCODERS
from captionbias.text.lexicon import attribute_lexicons, task_lexicons

INPUT, ATTACK, JUDGE = "Input files", "Attackers", "Judges"  # panels of `--help`
OF_PRESET = "the preset's"
ON_LABELS = ("linear", "dense")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


@dataclass(frozen=True)
class Argument:
    """What an argument is, in a sentence or more without the last full stop.

    Attributes:
        about: text, with names in backticks.
        usual: what None stands for.
        kind: its type on the command line, whose default is `default`.
        flag, metavar: there, where they are not made from its name.
        panel: where `--help` lists it; None for what only programs give.
        least: the least number that it may be there.
    """

    about: str
    usual: str = ""
    kind: Any = str | None
    default: Any = None
    flag: str = ""
    metavar: str | None = None
    panel: str | None = ATTACK
    least: int | None = None

    def sentence(self, default: Any) -> str:
        """The text for programs, of which the argument has this default."""
        return f"{self.about}{f'; {self.usual} when None' if self.usual and default is None else ''}."

    @property
    def plain(self) -> str:
        """The text for a command line."""
        text = self.about if self.about.startswith("`") else self.about[0].upper() + self.about[1:]
        return f"{text.replace('`', '')}."


given = partial(Argument, panel=None)
of_files, of_judge = partial(Argument, panel=INPUT), partial(Argument, panel=JUDGE)
switch = partial(Argument, kind=bool, default=False)

ARGUMENTS = {
    # Columns
    "captions": given("from `check_captions` or `read_captions`, in place of columns"),
    "predictions": given(
        "`n` model captions, or `n` lists of several, which count as shares of one; None to measure human captions "
        "alone, where that can be done"
    ),
    "references": given("`n` lists of human captions; None to measure the captioner alone, where that can be done"),
    "attributes": given("`n` labels of the protected attribute, of two values or more"),
    "tasks": given("`n` lists of the tasks that the images show; those that human captions name when None"),
    "weights": given("`n` numbers above 0, how much each image counts; all alike when None"),
    "language": given(
        "what captions are written in, such as `de`; see `captionbias.captions.check_captions`. `words` and the "
        "lexicons by name are then those of the language"
    ),
    "predicted_attributes": given("instead of captions, what is predicted from the tasks; for T to A"),
    "predicted_tasks": given("instead of captions, what is predicted from the attributes; for A to T"),
    "training_attributes": given(
        "the labels of other images, that say which value and task go together; those of these images when None"
    ),
    "training_tasks": given("the tasks of those images"),
    # Words
    "attribute_lexicon": of_files(
        f"what is measured, and masked where attackers read captions: {_listed(attribute_lexicons())}, or a JSON "
        "file with your own words (in Python also a mapping), or several, one after the other, for crossed attributes; "
        "see `captionbias.text.load_lexicon`",
        OF_PRESET,
        kind=list[str],
        default=["gender"],
        flag="--attribute",
        metavar="<name|file>",
    ),
    "task_lexicon": of_files(f"task words: {_listed(task_lexicons())}, or a JSON file of yours", OF_PRESET),
    "tokenizer": given("`words` or `whitespace`", OF_PRESET),
    "allow_unmasked": switch(
        "measure although labels are not values of the attribute, or none of its words occurs (T to A needs some)",
        panel=INPUT,
    ),
    "vocabulary": Argument(
        "the words that human captions are aligned to, a JSON list (in Python also a list): the captioner's own "
        "vocabulary",
        "the words of its captions",
        kind=Path | None,
    ),
    "words": switch("take for tasks the frequent words of human captions, as LIC's paper does"),
    "most_frequent": given("with `words`, how many of the most frequent nouns, verbs, adjectives and adverbs"),
    "at_least": Argument(
        "keep combinations that at least so many images have (with `words`: words in so many human captions per "
        "attribute value)",
        kind=int | None,
        least=1,
    ),
    "lean": Argument(
        "which tasks go with which attribute value: `shipped`, as counted on COCO's images, for `gender` and "
        "`coco_objects`, or `own`, as counted on these",
        "`shipped` where there is a table",
    ),
    # Protocol
    "preset": Argument(
        "`fast`: a convex attacker, no torch, seconds to minutes (of imagecaptioner2: half the epochs, fewer trials). "
        "`papers`: the protocol of the metric's paper (`lic-2022`, `dbac-2026`, `imagecaptioner2-2023`), with LSTMs; "
        "needs torch, and hours without a GPU. `dbac-2026-published`: its pairing, tokenizer and task words too, to "
        "compare with its tables only",
        kind=str,
        default="papers",
    ),
    "directions": Argument(
        "`a_to_t`, `t_to_a` or both", kind=list[str] | None, flag="--direction", metavar="<a_to_t|t_to_a>"
    ),
    "controls": Argument(
        "also measure one more person, for `..._human` and `..._excess`, which takes two human captions or more of an "
        "image, and DBAC by captions that show neither attribute nor task words (blind attackers, for `..._blind` and "
        "`..._net`; twice the attackers)",
        OF_PRESET,
        kind=bool | None,
    ),
    "pairing": given(
        "`held-out`: each trial draws one human caption of each image; `every-caption`: each human caption is a row of "
        "its own, as published, and a person in the captioner's place does not read 0",
        OF_PRESET,
    ),
    "draws": Argument(
        "human captions that are drawn of each image, one after the other; scores are means over them",
        kind=int,
        default=5,
    ),
    "unseen_only": switch("score only test captions that are not in the training split"),
    "join_references": switch(
        "where the captioner writes longer captions than people, join as many human captions of an image into one as "
        "make them as long; images with too few are left out"
    ),
    "seed": Argument("seed of the first trial, of what is drawn, and of the bootstrap", kind=int, default=0),
    "bootstrap": Argument("replicates of the bootstrap over images; 0 for none", kind=int, default=1000),
    # Attackers
    "encoder": Argument(
        f"the attacker: {', '.join(f'`{name}`' for name in (*ENCODERS, *BERTS) if name not in ON_LABELS)}; a "
        f"pretrained sentence encoder, frozen, under an MLP: {', '.join(f'`{name}`' for name in KNOWN)}, any other "
        "owner/name on the Hub, or a folder; on labels `linear` or `dense` (a small network, needs torch); or your own "
        "`torch.nn.Module`, as `module:Class` (in Python also a class)",
        OF_PRESET,
    ),
    "model": Argument(
        "the model under `bert-frozen` and `bert-finetuned`: a name on the Hub, or a folder", "`bert-base-uncased`"
    ),
    "precision": Argument("`fp32` or `bf16`, of neural attackers", "`bf16` where the device computes it natively"),
    "trials": Argument(
        "attackers trained for each set of captions (and direction); trial `t` splits and trains with seed `seed + t`",
        OF_PRESET,
        kind=int | None,
    ),
    "quality": Argument("the attacker's quality: `confidence`, `accuracy` or `inverse_cross_entropy`", OF_PRESET),
    "bayes": given("False leaves the weights out of the published score, as in the paper's Table 3"),
    "equalize": Argument(
        "make the images' labels wrong as often as the captioner's are, so that accuracy plays no part; else they are "
        "compared as they are",
        kind=bool,
        default=True,
    ),
    "alignment": Argument(
        "how human captions are said in the captioner's words: `contextual`, by word vectors, or `constant`, by one "
        "token",
        OF_PRESET,
        metavar="<contextual|constant>",
    ),
    "vectors": Argument(
        "word vectors that align human captions with the captioner's words: `captions` (made from your human ones), a "
        "GloVe, word2vec or FastText file, or a gensim download such as glove-wiki-gigaword-50; see "
        "`captionbias.alignment.vectors.load_vectors`",
        OF_PRESET,
    ),
    "delta": given("largest cosine distance of a contextual substitution", OF_PRESET),
    "cache": Argument(
        "keep finished trials, and train none twice; see `captionbias cache` (in Python also the folder to keep them)",
        kind=bool,
        default=True,
    ),
    "distributed": given(
        "share the trials with the other processes of `accelerate launch`, if there are any; False when one of them "
        "alone measures"
    ),
    "keep_attackers": given(
        "keep so many attackers of the captioner's captions, the first, for `captionbias.explain.explain`; `measure` "
        "returns them. They are trained even if their scores are kept"
    ),
    "progress": given(
        "None for a bar, or log lines without a terminal or notebook, if it takes long; True for a bar, False for "
        "nothing; or a function to call with the numbers of finished and of all trials, whose exception ends the run "
        "(finished trials are kept)"
    ),
    "details": given("add the nested entry `details`"),
    # Images
    "images": of_files(
        "the images, joined with captions by their ids: a folder, a table of paths, "
        "`owner/dataset:configuration:split`, or in Python whatever `captionbias.images.reading.read_images` takes, or "
        "a list with one for each caption. Of lic, for attackers that read them beside the captions (VL-LIC): `bow`, "
        "`bert-frozen` and pretrained ones; mask the people in them first (`captionbias mask`), or the attacker sees "
        "the attribute itself",
        metavar="<folder|file|dataset>",
    ),
    "image_encoder": Argument(
        "the frozen image model that reads the pictures: a name on the Hub, or a folder", "`microsoft/resnet-50`"
    ),
    "masks": of_files(
        "what of each image shows the person, to be masked: a file of COCO's annotations, or in Python arrays `(H, W)` "
        "of flags; left out where images are masked already, or show nobody, as artworks may",
        kind=Path | None,
        flag="--annotations",
    ),
    "form": of_files(
        "what of a person is masked: `segment`, `box`, or a share of the segment such as `top:0.5`",
        kind=str,
        default="segment",
    ),
    "fill": of_files(
        "the paint of what is masked: `mean`, the mean colour of the rest, `blur`, or a colour such as `#808080`",
        kind=str,
        default="mean",
    ),
    "judge": of_judge(
        "`sat`, a small Show-Attend-Tell that is trained from scratch, or an image-to-text model of transformers "
        "(owner/name on the Hub, or a folder), which is fine-tuned; see `captionbias.images.judges.find_judge`",
        "`sat`",
        metavar="<sat|model>",
    ),
    "as_is": of_judge(
        "take that model as it is and train nothing, so that all images are scored: the paper's self-assessment, if it "
        "is the captioner under test",
        kind=bool,
        default=False,
    ),
    "epochs": of_judge("epochs of the training", "40 from scratch, 5 of fine-tuning", kind=int | None, least=1),
    "prompt": of_judge("what follows each caption", "Therefore, the <attribute> is"),
    "answers": of_judge(
        "what each label is called in the answer, if not by its name, as in `female=woman` (in Python a mapping)",
        kind=list[str] | None,
        flag="--answer",
        metavar="<label=word>",
    ),
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


def described(parameters: Mapping[str, Parameter], about: Mapping[str, str], metric: str) -> dict[str, Argument]:
    """Each of a metric's arguments; `about`: texts of its own, where one means something else than in other metrics."""
    if unknown := [name for name in parameters if name not in ARGUMENTS and name not in about]:
        raise TypeError(f"{metric}: {unknown[0]} is no argument of other metrics: say in `about` what it is")
    own = {name: replace(ARGUMENTS.get(name, given("")), about=text) for name, text in about.items()}
    return {name: own.get(name) or ARGUMENTS[name] for name in parameters}


def section(title: str, *texts: str) -> str:
    """A section of a docstring."""
    further = " " * (4 if len(texts) == 1 else 8)
    wrap = partial(fill, width=112, initial_indent=" " * 4, subsequent_indent=further, break_on_hyphens=False)
    return "\n".join([f"{title}:", *map(wrap, texts)])
