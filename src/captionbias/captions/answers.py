"""What a captioner answers that is no caption, or stands around one: refusals and errors, prompts and offers, single
words; and what a limit cut off."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import chain, repeat, takewhile
from operator import is_not
from typing import Any

from captionbias.captions.values import is_missing
from captionbias.text import find_mentions, load_lexicon, named_values, tokenize
from captionbias.text.languages import function_words, language_data, languages

MOST_QUOTED = 60  # characters
SAMPLE, DIFFER = 1000, 0.1  # captions that are looked through; of these, at most, do not share what nearly all do
LEAST = 20  # captions, of which fewer share something by chance
LEAST_WORDS, MOST_PHRASES, LEAST_FUNCTION_WORDS = 3, 0.1, 0.1  # of lists of words: a list; of their entries
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
    nested = {list, tuple} & set(map(type, entries))
    lists = [entry for entry in entries if type(entry) in nested] if nested else list(filter(len, rows))
    words = [word for entry in lists for word in entry if isinstance(word, str)]
    if len(words) < LEAST_WORDS * len(lists) or not _are_words(words):
        return rows
    notes.append(f"{argument}: captions are lists of single words, which are joined")
    if nested:
        return [[_sentence(entry) if type(entry) in nested else entry for entry in row] for row in rows]
    return [[_sentence(row)] if len(row) else row for row in rows]


def _sentence(words: Iterable[Any]) -> str:
    return " ".join(str(word) for word in words if not is_missing(word))


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
        first, last = (sample[int(len(sample) * at)] if sample else "" for at in (DIFFER, 1 - DIFFER))
        alike = takewhile(lambda letters: letters[0] == letters[1], zip(first, last, strict=False))
        shared = border.search("".join(letter for letter, _ in alike)[::step])
        if len(sample) < LEAST or first == last or not shared:
            continue
        having = sum(text.startswith(shared[0][::step]) for text in sample)
        is_frame = re.search(r"[\w{}[\]<>|]", shared[0]) and not _names_one(shared[0])
        if having >= (1 - DIFFER) * len(sample) and is_frame:
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
