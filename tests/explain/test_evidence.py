"""The captions behind a number: counted as the tables count, bounded, each text once, and what is marked is named."""

import re

import pytest

from captionbias.captions import check_captions
from captionbias.explain.evidence import WORD_IMAGES, captions_behind
from captionbias.metrics import sway
from captionbias.synthetic import AGES, plant
from captionbias.text import load_lexicon, split_words

LEXICONS = {"attribute": load_lexicon("gender"), "task": load_lexicon("coco_objects")}


def names(text, value):
    """Whether a caption names a value, by its words alone."""
    return not {*LEXICONS["attribute"].groups[value]}.isdisjoint(split_words(text))


@pytest.fixture(scope="module")
def planted():
    """A captioner that leans, of images with one human caption each: a trial draws no other."""
    people = plant(400, captions=1)
    biased = plant(400, captions=1, a_to_t=0.7, t_to_a=0.4)
    ids = [f"picture {number}" for number in range(400)]
    return check_captions(**{**vars(people), "predictions": biased.predictions}, image_ids=ids, trust_rows=True)


@pytest.fixture(scope="module")
def found(planted):
    words = {"female": [{"word": "handbag", "mean": 1.0}, {"word": "road", "mean": -1.0}], "male": []}
    return captions_behind({"sat": planted}, {"sat": words}, swayed={"sat": sway.measure(planted, bootstrap=0)})


def test_behind_a_cell_are_the_images_whose_caption_names_another_value_alone(found, planted):
    own = found["captioners"]["sat"]["captions"]
    cells = found["captioners"]["sat"]["cells"]["t_to_a"]
    assert sum(len(cell["rows"]) for cell in cells) > 20
    for cell in cells:
        (other,) = {"female", "male"} - {cell["attribute"]}
        for row in cell["rows"]:
            image, number = found["images"][row["row"]], row["row"]
            assert (image["id"], image["label"]) == (f"picture {number}", cell["attribute"])
            text, people = found["texts"][own[number]], [found["texts"][one] for one in image["people"]]
            assert (text, people) == (planted.predictions[number], list(planted.references[number]))
            assert names(text, other)
            assert not names(text, cell["attribute"])
            assert row["people"] == sum(names(one, other) and not names(one, cell["attribute"]) for one in people)
            assert row["difference"] == 1 - row["people"]


def test_marks_are_words_of_their_label(found):
    assert len(set(found["texts"])) == len(found["texts"]) == len(found["marks"])
    listed = {label: words for lexicon in LEXICONS.values() for label, words in lexicon.groups.items()}
    marked = 0
    for text, flat in zip(found["texts"], found["marks"], strict=True):
        for start, end, number in zip(flat[::3], flat[1::3], flat[2::3], strict=True):
            assert text[start:end].lower() in listed[found["labels"][number]]
            marked += 1
    assert marked > len(found["texts"])


def test_behind_a_word_are_the_images_of_its_value_whose_caption_has_it(found, planted):
    (handbag,) = found["captioners"]["sat"]["words"]["female"]
    having = [row for row, text in enumerate(planted.predictions) if "handbag" in split_words(text)]
    assert handbag["word"] == "handbag"
    assert handbag["images"] == len(having) == sum(handbag["labels"].values())
    assert handbag["people"] == sum("handbag" in split_words(texts[0]) for texts in planted.references)
    assert len(handbag["rows"]) == WORD_IMAGES
    assert {planted.attributes[row["row"]] for row in handbag["rows"]} == {"female"}
    assert {row["row"] for row in handbag["rows"]} <= set(having)
    assert found["captioners"]["sat"]["words"]["male"] == []


@pytest.fixture(scope="module")
def girls():
    """A captioner that calls women girls and writes of ties, each in captions of its own."""
    captions = vars(plant(600, captions=3))
    said = zip(captions["predictions"], captions["attributes"], strict=True)
    captions["predictions"] = [
        (re.sub("(woman|lady|girl)", "girl", text) if number % 3 else f"{text} with ties")
        if value == "female"
        else text
        for number, (text, value) in enumerate(said)
    ]
    return check_captions(**captions)


@pytest.fixture(scope="module")
def girls_swayed(girls):
    return sway.measure(girls, bootstrap=0, details=True)


def test_words_of_sway_are_those_of_its_table_with_the_images_of_their_value_that_use_them(girls, girls_swayed):
    found = captions_behind({"sat": girls}, {}, swayed={"sat": girls_swayed})
    tied = {entry["word"]: entry for entry in found["captioners"]["sat"]["tied"]}
    assert list(tied) == [row["word"] for row in girls_swayed.details["words"] if row["kind"] == "more"]
    assert (tied["girl|boy"]["forms"], tied["tie"]["forms"]) == (["girl", "boy"], ["tie", "ties"])
    for entry in tied.values():

        def uses(text, forms=frozenset(entry["forms"])):
            return not forms.isdisjoint(split_words(text))

        of_value = [row for row, value in enumerate(girls.attributes) if value == entry["attribute"]]
        own = [row for row in of_value if uses(girls.predictions[row])]
        assert entry["images"] == len(own) == entry["labels"][entry["attribute"]]
        assert entry["people"] == sum(any(map(uses, girls.references[row])) for row in of_value)
        assert len(entry["rows"]) == min(WORD_IMAGES, len(own))
        assert {row["row"] for row in entry["rows"]} <= set(own)
        shares = [sum(map(uses, girls.references[row["row"]])) / 3 for row in entry["rows"]]
        assert [row["people"] for row in entry["rows"]] == shares == sorted(shares)
        assert {row["row"] for row in entry["rows"]} <= found["images"].keys()


def test_of_several_captions_of_an_image_the_first_is_behind_a_word_and_a_cell(girls, girls_swayed, planted):
    def behind(captions, measured):
        return captions_behind({"sat": captions}, {}, swayed={"sat": measured})["captioners"]["sat"]

    several = girls.with_predictions([[text, text.upper()] for text in girls.predictions])
    swayed = sway.measure(several, bootstrap=0, details=True)
    assert behind(girls, girls_swayed)["tied"] == behind(several, swayed)["tied"]
    pairs = zip(planted.predictions, plant(400, seed=1).predictions, strict=True)
    several = planted.with_predictions(list(map(list, pairs)))
    swayed = sway.measure(several, bootstrap=0)
    cells = behind(several, swayed)["cells"]["t_to_a"]
    assert cells == behind(planted.with_predictions(several.predictions), swayed)["cells"]["t_to_a"]
    assert any(cell["rows"] for cell in cells)


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
