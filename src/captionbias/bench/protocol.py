"""The presets that papers define, the settings of one measurement, and the signature that a score carries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from pathlib import Path
from typing import Any, TypeVar

from captionbias._version import __version__
from captionbias.alignment.vectors import CAPTIONS, identity
from captionbias.captions.check import digest_of_rows
from captionbias.captions.values import as_list, is_column
from captionbias.errors import InputError, phrase, unknown
from captionbias.text import Lexicon, LexiconSource

LEAST_REPLICATES = 20  # of the bootstrap
MOST = 2**32 - 1  # the largest seed of most libraries, and more of anything than a computer can do


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a preset sets of a metric whose attackers read captions."""

    trials: int
    test_share: float
    folded: bool = False  # whether trials test parts of the same images, so that each is tested once
    tokenizer: str = "words"
    attribute_lexicon: LexiconSource = "gender"
    seeds: tuple[int, ...] = ()  # of the trials, where they do not follow each other; from no preset

    @property
    def parts(self) -> int:
        """How many trials in a row cut the images into the parts that they test; 1 where each splits them anew."""
        return round(1 / self.test_share) if self.folded else 1

    @property
    def split(self) -> str:
        """How images are split, for the signature."""
        return f"folds,{self.parts}" if self.folded else "all" if self.test_share == 1 else f"{self.test_share:g}"

    @property
    def lexicons(self) -> dict[str, LexiconSource]:
        """The lexicons by what their words name."""
        return {"attribute": self.attribute_lexicon}


@dataclass(frozen=True, kw_only=True)
class Alignment(Settings):
    """The same where human captions are put in the captioner's words; `vocabulary`: all of these, from no preset."""

    encoder: str
    alignment: str
    vectors: Any = "captions"
    delta: float = 0.4
    names_kept: bool = False  # whether words of the lexicons stay as they are
    vocabulary: frozenset[str] | None = None


S = TypeVar("S", bound=Settings)


def preset_settings(presets: Mapping[str, S], preset: str, **chosen: Any) -> tuple[str, S]:
    """The preset's own name and its settings, with those that the caller chose, not None, in their place. `papers` is
    the first, the metric's protocol of its paper."""
    name = next(iter(presets)) if preset == "papers" else preset
    if not isinstance(name, str) or name not in presets:
        raise unknown("preset", preset, (*presets, "papers"))
    usual = presets[name]
    settings = replace(usual, **{setting: value for setting, value in chosen.items() if value is not None})
    if isinstance(settings, Alignment) and settings.alignment not in ("constant", "contextual"):
        raise unknown("alignment", settings.alignment, ("constant", "contextual"))
    if settings.seeds != ():
        if chosen.get("trials") is not None:
            raise InputError("seeds", ": each is a trial", phrase("leave out {trials}"))
        settings = replace(settings, trials=len(settings.seeds))
    return name, replace(settings, trials=whole_number("trials", settings.trials, least=1))


def seed_list(name: str, value: Any) -> tuple[int, ...]:
    """The argument `seeds`: one or more different whole numbers."""
    numbers = tuple(whole_number(name, seed, least=0) for seed in as_list(name, value)) if is_column(value) else ()
    if not numbers or len(set(numbers)) < len(numbers):
        raise InputError(name, f"must be a list of different whole numbers, not {value!r:.60}")
    return numbers


def text(name: str, value: Any) -> str:
    """The argument `name`, a name or a path, as text."""
    if not isinstance(value, (str, Path)):
        raise InputError(name, f"must be text, not of type {type(value).__name__}")
    return str(value)


def whole_number(name: str, value: Any, least: int) -> int:
    """The argument `name` as an int: numpy's whole numbers are as good as Python's, True and 3.0 are not."""
    number = int(value) if isinstance(value, Integral) and not isinstance(value, bool) else -1
    if not least <= number <= MOST:
        limits = f"of {least} or more" if number < least else f"below {MOST + 1:,}"
        raise InputError(name, f"must be a whole number {limits}, not {value!r:.60}")
    return number


def replicate_count(name: str, value: Any) -> int:
    """The argument `bootstrap`: 0, or enough replicates for an interval."""
    count = whole_number(name, value, least=0)
    if 0 < count < LEAST_REPLICATES:
        raise InputError(name, f"must be {LEAST_REPLICATES} or more, or 0 for no intervals, not {count}")
    return count


def signature(**parts: Any) -> str:
    """Everything that changes the score, as `name:value|...`, in the manner of sacreBLEU."""
    return "|".join(f"{name}:{value}" for name, value in {**parts, "v": __version__}.items())


def lexicon_name(lexicon: Lexicon, source: object) -> str:
    """A built-in lexicon's name; for a user's own, its name and a digest of its words, whose labels' order counts; of a
    list that is crossed, each part's."""
    if isinstance(source, (list, tuple)):
        return "+".join(lexicon_name(part, each) for part, each in zip(lexicon.parts, source, strict=True))
    if source == lexicon.base:  # no file is read in its place
        return lexicon.base
    content = lexicon.mask, lexicon.groups, sorted(lexicon.masked_only), sorted(lexicon.roles.items()), lexicon.parts
    return f"{lexicon.name}-{digest_of_rows(content)}"


def vectors_name(vectors: Any) -> str:
    """`captions`, which signed captions make; else the name of their file or kind with a digest of them."""
    if isinstance(vectors, str) and vectors == CAPTIONS:
        return vectors
    name = Path(vectors).name if isinstance(vectors, (str, Path)) else type(vectors).__name__
    return f"{name}-{identity(vectors)}"
