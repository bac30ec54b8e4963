"""Scenes are counted by what their captions differ in, those that tell most come first, and what differs is marked."""

from captionbias.captions import check_captions
from captionbias.explain.evidence import captions_behind
from captionbias.metrics import sway
from captionbias.synthetic import AGES

NAMED_WRONG = ("a man with a dog", "a man with a dog")
OTHER_NAMED_WRONG = ("a woman on a street", "a girl on a road")
ALONG, AGAINST = ("a smiling woman with a cake", "a man with a cake"), ("a woman waits", "a smiling man waits")
IN_OTHER_WORDS = ("a woman at night", "a man indoors")
ALIKE = ("a lady with a tie", "a gentleman with a tie")


def behind(scenes, values=("female", "male"), **lexicon):
    """The evidence of scenes, each by its captions, one of each value."""
    captions = check_captions(
        predictions=[text for scene in scenes for text in scene],
        attributes=[*values] * len(scenes),
        scene=[number for number, scene in enumerate(scenes) for _ in scene],
    )
    measured = sway.measure(captions, details=True, bootstrap=0, **lexicon)
    return captions_behind({"x": captions}, {}, swayed={"x": measured}, **lexicon)


def marked(evidence):
    """The pairs: of each side the caption, and by kind what is marked in it."""
    own, texts = evidence["captioners"]["x"], evidence["texts"]

    def side(row):
        text = texts[own["captions"][row["row"]]]
        return text, {text[start:end]: kind for start, end, kind in reversed(row["marks"])}  # the first counts

    return [[side(row) for row in pair["rows"]] for pair in own["scenes"]["pairs"]]


def test_what_is_named_wrong_comes_first_then_words_that_follow_a_value_and_no_captions_twice():
    alike = [NAMED_WRONG, NAMED_WRONG, *[ALONG] * 30, *[ALIKE] * 30]
    found = behind([AGAINST, IN_OTHER_WORDS, *alike, OTHER_NAMED_WRONG])
    counts = {name: count for name, count in found["captioners"]["x"]["scenes"].items() if name != "pairs"}
    assert counts == {"compared": 65, "wrong": 3, "words": 31, "along": 30, "telling": 34}
    assert marked(found) == [
        [("a man with a dog", {"man": "wrong"}), ("a man with a dog", {})],
        [
            ("a woman on a street", {"woman": "other", "street": "other"}),
            ("a girl on a road", {"girl": "wrong", "road": "other"}),
        ],
        [(ALONG[0], {"smiling": "following"}), (ALONG[1], {})],
        [(AGAINST[0], {}), (AGAINST[1], {"smiling": "following"})],
    ]


def test_each_way_to_differ_is_there_once_before_any_twice():
    several = [(f"a man with a {task}",) * 2 for task in ("dog", "cake", "laptop")]
    found = marked(behind([*several, OTHER_NAMED_WRONG, *[ALIKE] * 20]))
    assert [pair[0][0] for pair in found] == [several[0][0], OTHER_NAMED_WRONG[0], several[1][0], several[2][0]]


def test_where_nothing_is_named_wrong_and_no_word_follows_a_value_other_words_that_differ_are_shown():
    found = behind([*[ALIKE] * 20, IN_OTHER_WORDS])
    scenes = found["captioners"]["x"]["scenes"]
    assert (scenes["wrong"], scenes["words"], scenes["telling"]) == (0, 0, 1)
    assert marked(found) == [[("a woman at night", {"night": "other"}), ("a man indoors", {"indoors": "other"})]]
    assert behind([ALIKE] * 20)["captioners"]["x"]["scenes"]["pairs"] == []


def test_of_several_values_the_two_that_differ_most_are_side_by_side():
    values = ("adult", "child", "senior")
    alike = ("a grownup with a dog", "a kid with a dog", "a pensioner with a dog")
    wrong = ("a grownup with a dog", "somebody indoors", "a kid with a dog")
    found = behind([*[alike] * 20, wrong], values, attribute_lexicon=AGES)
    assert marked(found) == [[(wrong[0], {}), (wrong[2], {"kid": "wrong"})]]
