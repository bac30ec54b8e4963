"""Whom a caption is about: the value that it names of the person who is meant, and of nobody else.

"A woman rides a bike. In the background, a man walks by." is about a woman; "a dog with his tongue out", "a man-made
lake" and "Is it a man or a woman?" are about nobody. Words of persons are read in order and bystanders left out. The
first noun of a person is the subject, with those that "and" joins to it; a subject without a value, "a skier", gets
that of the first word that refers to it. Which words do what is data of a language.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np

from captionbias.arrays import Flags, Integers
from captionbias.text.languages import ENGLISH, language_data, languages
from captionbias.text.lexicon import Lexicon, LexiconSource, load_lexicon
from captionbias.text.masking import NO_LABEL, Mentions, find_mentions
from captionbias.text.tokens import Tokens, tokenize

NOUN, PRONOUN, PERSON, ADJECTIVE, OWNER, ANIMAL, STOP = range(1, 8)  # what a word is; 0: any other
QUESTIONS = frozenset("?\uff1f")  # also full-width, as all marks below
STOPS = QUESTIONS | frozenset(".!\u3002\uff01")
ENDS = STOPS | frozenset(",;\uff0c\uff1b\u3001")
APART, JOINED, CLAUSE = 4, 5, 5  # words between alternatives, between nouns of one subject, to the end of a clause


@dataclass(frozen=True)
class PersonWords:
    """Lists of a language.

    `people` and `groups`: nouns of persons without a value, one and several. `things`: what is no person in spite of
    its words, such as "media player". `parts`: what makes no person of the word before ("man made"); `hyphened`: what
    does so behind a hyphen. `owned`: what stands for its owner ("a man's hand"), also before him, with what `belongs`
    between ("Hand eines Mannes"). `its`: what makes an animal's own of the word behind. `absent`: phrases that deny who
    is before. `objects`: what makes no subject of the word before. `hedges`: what says who the subject is ("is", "looks
    like"); `predicates` say so from behind. `first`: how sentences begin whose subject comes last ("Next to her is a
    man"). `clauses`: words before which a clause ends.
    """

    people: frozenset[str]
    groups: frozenset[str]
    pronouns: frozenset[str]
    adjectives: frozenset[str]
    animals: frozenset[str]
    things: frozenset[str]
    parts: frozenset[str]
    hyphened: frozenset[str]
    owners: frozenset[str]
    owned: frozenset[str]
    no: frozenset[str]
    joins: frozenset[str]
    either: frozenset[str]
    definite: frozenset[str]
    hedges: frozenset[str]
    there: frozenset[str]
    others: frozenset[str]
    background: frozenset[str]
    passing: frozenset[str]
    by: frozenset[str]
    of: frozenset[str]
    closed: frozenset[str]
    articles: frozenset[str]
    first: frozenset[str]
    predicates: frozenset[str]
    belongs: frozenset[str]
    absent: frozenset[str]
    its: frozenset[str]
    objects: frozenset[str]
    clauses: frozenset[str]

    @cached_property
    def ends(self) -> frozenset[str]:
        """All at which a clause ends."""
        return ENDS | self.clauses

    @cached_property
    def apart(self) -> frozenset[str]:
        """What does not stand between nouns that are joined."""
        return self.closed - self.articles - self.joins

    @cached_property
    def denials(self) -> dict[str, list[list[str]]]:
        """The words of the phrases that deny who is before, by the first."""
        phrases = [phrase.split() for phrase in self.absent]
        return {first: [phrase for phrase in phrases if phrase[0] == first] for first, *_ in phrases}


class Person(NamedTuple):
    """A word of a person: its place and end among the words of a caption, what it is, which value it names, where its
    sentence starts, and whether it is of a bystander."""

    place: int
    end: int
    kind: int
    value: int | None
    sentence: int = 0
    aside: bool = False


@cache
def person_words(tokenizer: str) -> PersonWords | None:
    """The lists of a language, English's for a tokenizer that is none; None if a language has no lists.

    >>> "skier" in person_words("words").people
    True
    """
    lists = language_data(tokenizer if tokenizer in languages() else ENGLISH).get("persons")
    return lists and PersonWords(**{name: frozenset(words) for name, words in lists.items()})


@cache
def person_nouns(tokenizer: str) -> frozenset[str]:
    """The nouns of persons of a language, with and without a gender."""
    lists, language = person_words(tokenizer), tokenizer if tokenizer in {*languages()} - {ENGLISH} else ""
    gender = load_lexicon(f"gender-{language}" if language else "gender").words
    return (gender | lists.people | lists.groups) - lists.pronouns - lists.adjectives if lists else gender


def named_of(
    caption: str, attribute: LexiconSource = "gender", tokenizer: str = "words", tasks: Sequence[str] = ()
) -> str | None:
    """The value that a caption names of the person who is meant, see `main_values`; None if it names none.

    >>> named_of("A woman rides a bike. In the background, a man walks by."), named_of("a man-made lake")
    ('female', None)
    >>> named_of("This person looks like a man."), named_of("a man and a woman"), named_of("a waiter", tasks=["waiter"])
    ('male', None, None)
    """
    lexicon, tokens = load_lexicon(attribute), tokenize([caption], tokenizer)
    flags, _ = main_values(tokens, find_mentions(tokens, lexicon, tokenizer), lexicon, tokenizer, [tasks])
    return next((label for label, flag in zip(lexicon.labels, flags[0], strict=True) if flag), None)


def main_values(
    tokens: Tokens,
    mentions: Mentions,
    lexicon: Lexicon,
    tokenizer: str = "words",
    tasks: Sequence[Sequence[str]] | None = None,
) -> tuple[Flags, Flags]:
    """Which label of a lexicon each caption names of the person who is meant, `(captions, labels)`, one at most, and
    which captions tell of several persons, `(captions,)`.

    Args:
        mentions: the lexicon's words in the captions, see `find_mentions`.
        tokenizer: a language, whose lists are read; without lists any word of the lexicon names.
        tasks: of each caption, tasks of its image: a word that is one of them ("waiter") names no value.
    """
    lists = person_words(tokenizer)
    if lists is None:
        named = mentions.named(tokens, len(lexicon.labels))
        return named, named.sum(axis=1) > 1
    persons = PersonTokens.found(tokens, mentions, lists, person_nouns(tokenizer), tasks)
    plain, ruled = persons.plain_and_ruled()
    named, several = np.zeros((len(tokens), len(lexicon.labels)), bool), np.zeros(len(tokens), bool)
    named[tokens.rows[plain], persons.values[plain]] = True
    for row, words, own in zip(ruled.tolist(), persons.words_of(ruled), persons.of(ruled), strict=True):
        value, several[row] = main_person(words, own, lists)
        if value is not None:
            named[row, value] = True
    return named, several


@dataclass(frozen=True, eq=False)
class PersonTokens:
    """Of each token what it is, which label it names, and where what it is of several words ends."""

    tokens: Tokens
    lists: PersonWords
    kinds: Integers
    values: Integers
    ends: Integers

    @classmethod
    def found(
        cls,
        tokens: Tokens,
        mentions: Mentions,
        lists: PersonWords,
        nouns: frozenset[str],
        tasks: Sequence[Sequence[str]] | None,
    ) -> PersonTokens:
        """Those of captions; see `main_values`."""
        of_word = {
            word: kind for kind, words in ((PERSON, nouns), (ANIMAL, lists.animals), (STOP, STOPS)) for word in words
        }
        kinds = np.array([of_word.get(word, 0) for word in tokens.words], np.int64)[tokens.ids]
        values, ends = np.full(len(kinds), NO_LABEL), np.arange(1, len(kinds) + 1)
        for further in range(1, int(mentions.lengths.max(initial=1))):
            kinds[mentions.starts[mentions.lengths > further] + further] = 0
        is_pronoun, is_adjective = (tokens.among(of)[mentions.starts] for of in (lists.pronouns, lists.adjectives))
        of_mention = [mentions.labels == NO_LABEL, is_pronoun, is_adjective]
        kinds[mentions.starts] = np.select(of_mention, [PERSON, PRONOUN, ADJECTIVE], NOUN)
        values[mentions.starts], ends[mentions.starts] = mentions.labels, mentions.starts + mentions.lengths
        rows, of_tasks = tokens.rows[mentions.starts], tokens.among({name for row in tasks or () for name in row})
        for number in np.flatnonzero(of_tasks[mentions.starts]).tolist():
            place = mentions.starts[number]
            if tasks and tokens.words[tokens.ids[place]] in tasks[rows[number]]:
                kinds[place], values[place] = PERSON, NO_LABEL
        return cls(tokens, lists, kinds, values, ends)

    def plain_and_ruled(self) -> tuple[Integers, Integers]:
        """The places of words that name their value without a rule, each the only one of a person in its caption; and
        the other captions that have a word of a value."""
        tokens, lists, rows, captions = self.tokens, self.lists, self.tokens.rows, len(self.tokens)
        is_person = (self.kinds > 0) & (self.kinds <= PERSON)
        places = np.flatnonzero(is_person)
        first = places[np.diff(rows[places], prepend=-1) > 0]
        reach = np.zeros(captions, np.int64)
        reach[rows[first]] = self.ends[first]
        doubtful = tokens.among(lists.no | lists.either | lists.owners | lists.parts | QUESTIONS)
        doubtful[1:] |= (tokens.among(lists.hyphened)[1:]) & tokens.among({"-"})[:-1]
        doubtful |= (self.kinds == ANIMAL) & (np.arange(len(rows)) <= reach[rows])  # others come behind the person
        doubtful |= tokens.among({phrase.split()[-1] for phrase in lists.absent})
        things = [phrase.split() for phrase in lists.things]
        firsts, seconds = (tokens.among({words[place] for words in things}) for place in (0, -1))
        doubtful[:-1] |= firsts[:-1] & seconds[1:]
        of_value, persons, doubts, stops = (
            np.bincount(rows[flags], minlength=captions)
            for flags in (self.values != NO_LABEL, is_person, doubtful, self.kinds == STOP)
        )
        last = np.zeros(captions, bool)
        filled = tokens.lengths > 0
        last[filled] = self.kinds[tokens.offsets[1:][filled] - 1] == STOP
        asides, nouns = (
            np.bincount(rows[flags], minlength=captions)
            for flags in (
                tokens.among(lists.others | lists.background | lists.by | lists.objects),
                is_person & (self.kinds != PRONOUN),
            )
        )
        # Either a single word, or one noun and pronouns behind it, which are of whomever it names.
        with_pronouns = (nouns == 1)[rows[first]] & (self.kinds[first] == NOUN) & (asides == 0)[rows[first]]
        is_plain = ((doubts == 0) & (stops == last))[rows[first]] & ((persons == 1)[rows[first]] | with_pronouns)
        plain = first[is_plain & (self.kinds[first] <= PRONOUN)]
        ruled = (of_value > 0) & (persons > 0)
        ruled[rows[plain]] = False
        return plain, np.flatnonzero(ruled)

    def words_of(self, rows: Integers) -> Iterator[list[str]]:
        """The words of these captions."""
        words, offsets = np.array(self.tokens.words, dtype=object), self.tokens.offsets
        return (words[self.tokens.ids[offsets[row] : offsets[row + 1]]].tolist() for row in rows.tolist())

    def of(self, rows: Integers) -> Iterator[list[Person]]:
        """The words of persons and animals, and the full stops, of these captions."""
        chosen = np.zeros(len(self.tokens), bool)
        chosen[rows] = True
        places = np.flatnonzero((self.kinds > 0) & chosen[self.tokens.rows])
        row, starts = self.tokens.rows[places], self.tokens.offsets
        first, last = np.searchsorted(row, rows), np.searchsorted(row, rows, side="right")
        columns = places - starts[row], self.ends[places] - starts[row], self.kinds[places], self.values[places]
        every = [
            Person(place, end, kind, None if value == NO_LABEL else value)
            for place, end, kind, value in zip(*(column.tolist() for column in columns), strict=True)
        ]
        return (every[start:end] for start, end in zip(first.tolist(), last.tolist(), strict=True))


# The rule, of one caption


def main_person(words: Sequence[str], found: Sequence[Person], lists: PersonWords) -> tuple[int | None, bool]:
    """The value that a caption of these words names of the person who is meant, and whether it tells of several.

    `found`: its words of persons and animals, and its full stops, in order.
    """
    persons = _persons(words, found, lists)
    persons = _together(persons, words, lists)
    nouns = [person for person in persons if person.kind in (NOUN, PERSON)]
    others = [one for before, one in itertools.pairwise(nouns) if not _is_same(before, one, words, lists)]
    front = [person for person in persons if not person.aside]
    if not front and STOPS.isdisjoint(words[:-1]):
        front = persons
    return _value(front, words, lists), bool(others)


def _together(persons: Sequence[Person], words: Sequence[str], lists: PersonWords) -> list[Person]:
    """The same, with those beside a bystander to whom they are joined as bystanders: "two women and a man walk by"."""
    aside = [person.aside for person in persons]
    if len({*aside}) < 2:
        return list(persons)
    for place in (*range(1, len(persons)), *range(len(persons) - 1, 0, -1)):
        if aside[place - 1] != aside[place] and _is_joined(persons[place - 1], persons[place], words, lists):
            aside[place - 1 : place + 1] = True, True
    return [person._replace(aside=of) for person, of in zip(persons, aside, strict=True)]


def _is_joined(before: Person, person: Person, words: Sequence[str], lists: PersonWords) -> bool:
    """Whether a noun is joined to the one before: "a man, a woman and a boy"."""
    between = words[before.end : person.place]
    return 0 < len(between) < JOINED and between[0] in lists.joins and lists.apart.isdisjoint(between)


def _is_same(before: Person, person: Person, words: Sequence[str], lists: PersonWords) -> bool:
    """Whether a noun is of the person before: "a female tennis player", "the man"."""
    between = words[before.end : person.place]
    return _is_definite(words, person, lists) or (len(between) < 3 and lists.closed.isdisjoint(between))


def _persons(words: Sequence[str], found: Sequence[Person], lists: PersonWords) -> list[Person]:
    """Those that are persons, without denied ones, alternatives and sentences that ask."""
    persons: list[Person] = []
    start, animal, led, described = 0, False, False, None  # a place and a value of an adjective
    kind_at = {person.place: person.kind for person in found}
    for place, end, kind, value, *_ in found:
        before, after = words[max(start, place - 3) : place], words[end : end + CLAUSE]
        following = after[0] if after else ""
        if kind == STOP:
            if words[place] in QUESTIONS:
                persons = [person for person in persons if person.sentence < start]
            start, animal, described = end, animal and not persons, None
            continue
        here = bool(persons) and persons[-1].sentence == start
        if kind == ANIMAL:
            animal = animal or not here
            continue
        if kind == ADJECTIVE:
            described = end, value
            continue
        if animal and not here if kind == PRONOUN else _is_thing(words, place, end, lists):
            continue
        beast = kind_at.get(end) == ANIMAL or (
            following in lists.joins and kind_at.get(end + 1) in (NOUN, PERSON) and kind_at.get(end + 2) == ANIMAL
        )
        if kind != PRONOUN and beast:  # "a mother and baby elephant"
            continue
        denials = lists.denials.get(following)
        absent = denials is not None and any(after[: len(phrase)] == phrase for phrase in denials)
        if ("," not in before and not lists.no.isdisjoint(before)) or absent:
            continue
        if kind == NOUN and animal and not here and before and before[-1] in lists.its and kind_at.get(end) != PERSON:
            continue  # "a calf and its mother"
        if described and value is None and kind == PERSON and lists.closed.isdisjoint(words[described[0] : place]):
            kind, value = NOUN, described[1]
        described = None
        of_owner = here and persons[-1].kind == OWNER and words[place] in lists.owned  # "a girl's team"
        if kind == PERSON and (of_owner or _completes(end, words, found, lists)):
            continue
        if kind == NOUN and following in lists.owners & lists.of and kind_at.get(end + 1) == PERSON:
            described = end + 1, value
            continue
        behind = bool(lists.belongs) and _is_owner_behind(words[max(start, place - 4) : place], lists)
        if kind != PRONOUN and (behind or following in lists.owners):
            if kind == PERSON or (not behind and lists.owned.isdisjoint(after[1:5])):
                continue
            kind = OWNER
        last = persons[-1] if here else None
        if before and before[-1] == "/" and not (last and last.end == place - 1):  # "s/he"
            continue
        other = last and value is not None and last.value not in (None, value) and place - last.end < APART
        either = lists.either | lists.joins if last and last.kind == kind == PRONOUN else lists.either  # "his and hers"
        if last and other and not either.isdisjoint(words[last.end : place]):
            persons.pop()
            if persons and persons[-1].kind == PERSON and persons[-1].sentence == start:
                persons.pop()  # "the person, a man or a woman"
            continue
        if not here:  # "In the background, ..."; "behind" is not of all unless it is the first word
            lead = words[start : min(start + 4, place)]
            led = not lists.background.isdisjoint(word for word in lead if word == lead[0] or word not in lists.closed)
        persons.append(Person(place, end, kind, value, start, led or _is_aside(words, start, place, end, lists)))
    return persons


def _is_thing(words: Sequence[str], place: int, end: int, lists: PersonWords) -> bool:
    """Whether a word of a person is part of the name of something else."""
    following, second = (*words[end : end + 2], "", "")[:2]
    if following in lists.parts or (following == "-" and second in lists.hyphened):
        return True
    here = " ".join(words[place:end])
    return (place > 0 and f"{words[place - 1]} {here}" in lists.things) or f"{here} {following}" in lists.things


def _is_owner_behind(before: Sequence[str], lists: PersonWords) -> bool:
    """Whether somebody owns what is before: "die Hand eines Mannes"."""
    owned = next((word for word in reversed(before) if word not in lists.belongs), "")
    return owned in lists.owned and before[-1] != owned


def _completes(end: int, words: Sequence[str], found: Sequence[Person], lists: PersonWords) -> bool:
    """Whether a noun without a value is part of one that has a value: "a teenage boy", "a group of three men"."""
    first = end + 1 if words[end : end + 1] and words[end] in lists.of else end
    reach = first + (4 if first > end else 2)
    named = next((one for one in found if one.kind == NOUN and end <= one.place < reach), None)
    return named is not None and lists.closed.isdisjoint(words[first : named.place])


def _is_aside(words: Sequence[str], start: int, place: int, end: int, lists: PersonWords) -> bool:
    """Whether somebody is a bystander: in the background, another one, or one who passes by."""
    before, after = words[max(start, place - 3) : place], words[end : end + CLAUSE + 1]
    early = lists.background.intersection(words[end : start + 4]) - lists.closed
    if early or (after and after[0] in lists.objects):
        return True
    if not lists.others.isdisjoint((*before, *after[:2])) and lists.definite.isdisjoint(before):
        near = [word for word in before if word not in lists.of | lists.articles]
        if not lists.others.isdisjoint((*near[-2:], *after[:2])):
            return True
    clause = next(
        (at for at, word in enumerate(after) if word in lists.ends), len(after) if len(after) <= CLAUSE else 0
    )
    if not clause:
        return False
    passes = clause > 1 and after[clause - 1] in lists.by and after[clause - 2] in lists.passing
    return passes or after[clause - 1] in lists.background


def _value(persons: Sequence[Person], words: Sequence[str], lists: PersonWords) -> int | None:
    """The value of the first subject; of one without a value that of the first word that refers to it."""
    subject: Person | None = None
    owner: int | None = None
    another: int | None = None  # the value of somebody else, to whom words of this value refer
    for number, person in enumerate(persons):
        if person.kind == PRONOUN:
            if person.value != another:
                return person.value
        elif person.kind == OWNER:
            owner = person.value if owner is None else owner
        else:
            among = subject is not None and not lists.groups.isdisjoint(words[subject.place : subject.end])
            definite = _is_definite(words, person, lists)
            if subject is None or among or (definite and person.value != another):
                values = _members(persons[number:]) if among else _joined(persons[number:], words, lists)
                if values:
                    return values.pop() if len(values) == 1 else None
                subject = subject or person
            another = person.value if person.value is not None else None if definite else another
    return owner if subject is None else None


def _is_definite(words: Sequence[str], person: Person, lists: PersonWords) -> bool:
    """Whether a noun is of somebody who is known: "the man", "(the skier) is a young man", "(someone) looks like a
    man"."""
    before, after = words[max(person.sentence, person.place - 4) : person.place], words[person.end : person.end + 1]
    if not (lists.definite.isdisjoint(before[-2:]) and lists.predicates.isdisjoint(after)):
        return True
    hedge = next((at for at in range(len(before) - 1, -1, -1) if before[at] in lists.hedges), None)
    if hedge is None or len(before) - hedge > 3 or (hedge and before[hedge - 1] in lists.there):
        return False
    if not lists.articles.isdisjoint(before[hedge + 2 :]) and before[hedge + 1] not in lists.articles:
        return False  # "is holding a girl"
    joins = (at for at in range(person.place, person.sentence, -1) if words[at - 1] in lists.joins)
    return words[next(joins, person.sentence)] not in lists.first


def _members(persons: Sequence[Person]) -> set[int]:
    """The values that the first one's sentence names."""
    sentence = persons[0].sentence
    return {one.value for one in persons if one.kind == NOUN and one.sentence == sentence and one.value is not None}


def _joined(persons: Sequence[Person], words: Sequence[str], lists: PersonWords) -> set[int]:
    """The values of the first noun and of those that are joined to it: "a man, a woman and a boy"."""
    last, values = persons[0], {persons[0].value}
    for person in persons[1:]:
        if person.kind in (NOUN, PERSON):
            if not _is_joined(last, person, words, lists):
                break
            last = person
            values.add(person.value)
    return {value for value in values if value is not None}
