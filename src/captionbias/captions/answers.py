"""What a captioner answers that is no caption, or stands around one: refusals and errors, prompts and offers, single
words; and what a limit cut off."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import chain, repeat, takewhile
from operator import is_not
from typing import Any

from captionbias.captions.values import is_column
from captionbias.text import find_mentions, load_lexicon, named_values, tokenize
from captionbias.text.languages import function_words, language_data, languages

MOST_QUOTED = 60  # characters
SAMPLE, TAIL = 1000, 20  # captions that are looked through; one in so many may differ at each end of their order
LEAST = 20  # captions, of which fewer share something by chance
MOST_PHRASES, LEAST_FUNCTION_WORDS = 0.1, 0.1  # of the entries of lists that are words
MANY_CUT = 0.2  # of the captions
PRECANNED = "uality issues are too severe to recognize visual content"  # what VizWiz says for people
# A text without a letter, one that stands for nothing, or an error of a program.
_NOTHING = (
    r"[\W\d_]*$|[\W\d_]{0,20}(?:(?:n/?a|nan|null|none|nil|undefined|blocked|redacted|filtered|content_filter"
    r"|no (?:caption|description|answer|response|output)[\w ]*)\W*$"
    r"|(?:(?:api|internal|server) )*\w{0,40}(?:error|exception)(?: code)?\W*(?::|\d|$)|error (?:while|when|during) "
    r"|(?:failed to|traceback|too many requests|service unavailable|bad (?:gateway|request)|(?:\w{1,20} )?timed out)\b"
    rf"|.{PRECANNED})"
)
_WORD = re.compile(r"\w")
_STOP, _MARK = r".!?。\uff01\uff1f", r"\n\"{}\[\]<>|`"
_SENTENCES = re.compile(rf"[{_STOP};\n]+|,? ?\b(?:but|however|aber|jedoch|pero|mais)\b|が、|但")
# Up to the last, and from the first, place between what captions share and what they do not: the end of a sentence, of
# a line, or a mark of JSON and the like.
_BEGINNING = re.compile(rf".*(?:[{_STOP}:][*\"')\]]*\s|[。\uff01\uff1f\uff1a{_MARK}])", re.DOTALL)
_ENDING = re.compile(rf"(?:(?<=[{_STOP}\"')])\s|(?<=[。\uff01\uff1f])|[{_MARK}]).*", re.DOTALL)
_STOPS = tuple(".!?\u2026。\uff01\uff1f\"'\u201d\u2019)]}*>")


@cache
def _refusals() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """How a line begins that may be no caption, in any language, and what a sentence has that speaks to who asked."""
    parts = [data["refusals"] for data in map(language_data, languages()) if "refusals" in data]
    begins, speaks = ("|".join("".join(part[name]) for part in parts) for name in ("begins", "speaks"))
    # What begins with an article is a caption: most do, and cost nothing.
    line = rf"\n(?!an? )(?:(?P<nothing>{_NOTHING})|[\W_]*(?:{begins}))"
    return re.compile(line, re.IGNORECASE | re.MULTILINE), re.compile(speaks, re.IGNORECASE)


@cache
def _never_last() -> frozenset[str]:
    """Words that no caption ends with, in any language."""
    return frozenset(chain.from_iterable(language_data(name).get("never_last", ()) for name in languages()))


def is_refusal(text: str) -> bool:
    """Whether a text refuses to caption, in any language, and says nothing else, or is no sentence at all.

    >>> list(map(is_refusal, ["I'm sorry, I can't help with that.", "error: 429", "The image depicts an individual."]))
    [True, True, False]
    """
    line, speaks = _refusals()
    plain = " ".join(text.replace("\u2019", "'").split())
    beginning = line.match(f"\n{plain}")
    if beginning is None or beginning["nothing"] is not None:
        return beginning is not None
    return all(map(speaks.search, list(filter(_WORD.search, _SENTENCES.split(plain)))[1:]))


def without_refusals(texts: list[str]) -> list[str]:
    """The same, "" in place of refusals."""
    line, _ = _refusals()
    if not line.search("\n" + "\n".join(texts).replace("\u2019", "'")):
        return texts
    return ["" if is_refusal(text) else text for text in texts]


def as_sentences(argument: str, rows: list[Any], notes: list[str]) -> list[Any]:
    """The same lists of captions; each list of words as the one caption that it is."""
    entries = list(chain.from_iterable(rows))
    if nested := any(issubclass(kind, (list, tuple)) for kind in set(map(type, entries))):
        entries = list(chain.from_iterable(entry for entry in entries if is_column(entry)))
    if not _are_words([entry for entry in entries if isinstance(entry, str)]):
        return rows
    notes.append(f"{argument}: captions are lists of single words, which are joined")
    if nested:
        return [[" ".join(map(str, entry)) if is_column(entry) else entry for entry in row] for row in rows]
    return [[" ".join(map(str, row))] if len(row) else row for row in rows]


def _are_words(texts: Sequence[str]) -> bool:
    """Whether nearly all texts are single words, and enough of them such as nobody says alone."""
    if sum(map(str.__contains__, texts, repeat(" "))) >= MOST_PHRASES * len(texts):
        return False
    known = frozenset(chain.from_iterable(map(function_words, languages())))
    return sum(text.strip().lower() in known for text in texts) >= LEAST_FUNCTION_WORDS * len(texts)


def without_frame(argument: str, texts: list[str], notes: list[str]) -> list[str]:
    """The same without what nearly all begin or end with and no captioner says of an image: a prompt, an offer, keys of
    JSON. A text that is nothing else stays as it is."""
    for place, step, border in (("beginning", 1, _BEGINNING), ("end", -1, _ENDING)):
        sample = sorted(text[::step] for text in filter(None, texts[:: len(texts) // SAMPLE + 1]))
        tail = len(sample) // TAIL
        if len(sample) < LEAST or sample[tail] == sample[-1 - tail]:
            continue
        alike = takewhile(lambda letters: letters[0] == letters[1], zip(sample[tail], sample[-1 - tail], strict=False))
        shared = border.search("".join(letter for letter, _ in alike)[::step])
        if shared and re.search(r"[\w{}[\]<>|]", shared[0]) and not _names_one(shared[0]):
            bare = [text.removeprefix(shared[0]) if step > 0 else text.removesuffix(shared[0]) for text in texts]
            cut = sum(map(is_not, bare, texts))
            notes.append(
                f"{argument}: {shared[0].strip()[:MOST_QUOTED]!r} is taken off the {place} of {cut:,} captions"
            )
            texts = [new.strip() or text for new, text in zip(bare, texts, strict=True)]
    return texts


def _names_one(text: str) -> bool:
    """Whether a text states one gender, and may be all that a captioner says of anybody."""
    tokens, lexicon = tokenize([text]), load_lexicon("gender")
    named = named_values(tokens, find_mentions(tokens, lexicon), lexicon)
    return named.sum() == 1 and text.rstrip().endswith((".", "!"))


def cut_off(texts: Iterable[str]) -> str | None:
    """A note of captions that stop within a sentence, where many do."""
    said = list(filter(None, texts))
    cut = sum(
        (". " in text or "。" in text) or text.rsplit(None, 1)[-1].lower() in _never_last()
        for text in said
        if not text.rstrip().endswith(_STOPS)
    )
    if len(said) < LEAST or cut < MANY_CUT * len(said):
        return None
    return f"{cut:,} of {len(said):,} captions stop within a sentence: they were cut off; ask for more tokens"
