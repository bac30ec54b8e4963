"""What counts as a caption, and that the order of an image's human captions changes nothing."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from captionbias.captions import CaptionBiasWarning, captioned_labels, check_captions, read_captions
from captionbias.captions.texts import canonical_order, plain
from captionbias.errors import InputError
from captionbias.synthetic import plant
from tests.refusals import refuses
from tests.whole import sway

PLANTED = vars(plant(400, captions=4, t_to_a=0.2))


@pytest.mark.parametrize(
    ("text", "caption"),
    [
        ("<think>A man?\nOr a woman.</think>\n a woman", "a woman"),
        ("I look again.</think>a man", "a man"),
        *((text, "a man") for text in ("<s> a man </s>", "a man<|im_end|><|endoftext|>", "[CLS] a man [SEP]")),
        *(("<THINKING>A man?</THINKING> a woman", "a woman"), ("[THINK]A man?[/THINK]a woman", "a woman")),
        ("◁think▷A man?◁/think▷a woman", "a woman"),
        ("[INST] Describe the man. [/INST] a woman", "a woman"),
        ("a<phrase> dog</phrase><object><patch_index_0044><patch_index_0863></object> by a fire.", "a dog by a fire."),
        ("<ref>a dog</ref><box>[[1, 2, 30, 40]]</box> runs", "a dog runs"),
        ("a dog<loc_12><loc_3> and a cat<loc0012><seg003>", "a dog and a cat"),
        (
            "<|channel|>analysis<|message|>A man?<|end|><|start|>assistant<|channel|>final<|message|>a woman<|return|>",
            "a woman",
        ),
        *((text, text) for text in ("a <unk> with a dog", "a man [sic]", "a  man", "if a < b > c")),
    ],
)
def test_marks_of_models_are_taken_off_and_nothing_else(text, caption):
    captions = check_captions(predictions=[text, "a girl"], attributes=["m", "f"])
    assert captions.predictions[0] == caption
    assert (plain(text), plain("<think>it is a")) == (" ".join(caption.split()), "")
    told = ("predictions: thoughts and special tokens are removed from 1 captions",)
    assert captions.notes == (told if caption != text else ())


def test_images_without_a_caption_are_left_out_in_python_as_in_files():
    said = ["" if row in (3, 7) else text for row, text in enumerate(PLANTED["predictions"])]
    columns = {**PLANTED, "predictions": said}
    columns["predictions"][9] = ["a dog", " "]
    columns["references"] = [[] if row == 5 else [*texts, " "] for row, texts in enumerate(columns["references"])]
    with pytest.warns(CaptionBiasWarning):
        captions = check_captions(**columns)
    assert len(captions) == 397
    assert captions.notes[0] == "references: 399 images have an empty caption beside others, which is left out"
    assert captions.notes[1] == "1 of 400 images have no human caption and are left out (first: row 5)"
    assert captions.notes[2] == "predictions: 1 images have an empty caption beside others, which is left out"
    assert captions.notes[3].startswith("2 of 399 images have no caption (female 0 of 200, male 2 of 199) and are")
    assert captions.missing == {"female": (200, 0), "male": (199, 2.5)}, "one of two samples is half a caption"
    for side in ("predictions", "references"):
        with pytest.raises(InputError, match=f"^{side} has no caption in any row"):
            check_captions(**{**PLANTED, side: [None] * 400})


@pytest.mark.parametrize("twice", [lambda text: text, lambda text: f"{text.capitalize().rstrip('.')} ."])
def test_people_who_are_there_twice_count_once(twice):
    """Also where the second time is tokenised."""
    references = [[*texts, *map(twice, texts)] for texts in PLANTED["references"]]
    columns = {**PLANTED, "references": references, "tasks": None}
    with pytest.warns(CaptionBiasWarning, match="references: people have each caption of an image twice or more"):
        captions = check_captions(**columns)
    once = check_captions(**{**PLANTED, "tasks": None})
    assert [len(texts) for texts in captions.references] == [len({*texts}) for texts in once.references]
    end = sway(captions, bootstrap=0)
    assert end["sway_a_to_t_low"] < end["sway_a_to_t_high"], "the range does not collapse"
    assert len(check_captions(**columns, trust_rows=True).references[0]) == 2 * len(PLANTED["references"][0])


def test_some_who_say_the_same_are_two_people():
    references = [[*texts, texts[0]] for texts in PLANTED["references"]]
    assert check_captions(**{**PLANTED, "references": references}).references[0].count(references[0][0]) > 1


@settings(deadline=None, max_examples=30)
@given(st.lists(st.lists(st.text(max_size=4), min_size=1, max_size=5), max_size=5), st.randoms())
def test_human_captions_have_one_order(rows, generator):
    ordered = canonical_order(rows, once=False)
    assert list(map(sorted, ordered)) == list(map(sorted, rows))
    assert canonical_order([generator.sample(texts, len(texts)) for texts in rows], once=False) == ordered
    assert canonical_order(ordered, once=False) == ordered


def test_no_word_decides_the_order():
    """Of two captions that are in many images, each is first about as often."""
    rows = [["a man", "someone", f"number {row}"] for row in range(300)]
    first = [texts.index("a man") < texts.index("someone") for texts in canonical_order(rows, once=False)]
    assert 120 < sum(first) < 180


def test_objects_have_the_names_of_coco():
    people = {"image_id": [1, 2, 3], "references": [["a"], ["b"], ["c"]], "sex": ["f", "m", "f"]}
    texts = ["Teddy_bear, dog", "dog", "traffic light; Dog"]
    for objects in (texts, ['["teddy bear", "dog"]', '["DOG"]', '["Traffic_Light", "dog"]']):
        tasks = {"image_id": [1, 2, 3], "objects": objects}
        captions = read_captions(references=people, tasks=tasks, attribute="sex")
        assert captions.tasks == (("teddy bear", "dog"), ("dog",), ("traffic light", "dog"))
    tasks = [["tench, Tinca tinca"], ["knife, fork"]]
    other = check_captions(predictions=["a"] * 2, attributes=["f", "m"], tasks=tasks)
    assert other.tasks == (("tench, Tinca tinca",), ("knife", "fork"))


def test_no_note_of_tasks_is_long():
    tasks = [[f"thing {row}", "dog"] for row in range(400)]
    measured = sway.measure(**{**PLANTED, "tasks": tasks}, trust_rows=True, bootstrap=0)
    [told] = [note for note in measured.notes if "not in task_lexicon" in note]
    assert "and 395 more not in" in told
    assert max(map(len, measured.notes)) <= 300


NAMING = [["a man", "a dude", "a dog"], ["a woman", "a cat"], ["a lady", "her bag", "a boy"], [], ["two people"]]


def test_labels_are_taken_from_captions_of_which_enough_name_one_value_and_none_another():
    for least, labels in ((1, ["male", "female"]), (2, ["male", None]), (3, [None, None])):
        assert captioned_labels(NAMING, least=least) == [*labels, None, None, None]
    own = {"cat": ["cat", "kitten"], "dog": ["dog"]}
    assert captioned_labels([["a kitten", "a cat"], ["a dog"]], own) == ["cat", None]
    assert captioned_labels([["a black woman", "a black lady"]], ["gender", "race"]) == ["female, dark"]
    refuses(r"captions\[1\]\[1\] is missing", captioned_labels, [["a man"], ["a dog", None]])
    refuses("least must be 1 or more, not 0", captioned_labels, NAMING, least=0)
