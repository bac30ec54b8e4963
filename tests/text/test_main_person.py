"""Who is meant: a caption names the value of the person whom it is about, and of nobody else."""

import dataclasses
import importlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from captionbias.captions import check_captions
from captionbias.text import find_mentions, load_lexicon, tokenize
from captionbias.text.languages import languages
from captionbias.text.main_person import PersonWords, main_values, named_of, person_nouns, person_words

module = importlib.import_module("captionbias.text.main_person")
EXAMPLES = [
    (*case.split(), caption)
    for line in (Path(__file__).parent / "who_is_meant.txt").read_text(encoding="utf-8").splitlines()
    for case, *captions in [line.split(" | ")]
    for caption in captions
]
NOUNS = ("a woman", "the men", "a boy", "a skier", "people", "a dog", "her", "his hand")
OTHERS = (
    "and",
    "or",
    "/",
    ",",
    ".",
    "?",
    "no",
    "behind",
    "is",
    "'s hat",
    "in the background",
    "walks by",
    "baby",
    "old",
)
CAPTIONS = st.lists(st.sampled_from(NOUNS + OTHERS), max_size=7).map(" ".join)


def read(captions, attribute="gender"):
    lexicon, tokens = load_lexicon(attribute), tokenize(captions)
    return main_values(tokens, find_mentions(tokens, lexicon), lexicon)


@pytest.mark.parametrize(("language", "value", "caption"), EXAMPLES)
def test_a_caption_names_whom_it_is_about(language, value, caption):
    lexicon, tokenizer = ("gender", "words") if language == "en" else (f"gender-{language}", language)
    assert str(named_of(caption, lexicon, tokenizer)) == value


def test_every_language_has_forty_examples_and_its_lists_are_of_words_that_captions_can_have():
    assert min(sum(one == language for one, _, _ in EXAMPLES) for language in languages()) == 40
    for language in languages():
        lists = person_words(language)
        for field in dataclasses.fields(PersonWords):
            assert all(word == word.lower() and word.strip() for word in getattr(lists, field.name)), field.name
        assert all(len(phrase.split()) == 2 for phrase in lists.things)
        assert not lists.people & lists.groups
        assert lists.people | lists.groups <= person_nouns(language) | lists.adjectives


def test_each_word_of_a_gender_has_a_counterpart_of_the_other_in_its_role():
    lexicon = load_lexicon("gender")
    role_of = {word: role for role, words in lexicon.roles.items() for word in words}
    genders = {value: {role_of.get(word) for word in words} for value, words in lexicon.groups.items()}
    assert genders["female"] == genders["male"] == set(lexicon.roles)


def test_what_is_no_person_names_nobody():
    things = "queen size, king size, Dairy Queen, mother elephant, man-made, s/he, no man, a man's jacket"
    assert {named_of(caption) for caption in things.split(", ")} == {None}


def test_a_task_names_no_value_and_its_bearer_is_told_by_what_refers_to_him():
    assert [named_of("A waiter with his tray", tasks=tasks) for tasks in ((), ["waiter"])] == ["male", "male"]
    assert [named_of("A waiter with a tray", tasks=tasks) for tasks in ((), ["waiter"])] == ["male", None]
    assert named_of("A waiter with her tray", tasks=["waiter"]) == "female"


@pytest.mark.parametrize(
    ("attribute", "value", "caption"),
    [
        *(("age", "old", caption) for caption in ("an old man", "an elderly couple", "an adult")),
        *(("age", "young", caption) for caption in ("a child", "a boy", "a teen", "a young woman on an old bike")),
        *(("age", None, caption) for caption in ("an old truck", "a little dog", "a man in his old car")),
        *(("race", "light", caption) for caption in ("a white man", "White people with a black dog")),
        *(("race", "dark", caption) for caption in ("an Asian woman", "a black man on a white horse")),
        *(("race", None, caption) for caption in ("a man in white", "a black and white photo of a man")),
        ("race", None, "a white woman and a black man"),
    ],
)
def test_an_adjective_names_with_a_noun_of_a_person_alone(attribute, value, caption):
    assert named_of(caption, attribute) == value


def test_a_crossing_names_what_each_attribute_names_of_the_person_who_is_meant():
    said = [
        "An old man. In the background, a girl.",
        "a young woman on an old bike",
        "an old man and a young man",
        "a cat",
    ]
    lexicon = load_lexicon(["gender", "age"])
    found, several = check_captions(predictions=said, attributes=["x", "y"] * 2).main_values(lexicon)
    named = [",".join(np.array(lexicon.labels)[row]) for row in found]
    assert named == ["male, old", "female, young", "male", ""]
    assert several.tolist() == [True, False, True, False]


@settings(deadline=None)
@given(captions=st.lists(CAPTIONS, min_size=1, max_size=8))
def test_a_caption_of_one_plain_noun_is_read_by_arrays_as_by_the_rule(captions):
    by_arrays = read(captions)
    with pytest.MonkeyPatch.context() as patch:
        usual = module.PersonTokens.plain_and_ruled

        def ruled(tokens):
            plain, others = usual(tokens)
            return plain[:0], np.unique(np.concatenate((tokens.tokens.rows[plain], others)))

        patch.setattr(module.PersonTokens, "plain_and_ruled", ruled)
        by_rule = read(captions)
    assert [found.tolist() for found in by_arrays] == [found.tolist() for found in by_rule]


@settings(deadline=None)
@given(caption=CAPTIONS, neutral=st.sampled_from(["The sky is blue.", "It rains!", "Trees are green. Snow lies."]))
def test_a_neutral_sentence_behind_changes_nothing(caption, neutral):
    """Unless the person is a bystander, who is read where there is nothing else."""
    before, after = read([f"a child. {caption}."]), read([f"a child. {caption}. {neutral}"])
    assert [found.tolist() for found in before] == [found.tolist() for found in after]


def test_in_a_language_without_lists_any_word_names(monkeypatch):
    monkeypatch.setattr(module, "person_words", lambda tokenizer: None)
    named, several = read(["a dog next to a man-made lake", "a man and a woman", "a dog"])
    assert named.tolist() == [[False, True], [True, True], [False, False]]
    assert several.tolist() == [False, True, False]
