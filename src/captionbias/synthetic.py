"""Captions with a known bias: the ground truth of the tests, the data of the demo.

Each image shows a person, a woman or a man or one of four ages, and one task. Some tasks lean to women, some to men,
some to neither. Most human captions name the person and most name the task, both correctly. Model captions are made in
the same way, and four dials make them differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from captionbias.arrays import Floats, Integers
from captionbias.text.languages import check_language, load_language

ATTRIBUTES = ("female", "male")
TASKS = ("handbag", "teddy bear", "cake", "dog", "laptop", "surfboard", "skateboard", "tie")
LEAN = np.array([0.75, 0.7, 0.65, 0.5, 0.5, 0.35, 0.3, 0.25])  # share of women among the images that show the task
NAMES_PERSON, NAMES_TASK = 0.85, 0.75
PEOPLE = (("a woman", "a lady", "a girl"), ("a man", "a guy", "a boy"), ("someone", "somebody", "a figure"))
AGES = {  # an attribute of four values: its lexicon
    "child": ["child", "kid", "toddler"],
    "teenager": ["teenager", "schoolmate", "student"],
    "adult": ["grownup", "parent", "commuter"],
    "senior": ["senior", "pensioner", "retiree"],
}
NO_TASK, NO_VALUE = len(TASKS), -1
PLACES = (
    *(" in a room", " on a street", " outside", " in a yard"),
    *(" at night", " near a wall", " by the road", " indoors"),
)

ENGLISH = {
    "manners": (" stands", " waits", " is seen", " poses", " walks", " is pictured"),
    "tasks": [f" with a {name}" for name in TASKS],
    "places": PLACES,
    "sentence": "{person}{manner}{task}{place}.",
}

# Table 2 of the DBAC paper: in each task, a verb that leans to men and one that leans to women.
VERBS = {
    "bed": (("lies on", "is laying on", "lays on"), ("sits on", "is sitting on", "sat on")),
    "frisbee": (("throws", "is throwing", "threw"), ("plays with", "is playing with", "played with")),
    "umbrella": (("holds", "is holding", "held"), ("walks with", "is walking with", "walked with")),
}
PRONOUNS = (("she", "a woman", "a lady"), ("he", "a man", "a guy"))


class Kind(NamedTuple):
    """An attribute. `people`: phrases for a person of each value, and last for one of unknown value. `share`: of the
    images that show each task, those with each value, `(values, tasks)`. `phrases`: the rest of a caption."""

    values: tuple[str, ...]
    people: tuple[tuple[str, ...], ...]
    share: Floats
    phrases: Mapping[str, Any] = ENGLISH

    def leaning(self) -> Integers:
        """The number of the value that each task leans to, -1 for none: `(tasks + 1,)`, no task last."""
        leans = self.share.max(axis=0) > 1 / len(self.values)
        return np.append(np.where(leans, self.share.argmax(axis=0), NO_VALUE), NO_VALUE)


KINDS = {
    2: Kind(ATTRIBUTES, PEOPLE, np.stack((LEAN, 1 - LEAN))),
    4: Kind(
        tuple(AGES),
        (*(tuple(f"a {word}" for word in words) for words in AGES.values()), PEOPLE[-1]),
        np.where(np.arange(len(TASKS)) // 2 == np.arange(4)[:, None], 0.55, 0.15),
    ),
}


def kind_of(values: int, language: str | None = None) -> Kind:
    """The attribute of so many values, as people say it in a language; ValueError if there is none."""
    if values not in KINDS:
        raise ValueError(f"values must be 2 or 4, not {values}")
    name = check_language(language)
    if name is None:
        return KINDS[values]
    if values != 2:
        raise ValueError(f"values must be 2 in language {language!r}, not {values}")
    phrases = load_language(name).planted
    if phrases is None:
        raise ValueError(f"language {name!r} has no 'planted' in its file; add it, as the languages of the package do")
    return KINDS[values]._replace(people=tuple(map(tuple, phrases["people"])), phrases=phrases)


@dataclass(frozen=True, eq=False)
class Planted:
    """Arguments of a metric: `metric(**vars(planted))`."""

    predictions: list[str]
    references: list[list[str]]
    attributes: list[str]
    tasks: list[list[str]]


@dataclass(frozen=True, eq=False)
class PlantedScenes:
    """Likewise of images in scenes, which differ in the person alone and which nobody else describes."""

    predictions: list[str]
    attributes: list[str]
    tasks: list[list[str]]
    scene: list[int]


@overload
def plant(images: int = ..., *, scenes: Literal[True], **dials: Any) -> PlantedScenes: ...
@overload
def plant(images: int = ..., **dials: Any) -> Planted: ...
def plant(  # type: ignore[misc]  # which has these dials by name
    images: int = 2000,
    *,
    a_to_t: float = 0.0,
    t_to_a: float = 0.0,
    naming: float = 1.0,
    silence: float = 0.0,
    values: int = 2,
    captions: int = 5,
    seed: int = 0,
    language: str | None = None,
    scenes: bool = False,
) -> Planted | PlantedScenes:
    """Images, human captions and model captions with a bias that is known.

    Args:
        images: number of images, as many of each attribute.
        a_to_t: bias from attribute to task, in [-1, 1]. At 0 the captioner names the task shown. Above 0 it names, with
            this probability, one that leans to the attribute instead (amplifying); below 0 any one (mitigating).
        t_to_a: bias from task to attribute, in [-1, 1]. At 0 the captioner names the person shown. Above 0 it names,
            with this probability, one of the attribute that the task leans to instead; below 0 any one.
        naming: how often the captioner names tasks, relative to the human captions, in [0, 1].
        silence: how often it names nobody where the task leans to another attribute than the person's, in [0, 1].
        values: 2 for women and men, or 4 for `AGES`, which is also their lexicon; two tasks lean to each age.
        captions: human captions for each image.
        seed: of all draws.
        language: of women and men also `de`, `es`, `fr`, `ja`, `zh`, in which what people say agrees with the person.
        scenes: whether images come in scenes, each of one image of every value with the same task, without human
            captions. Each value then has one word.

    Returns:
        Predictions, references, attributes and tasks, of scenes predictions, attributes, tasks and scene; the same seed
        gives the same images and human captions whatever the dials, and says the same in every language.

    >>> planted = plant(images=4, seed=1)
    >>> len(planted.predictions), len(planted.references[0]), sorted(set(planted.attributes))
    (4, 5, ['female', 'male'])
    """
    dials = ("a_to_t", a_to_t, -1), ("t_to_a", t_to_a, -1), ("naming", naming, 0), ("silence", silence, 0)
    for name, dial, low in dials:
        if not low <= dial <= 1:
            raise ValueError(f"{name} must be between {low} and 1, not {dial}")
    # No metric uses these streams, so that a split drawn with the same seed does not depend on the captions.
    world, human, model = (np.random.default_rng([seed, 10 + part]) for part in range(3))
    kind = kind_of(values, language)
    attribute = np.arange(images) % values
    by_attribute = kind.share / kind.share.sum(axis=1, keepdims=True)
    tasks_shown = _draw(by_attribute[attribute], world)
    if scenes:
        kind = kind._replace(people=tuple(phrases[:1] for phrases in kind.people))
        tasks_shown = np.repeat(_draw(np.tile(by_attribute.mean(axis=0), (-(-images // values), 1)), world), values)[
            :images
        ]
    repeated = np.repeat(np.arange(images), captions)
    references = _captions(kind, attribute[repeated], tasks_shown[repeated], human)
    predictions = _captions(kind, attribute, tasks_shown, model, a_to_t, t_to_a, naming, silence)
    labels, tasks = [kind.values[value] for value in attribute], [[TASKS[task]] for task in tasks_shown]
    if scenes:
        return PlantedScenes(predictions, labels, tasks, (np.arange(images) // values).tolist())
    by_image = [references[start : start + captions] for start in range(0, len(references), captions)]
    return Planted(predictions, by_image, labels, tasks)


def plant_verbs(
    human: float = 0.5, model: float = 0.5, *, images: int = 300, captions: int = 1, seed: int = 0
) -> Planted:
    """Captions whose only bias is in their verbs: every task is shown as often with women as with men.

    Args:
        human: share of the human captions of men that use the verb which leans to men, and of the human captions of
            women that use the other one, in [0, 1]; 0.6, 0.7, 0.8 and 0.9 are the datasets C1 to C4 of the DBAC paper.
        model: the same for the model captions.
        images: number of images, the same number for each task and attribute.
        captions: human captions for each image.
        seed: of all draws.

    Returns:
        Predictions, references, attributes and tasks. All captions name their person and their task.

    Source: Nair et al. 2026, section 5.1.

    >>> plant_verbs(model=1.0, images=6).predictions[1]
    'a guy is laying on the bed on a street.'
    """
    attribute, task = np.arange(images) % 2, np.arange(images) // 2 % len(VERBS)
    generators = [np.random.default_rng([seed, 20 + part]) for part in range(captions + 1)]
    columns = [_with_verbs(attribute, task, human, generator) for generator in generators[1:]]
    return Planted(
        predictions=_with_verbs(attribute, task, model, generators[0]),
        references=[list(row) for row in zip(*columns, strict=True)],
        attributes=[ATTRIBUTES[value] for value in attribute],
        tasks=[[tuple(VERBS)[number]] for number in task],
    )


def _with_verbs(attribute: Integers, task: Integers, share: float, generator: np.random.Generator) -> list[str]:
    leaning = np.empty(len(task), bool)
    for cell in range(2 * len(VERBS)):  # exactly this share of each task and attribute
        members = generator.permutation(np.flatnonzero(attribute + 2 * task == cell))
        leaning[members] = np.arange(len(members)) < round(share * len(members))
    verb = np.where(leaning, 1 - attribute, attribute)
    words = generator.integers(3, size=(2, len(task)))
    places = generator.integers(len(PLACES), size=len(task))
    return [
        f"{PRONOUNS[who][person]} {tuple(VERBS.values())[what][which][form]} the {tuple(VERBS)[what]}{PLACES[place]}."
        for who, what, which, person, form, place in zip(attribute, task, verb, *words, places, strict=True)
    ]


def _draw(probabilities: Floats, generator: np.random.Generator) -> Integers:
    """One number for each row, drawn from the row's probabilities."""
    above = generator.random((len(probabilities), 1)) > probabilities.cumsum(axis=1)[:, :-1]
    return np.asarray(above.sum(axis=1))


def _captions(
    kind: Kind,
    attribute: Integers,
    tasks_shown: Integers,
    generator: np.random.Generator,
    a_to_t: float = 0.0,
    t_to_a: float = 0.0,
    naming: float = 1.0,
    silence: float = 0.0,
) -> list[str]:
    # All draws are made whatever the dials are, so that a dial changes nothing but what it is for.
    images, values, leaning = len(attribute), len(kind.values), kind.leaning()
    fits = leaning[:NO_TASK] == np.arange(values)[:, None]
    weights = fits / fits.sum(axis=1, keepdims=True) if a_to_t > 0 else np.full(fits.shape, 1 / len(TASKS))
    instead = _draw(weights[attribute], generator)
    task = np.where(generator.random(images) < abs(a_to_t), instead, tasks_shown)
    drawn, beside = generator.integers(values, size=images), leaning[tasks_shown]
    other = np.where(beside == NO_VALUE, drawn, beside) if t_to_a > 0 else drawn
    person = np.where(generator.random(images) < abs(t_to_a), other, attribute)
    silent = silence * ((beside != attribute) & (beside != NO_VALUE))
    person = np.where(generator.random(images) < NAMES_PERSON * (1 - silent), person, values)
    task = np.where(generator.random(images) < NAMES_TASK * naming, task, NO_TASK)
    return _words(kind, person, task, generator)


def _words(kind: Kind, person: Integers, task: Integers, generator: np.random.Generator) -> list[str]:
    def pick(choices: Sequence[str]) -> npt.NDArray[np.object_]:
        return np.array(choices, dtype=object)[generator.integers(len(choices), size=len(person))]

    people = np.stack([pick(choices) for choices in kind.people])[person, np.arange(len(person))]
    tasks = np.array([*kind.phrases["tasks"], ""], dtype=object)[task]
    parts = zip(people, pick(kind.phrases["manners"]), tasks, pick(kind.phrases["places"]), strict=True)
    say = kind.phrases["sentence"].format
    return [say(person=who, manner=how, task=what, place=where) for who, how, what, where in parts]
