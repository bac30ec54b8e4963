"""Numbers as they are written, and notes in plain words."""

from captionbias.errors import Argument, Message, phrase
from captionbias.report.wording import following_words, grouped_notes, interval
from captionbias.statistics.samples import Estimate
from tests.report.conftest import changed


def test_a_score_is_written_with_its_interval_and_never_as_minus_zero():
    assert interval(Estimate(1.25, -1.25, 3.75), 2) == "1.25 [-1.25, 3.75]"
    assert interval(Estimate(-0.0004, -0.0001, 0.0), 3) == "0.000 [0.000, 0.000]"
    assert (interval(Estimate(1.26), 1), interval(None, 1)) == ("1.3", "-")
    assert interval(Estimate(5.7, 4.21), 1) == "5.7, at least 4.2"


def test_notes_are_told_once_in_words_that_name_no_argument(two):
    ways = [phrase("{unseen_only} is better", unseen_only=True)]
    note = Message("of the ", Argument("model test captions"), ways=ways)
    noted = changed(changed(two, "lic", "nic", notes=[note]), "lic", "sat", notes=[note, phrase("{t_to_a}: a")])
    notes = grouped_notes(noted)
    assert notes["LIC: of the captioner's captions"] == ("nic", "sat")
    assert notes["LIC: T to A: a"] == ("sat",)


def test_what_users_name_like_arguments_is_told_as_it_is(two):
    named = "'predictions', 'references' and lean='own' at trials=1, a_to_t"
    note = Message(phrase("{references}: "), named)
    assert f"LIC: human captions: {named}" in grouped_notes(changed(two, "lic", "nic", notes=[note, named]))
    assert f"LIC: {named}" in grouped_notes(changed(two, "lic", "nic", notes=[named]))


def test_words_are_told_of_the_value_that_they_follow_and_of_all_but_one():
    found = [("girl|boy", "male", 5.0), ("tie", "male", 4.0), ("hat", "female", 3.0), ("cap", "female", -2.0)]
    rows = [{"word": word, "attribute": value, "captioner": tie, "kind": "more"} for word, value, tie in found]
    details = {"attribute_counts": {"female": 9, "male": 9}, "words": [*rows, {**rows[1], "kind": "less"}]}

    def told():
        return {people: [word for word, _ in words] for people, words in following_words(details).items()}

    assert told() == {"women": ["hat"], "men": ["boy", "tie"], "not women": ["cap"]}
    details["attribute_counts"]["other"] = 9
    assert told()["men"] == ["girl or boy", "tie"]
