"""The one input type of every metric, and the check that makes it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, compress, repeat
from typing import Any, NamedTuple, TypeVar

import numpy as np

from captionbias.arrays import Array, Flags, Integers
from captionbias.captions.answers import MOST_QUOTED, NO_FRAME, Frame
from captionbias.captions.belonging import mismatches, strays
from captionbias.captions.entries import (
    Ids,
    are_drawn,
    as_lists,
    captions_by_image,
    check_lengths,
    check_split,
    check_strings,
    checked_attributes,
    checked_ids,
    checked_lists,
    checked_scenes,
    checked_tasks,
    checked_weights,
    in_order,
    places_of,
    plain_strings,
)
from captionbias.captions.labels import rename_labels
from captionbias.captions.names import COLUMNS, SIDES
from captionbias.captions.texts import canonical_order
from captionbias.captions.values import ROW, as_list
from captionbias.captions.words import Words as Words
from captionbias.errors import InputError, Message, few, missing, phrase
from captionbias.hashes import Hashes, hashes_of, mix, occurrences, sums_of
from captionbias.text import (
    Lexicon,
    Mentions,
    Tokens,
    crossed_labels,
    find_mentions,
    load_lexicon,
    merge,
    tokenize,
)
from captionbias.text.languages import COVERED, check_language, load_language, signed
from captionbias.text.main_person import main_values
from captionbias.text.tokens import is_unsplit
from captionbias.warnings import CaptionBiasWarning as CaptionBiasWarning
from captionbias.warnings import warn

FEW_COPIES, MOST_STRAY = 0.05, 0.2  # of the images, of the captions
JUDGED = 20_000  # images that tell which captions are given to many
SIGN_OF_A_COPY = 30  # words in common

T = TypeVar("T")


@dataclass(frozen=True, repr=False)
class Captions:
    """Captions of `n` images that passed `check_captions`, which is the way to make one.

    Attributes:
        predictions: `n` model captions, or None.
        references: `n` tuples of one or more human captions, or None.
        attributes: `n` labels of the protected attribute, of two or more values.
        tasks: `n` tuples of task names, some of them empty, or None.
        image_ids: `n` names for the images, all different, or None. They serve messages and `image_set` only.
        weights: `n` numbers above 0, how much each image counts; None for all alike.
        scene: `n` names of scenes, whose images differ in the person alone, or None.
        samples: where the captioner was asked several times, `n` tuples of its captions of an image, which together
            count as one; `predictions` has the first of each.
        missing: of each label how many images there were, and of how many of them the captioner's caption is missing
            or no caption, as many as they weigh; None where none is.
        language: what captions are written in, see `check_captions`; None for English.
        trust_rows: whether to measure what does not seem to belong together.
        part: whether these are some of the images, of which what only all can tell is not asked.
        filters: what was taken off, and left out of, a part.
        people_notes, model_notes: see `notes`.
    """

    predictions: tuple[str, ...] | None
    references: tuple[tuple[str, ...], ...] | None
    attributes: tuple[str, ...]
    tasks: tuple[tuple[str, ...], ...] | None
    image_ids: tuple[str, ...] | None
    weights: tuple[float, ...] | None = None
    scene: tuple[str, ...] | None = None
    samples: tuple[tuple[str, ...], ...] | None = None
    missing: dict[str, tuple[float, float]] | None = field(default=None, compare=False)
    language: str | None = None
    trust_rows: bool = False
    part: bool = False
    filters: Filters | None = field(default=None, compare=False)
    people_notes: tuple[str, ...] = field(default=(), compare=False)
    model_notes: tuple[str, ...] = field(default=(), compare=False)
    # What was made of both sides' texts, see `_once`; and of the human side for every captioner, see `cached`.
    _made: dict[Any, Any] = field(default_factory=dict, init=False, compare=False)
    _cache: dict[str, tuple[Any, Any]] = field(default_factory=dict, init=False, compare=False)

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know of the captions before a number is believed; every metric repeats it."""
        return self.people_notes + self.model_notes

    def with_predictions(self, predictions: Collection[Any]) -> Captions:
        """The same images and human captions with the `n` captions of another captioner, which alone are checked; those
        of them that have one."""
        unsplit = is_unsplit([text for texts in self.references or () for text in texts])  # as somebody's own tokenizer
        images = self.of_same_people(replace(self, predictions=None, samples=None, missing=None, model_notes=()))
        return People(images, range(len(self)), len(self), self.image_ids).with_predictions(predictions, unsplit)

    def with_unchecked_predictions(self, texts: Iterable[str]) -> Captions:
        """The same images and human captions with these captions of our own making, which are not checked."""
        return self.of_same_people(replace(self, predictions=tuple(texts), samples=None, missing=None, model_notes=()))

    def with_attributes(self, attributes: Collection[Any]) -> Captions:
        """The same captions of the same images with `n` other labels, which alone are checked."""
        lists = as_lists({"attributes": attributes, "captions": self.attributes})
        labels = checked_attributes(lists["attributes"], self.image_ids)
        renamed, missing = set(zip(self.attributes, labels, strict=True)), dict[str, tuple[float, float]]()
        for label, name in sorted(renamed) if self.missing and len(renamed) == len({*self.attributes}) else ():
            counts = self.missing or {}
            of_name = zip(counts[label], missing.get(name, (0.0, 0.0)), strict=True)
            missing[name] = tuple(map(sum, of_name))  # type: ignore[assignment]
        other = self.of_same_people(replace(self, attributes=labels, missing=missing or None))
        object.__setattr__(other, "_made", self._made)
        return other

    def without_tasks(self) -> Captions:
        """The same captions, whose tasks are those that human captions name."""
        return self.of_same_people(replace(self, tasks=None))

    @property
    def mean_words(self) -> tuple[float, float] | None:
        """The mean number of words in captions of the captioner and of people; None where a side is missing."""
        if self.predictions is None or self.references is None:
            return None
        if self.language:
            words = self.words()
            return float(words.model.lengths.mean()), float(words.human.lengths.mean())
        people = list(chain.from_iterable(self.references))
        return _mean_words(self.predictions), self.cached("mean words", None, lambda: _mean_words(people))

    def first_samples(self) -> Captions:
        """The same with the first of the captioner's captions of each image alone."""
        return self.of_same_people(replace(self, samples=None)) if self.samples else self

    def columns(self, rows: Collection[int]) -> dict[str, Any]:
        """The columns of the images in these rows, as `check_captions` takes them."""
        part = self.select(rows)
        columns = {name: getattr(part, name) for name in COLUMNS}
        columns |= {"predictions": part.samples} if part.samples else {}
        settings = {"language": self.language, "trust_rows": self.trust_rows}
        return columns | {name: value for name, value in settings.items() if value}

    def select(self, rows: Collection[int], **changed: Any) -> Captions:
        """The images in these rows, with other columns in place of some."""
        for name in {*COLUMNS, "samples"} - changed.keys():
            column = getattr(self, name)
            changed[name] = column and tuple(column[row] for row in rows)
        return replace(self, **changed)

    def of_same_people(self, other: Captions) -> Captions:
        """The other captions, which have the same human captions, of which all is made once."""
        object.__setattr__(other, "_cache", self._cache)
        return other

    @property
    def copies(self) -> Integers | None:
        """The number of the picture that each image is, `(n,)`, where more than one image in 20 has the human
        captions of another, 30 words or more: copies of a picture, as a table with a row a person has them. None
        where fewer do. Fewer words are no sign: pictures alike have them in common. Images of a scene are copies.
        """
        return self.cached("copies", None, self._copies)

    def _copies(self) -> Integers | None:
        if self.scene:
            return np.unique(self.scene, return_inverse=True)[1].astype(np.int64)
        _, first, number = np.unique(self.keys, return_index=True, return_inverse=True)
        return np.argsort(np.argsort(first))[number] if len(first) < len(self) * (1 - FEW_COPIES) else None

    @property
    def keys(self) -> Hashes:
        """A number for the picture that each image is, `(n,)`, by which captions are drawn and images resampled,
        wherever these stand: of its scene, else of its human captions, its id or its row. Pictures of fewer than 30
        words whose human captions are the same are told apart by their ids, or by their order; of a part all by ids."""
        return self.cached("keys", None, self._keys)

    def _keys(self) -> Hashes:
        if self.scene or not self.references:
            return hashes_of([str(name) for name in self.scene or self.image_ids or range(len(self))])
        counts = np.array(list(map(len, self.references)), np.int64)
        every = sums_of(hashes_of(list(chain.from_iterable(self.references))), counts)
        words = np.array([sum(text.count(" ") + 1 for text in texts) for texts in self.references])
        _, alike, times = np.unique(every, return_inverse=True, return_counts=True)
        told_apart = (words < SIGN_OF_A_COPY) & (self.part | (times[alike] > 1))
        names = hashes_of(self.image_ids) if self.image_ids else occurrences(every)
        return mix(np.where(told_apart, every ^ mix(names), every))

    @property
    def image_set(self) -> str:
        """A digest of the images, in any order: their ids, labels and human captions."""
        rows = zip(self.image_ids or repeat(""), self.attributes, self.references or repeat(()), strict=False)
        return hashlib.sha256(repr(sorted(rows)).encode()).hexdigest()[:8]

    def words(self, tokenizer: str | None = None) -> Words:
        """The captions of both sides, over one vocabulary, split by the tokenizer `words`, `whitespace` or that of a
        language, None for theirs; the human ones once for all captioners made by `with_predictions`.
        """
        tokenizer = tokenizer or self.language or "words"
        return self._once(("words", tokenizer), lambda: self._words(tokenizer))

    def _words(self, tokenizer: str) -> Words:
        human = self.cached(f"words {tokenizer}", None, lambda: self._human_words(tokenizer))
        samples = self.samples or ()
        model = tokenize(list(chain.from_iterable(samples)) or self.predictions or (), tokenizer)
        # Human captions' words come first, so that attackers of these are the same beside any captioner.
        tokens = Tokens.joined([human.tokens.between(0, 0), model, human.tokens])
        image = np.repeat(np.arange(len(samples)), list(map(len, samples))) if samples else np.arange(len(model))
        keys = np.concatenate((self._caption_keys(samples, image), human.keys))
        return replace(human, tokens=tokens, model_image=image, keys=keys)

    def _human_words(self, tokenizer: str) -> Words:
        references = self.references or ()
        counts = np.array(list(map(len, references)), np.int64)
        tokens = tokenize(list(chain.from_iterable(references)), tokenizer)
        image = np.repeat(np.arange(len(counts)), counts)
        return Words(tokens, np.zeros(0, np.int64), image, self._caption_keys(references, image))

    def _caption_keys(self, texts: Sequence[Sequence[str]], image: Integers) -> Hashes:
        """The number of each caption of these images, several of each; of one alone its image's."""
        if not texts:
            return self.keys[image]
        said = hashes_of(list(chain.from_iterable(texts)))
        again = occurrences(mix(said ^ mix(image.astype(np.uint64))))  # what is said twice is drawn twice as often
        return mix(mix(said ^ self.keys[image]) + again)

    def _once(self, key: Any, make: Callable[[], T]) -> T:
        """What `make` makes of both sides' texts, once, whatever the labels are."""
        if key not in self._made:
            self._made[key] = make()
        made: T = self._made[key]
        return made

    def cached(self, name: str, key: Any, make: Callable[[], T]) -> T:
        """What `make` makes of the human captions, once for all captioners made by `with_predictions`. Of each `name`
        the last is kept; `key`: what else it was made of."""
        if name not in self._cache or self._cache[name][0] != key:
            self._cache[name] = key, make()
        made: T = self._cache[name][1]
        return made

    def mentions(self, lexicon: Lexicon, tokenizer: str | None = None) -> Mentions:
        """The mentions of a lexicon's words in `words(tokenizer).tokens`; of a crossing see `find_mentions`. Each text
        is searched once a lexicon, human captions once for all captioners made by `with_predictions`.
        """
        tokenizer = tokenizer or self.language or "words"
        return self._once(("mentions", lexicon, tokenizer), lambda: self._mentions(lexicon, tokenizer))

    def _mentions(self, lexicon: Lexicon, tokenizer: str) -> Mentions:
        if lexicon.parts:
            return merge([self.mentions(part, tokenizer) for part in lexicon.parts])
        words = self.words(tokenizer)
        of_people: dict[tuple[Lexicon, str], Mentions] = self.cached("mentions", None, dict)
        if (lexicon, tokenizer) not in of_people:
            of_people[lexicon, tokenizer] = find_mentions(words.human, lexicon, tokenizer)
        model, human = find_mentions(words.model, lexicon, tokenizer), of_people[lexicon, tokenizer]
        human = human._replace(starts=human.starts + len(words.model.ids))
        return Mentions(*map(np.concatenate, zip(model, human, strict=True)))

    def named(self, lexicon: Lexicon, tokenizer: str | None = None) -> Flags:
        """Flags of the lexicon's labels that each caption of `words(tokenizer)` names, `(captions, labels)`; of a
        crossing see `captionbias.text.named_values`."""
        if lexicon.parts:
            return crossed_labels([self.named(part, tokenizer) for part in lexicon.parts])
        tokens, mentions = self.words(tokenizer).tokens, self.mentions(lexicon, tokenizer)
        return mentions.named(tokens, len(lexicon.labels))

    def main_values(self, lexicon: Lexicon, tokenizer: str | None = None) -> tuple[Flags, Flags]:
        """Which label of the lexicon each caption of `words(tokenizer)` names of the person who is meant, `(captions,
        labels)`, and which captions tell of several persons, `(captions,)`; see `captionbias.text.main_person`."""
        tokenizer = tokenizer or self.language or "words"
        return self._once(("main", lexicon, tokenizer), lambda: self._main_values(lexicon, tokenizer))

    def _main_values(self, lexicon: Lexicon, tokenizer: str) -> tuple[Flags, Flags]:
        if lexicon.parts:
            parts = [self.main_values(part, tokenizer) for part in lexicon.parts]
            return crossed_labels([named for named, _ in parts]), np.any([several for _, several in parts], axis=0)
        words, mentions = self.words(tokenizer), self.mentions(lexicon, tokenizer)
        own = mentions.starts < len(words.model.ids)
        human = mentions.select(~own)
        human = human._replace(starts=human.starts - len(words.model.ids))
        model_tasks, human_tasks = (
            self.tasks and [self.tasks[of] for of in image.tolist()] for image in (words.model_image, words.human_image)
        )
        people = self.cached(
            f"main values {tokenizer} {lexicon.name}",
            (lexicon, self.tasks),
            lambda: main_values(words.human, human, lexicon, tokenizer, human_tasks),
        )
        captioner = main_values(words.model, mentions.select(own), lexicon, tokenizer, model_tasks)
        named, several = (np.concatenate(sides) for sides in zip(captioner, people, strict=True))
        return named, several

    def rows(self) -> dict[str, str]:
        """Entries of a signature: `rows`, a digest of the images in their order, which captioners share: of labels,
        human captions, tasks and by what they are drawn; `predictions`, of the captioner's captions; `weights` and
        `scene`, of theirs; `samples`, how several captions of an image count.

        Attackers' splits draw rows by their place, so the same images in another order may score otherwise.
        """
        also = {"samples": self.samples and "mean", "language": self.language}
        signed = {name: text for name, text in also.items() if text}
        if self.part:  # whose rows are in no signature
            return signed
        rows = digest_of_rows(self.attributes, self.references, self.tasks, self.keys.tobytes())
        columns = {"predictions": self.samples or self.predictions, "weights": self.weights, "scene": self.scene}
        return {"rows": rows} | {name: digest_of_rows(column) for name, column in columns.items() if column} | signed

    def signed_tokenizer(self, tokenizer: str, *lexicons: Lexicon) -> str:
        """The tokenizer's name in a signature; of a function also a digest of the words that it gave, of captions and
        of the lexicons."""
        if "@" not in tokenizer:
            return signed(tokenizer)
        tokens = self.words(tokenizer).tokens
        mentions: list[Array] = [column for lexicon in lexicons for column in self.mentions(lexicon, tokenizer)]
        arrays: list[Array] = [tokens.ids, tokens.offsets, *mentions]
        return f"{signed(tokenizer)}-{digest_of_rows(tokens.words, *(array.tobytes() for array in arrays))}"

    def __reduce__(self) -> tuple[Any, ...]:  # without the words, which are quickly split again
        fields = (*COLUMNS, "samples", "missing", "language", "trust_rows", "part", "people_notes", "model_notes")
        return partial(Captions, **{name: getattr(self, name) for name in fields}), ()

    def __len__(self) -> int:
        return len(self.attributes)

    def __repr__(self) -> str:
        present = [name for name in COLUMNS if getattr(self, name) is not None]
        return f"<Captions of {len(self):,} images: {', '.join(present)}>"


def _mean_words(texts: Collection[str]) -> float:
    return sum(len(text.split()) for text in texts) / len(texts)


def digest_of_rows(*columns: Any) -> str:
    """The first eight digits of a SHA-256 of what these columns hold, in its order."""
    return hashlib.sha256(repr(columns).encode("utf-8", "backslashreplace")).hexdigest()[:8]


def check_captions(
    *,
    predictions: Collection[Any] | None = None,
    references: Collection[Any] | None = None,
    attributes: Collection[Any] | None = None,
    tasks: Collection[Any] | None = None,
    image_ids: Collection[Any] | None = None,
    weights: Collection[Any] | None = None,
    scene: Collection[Any] | None = None,
    labels: Mapping[Any, str] | None = None,
    language: str | None = None,
    unsplit: bool = False,
    trust_rows: bool = False,
) -> Captions:
    """Check the captions of `n` images and freeze them.

    Each argument is a list, tuple, numpy array, pandas Series, pyarrow array or datasets Column with `n` rows.

    Args:
        predictions: `n` strings, the captioner's captions, or `n` lists of one or more if it was asked several times:
            these then count as one caption. May be left out if `references` is given.
        references: `n` lists of one or more strings, the human captions. May be left out if `predictions` is given.
        attributes: `n` strings, the label of the protected attribute in each image.
        tasks: `n` lists of strings, the tasks (objects, activities) in each image. A list may be empty.
        image_ids: `n` strings or numbers that name the images in error messages.
        weights: `n` numbers above 0: an image of weight 2 counts as two images. Weights that average less than 1, such
            as probabilities, are scaled to an average of 1. Equal when None.
        scene: `n` names or numbers, the same for images that differ in the person alone, such as a counterfactual set.
        labels: the values that labels stand for, as in `{"0": "female", "1": "male"}`; the labels may be numbers.
        language: the language of the captions: `en` (the same as None), `de`, `es`, `fr`, `ja` or `zh`. Metrics then
            see words as lemmas, and use the lexicons of the language. At least half of each side's captions must name a
            gender or an object of COCO in it.
        unsplit: accept captions in a script without spaces that are not split into words, for a tokenizer of your own.
        trust_rows: give a note instead of an error if rows do not seem to belong together: predictions whose words are
            in the human captions of the same image as often as by chance, or that are human captions themselves; tasks
            that captions name as often as by chance; labels that captions contradict (human captions or, without these,
            the captioner's). Human captions that all occur twice then count twice.

    Returns:
        The same captions as tuples of strings, without thoughts (`<think>...</think>`), special tokens, and the prompt
        or offer that nearly all begin or end with; a list of words becomes one caption. An image is left out if it
        lacks a caption on a side that is given, if its caption is a refusal, or if the same caption is given for many
        images that it does not fit. The human captions of an image have a fixed order, and if people have each of
        theirs twice, each is kept once. COCO's objects have COCO's names.

    Warns:
        CaptionBiasWarning: something is left out or removed; `notes` says the same.

    Example:
        >>> captions = check_captions(
        ...     predictions=["a man on a bike", "a woman with a dog"],
        ...     references=[["a man rides a bike"], ["a woman walks a dog", "a lady and her pet"]],
        ...     attributes=["male", "female"],
        ... )
        >>> captions
        <Captions of 2 images: predictions, references, attributes>
        >>> captions.references[1]
        ('a lady and her pet', 'a woman walks a dog')
        >>> check_captions(references=[["a man"], "a girl"], attributes=["male", "female"])  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        captionbias.errors.InputError: references[1] is of type str: every row is a list of captions; give one, or ...
    """
    if predictions is None and references is None:
        raise missing(
            "predictions", phrase("and {references} are both missing: give model captions, human captions or both")
        )
    people = check_people(
        predictions=predictions,
        references=references,
        attributes=attributes,
        tasks=tasks,
        image_ids=image_ids,
        weights=weights,
        scene=scene,
        labels=labels,
        language=language,
        trust_rows=trust_rows,
    )
    captions = people.with_predictions(predictions, unsplit)
    for message in captions.notes:
        warn(message)
    return captions


class Filters(NamedTuple):
    """What is no caption of an image, though nearly all captions, or those of many images, have it."""

    frame: Frame = NO_FRAME
    strays: tuple[str, ...] = ()


class People(NamedTuple):
    """What is known of images, whoever captions them."""

    images: Captions  # without a captioner; those with a human caption
    rows: Sequence[int]  # of the columns that were given, where these are
    row_count: int
    ids: Ids  # of all of them

    def with_predictions(
        self,
        predictions: Collection[Any] | None,
        unsplit: bool = False,
        known: Sequence[str] = (),
        filters: Filters | None = None,
    ) -> Captions:
        """The images of which a captioner says something, with that, or all where none is asked; InputError where
        captions are not in their language, or do not belong together. `known`: notes that are theirs already;
        `filters`: of images of which these are a part."""
        captions, notes = self.images.of_same_people(replace(self.images)), list(known)
        if predictions is not None:
            column = as_list("predictions", predictions)
            check_lengths({"predictions": column, "attributes": range(self.row_count)})
            lists, frame = captions_by_image("predictions", column, self.ids, notes, filters and filters.frame)
            captions = _with_captions(captions, [lists[row] for row in self.rows], notes)
            filters = filters or Filters(frame)
        if captions.part:
            captions = _without_texts(captions, filters.strays, notes) if filters else captions
            object.__setattr__(captions, "filters", filters)
            return captions
        if captions.language or not unsplit:
            _check_language(captions)
        if predictions is not None and captions.references is not None and not captions.trust_rows:
            captions = _without_texts(captions, stray_texts(captions, self.ids), notes)
        for error in mismatches(captions.words(), len(captions), captions.tasks, captions.language, captions.mentions):
            if not captions.trust_rows:
                raise error
            notes.append(Message(*error.message.parts, ways=["measured anyway"]))
        object.__setattr__(captions, "model_notes", tuple(notes))  # a copy would have no words yet
        return captions


def check_people(
    *,
    labels: Mapping[Any, str] | None = None,
    language: str | None = None,
    trust_rows: bool = False,
    part: bool = False,
    **columns: Collection[Any] | None,
) -> People:
    """Check all columns but `predictions` like `check_captions`; without a side, where only labels are needed. `part`:
    see `Captions`."""
    if columns.get("attributes") is None:
        raise missing("attributes", "is missing: give one label for each image, such as 'female' or 'male'")
    lists, notes = as_lists(columns), list[str]()
    if labels:
        lists["attributes"] = rename_labels(lists["attributes"], labels)
    ids = checked_ids(lists["image_ids"]) if "image_ids" in lists else None
    lists_of_texts = None
    if "references" in lists:
        by_image, _ = captions_by_image("references", lists["references"], ids, notes)
        lists_of_texts = [tuple(filter(None, texts)) for texts in by_image]
    images = Captions(
        predictions=None,
        references=None if lists_of_texts is None else in_order(lists_of_texts, trust_rows or part, notes),
        attributes=checked_attributes(lists["attributes"], ids, part),
        tasks=checked_tasks(lists["tasks"], ids) if "tasks" in lists else None,
        image_ids=ids,
        weights=checked_weights(lists["weights"], ids, part) if "weights" in lists else None,
        scene=checked_scenes(lists["scene"], ids) if "scene" in lists else None,
        language=check_language(language),
        trust_rows=trust_rows,
        part=part,
    )
    rows = [row for row in range(len(images)) if lists_of_texts is None or lists_of_texts[row]]
    if len(rows) < len(images):
        images = _with_rows(images, rows, "have no human caption", "references", notes)
    return People(replace(images, people_notes=tuple(notes)), rows, len(lists["attributes"]), ids)


def _with_rows(
    captions: Captions, rows: Sequence[int], lack: str, side: str, notes: list[str], **columns: Any
) -> Captions:
    """The images in these rows, with a note of what the others lack."""
    if not rows:
        raise InputError(side, "has no caption in any row; fill it in, or name another column")
    names = captions.image_ids or [f"{ROW}{row}" for row in range(len(captions))]
    lost = few((names[row] for row in sorted({*range(len(captions))}.difference(rows))), 3)
    notes.append(f"{len(captions) - len(rows):,} of {len(captions):,} images {lack} and are left out (first: {lost})")
    others = replace(captions, image_ids=tuple(names)).select(rows, **columns)
    if not captions.part and len({*others.attributes}) < min(len({*captions.attributes}), 2):
        alone = f": {notes.pop()}, which leaves {others.attributes[0]!r} alone:"
        raise InputError(side, alone, "fill them in", "add images of another value")
    return others


def _with_captions(captions: Captions, lists: Sequence[tuple[str, ...]], notes: list[str]) -> Captions:
    """The images of which the captioner says something, with that."""
    said = [tuple(filter(None, texts)) for texts in lists]
    weight = np.ones(len(captions)) if captions.weights is None else np.array(captions.weights)
    told, asked = (np.array(list(map(len, rows))) for rows in (said, lists))
    without = weight * (1 - told / np.maximum(asked, 1))
    if captions.part or without.any():
        labels = {label: number for number, label in enumerate(dict.fromkeys(captions.attributes))}
        number = np.array([labels[label] for label in captions.attributes])
        sums = (np.bincount(number, of).tolist() for of in (weight, without))
        missing = dict(zip(labels, zip(*sums, strict=True), strict=True))
        captions = captions.of_same_people(replace(captions, missing=missing))
    return _with_samples(captions, said, "have no caption", notes)


def _with_samples(captions: Captions, said: Sequence[tuple[str, ...]], lack: str, notes: list[str]) -> Captions:
    """The images of which the captioner says something, with that, and a note of what the others lack."""
    rows = [row for row, texts in enumerate(said) if texts]
    samples = canonical_order([said[row] for row in rows], once=False)
    columns: dict[str, Any] = {"predictions": tuple(texts[0] for texts in samples)}
    columns |= {"samples": samples if any(len(texts) > 1 for texts in samples) else None}
    if len(rows) < len(captions):
        return _with_rows(captions, rows, f"{lack}{_by_label(captions, rows)}", "predictions", notes, **columns)
    return captions.of_same_people(replace(captions, **columns))


def stray_texts(captions: Captions, ids: Ids) -> tuple[str, ...]:
    """The captions that the captioner gives to many images, which they fit no better than others, as a sample of the
    images `ids` tells; InputError if these are too many."""
    names = ids or [f"{row}" for row in range(len(captions))]
    if len(names) > JUDGED:
        drawn = set(compress(names, are_drawn(names, JUDGED)))
        captions = captions.select([row for row, name in enumerate(captions.image_ids or names) if name in drawn])
    texts = list(chain.from_iterable(captions.samples or zip(captions.predictions or (), strict=True)))
    stray = {texts[row] for row in strays(captions.words(), captions.attributes, captions.language)}
    share = sum(map(stray.__contains__, texts)) / len(texts)
    if share > MOST_STRAY:
        fault = f": {share:.0%} of them are {_quoted(stray)}, and fit these no better than others:"
        trust = phrase("measure them anyway, with {trust_rows}", trust_rows=True)
        raise InputError("predictions", fault, "caption these images again", trust)
    return tuple(sorted(stray))


def _quoted(stray: Collection[str]) -> str:
    return f"{few((repr(text[:MOST_QUOTED]) for text in sorted(stray)), 1)}, said of many images"


def _without_texts(captions: Captions, stray: Sequence[str], notes: list[str]) -> Captions:
    """The images that have another caption than these stray ones."""
    said = list(captions.samples or zip(captions.predictions or (), strict=True))
    texts = list(chain.from_iterable(said))
    share = sum(map({*stray}.__contains__, texts)) / len(texts)
    if not share:
        return captions
    quoted = _quoted(stray)
    notes.append(f"predictions: {quoted}, fits them no better than others: {share:.0%} are left out")
    said = [tuple(text for text in of_image if text not in stray) for of_image in said]
    return _with_samples(captions, said, "have no other caption", notes)


def _by_label(captions: Captions, rows: list[int]) -> str:
    """How many images of each label are not in these rows: a captioner may refuse to caption some people."""
    every = Counter(captions.attributes)
    without = every - Counter(captions.attributes[row] for row in rows)
    shares = few(f"{label} {without[label]:,} of {every[label]:,}" for label in sorted(every))
    return f" ({shares})"


def _check_language(captions: Captions) -> None:
    """Refuse sides that are not split into words, or hardly name anything in their language."""
    language = captions.language
    if not language:
        for side in SIDES:
            check_split(side, getattr(captions, side) or ())
        return
    words, named = captions.words(), np.zeros(len(captions.words().tokens), bool)
    for lexicon in load_language(language).lexicons:
        named[words.tokens.rows[captions.mentions(load_lexicon(f"{lexicon}-{language}")).starts]] = True
    for side, of_side in (("predictions", named[: words.model_rows]), ("references", named[words.model_rows :])):
        if len(of_side) and of_side.mean() < COVERED:
            raise InputError(
                side,
                f": {of_side.mean():.0%} of them name a gender or an object in language {language!r}, and at least "
                f"{COVERED:.0%} must",
                "give the language that they are in",
                phrase(
                    "leave it out and give words of your own as {attribute_lexicon} and {task_lexicon}, with "
                    "{tokenizer}",
                    tokenizer=language,
                ),
            )


def check_sides(
    predictions: Any, references: Any, unsplit: bool = False
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Check the captions of both sides of `n` images where no labels are needed; see `check_captions`."""
    lists = as_lists({"predictions": predictions, "references": references})
    if len(lists) < 2:
        side = "predictions" if predictions is None else "references"
        raise missing(side, "is missing: give model captions and human captions")
    check_strings(lists["predictions"], places_of("predictions", None), "caption", "drop the image or add a caption")
    people = checked_lists("references", lists["references"], None, "caption")
    for row, texts in enumerate(people):
        if not texts:
            raise InputError("references", "is empty: drop the image, or add a human caption", row=row)
    sides = plain_strings(lists["predictions"]), tuple(map(plain_strings, people))
    if not unsplit:
        check_split("predictions", sides[0])
        check_split("references", sides[1])
    return sides
