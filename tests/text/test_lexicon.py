"""Lexicons: what comes with the package, a user's own, and words of a list of names; a faulty one is refused."""

import json

import pytest

from captionbias import lexicon_of
from captionbias.bench.protocol import lexicon_name
from captionbias.synthetic import TASKS, plant
from captionbias.text import Lexicon, builtin_lexicons, load_lexicon
from tests.refusals import refuses
from tests.text.conftest import named
from tests.whole import sway

# Hirota et al. 2022, supplement, Appendix B ("and their plurals"): the words, then the plurals of those that have one.
FEMALE = (
    "woman female lady mother girl aunt wife actress princess waitress sister queen pregnant daughter she her hers "
    "herself women females ladies mothers girls aunts wives actresses princesses waitresses sisters queens daughters"
)
MALE = (
    "man male father gentleman boy uncle husband actor prince waiter son brother guy emperor dude cowboy he his him "
    "himself men males fathers gentlemen boys uncles husbands actors princes waiters sons brothers guys emperors dudes "
    "cowboys"
)
# The published list.
RACE = {
    "light": {"white", "caucasian"},
    "dark": {*("black", "african", "asian", "latino", "latina", "latinx"), *("hispanic", "native", "indigenous")},
}
AGE = (
    "child children young baby babies kid kids little boy boys girl girls old elderly elder elders man men person "
    "people woman women lady ladies gentleman gentlemen guy guys teenager teenagers teen teens adult adults"
)
OBJECTS = ("coco_names", "coco_objects", "coco_objects_published", "objects365", "open_images")
MASKS = {name: f"<{name}>" for name in ("age", "emotion", "gender", "race")} | dict.fromkeys(OBJECTS, "<object>")
MASKS |= {"content": "<content>", "visogender_occupations": "<occupation>", "gender_published": "<gender>"}


@pytest.mark.parametrize("name", sorted(MASKS))
def test_a_built_in_lexicon_is_sound(name):
    assert builtin_lexicons() == sorted(MASKS)
    lexicon = load_lexicon(name)
    assert load_lexicon(lexicon) is lexicon
    assert (lexicon.name, lexicon.mask) == (name, MASKS[name])
    listed = [word for words in lexicon.groups.values() for word in words] + list(lexicon.masked_only)
    assert len(set(listed)) == len(listed), "a word is listed twice"
    assert all(word == " ".join(word.lower().split()) for word in listed)
    assert all(lexicon.groups.values()), "a label has no words"


def test_the_words_of_gender_race_and_age_are_the_published_ones():
    gender, race, age = (load_lexicon(name) for name in ("gender_published", "race", "age"))
    assert {label: set(words) for label, words in gender.groups.items()} == {
        "female": set(FEMALE.split()),
        "male": set(MALE.split()),
    }
    assert gender.masked_only == ()
    assert race.groups.keys() == RACE.keys()
    for label, published in RACE.items():  # and their plurals
        assert published <= set(race.groups[label])
        assert {word.removesuffix("s") for word in set(race.groups[label]) - published} <= published
    named = {word for words in age.groups.values() for word in words}
    assert named | set(age.masked_only) == set(AGE.split())
    assert not named & {"man", "woman", "person", "people"}


def test_coco_has_eighty_objects_each_under_its_own_name():
    names, objects, published = (load_lexicon(f"coco_{kind}") for kind in ("names", "objects", "objects_published"))
    assert len(names.labels) == 80
    assert objects.labels == names.labels
    assert all(label in words for label, words in names.groups.items())
    # "orange" is mostly a colour in captions, so that the fuller lexicon has its plural alone.
    assert [label for label, words in objects.groups.items() if label not in words] == ["orange"]
    assert "oranges" in objects.groups["orange"]
    for label, words in names.groups.items():
        assert set(words) - {"orange"} <= set(objects.groups[label])
    # Published scores took off a final s, whatever the word, and then looked for one-word names.
    assert set(published.labels) == {name for name in names.labels if " " not in name} - {"skis", "scissors"}
    assert all(words == (label, f"{label}s") for label, words in published.groups.items())


def test_a_mapping_is_a_lexicon_plain_or_with_more_to_say_and_a_file_is_named_after_itself(tmp_path):
    plain = load_lexicon({"glad": ["Happy", "in  high\tspirits"], "sad": ["low"]})
    assert plain == Lexicon("custom", "<custom>", {"glad": ("happy", "in high spirits"), "sad": ("low",)})
    more = load_lexicon({"mask": "<mood>", "groups": {"glad": ["happy"]}, "masked_only": ["Mood", "tears"]})
    assert more == Lexicon("custom", "<mood>", {"glad": ("happy",)}, ("mood", "tears"))
    path = tmp_path / "mood.json"
    path.write_text(json.dumps({"glad": ["heureuse", "Щасливий"]}), encoding="utf-8")
    for source in (path, str(path)):
        assert load_lexicon(source) == Lexicon("mood", "<mood>", {"glad": ("heureuse", "щасливий")})


def test_a_lexicon_extends_a_built_in_one_and_its_roles():
    gender, groups = load_lexicon("gender"), {"male": ["monk"], "other": ["enby"]}
    roles = {"nun|monk": ["nun", "Monk"]}
    more = load_lexicon({"extends": "gender", "groups": groups, "masked_only": ["person"], "roles": roles})
    assert more.labels == ("female", "male", "other")
    assert more.groups["female"] == gender.groups["female"]
    assert more.groups["male"] == (*gender.groups["male"], "monk")
    assert more.groups["other"] == ("enby",)
    assert (more.masked_only, more.mask, more.base) == ((*gender.masked_only, "person"), "<gender>", "gender")
    assert (more.roles["nun|monk"], more.roles["girl|boy"]) == (("nun", "monk"), ("girl", "boy"))
    own = load_lexicon({"female": ["gal"]})
    assert (gender.base, own.base, own.roles) == ("gender", "", {})


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("genders", r"'genders' is neither a built-in one \(age, .*visogender_occupations\) nor a file that exists"),
        (3, "a lexicon is a name, a file or a mapping of labels to words, not 3"),
        ({"extends": "genders"}, "'extends' is 'genders'; it can be one of"),
        ({"female": [], "male": []}, "'custom' has no words: map each label to the words"),
        ({"groups": ["woman"]}, "'groups' must map each label to a list of words"),
        ({"female": "woman"}, "label 'female': give a list of words, not 'woman'"),
        ({"female": ["woman"] * 100_001}, "has 100,001 words; the limit is 100,000"),
        ({"female": ["woman", " "]}, "label 'female': ' ' is not a word"),
        ({"a": ["boss"], "b": ["aide", "BOSS"]}, "'boss' is listed under 'a' and 'b'; keep one"),
        ({"groups": {"a": ["boss"]}, "masked_only": ["boss"]}, "'boss' is listed under 'a' and 'masked_only'"),
        ({"extends": "gender", "female": ["gal"]}, "'female' is none of"),  # its words would not be masked
        ({"groups": {"female": ["woman"]}, "masked": ["one"]}, "'masked' is none of"),
        ({"female": ["woman"], "male": []}, "lexicon 'custom', label 'male': no word names it"),
        *(
            ({"groups": {"female": ["woman"]}, "mask": mask}, "'mask' is .*; it must be one word in angle brackets")
            for mask in ("", "<>", "person", "<a person>", None)
        ),
        ({"extends": "gender", "groups": {"male": ["queen"]}}, "'queen' is listed under 'female' and 'male'"),
        ({"extends": "gender", "roles": ["x", "y"]}, "'roles' must map each role to a list of words"),
        ({"extends": "gender", "roles": {"x/y": "x"}}, "role 'x/y': give a list of words"),
        ({"extends": "gender", "roles": {"x/y": ["x"], "x/z": ["x"]}}, "'x' is listed under 'x/y' and 'x/z'; keep one"),
    ],
)
def test_a_faulty_lexicon_is_refused(source, message):
    refuses(message, load_lexicon, source)


@pytest.mark.parametrize(
    ("suffix", "content", "message"),
    [
        ("json", b'{"female": ["woman"', "cannot be read: "),
        ("json", b'{"female": ["\xff"]}', "cannot be read: "),
        ("json", b'{"female": ["woman"], "female": ["girl"]}', "the key 'female' is twice"),
        ("json", b'["woman", "man"]', "must be a JSON object of labels and words, not a list"),
        ("json", b'{"female": "woman"}', "', label 'female': give a list of words"),
        *(("txt", b"\n", "has no words"), ("txt", b"a\xff", "cannot be read")),
        ("txt", b"car\n(x)", "label '\\(x\\)': no word"),
    ],
)
def test_a_faulty_file_is_refused(tmp_path, suffix, content, message):
    path = tmp_path / f"mine.{suffix}"
    path.write_bytes(content)
    refuses(f"mine.*{message}", load_lexicon, path)


def test_names_are_written_as_datasets_write_them():
    words = lexicon_of(["Handbag/Satchel", "tench, Tinca tinca", "bow_(weapon)", "Hot-air balloon", "Boots", " "])
    assert words["Handbag/Satchel"] == ["handbag", "satchel", "handbags", "satchels"]
    assert words["tench, Tinca tinca"][:2] == ["tench", "tinca tinca"]
    assert words["bow_(weapon)"] == ["bow", "bows"]
    assert {"hot-air balloon", "hot air balloon", "hot air balloons"} < set(words["Hot-air balloon"])
    assert words["Boots"] == ["boots"]
    assert len(words) == 5
    refuses("give a list of names", lexicon_of, "mine.txt")


def test_a_word_of_several_names_is_of_the_one_that_it_is_or_of_none():
    words = lexicon_of(["tea pot", "teapot", "axe", "ax"])
    assert "teapot" not in words["tea pot"]
    assert words["teapot"] == ["teapot"]  # "teapots" is also of "tea pot"
    assert (words["axe"], words["ax"]) == (["axe"], ["ax"])  # "axes" is both's


def test_captions_name_them_in_any_form(tmp_path):
    path = tmp_path / "sports.txt"
    path.write_text("surfboard\nhot dog\ndog\n\n", encoding="utf-8-sig")
    lexicon = load_lexicon(path)
    found = named(["two surfboards", "a hot-dog", "hotdogs for dogs", "a doghouse"], lexicon)
    assert found == [{"surfboard"}, {"hot dog"}, {"hot dog", "dog"}, set()]
    signed = lexicon_name(lexicon, path)
    path.write_text("surfboard\nhot dog\ncat\n", encoding="utf-8")
    assert signed.startswith("sports-")
    assert lexicon_name(load_lexicon(path), path) != signed


@pytest.mark.parametrize("name", ["objects365", "open_images", "visogender_occupations"])
def test_a_shipped_list_measures_as_coco_does(name):
    groups, planted = load_lexicon(name).groups, plant(1000, t_to_a=0.3)
    by_coco = sway(**vars(planted), lean="own", bootstrap=100)
    labels = [label for label in list(groups) if "waiter" not in label][:: len(groups) // len(TASKS)]
    words = {task: groups[label][0] for task, label in zip(TASKS, labels, strict=False)}

    def said(caption):
        return next((caption.replace(task, word) for task, word in words.items() if task in caption), caption)

    captions = vars(planted) | {
        "predictions": list(map(said, planted.predictions)),
        "references": [list(map(said, captions)) for captions in planted.references],
        "tasks": [[labels[TASKS.index(task)] for task in tasks] for tasks in planted.tasks],
    }
    result = sway(**captions, task_lexicon=name, bootstrap=100)
    assert result["sway_t_to_a_least_ci_low"] > 0
    assert result["sway_t_to_a"] == pytest.approx(by_coco["sway_t_to_a"], abs=0.5)  # people are drawn by their captions
    for fact in ("sway_tasks_named", "sway_suggested"):
        assert result[fact] == by_coco[fact]
    assert f"task:{name}|" in result["signature"]
