"""What a captioner answers that is no caption, or stands around one: refusals and errors, prompts and offers, single
words; and what a limit cut off."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import chain, takewhile
from operator import is_not
from typing import Any, TypeAlias

from captionbias.errors import few
from captionbias.text import find_mentions, load_lexicon, tokenize
from captionbias.text.languages import function_words, language_data, languages

MOST_QUOTED = 60  # characters
Frame: TypeAlias = tuple[str, str]  # what captions begin and end with
NO_FRAME = "", ""
LEAST, SAMPLE, DIFFER = 20, 1000, 0.1  # captions that share a frame; images that are looked through; without it
WORDS, FUNCTION_WORDS, PHRASES = 3, 0.1, 0.1  # in a list that is one caption: at least; of these; at most
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
_STOP, _MARK = r".!?。\uff01\uff1f", r"\n\"{}\[\]<>|`"
_SENTENCES = re.compile(rf"[{_STOP};\n]+|,? ?\b(?:but|however|aber|jedoch|pero|mais)\b|が、|但")
# Up to the last, and from the first, place between what captions share and what they do not: the end of a sentence, of
# a line, or a mark of JSON and the like.
_BEGINNING = re.compile(rf".*(?:[{_STOP}:][*\"')\]]*\s|[。\uff01\uff1f\uff1a{_MARK}])", re.DOTALL)
_ENDING = re.compile(rf"(?:(?<=[{_STOP}\"')])\s|(?<=[。\uff01\uff1f])|[{_MARK}]).*", re.DOTALL)
_STOPS = frozenset(".!?\u2026。\uff01\uff1f\"'\u201d\u2019)]}*>`")
_UNFINISHED = re.compile(
    "an?|the|and|or|of|with|is|to|his|their|der|die|das|eine?|und|el|la|los|una?|y|de|les?|une|et|des", re.IGNORECASE
)


@cache
def _refusals() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """How a line begins that may be no caption, in any language, and what a sentence has that speaks to who asked."""
    data = [of for of in map(language_data, languages()) if "refusals" in of]
    begins = "|".join("".join(of["refusals"]) for of in data)
    # What begins with an article is a caption: most do, and cost nothing.
    line = rf"\n(?!an? )(?:(?P<nothing>{_NOTHING})|[\W_]*(?:{begins}))"
    speaking = "|".join(of["speaking"] for of in data)
    return re.compile(line, re.IGNORECASE | re.MULTILINE), re.compile(speaking, re.IGNORECASE)


def is_refusal(text: str) -> bool:
    """Whether a text refuses to caption, in any language, and says nothing else, or is no sentence at all.

    >>> list(map(is_refusal, ["I'm sorry, I can't help with that.", "error: 429", "The image depicts an individual."]))
    [True, True, False]
    """
    line, speaking = _refusals()
    plain = " ".join(text.replace("\u2019", "'").split())
    beginning = line.match(f"\n{plain}")
    if beginning is None or beginning["nothing"] is not None:
        return beginning is not None
    _, *others = (part for part in _SENTENCES.split(plain) if any(map(str.isalnum, part)))
    return all(map(speaking.search, others))


def without_answers(
    argument: str, texts: list[str], sample: Sequence[int], notes: list[str], frame: Frame | None
) -> tuple[list[str], Frame]:
    """The same captions of people or of a captioner, "" in place of what is none, without what stands around them; and
    the latter, which these rows of a sample tell where it is not known."""
    if argument == "predictions":
        said = _without_refusals(texts)
        frame = frame or _frame_of([said[row] for row in sample])
        said = _without_refusals(_without_frame(said, frame, notes))
        notes += _cut_off(said)
    else:
        said = ["" if PRECANNED in text else text for text in texts]
    if none := [text for text, caption in zip(texts, said, strict=True) if text and not caption]:
        such = few((repr(text[:MOST_QUOTED]) for text in dict.fromkeys(none)), 1)
        notes.append(
            f"{argument}: refusals and texts that are no sentences are left out, {len(none):,} captions: {such}"
        )
    return said, frame or NO_FRAME


def _without_refusals(texts: list[str]) -> list[str]:
    """The same, "" in place of refusals."""
    if not _refusals()[0].search("\n" + "\n".join(texts).replace("\u2019", "'")):
        return texts
    return ["" if is_refusal(text) else text for text in texts]


def as_sentences(argument: str, rows: list[Any], notes: list[str]) -> list[Any]:
    """The same lists of captions; where all are lists of words, such as nobody says alone, each as the one caption that
    it is."""
    words = [str(word) for row in rows for word in row]
    if len(words) < WORDS * len(rows) or sum(" " in word for word in words) > PHRASES * len(words):
        return rows
    known = frozenset(chain.from_iterable(map(function_words, languages())))
    if sum(word.lower() in known for word in words) < FUNCTION_WORDS * len(words):
        return rows
    notes.append(f"{argument}: captions are lists of single words, which are joined")
    return [[" ".join(map(str, row))] if len(row) > 1 else row for row in rows]


def _frame_of(texts: list[str]) -> Frame:
    """What nearly all of these begin and end with and no captioner says of an image: a prompt, an offer, keys of JSON;
    no sentence with one gender."""
    beginning = _shared(texts, 1, _BEGINNING)
    return beginning, _shared(_without_frame(texts, (beginning, ""), []), -1, _ENDING)


def _shared(texts: list[str], step: int, border: re.Pattern[str]) -> str:
    """What the captions share, up to a border, from their beginning or, with a step of -1, from their end."""
    sample = sorted(text[::step] for text in filter(None, texts))
    if len(sample) < LEAST:
        return ""
    first, other = (sample[int(len(sample) * at)] for at in (DIFFER, 1 - DIFFER))
    alike = takewhile(lambda letters: letters[0] == letters[1], zip(first, other, strict=False))
    shared = border.search("".join(letter for letter, _ in alike)[::step])
    if not shared or first == other or not re.search(r"[\w{}[\]<>|]", shared[0]):
        return ""
    frame, last = shared[0], shared[0].rstrip()[-1:]
    having = sum(text.startswith(frame[::step]) and len(text) > len(frame) for text in sample)
    says = find_mentions(tokenize([frame]), load_lexicon("gender")).labels
    states = len(set(says.tolist())) == 1 and last in ".!"
    is_frame = having >= (1 - DIFFER) * len(sample) and not states and (step > 0 or last in _STOPS)
    return frame if is_frame else ""


def _without_frame(texts: list[str], frame: Frame, notes: list[str]) -> list[str]:
    """The same without what they begin and end with; a text that is nothing else stays as it is."""
    for place, shared, cut in zip(("beginning", "end"), frame, (str.removeprefix, str.removesuffix), strict=True):
        if shared:
            bare = [cut(text, shared) for text in texts]
            number = sum(map(is_not, bare, texts))
            notes.append(
                f"predictions: {shared.strip()[:MOST_QUOTED]!r} is removed from the {place} of {number:,} captions"
            )
            texts = [new.strip() or text for new, text in zip(bare, texts, strict=True)]
    return texts


def _cut_off(texts: Sequence[str]) -> list[str]:
    """A note of captions that stop within a sentence, where many do."""
    said = list(filter(None, texts))
    unclosed = [text for text in map(str.rstrip, said) if text[-1] not in _STOPS]
    cut = sum(". " in text or "。" in text or bool(_UNFINISHED.fullmatch(text.rpartition(" ")[2])) for text in unclosed)
    if len(said) < LEAST or cut < MANY_CUT * len(said):
        return []
    return [f"predictions: {cut:,} of {len(said):,} captions stop within a sentence: ask for more tokens"]
